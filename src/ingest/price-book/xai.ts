import type { ProviderPrices } from '../price.ts';

const grok3 = { input: 3, output: 15, cacheRead: 0.75 };
const fast = { input: 0.2, output: 0.5, cacheRead: 0.05 };
const grok420 = { input: 1.25, output: 2.5, cacheRead: 0.2 };

export const xai: ProviderPrices = {
  provider: 'xAI',
  source: 'https://docs.x.ai/docs/models',
  models: {
    'grok-4.7': { input: 2, output: 6, cacheRead: 0.5 },
    'grok-4.6': { input: 2, output: 6, cacheRead: 0.5 },
    'grok-4.5': { input: 2, output: 6, cacheRead: 0.3 },
    'grok-4.20': { input: 1.25, output: 2.5, cacheRead: 0.2 },
    'grok-4.20-reasoning': { input: 1.25, output: 2.5, cacheRead: 0.2 },
    'grok-4.20-non-reasoning': { input: 1.25, output: 2.5, cacheRead: 0.2 },
    'grok-4.20-multi-agent': { input: 1.25, output: 2.5, cacheRead: 0.2 },
    'grok-code-fast': { input: 1, output: 2, cacheRead: 0.2 },
    'grok-code-fast-1-0825': { input: 1, output: 2, cacheRead: 0.2 },
    'grok-4.3': grok420,
    'grok-4.20-0309-reasoning': grok420,
    'grok-4.20-0309-non-reasoning': grok420,
    'grok-4.20-multi-agent-0309': grok420,
    'grok-build-0.1': { input: 1, output: 2, cacheRead: 0.2 },
    'grok-4': grok3,
    'grok-4-0709': grok3,
    'grok-4-fast': fast,
    'grok-4-fast-reasoning': fast,
    'grok-4-fast-non-reasoning': fast,
    'grok-4-1-fast-reasoning': fast,
    'grok-4-1-fast-non-reasoning': fast,
    'grok-code-fast-1': { input: 1, output: 2, cacheRead: 0.2 },
    'grok-3': grok3,
    'grok-3-fast': { input: 5, output: 25, cacheRead: 1.25 },
    'grok-3-mini': { input: 0.3, output: 0.5, cacheRead: 0.075 },
    'grok-3-mini-fast': { input: 0.6, output: 4, cacheRead: 0.15 },
    'grok-2-1212': { input: 2, output: 10 },
    'grok-2-vision-1212': { input: 2, output: 10 },
  },
};
