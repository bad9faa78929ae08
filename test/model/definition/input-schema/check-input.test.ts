import { describe, expect, it } from 'vitest';
import { checkBounds } from '../../../../src/model/definition/input-schema/check.ts';
import { checkInput } from '../../../../src/model/definition/input-schema/check-input.ts';
import {
  compileInputSchema,
  createInputSchemas,
  inputSchemaBounds,
} from '../../../../src/model/definition/input-schema/compile.ts';
import { SCHEMAS } from '../../../../src/model/definition/input-schema/schema-tree.ts';
import { parseStoredDefinition } from '../../../../src/model/definition/parse.ts';
import type { Json } from '../../../../src/model/json.ts';
import { aDocument, faultsOf, parsed } from '../a-definition.ts';

const ticket = {
  type: 'object',
  required: ['ticket'],
  additionalProperties: false,
  properties: {
    ticket: {
      type: 'object',
      required: ['id'],
      properties: { id: { type: 'integer' }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
    },
  },
};
const withSchema = (input_schema: unknown, version = 1) => parsed(aDocument({ input_schema, version }));
const messageOf = (schema: unknown, input: Json | undefined) => {
  const result = checkInput(withSchema(schema), input);
  return result.ok ? 'accepted' : `${result.failure.code} ${result.failure.message}`;
};
const refusalOf = (schema: Json): string => {
  const result = compileInputSchema(schema);
  return result.ok ? 'accepted' : result.message;
};
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const named = <T>(count: number, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(times(count, (at) => [`p${at}`, make(at)]));
const nested = (depth: number, inner: Json, wrap: (value: Json) => Json): Json =>
  depth === 0 ? inner : wrap(nested(depth - 1, inner, wrap));

describe('the input of a run', () => {
  it('is taken as it is when it meets the schema, or when there is none', () => {
    const input = { ticket: { id: 1, tags: ['a'] } };
    const result = checkInput(withSchema(ticket), input);
    expect(result.ok && result.value).toBe(input);
    expect(checkInput(parsed(aDocument()), undefined)).toEqual({ ok: true, value: undefined });
    expect(messageOf(true, 5)).toBe('accepted');
    expect(messageOf(false, 5)).toContain('input is not allowed');
  });

  it.each([
    [{}, 'input.ticket is required'],
    [undefined, 'input must be object'],
    [{ ticket: 5 }, 'input.ticket must be object'],
    [{ ticket: {} }, 'input.ticket.id is required'],
    [{ ticket: { id: 'secret-value' } }, 'input.ticket.id must be integer'],
    [{ ticket: { id: 1, tags: ['a', 'secret-value'] } }, 'input.ticket.tags[1] must be one of ["a","b"]'],
    [{ ticket: { id: 1 }, bogus: 1 }, 'input.bogus is not allowed'],
  ])('%j is refused as input_invalid, naming the path and never the value', (input, message) => {
    expect(messageOf(ticket, input)).toBe(`input_invalid ${message} (input_schema of refund version 1)`);
  });

  it.each([
    [{ type: ['string', 'null'] }, 1, 'must be string or null'],
    [{ const: { a: 1 } }, 1, 'must be {"a":1}'],
    [{ maximum: 5 }, 6, 'must be <= 5'],
    [{ exclusiveMinimum: 5 }, 5, 'must be > 5'],
    [{ multipleOf: 2 }, 3, 'must be multiple of 2'],
    [{ maxLength: 1 }, 'ab', 'must NOT have more than 1 character'],
    [{ minLength: 2 }, '😀', 'must NOT have fewer than 2 characters'],
    [{ pattern: '^a$' }, 'secret', 'must match pattern "^a$"'],
    [{ format: 'date-time' }, 'secret', 'must match format "date-time"'],
    [{ maxItems: 0 }, [1], 'must NOT have more than 0 items'],
    [{ uniqueItems: true }, [1, 2, 1], 'must NOT have duplicate items (items 0 and 2 are the same)'],
    [{ contains: { type: 'string' } }, [1], 'must contain at least 1 valid item'],
    [{ minProperties: 2 }, { a: 1 }, 'must NOT have fewer than 2 properties'],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, '.ab has a name that is not allowed'],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, '.b is required beside "a"'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, 'must be string'],
    [{ oneOf: [{ type: 'number' }, { type: 'integer' }] }, 1, 'must match exactly one schema in oneOf, and matches 2'],
    [{ not: { type: 'number' } }, 1, 'must NOT be valid'],
    [{ if: { type: 'number' }, then: { minimum: 5 } }, 1, 'must be >= 5'],
    [{ properties: { a: true }, unevaluatedProperties: false }, { a: 1, 'b c': 1 }, '["b c"] is not allowed'],
  ])('that breaks %j is told so', (schema, input, message) => {
    const path = message.startsWith('.') || message.startsWith('[') ? 'input' : 'input ';
    expect(messageOf(schema, input as Json)).toBe(`input_invalid ${path}${message} (input_schema of refund version 1)`);
  });

  it('is checked against references', () => {
    const list = { $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } }, $ref: '#/$defs/n' };
    expect(messageOf(list, { next: { next: 5 } })).toContain('input.next.next must be object');
    expect(messageOf({ properties: { next: { $ref: '#' } }, type: 'object' }, { next: 5 })).toContain(
      'input.next must',
    );
    const bundled = {
      $id: 'https://example.com/order',
      properties: { to: { $ref: 'address' }, from: { $ref: '#where' } },
      $defs: {
        a: {
          $id: '/address',
          required: ['city'],
          properties: { city: { $ref: '#/$defs/c' } },
          $defs: { c: { minLength: 1 } },
        },
        b: { $anchor: 'where', type: 'string' },
      },
    };
    expect(messageOf(bundled, { to: { city: 'Oslo' }, from: 'x' })).toBe('accepted');
    expect(messageOf(bundled, { to: { city: '' } })).toContain('input.to.city must NOT have fewer than 1 character');
    expect(messageOf(bundled, { to: {} })).toContain('input.to.city is required');
    expect(messageOf(bundled, { from: 1 })).toContain('input.from must be string');
  });

  it('may be described in draft-07', () => {
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] };
    expect(messageOf(schema, ['a'])).toBe('accepted');
    expect(messageOf(schema, [1])).toContain('input[0] must be string');
  });

  it.each([
    'http://json-schema.org/draft-07/schema#',
    'http://json-schema.org/draft-07/schema',
    'https://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2020-12/schema',
    'https://json-schema.org/draft/2020-12/schema#',
  ])('may name its dialect as %s', ($schema) => {
    expect(messageOf({ $schema, type: 'string' }, 'a')).toBe('accepted');
    expect(messageOf({ $schema, type: 'string' }, 1)).toContain('input must be string');
    expect(refusalOf({ $schema, type: 'text' })).toContain('type must be');
  });

  it.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema'])(
    'may say a value of an enum twice, in %s',
    ($schema) => {
      expect(messageOf({ $schema, enum: [{ a: 1 }, { a: 1 }] }, { a: 1 })).toBe('accepted');
      expect(refusalOf({ $schema, enum: {} })).toContain('enum must be an array');
    },
  );

  it.each([
    ['const', { const: { a: 1, b: [{}] } }, { b: [{}], a: 1 }, { a: 1, b: [{ c: 1 }] }],
    ['enum', { enum: [1, { a: { b: null } }] }, { a: { b: null } }, { a: {} }],
    [
      'uniqueItems',
      { uniqueItems: true },
      [{ a: 1 }, { a: 2 }, '{"a":1}', null],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
    ['const', { const: { valueOf: 1, toString: 2 } }, { toString: 2, valueOf: 1 }, { toString: 2 }],
    ['enum', { enum: [{ constructor: { a: 1 } }] }, { constructor: { a: 1 } }, { constructor: { a: 2 } }],
    ['uniqueItems', { uniqueItems: true }, [{ valueOf: 1 }, {}], [{ valueOf: 1 }, { valueOf: 1 }]],
  ] as readonly (readonly [string, Json, Json, Json])[])(
    'is compared as data by %s, whatever the prototypes and the names of its members',
    (_keyword, schema, right, wrong) => {
      const withoutPrototypes = (value: Json): Json => {
        if (typeof value !== 'object' || value === null) return value;
        if (Array.isArray(value)) return value.map((item: Json) => withoutPrototypes(item));
        const entries = Object.entries(value).map(([key, inner]) => [key, withoutPrototypes(inner)] as const);
        return Object.assign(Object.create(null), Object.fromEntries(entries)) as Json;
      };
      for (const of of [(value: Json) => value, withoutPrototypes]) {
        expect(messageOf(schema, of(right))).toBe('accepted');
        expect(messageOf(schema, of(wrong))).toContain('input_invalid');
      }
    },
  );

  it.each([
    [{ contains: { type: 'number' } }, ['a', 1], ['a']],
    [{ contains: { type: 'number' } }, [1], []],
    [{ contains: false }, 'no list', []],
    [{ contains: { type: 'number' }, minContains: 2, maxContains: 3 }, [1, 'a', 2, 3], [1, 2, 3, 4]],
    [{ contains: { type: 'number' }, minContains: 2 }, [1, 2], [1]],
    [{ contains: { type: 'number' }, minContains: 0, maxContains: 1 }, [], [1, 2]],
    [{ prefixItems: [false], contains: { type: 'number' } }, 'no list', []],
    [{ prefixItems: [true], unevaluatedItems: { type: 'number' } }, ['a', 1], [1, 'a']],
    [{ contains: { type: 'string' }, unevaluatedItems: false }, ['a', 'b'], ['a', 1]],
    [
      { anyOf: [{ prefixItems: [true] }, { prefixItems: [true, { const: 1 }] }], unevaluatedItems: false },
      [5, 1],
      [5, 2],
    ],
    [{ not: { not: { prefixItems: [true] } }, unevaluatedItems: false }, [], [1]],
    [{ properties: { a: true }, unevaluatedProperties: false }, { a: 1 }, { constructor: 1 }],
    [{ allOf: [{ properties: { a: true } }], unevaluatedProperties: { type: 'null' } }, { a: 1, b: null }, { b: 1 }],
    [{ if: { required: ['a'] }, then: { properties: { a: true } }, unevaluatedProperties: false }, { a: 1 }, { b: 1 }],
    [
      { $defs: { d: { patternProperties: { '^a': true } } }, $ref: '#/$defs/d', unevaluatedProperties: false },
      { ab: 1 },
      { b: 1 },
    ],
    [
      { dependentSchemas: { a: { properties: { a: true, b: true } } }, unevaluatedProperties: false },
      { a: 1, b: 1 },
      { b: 1 },
    ],
  ] as readonly (readonly [Json, Json, Json])[])('of %j is %j, and not %j', (schema, right, wrong) => {
    expect(messageOf(schema, right)).toBe('accepted');
    expect(messageOf(schema, wrong)).toContain('input_invalid');
  });

  it('has the members that it has, and none that every object inherits', () => {
    expect(messageOf({ required: ['constructor'] }, {})).toContain('input.constructor is required');
    expect(messageOf({ required: ['toString'] }, { toString: 1 })).toBe('accepted');
    expect(messageOf({ properties: { constructor: { type: 'string' } } }, {})).toBe('accepted');
    expect(messageOf({ properties: { constructor: { type: 'string' } } }, { constructor: 1 })).toContain(
      'must be string',
    );
    const odd = JSON.parse('{"__proto__": 1}') as Json;
    expect(messageOf({ additionalProperties: false }, odd)).toContain('input.__proto__ is not allowed');
    expect(messageOf({ maxProperties: 0 }, odd)).toContain('input must NOT have more than 0 properties');
  });
});

