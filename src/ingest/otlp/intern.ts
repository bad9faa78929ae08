import { SLOTS, slotOf } from '../words.ts';
import { type AttributeKey, attributeKey } from '../mapping/key.ts';

/**
 * Attribute names recognised by their bytes, so that a name that comes a thousand times per batch is decoded and looked
 * up once. A direct-mapped cache: a collision costs a look-up by text, never memory.
 */
const LONGEST = 96;
const cachedBytes = new Array<Buffer | undefined>(SLOTS).fill(undefined);
const cachedKeys = new Array<AttributeKey | undefined>(SLOTS).fill(undefined);

/**
 * The table's knowledge of the attribute name in `bytes[start, end)`.
 * @param decode gives the name as text; called on a miss only
 */
export const keyOfBytes = (bytes: Buffer, start: number, end: number, decode: () => string): AttributeKey => {
  const length = end - start;
  if (length < 4 || length > LONGEST) return attributeKey(decode());
  const slot = slotOf(bytes, start, end);
  const candidate = cachedBytes[slot];
  if (candidate !== undefined && candidate.length === length) {
    let at = 0;
    while (at < length && candidate[at] === bytes[start + at]) at++;
    if (at === length) return cachedKeys[slot] as AttributeKey;
  }
  const key = attributeKey(decode());
  cachedBytes[slot] = Buffer.from(bytes.subarray(start, end));
  cachedKeys[slot] = key;
  return key;
};
