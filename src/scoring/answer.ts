import type { Json, JsonObject } from '../model/json.ts';
import { payloadText } from '../model/signal.ts';
import { isRoot } from '../model/span.ts';
import type { StoredSpan, TraceDetail } from '../store/signals/query.ts';

/** What a run answered. */
export type Answer = {
  /** What a person would read: the words of the last assistant message, a text as it is, anything else as JSON. */
  readonly text: string;
  /** The payload as it was stored. */
  readonly payload: Json;
};

const ASSISTANT_ROLES: ReadonlySet<string> = new Set(['assistant', 'ai', 'model', 'bot', 'aimessage', 'chatbot']);
/** Shapes are looked for this deep: a response holds choices, a choice a message, a message parts. */
const MAX_DEPTH = 6;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

const textOfParts = (content: Json | undefined): string | undefined => {
  if (typeof content === 'string') return content;
  if (!isList(content)) return isObject(content) ? textOfParts(content['parts']) : undefined;
  const texts = content.flatMap((part) => {
    if (typeof part === 'string') return [part];
    if (!isObject(part)) return [];
    const { type, text, content: inner } = part;
    if (typeof text === 'string') return [text];
    return type === 'text' && typeof inner === 'string' ? [inner] : [];
  });
  return texts.join('');
};

/** A chat message: who speaks, and what. Text is empty where it only calls tools. */
type Message = { readonly isAssistant: boolean; readonly text: string };

const messageOf = (value: Json | undefined, depth: number): Message | undefined => {
  if (!isObject(value) || depth > MAX_DEPTH) return undefined;
  const { role, type } = value;
  const speaker = typeof role === 'string' ? role : typeof type === 'string' ? type : undefined;
  // LangChain keeps a message's fields one level down.
  const held = isObject(value['kwargs']) ? value['kwargs'] : isObject(value['data']) ? value['data'] : value;
  const content = held['content'] ?? held['parts'];
  if (speaker === undefined || (content === undefined && held['tool_calls'] === undefined)) return undefined;
  if (typeof role !== 'string' && !/^(?:ai|human|system|tool|function|message|constructor|\w*message)$/i.test(speaker))
    return undefined;
  const kind = held['type'];
  const said = typeof role === 'string' ? role : typeof kind === 'string' ? kind : speaker;
  return {
    isAssistant: ASSISTANT_ROLES.has(said.toLowerCase()) || said.toLowerCase() === 'aimessagechunk',
    text: textOfParts(content) ?? '',
  };
};

/** Keys under which responses of model APIs and agent frameworks hold their messages. */
const MESSAGE_LISTS = ['choices', 'messages', 'output', 'candidates'] as const;

/**
 * The assistant's last words in a payload of messages.
 * @returns `undefined` for a payload that is not one of messages
 */
const spokenText = (payload: Json, depth = 0): string | undefined => {
  if (depth > MAX_DEPTH) return undefined;
  if (isList(payload)) {
    let found: string | undefined;
    for (const item of payload) {
      const message = messageOf(item, depth + 1);
      if (message === undefined) {
        const nested = isObject(item) ? spokenText(item, depth + 1) : undefined;
        if (nested !== undefined && nested !== '') found = nested;
      } else if (!message.isAssistant) found ??= '';
      else if (message.text !== '' || found === undefined) found = message.text;
    }
    return found;
  }
  if (!isObject(payload)) return undefined;
  const message = messageOf(payload, depth + 1);
  if (message !== undefined) return message.isAssistant ? message.text : '';
  if (isObject(payload['message'])) return spokenText(payload['message'], depth + 1);
  for (const key of MESSAGE_LISTS) {
    const list = payload[key];
    if (!isList(list)) continue;
    const spoken = spokenText(list, depth + 1);
    if (spoken !== undefined) return spoken;
  }
  // Gemini's candidate: content of parts, and the role inside of it.
  const { content } = payload;
  if (isObject(content) && isList(content['parts'])) return textOfParts(content['parts']);
  return undefined;
};

const MESSAGE_MARK = /"(?:role|choices|candidates|kwargs|messages)"/;

/** A text that spells JSON messages, as most instrumentation sends them, is read like the messages. */
const spokenInText = (text: string): string | undefined => {
  const first = text.trimStart()[0];
  if ((first !== '{' && first !== '[') || !MESSAGE_MARK.test(text)) return undefined;
  try {
    return spokenText(JSON.parse(text) as Json);
  } catch {
    return undefined; // a text that only looks like JSON is an answer in words
  }
};

const answerOf = (payload: Json): Answer => {
  const spoken = typeof payload === 'string' ? spokenInText(payload) : spokenText(payload);
  if (spoken !== undefined) return { text: spoken, payload };
  const isHollow = typeof payload === 'object' && payload !== null && Object.keys(payload).length === 0;
  return { text: isHollow ? '' : payloadText(payload), payload };
};

const isEarlier = (a: StoredSpan, b: StoredSpan): boolean =>
  a.startTime < b.startTime || (a.startTime === b.startTime && a.spanId < b.spanId);
const isLater = (a: StoredSpan, b: StoredSpan): boolean => {
  const [endA, endB] = [a.endTime ?? a.startTime, b.endTime ?? b.startTime];
  return endA > endB || (endA === endB && isEarlier(b, a));
};

const pick = (
  spans: readonly StoredSpan[],
  wanted: (span: StoredSpan) => boolean,
  isBetter: (a: StoredSpan, b: StoredSpan) => boolean,
): StoredSpan | undefined => {
  let best: StoredSpan | undefined;
  for (const span of spans) if (wanted(span) && (best === undefined || isBetter(span, best))) best = span;
  return best;
};

const holdsOutput = (span: StoredSpan): boolean => span.output !== undefined && span.output !== null;

/**
 * The answer of a run: the output of its earliest root span, else the output of the model span that ended last. A root that
 * says it answered nothing (an empty text, an empty object) is believed. `null` is no output.
 *
 * Payloads of chat messages, as they are or as JSON in a text, are read as the last assistant message that has words; one that
 * only calls tools has none.
 * @returns `undefined` when neither has an output; an answer of empty text when there was one without words
 */
export const findAnswer = ({ spans }: Pick<TraceDetail, 'spans'>): Answer | undefined => {
  const root = pick(spans, isRoot, isEarlier);
  const source =
    root !== undefined && holdsOutput(root)
      ? root
      : pick(spans, (span) => span.kind === 'model_generation' && holdsOutput(span), isLater);
  return source?.output === undefined ? undefined : answerOf(source.output);
};

/** What the run was asked: the input of its earliest root span, else that of its earliest span that has one. */
export const findInput = ({ spans }: Pick<TraceDetail, 'spans'>): Json | undefined => {
  const root = pick(spans, isRoot, isEarlier);
  if (root?.input !== undefined && root.input !== null) return root.input;
  return pick(spans, (span) => span.input !== undefined && span.input !== null, isEarlier)?.input;
};
