import { totalTokens } from './tokens.ts';
import type { TraceRows } from './trace.ts';

/**
 * Adds up from the last row to the first: whatever hangs below a row comes after it, so each has its sum before it is added to the one above.
 * @param ownOf what a row adds by itself; `below` is the sum of all below it
 * @returns NaN where nothing is known, which is not the same as zero
 */
const sumUp = (
  { spans, parent }: TraceRows,
  ownOf: (span: TraceRows['spans'][number], below: number) => number | undefined,
): Float64Array => {
  const sums = new Float64Array(spans.length).fill(Number.NaN);
  const add = (row: number, amount: number): void => {
    const before = sums[row] ?? Number.NaN;
    sums[row] = Number.isNaN(before) ? amount : before + amount;
  };
  for (let row = spans.length - 1; row >= 0; row -= 1) {
    const span = spans[row];
    const own = span === undefined ? undefined : ownOf(span, sums[row] ?? Number.NaN);
    if (own !== undefined) add(row, own);
    const sum = sums[row] ?? Number.NaN;
    const above = parent[row] ?? -1;
    if (above >= 0 && !Number.isNaN(sum)) add(above, sum);
  }
  return sums;
};

/** What each row cost with all below it, by the rule of the trace's own total: every cost that is stored counts once. */
export const subtreeCosts = (rows: TraceRows): Float64Array => sumUp(rows, ({ cost }) => cost?.total_cost);

/**
 * The tokens of each row with all below it, by the rule of the trace's own total: a span that only repeats the usage of those below it
 * adds nothing. The service does not say which spans do, but it never prices them; where no reading comes to its total, nothing is told.
 * @param total the tokens of the trace, as the service counts them
 */
export const subtreeTokens = (rows: TraceRows, total: number | undefined): Float64Array => {
  const plain = sumUp(rows, ({ usage }) => totalTokens(usage));
  const withoutRepeats = (): Float64Array =>
    sumUp(rows, ({ usage, cost }, below) =>
      cost === undefined && !Number.isNaN(below) ? undefined : totalTokens(usage),
    );
  const isTotal = (sums: Float64Array): boolean =>
    sums.reduce((sum, one, row) => ((rows.parent[row] ?? -1) < 0 && !Number.isNaN(one) ? sum + one : sum), 0) ===
    (total ?? 0);
  if (isTotal(plain)) return plain;
  const sums = withoutRepeats();
  return isTotal(sums) ? sums : sums.fill(Number.NaN);
};

/** The currency in which a trace was priced. */
export const currencyOf = ({ spans }: TraceRows): string | undefined =>
  spans.find(({ cost }) => cost !== undefined)?.cost?.currency;

const CALLS: ReadonlySet<string> = new Set(['model_generation', 'rag_embedding']);

/** Whether a span is a call that somebody is billed for: where it has no cost, the price is unknown. */
export const isCall = ({ kind }: TraceRows['spans'][number]): boolean => CALLS.has(kind);
