import type { ReportedUsage } from '../../src/model/run.ts';
import type { Cost } from '../../src/model/span.ts';

/** One dollar a thousand tokens of model `m`; nothing else has a price. */
export const createPrices =
  () =>
  ({ model, inputTokens = 0, outputTokens = 0 }: ReportedUsage): Cost | undefined =>
    model === 'm'
      ? { totalCost: (inputTokens + outputTokens) / 1000, currency: 'USD', isEstimated: true, priceBookId: 'test' }
      : undefined;
