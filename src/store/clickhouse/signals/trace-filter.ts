import type { TraceCondition, TraceFigure } from '../../signals/trace-conditions.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import { isStorable } from '../../signals/storable.ts';
import type { Binding } from '../binding.ts';
import { facetText } from './totals.ts';

/** The columns of `traces` that hold the figures. */
const columns: Readonly<Record<TraceFigure, string>> = {
  startTime: 'start_ns',
  durationNs: 'duration_ns',
  totalCost: 'total_cost',
  errorCount: 'error_count',
};
const signs = { at_least: '>=', at_most: '<=', below: '<' } as const;

export type PrintedFilter = { readonly parts: readonly string[]; readonly q?: string };

/**
 * Prints the conditions of the trace list on the traces `t`, all but the search.
 * @returns `undefined` when a condition names a value that no trace can have
 */
export const printFilter = (conditions: readonly TraceCondition[], { bind }: Binding): PrintedFilter | undefined => {
  const parts: string[] = [];
  let q: string | undefined;
  for (const condition of conditions)
    switch (condition.kind) {
      case 'has': {
        const stored = storedFacet([condition.facet, condition.value]);
        if (!isStorable(stored[1])) return undefined;
        parts.push(`has(t.facets, ${bind(facetText(stored), 'String')})`);
        break;
      }
      case 'bound': {
        const { figure, is, value } = condition;
        parts.push(`t.${columns[figure]} ${signs[is]} ${bind(value, figure === 'totalCost' ? 'Float64' : 'Int64')}`);
        break;
      }
      case 'mean_below': {
        if (!isStorable(condition.scorerId)) return undefined;
        const scorer = bind(condition.scorerId, 'String');
        parts.push(`mapContains(t.means, ${scorer}) AND t.means[${scorer}] < ${bind(condition.value, 'Float64')}`);
        break;
      }
      case 'text':
        q = condition.q;
        break;
      default:
        condition satisfies never;
    }
  return q === undefined ? { parts } : { parts, q };
};
