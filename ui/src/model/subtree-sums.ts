import type { TraceRows } from './trace.ts';

/**
 * What each row cost with all below it, by the rule of the trace's own total: every cost that is stored counts once.
 * @returns NaN where nothing was priced, which is not the same as free
 */
export const subtreeCosts = ({ spans, parent }: TraceRows): Float64Array => {
  const costs = new Float64Array(spans.length).fill(Number.NaN);
  const add = (row: number, amount: number): void => {
    const before = costs[row] ?? Number.NaN;
    costs[row] = Number.isNaN(before) ? amount : before + amount;
  };
  // Whatever hangs below a row comes after it: from the last row up, each has its sum before it is added to the one above.
  for (let row = spans.length - 1; row >= 0; row -= 1) {
    const own = spans[row]?.cost?.total_cost;
    if (own !== undefined) add(row, own);
    const sum = costs[row] ?? Number.NaN;
    const above = parent[row] ?? -1;
    if (above >= 0 && !Number.isNaN(sum)) add(above, sum);
  }
  return costs;
};

/** The currency in which a trace was priced. */
export const currencyOf = ({ spans }: TraceRows): string | undefined =>
  spans.find(({ cost }) => cost !== undefined)?.cost?.currency;

const CALLS: ReadonlySet<string> = new Set(['model_generation', 'rag_embedding']);

/** Whether a span is a call that somebody is billed for: where it has no cost, the price is unknown. */
export const isCall = ({ kind }: TraceRows['spans'][number]): boolean => CALLS.has(kind);
