/**
 * Node's own slices of a Buffer to text: what `toString` calls after looking at its arguments. Thousands of short texts a
 * batch make that look a cost.
 */
export type Sliceable = Buffer & {
  hexSlice(start: number, end: number): string;
  base64Slice(start: number, end: number): string;
  latin1Slice(start: number, end: number): string;
  utf8Slice(start: number, end: number): string;
};

/** Slots of the direct-mapped caches of names and words. */
export const SLOTS = 4096;

/** The slot of the bytes in `[start, end)`, at least four, from a sample of them. */
export const slotOf = (bytes: Uint8Array, start: number, end: number): number => {
  const length = end - start;
  const middle = start + (length >> 1);
  let hash = length * 0x9e5 + (bytes[end - 1] as number);
  hash = Math.imul(hash, 31) + (bytes[end - 2] as number);
  hash = Math.imul(hash, 31) + (bytes[end - 4] as number);
  hash = Math.imul(hash, 31) + (bytes[middle] as number);
  hash = Math.imul(hash, 31) + (bytes[middle + 2] as number);
  hash = Math.imul(hash, 31) + (bytes[start + (length >> 2)] as number);
  return (hash ^ (hash >>> 12)) & (SLOTS - 1);
};

/** Longest value that is remembered: the words that come again (models, providers, kinds, regions) are short. */
export const LONGEST_WORD = 24;
const words = new Array<string>(SLOTS).fill('');

/**
 * The ASCII text in `bytes[start, end)`, at most `LONGEST_WORD` long, taken from the last texts with the same slot where
 * it is among them: most short values of a batch come again with each span.
 */
export const wordOfBytes = (bytes: Sliceable, start: number, end: number): string => {
  const length = end - start;
  if (length < 4) return bytes.latin1Slice(start, end);
  const slot = slotOf(bytes, start, end);
  const candidate = words[slot] as string;
  if (candidate.length === length) {
    let at = 0;
    while (at < length && candidate.charCodeAt(at) === bytes[start + at]) at++;
    if (at === length) return candidate;
  }
  const word = bytes.latin1Slice(start, end);
  words[slot] = word;
  return word;
};
