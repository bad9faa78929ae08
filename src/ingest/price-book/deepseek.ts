import type { ProviderPrices } from '../price.ts';

export const deepseek: ProviderPrices = {
  provider: 'DeepSeek',
  source: 'https://api-docs.deepseek.com/quick_start/pricing',
  models: {
    'deepseek-chat': { input: 0.28, output: 0.42, cacheRead: 0.028 },
    'deepseek-reasoner': { input: 0.28, output: 0.42, cacheRead: 0.028 },
    'deepseek-v4-flash': { input: 0.14, output: 0.28, cacheRead: 0.0028 },
    // Amazon Bedrock: https://aws.amazon.com/bedrock/pricing/
    'deepseek.r1-v1:0': { input: 1.35, output: 5.4 },
    'us.deepseek.r1-v1:0': { input: 1.35, output: 5.4 },
  },
};