describe('a schema', () => {
  it.each([
    ['a remote reference', { $ref: 'https://example.com/schema.json' }, 'can\'t resolve reference: $ref "https://exa'],
    [
      'a reference to the schema of schemas',
      { $ref: 'https://json-schema.org/draft/2020-12/schema' },
      'nothing is fetched',
    ],
    ['a reference to nothing', { $ref: '#/$defs/a' }, 'can\'t resolve reference: $ref "#/$defs/a" leads to no schema'],
    ['a reference to what is no schema', { enum: [{}], $ref: '#/enum/0' }, 'leads to no schema'],
    ['an unknown keyword', { requierd: [] }, 'unknown keyword: "requierd"'],
    ['an unknown keyword within', { properties: { a: { lenght: 1 } } }, 'properties.a: unknown keyword: "lenght"'],
    ['a keyword of another dialect', { additionalItems: false }, 'unknown keyword: "additionalItems"'],
    ['an unknown format', { format: 'colour' }, 'unknown format "colour"'],
    [
      'another dialect',
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      'is not supported; use draft 2020-12 or draft-07',
    ],
    ['an asynchronous schema', { $async: true }, '$async is not supported'],
    ['a dynamic reference', { $dynamicRef: '#a' }, '$dynamicRef is not supported'],
    ['a dynamic anchor', { items: { $dynamicAnchor: 'a' } }, '$dynamicAnchor is not supported; use $anchor'],
    ['a bad pattern', { pattern: '(' }, 'pattern'],
    ['a pattern that looks ahead', { items: { pattern: '^(?!admin)' } }, 'items: pattern "^(?!admin)" has a lookahead'],
    ['a pattern that refers back', { patternProperties: { '(a)\\1': true } }, 'has the backreference \\1'],
    ['a bad pattern where nothing refers to', { $defs: { a: { pattern: '(?=a)' } } }, '$defs.a: pattern "(?=a)" has'],
    ['a keyword of the wrong type', { required: 'a' }, 'required must be an array'],
    ['a list of schemas that is none', { allOf: 5 }, 'allOf must be an array'],
    ['names of schemas that are none', { properties: null }, 'properties must be an object'],
    ['too large a schema', { description: 'x'.repeat(inputSchemaBounds.characters) }, 'characters, more than 65536'],
  ])('with %s is refused', (_title, schema, message) => {
    expect(refusalOf(schema)).toContain(message);
    expect(faultsOf(aDocument({ input_schema: schema }))[0]).toContain('input_schema');
  });

  it.each([
    ['to itself', { $ref: '#' }, 'refers to itself without end: the schema → the schema'],
    [
      'to each other',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
      'refers to itself without end: $defs.a → $defs.b → $defs.a',
    ],
    ['through allOf', { allOf: [{ $ref: '#' }] }, 'the schema → allOf[0] → the schema'],
    ['through not', { not: { $ref: '#' } }, 'the schema → not → the schema'],
    ['through else', { if: true, else: { anyOf: [true, { $ref: '#' }] } }, 'without end'],
    ['through what a property brings along', { dependentSchemas: { a: { $ref: '#' } } }, 'without end'],
    ['where nothing refers to', { $defs: { a: { oneOf: [{ $ref: '#/$defs/a' }] } } }, 'without end: $defs.a'],
    ['through an anchor', { $anchor: 'me', allOf: [{ $ref: '#me' }] }, 'without end'],
  ])('that refers %s without end is refused', (_title, schema, message) => {
    expect(refusalOf(schema)).toContain(message);
  });

  it.each([
    ['an item', { items: { $ref: '#' } }],
    ['a property', { allOf: [{ properties: { a: { $ref: '#' } } }] }],
    ['a name', { additionalProperties: { anyOf: [{ type: 'null' }, { $ref: '#' }] } }],
    ['two ways to one', { $defs: { a: { type: 'null' } }, anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] }],
  ])('may refer to itself for %s: inputs end', (_title, schema) => {
    expect(refusalOf(schema)).toBe('accepted');
  });

  it('of one definition is not seen by another, even under the same $id', () => {
    expect(messageOf({ $id: 'x', type: 'string' }, 'a')).toBe('accepted');
    expect(messageOf({ $id: 'x', type: 'number' }, 'a')).toContain('must be number');
    const posing = { $id: 'https://json-schema.org/draft/2020-12/schema', type: 'string' };
    expect(refusalOf(posing)).toBe('accepted');
    expect(refusalOf({ type: 'objekt' })).toContain('type must be one of');
    expect(refusalOf({ $ref: 'x' })).toContain("can't resolve reference");
  });

  it('may hold the annotations that generators write', () => {
    const schema = {
      type: 'object',
      title: 'T',
      examples: [1],
      example: 1,
      nullable: true,
      discriminator: { propertyName: 'k' },
    };
    expect(messageOf(schema, {})).toBe('accepted');
    expect(messageOf(schema, null)).toBe('accepted');
    expect(messageOf(schema, 1)).toContain('must be object or null');
  });

  it('may hold so many schemas, and so much of patterns, and not more', () => {
    expect(refusalOf({ allOf: times(SCHEMAS - 1, () => ({})) })).toBe('accepted');
    expect(refusalOf({ allOf: times(SCHEMAS, () => ({})) })).toBe(`holds more than ${SCHEMAS} schemas`);
    const { instructions } = inputSchemaBounds;
    const withPatterns = (count: number) => ({
      allOf: times(count, (at) => ({ pattern: `^a{972}b${at}$` })),
    });
    expect(refusalOf(withPatterns(4))).toBe('accepted');
    expect(refusalOf(withPatterns(5))).toContain(`more than ${instructions} instructions`);
    expect(refusalOf({ allOf: times(100, () => ({ pattern: '^a{972}b$' })) })).toBe('accepted');
  });

  it('is compiled once for all that hold it, and the one longest unused is forgotten first', () => {
    const compile = createInputSchemas(2);
    const one = compile({ type: 'string' });
    expect(compile({ type: 'string' })).toBe(one);
    compile({ type: 'number' });
    expect(compile({ type: 'string' })).toBe(one);
    compile({ type: 'null' });
    expect(compile({ type: 'string' })).toBe(one);
    compile({ type: 'number' });
    compile({ type: 'null' });
    expect(compile({ type: 'string' })).not.toBe(one);
  });

  it('that an earlier release took and this one refuses spoils no definition, only its starts', () => {
    const document = aDocument({ input_schema: { pattern: '(?=a)' } });
    expect(faultsOf(document)).toHaveLength(1);
    const stored = parseStoredDefinition(document);
    if (!stored.ok) throw new Error(stored.failure.message);
    const result = checkInput(stored.value, 'a');
    expect(result.ok ? 'accepted' : result.failure).toMatchObject({
      code: 'definition_invalid',
      message: expect.stringContaining(
        'input_schema of refund version 1 cannot be used by this release: pattern "(?=a)"',
      ),
    });
  });
});

