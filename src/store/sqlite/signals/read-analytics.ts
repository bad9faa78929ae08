import { type CallGrouping, entriesOf, isCallGrouping, keyOf } from '../../signals/call-groups.ts';
import type { AnalyticsQuery, CostReport, SummaryQuery, SummaryReport } from '../../signals/query.ts';
import { addTrace, countTrace, newTally, type SummaryTotals, type Tally, totalsOf } from '../../signals/summary.ts';
import { CALL_CLASS, groupText, PRICED, traceColumns } from '../../signals/rows/call-rows.ts';
import { facets, STATUS_ERROR, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import {
  bucketWidth,
  callFacets,
  type CallFigures,
  type FiguresRow,
  type Key,
  reportsOf,
  type SeriesRow,
  type TraceFiguresRow,
  type TraceGrouping,
} from '../../signals/rows/reports.ts';
import { CALL_FIGURES, NANOS_PER_HOUR, TRACES_OF_STRETCH, type TraceOfStretch, traceFigures } from './hour-figures.ts';
import { addTracesOfHours, callsOfHours, type Stretch } from './read-hours.ts';
import { CALLS } from './schema.ts';
import { projectNumbers, type Statements } from './statements.ts';
import { countUpTo } from './trace-filter.ts';

const reports = reportsOf((sum) => sum ?? undefined);

/** Which projects and which half-open window, as every statement here binds them. */
type Scope = { readonly numbers: readonly number[]; readonly from: bigint; readonly to: bigint };
const IN_SCOPE = 'r.project IN (SELECT value FROM json_each(?)) AND r.start_ns >= ? AND r.start_ns < ?';
const IN_STRETCH = 'r.project = ? AND r.start_ns >= ? AND r.start_ns < ?';
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

const TRACE_FIGURES = `count(*), sum(r.status = ${STATUS_ERROR}), sum(r.total_cost), total(r.input_tokens),
  total(r.output_tokens), count(r.duration_ns), total(r.duration_ns), max(r.duration_ns)`;

/** Up to so many groups it is faster to read the index once for each than to sort what it holds. */
const FEW_GROUPS = 8;
/** In a stretch up to that one read is faster. */
const SHORT_STRETCH = 2n * NANOS_PER_HOUR;

type GroupOfCalls = readonly [value: string | null, model: string | null, is: number];
const IN_GROUP = (groupBy: CallGrouping): string => `r.${groupBy} IS ? AND r.model IS ? AND ${CALL_CLASS} = ?`;

/** The groups that the calls of a stretch make, when they are few. */
const fewGroups = (
  statements: Statements,
  bound: readonly unknown[],
  groupBy: CallGrouping,
): GroupOfCalls[] | undefined => {
  const groups = statements
    .raw<[string | null, string | null, number]>(
      `SELECT DISTINCT r.${groupBy}, r.model, ${CALL_CLASS} FROM spans AS r INDEXED BY spans_calls
       WHERE ${CALLS('r')} AND ${IN_STRETCH} LIMIT ?`,
    )
    .all(...bound, FEW_GROUPS + 1);
  return groups.length > FEW_GROUPS ? undefined : groups;
};

/** Model calls of a stretch, added up by value, model and class. The index alone is read. */
const readStretch = (
  statements: Statements,
  project: number,
  { from, to }: Stretch,
  groupBy: CallGrouping,
): CallFigures[] => {
  const bound = [project, from, to];
  const few = to - from > SHORT_STRETCH ? fewGroups(statements, bound, groupBy) : undefined;
  if (few === undefined)
    return statements
      .raw<CallFigures>(
        `SELECT r.${groupBy}, r.model, ${CALL_CLASS}, ${CALL_FIGURES} FROM spans AS r INDEXED BY spans_calls
         WHERE ${CALLS('r')} AND ${IN_STRETCH} GROUP BY ${groupBy === 'model' ? '2, 3' : '1, 2, 3'}`,
      )
      .all(...bound);
  const read = statements.raw<FiguresRow>(
    `SELECT ${CALL_FIGURES} FROM spans AS r INDEXED BY spans_calls
     WHERE ${CALLS('r')} AND ${IN_STRETCH} AND ${IN_GROUP(groupBy)}`,
  );
  return few.flatMap((group): CallFigures[] => {
    const figures = read.get(...bound, ...group);
    return figures === undefined ? [] : [[...group, ...figures]];
  });
};

/** Model calls of a window, added up by value, model and class. */
const readCalls = (statements: Statements, { numbers, from, to }: Scope, groupBy: CallGrouping): CallFigures[] =>
  numbers.flatMap((project) => {
    const { hours, rest } = callsOfHours(statements, groupBy, project, { from, to });
    return [
      ...hours.flatMap(({ calls }) => calls),
      ...rest.flatMap((stretch) => readStretch(statements, project, stretch, groupBy)),
    ];
  });

/** Traces of a window, added up by value. */
const readTraces = (statements: Statements, scope: Scope, groupBy: TraceGrouping): TraceFiguresRow[] =>
  statements
    .raw<TraceFiguresRow>(
      `SELECT r.${traceColumns[groupBy]}, ${TRACE_FIGURES} FROM traces AS r WHERE ${IN_SCOPE} GROUP BY 1`,
    )
    .all(...bindingsOf(scope));

/** The same by bucket and value, in the order of the buckets: one read for totals and series, since each looks up every trace. */
const readTracesByBucket = (
  statements: Statements,
  scope: Scope,
  groupBy: TraceGrouping,
  width: bigint,
): { readonly traces: TraceFiguresRow[]; readonly series: SeriesRow[] } => {
  const rows = statements
    .raw<[bucket: number, ...TraceFiguresRow]>(
      `SELECT r.start_ns / ? AS bucket, r.${traceColumns[groupBy]}, ${TRACE_FIGURES} FROM traces AS r WHERE ${IN_SCOPE}
       GROUP BY 1, 2 ORDER BY 1`,
    )
    .all(width, ...bindingsOf(scope));
  return {
    traces: rows.map(([, ...figures]) => figures),
    series: rows.map(([bucket, value, count, , cost]) => [bucket, value, null, PRICED, count, cost]),
  };
};

/** Where a property has more values than that, a series is read of the groups that the report shows: those are a hundred at the most. */
const MANY_VALUES = 400;
const facetsOfTraces = {
  environment: facets.environment,
  status: facets.status,
  session_id: facets.sessionId,
  user_id: facets.userId,
  service_name: facets.serviceName,
  name: facets.name,
} as const satisfies Record<TraceGrouping, number>;

const hasManyValues = (statements: Statements, { numbers }: Scope, groupBy: TraceGrouping): boolean =>
  numbers.some(
    (project) =>
      countUpTo(
        statements,
        'facet_values AS v',
        [{ sql: 'v.project = ? AND v.facet = ?', values: [project, facetsOfTraces[groupBy]] }],
        MANY_VALUES + 1,
      ) > MANY_VALUES,
  );

/** Costs of the traces of some groups by bucket, in the order of the buckets. */
const readSeriesOfTraces = (
  statements: Statements,
  scope: Scope,
  groupBy: TraceGrouping,
  width: bigint,
  shown: ReadonlySet<string | undefined>,
): SeriesRow[] => {
  type Bucket = [bucket: number, count: number, cost: number | null];
  const FIGURES = 't.start_ns / ?, count(*), sum(t.total_cost)';
  const rows: SeriesRow[] = [];
  const add = (value: string | null, found: readonly Bucket[]): void => {
    for (const [bucket, count, cost] of found) rows.push([bucket, value, null, PRICED, count, cost]);
  };
  const ofValue = statements.raw<Bucket>(
    `SELECT ${FIGURES} FROM facet_values AS v CROSS JOIN trace_facets AS f ON f.value = v.id CROSS JOIN traces AS t ON t.trace = f.trace
     WHERE v.project = ? AND v.facet = ? AND v.value = ? AND f.start_ns >= ? AND f.start_ns < ? GROUP BY 1`,
  );
  for (const project of scope.numbers)
    for (const value of shown)
      if (value === undefined)
        add(
          null,
          statements
            .raw<Bucket>(
              `SELECT ${FIGURES} FROM traces AS t INDEXED BY traces_by_start
               WHERE t.project = ? AND t.start_ns >= ? AND t.start_ns < ? AND t.${traceColumns[groupBy]} IS NULL GROUP BY 1`,
            )
            .all(width, project, scope.from, scope.to),
        );
      else add(value, ofValue.all(width, project, facetsOfTraces[groupBy], value, scope.from, scope.to));
  return rows.sort(([a], [b]) => Number(a) - Number(b));
};

/** Costs of calls by bucket, in the order of the buckets. */
const bucketsOf = (groupBy: CallGrouping, where: string): string =>
  `SELECT r.start_ns / ? AS bucket, r.${groupBy}, r.model, ${CALL_CLASS}, count(*), sum(r.total_cost)
   FROM spans AS r INDEXED BY spans_calls WHERE ${CALLS('r')} AND ${where} GROUP BY 1, 2, 3, 4 ORDER BY 1`;

/** Costs over time, of buckets that are whole hours. */
const readHourlySeries = (
  statements: Statements,
  { numbers, from, to }: Scope,
  groupBy: CallGrouping,
  width: bigint,
): SeriesRow[] => {
  const hoursOfBucket = Number(width / NANOS_PER_HOUR);
  const rows = numbers.flatMap((project) => {
    const { hours, rest } = callsOfHours(statements, groupBy, project, { from, to });
    return [
      ...hours.flatMap(({ hour, calls }) =>
        calls.map(([value, model, is, count, , cost]): SeriesRow => {
          return [Math.floor(hour / hoursOfBucket), value, model, is, count, cost];
        }),
      ),
      ...rest.flatMap((stretch) =>
        statements.raw<SeriesRow>(bucketsOf(groupBy, IN_STRETCH)).all(width, project, stretch.from, stretch.to),
      ),
    ];
  });
  return rows.sort(([a], [b]) => Number(a) - Number(b));
};

/** Costs of calls over time, one bucket after the other. Where buckets are no whole hours the statement goes as far as somebody reads it. */
function* readSeries(statements: Statements, scope: Scope, groupBy: CallGrouping, width: bigint): Generator<SeriesRow> {
  if (width % NANOS_PER_HOUR === 0n) yield* readHourlySeries(statements, scope, groupBy, width);
  else yield* statements.raw<SeriesRow>(bucketsOf(groupBy, IN_SCOPE)).iterate(width, ...bindingsOf(scope));
}

const scopeOf = (statements: Statements, { projects, from, to }: SummaryQuery): Scope => ({
  numbers: projectNumbers(statements, projects),
  from,
  to,
});

export const costReport = (statements: Statements, query: AnalyticsQuery): CostReport => {
  const { groupBy, bucketSeconds } = query;
  const scope = scopeOf(statements, query);
  const width = bucketSeconds === undefined ? undefined : bucketWidth(bucketSeconds);
  const currency = currencyOf(statements, scope);
  if (isCallGrouping(groupBy))
    return reports.costReport(query, {
      calls: readCalls(statements, scope, groupBy),
      currency,
      series: width === undefined ? undefined : readSeries(statements, scope, groupBy, width),
    });
  if (width !== undefined && hasManyValues(statements, scope, groupBy))
    return reports.costReport(query, {
      traces: readTraces(statements, scope, groupBy),
      currency,
      series: (shown) => readSeriesOfTraces(statements, scope, groupBy, width, shown),
    });
  return reports.costReport(
    query,
    width === undefined
      ? { traces: readTraces(statements, scope, groupBy), currency }
      : { ...readTracesByBucket(statements, scope, groupBy, width), currency },
  );
};

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
      .iterate(number, callFacets[groupBy])) {
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
  const scope = scopeOf(statements, query);
  const isOfCalls = isCallGrouping(groupBy);
  const whole = newTally();
  const byKey = new Map<string | undefined, Tally>();
  if (groupBy === undefined || isOfCalls) {
    for (const number of scope.numbers)
      for (const { from, to } of addTracesOfHours(statements, whole, number, scope))
        for (const trace of statements.raw<TraceOfStretch>(TRACES_OF_STRETCH).all(number, from, to))
          addTrace(whole, traceFigures(trace));
  } else
    for (const number of scope.numbers)
      for (const [key, ...figures] of statements
        .raw<[key: Key, ...TraceOfStretch]>(
          `SELECT t.${traceColumns[groupBy]}, t.status, t.duration_ns, t.total_cost, t.input_tokens, t.output_tokens
           FROM traces AS t INDEXED BY traces_by_start WHERE t.project = ? AND t.start_ns >= ? AND t.start_ns < ?`,
        )
        .iterate(number, scope.from, scope.to)) {
        const trace = traceFigures(figures);
        addTrace(whole, trace);
        const text = groupText(groupBy, key);
        const tally = byKey.get(text) ?? newTally();
        byKey.set(text, tally);
        addTrace(tally, trace);
      }
  return reports.summaryReport(query, {
    totals: totalsOf(whole),
    currency: currencyOf(statements, scope),
    ...(isOfCalls
      ? {
          groups: countGroups(statements, scope, groupBy, entriesOf(query.bookModels)),
          calls: readCalls(statements, scope, groupBy),
        }
      : { groups: totalsOfAll(byKey) }),
  });
};
