import type { ProviderPrices } from '../price.ts';

const k2 = { input: 0.6, output: 2.5, cacheRead: 0.15 };
const k2Turbo = { input: 1.15, output: 8, cacheRead: 0.15 };

export const moonshot: ProviderPrices = {
  provider: 'Moonshot AI',
  source: 'https://platform.moonshot.ai/docs/pricing/chat',
  models: {
    'kimi-k2-0711-preview': k2,
    'kimi-k2-0905-preview': k2,
    'kimi-k2-thinking': k2,
    'kimi-k2-turbo-preview': k2Turbo,
    'kimi-k2-thinking-turbo': k2Turbo,
  },
};
