import type { PriceBook, ProviderPrices } from './price.ts';
import { ai21 } from './price-book/ai21.ts';
import { alibaba } from './price-book/alibaba.ts';
import { amazon } from './price-book/amazon.ts';
import { anthropic } from './price-book/anthropic.ts';
import { cohere } from './price-book/cohere.ts';
import { deepseek } from './price-book/deepseek.ts';
import { google } from './price-book/google.ts';
import { meta } from './price-book/meta.ts';
import { minimax } from './price-book/minimax.ts';
import { mistral } from './price-book/mistral.ts';
import { moonshot } from './price-book/moonshot.ts';
import { openai } from './price-book/openai.ts';
import { perplexity } from './price-book/perplexity.ts';
import { voyage } from './price-book/voyage.ts';
import { xai } from './price-book/xai.ts';
import { zai } from './price-book/zai.ts';

/**
 * Where each price comes from. A model whose published figures could not be established beyond doubt is left out: it is
 * then stored without a cost, which says "unknown", where a guess would say something false.
 *
 * A rate is that of the standard service at the provider's base context length: a book holds one rate a meter, so
 * surcharges for long prompts and discounts for batch, flex or off-peak processing are not in it.
 *
 * On the book's day every entry was compared with the public model map of LiteLLM 1.106.2, which names the page of the
 * provider for each; where the two disagreed, the later one was taken.
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
  alibaba,
  zai,
  minimax,
  perplexity,
  ai21,
];

/**
 * The book the service prices with: list prices in US dollars per million tokens.
 * @see Interface specification, "Cost", "Price book shape"
 */
export const builtinPriceBook: PriceBook = {
  id: 'builtin',
  currency: 'USD',
  asOf: '2026-11-22',
  rates: new Map(priceSources.flatMap(({ models }) => Object.entries(models))),
};
