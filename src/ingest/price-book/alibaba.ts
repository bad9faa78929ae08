import type { ProviderPrices } from '../price.ts';

/** Models with open weights are priced only in the form that names the host: others serve them at prices of their own. */
export const alibaba: ProviderPrices = {
  provider: 'Alibaba Cloud',
  source: 'https://www.alibabacloud.com/help/en/model-studio/model-pricing',
  models: {
    'qwen3.8-max': { input: 2, output: 6, cacheRead: 0.25 },
    'qwen3.8-flash': { input: 0.15, output: 0.47, cacheRead: 0.016, cacheWrite: 0.2 },
    'qwen3.8-omni-flash': { input: 0.15, output: 0.47, cacheRead: 0.016 },
    'qwen3.7-max': { input: 2.5, output: 7.5, cacheRead: 0.5, cacheWrite: 3.125 },
    'qwen-max': { input: 1.6, output: 6.4 },
    'qwen-plus': { input: 0.4, output: 1.2 },
    'qwen-turbo': { input: 0.05, output: 0.2 },
    'qwen-turbo-latest': { input: 0.05, output: 0.2 },
    'qwen-coder': { input: 0.3, output: 1.5 },
    'qwq-plus': { input: 0.8, output: 2.4 },
    'dashscope/qwen3-next-80b-a3b-instruct': { input: 0.15, output: 1.2 },
    'dashscope/qwen3-next-80b-a3b-thinking': { input: 0.15, output: 1.2 },
    'dashscope/qwen3-vl-235b-a22b-instruct': { input: 0.4, output: 1.6 },
    'dashscope/qwen3-vl-235b-a22b-thinking': { input: 0.4, output: 4 },
    'dashscope/qwen3-vl-32b-instruct': { input: 0.16, output: 0.64 },
    'dashscope/qwen3-vl-32b-thinking': { input: 0.16, output: 2.87 },
  },
};
