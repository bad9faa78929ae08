import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.ts';
import {
  compileInputSchema,
  createInputChecks,
  inputSchemaBounds,
} from '../../../src/model/definition/input-schema.ts';
import { aDocument, parsed } from './a-definition.ts';

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
  const result = createInputChecks()(withSchema(schema), input);
  return result.ok ? 'accepted' : `${result.failure.code} ${result.failure.message}`;
};

describe('the input of a run', () => {
  it('is taken as it is when it meets the schema, or when there is none', () => {
    const input = { ticket: { id: 1, tags: ['a'] } };
    const check = createInputChecks();
    const result = check(withSchema(ticket), input);
    expect(result.ok && result.value).toBe(input);
    expect(check(parsed(aDocument()), undefined)).toEqual({ ok: true, value: undefined });
    expect(messageOf(true, 5)).toBe('accepted');
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

  it('is checked against formats and references', () => {
    expect(messageOf({ properties: { at: { format: 'date-time' } } }, { at: 'x' })).toContain(
      'input.at must match format "date-time"',
    );
    const list = { $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } }, $ref: '#/$defs/n' };
    expect(messageOf(list, { next: { next: 5 } })).toContain('input.next.next must be object');
  });

  it('may be described in draft-07', () => {
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] };
    expect(messageOf(schema, ['a'])).toBe('accepted');
    expect(messageOf(schema, [1])).toContain('input[0] must be string');
  });

  it('is refused in bounded time when its check explodes', () => {
    expect(
      messageOf({ properties: { s: { type: 'string', pattern: '^(a+)+$' } } }, { s: `${'a'.repeat(40)}b` }),
    ).toContain('input takes longer than 250 ms to check');
  });
});

describe('a schema', () => {
  it.each([
    ['a remote reference', { $ref: 'https://example.com/schema.json' }, "can't resolve reference"],
    ['an unknown keyword', { requierd: [] }, 'unknown keyword: "requierd"'],
    ['an unknown format', { format: 'colour' }, 'unknown format "colour"'],
    [
      'another dialect',
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      'is not supported; use draft 2020-12 or draft-07',
    ],
    ['an asynchronous schema', { $async: true }, '$async is not supported'],
    ['a bad pattern', { pattern: '(' }, 'Invalid regular expression'],
    ['too large a schema', { description: 'x'.repeat(inputSchemaBounds.characters) }, 'characters, more than 65536'],
  ])('with %s is refused', (_title, schema, message) => {
    const result = compileInputSchema(schema);
    expect(result.ok ? 'accepted' : result.message).toContain(message);
  });

  it('of one definition is not seen by another, even under the same $id', () => {
    const check = createInputChecks();
    expect(check(withSchema({ $id: 'x', type: 'string' }, 1), 'a').ok).toBe(true);
    expect(check(withSchema({ $id: 'x', type: 'number' }, 2), 'a').ok).toBe(false);
    const posing = { $id: 'https://json-schema.org/draft/2020-12/schema', type: 'string' };
    expect(compileInputSchema(posing)).toMatchObject({ ok: false });
    expect(compileInputSchema({ type: 'string' })).toMatchObject({ ok: true });
    expect(compileInputSchema({ $ref: 'x' }).ok).toBe(false);
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
    expect(compileInputSchema(schema)).toMatchObject({ ok: true });
  });

  it('is kept by version, and the one longest unused is forgotten first', () => {
    const check = createInputChecks(2);
    const one = withSchema({ type: 'string' }, 1);
    // Same id and version with another schema cannot happen: versions are immutable. It shows here what is kept.
    const impostor = withSchema({ type: 'number' }, 1);
    check(one, 'a');
    expect(check(impostor, 'a').ok).toBe(true);
    check(withSchema({}, 2), 'a');
    check(one, 'a');
    check(withSchema({}, 3), 'a');
    expect(check(impostor, 'a').ok).toBe(true);
    check(withSchema({}, 4), 'a');
    check(withSchema({}, 5), 'a');
    expect(check(impostor, 'a').ok).toBe(false);
  });
});
