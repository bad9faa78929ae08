import type { components } from '../../model/generated/openapi.ts';
import type { Cost } from '../../model/span.ts';

type Wire = components['schemas']['Cost'];

/** @see Interface decisions, "4. Signals, native names", `cost` */
export const costToWire = (cost: Cost): Wire =>
  ({
    total_cost: cost.totalCost,
    input_cost: cost.inputCost,
    output_cost: cost.outputCost,
    currency: cost.currency,
    is_estimated: cost.isEstimated,
    price_book_id: cost.priceBookId,
  }) as Wire;

/** A sum of costs, or nothing where nothing was priced: unknown is never shown as zero. */
export const totalCostToWire = (of: {
  readonly totalCost?: number;
  readonly currency?: string;
}): components['schemas']['TotalCost'] | undefined =>
  of.totalCost === undefined
    ? undefined
    : ({ total_cost: of.totalCost, currency: of.currency } as components['schemas']['TotalCost']);
