import { escapeKey } from './json-tree.ts';

/** One operation of a JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

type Holder = Readonly<Record<string, unknown>>;
const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null;

/**
 * What makes one JSON value the other, in the order in which it is applied. Elements of a list are compared by their place: what a list
 * grows or shrinks by is at its end. Nothing is left out, however much differs, since a part of a patch leads to neither value.
 */
export const jsonPatch = (before: unknown, after: unknown): readonly PatchOperation[] => {
  const patch: PatchOperation[] = [];
  const stack: [string, unknown, unknown][] = [['', before, after]];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const [path, a, b] = next;
    if (a === b) continue;
    if (!isHolder(a) || !isHolder(b) || Array.isArray(a) !== Array.isArray(b)) {
      patch.push({ op: 'replace', path, value: b });
      continue;
    }
    const at = (key: string): string => `${path}/${escapeKey(key)}`;
    // From the end, so that the places of a list that are still to be removed stay theirs.
    for (const key of Object.keys(a).toReversed()) {
      if (Object.hasOwn(b, key)) stack.push([at(key), a[key], b[key]]);
      else patch.push({ op: 'remove', path: at(key) });
    }
    for (const key of Object.keys(b))
      if (!Object.hasOwn(a, key)) patch.push({ op: 'add', path: at(key), value: b[key] });
  }
  return patch;
};
