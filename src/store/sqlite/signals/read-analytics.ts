import {
  addFigures,
  type CallGroup,
  type CallGrouping,
  type CallRow,
  callKinds,
  costGroups,
  costOf,
  countsAsCost,
  entriesOf,
  type Figures,
  groupCalls,
  isCallGrouping,
  keyOf,
  MOST_GROUPS,
  MOST_POINTS,
  noFigures,
  pointsOf,
} from '../../signals/call-groups.ts';
import type {
  AnalyticsQuery,
  CostGrouping,
  CostPoint,
  CostReport,
  SummaryQuery,
  SummaryReport,
} from '../../signals/query.ts';
import {
  addTrace,
  countTrace,
  figuresOf,
  groupsOf,
  isUsed,
  newTally,
  type SummaryTotals,
  type Tally,
  totalsOf,
} from '../../signals/summary.ts';
import { facets, kindCode, STATUS_ERROR, statusOf, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import { CALLS } from './schema.ts';
import { projectNumbers, type Statements } from './statements.ts';

const NANOS_PER_SECOND = 1_000_000_000n;

type TraceGrouping = Exclude<CostGrouping, CallGrouping>;
/** The column of each grouping of traces. */
const traceColumns = {
  environment: 'environment',
  status: 'status',
  session_id: 'session_id',
  user_id: 'user_id',
  service_name: 'service_name',
  name: 'name',
} as const satisfies Record<TraceGrouping, string>;

type Key = string | number | bigint | null;

const keyText = (grouping: CostGrouping, key: Key): string | undefined => {
  if (key === null) return undefined;
  return grouping === 'status' ? statusOf(key) : String(key);
};

/** Which projects and which half-open window, as every statement here binds them. */
type Scope = { readonly numbers: readonly number[]; readonly from: bigint; readonly to: bigint };
const IN_SCOPE = 'r.project IN (SELECT value FROM json_each(?)) AND r.start_ns >= ? AND r.start_ns < ?';
const bindingsOf = ({ numbers, from, to }: Scope): unknown[] => [JSON.stringify(numbers), from, to];

/** The currency in which a project was priced: its newest priced span's in the window. */
const currencyOf = (statements: Statements, { numbers, from, to }: Scope): string | undefined => {
  for (const number of numbers) {
    const currency = statements
      .pluck<string | null>(
        `SELECT s.currency FROM spans AS s INDEXED BY spans_calls
         WHERE s.total_cost IS NOT NULL AND s.project = ? AND s.start_ns >= ? AND s.start_ns < ? ORDER BY s.start_ns DESC LIMIT 1`,
      )
      .get(number, from, to);
    if (typeof currency === 'string') return currency;
  }
  return undefined;
};

type FiguresRow = [
  count: number,
  errors: number,
  cost: number | null,
  input: number,
  output: number,
  timed: number,
  totalNs: number,
  maxNs: number | null,
];
const readFigures = ([count, errors, cost, input, output, timed, totalNs, maxNs]: FiguresRow): Figures => ({
  count,
  errors,
  cost: cost ?? undefined,
  inputTokens: input,
  outputTokens: output,
  timed,
  totalNs,
  maxNs: maxNs ?? 0,
});

// Tokens that a span only repeats are its children's. A span that ended before it began, because a clock was set in between, took no
// time. `total` does not overflow.
const CALL_DURATION = 'max(0, r.end_ns - r.start_ns)';
const CALL_FIGURES = `count(*), sum(r.status = ${STATUS_ERROR}), sum(r.total_cost),
  coalesce(sum(r.input_tokens * (1 - r.repeats_usage)), 0), coalesce(sum(r.output_tokens * (1 - r.repeats_usage)), 0),
  count(r.end_ns), total(${CALL_DURATION}), max(0, max(r.end_ns - r.start_ns))`;
const TRACE_FIGURES = `count(*), sum(r.status = ${STATUS_ERROR}), sum(r.total_cost), coalesce(sum(r.input_tokens), 0),
  coalesce(sum(r.output_tokens), 0), count(r.duration_ns), total(r.duration_ns), max(r.duration_ns)`;

const PRICED = 0;
const UNPRICED_CALL = 1;
const CLASS = `CASE WHEN r.total_cost IS NOT NULL THEN ${PRICED}
  WHEN r.kind IN (${callKinds.map(kindCode).join(', ')}) AND r.repeats_usage = 0
    AND (r.end_ns IS NOT NULL OR r.status = ${STATUS_ERROR}) THEN ${UNPRICED_CALL} ELSE 2 END`;

type CallColumns = [value: string | null, model: string | null, is: number, ...figures: FiguresRow];
const readCall = ([value, model, is, ...figures]: CallColumns): CallRow => {
  const read = readFigures(figures);
  const row = { value: value ?? undefined, model: model ?? undefined };
  if (is === PRICED) return { ...row, is: 'priced', figures: read };
  if (is === UNPRICED_CALL) return { ...row, is: 'unpriced_call', figures: read };
  const { inputTokens, outputTokens } = read;
  return { ...row, is: 'usage', figures: { ...noFigures(), inputTokens, outputTokens } };
};

/** Up to so many groups it is faster to read the index once for each than to sort what it holds. */
const FEW_GROUPS = 8;

type GroupOfCalls = readonly [value: string | null, model: string | null, is: number];
const IN_GROUP = (groupBy: CallGrouping): string => `r.${groupBy} IS ? AND r.model IS ? AND ${CLASS} = ?`;

/** The groups that the calls of a window make, when they are few. */
const fewGroups = (statements: Statements, scope: Scope, groupBy: CallGrouping): GroupOfCalls[] | undefined => {
  const groups = statements
    .raw<[string | null, string | null, number]>(
      `SELECT DISTINCT r.${groupBy}, r.model, ${CLASS} FROM spans AS r INDEXED BY spans_calls
       WHERE ${CALLS('r')} AND ${IN_SCOPE} LIMIT ?`,
    )
    .all(...bindingsOf(scope), FEW_GROUPS + 1);
  return groups.length > FEW_GROUPS ? undefined : groups;
};

/** Model calls of a window, added up by value, model and class. The index alone is read. */
const readCalls = (statements: Statements, scope: Scope, groupBy: CallGrouping): CallRow[] => {
  const few = fewGroups(statements, scope, groupBy);
  if (few === undefined)
    return statements
      .raw<CallColumns>(
        `SELECT r.${groupBy}, r.model, ${CLASS}, ${CALL_FIGURES} FROM spans AS r INDEXED BY spans_calls
         WHERE ${CALLS('r')} AND ${IN_SCOPE} GROUP BY ${groupBy === 'model' ? '2, 3' : '1, 2, 3'}`,
      )
      .all(...bindingsOf(scope))
      .map(readCall);
  const read = statements.raw<FiguresRow>(
    `SELECT ${CALL_FIGURES} FROM spans AS r INDEXED BY spans_calls
     WHERE ${CALLS('r')} AND ${IN_SCOPE} AND ${IN_GROUP(groupBy)}`,
  );
  return few.flatMap((group) => {
    const figures = read.get(...bindingsOf(scope), ...group);
    return figures === undefined ? [] : [readCall([...group, ...figures])];
  });
};

/** Traces of a window, added up by value: groups without models beneath. */
const groupTraces = (
  statements: Statements,
  scope: Scope,
  groupBy: TraceGrouping,
): Map<string | undefined, CallGroup> => {
  const groups = new Map<string | undefined, CallGroup>();
  for (const [value, ...figures] of statements
    .raw<[Key, ...FiguresRow]>(
      `SELECT r.${traceColumns[groupBy]}, ${TRACE_FIGURES} FROM traces AS r WHERE ${IN_SCOPE} GROUP BY 1`,
    )
    .iterate(...bindingsOf(scope))) {
    const key = keyText(groupBy, value);
    const group = groups.get(key) ?? { figures: noFigures(), byModel: new Map<string, Figures>() };
    addFigures(group.figures, readFigures(figures));
    groups.set(key, group);
  }
  return groups;
};

export const costReport = (statements: Statements, query: AnalyticsQuery): CostReport => {
  const { groupBy, bucketSeconds } = query;
  const scope = { numbers: projectNumbers(statements, query.projects), from: query.from, to: query.to };
  const entryOf = entriesOf(query.bookModels);
  const all = costGroups(
    isCallGrouping(groupBy)
      ? groupCalls(readCalls(statements, scope, groupBy), groupBy, entryOf, countsAsCost(entryOf))
      : groupTraces(statements, scope, groupBy),
  );
  const costs = all.flatMap(({ totalCost }) => totalCost ?? []);
  const currency = currencyOf(statements, scope);
  const groups = all.slice(0, MOST_GROUPS);
  return {
    ...(currency === undefined ? {} : { currency }),
    ...costOf({ cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0) }),
    groups,
    ...(bucketSeconds === undefined
      ? {}
      : {
          series: seriesOf(statements, scope, groupBy, bucketSeconds, entryOf, new Set(groups.map(({ key }) => key))),
        }),
  };
};

