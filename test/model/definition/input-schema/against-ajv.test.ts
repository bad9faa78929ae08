import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { compileInputSchema } from '../../../../src/model/definition/input-schema/compile.ts';
import type { Json } from '../../../../src/model/json.ts';

const ajv = new Ajv({ strict: false, ownProperties: true, validateSchema: false, meta: false });
const names = ['a', 'b', 'ab', 'constructor'] as const;
const name = fc.constantFrom(...names);
const { value, schema } = fc.letrec<{ value: Json; schema: Json }>((tie) => {
  const bound = fc.integer({ min: 0, max: 3 });
  const inner = tie('schema');
  const list = fc.array(inner, { minLength: 1, maxLength: 3 });
  const byName = fc.dictionary(name, inner, { maxKeys: 2 });
  const keyword: fc.Arbitrary<Readonly<Record<string, Json>>> = fc.oneof(
    { depthSize: 'small' },
    fc.record({ type: fc.constantFrom('null', 'boolean', 'number', 'integer', 'string', 'array', 'object') }),
    fc.record({ type: fc.constantFrom(['string', 'null'], ['object', 'array']) }),
    fc.record({ const: tie('value') }),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom(1, 'a', null), { minLength: 1 }) }),
    fc.record({ minimum: bound }),
    fc.record({ exclusiveMaximum: bound }),
    fc.record({ multipleOf: fc.constantFrom(1, 2, 0.5) }),
    fc.record({ minLength: bound }),
    fc.record({ maxLength: bound }),
    fc.record({ pattern: fc.constantFrom('^a', 'b$', '^.?$', '[^a]') }),
    fc.record({ minItems: bound }),
    fc.record({ maxItems: bound }),
    fc.record({ uniqueItems: fc.boolean() }),
    fc.record({ items: inner }),
    fc.record({ items: list }),
    fc.record({ items: list, additionalItems: inner }),
    fc.record({ minProperties: bound }),
    fc.record({ maxProperties: bound }),
    fc.record({ required: fc.uniqueArray(name) }),
    fc.record({ properties: byName }),
    fc.record({ patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), inner) }),
    fc.record({ additionalProperties: inner }),
    fc.record({ properties: byName, additionalProperties: inner }),
    fc.record({ propertyNames: inner }),
    fc.record({ dependencies: fc.dictionary(name, fc.uniqueArray(name)) }),
    fc.record({ dependencies: byName }),
    fc.record({ allOf: list }),
    fc.record({ anyOf: list }),
    fc.record({ oneOf: list }),
    fc.record({ not: inner }),
    fc.record({ if: inner, then: inner, else: inner }),
  );
  return {
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<Json[]>(null, true, 0, 1, 2.5, 3, '', 'a', 'ab', 'b'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.boolean(),
      fc.array(keyword, { maxLength: 3 }).map((keywords): Json => Object.assign({}, ...keywords) as Json),
    ),
  };
});

// In draft-07, and without `contains`: of some schemas of 2020-12 the other one makes code that throws, and beside a list of `items` it
// takes an empty list for one that contains something. Those have cases in `check-input.test.ts`.
it('random schemas take and refuse the inputs that another validator does', () => {
  const seen = { taken: 0, refused: 0 };
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 3, maxLength: 5 }), (drawn, inputs) => {
      const other = ajv.compile({ allOf: [drawn] });
      const own = compileInputSchema({ $schema: 'http://json-schema.org/draft-07/schema#', allOf: [drawn] });
      if (!own.ok) throw new Error(own.message);
      for (const input of inputs) {
        const isTaken = own.value(input) === undefined;
        expect({ input, isTaken }).toEqual({ input, isTaken: other(input) });
        seen[isTaken ? 'taken' : 'refused'] += 1;
      }
    }),
    { numRuns: 800 },
  );
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(500);
});
