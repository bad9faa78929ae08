import type { components } from '../api/types.ts';
import { inWords } from './status.ts';
import { formatMoney, plural } from './units.ts';

export type CostReceipt = components['schemas']['CostReceipt'];
type Line = NonNullable<CostReceipt['lines']>[number];
type NotPriced = NonNullable<CostReceipt['not_priced']>[number];
type Cost = components['schemas']['Cost'];

const WHY_UNPRICED = {
  aggregate: 'it repeats what other spans of the trace count, and would be counted twice',
  no_model: 'the span names no model',
  no_usage: 'no tokens were sent',
  nothing_counted: 'none of the counts that were sent can be priced',
  model_not_in_book: 'the price book does not hold this model',
  not_in_book_at_ingest: 'the price book did not hold this model when the span arrived; a cost is never added later',
} as const satisfies Record<NonNullable<CostReceipt['reason']>, string>;

const WHY_NOT_PRICED = {
  not_counted: 'nobody counted them',
  not_split: 'a total alone was sent, which is charged as input: the call cost at least that',
  no_rate: 'the book has no rate for them, and text was counted apart',
  outside_meters: 'they are in the count of their side, and on none of its meters',
} as const satisfies Record<NotPriced['reason'], string>;

/** Why there is no bill, or nothing where there is one. */
export const explainOutcome = ({ outcome, reason }: CostReceipt): string | undefined => {
  switch (outcome) {
    case 'priced':
      return undefined;
    case 'received':
      return 'The sender gave this cost; nothing was priced here.';
    case 'book_changed':
      return 'The price book has changed since this call was priced: its rates are not known any more. The cost stays as it was.';
    case 'unpriced':
      return `Not priced: ${reason === undefined ? 'no reason is known' : WHY_UNPRICED[reason]}.`;
    default:
      return outcome satisfies never;
  }
};

/** `cache read`, and whose rate it has where that is another's. */
export const nameOfMeter = ({ meter, rated_as }: Pick<Line, 'meter' | 'rated_as'>): string =>
  meter === rated_as ? inWords(meter) : `${inWords(meter)}, at the rate of ${inWords(rated_as)}`;

export const explainNotPriced = ({ meter, tokens, reason }: NotPriced): string =>
  `${tokens === undefined ? `${inWords(meter)} tokens` : plural(tokens, `${inWords(meter)} token`)}: ${WHY_NOT_PRICED[reason]}`;

/** Adds as the service added: each side in the order of its lines, then both. */
export const sumOfLines = (lines: readonly Line[]): number => {
  const side = (name: Line['side']): number =>
    lines.filter((line) => line.side === name).reduce((sum, { amount }) => sum + amount, 0);
  return side('input') + side('output');
};

/** Whether the lines are the cost, to the last digit. */
export const addsUp = (lines: readonly Line[], { total_cost }: Cost): boolean => sumOfLines(lines) === total_cost;

/**
 * What was saved by tokens that came from a cache: what they would have cost as ordinary input, less what they did cost and what
 * writing to the cache cost more than ordinary input.
 * @returns nothing where the receipt has no lines, or none of a cache
 */
export const savedByCache = ({ lines, price_book }: CostReceipt): number | undefined => {
  const cached = lines?.filter(({ meter }) => meter.startsWith('cache_')) ?? [];
  if (price_book === undefined || cached.length === 0) return undefined;
  return cached.reduce((saved, { tokens, amount }) => saved + (tokens * price_book.input_rate) / 1e6 - amount, 0);
};

/** Writing to a cache may cost more than reading from it saves. */
export const explainSaved = (saved: number, currency: string): string => {
  const amount = formatMoney({ total_cost: Math.abs(saved), currency });
  return saved < 0
    ? `The cache cost ${amount} more than ordinary input.`
    : `The cache saved ${amount} against ordinary input.`;
};
