import type { Span, Usage } from '../model/span.ts';
import { AGGREGATE, COST_SKIPPED } from './mapping/kind-rules.ts';
import {
  chargedLines,
  countedSides,
  findBookEntry,
  type Meter,
  type PriceBook,
  priceUsage,
  type Rates,
  type ReceiptLine,
} from './price.ts';

/** Why a span has no cost. */
export type UnpricedReason =
  | 'aggregate'
  | 'no_model'
  | 'no_usage'
  | 'nothing_counted'
  | 'model_not_in_book'
  | 'not_in_book_at_ingest';

/** A part of a call for which nothing, or not its own rate, was charged. */
export type NotPriced = {
  readonly meter: Meter;
  /** Nothing where nobody counted them. */
  readonly tokens?: number;
  /** `not_split`: a total alone, charged at the input rate. `outside_meters`: in the count, and on none of the meters beside it. */
  readonly reason: 'not_counted' | 'not_split' | 'no_rate' | 'outside_meters';
};

/** The row of the price book that priced a call. */
export type BookRow = Pick<PriceBook, 'id' | 'asOf' | 'currency'> & { readonly entry: string; readonly rates: Rates };

/** How the stored cost of a span came about. It explains that figure, and never gives another one. */
export type Receipt =
  | {
      readonly outcome: 'priced';
      readonly book: BookRow;
      readonly lines: readonly ReceiptLine[];
      readonly notPriced: readonly NotPriced[];
    }
  /** The sender gave the cost. */
  | { readonly outcome: 'received' }
  /** Priced by rates that this release does not have any more. */
  | { readonly outcome: 'book_changed' }
  | { readonly outcome: 'unpriced'; readonly reason: UnpricedReason };

const notPricedOf = (usage: Usage, rates: Rates): readonly NotPriced[] => {
  const { inputDetails, outputDetails, totalTokens } = usage;
  const { input, output } = countedSides(usage);
  const found: NotPriced[] = [];
  if (input === undefined && output === undefined && totalTokens !== undefined)
    return [{ meter: 'output', reason: 'not_split' }];
  if (input === undefined && inputDetails === undefined) found.push({ meter: 'input', reason: 'not_counted' });
  if (output === undefined && outputDetails === undefined) found.push({ meter: 'output', reason: 'not_counted' });
  if (inputDetails?.text !== undefined && input !== undefined) {
    const { text, cacheRead = 0, cacheWrite = 0, cacheWrite5m = 0, cacheWrite1h = 0, audio = 0 } = inputDetails;
    const cached = cacheRead + Math.max(cacheWrite, cacheWrite5m + cacheWrite1h);
    const left = input - (cached > input ? 0 : cached) - audio - text;
    if (left > 0) found.push({ meter: 'input', tokens: left, reason: 'outside_meters' });
  }
  if (outputDetails?.text !== undefined) {
    const { text, audio = 0, reasoning = 0 } = outputDetails;
    if (reasoning > 0 && rates.reasoning === undefined)
      found.push({ meter: 'reasoning', tokens: reasoning, reason: 'no_rate' });
    const left = (output ?? 0) - audio - reasoning - text;
    if (left > 0) found.push({ meter: 'output', tokens: left, reason: 'outside_meters' });
  }
  return found;
};

const whyUnpriced = ({ model, usage, attributes }: Span, book: PriceBook): UnpricedReason => {
  if (attributes[COST_SKIPPED] === AGGREGATE) return 'aggregate';
  if (model === undefined) return 'no_model';
  if (usage === undefined) return 'no_usage';
  if (findBookEntry(model, book) === undefined) return 'model_not_in_book';
  return priceUsage(model, usage, book) === undefined ? 'nothing_counted' : 'not_in_book_at_ingest';
};

/**
 * Explains the cost that is stored with a span, out of its usage and the book. Nothing is priced anew: where the book gives
 * other figures than those that are stored, the receipt says that the book has changed, and has no lines.
 */
export const receiptOf = (span: Span, book: PriceBook): Receipt => {
  const { cost, model, usage } = span;
  if (cost === undefined) return { outcome: 'unpriced', reason: whyUnpriced(span, book) };
  if (!cost.isEstimated || cost.priceBookId !== book.id) return { outcome: 'received' };
  const entry = model === undefined ? undefined : findBookEntry(model, book);
  const rates = entry === undefined ? undefined : book.rates.get(entry);
  if (model === undefined || usage === undefined || entry === undefined || rates === undefined)
    return { outcome: 'book_changed' };
  const again = priceUsage(model, usage, book);
  const isSame =
    again?.totalCost === cost.totalCost &&
    again.inputCost === cost.inputCost &&
    again.outputCost === cost.outputCost &&
    again.currency === cost.currency;
  if (!isSame) return { outcome: 'book_changed' };
  const { id, asOf, currency } = book;
  return {
    outcome: 'priced',
    book: { id, asOf, currency, entry, rates },
    lines: chargedLines(usage, rates),
    notPriced: notPricedOf(usage, rates),
  };
};
