import type {
  AnalyticsQuery,
  CostGroup,
  CostGrouping,
  CostPoint,
  CostReport,
  SummaryQuery,
  SummaryReport,
} from '../../signals/query.ts';
import {
  addTrace,
  figuresOf,
  groupsOf,
  MOST_GROUPS,
  MOST_POINTS,
  newTally,
  type Tally,
} from '../../signals/summary.ts';
import { STATUS_ERROR, statusOf } from './codes.ts';
import { projectNumbers, type Statements } from './statements.ts';

const NANOS_PER_MILLI = 1e6;
const NANOS_PER_SECOND = 1_000_000_000n;

/** Model calls that were priced: an unpriced one is excluded. @see Interface specification, "Cost", rule 4 */
const calls = {
  from: 'spans AS r INDEXED BY spans_priced',
  where: 'r.total_cost IS NOT NULL AND',
  duration: '(r.end_ns - r.start_ns)',
};
const runs = { from: 'traces AS r', where: '', duration: 'r.duration_ns' };

/** What each grouping reads, and its column there. */
const groupings = {
  model: { of: calls, column: 'model' },
  provider: { of: calls, column: 'provider' },
  entity_name: { of: calls, column: 'entity_name' },
  environment: { of: runs, column: 'environment' },
  status: { of: runs, column: 'status' },
  session_id: { of: runs, column: 'session_id' },
  user_id: { of: runs, column: 'user_id' },
  service_name: { of: runs, column: 'service_name' },
  name: { of: runs, column: 'name' },
} as const satisfies Record<CostGrouping, unknown>;

type Key = string | number | bigint | null;

const keyText = (grouping: CostGrouping, key: Key): string | undefined => {
  if (key === null) return undefined;
  return grouping === 'status' ? statusOf(key) : String(key);
};

/** The currency in which a project was priced: its newest priced span's in the window. */
const currencyOf = (
  statements: Statements,
  numbers: readonly number[],
  from: bigint,
  to: bigint,
): string | undefined => {
  for (const number of numbers) {
    const currency = statements
      .pluck<string | null>(
        `SELECT s.currency FROM spans AS s INDEXED BY spans_priced
         WHERE s.total_cost IS NOT NULL AND s.project = ? AND s.start_ns >= ? AND s.start_ns < ? ORDER BY s.start_ns DESC LIMIT 1`,
      )
      .get(number, from, to);
    if (typeof currency === 'string') return currency;
  }
  return undefined;
};

type GroupRow = [
  key: Key,
  count: number,
  errors: number,
  cost: number | null,
  input: number,
  output: number,
  mean: number | null,
  max: number | null,
];

export const costReport = (statements: Statements, query: AnalyticsQuery): CostReport => {
  const numbers = projectNumbers(statements, query.projects);
  const { of, column } = groupings[query.groupBy];
  const window = `${of.where} r.project IN (SELECT value FROM json_each(?)) AND r.start_ns >= ? AND r.start_ns < ?`;
  const values = [JSON.stringify(numbers), query.from, query.to];
  const rows = statements
    .raw<GroupRow>(
      `SELECT r.${column}, count(*), sum(r.status = ${STATUS_ERROR}), sum(r.total_cost), coalesce(sum(r.input_tokens), 0),
         coalesce(sum(r.output_tokens), 0), avg(${of.duration}) / ${NANOS_PER_MILLI}, max(${of.duration}) / ${NANOS_PER_MILLI}
       FROM ${of.from} WHERE ${window} GROUP BY r.${column} ORDER BY 4 DESC NULLS LAST, 2 DESC, 1`,
    )
    .all(...values);
  const groups = rows
    .slice(0, MOST_GROUPS)
    .map(([key, count, errorCount, cost, inputTokens, outputTokens, mean, max]): CostGroup => {
      const text = keyText(query.groupBy, key);
      return {
        ...(text === undefined ? {} : { key: text }),
        count,
        errorCount,
        ...(cost === null ? {} : { totalCost: cost }),
        inputTokens,
        outputTokens,
        ...(mean === null || max === null ? {} : { latency: { mean, max } }),
      };
    });
  const costs = rows.map(([, , , cost]) => cost).filter((cost): cost is number => cost !== null);
  const currency = currencyOf(statements, numbers, query.from, query.to);
  return {
    ...(currency === undefined ? {} : { currency }),
    ...(costs.length === 0 ? {} : { totalCost: costs.reduce((sum, cost) => sum + cost, 0) }),
    groups,
    ...(query.bucketSeconds === undefined
      ? {}
      : { series: seriesOf(statements, query, of, column, window, values, groups) }),
  };
};

