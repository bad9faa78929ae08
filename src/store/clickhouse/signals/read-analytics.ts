import { unscaled } from '../../signals/judgements.ts';
import { type CallGrouping, entriesOf, isCallGrouping, keyOf } from '../../signals/call-groups.ts';
import type { AnalyticsQuery, CostReport, SummaryQuery, SummaryReport } from '../../signals/query.ts';
import { CALL_CLASS, groupText, PRICED, traceColumns } from '../../signals/rows/call-rows.ts';
import { STATUS_ERROR, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import {
  bucketWidth,
  callFacets,
  type CallFigures,
  type Key,
  reportsOf,
  type SeriesRow,
  SUMMARY_SHARES,
  type SummedRow,
  type TraceFiguresRow,
  type TraceGrouping,
} from '../../signals/rows/reports.ts';
import { countTrace, newTally, noTotals, type SummaryTotals, type Tally, totalsOf } from '../../signals/summary.ts';
import { binding } from '../binding.ts';
import type { Ask, Params } from '../connection.ts';
import { ranked } from './ranks.ts';
import { inReach } from './reach.ts';
import { scaledSum } from './sums.ts';
import { parseFacet } from './totals.ts';

const reports = reportsOf(unscaled);

/** Which rows `r`: projects and a half-open window, and what a statement binds for that. */
type Scope = { readonly rows: string; readonly params: Params };
const scopeOf = ({ projects, from, to }: Pick<AnalyticsQuery, 'projects' | 'from' | 'to'>): Scope => {
  const bound = binding();
  const { bind } = bound;
  const rows = `${inReach(projects, bound, 'r.')} AND r.start_ns >= ${bind(from, 'Int64')} AND r.start_ns < ${bind(to, 'Int64')}`;
  return { rows, params: bound.params };
};

/** Spans that a report of calls reads: those that name a model, or carry a cost or tokens. */
const CALLS = ['model', 'total_cost', 'input_tokens', 'output_tokens']
  .map((column) => `r.${column} IS NOT NULL`)
  .join(' OR ');

/** The currency in which the projects were priced: that of the newest priced span of the first that has one in the window. */
const currencyOf = async (ask: Ask, { rows, params }: Scope): Promise<string | undefined> => {
  const [[currency] = [null]] = await ask<[string | null]>(
    `SELECT r.currency FROM spans AS r FINAL WHERE ${rows} AND r.total_cost IS NOT NULL AND r.currency IS NOT NULL
     ORDER BY r.project, r.start_ns DESC LIMIT 1`,
    params,
  );
  return currency ?? undefined;
};

const tokens = (column: string): string => `toFloat64(coalesce(sum(toInt128(${column})), 0))`;
// Tokens that a span only repeats are its children's. A span that ended before it began, because a clock was set in between, took no
// time.
const CALL_DURATION = 'greatest(0, r.end_ns - r.start_ns)';
const CALL_FIGURES = `count(), countIf(r.status = ${STATUS_ERROR}), ${scaledSum('r.total_cost')},
  ${tokens('r.input_tokens * (1 - r.repeats_usage)')}, ${tokens('r.output_tokens * (1 - r.repeats_usage)')},
  count(r.end_ns), sum(toFloat64(${CALL_DURATION})), max(${CALL_DURATION})`;
const TRACE_FIGURES = `count(), countIf(r.status = ${STATUS_ERROR}), ${scaledSum('r.total_cost')},
  ${tokens('r.input_tokens')}, ${tokens('r.output_tokens')}, count(r.duration_ns), sum(toFloat64(r.duration_ns)), max(r.duration_ns)`;

/** Model calls of a window, added up by value, model and class. */
const readCalls = (ask: Ask, { rows, params }: Scope, groupBy: CallGrouping): Promise<CallFigures[]> =>
  ask(
    `SELECT r.${groupBy} AS value, r.model AS called, ${CALL_CLASS} AS class, ${CALL_FIGURES} FROM spans AS r FINAL
     WHERE (${CALLS}) AND ${rows} GROUP BY value, called, class`,
    params,
  );

/** Traces of a window, added up by value. */
const readTraces = (ask: Ask, { rows, params }: Scope, groupBy: TraceGrouping): Promise<TraceFiguresRow[]> =>
  ask(
    `SELECT r.${traceColumns[groupBy]} AS value, ${TRACE_FIGURES} FROM traces AS r FINAL WHERE ${rows} GROUP BY value`,
    params,
  );

/** Costs over time. */
const readSeries = (
  ask: Ask,
  { rows, params }: Scope,
  { groupBy }: AnalyticsQuery,
  width: bigint,
): Promise<SeriesRow[]> =>
  ask(
    isCallGrouping(groupBy)
      ? `SELECT intDiv(r.start_ns, {width:Int64}) AS bucket, r.${groupBy} AS value, r.model AS called, ${CALL_CLASS} AS class, count(),
           ${scaledSum('r.total_cost')} FROM spans AS r FINAL WHERE (${CALLS}) AND ${rows} GROUP BY bucket, value, called, class ORDER BY bucket`
      : `SELECT intDiv(r.start_ns, {width:Int64}) AS bucket, r.${traceColumns[groupBy]} AS value, NULL, ${PRICED}, count(),
           ${scaledSum('r.total_cost')} FROM traces AS r FINAL WHERE ${rows} GROUP BY bucket, value ORDER BY bucket`,
    { ...params, width },
  );

export const costReport = async (ask: Ask, query: AnalyticsQuery): Promise<CostReport> => {
  const { groupBy, bucketSeconds } = query;
  const scope = scopeOf(query);
  return reports.costReport(query, {
    ...(isCallGrouping(groupBy)
      ? { calls: await readCalls(ask, scope, groupBy) }
      : { traces: await readTraces(ask, scope, groupBy) }),
    currency: await currencyOf(ask, scope),
    series: bucketSeconds === undefined ? undefined : await readSeries(ask, scope, query, bucketWidth(bucketSeconds)),
  });
};

/** What a summary adds up of traces `r`. */
const SUMMED = `count(), countIf(r.status = ${STATUS_ERROR}), countIf(r.status = ${TRACE_CANCELLED}), ${scaledSum('r.total_cost')},
  ${tokens('r.input_tokens')}, ${tokens('r.output_tokens')}, count(r.duration_ns), sum(toFloat64(r.duration_ns)), max(r.duration_ns),
  [${SUMMARY_SHARES.map((share) => ranked('r.duration_ns', String(share))).join(', ')}]`;
/** Values whose groups one statement names, at the most, in characters. */
const NAMED_LENGTH = 32 * 1024;

/** The same where the groups are too many to be named: traces are read one by one. */
const countOneByOne = async (
  ask: Ask,
  { rows, params }: Scope,
  own: string,
  groupOf: (value: string) => string,
): Promise<Map<string | undefined, SummaryTotals>> => {
  const found = await ask<[status: number, durationNs: string | null, facets: string[]]>(
    `SELECT r.status, r.duration_ns, arrayFilter(f -> ${own}, r.facets) FROM traces AS r FINAL WHERE ${rows}`,
    params,
  );
  const tallies = new Map<string, Tally>();
  for (const [status, durationNs, values] of found)
    for (const key of new Set(values.map((facet) => groupOf(parseFacet(facet)[1])))) {
      const tally = tallies.get(key) ?? newTally();
      tallies.set(key, tally);
      countTrace(tally, {
        isFailed: status === STATUS_ERROR,
        isCancelled: status === TRACE_CANCELLED,
        durationNs: durationNs === null ? null : Number(durationNs),
      });
    }
  return new Map([...tallies].map(([key, tally]) => [key, totalsOf(tally)]));
};

/** Counts each trace of the window once in every group that a span of it is in. */
const countGroups = async (
  ask: Ask,
  { rows, params }: Scope,
  groupBy: CallGrouping,
  entryOf: (model: string) => string | undefined,
): Promise<Map<string | undefined, SummaryTotals>> => {
  const own = `startsWith(f, '${callFacets[groupBy]}:')`;
  const values = await ask<[string]>(
    `SELECT DISTINCT arrayJoin(arrayFilter(f -> ${own}, r.facets)) FROM traces AS r FINAL WHERE ${rows}`,
    params,
  );
  // Groups that hold more than one value; the others are named by their value.
  const renamed: (readonly [string, string])[] = [];
  const groupOf = (value: string): string => keyOf(groupBy, value, entryOf) ?? value;
  for (const [facet] of values) {
    const [, value] = parseFacet(facet);
    const key = groupOf(value);
    if (key !== value) renamed.push([facet, `${callFacets[groupBy]}:${key}`]);
  }
  if (renamed.reduce((sum, pair) => sum + pair[0].length + pair[1].length, 0) > NAMED_LENGTH)
    return countOneByOne(ask, { rows, params }, own, groupOf);
  // A trace that has two values of one group counts there once.
  const found = await ask<[string, ...SummedRow]>(
    `SELECT f AS group, ${SUMMED} FROM (
       SELECT arrayJoin(arrayDistinct(arrayMap(f -> transform(f, {from:Array(String)}, {to:Array(String)}, f),
         arrayFilter(f -> ${own}, r.facets)))) AS f, r.status AS status, r.total_cost AS total_cost, r.input_tokens AS input_tokens,
         r.output_tokens AS output_tokens, r.duration_ns AS duration_ns
       FROM traces AS r FINAL WHERE ${rows}
     ) AS r GROUP BY group`,
    { ...params, from: ['', ...renamed.map(([from]) => from)], to: ['', ...renamed.map(([, to]) => to)] },
  );
  // What they cost is not the group's: that is its calls' own.
  return new Map(
    found.map(([facet, ...summed]) => [
      parseFacet(facet)[1],
      { ...reports.readTotals(summed), cost: undefined, input: 0, output: 0 },
    ]),
  );
};

export const summaryReport = async (ask: Ask, query: SummaryQuery): Promise<SummaryReport> => {
  const { groupBy } = query;
  const scope = scopeOf(query);
  const [summed] = await ask<SummedRow>(`SELECT ${SUMMED} FROM traces AS r FINAL WHERE ${scope.rows}`, scope.params);
  const reading = {
    totals: summed === undefined ? noTotals() : reports.readTotals(summed),
    currency: await currencyOf(ask, scope),
  };
  if (groupBy === undefined) return reports.summaryReport(query, reading);
  if (isCallGrouping(groupBy))
    return reports.summaryReport(query, {
      ...reading,
      groups: await countGroups(ask, scope, groupBy, entriesOf(query.bookModels)),
      calls: await readCalls(ask, scope, groupBy),
    });
  // Both codes of a status, that of a cancelled run too, are one group.
  const column = groupBy === 'status' ? 'bitAnd(r.status, 7)' : `r.${traceColumns[groupBy]}`;
  const rows = await ask<[Key, ...SummedRow]>(
    `SELECT ${column} AS value, ${SUMMED} FROM traces AS r FINAL WHERE ${scope.rows} GROUP BY value`,
    scope.params,
  );
  const groups = new Map(rows.map(([key, ...of]) => [groupText(groupBy, key), reports.readTotals(of)]));
  return reports.summaryReport(query, { ...reading, groups });
};
