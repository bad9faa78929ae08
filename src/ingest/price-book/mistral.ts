import type { ProviderPrices } from '../price.ts';

const large2 = { input: 2, output: 6 };
const medium3 = { input: 0.4, output: 2 };
const small3 = { input: 0.1, output: 0.3 };
const codestral = { input: 0.3, output: 0.9, cacheRead: 0.03 };
const magistralMedium = { input: 2, output: 5 };
const magistralSmall = { input: 0.5, output: 1.5 };

/**
 * A `-latest` alias that has moved between models of different prices is left out: the id does not say which of
 * them answered.
 */
export const mistral: ProviderPrices = {
  provider: 'Mistral',
  source: 'https://mistral.ai/pricing#api-pricing',
  models: {
    'mistral-large-4': { input: 0.68, output: 2.09, cacheRead: 0.068 },
    'mistral-large-4-0': { input: 0.68, output: 2.09, cacheRead: 0.068 },
    'mistral-large-3': { input: 0.5, output: 1.5, cacheRead: 0.05 },
    'mistral-medium-2604': { input: 1.5, output: 7.5, cacheRead: 0.15 },
    'mistral-medium-3-5': { input: 1.5, output: 7.5, cacheRead: 0.15 },
    'mistral-medium-3.5': { input: 1.5, output: 7.5, cacheRead: 0.15 },
    'ministral-8b-2512': { input: 0.15, output: 0.15, cacheRead: 0.015 },
    'ministral-3-3b-2512': { input: 0.1, output: 0.1, cacheRead: 0.01 },
    'ministral-3-8b-2512': { input: 0.15, output: 0.15, cacheRead: 0.015 },
    'ministral-3-14b-2512': { input: 0.2, output: 0.2, cacheRead: 0.02 },
    'voxtral-small-2507': { input: 0.1, output: 0.4, cacheRead: 0.01 },
    'mistral-embed-2312': { input: 0.1, output: 0 },
    'codestral-embed': { input: 0.15, output: 0, cacheRead: 0.015 },
    'codestral-embed-2505': { input: 0.15, output: 0, cacheRead: 0.015 },
    'zai-glm-5-2': { input: 1.4, output: 4.4, cacheRead: 0.14 },
    'zai-glm-5-3': { input: 1.4, output: 4.4, cacheRead: 0.14 },
    'mistral-large-2512': { input: 0.5, output: 1.5, cacheRead: 0.05 },
    'mistral-large-2411': large2,
    'mistral-large-2407': large2,
    'mistral-medium-2505': medium3,
    'mistral-medium-2508': medium3,
    'mistral-small-2603': { input: 0.15, output: 0.6, cacheRead: 0.015 },
    'mistral-small-2503': small3,
    'mistral-small-2506': small3,
    'codestral-2508': codestral,
    'codestral-2501': codestral,
    'codestral-latest': codestral,
    'devstral-2512': { input: 0.4, output: 2, cacheRead: 0.04 },
    'magistral-medium-2506': magistralMedium,
    'magistral-medium-2507': magistralMedium,
    'magistral-small-2506': magistralSmall,
    'magistral-small-2507': magistralSmall,
    'ministral-14b-2512': { input: 0.2, output: 0.2, cacheRead: 0.02 },
    'ministral-3b-2512': { input: 0.1, output: 0.1, cacheRead: 0.01 },
    'ministral-3b-2410': { input: 0.04, output: 0.04 },
    'ministral-8b-2410': { input: 0.1, output: 0.1 },
    'open-mistral-nemo': { input: 0.15, output: 0.15 },
    'mistral-nemo': { input: 0.15, output: 0.15 },
    'open-mistral-7b': { input: 0.25, output: 0.25 },
    'open-mixtral-8x7b': { input: 0.7, output: 0.7 },
    'open-mixtral-8x22b': { input: 2, output: 6 },
    'pixtral-12b': { input: 0.15, output: 0.15 },
    'pixtral-large-2411': large2,
    'pixtral-large-latest': large2,
    'mistral-saba-latest': { input: 0.2, output: 0.6 },
    'mistral-saba-2502': { input: 0.2, output: 0.6 },
    'voxtral-small-24b-2507': { input: 0.1, output: 0.3, cacheRead: 0.01 },
    'mistral-embed': { input: 0.1, output: 0 },
  },
};
