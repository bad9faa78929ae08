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
import { noTotals, type SummaryTotals } from '../../signals/summary.ts';
import { int4Array, textArray } from '../arrays.ts';
import type { Ask, Bound } from '../connection.ts';
import { signalKey } from './keys.ts';
import { projectNumbers } from './reach.ts';
import { CALLS } from './schema.ts';
import { scaledSum } from './sums.ts';

const reports = reportsOf(unscaled);

/** Which projects and which half-open window: `$1` to `$3` of every statement here. */
type Scope = readonly [projects: Bound, from: bigint, to: bigint];
const inScope = (row: string): string =>
  `${row}.project = ANY ($1::int4[]) AND ${row}.start_ns >= $2::int8 AND ${row}.start_ns < $3::int8`;

/** The currency in which the projects were priced: that of the newest priced span of the first that has one in the window. */
const currencyOf = async (ask: Ask, scope: Scope): Promise<string | undefined> => {
  const [[currency] = [null]] = await ask<[string | null]>(
    `SELECT c.currency FROM unnest($1::int4[]) AS k (project) CROSS JOIN LATERAL (
       SELECT s.currency FROM spans AS s
       WHERE ${CALLS('s')} AND s.total_cost IS NOT NULL AND s.project = k.project AND s.start_ns >= $2::int8 AND s.start_ns < $3::int8
       ORDER BY s.start_ns DESC LIMIT 1
     ) AS c WHERE c.currency IS NOT NULL ORDER BY k.project LIMIT 1`,
    [...scope],
  );
  return currency ?? undefined;
};

const tokens = (column: string): string => `coalesce(sum(${column}), 0)::float8`;
// Tokens that a span only repeats are its children's. A span that ended before it began, because a clock was set in between, took no
// time.
const CALL_DURATION = 'CASE WHEN r.end_ns IS NULL THEN NULL ELSE greatest(0, r.end_ns - r.start_ns) END';
const CALL_FIGURES = `count(*), count(*) FILTER (WHERE r.status = ${STATUS_ERROR}), ${scaledSum('r.total_cost')},
  ${tokens('r.input_tokens * (1 - r.repeats_usage)')}, ${tokens('r.output_tokens * (1 - r.repeats_usage)')},
  count(r.end_ns), sum((${CALL_DURATION})::float8), max(${CALL_DURATION})`;
const TRACE_FIGURES = `count(*), count(*) FILTER (WHERE r.status = ${STATUS_ERROR}), ${scaledSum('r.total_cost')},
  ${tokens('r.input_tokens')}, ${tokens('r.output_tokens')}, count(r.duration_ns), sum(r.duration_ns::float8), max(r.duration_ns)`;

/** Model calls of a window, added up by value, model and class. */
const readCalls = (ask: Ask, scope: Scope, groupBy: CallGrouping): Promise<CallFigures[]> =>
  ask(
    `SELECT r.${groupBy}, r.model, ${CALL_CLASS}, ${CALL_FIGURES} FROM spans AS r
     WHERE ${CALLS('r')} AND ${inScope('r')} GROUP BY ${groupBy === 'model' ? '2, 3' : '1, 2, 3'}`,
    [...scope],
  );

/** Traces of a window, added up by value. */
const readTraces = (ask: Ask, scope: Scope, groupBy: TraceGrouping): Promise<TraceFiguresRow[]> =>
  ask(`SELECT r.${traceColumns[groupBy]}, ${TRACE_FIGURES} FROM traces AS r WHERE ${inScope('r')} GROUP BY 1`, [
    ...scope,
  ]);

/** Costs over time. */
const readSeries = (ask: Ask, scope: Scope, { groupBy }: AnalyticsQuery, width: bigint): Promise<SeriesRow[]> =>
  ask(
    isCallGrouping(groupBy)
      ? `SELECT r.start_ns / $4::int8, r.${groupBy}, r.model, ${CALL_CLASS}, count(*), ${scaledSum('r.total_cost')}
         FROM spans AS r WHERE ${CALLS('r')} AND ${inScope('r')} GROUP BY 1, 2, 3, 4 ORDER BY 1`
      : `SELECT r.start_ns / $4::int8, r.${traceColumns[groupBy]}, NULL, ${PRICED}, count(*), ${scaledSum('r.total_cost')}
         FROM traces AS r WHERE ${inScope('r')} GROUP BY 1, 2 ORDER BY 1`,
    [...scope, width],
  );

