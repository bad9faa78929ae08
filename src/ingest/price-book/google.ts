import type { ProviderPrices, Rates } from '../price.ts';

/** Google lists one output price "including thinking tokens", so it is the rate of reasoning as well. */
const thinking = (rates: Rates): Rates => ({ ...rates, reasoning: rates.output });

const pro3 = thinking({ input: 2, output: 12, cacheRead: 0.2 });
const flash3 = thinking({ input: 0.5, output: 3, cacheRead: 0.05, audioInput: 1 });
const flashLite31 = thinking({ input: 0.25, output: 1.5, cacheRead: 0.025, audioInput: 0.5 });

export const google: ProviderPrices = {
  provider: 'Google',
  source: 'https://ai.google.dev/gemini-api/docs/pricing',
  models: {
    'gemini-4-argon': thinking({ input: 2, output: 10, cacheRead: 0.1 }),
    'gemini-3.8-flash': thinking({ input: 0.75, output: 3.75, cacheRead: 0.075 }),
    'gemini-3.7-flash': thinking({ input: 0.75, output: 3.75, cacheRead: 0.075 }),
    'gemini-3.8-live': { input: 0.75, output: 4.5, audioInput: 3, audioOutput: 12 },
    'gemini-3.8-live-extended-thinking': { input: 0.75, output: 4.5, audioInput: 3, audioOutput: 12 },
    'gemini-3.1-flash-live-preview': { input: 0.75, output: 4.5, audioInput: 3, audioOutput: 12 },
    'gemini-robotics-er-2-preview': thinking({ input: 1, output: 5, cacheRead: 0.1, audioInput: 1 }),
    'gemini-embedding-2': { input: 0.2, output: 0, audioInput: 6.5 },
    'gemini-2.5-computer-use-preview-10-2025': { input: 1.25, output: 10 },
    'deep-research-preview-04-2026': { input: 2, output: 12 },
    'deep-research-max-preview-04-2026': { input: 2, output: 12 },
    'gemini-3.1-pro-preview-customtools': thinking({ input: 2, output: 12, cacheRead: 0.2 }),
    'gemini-omni-1.1-flash': { input: 1.5, output: 9, audioInput: 1.5 },
    'gemini-omni-flash-preview': { input: 1.5, output: 9, audioInput: 1.5 },
    'gemini-2.5-flash-native-audio-preview-12-2025': { input: 0.5, output: 2, audioInput: 3, audioOutput: 12 },
    'gemini-3.6-flash': thinking({ input: 0.75, output: 3.75, cacheRead: 0.075 }),
    'gemini-3.5-flash': thinking({ input: 1.5, output: 9, cacheRead: 0.15, audioInput: 1.5 }),
    'gemini-3.5-flash-lite': thinking({ input: 0.3, output: 2.5, cacheRead: 0.03 }),
    'gemini-3.1-pro-preview': pro3,
    'gemini-3.1-flash-lite': flashLite31,
    'gemini-3.1-flash-lite-preview': flashLite31,
    'gemini-3-pro-preview': pro3,
    'gemini-3-flash-preview': flash3,
    'gemini-2.5-pro': thinking({ input: 1.25, output: 10, cacheRead: 0.125 }),
    'gemini-2.5-flash': thinking({ input: 0.3, output: 2.5, cacheRead: 0.03, audioInput: 1 }),
    'gemini-2.5-flash-lite': thinking({ input: 0.1, output: 0.4, cacheRead: 0.01, audioInput: 0.3 }),
    'gemini-2.0-flash': { input: 0.1, output: 0.4, cacheRead: 0.025, audioInput: 0.7 },
    'gemini-2.0-flash-lite': { input: 0.075, output: 0.3 },
    'gemini-1.5-pro': { input: 1.25, output: 5, cacheRead: 0.3125 },
    'gemini-1.5-flash': { input: 0.075, output: 0.3, cacheRead: 0.01875 },
    'gemini-1.5-flash-8b': { input: 0.0375, output: 0.15, cacheRead: 0.01 },
    'gemini-embedding-001': { input: 0.15, output: 0 },
  },
};
