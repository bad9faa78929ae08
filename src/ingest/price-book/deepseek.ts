import type { ProviderPrices } from '../price.ts';

export const deepseek: ProviderPrices = {
  provider: 'DeepSeek',
  source: 'https://api-docs.deepseek.com/quick_start/pricing',
  models: {
    'deepseek-v4-pro': { input: 1.32, output: 3.96, cacheRead: 0.044 },
    'deepseek-v4-flash-vision-exp': { input: 0.3, output: 1.2, cacheRead: 0.006 },
    'deepseek-flash': { input: 0.3, output: 1.2, cacheRead: 0.006 },
    'deepseek-chat': { input: 0.28, output: 0.42, cacheRead: 0.028 },
    'deepseek-reasoner': { input: 0.28, output: 0.42, cacheRead: 0.028 },
    'deepseek-v4-flash': { input: 0.3, output: 1.2, cacheRead: 0.006 },
    // Amazon Bedrock: https://aws.amazon.com/bedrock/pricing/
    'deepseek.r1-v1:0': { input: 1.35, output: 5.4 },
    'us.deepseek.r1-v1:0': { input: 1.35, output: 5.4 },
  },
};
