import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findMembers } from '../../src/ingest/redact-members.ts';

const names = new Set(['user_id', 'a']);

/** What `JSON.parse` makes of them. */
const asParsed = (text: string): Record<string, unknown> | undefined => {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
  } catch {
    return undefined;
  }
};
const asFound = (text: string): Record<string, unknown> | undefined => {
  const found = findMembers(text, names);
  return found && Object.fromEntries([...found].map(([name, json]) => [name, JSON.parse(json) as unknown]));
};

describe('members of the object in a text', () => {
  it.each([
    [
      'by their text',
      ' { "a" : [ 1 , {"b":"}"} ] , "user_id" : "x\\"y" } \n',
      { a: '[ 1 , {"b":"}"} ]', user_id: '"x\\"y"' },
    ],
    ['whose name is written in escapes', '{"b":0,"user\\u005fid":"x"}', { user_id: '"x"' }],
    ['only of the outermost', '{"b":{"a":1},"c":[{"a":2}]}', {}],
    ['the last of those of one name', '{"a":1,"a":2}', { a: '2' }],
  ])('are found %s', (_name, text, expected) =>
    expect(Object.fromEntries(findMembers(text, names) ?? [])).toEqual(expected),
  );

  it.each([
    ...['', ' ', '{', '{}}', '{} x', '[]', '"a"', '1', 'null', '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{"a":1 "b":2}'],
    ...['{"a":01}', '{"a":-}', '{"a":1.}', '{"a":.5}', '{"a":1e}', '{"a":+1}', '{"a":tru}', '{"a":[1,]}', '{"a":[}'],
    ...['{"a":"\n"}', '{"a":"\\x"}', '{"a":"\\u00g0"}', '{"a":"', "{'a':1}", '{a:1}', '{"a":1}\u00a0', '{"a"::1}'],
    ...['{"a":NaN}', '{"a":[1}]', '{"a":\v1}'],
  ])('are not looked for in %j, which is none', (text) => {
    expect(asParsed(text)).toBeUndefined();
    expect(findMembers(text, names)).toBeUndefined();
  });

  it('are found behind a nest of any depth', () => {
    const nest = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(findMembers(`{"b":${nest},"a":1}`, names)?.get('a')).toBe('1');
  });

  it('are those that JSON.parse finds, in any text', () => {
    // No name begins with a backslash. @see https://github.com/nodejs/node/issues/63785
    const keys = fc.constantFrom('user_id', 'a', 'b', 'c"d');
    const scalars = fc.constantFrom<unknown>(0, -1.5e300, 1e-7, true, null, 'x', '\\"\n', '');
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        scalars,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(keys, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    const parts = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"a"', '"user_id":', '"', '\\', 'true', 'null', '0', '-', '.', 'e', 'E+', '01'],
      ...[' ', '\n', '\u00a0', '\u0001', '{"a":1}', '[]', ''],
    );
    const edits = fc.array(fc.tuple(fc.nat(), parts, fc.nat({ max: 2 })), { maxLength: 2 });
    const objects = fc.dictionary(keys, tree, { maxKeys: 4 });
    fc.assert(
      fc.property(objects, fc.nat({ max: 2 }), edits, (object, indent, changes) => {
        let text = JSON.stringify(object, null, indent);
        for (const [where, part, left] of changes) {
          const at = where % (text.length + 1);
          text = text.slice(0, at) + part + text.slice(at + left);
        }
        expect(asFound(text)).toEqual(asParsed(text));
      }),
      { numRuns: 2000 },
    );
  });
});
