import type { TraceCondition, TraceFigure } from '../../signals/trace-conditions.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import type { Statements } from './statements.ts';

/** A condition of a statement, and what it binds. */
export type Part = { readonly sql: string; readonly values: readonly unknown[] };

/** The columns of `traces` that hold the figures. */
const columns: Readonly<Record<TraceFigure, string>> = {
  startTime: 'start_ns',
  durationNs: 'duration_ns',
  totalCost: 'total_cost',
  errorCount: 'error_count',
};
/** Indexes that begin with the project and a figure, in the order in which they are tried. */
export const indexes: readonly (readonly [figure: TraceFigure, index: string])[] = [
  ['totalCost', 'traces_by_cost'],
  ['durationNs', 'traces_by_duration'],
  ['startTime', 'traces_by_start'],
];

type Bound = TraceCondition & { readonly kind: 'bound' };
const signs = { at_least: '>=', at_most: '<=', below: '<' } as const satisfies Record<Bound['is'], string>;
const printBound = (column: string, { is, value }: Bound): Part => ({
  sql: `${column} ${signs[is]} ?`,
  values: [value],
});

/** Conditions of the trace list as statements use them: sorted by the table that answers each. */
export type PrintedFilter = {
  /** Property and value, as they stand in `facet_values`. */
  readonly facets: readonly (readonly [facet: number, value: string])[];
  /** Conditions on the row of the trace, `t`. */
  readonly bounds: readonly { readonly figure: TraceFigure; readonly bound: Bound; readonly part: Part }[];
  readonly meansBelow: readonly { readonly scorerId: string; readonly value: number }[];
  readonly q?: string;
};

/** The one place where conditions become SQL. */
export const printConditions = (conditions: readonly TraceCondition[]): PrintedFilter => {
  const facets: (readonly [number, string])[] = [];
  const bounds: PrintedFilter['bounds'][number][] = [];
  const meansBelow: PrintedFilter['meansBelow'][number][] = [];
  let q: string | undefined;
  for (const condition of conditions)
    switch (condition.kind) {
      case 'has':
        facets.push(storedFacet([condition.facet, condition.value]));
        break;
      case 'bound': {
        const { figure } = condition;
        bounds.push({ figure, bound: condition, part: printBound(`t.${columns[figure]}`, condition) });
        break;
      }
      case 'mean_below':
        meansBelow.push(condition);
        break;
      case 'text':
        q = condition.q;
        break;
      default:
        condition satisfies never;
    }
  return { facets, bounds, meansBelow, ...(q === undefined ? {} : { q }) };
};

/** The window of the filter on another column that holds start times. */
export const within = ({ bounds }: PrintedFilter, column: string): Part[] =>
  bounds.filter(({ figure }) => figure === 'startTime').map(({ bound }) => printBound(column, bound));

/** Conditions on the means of the trace `t`. */
export const printMeans = ({ meansBelow }: PrintedFilter, project: number): Part[] =>
  meansBelow.map(({ scorerId, value }) => ({
    sql: 'EXISTS (SELECT 1 FROM trace_scores AS s WHERE s.project = ? AND s.scorer_id = ? AND s.trace = t.trace AND s.mean < ?)',
    values: [project, scorerId, value],
  }));

/** Numbers of the values that a filter demands, in its order; `undefined` when no trace of the project has one of them. */
export const facetIds = (statements: Statements, project: number, { facets }: PrintedFilter): number[] | undefined => {
  const ids: number[] = [];
  for (const facet of facets) {
    const id = statements
      .pluck<number>('SELECT id FROM facet_values WHERE project = ? AND facet = ? AND value = ?')
      .get(project, ...facet);
    if (id === undefined) return undefined;
    ids.push(id);
  }
  return ids;
};

/** Entries that meet all parts, counted up to a bound. */
export const countUpTo = (statements: Statements, from: string, parts: readonly Part[], most: number): number =>
  statements
    .pluck<number>(
      `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${parts.map(({ sql }) => sql).join(' AND ')} LIMIT ?)`,
    )
    .get(...parts.flatMap((part) => part.values), most) ?? 0;
