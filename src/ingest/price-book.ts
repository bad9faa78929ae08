import type { PriceBook, ProviderPrices } from './price.ts';
import { amazon } from './price-book/amazon.ts';
import { anthropic } from './price-book/anthropic.ts';
import { cohere } from './price-book/cohere.ts';
import { deepseek } from './price-book/deepseek.ts';
import { google } from './price-book/google.ts';
import { meta } from './price-book/meta.ts';
import { mistral } from './price-book/mistral.ts';
import { moonshot } from './price-book/moonshot.ts';
import { openai } from './price-book/openai.ts';
import { voyage } from './price-book/voyage.ts';
import { xai } from './price-book/xai.ts';

/**
 * Where each price comes from. A model whose published figures could not be established beyond doubt is left out: it is
 * then stored without a cost, which says "unknown", where a guess would say something false.
 *
 * A rate is that of the standard service at the provider's base context length: a book holds one rate a meter, so
 * surcharges for long prompts and discounts for batch, flex or off-peak processing are not in it.
 */
export const priceSources: readonly ProviderPrices[] = [
  openai,
  anthropic,
  google,
  mistral,
  xai,
  deepseek,
  meta,
  cohere,
  amazon,
  moonshot,
  voyage,
];

/**
 * The book the service prices with: list prices in US dollars per million tokens.
 * @see Interface specification, "Cost", "Price book shape"
 */
export const builtinPriceBook: PriceBook = {
  id: 'builtin',
  currency: 'USD',
  asOf: '2026-08-21',
  rates: new Map(priceSources.flatMap(({ models }) => Object.entries(models))),
};
