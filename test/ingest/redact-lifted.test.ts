import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findRepeated, liftedMembers, REDACTED, removedFrom } from '../../src/ingest/redact-lifted.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';

describe('what fields may have been lifted from', () => {
  it.each<[string, JsonObject, JsonObject, readonly Json[]]>([
    ['an attribute', { token: 'x', a: 1 }, { token: REDACTED, a: 1 }, ['x']],
    ['a list, in one piece', { cookie: ['x', ['y']] }, { cookie: REDACTED }, [['x', ['y']]]],
    ['nothing that was sent so', { token: REDACTED }, { token: REDACTED }, []],
    ['a member that a field is lifted from', { m: { user_id: 1, b: 2 } }, { m: { user_id: REDACTED, b: 2 } }, [1]],
    ['no other member', { m: { token: 'x' } }, { m: { token: REDACTED } }, []],
    ['such a member in JSON text', { m: '{"user_id":["x",1]}' }, { m: `{"user_id":"${REDACTED}"}` }, [['x', 1]]],
    ['its last value', { m: '{"model":1,"model":2}' }, { m: `{"model":"${REDACTED}","model":"${REDACTED}"}` }, [2]],
    ['nothing in text that is no JSON', { m: '{"user_id":"x"' }, { m: `{"user_id":"${REDACTED}"` }, []],
    ['nothing in text behind a blank', { m: ' {"user_id":"x"}' }, { m: ` {"user_id":"${REDACTED}"}` }, []],
    [
      'nothing in text of which no field is lifted, for its length',
      { m: `{"user_id":"x","b":"${'y'.repeat(65_536)}"}` },
      { m: `{"user_id":"${REDACTED}","b":"${'y'.repeat(65_536)}"}` },
      [],
    ],
    ['nothing that was hashed', { m: '{"user_id":"x"}' }, { m: 'ab12' }, []],
  ])('%s', (_name, before, after, expected) => expect(removedFrom(before, after, liftedMembers)).toEqual(expected));

  it('nothing inside of attributes where no such member is redacted', () => {
    const before = { m: '{"user_id":1}', o: { user_id: 2 }, token: 3 };
    const after = { m: `{"user_id":"${REDACTED}"}`, o: { user_id: REDACTED }, token: REDACTED };
    expect(removedFrom(before, after, [])).toEqual([3]);
    expect(removedFrom(before, after, ['user_id'])).toEqual([1, 2, 3]);
  });
});

describe('a text repeats a removed value', () => {
  const repeated = (texts: readonly string[], removed: readonly Json[]): readonly string[] =>
    texts.filter(findRepeated(texts, removed) ?? (() => false));

  it('as a text, as a number, and in a list, but not in an object', () => {
    const texts = ['a', '42', 'b', 'c', '1e+21', '1e21', '0', '-0', '042', '', 'NaN', 'true'];
    expect(repeated(texts, ['a', [42, ['b']], { x: 'c' }, 1e21, -0, true, null, 'other'])).toEqual([
      ...['a', '42', 'b', '1e+21', '0'],
    ]);
    expect(repeated(texts, [''])).toEqual(['']);
  });

  it('unless it is what stands for one', () => expect(findRepeated([REDACTED, 'a'], [REDACTED])).toBeUndefined());

  it('at any length, to the last character', () => {
    for (const length of [16_383, 16_384, 100_000]) {
      const same = 'x'.repeat(length);
      const other = `${'x'.repeat(length - 1)}y`;
      expect(repeated([same, other], [`${same} `.slice(0, -1)])).toEqual([same]);
      // A lone surrogate and the replacement character are one in UTF-8.
      expect(repeated([`${same}\ud800`], [`${same}\ufffd`])).toEqual([]);
      expect(repeated([`${same}\ud800`], [`${same}\ud800`])).toEqual([`${same}\ud800`]);
    }
  });

  it('whenever it is among the texts of all that was removed', () => {
    const textsOf = (value: Json): readonly string[] =>
      Array.isArray(value)
        ? (value as readonly Json[]).flatMap(textsOf)
        : typeof value === 'string' || typeof value === 'number'
          ? [String(value)]
          : [];
    const texts = fc.constantFrom(
      'a',
      'b',
      '',
      '0',
      '-0',
      '1.5',
      '42',
      '1e+21',
      'y'.repeat(16_384),
      'z'.repeat(16_384),
    );
    const scalars = fc.oneof(texts, fc.constantFrom<Json>(0, -0, 1.5, 42, 1e21, true, null));
    const removed = fc.array(fc.oneof(scalars, fc.array(scalars)));
    fc.assert(
      fc.property(fc.array(texts), removed, (fields, values) => {
        const all = new Set(values.flatMap(textsOf));
        expect(repeated(fields, values)).toEqual(fields.filter((field) => all.has(field)));
      }),
    );
  });
});
