import { type CallGroup, costOf, MOST_GROUPS, sharesOf } from './call-groups.ts';
import { percentilesOf } from './percentiles.ts';
import type { SummaryGroup } from './query.ts';

/** What a summary adds up, for every engine that reads its traces one by one. */
export type Tally = {
  traces: number;
  errors: number;
  cancelled: number;
  /** Absent while nothing was priced. */
  cost: number | undefined;
  input: number;
  output: number;
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

export const figuresOf = (tally: Tally): Omit<SummaryGroup, 'key'> => {
  const latency = percentilesOf(tally.durations);
  return {
    traceCount: tally.traces,
    errorCount: tally.errors,
    cancelledCount: tally.cancelled,
    ...costOf(tally),
    inputTokens: tally.input,
    outputTokens: tally.output,
    ...(latency === undefined ? {} : { latency }),
  };
};

/**
 * The groups of a summary: largest cost first, then most traces, then by key.
 * @param calls in a grouping of calls, their groups: what each cost. Calls without a value of the field are in no group, as no trace
 * is counted there
 */
export const groupsOf = (
  byKey: Map<string | undefined, Tally>,
  calls: ReadonlyMap<string | undefined, CallGroup> = new Map(),
): SummaryGroup[] => {
  for (const [key, { figures }] of calls) {
    if (key === undefined) continue;
    const tally = byKey.get(key) ?? newTally();
    byKey.set(key, tally);
    tally.cost = figures.cost;
    tally.input = figures.inputTokens;
    tally.output = figures.outputTokens;
  }
  return [...byKey]
    .map(
      ([key, tally]): SummaryGroup => ({
        ...(key === undefined ? {} : { key }),
        ...figuresOf(tally),
        ...sharesOf(key, calls.get(key)?.byModel ?? new Map()),
      }),
    )
    .sort(
      (a, b) =>
        (b.totalCost ?? -1) - (a.totalCost ?? -1) ||
        b.traceCount - a.traceCount ||
        ((a.key ?? '') < (b.key ?? '') ? -1 : 1),
    )
    .slice(0, MOST_GROUPS);
};
