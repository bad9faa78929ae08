import {
  addFigures,
  type CallGroup,
  type CallGrouping,
  type CallRow,
  costGroups,
  costOf,
  countsAsCost,
  entriesOf,
  type Figures,
  groupCalls,
  isCallGrouping,
  keyOf,
  MOST_POINTS,
  noFigures,
  pointsOf,
} from '../call-groups.ts';
import type { AnalyticsQuery, CostGrouping, CostPoint, CostReport, SummaryQuery, SummaryReport } from '../query.ts';
import { figuresOf, groupsOf, isUsed, type SummaryTotals } from '../summary.ts';
import { callRow, groupText } from './call-rows.ts';
import { facets } from './codes.ts';

// Reports of costs and summaries, put together from what a statement of an engine adds up. What a report says is decided here for every
// engine; an engine says only where it reads it.

const NANOS_PER_SECOND = 1_000_000_000n;
const NANOS_PER_MILLI = 1e6;

/** A number as the driver of an engine gives it: 64-bit ones come as bigint or text from some. */
export type Amount = number | bigint | string;
/** What stands in the column of a grouping. */
export type Key = string | number | bigint | null;
export type TraceGrouping = Exclude<CostGrouping, CallGrouping>;

/** What an engine adds up of spans or traces, in the order in which its statements name it. Durations are in nanoseconds. */
export type FiguresRow = readonly [
  count: Amount,
  errors: Amount,
  cost: number | null,
  input: Amount,
  output: Amount,
  timed: Amount,
  totalNs: number | null,
  maxNs: Amount | null,
];
/** Calls of one value, model and class. */
export type CallFigures = readonly [value: string | null, model: string | null, is: number, ...figures: FiguresRow];
/** Traces of one value of a grouping. */
export type TraceFiguresRow = readonly [value: Key, ...figures: FiguresRow];
/** What a value, model and class cost in one bucket, which is named by its start in units of its width. */
export type SeriesRow = readonly [
  bucket: Amount,
  value: Key,
  model: string | null,
  is: number,
  count: Amount,
  cost: number | null,
];
/** What a summary adds up of some traces, for engines that rank durations themselves. */
export type SummedRow = readonly [
  traces: Amount,
  errors: Amount,
  cancelled: Amount,
  cost: number | null,
  input: Amount,
  output: Amount,
  timed: Amount,
  totalNs: number | null,
  maxNs: Amount | null,
  /** At the nearest ranks of `SUMMARY_SHARES`. */
  ranks: readonly Amount[] | null,
];
export const SUMMARY_SHARES = [0.5, 0.9, 0.95, 0.99] as const;

/** The property by which the traces of a group of calls are found. */
export const callFacets = {
  model: facets.model,
  provider: facets.provider,
  entity_name: facets.entityName,
} as const satisfies Record<CallGrouping, number>;

/** What an engine read of a window for a report of costs. */
export type CostReading = {
  /** Where the query groups calls: what they add up to. */
  readonly calls?: Iterable<CallFigures>;
  /** Where it groups traces. */
  readonly traces?: Iterable<TraceFiguresRow>;
  /** The currency in which the projects were priced: that of the newest priced span of the first that has one in the window. */
  readonly currency: string | undefined;
  /** Where the query wants a series, in the order of the buckets. An engine may read it of the groups alone that the report shows. */
  readonly series?: Iterable<SeriesRow> | ((shown: ReadonlySet<string | undefined>) => Iterable<SeriesRow>) | undefined;
};

/** What an engine read of a window for a summary. */
export type SummaryReading = {
  /** All traces of the window. */
  readonly totals: SummaryTotals;
  /** Those of each group, where the query has a grouping. */
  readonly groups?: Map<string | undefined, SummaryTotals> | undefined;
  /** Where the query groups calls: what they add up to. What a group cost is theirs, and not its traces'. */
  readonly calls?: Iterable<CallFigures>;
  readonly currency: string | undefined;
};

/** The width of a bucket in nanoseconds. Buckets start at multiples of it since the epoch. */
export const bucketWidth = (bucketSeconds: number): bigint => BigInt(bucketSeconds) * NANOS_PER_SECOND;

const noModels: ReadonlyMap<string, Figures> = new Map();

