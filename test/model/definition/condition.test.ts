import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.ts';
import { conditionBounds, evaluate, parseCondition } from '../../../src/model/definition/condition.ts';
import type { ExpressionScope } from '../../../src/model/definition/expression-scope.ts';
import { aScope } from './a-definition.ts';

const condition = (source: string) => {
  const result = parseCondition(source);
  if (!result.ok) throw new Error(result.message);
  return result.value;
};
const refusalOf = (source: string): string => {
  const result = parseCondition(source);
  return result.ok ? 'accepted' : result.message;
};
const decided = (source: string, scope: Partial<ExpressionScope> = {}) => {
  const result = evaluate(condition(source), aScope(scope));
  return result.ok ? result.value : result.error.message;
};

const scope: Partial<ExpressionScope> = {
  input: {
    n: 5,
    half: 2.5,
    i: 1,
    s: 'abc',
    yes: true,
    nothing: null,
    list: [1, 2, 3],
    mixed: [1, 'a', null, { x: 1 }],
    items: [{ price: 10, tags: ['a'] }, { price: 20 }],
    object: { a: 1, b: 'x' },
  },
  state: { confidence: 0.9 },
  steps: { triage: { output: { label: 'refund' } }, 'cool-down': { output: 3 } },
  visits: { triage: 2 },
  event: { name: 'approval', key: 'k', payload: { approved: true } },
};

