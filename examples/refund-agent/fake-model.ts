import { setTimeout as pause } from 'node:timers/promises';

export type Judgement = { readonly confidence: number; readonly reason: string };
export type Tokens = { readonly input_tokens: number; readonly output_tokens: number };

/** The name under which the price book knows the model that this one plays. */
export const MODEL = 'gpt-4o-mini';

const tokensOf = (text: string): number => Math.ceil(text.length / 4);

/**
 * Stands for a call to a model: it takes a moment, counts tokens, and reads a complaint the way a careful agent would. It
 * has no network and no dice, so that the example does the same thing every time.
 */
export const judge = async (complaint: string, signal: AbortSignal): Promise<Judgement & { usage: Tokens }> => {
  await pause(300, undefined, { signal });
  const broken = /broken|damaged|never arrived|wrong/i.test(complaint);
  const judgement = broken
    ? { confidence: 0.93, reason: 'the customer names a fault that the terms cover' }
    : { confidence: 0.55, reason: 'the complaint names no fault that the terms cover' };
  return {
    ...judgement,
    usage: { input_tokens: 220 + tokensOf(complaint), output_tokens: tokensOf(JSON.stringify(judgement)) },
  };
};

/** Writes the answer to a customer whose refund was refused. */
export const apologise = async (complaint: string, signal: AbortSignal): Promise<{ text: string; usage: Tokens }> => {
  await pause(300, undefined, { signal });
  const text = 'We are sorry. A colleague looked at your case, and we cannot refund it under our terms.';
  return { text, usage: { input_tokens: 180 + tokensOf(complaint), output_tokens: tokensOf(text) } };
};
