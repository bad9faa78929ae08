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
import { facets, kindCode, STATUS_ERROR, statusOf, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import { figuresOf, groupsOf, isUsed, noTotals, type SummaryTotals } from '../../signals/summary.ts';
import { int4Array, textArray } from '../arrays.ts';
import type { Ask, Bound } from '../connection.ts';
import { signalKey } from './keys.ts';
import { projectNumbers } from './reach.ts';
import { CALLS } from './schema.ts';
import { scaledSum, unscaled } from './sums.ts';

const NANOS_PER_SECOND = 1_000_000_000n;
const NANOS_PER_MILLI = 1e6;

/** The column of each grouping of traces. */
const traceColumns = {
  environment: 'environment',
  status: 'status',
  session_id: 'session_id',
  user_id: 'user_id',
  service_name: 'service_name',
  name: 'name',
} as const satisfies Record<Exclude<CostGrouping, CallGrouping>, string>;

type Key = string | number | null;
const keyText = (grouping: CostGrouping, key: Key): string | undefined => {
  if (key === null) return undefined;
  return grouping === 'status' ? statusOf(key) : String(key);
};

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

type FiguresRow = readonly [
  count: bigint,
  errors: bigint,
  cost: number | null,
  input: number,
  output: number,
  timed: bigint,
  totalNs: number | null,
  maxNs: bigint | null,
];
const readFigures = ([count, errors, cost, input, output, timed, totalNs, maxNs]: FiguresRow): Figures => ({
  count: Number(count),
  errors: Number(errors),
  cost: unscaled(cost),
  inputTokens: input,
  outputTokens: output,
  timed: Number(timed),
  totalNs: totalNs ?? 0,
  maxNs: Number(maxNs ?? 0n),
});

const tokens = (column: string): string => `coalesce(sum(${column}), 0)::float8`;
// Tokens that a span only repeats are its children's. A span that ended before it began, because a clock was set in between, took no
// time.
const CALL_DURATION = 'CASE WHEN r.end_ns IS NULL THEN NULL ELSE greatest(0, r.end_ns - r.start_ns) END';
const CALL_FIGURES = `count(*), count(*) FILTER (WHERE r.status = ${STATUS_ERROR}), ${scaledSum('r.total_cost')},
  ${tokens('r.input_tokens * (1 - r.repeats_usage)')}, ${tokens('r.output_tokens * (1 - r.repeats_usage)')},
  count(r.end_ns), sum((${CALL_DURATION})::float8), max(${CALL_DURATION})`;
const TRACE_FIGURES = `count(*), count(*) FILTER (WHERE r.status = ${STATUS_ERROR}), ${scaledSum('r.total_cost')},
  ${tokens('r.input_tokens')}, ${tokens('r.output_tokens')}, count(r.duration_ns), sum(r.duration_ns::float8), max(r.duration_ns)`;

const PRICED = 0;
const UNPRICED_CALL = 1;
const CLASS = `CASE WHEN r.total_cost IS NOT NULL THEN ${PRICED}
  WHEN r.kind IN (${callKinds.map(kindCode).join(', ')}) AND r.repeats_usage = 0
    AND (r.end_ns IS NOT NULL OR r.status = ${STATUS_ERROR}) THEN ${UNPRICED_CALL} ELSE 2 END`;

const callRow = (value: string | null, model: string | null, is: number, figures: Figures): CallRow => {
  const row = { value: value ?? undefined, model: model ?? undefined };
  if (is === PRICED) return { ...row, is: 'priced', figures };
  if (is === UNPRICED_CALL) return { ...row, is: 'unpriced_call', figures };
  const { inputTokens, outputTokens } = figures;
  return { ...row, is: 'usage', figures: { ...noFigures(), inputTokens, outputTokens } };
};

/** Model calls of a window, added up by value, model and class. */
const readCalls = async (ask: Ask, scope: Scope, groupBy: CallGrouping): Promise<CallRow[]> => {
  const rows = await ask<[value: string | null, model: string | null, is: number, ...FiguresRow]>(
    `SELECT r.${groupBy}, r.model, ${CLASS}, ${CALL_FIGURES} FROM spans AS r
     WHERE ${CALLS('r')} AND ${inScope('r')} GROUP BY ${groupBy === 'model' ? '2, 3' : '1, 2, 3'}`,
    [...scope],
  );
  return rows.map(([value, model, is, ...figures]) => callRow(value, model, is, readFigures(figures)));
};

/** Traces of a window, added up by value: groups without models beneath. */
const groupTraces = async (
  ask: Ask,
  scope: Scope,
  groupBy: Exclude<CostGrouping, CallGrouping>,
): Promise<Map<string | undefined, CallGroup>> => {
  const groups = new Map<string | undefined, CallGroup>();
  const rows = await ask<[Key, ...FiguresRow]>(
    `SELECT r.${traceColumns[groupBy]}, ${TRACE_FIGURES} FROM traces AS r WHERE ${inScope('r')} GROUP BY 1`,
    [...scope],
  );
  for (const [value, ...figures] of rows) {
    const key = keyText(groupBy, value);
    const group = groups.get(key) ?? { figures: noFigures(), byModel: new Map<string, Figures>() };
    addFigures(group.figures, readFigures(figures));
    groups.set(key, group);
  }
  return groups;
};

/** Costs over time, for the groups of the report; buckets start at multiples of their width since the epoch. */
const seriesOf = async (
  ask: Ask,
  scope: Scope,
  groupBy: CostGrouping,
  bucketSeconds: number,
  entryOf: (model: string) => string | undefined,
  shown: ReadonlySet<string | undefined>,
): Promise<CostPoint[]> => {
  const width = BigInt(bucketSeconds) * NANOS_PER_SECOND;
  const isOfCalls = isCallGrouping(groupBy);
  const counts = countsAsCost(entryOf);
  const rows = await ask<[bigint, Key, string | null, number, count: bigint, cost: number | null]>(
    isOfCalls
      ? `SELECT r.start_ns / $4::int8, r.${groupBy}, r.model, ${CLASS}, count(*), ${scaledSum('r.total_cost')}
         FROM spans AS r WHERE ${CALLS('r')} AND ${inScope('r')} GROUP BY 1, 2, 3, 4`
      : `SELECT r.start_ns / $4::int8, r.${traceColumns[groupBy]}, NULL, ${PRICED}, count(*), ${scaledSum('r.total_cost')}
         FROM traces AS r WHERE ${inScope('r')} GROUP BY 1, 2`,
    [...scope, width],
  );
  const buckets = new Map<bigint, Map<string | undefined, Figures>>();
  for (const [bucket, value, model, is, count, cost] of rows) {
    const call = callRow(keyText(groupBy, value) ?? null, model, is, {
      ...noFigures(),
      count: Number(count),
      cost: unscaled(cost),
    });
    if (isOfCalls && !counts(call)) continue;
    const key = keyOf(groupBy, call.value, entryOf);
    const points = buckets.get(bucket) ?? new Map<string | undefined, Figures>();
    buckets.set(bucket, points);
    const point = points.get(key);
    if (point === undefined) points.set(key, call.figures);
    else addFigures(point, call.figures);
  }
  return [...buckets]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([bucket, points]) => pointsOf(bucket * width, points, shown))
    .slice(0, MOST_POINTS);
};