export const costReport = async (ask: Ask, query: AnalyticsQuery): Promise<CostReport> => {
  const { groupBy, bucketSeconds } = query;
  const scope: Scope = [int4Array(await projectNumbers(ask, query.projects)), query.from, query.to];
  return reports.costReport(query, {
    ...(isCallGrouping(groupBy)
      ? { calls: await readCalls(ask, scope, groupBy) }
      : { traces: await readTraces(ask, scope, groupBy) }),
    currency: await currencyOf(ask, scope),
    series: bucketSeconds === undefined ? undefined : await readSeries(ask, scope, query, bucketWidth(bucketSeconds)),
  });
};

/** What a summary adds up of traces `t`. percentile_disc takes the value at the nearest rank. */
const SUMMED = `count(*), count(*) FILTER (WHERE t.status = ${STATUS_ERROR}), count(*) FILTER (WHERE t.status = ${TRACE_CANCELLED}),
  ${scaledSum('t.total_cost')}, ${tokens('t.input_tokens')}, ${tokens('t.output_tokens')},
  count(t.duration_ns), sum(t.duration_ns::float8), max(t.duration_ns),
  (percentile_disc(ARRAY[${SUMMARY_SHARES.join(', ')}]) WITHIN GROUP (ORDER BY t.duration_ns))::float8[]`;
/** How what stands in the index for a long text ends. @see signalKey */
const MAY_STAND_FOR_LONG = /[0-9a-f]{64}$/;

/** Counts each trace of the window once in every group that a span of it is in. */
const countGroups = async (
  ask: Ask,
  scope: Scope,
  groupBy: CallGrouping,
  entryOf: (model: string) => string | undefined,
): Promise<Map<string | undefined, SummaryTotals>> => {
  const facet = callFacets[groupBy];
  const values = await ask<[value: string, traceId: string | null]>(
    `SELECT f.value, min(f.trace_id::text) FILTER (WHERE octet_length(f.value) >= 64) FROM trace_facets AS f
     WHERE f.facet = ${facet} AND ${inScope('f')} GROUP BY f.value`,
    [...scope],
  );
  const groups = new Map<string, string>();
  for (const [value, traceId] of values) {
    let text = value;
    if (traceId !== null && MAY_STAND_FOR_LONG.test(value)) {
      const [[stored] = ['[]']] = await ask<[string]>(
        'SELECT t.facets FROM traces AS t WHERE t.project = ANY ($1::int4[]) AND t.trace_id = $2::uuid',
        [scope[0], traceId],
      );
      const held = (JSON.parse(stored) as [number, string][]).find(
        ([of, long]) => of === facet && signalKey(long) === value,
      );
      text = held?.[1] ?? value;
    }
    groups.set(value, keyOf(groupBy, text, entryOf) ?? text);
  }
  // A trace that has two values of one group counts there once.
  const rows = await ask<[string, ...SummedRow]>(
    `SELECT d.key, ${SUMMED} FROM (
       SELECT DISTINCT m.key, f.project, f.trace_id FROM unnest($4::text[], $5::text[]) AS m (value, key)
       JOIN trace_facets AS f ON f.value = m.value WHERE f.facet = ${facet} AND ${inScope('f')}
     ) AS d JOIN traces AS t ON t.project = d.project AND t.trace_id = d.trace_id GROUP BY d.key`,
    [...scope, textArray([...groups.keys()]), textArray([...groups.values()])],
  );
  // What they cost is not the group's: that is its calls' own.
  return new Map(
    rows.map(([key, ...summed]) => [key, { ...reports.readTotals(summed), cost: undefined, input: 0, output: 0 }]),
  );
};

export const summaryReport = async (ask: Ask, query: SummaryQuery): Promise<SummaryReport> => {
  const { groupBy } = query;
  const scope: Scope = [int4Array(await projectNumbers(ask, query.projects)), query.from, query.to];
  const [summed] = await ask<SummedRow>(`SELECT ${SUMMED} FROM traces AS t WHERE ${inScope('t')}`, [...scope]);
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
  const column = groupBy === 'status' ? 't.status & 7' : `t.${traceColumns[groupBy]}`;
  const rows = await ask<[Key, ...SummedRow]>(
    `SELECT ${column}, ${SUMMED} FROM traces AS t WHERE ${inScope('t')} GROUP BY 1`,
    [...scope],
  );
  const groups = new Map(rows.map(([key, ...of]) => [groupText(groupBy, key), reports.readTotals(of)]));
  return reports.summaryReport(query, { ...reading, groups });
};
