import { percentilesOf } from './percentiles.ts';
import type { SummaryGroup } from './query.ts';

/** Groups of a report at the most. @see Interface specification, "Limits" */
export const MOST_GROUPS = 100;
/** Points of a series at the most. @see Interface specification, "Limits" */
export const MOST_POINTS = 5_000;

/** What a summary adds up, for every engine that reads its traces one by one. */
export type Tally = {
  traces: number;
  errors: number;
  /** Absent while no trace was priced. */
  cost: number | undefined;
  input: number;
  output: number;
  /** In nanoseconds, of the traces that have one. */
  readonly durations: number[];
};
export const newTally = (): Tally => ({ traces: 0, errors: 0, cost: undefined, input: 0, output: 0, durations: [] });

export const addTrace = (
  tally: Tally,
  trace: {
    readonly isFailed: boolean;
    readonly durationNs: number | null;
    readonly totalCost: number | null;
    readonly inputTokens: number;
    readonly outputTokens: number;
  },
): void => {
  tally.traces++;
  if (trace.isFailed) tally.errors++;
  if (trace.totalCost !== null) tally.cost = (tally.cost ?? 0) + trace.totalCost;
  tally.input += trace.inputTokens;
  tally.output += trace.outputTokens;
  if (trace.durationNs !== null) tally.durations.push(trace.durationNs);
};

export const figuresOf = (tally: Tally): Omit<SummaryGroup, 'key'> => {
  const latency = percentilesOf(tally.durations);
  return {
    traceCount: tally.traces,
    errorCount: tally.errors,
    ...(tally.cost === undefined ? {} : { totalCost: tally.cost }),
    inputTokens: tally.input,
    outputTokens: tally.output,
    ...(latency === undefined ? {} : { latency }),
  };
};

/** The groups of a summary: largest cost first, then most traces, then by key. */
export const groupsOf = (byKey: ReadonlyMap<string | undefined, Tally>): SummaryGroup[] =>
  [...byKey]
    .map(([key, tally]): SummaryGroup => ({ ...(key === undefined ? {} : { key }), ...figuresOf(tally) }))
    .sort(
      (a, b) =>
        (b.totalCost ?? -1) - (a.totalCost ?? -1) ||
        b.traceCount - a.traceCount ||
        ((a.key ?? '') < (b.key ?? '') ? -1 : 1),
    )
    .slice(0, MOST_GROUPS);
