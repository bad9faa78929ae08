import type { components } from '../api/types.ts';
import { formatMoney } from './units.ts';

/** What a span cost: where a price book said so it is an estimate, and which book it was. */
export const costText = (cost: components['schemas']['Cost'] | undefined): string => {
  if (cost === undefined) return '— not priced';
  if (!cost.is_estimated) return formatMoney(cost);
  return `${formatMoney(cost)} est.${cost.price_book_id === undefined ? '' : ` ${cost.price_book_id}`}`;
};