/** Points of a series by bucket, one bucket at a time, as far as somebody wants them. */
function* readBuckets(
  statements: Statements,
  scope: Scope,
  groupBy: CostGrouping,
  width: bigint,
  entryOf: (model: string) => string | undefined,
): Generator<readonly [bucket: number, points: Map<string | undefined, Figures>]> {
  const counts = countsAsCost(entryOf);
  const isOfCalls = isCallGrouping(groupBy);
  const rows = statements.raw<[number, Key, string | null, number, count: number, cost: number | null]>(
    isOfCalls
      ? `SELECT r.start_ns / ? AS bucket, r.${groupBy}, r.model, ${CLASS}, count(*), sum(r.total_cost)
         FROM spans AS r INDEXED BY spans_calls WHERE ${CALLS('r')} AND ${IN_SCOPE} GROUP BY 1, 2, 3, 4 ORDER BY 1`
      : `SELECT r.start_ns / ? AS bucket, r.${traceColumns[groupBy]}, NULL, ${PRICED}, count(*), sum(r.total_cost)
         FROM traces AS r WHERE ${IN_SCOPE} GROUP BY 1, 2 ORDER BY 1`,
  );
  let open: [bucket: number, points: Map<string | undefined, Figures>] | undefined;
  for (const [bucket, value, model, is, count, cost] of rows.iterate(width, ...bindingsOf(scope))) {
    const figures = { ...noFigures(), count, cost: cost ?? undefined };
    const call: CallRow = {
      value: keyText(groupBy, value),
      model: model ?? undefined,
      is: is === PRICED ? 'priced' : is === UNPRICED_CALL ? 'unpriced_call' : 'usage',
      figures,
    };
    if (isOfCalls && !counts(call)) continue;
    if (open?.[0] !== bucket) {
      if (open !== undefined) yield open;
      open = [bucket, new Map()];
    }
    const key = keyOf(groupBy, call.value, entryOf);
    const point = open[1].get(key);
    if (point === undefined) open[1].set(key, figures);
    else addFigures(point, figures);
  }
  if (open !== undefined) yield open;
}

