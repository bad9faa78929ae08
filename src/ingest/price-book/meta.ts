import type { ProviderPrices, Rates } from '../price.ts';

const flat = (rate: number): Rates => ({ input: rate, output: rate });

/** By the segment after the last dot, as in `us.meta.llama3-3-70b-instruct-v1:0`. https://aws.amazon.com/bedrock/pricing/ */
const bedrock: Record<string, Rates> = {
  'llama4-maverick-17b-instruct-v1:0': { input: 0.24, output: 0.97 },
  'llama4-scout-17b-instruct-v1:0': { input: 0.17, output: 0.66 },
  'llama3-3-70b-instruct-v1:0': flat(0.72),
  'llama3-2-90b-instruct-v1:0': flat(0.72),
  'llama3-2-11b-instruct-v1:0': flat(0.16),
  'llama3-2-3b-instruct-v1:0': flat(0.15),
  'llama3-2-1b-instruct-v1:0': flat(0.1),
  'llama3-1-70b-instruct-v1:0': flat(0.72),
  'llama3-1-8b-instruct-v1:0': flat(0.22),
  'llama3-70b-instruct-v1:0': { input: 2.65, output: 3.5 },
  'llama3-8b-instruct-v1:0': { input: 0.3, output: 0.6 },
};

/** https://groq.com/pricing/ */
const groq: Record<string, Rates> = {
  'llama-3.3-70b-versatile': { input: 0.59, output: 0.79 },
  'llama-3.1-8b-instant': { input: 0.05, output: 0.08 },
  // Other hosts use the same id at another price, so only the form that names the host is priced.
  'groq/meta-llama/llama-4-maverick-17b-128e-instruct': { input: 0.2, output: 0.6 },
  'groq/meta-llama/llama-4-scout-17b-16e-instruct': { input: 0.11, output: 0.34 },
  'groq/meta-llama/llama-guard-4-12b': flat(0.2),
  'groq/openai/gpt-oss-120b': { input: 0.15, output: 0.6, cacheRead: 0.075 },
  'groq/openai/gpt-oss-20b': { input: 0.075, output: 0.3, cacheRead: 0.0375 },
};

/** https://www.together.ai/pricing */
const together: Record<string, Rates> = {
  'meta-llama/llama-3.3-70b-instruct-turbo': flat(1.04),
  'meta-llama/llama-4-maverick-17b-128e-instruct-fp8': { input: 0.27, output: 0.85 },
  'meta-llama/meta-llama-3.1-405b-instruct-turbo': flat(3.5),
  'meta-llama/meta-llama-3.1-70b-instruct-turbo': flat(0.88),
  'meta-llama/meta-llama-3.1-8b-instruct-turbo': flat(0.18),
  'meta-llama/llama-4-scout-17b-16e-instruct': { input: 0.18, output: 0.59 },
};

export const meta: ProviderPrices = {
  provider: 'Meta, through Amazon Bedrock, Groq and Together',
  source: 'https://aws.amazon.com/bedrock/pricing/ https://groq.com/pricing/ https://www.together.ai/pricing',
  models: {
    ...bedrock,
    ...groq,
    ...Object.fromEntries(
      Object.entries(together).flatMap(([id, rates]) => [
        [`together_ai/${id}`, rates],
        [`together/${id}`, rates],
      ]),
    ),
  },
};