/** Costs over time, for the groups of the report; buckets start at multiples of their width since the epoch. */
const seriesOf = (
  statements: Statements,
  query: AnalyticsQuery,
  of: typeof calls | typeof runs,
  column: string,
  window: string,
  values: readonly unknown[],
  groups: readonly CostGroup[],
): CostPoint[] => {
  const width = BigInt(query.bucketSeconds ?? 1) * NANOS_PER_SECOND;
  const shown = new Set(groups.map(({ key }) => key));
  const points: CostPoint[] = [];
  for (const [bucket, key, count, cost] of statements
    .exact<[bigint, Key, bigint, number | null]>(
      `SELECT r.start_ns / ? AS bucket, r.${column}, count(*), sum(r.total_cost) FROM ${of.from} WHERE ${window}
       GROUP BY bucket, r.${column} ORDER BY bucket, 2`,
    )
    .iterate(width, ...values)) {
    const text = keyText(query.groupBy, key);
    if (!shown.has(text)) continue;
    points.push({
      time: bucket * width,
      ...(text === undefined ? {} : { key: text }),
      count: Number(count),
      ...(cost === null ? {} : { totalCost: cost }),
    });
    if (points.length === MOST_POINTS) break;
  }
  return points;
};

/** Groupings of traces by what any of their spans has: a trace counts in each of its groups. */
const SPAN_GROUPINGS = { model: 3, provider: 4, entity_name: 5 } as const;

export const summaryReport = (statements: Statements, query: SummaryQuery): SummaryReport => {
  const numbers = projectNumbers(statements, query.projects);
  const window = 't.project = ? AND t.start_ns >= ? AND t.start_ns < ?';
  const totals = 't.status, t.duration_ns, t.total_cost, t.input_tokens, t.output_tokens';
  const spanFacet =
    query.groupBy !== undefined && query.groupBy in SPAN_GROUPINGS
      ? SPAN_GROUPINGS[query.groupBy as keyof typeof SPAN_GROUPINGS]
      : undefined;
  const column =
    query.groupBy === undefined || spanFacet !== undefined ? 'NULL' : `t.${groupings[query.groupBy].column}`;
  type TotalsRow = [
    key: string | number | null,
    status: number,
    duration: number | null,
    cost: number | null,
    input: number | null,
    output: number | null,
  ];
  const whole = newTally();
  const byKey = new Map<string | undefined, Tally>();
  const add = (tally: Tally, [, status, duration, cost, input, output]: TotalsRow): void =>
    addTrace(tally, {
      isFailed: status === STATUS_ERROR,
      durationNs: duration,
      totalCost: cost,
      inputTokens: input ?? 0,
      outputTokens: output ?? 0,
    });
  const addToGroup = (row: TotalsRow): void => {
    const key = query.groupBy === undefined ? undefined : keyText(query.groupBy, row[0]);
    let tally = byKey.get(key);
    if (tally === undefined) {
      tally = newTally();
      byKey.set(key, tally);
    }
    add(tally, row);
  };
  for (const number of numbers) {
    for (const row of statements
      .raw<TotalsRow>(`SELECT ${column}, ${totals} FROM traces AS t INDEXED BY traces_by_start WHERE ${window}`)
      .iterate(number, query.from, query.to)) {
      add(whole, row);
      if (query.groupBy !== undefined && spanFacet === undefined) addToGroup(row);
    }
    if (spanFacet === undefined) continue;
    for (const row of statements
      .raw<TotalsRow>(
        `SELECT v.value, ${totals} FROM facet_values AS v CROSS JOIN trace_facets AS f ON f.value = v.id
         CROSS JOIN traces AS t ON t.trace = f.trace
         WHERE v.project = ? AND f.start_ns >= ? AND f.start_ns < ? AND v.facet = ?`,
      )
      .iterate(number, query.from, query.to, spanFacet))
      addToGroup(row);
  }
  const groups = groupsOf(byKey);
  const currency = currencyOf(statements, numbers, query.from, query.to);
  return { ...(currency === undefined ? {} : { currency }), ...figuresOf(whole), groups };
};
