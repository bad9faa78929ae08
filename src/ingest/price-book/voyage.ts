import type { ProviderPrices } from '../price.ts';

export const voyage: ProviderPrices = {
  provider: 'Voyage AI',
  source: 'https://docs.voyageai.com/docs/pricing',
  models: {
    'voyage-code-4': { input: 0.12, output: 0 },
    'voyage-context-4': { input: 0.12, output: 0 },
    'voyage-context-3': { input: 0.18, output: 0 },
    'voyage-multimodal-3.5': { input: 0.12, output: 0 },
    'voyage-multimodal-3': { input: 0.12, output: 0 },
    'rerank-3': { input: 0.05, output: 0 },
    'rerank-3-lite': { input: 0.02, output: 0 },
    'rerank-2.5': { input: 0.05, output: 0 },
    'rerank-2.5-lite': { input: 0.02, output: 0 },
    'voyage-multilingual-2': { input: 0.12, output: 0 },
    'voyage-large-2-instruct': { input: 0.12, output: 0 },
    'voyage-4-large': { input: 0.12, output: 0 },
    'voyage-4': { input: 0.06, output: 0 },
    'voyage-4-lite': { input: 0.02, output: 0 },
    'voyage-3-large': { input: 0.18, output: 0 },
    'voyage-3.5': { input: 0.06, output: 0 },
    'voyage-3.5-lite': { input: 0.02, output: 0 },
    'voyage-code-3': { input: 0.18, output: 0 },
    'voyage-law-2': { input: 0.12, output: 0 },
    'voyage-finance-2': { input: 0.12, output: 0 },
  },
};