describe('a condition', () => {
  it.each([
    ['state.confidence >= 0.8', true],
    ['visits.triage < 3', true],
    ['visits.triage + 1 == 3', true],
    ['visits.ask == 0', true],
    ['steps.triage.output.label == "refund"', true],
    ['steps["cool-down"].output == 3', true],
    ['event.payload.approved', true],
    ['!input.yes', false],
    ['input.nothing == null', true],
    ['has(input.n) && !has(input.nope)', true],
    ['input.n in [1, 5]', true],
    ['"n" in input', true],
    ['input.list[input.i] == 2', true],
    ['input.mixed[3].x == 1', true],
    ['input.list == [1, 2, 3]', true],
    ['input.object == {"a": 1, "b": "x"}', true],
    ['size(input.list) == 3', true],
    ['input.items.exists(x, x.price > 15)', true],
    ['input.items.all(x, x.price > 15)', false],
    ['input.items.all(x, has(x.tags))', false],
    ['input.items.filter(x, x.price > 15).size() == 1', true],
    ['input.items.filter(x, x.price > 15).map(x, x.price) == [20]', true],
    ['input.list.exists_one(x, x == 2)', true],
    ['input.s.startsWith("a") && input.s.contains("b")', true],
    ['timestamp(run.created_at) < timestamp("2026-01-02T00:00:00Z")', true],
    ['input.yes ? input.n > 1 : false', true],
  ])('%s is %s', (source, value) => {
    expect(decided(source, scope)).toBe(value);
  });

  it.each([
    ['input.n + 1 == 6'],
    ['1 + input.n == 6'],
    ['input.n - 1 == 4'],
    ['10 - input.n == 5'],
    ['input.n * 2 == 10'],
    ['2 * input.n == 10'],
    ['input.n / 2 == 2.5'],
    ['10 / input.n == 2'],
    ['input.n % 2 == 1'],
    ['11 % input.n == 1'],
    ['input.n % input.half == 0.0'],
    ['size(input.list) + input.n == 8'],
    ['input.n == 5 && input.n == 5.0 && 5 == 5.0 && 5.0 == 5'],
    ['5 != 6.0 && 6.0 != 5 && input.n != 6 && 6 != input.n && !(5 != input.n)'],
    ['5 == input.n && input.n + 1 == 1 + input.n'],
    ['1 + 2 * 3 == 7 && 7 / 2 == 3 && 7.0 / 2 == 3.5'],
    ['-input.n == -5 && -input.n < 0'],
    ['input.n > 4 && input.half < 3 && 1 < 2.5'],
    ['5 in [input.n] && input.n in [5]'],
  ])('mixes numbers freely, both ways: %s', (source) => {
    expect(decided(source, scope)).toBe(true);
  });

  it.each([
    ['input.nope == 1', 'condition "input.nope == 1": No such key: nope (has(...) asks whether a path is there)'],
    ['input.nope.deeper == 1', 'No such key: nope'],
    ['item == 1', 'Unknown variable: item'],
    ['error.class == "x"', 'Unknown variable: error'],
    ['input.list[9] == 1', 'index out of bounds'],
    ['input.s + 1 == 2', 'no such overload'],
    ['input.n', 'a condition is true or false; this one gave a number'],
    ['input.s', 'this one gave a text'],
    ['input.list', 'this one gave a list'],
    ['input.object', 'this one gave a map'],
    ['input.nothing', 'this one gave null'],
    ['size(input.list) > 1 ? input.list[0] : 1', 'this one gave a number'],
    ['input.constructor == 1', 'No such key: constructor'],
    ['input.__proto__ == 1', 'No such key: __proto__'],
    ['input.s.length == 3', 'No such key: length'],
    ['input.n / 0 > 1 && 1 / 0 == 1', 'division by zero'],
  ])('%s fails with class expression', (source, message) => {
    const result = evaluate(condition(source), aScope(scope));
    if (result.ok) throw new Error('decided');
    expect(result.error.class).toBe('expression');
    expect(result.error.message).toContain(message);
  });

  it('reads data by own keys, whatever they are called: a payload cannot pass for something else', () => {
    const input = JSON.parse('{"constructor": {"name": "Map"}, "__proto__": {"a": 1}, "toString": 2, "n": 1}') as Json;
    expect(decided('input.n == 1', { input })).toBe(true);
    expect(decided('input == {"n": 1}', { input })).toBe(false);
    expect(decided('input.toString == 2', { input })).toBe(true);
    expect(decided('has(input.a)', { input })).toBe(false);
    expect(decided('has(input.valueOf)', { input })).toBe(false);
  });

  it.each([
    ['state. >', 'Expected IDENTIFIER, got GT'],
    ['foo == 1', 'Unknown variable: foo'],
    ['now() > 1', 'now'],
    ['1 + 1', 'a condition is true or false; this one gives int'],
    ['"text"', 'this one gives string'],
    ['"a" > 1', 'no such overload'],
    ['input.s.matches("^(a+)+$")', 'matches() is refused'],
    ['"aa".matches("a")', 'matches() is refused'],
    ['matches(input.s, "a")', 'matches() is refused'],
    ['!(true && [input.s.matches("a")][0])', 'matches() is refused'],
    ['{"k": input.s.matches("a")}["k"]', 'matches() is refused'],
    ['input.l.all(x, input.l.all(y, y == x))', 'all() inside another macro is refused'],
    ['input.l.all(x, x.map(y, y).size() > 1)', 'map() inside another macro is refused'],
    ['input.l.map(x, [x, x]).all(y, true)', 'only filter() can be followed'],
    ['input.l.all(state, state > 1)', 'that name is taken'],
    ['cel.bind(a, input.n, a == 1)', 'bind() is refused'],
    ['bytes("{}").json() == {}', 'json() is refused'],
    [`${'('.repeat(40)}true${')'.repeat(40)}`, 'Exceeded'],
    [Array.from({ length: 300 }, () => 'true').join(' && '), 'Exceeded'],
    [' '.repeat(conditionBounds.sourceCharacters + 1), 'a condition has at most 4096 characters, not 4097'],
  ])('%s is refused when it is parsed', (source, message) => {
    expect(refusalOf(source)).toContain(message);
  });

  it('may read 100,000 elements and 256 KiB of text, and not one more', () => {
    const list = (length: number) => ({ input: { list: Array.from({ length }, () => 0) } });
    expect(decided('size(input.list) > 1', list(conditionBounds.elementsRead))).toBe(true);
    expect(decided('size(input.list) > 1', list(conditionBounds.elementsRead + 1))).toContain('more than 100000');
    const text = (length: number) => ({ input: { s: 'x'.repeat(length) } });
    expect(decided('input.s != ""', text(conditionBounds.charactersRead))).toBe(true);
    expect(decided('input.s != ""', text(conditionBounds.charactersRead + 1))).toContain('more than 262144 characters');
  });

  it('is not held up by what it does not read', () => {
    const huge = Array.from({ length: conditionBounds.elementsRead + 1 }, () => 0);
    expect(decided('input.n == 1 && has(input.huge) && !has(input.no)', { input: { n: 1, huge } })).toBe(true);
  });

  it('is stopped when a macro takes too long, and the process goes on', () => {
    const list = Array.from({ length: 50_000 }, (_, at) => at);
    expect(decided('input.a.all(x, !(-1 in input.b))', { input: { a: list, b: list } })).toContain(
      'it took longer than 200 ms',
    );
    expect(decided('input.a.all(x, x >= 0)', { input: { a: [1] } })).toBe(true);
  });

  it('is stopped when it joins long lists over and over, though it has no macro', () => {
    const list = Array.from({ length: 50_000 }, (_, at) => at);
    const joined = `size(${Array.from({ length: 100 }, () => 'input.a').join(' + ')}) > 1`;
    expect(decided(joined, { input: { a: list } })).toContain('it took longer than 200 ms');
    expect(decided(joined, { input: { a: [1] } })).toBe(true);
  });

  it('shows no more than the beginning of a long source in its error', () => {
    const long = `input.missing == "${'x'.repeat(1000)}"`;
    expect(decided(long, { input: {} })).toMatch(/^condition "input\.missing == .{150,200}…": No such key: missing/);
  });

  it('says which paths it reads', () => {
    expect(condition('input.a.b > 1 && steps["x"].output[0] == state.y').reads).toEqual([
      ['input', 'a', 'b'],
      ['steps', 'x', 'output'],
      ['state', 'y'],
    ]);
  });
});
