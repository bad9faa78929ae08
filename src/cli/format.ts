import type { components } from '../model/generated/openapi.ts';

type Cost = components['schemas']['TraceSummary']['cost'];

/** Line breaks, control and direction characters would let stored text pass for a line of the answer. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** Text that somebody sent, on one line and cut. */
export const oneLine = (text: string, most = 120): string => {
  const line = text.replace(UNPRINTABLE, ' ').trim();
  return line.length > most ? `${line.slice(0, most)}...` : line;
};

const withCommas = new Intl.NumberFormat('en-US');
export const count = (value: number): string => withCommas.format(value);
export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

/** Two or three digits that matter, in the unit that fits. */
export const duration = (ms: number): string => {
  if (ms < 1) return `${Math.round(ms * 1000)}us`;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m`;
};

export const money = (amount: number, currency = 'USD'): string => {
  const text = amount === 0 || amount >= 1 ? amount.toFixed(2) : amount.toPrecision(2);
  return currency === 'USD'
    ? `$${Number(text) < 1e-6 && amount > 0 ? amount.toExponential(1) : text}`
    : `${text} ${currency}`;
};

/** What is not known is said to be unknown, never zero. */
export const cost = (given: Cost): string =>
  given === undefined ? 'no cost' : money(given.total_cost, given.currency);

export const tokens = (
  usage:
    | { readonly input_tokens?: number; readonly output_tokens?: number; readonly total_tokens?: number }
    | undefined,
): string | undefined => {
  if (usage === undefined) return undefined;
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage;
  if (input !== undefined || output !== undefined)
    return `${input === undefined ? '?' : count(input)} in, ${output === undefined ? '?' : count(output)} out tokens`;
  return total === undefined ? undefined : `${count(total)} tokens`;
};

export const percent = (share: number): string => `${(share * 100).toFixed(1)}%`;
