import type { ProviderPrices } from '../price.ts';

const commandA = { input: 2.5, output: 10 };
const commandR = { input: 0.15, output: 0.6 };
const commandR7b = { input: 0.0375, output: 0.15 };

export const cohere: ProviderPrices = {
  provider: 'Cohere',
  source: 'https://cohere.com/pricing',
  models: {
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