describe('a check', () => {
  const large = times(300_000, (at) => at);
  const doubling = {
    $defs: named(200, (at) =>
      at === 199 ? { type: 'object' } : { allOf: [{ $ref: `#/$defs/p${at + 1}` }, { $ref: `#/$defs/p${at + 1}` }] },
    ),
    $ref: '#/$defs/p0',
  };
  const tree = { properties: { n: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } };
  const tooMuch = `input takes too much to check: more than ${checkBounds.steps} steps`;

  it.each([
    ['references that double at each step', doubling, {}],
    ['references that double at each level of the input', tree, nested(100, {}, (n) => ({ n }))],
    ['branches that all fail late', { items: { anyOf: [...times(500, () => ({ minimum: 1e9 })), true] } }, large],
    ['a unique list of very many items', { uniqueItems: true }, large],
    [
      'unique lists, asked for again and again',
      { allOf: times(900, () => ({ uniqueItems: true })) },
      times(9000, (a) => ({ a })),
    ],
    [
      'names of very many members, again and again',
      { allOf: times(900, () => ({ minProperties: 1 })) },
      named(9000, () => 1),
    ],
    ['a large pattern over a long text', { pattern: '^(?:[ab]{0,400}){2}$' }, 'ab'.repeat(50_000)],
    ['a format over a text of megabytes', { format: 'uri' }, `http://${'a'.repeat(3_000_000)}`],
    [
      'what was seen, added up again and again',
      { items: { allOf: times(90, () => ({ properties: named(9, () => true) })), unevaluatedProperties: false } },
      times(5000, () => named(9, () => 1)),
    ],
  ] as readonly (readonly [string, Json, Json])[])(
    'of %s ends with a refusal, not with the loop held up',
    (_title, schema, input) => {
      expect(messageOf(schema, input)).toContain(tooMuch);
    },
  );

  it('ends where schemas lead to schemas too deep, instead of with the stack', () => {
    const chain = (length: number) => ({
      $defs: named(length, (at) => (at === length - 1 ? true : { $ref: `#/$defs/p${at + 1}` })),
      $ref: '#/$defs/p0',
    });
    expect(messageOf(chain(checkBounds.depth - 1), 1)).toBe('accepted');
    expect(messageOf(chain(checkBounds.depth), 1)).toContain('a depth of more than 800 schemas');
    const list = { properties: { next: { $ref: '#' } } };
    const deep = (depth: number) => nested(depth, {}, (next) => ({ next }));
    expect(messageOf(list, deep(390))).toBe('accepted');
    expect(messageOf(list, deep(410))).toContain('a depth of more than 800 schemas');
  });

  it('is bounded by the input, not by what a pattern makes of it', () => {
    const schema = { properties: { s: { type: 'string', pattern: '^(a+)+$' } } };
    expect(messageOf(schema, { s: `${'a'.repeat(100_000)}b` })).toContain('input.s must match pattern "^(a+)+$"');
    expect(messageOf(schema, { s: 'a'.repeat(100_000) })).toBe('accepted');
  });

  it.each([
    ['a list of many numbers', { items: { type: 'integer', minimum: 0 } }, large],
    ['many records', { items: ticket }, times(50_000, (id) => ({ ticket: { id, tags: ['a'] } }))],
    [
      'one of many choices',
      { items: { enum: times(3000, (a) => `choice ${a}`) } },
      times(100_000, (a) => `choice ${a % 3000}`),
    ],
    ['unique names', { uniqueItems: true, items: { pattern: '^[a-z0-9-]{1,40}$' } }, times(20_000, (a) => `name-${a}`)],
    ['a small constant and a large value', { not: { const: { a: 1 } } }, { a: large }],
    ['a text of megabytes', { minLength: 1, maxLength: 4_000_000 }, 'x'.repeat(4_000_000)],
  ] as readonly (readonly [string, Json, Json])[])('of %s is within the bounds', (_title, schema, input) => {
    expect(messageOf(schema, input)).toBe('accepted');
  });
});