/** Costs over time, for the groups of the report; buckets start at multiples of their width since the epoch. */
const seriesOf = (
  statements: Statements,
  scope: Scope,
  groupBy: CostGrouping,
  bucketSeconds: number,
  entryOf: (model: string) => string | undefined,
  shown: ReadonlySet<string | undefined>,
): CostPoint[] => {
  const width = BigInt(bucketSeconds) * NANOS_PER_SECOND;
  const series: CostPoint[] = [];
  for (const [bucket, points] of readBuckets(statements, scope, groupBy, width, entryOf)) {
    for (const point of pointsOf(BigInt(bucket) * width, points, shown)) {
      series.push(point);
      if (series.length === MOST_POINTS) return series;
    }
  }
  return series;
};

/** The property by which the traces of a group of calls are found. */
const facetOf = {
  model: facets.model,
  provider: facets.provider,
  entity_name: facets.entityName,
} as const satisfies Record<CallGrouping, number>;

type TotalsRow = [
  key: Key,
  status: number,
  duration: number | null,
  cost: number | null,
  input: number | null,
  output: number | null,
];

/** Counts each trace of the window once in every group that a span of it is in. */
const countGroups = (
  statements: Statements,
  { numbers, from, to }: Scope,
  groupBy: CallGrouping,
  entryOf: (model: string) => string | undefined,
): Map<string | undefined, SummaryTotals> => {
  const byKey = new Map<string | undefined, Tally>();
  for (const number of numbers) {
    const valuesOf = new Map<string | undefined, number[]>();
    for (const [id, value] of statements
      .raw<[number, string]>('SELECT id, value FROM facet_values WHERE project = ? AND facet = ?')
      .iterate(number, facetOf[groupBy])) {
      const key = keyOf(groupBy, value, entryOf);
      const ids = valuesOf.get(key);
      if (ids === undefined) valuesOf.set(key, [id]);
      else ids.push(id);
    }
    for (const [key, ids] of valuesOf) {
      const [only = 0] = ids;
      // A trace that has two ids of one group counts there once.
      const traces =
        ids.length === 1
          ? statements
              .raw<[number, number | null]>(
                `SELECT t.status, t.duration_ns FROM trace_facets AS f CROSS JOIN traces AS t ON t.trace = f.trace
                 WHERE f.value = ? AND f.start_ns >= ? AND f.start_ns < ?`,
              )
              .iterate(only, from, to)
          : statements
              .raw<[number, number | null]>(
                `SELECT t.status, t.duration_ns FROM (
                   SELECT DISTINCT f.trace FROM trace_facets AS f
                   WHERE f.value IN (SELECT value FROM json_each(?)) AND f.start_ns >= ? AND f.start_ns < ?
                 ) AS f CROSS JOIN traces AS t ON t.trace = f.trace`,
              )
              .iterate(JSON.stringify(ids), from, to);
      let tally = byKey.get(key);
      for (const [status, duration] of traces) {
        if (tally === undefined) {
          tally = newTally();
          byKey.set(key, tally);
        }
        countTrace(tally, {
          isFailed: status === STATUS_ERROR,
          isCancelled: status === TRACE_CANCELLED,
          durationNs: duration,
        });
      }
    }
  }
  return totalsOfAll(byKey);
};

