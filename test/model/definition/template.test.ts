import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.ts';
import type { ExpressionScope } from '../../../src/model/definition/expression-scope.ts';
import { parseTemplate, render, renderAsText, renderedBounds } from '../../../src/model/definition/template.ts';
import { aScope } from './a-definition.ts';

const template = (source: Json) => {
  const result = parseTemplate(source);
  if (!result.ok) throw new Error(result.message);
  return result.value;
};
const rendered = (source: Json, scope: Partial<ExpressionScope> = {}) => {
  const result = render(template(source), aScope(scope));
  return result.ok ? result.value : result.error.message;
};

const scope: Partial<ExpressionScope> = {
  input: { ticket: { id: 7, tags: ['a', 'b'], 'odd key': true, nothing: null }, 'a-b': 1 },
  state: { amount: 12.5 },
  steps: { pay: { output: { ok: true, list: [{ x: 1 }] } } },
  correlation: { user_id: 'u' },
  item: ['first'],
  event: { name: 'approval', key: 'k', payload: { yes: true } },
  error: { class: 'fatal', message: 'm' },
};

describe('a template', () => {
  it.each([
    ['${input.ticket.id}', 7],
    ['${input.ticket}', scope.input && (scope.input as Record<string, Json>)['ticket']],
    ['${input.ticket.nothing}', null],
    ['${ input.ticket.id }', 7],
    ['${input.ticket.tags[1]}', 'b'],
    ['${input.ticket.tags.1}', 'b'],
    ['${input.ticket["odd key"]}', true],
    ['${input.a-b}', 1],
    ['${state.amount}', 12.5],
    ['${steps.pay.output.list[0].x}', 1],
    ['${run.run_id}', 'r'],
    ['${correlation.user_id}', 'u'],
    ['${item[0]}', 'first'],
    ['${event.payload.yes}', true],
    ['${error.class}', 'fatal'],
    [5, 5],
    [null, null],
    ['', ''],
    ['no template', 'no template'],
  ] as const)('%j alone keeps the type of its value', (source, value) => {
    expect(rendered(source, scope)).toEqual(value);
  });

  it.each([
    ['ticket/${input.ticket.id}', 'ticket/7'],
    ['${input.ticket.id}/${state.amount}', '7/12.5'],
    ['tags: ${input.ticket.tags}', 'tags: ["a","b"]'],
    ['${input.ticket.nothing}!', 'null!'],
    ['${correlation.user_id}${correlation.user_id}', 'uu'],
    ['costs $5 {not} a path', 'costs $5 {not} a path'],
    ['$${input.ticket.id}', '${input.ticket.id}'],
    ['a $${b} ${input.ticket.id}', 'a ${b} 7'],
  ])('%j becomes text', (source, text) => {
    expect(rendered(source, scope)).toBe(text);
  });

  it('is filled in at any depth, keys of objects excepted', () => {
    expect(rendered({ a: ['${input.ticket.id}', { '${b}': 'x${state.amount}' }], c: 1 }, scope)).toEqual({
      a: [7, { '${b}': 'x12.5' }],
      c: 1,
    });
  });

  it.each([
    ['${input.nope}', 'input.nope is missing'],
    ['${input.ticket.tags[2]}', 'input.ticket.tags[2] is missing'],
    ['${input.ticket.tags.length}', 'input.ticket.tags.length is missing'],
    ['${input.ticket.id.toFixed}', 'input.ticket.id.toFixed is missing'],
    ['${input.ticket.tags.01}', 'input.ticket.tags.01 is missing'],
    ['${input.ticket["no such"].x}', 'input.ticket["no such"].x is missing'],
    ['${input.toString}', 'input.toString is missing'],
    ['${input.hasOwnProperty}', 'input.hasOwnProperty is missing'],
    ['${input["__proto__"]}', 'input.__proto__ is missing'],
    ['${input.constructor}', 'input.constructor is missing'],
    ['key/${input.nope}', 'input.nope is missing'],
    ['${steps.triage.output}', 'steps.triage.output is missing'],
  ])('%j fails with class expression and names the path', (source, message) => {
    expect(render(template(source), aScope(scope))).toEqual({ ok: false, error: { class: 'expression', message } });
  });

  it('leaves an optional path out: absent in an object or a list, empty inside a text, nothing alone', () => {
    expect(
      rendered(
        { a: '${input.nope?}', b: ['${input.nope?}', 1], c: 'x${input.nope?}y', d: '${input.ticket.id?}' },
        scope,
      ),
    ).toEqual({
      b: [1],
      c: 'xy',
      d: 7,
    });
    expect(render(template('${input.nope?}'), aScope(scope))).toEqual({ ok: true, value: undefined });
    expect(renderAsText(template('${input.nope?}'), aScope(scope))).toEqual({ ok: true, value: '' });
  });

  it('becomes text where a text is needed', () => {
    expect(renderAsText(template('${input.ticket.id}'), aScope(scope))).toEqual({ ok: true, value: '7' });
    expect(renderAsText(template('${input.ticket.tags}'), aScope(scope))).toEqual({ ok: true, value: '["a","b"]' });
    expect(renderAsText(template('${input.nope}'), aScope(scope))).toMatchObject({ ok: false });
  });

  it.each([
    ['${', 'is never closed'],
    ['${}', 'there is no path between the braces'],
    ['${?}', 'there is no path between the braces'],
    ['${.a}', 'a path starts with a name'],
    ['${input..a}', 'cannot read "..a"'],
    ['${input.}', 'cannot read "."'],
    ['${input[0]a}', 'cannot read "a"'],
    ['${input[-1]}', 'cannot read "[-1]"'],
    ['${input["a]}', 'cannot read'],
    ['${input["\\q"]}', 'is not a JSON text'],
    ['${input + 1}', 'cannot read " + 1"'],
    ['${process.env}', '"process" is not readable'],
    ['${visits.a}', '"visits" is not readable'],
    ['${steps}', 'of a step, the output can be read'],
    ['${steps.pay}', 'of a step, the output can be read'],
    ['${steps.pay.state}', 'of a step, the output can be read'],
  ])('%j is refused when it is parsed', (source, message) => {
    const result = parseTemplate({ deep: [source] });
    expect(result.ok ? '' : result.message).toContain(message);
  });

  it('says which paths it reads', () => {
    expect(template({ a: '${input.x}', b: ['${steps.pay.output} and ${state.y?}'] }).reads).toEqual([
      ['input', 'x'],
      ['steps', 'pay', 'output'],
      ['state', 'y'],
    ]);
  });

  it('becomes at most 4 MiB of JSON, and says so when it would be more', () => {
    const half = 'x'.repeat(renderedBounds.characters / 2);
    const twice = { a: '${input.s}', b: '${input.s}' };
    expect(rendered('${input.s}', { input: { s: half } })).toBe(half);
    expect(rendered(twice, { input: { s: half } })).toContain('larger than 4194304 characters of JSON');
    expect(rendered('${input.s}${input.s}', { input: { s: `${half}x` } })).toContain('larger than 4194304 characters');
    expect(rendered(twice, { input: { s: half.slice(10) } })).toEqual({ a: half.slice(10), b: half.slice(10) });
  });

  it('nests at most 128 levels: what goes around a loop does not grow without end', () => {
    const deep = (levels: number): Json => {
      let value: Json = 1;
      for (let at = 0; at < levels; at += 1) value = [value];
      return value;
    };
    expect(rendered('${input}', { input: deep(128) })).toEqual(deep(128));
    expect(rendered('${input}', { input: deep(129) })).toContain('nests deeper than 128 levels');
    expect(rendered('a${input}', { input: deep(50_000) })).toContain('nests deeper than 128 levels');
  });
});

it('a value that a template carries through is the value, for any JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      const value = JSON.parse(JSON.stringify(json)) as Json;
      expect(rendered({ carried: ['${input.v}'] }, { input: { v: value } })).toEqual({ carried: [value] });
    }),
  );
});

it('any text without the characters that open a template is itself', () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes('${')),
      (text) => {
        expect(rendered(text)).toBe(text);
      },
    ),
  );
});
