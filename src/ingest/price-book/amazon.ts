import type { ProviderPrices } from '../price.ts';

const nova2LiteRegional = { input: 0.33, output: 2.75, cacheRead: 0.0825 };

/** By the segment after the last dot, as in `us.amazon.nova-pro-v1:0`; US regions. */
export const amazon: ProviderPrices = {
  provider: 'Amazon',
  source: 'https://aws.amazon.com/bedrock/pricing/',
  models: {
    'nova-micro-v1:0': { input: 0.035, output: 0.14, cacheRead: 0.00875 },
    'nova-lite-v1:0': { input: 0.06, output: 0.24, cacheRead: 0.015 },
    'nova-pro-v1:0': { input: 0.8, output: 3.2, cacheRead: 0.2 },
    'nova-premier-v1:0': { input: 2.5, output: 12.5, cacheRead: 0.625 },
    'nova-sonic-v1:0': { input: 0.06, output: 0.24, audioInput: 3.4, audioOutput: 13.6 },
    'nova-2-sonic-v1:0': { input: 0.33, output: 2.75, audioInput: 3, audioOutput: 12 },
    'global.amazon.nova-2-lite-v1:0': { input: 0.3, output: 2.5, cacheRead: 0.075 },
    'us.amazon.nova-2-lite-v1:0': nova2LiteRegional,
    'eu.amazon.nova-2-lite-v1:0': nova2LiteRegional,
    'jp.amazon.nova-2-lite-v1:0': nova2LiteRegional,
    'titan-text-express-v1': { input: 0.2, output: 0.6 },
    'titan-text-lite-v1': { input: 0.15, output: 0.2 },
    'titan-embed-text-v1': { input: 0.1, output: 0 },
    'titan-embed-text-v2:0': { input: 0.02, output: 0 },
    // Open-weight models that Bedrock serves under its own ids.
    'gpt-oss-120b-1:0': { input: 0.15, output: 0.6 },
    'gpt-oss-20b-1:0': { input: 0.07, output: 0.3 },
    'mistral-large-3-675b-instruct': { input: 0.5, output: 1.5 },
  },
};