export const costReport = async (ask: Ask, query: AnalyticsQuery): Promise<CostReport> => {
  const { groupBy, bucketSeconds } = query;
  const scope: Scope = [int4Array(await projectNumbers(ask, query.projects)), query.from, query.to];
  const entryOf = entriesOf(query.bookModels);
  const all = costGroups(
    isCallGrouping(groupBy)
      ? groupCalls(await readCalls(ask, scope, groupBy), groupBy, entryOf, countsAsCost(entryOf))
      : await groupTraces(ask, scope, groupBy),
  );
  const costs = all.flatMap(({ totalCost }) => totalCost ?? []);
  const currency = await currencyOf(ask, scope);
  const groups = all.slice(0, MOST_GROUPS);
  const shown = new Set(groups.map(({ key }) => key));
  return {
    ...(currency === undefined ? {} : { currency }),
    ...costOf({ cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0) }),
    groups,
    ...(bucketSeconds === undefined
      ? {}
      : { series: await seriesOf(ask, scope, groupBy, bucketSeconds, entryOf, shown) }),
  };
};

/** What a summary adds up of traces `t`. percentile_disc takes the value at the nearest rank. */
const SUMMED = `count(*), count(*) FILTER (WHERE t.status = ${STATUS_ERROR}), count(*) FILTER (WHERE t.status = ${TRACE_CANCELLED}),
  ${scaledSum('t.total_cost')}, ${tokens('t.input_tokens')}, ${tokens('t.output_tokens')},
  count(t.duration_ns), sum(t.duration_ns::float8), max(t.duration_ns),
  (percentile_disc(ARRAY[0.5, 0.9, 0.95, 0.99]) WITHIN GROUP (ORDER BY t.duration_ns))::float8[]`;
