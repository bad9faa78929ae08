import type { components } from '../api/types.ts';

/** Tokens in all, as the service counts them. @returns nothing where no count was reported, which is not zero */
export const totalTokens = (usage: components['schemas']['Usage'] | undefined): number | undefined => {
  if (usage === undefined) return undefined;
  const { total_tokens, input_tokens, output_tokens } = usage;
  if (total_tokens !== undefined) return total_tokens;
  return input_tokens === undefined && output_tokens === undefined
    ? undefined
    : (input_tokens ?? 0) + (output_tokens ?? 0);
};
