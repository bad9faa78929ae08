import { type CallGrouping, entriesOf, isCallGrouping, keyOf } from '../../signals/call-groups.ts';
import type { AnalyticsQuery, CostReport, SummaryQuery, SummaryReport } from '../../signals/query.ts';
import { addTrace, countTrace, newTally, type SummaryTotals, type Tally, totalsOf } from '../../signals/summary.ts';
import { CALL_CLASS, groupText, PRICED, traceColumns } from '../../signals/rows/call-rows.ts';
import { STATUS_ERROR, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
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
import { CALLS } from './schema.ts';
import { projectNumbers, type Statements } from './statements.ts';

const reports = reportsOf((sum) => sum ?? undefined);

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

// Tokens that a span only repeats are its children's. A span that ended before it began, because a clock was set in between, took no
// time. `total` does not overflow.
const CALL_DURATION = 'max(0, r.end_ns - r.start_ns)';
const CALL_FIGURES = `count(*), sum(r.status = ${STATUS_ERROR}), sum(r.total_cost),
  coalesce(sum(r.input_tokens * (1 - r.repeats_usage)), 0), coalesce(sum(r.output_tokens * (1 - r.repeats_usage)), 0),
  count(r.end_ns), total(${CALL_DURATION}), max(0, max(r.end_ns - r.start_ns))`;
const TRACE_FIGURES = `count(*), sum(r.status = ${STATUS_ERROR}), sum(r.total_cost), coalesce(sum(r.input_tokens), 0),
  coalesce(sum(r.output_tokens), 0), count(r.duration_ns), total(r.duration_ns), max(r.duration_ns)`;

/** Up to so many groups it is faster to read the index once for each than to sort what it holds. */
const FEW_GROUPS = 8;

type GroupOfCalls = readonly [value: string | null, model: string | null, is: number];
const IN_GROUP = (groupBy: CallGrouping): string => `r.${groupBy} IS ? AND r.model IS ? AND ${CALL_CLASS} = ?`;

/** The groups that the calls of a window make, when they are few. */
const fewGroups = (statements: Statements, scope: Scope, groupBy: CallGrouping): GroupOfCalls[] | undefined => {
  const groups = statements
    .raw<[string | null, string | null, number]>(
      `SELECT DISTINCT r.${groupBy}, r.model, ${CALL_CLASS} FROM spans AS r INDEXED BY spans_calls
       WHERE ${CALLS('r')} AND ${IN_SCOPE} LIMIT ?`,
    )
    .all(...bindingsOf(scope), FEW_GROUPS + 1);
  return groups.length > FEW_GROUPS ? undefined : groups;
};

/** Model calls of a window, added up by value, model and class. The index alone is read. */
const readCalls = (statements: Statements, scope: Scope, groupBy: CallGrouping): CallFigures[] => {
  const few = fewGroups(statements, scope, groupBy);
  if (few === undefined)
    return statements
      .raw<CallFigures>(
        `SELECT r.${groupBy}, r.model, ${CALL_CLASS}, ${CALL_FIGURES} FROM spans AS r INDEXED BY spans_calls
         WHERE ${CALLS('r')} AND ${IN_SCOPE} GROUP BY ${groupBy === 'model' ? '2, 3' : '1, 2, 3'}`,
      )
      .all(...bindingsOf(scope));
  const read = statements.raw<FiguresRow>(
    `SELECT ${CALL_FIGURES} FROM spans AS r INDEXED BY spans_calls
     WHERE ${CALLS('r')} AND ${IN_SCOPE} AND ${IN_GROUP(groupBy)}`,
  );
  return few.flatMap((group): CallFigures[] => {
    const figures = read.get(...bindingsOf(scope), ...group);
    return figures === undefined ? [] : [[...group, ...figures]];
  });
};

/** Traces of a window, added up by value. */
const readTraces = (statements: Statements, scope: Scope, groupBy: TraceGrouping): TraceFiguresRow[] =>
  statements
    .raw<TraceFiguresRow>(
      `SELECT r.${traceColumns[groupBy]}, ${TRACE_FIGURES} FROM traces AS r WHERE ${IN_SCOPE} GROUP BY 1`,
    )
    .all(...bindingsOf(scope));

/** Costs over time, one bucket after the other, as far as somebody reads them. The statement starts with the first row that is asked for. */
function* readSeries(
  statements: Statements,
  scope: Scope,
  { groupBy }: AnalyticsQuery,
  width: bigint,
): Generator<SeriesRow> {
  yield* statements
    .raw<SeriesRow>(
      isCallGrouping(groupBy)
        ? `SELECT r.start_ns / ? AS bucket, r.${groupBy}, r.model, ${CALL_CLASS}, count(*), sum(r.total_cost)
           FROM spans AS r INDEXED BY spans_calls WHERE ${CALLS('r')} AND ${IN_SCOPE} GROUP BY 1, 2, 3, 4 ORDER BY 1`
        : `SELECT r.start_ns / ? AS bucket, r.${traceColumns[groupBy]}, NULL, ${PRICED}, count(*), sum(r.total_cost)
           FROM traces AS r WHERE ${IN_SCOPE} GROUP BY 1, 2 ORDER BY 1`,
    )
    .iterate(width, ...bindingsOf(scope));
}

const scopeOf = (statements: Statements, { projects, from, to }: SummaryQuery): Scope => ({
  numbers: projectNumbers(statements, projects),
  from,
  to,
});

export const costReport = (statements: Statements, query: AnalyticsQuery): CostReport => {
  const { groupBy, bucketSeconds } = query;
  const scope = scopeOf(statements, query);
  return reports.costReport(query, {
    ...(isCallGrouping(groupBy)
      ? { calls: readCalls(statements, scope, groupBy) }
      : { traces: readTraces(statements, scope, groupBy) }),
    currency: currencyOf(statements, scope),
    series: bucketSeconds === undefined ? undefined : readSeries(statements, scope, query, bucketWidth(bucketSeconds)),
  });
};

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
