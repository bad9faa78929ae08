import { describe, expect, it } from 'vitest';
import { layOut, type Span, visibleRows } from '../../src/model/trace.ts';
import { findRepeats, kindCounts, LEAST_REPEATS, revealRow, wantedRows } from '../../src/model/trace-filter.ts';
import { type LogRecord, matchLogs } from '../../src/model/logs.ts';
import { aSpan, BASE } from './spans.ts';

const allOpen = { level: undefined, opened: new Set<string>(), closed: new Set<string>() };
const none = { flags: undefined, kinds: [], range: undefined };

describe('what a trace is narrowed to', () => {
  const rows = layOut(
    [
      aSpan('root', undefined, 0, 100, { kind: 'agent_run' }),
      aSpan('ask', 'root', 10, 20, { kind: 'model_generation' }),
      aSpan('find', 'root', 30, 40, { kind: 'tool_call' }),
      aSpan('lost', 'nobody', 50, 60),
    ],
    BASE,
  );
  const ids = (narrowing: Parameters<typeof wantedRows>[1]): string[] => {
    const wanted = wantedRows(rows, narrowing);
    return rows.spans.flatMap(({ span_id }, row) => (wanted === undefined || wanted(row) ? [span_id] : []));
  };

  it('is everything while nothing is set', () => {
    expect(wantedRows(rows, none)).toBeUndefined();
  });

  it('is the spans of some kinds; a span that is not stored has none', () => {
    expect(ids({ ...none, kinds: ['tool_call', 'agent_run'] })).toEqual(['root', 'find']);
    expect(ids({ ...none, kinds: ['generic'] })).toEqual(['lost']);
  });

  it('is what runs within a range, its edges included', () => {
    expect(ids({ ...none, range: { from: 20e6, to: 30e6 } })).toEqual(['root', 'ask', 'find']);
    expect(ids({ ...none, range: { from: 20e6 + 1, to: 30e6 - 1 } })).toEqual(['root']);
  });

  it('holds all that is set at once', () => {
    const flags = Uint8Array.from([1, 1, 0, 0, 0]);
    expect(ids({ flags, kinds: ['model_generation'], range: { from: 0, to: 15e6 } })).toEqual(['ask']);
    expect(ids({ flags, kinds: ['tool_call'], range: undefined })).toEqual([]);
  });

  it('offers each kind with its count, the commonest first', () => {
    expect(kindCounts(rows)).toEqual([
      ['agent_run', 1],
      ['generic', 1],
      ['model_generation', 1],
      ['tool_call', 1],
    ]);
  });
});

describe('siblings of the same name', () => {
  const calls = (count: number, more: (n: number) => Partial<Span> = () => ({})): Span[] => [
    aSpan('root', undefined, 0, 100),
    ...Array.from({ length: count }, (_, n) => aSpan(`c${n}`, 'root', n, n + 1, { name: 'call', ...more(n) })),
  ];

  it(`are folded into the first from ${LEAST_REPEATS} on, and not before`, () => {
    const few = findRepeats(layOut(calls(LEAST_REPEATS - 1), BASE));
    expect([few.groups, few.hidden.includes(1)]).toEqual([0, false]);
    const enough = findRepeats(layOut(calls(LEAST_REPEATS), BASE));
    expect([...enough.times]).toEqual([0, LEAST_REPEATS, 0, 0, 0, 0]);
    expect([...enough.hidden]).toEqual([0, 0, 1, 1, 1, 1]);
  });

  it('of another kind, or under another parent, are others', () => {
    const mixed = calls(LEAST_REPEATS, (n) => (n === 0 ? { kind: 'tool_call' } : {}));
    expect(findRepeats(layOut(mixed, BASE)).groups).toBe(0);
    const apart = calls(LEAST_REPEATS, (n) => (n === 4 ? { parent_span_id: 'c0' } : {}));
    expect(findRepeats(layOut(apart, BASE)).groups).toBe(0);
  });

  it('that failed, or have a failure below them, stay', () => {
    const spans = [
      ...calls(7, (n) => (n === 2 ? { status: 'error' } : {})),
      aSpan('below', 'c5', 5, 6, { status: 'error' }),
    ];
    const rows = layOut(spans, BASE);
    const { hidden } = findRepeats(rows);
    const shown = [...visibleRows(rows, allOpen, { root: undefined, wanted: undefined, hidden })];
    expect(shown.map((row) => rows.spans[row]?.span_id)).toEqual(['root', 'c0', 'c2', 'c5', 'below']);
  });

  it('are hidden with all below them, but for the one on which the reader is', () => {
    const rows = layOut([...calls(6), aSpan('below', 'c3', 3, 4)], BASE);
    const { hidden } = findRepeats(rows);
    const shown = (row: number): (string | undefined)[] =>
      [...visibleRows(rows, allOpen, { root: undefined, wanted: undefined, hidden: revealRow(rows, hidden, row) })].map(
        (at) => rows.spans[at]?.span_id,
      );
    expect(shown(0)).toEqual(['root', 'c0']);
    expect(shown(rows.rowOf.get('below') ?? 0)).toEqual(['root', 'c0', 'c3', 'below']);
  });

  it('of which there are 10,000 are one row', () => {
    const rows = layOut(calls(10_000), BASE);
    const { hidden } = findRepeats(rows);
    expect(visibleRows(rows, allOpen, { root: undefined, wanted: undefined, hidden })).toHaveLength(2);
  });
});

describe('words in logs', () => {
  const aRecord = (message: string, more: Partial<LogRecord> = {}): LogRecord => ({
    log_id: message,
    timestamp: '2026-11-20T09:00:00Z',
    received_at: '2026-11-20T09:00:00Z',
    severity: 'info',
    message,
    attributes: {},
    correlation: { project: 'p' },
    ...more,
  });
  const records = [
    aRecord('Cache miss'),
    aRecord('retry', { logger: 'http.Client' }),
    aRecord('done', { attributes: { key: 'cache-7' } }),
  ];

  it.each([
    ['cache', ['Cache miss', 'done']],
    ['MISS cache', ['Cache miss']],
    ['client', ['retry']],
    ['cache nowhere', []],
    ['  ', ['Cache miss', 'retry', 'done']],
  ])('%j finds records that have each of them, in message, logger or attributes', (words, expected) => {
    expect(matchLogs(records, words).map(({ message }) => message)).toEqual(expected);
  });
});
