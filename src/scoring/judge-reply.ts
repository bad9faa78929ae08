import type { Json, JsonObject } from '../model/json.ts';
import type { Usage } from '../model/span.ts';

/** The scale of every judged score. */
export const JUDGED_MIN = 0;
export const JUDGED_MAX = 1;

/** Places at which a JSON object is looked for in prose: more than these no honest reply has. */
const MAX_PLACES = 64;
const MAX_REASON_CHARACTERS = 4_000;

export type Judgement = { readonly value: number; readonly reason?: string };
export type ReadReply<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

/** Where the object that opens at `from` closes; -1 when it does not. */
const closingOf = (text: string, from: number): number => {
  let depth = 0;
  let inString = false;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at;
  }
  return -1;
};

const verdictIn = (value: Json | undefined): JsonObject | undefined =>
  isObject(value) && value['value'] !== undefined ? value : undefined;

/**
 * The verdict in a reply: the whole of it, or the last object with a value that stands in a fence or between words; of objects
 * inside of each other, such as a breakdown in a verdict, the outermost.
 */
const findVerdict = (text: string): JsonObject | undefined => {
  const whole = parsed(text.trim());
  if (typeof whole === 'number') return { value: whole };
  const direct = verdictIn(whole);
  if (direct !== undefined) return direct;
  let found: { readonly verdict: JsonObject; readonly end: number } | undefined;
  let at = text.lastIndexOf('{');
  for (let places = 0; at !== -1 && places < MAX_PLACES; places++) {
    const end = closingOf(text, at);
    if (end > (found?.end ?? -1)) {
      const verdict = verdictIn(parsed(text.slice(at, end + 1)));
      if (verdict !== undefined) found = { verdict, end };
    }
    at = at === 0 ? -1 : text.lastIndexOf('{', at - 1);
  }
  return found?.verdict;
};

/**
 * Reads what a judge said.
 * @returns why there is no score: the reply is prose, or its value is no number of the scale. Nothing is clamped
 * @see Interface specification, "Judged pass rules"
 */
export const readJudgement = (text: string): ReadReply<Judgement> => {
  const verdict = findVerdict(text);
  if (verdict === undefined)
    return { ok: false, reason: 'the judge replied with prose, without a JSON object that has a `value`' };
  const { value, reason } = verdict;
  if (typeof value !== 'number' || !Number.isFinite(value))
    return { ok: false, reason: "the judge's `value` is not a number" };
  if (value < JUDGED_MIN || value > JUDGED_MAX)
    return {
      ok: false,
      reason: `the judge's value ${value} is outside of the scale from ${JUDGED_MIN} to ${JUDGED_MAX}`,
    };
  return {
    ok: true,
    value: {
      value,
      ...(typeof reason === 'string' && reason !== '' ? { reason: reason.slice(0, MAX_REASON_CHARACTERS) } : {}),
    },
  };
};

/** What a chat completion holds for us. */
export type Completion = { readonly text: string; readonly model?: string; readonly usage?: Usage };

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

const usageOf = (value: Json | undefined): Usage | undefined => {
  if (!isObject(value)) return undefined;
  const inputTokens = count(value['prompt_tokens']);
  const outputTokens = count(value['completion_tokens']);
  const totalTokens = count(value['total_tokens']);
  if (inputTokens === undefined && outputTokens === undefined && totalTokens === undefined) return undefined;
  const input = value['prompt_tokens_details'];
  const output = value['completion_tokens_details'];
  const cacheRead = isObject(input) ? count(input['cached_tokens']) : undefined;
  const reasoning = isObject(output) ? count(output['reasoning_tokens']) : undefined;
  return {
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(totalTokens === undefined ? {} : { totalTokens }),
    ...(cacheRead === undefined ? {} : { inputDetails: { cacheRead } }),
    ...(reasoning === undefined ? {} : { outputDetails: { reasoning } }),
  };
};

const contentOf = (content: Json | undefined): string | undefined => {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  return (content as readonly Json[])
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
};

/**
 * Reads the body of a chat completion.
 * @returns `undefined` when it is none
 */
export const readCompletion = (body: string): Completion | undefined => {
  const reply = parsed(body);
  if (!isObject(reply)) return undefined;
  const { choices, model } = reply;
  const first = Array.isArray(choices) ? (choices as readonly Json[])[0] : undefined;
  const message = isObject(first) ? first['message'] : undefined;
  const text = isObject(message) ? contentOf(message['content']) : undefined;
  if (text === undefined) return undefined;
  const usage = usageOf(reply['usage']);
  return {
    text,
    ...(typeof model === 'string' && model !== '' ? { model } : {}),
    ...(usage === undefined ? {} : { usage }),
  };
};
