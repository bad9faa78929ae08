import { describe, expect, it } from 'vitest';
import { countChanges, diffTraces } from '../../src/model/trace-diff.ts';
import { layOut, type Span, type TraceRows } from '../../src/model/trace.ts';
import { aSpan, BASE } from './spans.ts';

const rowsOf = (...spans: Span[]): TraceRows => layOut(spans, BASE);
/** The same tree with other ids: no two traces share any. */
const said = (a: TraceRows, b: TraceRows): string[] =>
  diffTraces(a, b).map(
    ({ depth, a: rowA, b: rowB, changes }) =>
      `${'-'.repeat(depth)}${(rowA === undefined ? b.spans[rowB ?? 0] : a.spans[rowA])?.name} ${changes.join(', ')}`,
  );
const named = (
  id: string,
  parent: string | undefined,
  name: string,
  from: number,
  to: number,
  more: Partial<Span> = {},
) => aSpan(id, parent, from, to, { name, ...more });

describe('two traces side by side', () => {
  it('are aligned by the path of names, whatever their ids are', () => {
    const a = rowsOf(
      named('1', undefined, 'run', 0, 100),
      named('2', '1', 'ask', 0, 10),
      named('3', '1', 'ask', 20, 30),
    );
    const b = rowsOf(
      named('x', undefined, 'run', 5, 105),
      named('y', 'x', 'ask', 5, 15),
      named('z', 'x', 'ask', 20, 30),
    );
    expect(said(a, b)).toEqual(['run ', '-ask ', '-ask ']);
    expect(diffTraces(a, b).map(({ a: rowA, b: rowB }) => [rowA, rowB])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });

  it('show what only one of them has, where it stood there, with all below it', () => {
    const a = rowsOf(
      named('1', undefined, 'run', 0, 100),
      named('2', '1', 'first', 0, 10),
      named('3', '1', 'dropped', 20, 30),
      named('4', '1', 'last', 40, 50),
    );
    const b = rowsOf(
      named('v', undefined, 'run', 0, 100),
      named('u', 'v', 'new', 0, 1),
      named('w', 'v', 'first', 2, 10),
      named('x', 'v', 'added', 20, 30),
      named('y', 'x', 'inner', 21, 22),
      named('z', 'v', 'last', 40, 50),
    );
    expect(said(a, b)).toEqual([
      'run ',
      '-new only in B',
      '-first ',
      '-added only in B',
      '--inner only in B',
      '-dropped only in A',
      '-last ',
    ]);
  });

  it('of another kind are another span', () => {
    const a = rowsOf(named('1', undefined, 'run', 0, 1));
    const b = rowsOf(named('x', undefined, 'run', 0, 1, { kind: 'tool_call' }));
    expect(said(a, b)).toEqual(['run only in B', 'run only in A']);
  });

  it.each<[string, Partial<Span>, number, Partial<Span>, number, string[]]>([
    ['status', {}, 10, { status: 'error' }, 10, ['status']],
    ['model', { model: 'a' }, 10, { model: 'b' }, 10, ['model']],
    ['no time that nobody waits for', {}, 1, {}, 5, []],
    ['no time within half as much again', {}, 100, {}, 150, []],
    ['a longer time', {}, 100, {}, 151, ['slower']],
    ['a shorter time', {}, 151, {}, 100, ['faster']],
    [
      'a higher cost',
      { cost: { total_cost: 1, currency: 'USD', is_estimated: true } },
      1,
      { cost: { total_cost: 1.2, currency: 'USD', is_estimated: true } },
      1,
      ['dearer'],
    ],
    [
      'no cost that is unknown on one side',
      { cost: { total_cost: 1, currency: 'USD', is_estimated: true } },
      1,
      {},
      1,
      [],
    ],
    [
      'no costs in two currencies',
      { cost: { total_cost: 1, currency: 'USD', is_estimated: true } },
      1,
      { cost: { total_cost: 9, currency: 'EUR', is_estimated: true } },
      1,
      [],
    ],
  ])('differ in %s', (_what, moreA, toA, moreB, toB, changes) => {
    const a = rowsOf(named('1', undefined, 'run', 0, toA, moreA));
    const b = rowsOf(named('x', undefined, 'run', 0, toB, moreB));
    expect(diffTraces(a, b)[0]?.changes).toEqual(changes);
  });

  it('are counted by what changed', () => {
    const a = rowsOf(named('1', undefined, 'run', 0, 1), named('2', '1', 'x', 0, 1), named('3', '1', 'y', 0, 1));
    const b = rowsOf(named('4', undefined, 'run', 0, 1, { status: 'error' }));
    expect(countChanges(diffTraces(a, b))).toEqual([
      ['only in A', 2],
      ['status', 1],
    ]);
  });

  it('may be 10,000 deep or 10,000 wide', () => {
    const chain = (prefix: string): TraceRows =>
      rowsOf(
        ...Array.from({ length: 10_000 }, (_, n) =>
          named(`${prefix}${n}`, n === 0 ? undefined : `${prefix}${n - 1}`, 'link', n, 20_000),
        ),
      );
    expect(diffTraces(chain('a'), chain('b')).filter(({ a, b }) => a === b)).toHaveLength(10_000);
    const fan = (prefix: string, name: (n: number) => string): TraceRows =>
      rowsOf(
        named(prefix, undefined, 'root', 0, 20_000),
        ...Array.from({ length: 10_000 }, (_, n) => named(`${prefix}${n}`, prefix, name(n), n, n + 1)),
      );
    const wide = diffTraces(
      fan('a', (n) => `call ${n}`),
      fan('b', (n) => `call ${n + 5000}`),
    );
    expect([wide.length, wide.filter(({ a, b }) => a !== undefined && b !== undefined).length]).toEqual([15_001, 5001]);
  });
});