const totalsOfAll = (byKey: ReadonlyMap<string | undefined, Tally>): Map<string | undefined, SummaryTotals> =>
  new Map([...byKey].map(([key, tally]) => [key, totalsOf(tally)]));

export const summaryReport = (statements: Statements, query: SummaryQuery): SummaryReport => {
  const { groupBy } = query;
  const scope = { numbers: projectNumbers(statements, query.projects), from: query.from, to: query.to };
  const isOfCalls = isCallGrouping(groupBy);
  const column = groupBy === undefined || isOfCalls ? 'NULL' : `t.${traceColumns[groupBy]}`;
  const whole = newTally();
  const byKey = new Map<string | undefined, Tally>();
  for (const number of scope.numbers)
    for (const [key, status, duration, cost, input, output] of statements
      .raw<TotalsRow>(
        `SELECT ${column}, t.status, t.duration_ns, t.total_cost, t.input_tokens, t.output_tokens
         FROM traces AS t INDEXED BY traces_by_start WHERE t.project = ? AND t.start_ns >= ? AND t.start_ns < ?`,
      )
      .iterate(number, scope.from, scope.to)) {
      const trace = {
        isFailed: status === STATUS_ERROR,
        isCancelled: status === TRACE_CANCELLED,
        durationNs: duration,
        totalCost: cost,
        inputTokens: input ?? 0,
        outputTokens: output ?? 0,
      };
      addTrace(whole, trace);
      if (groupBy === undefined || isOfCalls) continue;
      const text = keyText(groupBy, key);
      const tally = byKey.get(text) ?? newTally();
      byKey.set(text, tally);
      addTrace(tally, trace);
    }
  const entryOf = entriesOf(query.bookModels);
  const groups = isOfCalls
    ? groupsOf(
        countGroups(statements, scope, groupBy, entryOf),
        groupCalls(readCalls(statements, scope, groupBy), groupBy, entryOf, isUsed),
      )
    : groupsOf(totalsOfAll(byKey));
  const currency = currencyOf(statements, scope);
  return { ...(currency === undefined ? {} : { currency }), ...figuresOf(totalsOf(whole)), groups };
};
