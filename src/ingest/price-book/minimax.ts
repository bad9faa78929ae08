import type { ProviderPrices } from '../price.ts';

export const minimax: ProviderPrices = {
  provider: 'MiniMax',
  source: 'https://platform.minimax.io/docs/guides/pricing',
  models: {
    'minimax-m3': { input: 0.3, output: 1.2, cacheRead: 0.06 },
    'minimax-m2.5': { input: 0.3, output: 1.2, cacheRead: 0.03, cacheWrite: 0.375 },
    'minimax-m2.5-lightning': { input: 0.3, output: 2.4, cacheRead: 0.03, cacheWrite: 0.375 },
    'minimax-m2.1': { input: 0.3, output: 1.2, cacheRead: 0.03, cacheWrite: 0.375 },
    'minimax-m2.1-lightning': { input: 0.3, output: 2.4, cacheRead: 0.03, cacheWrite: 0.375 },
    'minimax-m2': { input: 0.3, output: 1.2, cacheRead: 0.03, cacheWrite: 0.375 },
  },
};
