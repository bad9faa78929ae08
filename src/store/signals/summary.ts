import { compareKeys, type CallGroup, type CallRow, costOf, MOST_GROUPS, sharesOf } from './call-groups.ts';
import { percentilesOf } from './percentiles.ts';
import type { Percentiles, SummaryGroup } from './query.ts';

/** What a summary says of some traces, as an engine has added it up. */
export type SummaryTotals = {
  traces: number;
  errors: number;
  cancelled: number;
  /** Absent while nothing was priced. */
  cost: number | undefined;
  input: number;
  output: number;
  latency: Percentiles | undefined;
};
export const noTotals = (): SummaryTotals => ({
  ...{ traces: 0, errors: 0, cancelled: 0 },
  ...{ cost: undefined, input: 0, output: 0, latency: undefined },
});

/** A summary counts every use of a model; what a span has that used nothing is no use. */
export const isUsed = ({ figures: { count, inputTokens, outputTokens } }: CallRow): boolean =>
  count > 0 || inputTokens > 0 || outputTokens > 0;

/** What a summary adds up, for every engine that reads its traces one by one. */
export type Tally = Omit<SummaryTotals, 'latency'> & {
  /** In nanoseconds, of the traces that have one. */
  readonly durations: number[];
};
export const newTally = (): Tally => ({
  ...{ traces: 0, errors: 0, cancelled: 0 },
  ...{ cost: undefined, input: 0, output: 0, durations: [] },
});

/** A trace as a summary counts it. */
export type TraceFigures = {
  readonly isFailed: boolean;
  readonly isCancelled: boolean;
  readonly durationNs: number | null;
  readonly totalCost: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
};

/** Counts a trace, and not what it cost: in a group of calls that is its calls' own. */
export const countTrace = (
  tally: Tally,
  { isFailed, isCancelled, durationNs }: Pick<TraceFigures, 'isFailed' | 'isCancelled' | 'durationNs'>,
): void => {
  tally.traces++;
  if (isFailed) tally.errors++;
  if (isCancelled) tally.cancelled++;
  if (durationNs !== null) tally.durations.push(durationNs);
};

export const addTrace = (tally: Tally, trace: TraceFigures): void => {
  countTrace(tally, trace);
  if (trace.totalCost !== null) tally.cost = (tally.cost ?? 0) + trace.totalCost;
  tally.input += trace.inputTokens;
  tally.output += trace.outputTokens;
};

export const totalsOf = ({ durations, ...totals }: Tally): SummaryTotals => ({
  ...totals,
  latency: percentilesOf(durations),
});

export const figuresOf = (totals: SummaryTotals): Omit<SummaryGroup, 'key'> => ({
  traceCount: totals.traces,
  errorCount: totals.errors,
  cancelledCount: totals.cancelled,
  ...costOf(totals),
  inputTokens: totals.input,
  outputTokens: totals.output,
  ...(totals.latency === undefined ? {} : { latency: totals.latency }),
});

/**
 * The groups of a summary: largest cost first, then most traces, then by key.
 * @param calls in a grouping of calls, their groups: what each cost. Calls without a value of the field are in no group, as no trace
 * is counted there
 */
export const groupsOf = (
  byKey: Map<string | undefined, SummaryTotals>,
  calls: ReadonlyMap<string | undefined, CallGroup> = new Map(),
): SummaryGroup[] => {
  for (const [key, { figures }] of calls) {
    if (key === undefined) continue;
    const totals = byKey.get(key) ?? noTotals();
    byKey.set(key, totals);
    totals.cost = figures.cost;
    totals.input = figures.inputTokens;
    totals.output = figures.outputTokens;
  }
  return [...byKey]
    .map(
      ([key, totals]): SummaryGroup => ({
        ...(key === undefined ? {} : { key }),
        ...figuresOf(totals),
        ...sharesOf(key, calls.get(key)?.byModel ?? new Map()),
      }),
    )
    .sort(
      (a, b) => (b.totalCost ?? -1) - (a.totalCost ?? -1) || b.traceCount - a.traceCount || compareKeys(a.key, b.key),
    )
    .slice(0, MOST_GROUPS);
};