/** Puts reports together. @param readCost what a sum of costs stands for, as the engine adds them up */
export const reportsOf = (readCost: (sum: number | null) => number | undefined) => {
  const readFigures = ([count, errors, cost, input, output, timed, totalNs, maxNs]: FiguresRow): Figures => ({
    count: Number(count),
    errors: Number(errors),
    cost: readCost(cost),
    inputTokens: Number(input),
    outputTokens: Number(output),
    timed: Number(timed),
    totalNs: totalNs ?? 0,
    maxNs: Number(maxNs ?? 0),
  });

  const readTotals = (row: SummedRow): SummaryTotals => {
    const [traces, errors, cancelled, cost, input, output, timed, totalNs, maxNs, ranks] = row;
    const ms = (nanos: Amount | undefined): number => Number(nanos ?? 0) / NANOS_PER_MILLI;
    const longest = Number(maxNs ?? 0);
    return {
      traces: Number(traces),
      errors: Number(errors),
      cancelled: Number(cancelled),
      cost: readCost(cost),
      input: Number(input),
      output: Number(output),
      latency:
        Number(timed) === 0
          ? undefined
          : {
              // The sum of many equal durations is rounded, and its mean may come out above each of them.
              mean: ms(Math.min((totalNs ?? 0) / Number(timed), longest)),
              max: ms(longest),
              p50: ms(ranks?.[0]),
              p90: ms(ranks?.[1]),
              p95: ms(ranks?.[2]),
              p99: ms(ranks?.[3]),
            },
    };
  };

  const readCall = ([value, model, is, ...figures]: CallFigures): CallRow =>
    callRow(value, model, is, readFigures(figures));
  const readCalls = (rows: Iterable<CallFigures>): CallRow[] => Array.from(rows, readCall);

  /** Traces added up by value: groups without models beneath. */
  const groupTraces = (rows: Iterable<TraceFiguresRow>, groupBy: CostGrouping): Map<string | undefined, CallGroup> => {
    const groups = new Map<string | undefined, CallGroup>();
    for (const [value, ...figures] of rows) {
      const key = groupText(groupBy, value);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { figures: readFigures(figures), byModel: noModels });
      else addFigures(group.figures, readFigures(figures));
    }
    return groups;
  };

  /** Costs over time, for the groups of the report; no more rows are read than points are wanted. */
  const seriesOf = (
    rows: Iterable<SeriesRow>,
    { groupBy }: AnalyticsQuery,
    width: bigint,
    entryOf: (model: string) => string | undefined,
    shown: ReadonlySet<string | undefined>,
  ): CostPoint[] => {
    const counts = countsAsCost(entryOf);
    const series: CostPoint[] = [];
    let bucket: bigint | undefined;
    let points = new Map<string | undefined, Figures>();
    const close = (): void => {
      if (bucket !== undefined) series.push(...pointsOf(bucket * width, points, shown));
    };
    for (const [at, value, model, is, count, cost] of rows) {
      const text = groupText(groupBy, value);
      const key = keyOf(groupBy, text, entryOf);
      if (!shown.has(key)) continue;
      const call = callRow(text ?? null, model, is, { ...noFigures(), count: Number(count), cost: readCost(cost) });
      if (isCallGrouping(groupBy) && !counts(call)) continue;
      if (bucket !== BigInt(at)) {
        close();
        if (series.length >= MOST_POINTS) return series.slice(0, MOST_POINTS);
        bucket = BigInt(at);
        points = new Map();
      }
      const point = points.get(key);
      if (point === undefined) points.set(key, call.figures);
      else addFigures(point, call.figures);
    }
    close();
    return series.slice(0, MOST_POINTS);
  };

  return {
    readTotals,

    costReport: (query: AnalyticsQuery, { calls, traces, currency, series }: CostReading): CostReport => {
      const { groupBy, bucketSeconds } = query;
      const entryOf = entriesOf(query.bookModels);
      const { shown: groups, costs } = costGroups(
        isCallGrouping(groupBy)
          ? groupCalls(readCalls(calls ?? []), groupBy, entryOf, countsAsCost(entryOf))
          : groupTraces(traces ?? [], groupBy),
      );
      const shown = new Set(groups.map(({ key }) => key));
      return {
        ...(currency === undefined ? {} : { currency }),
        ...costOf({ cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0) }),
        groups,
        ...(bucketSeconds === undefined
          ? {}
          : {
              series: seriesOf(
                typeof series === 'function' ? series(shown) : (series ?? []),
                query,
                bucketWidth(bucketSeconds),
                entryOf,
                shown,
              ),
            }),
      };
    },

    summaryReport: (
      query: SummaryQuery,
      { totals, groups = new Map(), calls, currency }: SummaryReading,
    ): SummaryReport => {
      const { groupBy } = query;
      return {
        ...(currency === undefined ? {} : { currency }),
        ...figuresOf(totals),
        groups: isCallGrouping(groupBy)
          ? groupsOf(groups, groupCalls(readCalls(calls ?? []), groupBy, entriesOf(query.bookModels), isUsed))
          : groupsOf(groups),
      };
    },
  };
};
