import type { ProviderPrices } from '../price.ts';

export const ai21: ProviderPrices = {
  provider: 'AI21 Labs',
  source: 'https://www.ai21.com/pricing/',
  models: {
    'jamba-large-1.7': { input: 2, output: 8 },
    'jamba-large-1.6': { input: 2, output: 8 },
    'jamba-1.5-large': { input: 2, output: 8 },
    'jamba-1.5-large@001': { input: 2, output: 8 },
    'jamba-mini-1.7': { input: 0.2, output: 0.4 },
    'jamba-mini-1.6': { input: 0.2, output: 0.4 },
    'jamba-1.5-mini': { input: 0.2, output: 0.4 },
    'jamba-1.5-mini@001': { input: 0.2, output: 0.4 },
  },
};
