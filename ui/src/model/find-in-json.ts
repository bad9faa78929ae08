import { escapeKey } from './json-tree.ts';

/** Where a text stands in a JSON value. */
export type FoundInJson = {
  /** JSON pointers of members whose key or plain value has the text, in the order of the lines. */
  readonly paths: readonly string[];
  /** More than was looked for, or looked through. */
  readonly isCut: boolean;
};

const MAX_FOUND = 1000;
/** Members that are looked at: a search never holds the page for long. */
const MAX_LOOKED_AT = 500_000;

const isHolder = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Finds a text in keys and plain values, in any case. Nothing recurses: a value may be as deep as it likes. */
export const findInJson = (value: unknown, text: string): FoundInJson => {
  const wanted = text.trim().toLowerCase();
  const paths: string[] = [];
  if (wanted === '') return { paths, isCut: false };
  const has = (part: unknown): boolean => String(part).toLowerCase().includes(wanted);
  const stack: { path: string; key: string; value: unknown }[] = [{ path: '', key: '', value }];
  let looked = 0;
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    looked += 1;
    if (looked > MAX_LOOKED_AT || paths.length >= MAX_FOUND) return { paths, isCut: true };
    const held = next.value;
    if (has(next.key) || (!isHolder(held) && has(held))) paths.push(next.path);
    if (!isHolder(held)) continue;
    for (const key of Object.keys(held).toReversed())
      stack.push({
        path: `${next.path}/${escapeKey(key)}`,
        key,
        value: (held as Readonly<Record<string, unknown>>)[key],
      });
  }
  return { paths, isCut: false };
};
