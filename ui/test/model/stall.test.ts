import { describe, expect, it } from 'vitest';
import {
  findLoops,
  findStalls,
  lasted,
  LEAST_SAMPLES,
  nameKey,
  openNames,
  repeatedTools,
  usualTime,
} from '../../src/model/stall.ts';
import { layOut } from '../../src/model/trace.ts';
import { aSpan, BASE } from './spans.ts';

const call = (id: string, from: number, name = 'search') =>
  aSpan(id, 'root', from, from + 1, { name, kind: 'tool_call' });
const root = aSpan('root', undefined, 0, 100);

describe('a loop', () => {
  const rows = layOut([root, ...[1, 2, 3, 4].map((n) => call(`c${n}`, n)), call('other', 9, 'pay')], BASE);

  it('is looked for where a tool was called three times, and not where it was called twice', () => {
    expect(repeatedTools(rows)).toEqual([{ name: 'search', kind: 'tool_call' }]);
    expect(repeatedTools(layOut([root, call('a', 1), call('b', 2)], BASE))).toEqual([]);
    const models = [1, 2, 3].map((n) => aSpan(`m${n}`, 'root', n, n + 1, { name: 'ask', kind: 'model_generation' }));
    expect(repeatedTools(layOut([root, ...models], BASE))).toEqual([]);
  });

  it('is the same tool with the same input at least three times, whatever the order of its members', () => {
    const same = new Map<string, unknown>([
      ['c1', { q: 'x', n: 1 }],
      ['c2', { n: 1, q: 'x' }],
      ['c3', { q: 'y', n: 1 }],
    ]);
    expect(findLoops(rows, same)).toEqual([]);
    same.set('c4', { q: 'x', n: 1 });
    expect(findLoops(rows, same).map((loop) => loop.rows.map((row) => rows.spans[row]?.span_id))).toEqual([
      ['c1', 'c2', 'c4'],
    ]);
  });

  it('is not made of calls whose input nobody sent', () => {
    expect(findLoops(rows, new Map())).toEqual([]);
  });
});

describe('a span that stays open', () => {
  const rows = layOut([root, aSpan('slow', 'root', 50, undefined, { name: 'fetch' })], BASE + 1050);

  it('is asked about by its name', () => {
    expect(openNames(rows)).toEqual([{ name: 'fetch', kind: 'generic' }]);
  });

  it('lasted to the nanosecond, and for no time that is known while it has no end', () => {
    const start_time = '2026-11-20T09:00:00.000000001Z';
    expect(lasted({ start_time, end_time: '2026-11-20T09:00:01.000000003Z' })).toBe(1_000_000_002);
    expect(lasted({ start_time })).toBeUndefined();
  });

  it('has a usual time from ten finished ones on', () => {
    const durations = Array.from({ length: LEAST_SAMPLES }, (_, n) => n + 1);
    expect(usualTime(durations.slice(1))).toBeUndefined();
    expect(usualTime(durations)).toBe(10);
    expect(usualTime([...durations.slice(1), ...durations.slice(1), 1, 1, 500])).toBe(10);
  });

  it('is late when it is open for longer than that, and not when it is just as long', () => {
    const usual = (ms: number) => new Map([[nameKey({ name: 'fetch', kind: 'generic' }), ms * 1e6]]);
    expect(findStalls(rows, usual(1000))).toEqual([]);
    expect(findStalls(rows, usual(999))).toEqual([{ row: rows.rowOf.get('slow'), openNs: 1000e6, usualNs: 999e6 }]);
    expect(findStalls(rows, new Map())).toEqual([]);
  });
});
