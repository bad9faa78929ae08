import type { ProviderPrices } from '../price.ts';

const commandA = { input: 2.5, output: 10 };
const commandR = { input: 0.15, output: 0.6 };
const commandR7b = { input: 0.0375, output: 0.15 };

export const cohere: ProviderPrices = {
  provider: 'Cohere',
  source: 'https://cohere.com/pricing',
  models: {
    'embed-v5.0-pro': { input: 0.12, output: 0 },
    'embed-v5.0-fast': { input: 0.08, output: 0 },
    'embed-english-v3.0': { input: 0.1, output: 0 },
    'embed-multilingual-v3.0': { input: 0.1, output: 0 },
    'embed-english-light-v3.0': { input: 0.1, output: 0 },
    'c4ai-aya-expanse-32b': { input: 0.5, output: 1.5 },
    'command-a': commandA,
    'command-a-03-2025': commandA,
    'command-r-plus': commandA,
    'command-r-plus-08-2024': commandA,
    'command-r': commandR,
    'command-r-08-2024': commandR,
    'command-r7b': commandR7b,
    'command-r7b-12-2024': commandR7b,
    'embed-v4.0': { input: 0.12, output: 0 },
    // Amazon Bedrock's spelling of the same model.
    'embed-v4:0': { input: 0.12, output: 0 },
  },
};