type SummedRow = readonly [
  traces: bigint,
  errors: bigint,
  cancelled: bigint,
  cost: number | null,
  input: number,
  output: number,
  timed: bigint,
  totalNs: number | null,
  maxNs: bigint | null,
  percentiles: readonly number[] | null,
];
const readSummed = ([
  traces,
  errors,
  cancelled,
  cost,
  input,
  output,
  timed,
  total,
  max,
  ranks,
]: SummedRow): SummaryTotals => {
  const ms = (nanos: number | undefined): number => (nanos ?? 0) / NANOS_PER_MILLI;
  const longest = Number(max ?? 0n);
  return {
    traces: Number(traces),
    errors: Number(errors),
    cancelled: Number(cancelled),
    cost: unscaled(cost),
    input,
    output,
    latency:
      timed === 0n
        ? undefined
        : {
            // The sum of many equal durations is rounded, and its mean may come out above each of them.
            mean: ms(Math.min((total ?? 0) / Number(timed), longest)),
            max: ms(longest),
            p50: ms(ranks?.[0]),
            p90: ms(ranks?.[1]),
            p95: ms(ranks?.[2]),
            p99: ms(ranks?.[3]),
          },
  };
};

/** The property by which the traces of a group of calls are found. */
const facetOf = {
  model: facets.model,
  provider: facets.provider,
  entity_name: facets.entityName,
} as const satisfies Record<CallGrouping, number>;

/** How what stands in the index for a long text ends. @see signalKey */
const MAY_STAND_FOR_LONG = /[0-9a-f]{64}$/;

/** Counts each trace of the window once in every group that a span of it is in. */
const countGroups = async (
  ask: Ask,
  scope: Scope,
  groupBy: CallGrouping,
  entryOf: (model: string) => string | undefined,
): Promise<Map<string | undefined, SummaryTotals>> => {
  const facet = facetOf[groupBy];
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
    rows.map(([key, ...summed]) => [key, { ...readSummed(summed), cost: undefined, input: 0, output: 0 }]),
  );
};

export const summaryReport = async (ask: Ask, query: SummaryQuery): Promise<SummaryReport> => {
  const { groupBy } = query;
  const scope: Scope = [int4Array(await projectNumbers(ask, query.projects)), query.from, query.to];
  const [summed] = await ask<SummedRow>(`SELECT ${SUMMED} FROM traces AS t WHERE ${inScope('t')}`, [...scope]);
  const whole = summed === undefined ? noTotals() : readSummed(summed);
  const entryOf = entriesOf(query.bookModels);
  const currency = await currencyOf(ask, scope);
  const answer = (groups: SummaryReport['groups']): SummaryReport => ({
    ...(currency === undefined ? {} : { currency }),
    ...figuresOf(whole),
    groups,
  });
  if (groupBy === undefined) return answer([]);
  if (isCallGrouping(groupBy))
    return answer(
      groupsOf(
        await countGroups(ask, scope, groupBy, entryOf),
        groupCalls(await readCalls(ask, scope, groupBy), groupBy, entryOf, isUsed),
      ),
    );
  // Both codes of a status, that of a cancelled run too, are one group.
  const column = groupBy === 'status' ? 't.status & 7' : `t.${traceColumns[groupBy]}`;
  const rows = await ask<[Key, ...SummedRow]>(
    `SELECT ${column}, ${SUMMED} FROM traces AS t WHERE ${inScope('t')} GROUP BY 1`,
    [...scope],
  );
  return answer(groupsOf(new Map(rows.map(([key, ...of]) => [keyText(groupBy, key), readSummed(of)]))));
};
