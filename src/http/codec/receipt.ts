import type { Meter } from '../../ingest/price.ts';
import type { Receipt } from '../../ingest/receipt.ts';
import type { components } from '../../model/generated/openapi.ts';

type Wire = components['schemas']['CostReceipt'];

const meters = {
  input: 'input',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  cacheWrite5m: 'cache_write_5m',
  cacheWrite1h: 'cache_write_1h',
  audioInput: 'audio_input',
  output: 'output',
  audioOutput: 'audio_output',
  reasoning: 'reasoning',
} as const satisfies Record<Meter, components['schemas']['Meter']>;

/** How a cost came about, as clients see it. */
export const receiptToWire = (receipt: Receipt): Wire => {
  if (receipt.outcome === 'unpriced') return { outcome: 'unpriced', reason: receipt.reason };
  if (receipt.outcome !== 'priced') return { outcome: receipt.outcome };
  const { book, lines, notPriced } = receipt;
  return {
    outcome: 'priced',
    price_book: {
      id: book.id,
      as_of: book.asOf,
      entry: book.entry,
      currency: book.currency,
      input_rate: book.rates.input,
    },
    lines: lines.map(({ side, meter, tokens, rate, ratedAs, amount }) => ({
      side,
      meter: meters[meter],
      tokens,
      rate,
      rated_as: meters[ratedAs],
      amount,
    })),
    not_priced: notPriced.map(({ meter, tokens, reason }) => ({
      meter: meters[meter],
      ...(tokens !== undefined && { tokens }),
      reason,
    })),
  };
};
