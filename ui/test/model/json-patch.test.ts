import { assert, jsonValue, property } from 'fast-check';
import { expect, it } from 'vitest';
import { jsonPatch, type PatchOperation } from '../../src/model/json-patch.ts';

const keysOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

/** By the letter of RFC 6902, 4.1 to 4.3. */
const apply = (document: unknown, patch: readonly PatchOperation[]): unknown => {
  const root: Record<string, unknown> = { '': structuredClone(document) };
  for (const operation of patch) {
    const keys = ['', ...keysOf(operation.path)];
    const last = keys.pop() ?? '';
    const holder = keys.reduce((value, key) => value[key] as Record<string, unknown>, root);
    const isThere = Object.hasOwn(holder, last);
    if (operation.op !== 'add' && !isThere) throw new Error(`nothing at ${operation.path}`);
    if (Array.isArray(holder)) {
      const place = Number(last);
      if (place > holder.length) throw new Error(`a hole before ${operation.path}`);
      if (operation.op === 'remove') holder.splice(place, 1);
      else holder.splice(place, operation.op === 'add' ? 0 : 1, structuredClone(operation.value));
    } else if (operation.op === 'remove') delete holder[last];
    else
      Object.defineProperty(holder, last, {
        value: structuredClone(operation.value),
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return root[''];
};

it('makes one value the other, whatever the two are', () => {
  const value = jsonValue({ maxDepth: 4 });
  assert(
    property(value, value, (before, after) => {
      expect(JSON.stringify(sorted(apply(before, jsonPatch(before, after))))).toBe(JSON.stringify(sorted(after)));
    }),
    { numRuns: 500 },
  );
});

/** Members have no order. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, held]) => [key, sorted(held)]);
};

it('is empty between equal values, and names what was added, removed and replaced', () => {
  expect(jsonPatch({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toEqual([]);
  expect(jsonPatch({ list: [1, 2, 3], 'a/b~c': 1 }, { list: [1, 5], 'a/b~c': 2, more: null })).toEqual([
    { op: 'add', path: '/more', value: null },
    { op: 'remove', path: '/list/2' },
    { op: 'replace', path: '/list/1', value: 5 },
    { op: 'replace', path: '/a~1b~0c', value: 2 },
  ]);
  expect(jsonPatch('queued', { active: 'pay' })).toEqual([{ op: 'replace', path: '', value: { active: 'pay' } }]);
});
