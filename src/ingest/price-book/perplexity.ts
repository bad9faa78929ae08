import type { ProviderPrices } from '../price.ts';

/** Tokens only: the fee for each search request is not a price per token. */
export const perplexity: ProviderPrices = {
  provider: 'Perplexity',
  source: 'https://docs.perplexity.ai/getting-started/pricing',
  models: {
    sonar: { input: 1, output: 1 },
    'sonar-pro': { input: 3, output: 15 },
    'sonar-reasoning': { input: 1, output: 5 },
    'sonar-reasoning-pro': { input: 2, output: 8 },
    'sonar-deep-research': { input: 2, output: 8 },
    'pplx-embed-v1-0.6b': { input: 0.004, output: 0 },
    'pplx-embed-v1-4b': { input: 0.03, output: 0 },
    'pplx-embed-context-v1-0.6b': { input: 0.008, output: 0 },
    'pplx-embed-context-v1-4b': { input: 0.05, output: 0 },
  },
};
