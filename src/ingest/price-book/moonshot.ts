import type { ProviderPrices } from '../price.ts';

const k2 = { input: 0.6, output: 2.5, cacheRead: 0.15 };
const k2Turbo = { input: 1.15, output: 8, cacheRead: 0.15 };

export const moonshot: ProviderPrices = {
  provider: 'Moonshot AI',
  source: 'https://platform.moonshot.ai/docs/pricing/chat',
  models: {
    'kimi-k3': { input: 3, output: 15, cacheRead: 0.3 },
    'kimi-k2.7-code': { input: 0.95, output: 4, cacheRead: 0.19 },
    'kimi-k2.6': { input: 0.95, output: 4, cacheRead: 0.16 },
    'kimi-k2.5': { input: 0.6, output: 3, cacheRead: 0.1 },
    'moonshot-v1-8k': { input: 0.2, output: 2 },
    'moonshot-v1-32k': { input: 1, output: 3 },
    'moonshot-v1-128k': { input: 2, output: 5 },
    'moonshot-v1-auto': { input: 2, output: 5 },
    'moonshot-v1-8k-vision-preview': { input: 0.2, output: 2 },
    'moonshot-v1-32k-vision-preview': { input: 1, output: 3 },
    'moonshot-v1-128k-vision-preview': { input: 2, output: 5 },
    'kimi-k2-0711-preview': k2,
    'kimi-k2-0905-preview': k2,
    'kimi-k2-thinking': k2,
    'kimi-k2-turbo-preview': k2Turbo,
    'kimi-k2-thinking-turbo': k2Turbo,
  },
};
