import type { TraceCondition, TraceFigure } from '../../signals/trace-conditions.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import { isStorable } from '../../signals/storable.ts';
import { signalKey } from './keys.ts';
import { type Binding } from './statement.ts';

/** The columns of `traces` that hold the figures. */
const columns: Readonly<Record<TraceFigure, string>> = {
  startTime: 'start_ns',
  durationNs: 'duration_ns',
  totalCost: 'total_cost',
  errorCount: 'error_count',
};
const types: Readonly<Record<TraceFigure, string>> = {
  startTime: 'int8',
  durationNs: 'int8',
  totalCost: 'float8',
  errorCount: 'int8',
};
/** Figures of which an index knows which traces of a project come first. */
export const indexedFigures = ['totalCost', 'durationNs', 'startTime'] as const satisfies readonly TraceFigure[];

type Bound = TraceCondition & { readonly kind: 'bound' };
const signs = { at_least: '>=', at_most: '<=', below: '<' } as const satisfies Record<Bound['is'], string>;

/** A value that a trace has of a property, as `trace_facets` holds it, and as it stands in `traces.facets`. */
export type FilteredFacet = { readonly facet: number; readonly key: string; readonly json: string };

/** Conditions of the trace list, sorted by what answers each. */
export type PrintedFilter = {
  readonly facets: readonly FilteredFacet[];
  readonly bounds: readonly Bound[];
  readonly meansBelow: readonly { readonly scorerKey: string; readonly value: number }[];
  readonly q?: string;
};

/** @returns `undefined` when a condition names a value that no trace can have */
export const readFilter = (conditions: readonly TraceCondition[]): PrintedFilter | undefined => {
  const facets: FilteredFacet[] = [];
  const bounds: Bound[] = [];
  const meansBelow: PrintedFilter['meansBelow'][number][] = [];
  let q: string | undefined;
  for (const condition of conditions)
    switch (condition.kind) {
      case 'has': {
        const [facet, value] = storedFacet([condition.facet, condition.value]);
        if (!isStorable(value)) return undefined;
        facets.push({ facet, key: signalKey(value), json: JSON.stringify([facet, value]) });
        break;
      }
      case 'bound':
        bounds.push(condition);
        break;
      case 'mean_below':
        if (!isStorable(condition.scorerId)) return undefined;
        meansBelow.push({ scorerKey: signalKey(condition.scorerId), value: condition.value });
        break;
      case 'text':
        q = condition.q;
        break;
      default:
        condition satisfies never;
    }
  return { facets, bounds, meansBelow, ...(q === undefined ? {} : { q }) };
};

const printBound = ({ figure, is, value }: Bound, column: string, { bind }: Binding): string =>
  `${column} ${signs[is]} ${bind(value, types[figure])}`;

/** The bounds of one figure, as conditions on the traces `t`. */
export const printBounds = ({ bounds }: PrintedFilter, figure: TraceFigure, to: Binding): string[] =>
  bounds.filter((one) => one.figure === figure).map((one) => printBound(one, `t.${columns[figure]}`, to));

/** The window of the filter on another column that holds start times. */
export const printWindow = ({ bounds }: PrintedFilter, column: string, to: Binding): string[] =>
  bounds.filter(({ figure }) => figure === 'startTime').map((one) => printBound(one, column, to));

/**
 * All conditions but the search, on the row of the trace `t`. The row holds its properties as JSON, in which no value can stand but as
 * one: a quote inside of a text is escaped. So a long value is compared in full, and no index is asked for each row.
 */
export const printConditions = ({ facets, bounds, meansBelow }: PrintedFilter, to: Binding): string[] => [
  ...bounds.map((one) => printBound(one, `t.${columns[one.figure]}`, to)),
  ...facets.map(({ json }) => `strpos(t.facets, ${to.bind(json, 'text')}) > 0`),
  ...meansBelow.map(
    ({ scorerKey, value }) =>
      `EXISTS (SELECT 1 FROM trace_scores AS s WHERE s.project = t.project AND s.trace_id = t.trace_id
         AND s.scorer_id = ${to.bind(scorerKey, 'text')} AND s.mean < ${to.bind(value, 'float8')} OFFSET 0)`,
  ),
];

/** Entries of `trace_facets AS d` with the value, within the window. The project is left to the caller. */
export const printFacet = (filter: PrintedFilter, { facet, key }: FilteredFacet, to: Binding): string =>
  [
    `d.facet = ${to.bind(facet, 'int4')}`,
    `d.value = ${to.bind(key, 'text')}`,
    ...printWindow(filter, 'd.start_ns', to),
  ].join(' AND ');
