import { formatBytes } from './units.ts';

/** One message of a conversation, as people read it. */
export type Turn = {
  readonly role: string;
  readonly parts: readonly Part[];
  /** The message as it was sent. */
  readonly message: unknown;
};
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly name: string; readonly text: string }
  | { readonly kind: 'result'; readonly name: string | undefined; readonly text: string }
  /** An image that stands in the payload. It is drawn when the reader asks for it. */
  | { readonly kind: 'image'; readonly text: string; readonly address: string }
  | { readonly kind: 'other'; readonly text: string };

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''));
const nameOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const BASE64 = /^data:([\w/+.-]+);base64,/;
/** What a browser draws as pixels. Drawings that are documents (SVG) are not among them. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** An image in a payload, by its media type and its base64 text. */
const imageOf = (mediaType: string, base64: string): Part => {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  const text = `${mediaType}, ${formatBytes(Math.floor((base64.length * 3) / 4) - padding)}`;
  return PICTURES.has(mediaType)
    ? { kind: 'image', text, address: `data:${mediaType};base64,${base64}` }
    : { kind: 'other', text };
};

/** Senders put an image into `source`, `inline_data` or `inlineData`, with its type beside it. */
const inlineImage = (part: Record<string, unknown>): Part | undefined => {
  const held = part['source'] ?? part['inline_data'] ?? part['inlineData'];
  if (!isRecord(held)) return undefined;
  const mediaType = held['media_type'] ?? held['mime_type'] ?? held['mimeType'];
  const { data } = held;
  return typeof mediaType === 'string' && typeof data === 'string' ? imageOf(mediaType, data) : undefined;
};

const callOf = (call: unknown): Part => {
  if (!isRecord(call)) return { kind: 'other', text: asText(call) };
  const inner = isRecord(call['function']) ? call['function'] : call;
  const given = inner['arguments'] ?? inner['input'] ?? inner['args'] ?? {};
  return { kind: 'call', name: nameOf(inner['name']) ?? 'tool', text: asText(given) };
};

const partOf = (part: unknown): Part => {
  if (typeof part === 'string') return { kind: 'text', text: part };
  if (!isRecord(part)) return { kind: 'other', text: asText(part) };
  const type = part['type'];
  if (type === 'tool_use' || type === 'tool_call' || type === 'tool-call' || type === 'function_call')
    return callOf(part);
  if (type === 'tool_result' || type === 'tool_call_response' || type === 'tool-result')
    return {
      kind: 'result',
      name: nameOf(part['name'] ?? part['toolName']),
      text: asText(part['content'] ?? part['result'] ?? part['response'] ?? part['output']),
    };
  const text = part['text'] ?? part['content'];
  if (typeof text === 'string') return { kind: 'text', text };
  const address = isRecord(part['image_url']) ? part['image_url']['url'] : part['image_url'];
  // Nothing is loaded from an address in a payload.
  if (typeof address === 'string') {
    const [prefix, mediaType] = BASE64.exec(address) ?? [];
    return prefix === undefined || mediaType === undefined
      ? { kind: 'other', text: `image at ${address}` }
      : imageOf(mediaType, address.slice(prefix.length));
  }
  const inline = inlineImage(part);
  if (inline !== undefined) return inline;
  return { kind: 'other', text: asText(part) };
};

const turnOf = (message: unknown): Turn | undefined => {
  if (!isRecord(message)) return undefined;
  const inner = isRecord(message['message']) ? message['message'] : message;
  const role = inner['role'];
  if (typeof role !== 'string') return undefined;
  const content = inner['content'] ?? inner['parts'] ?? inner['text'];
  const parts = (Array.isArray(content) ? content : content === undefined || content === null ? [] : [content]).map(
    partOf,
  );
  const calls = Array.isArray(inner['tool_calls']) ? inner['tool_calls'].map(callOf) : [];
  if (role === 'tool')
    return {
      role,
      message,
      parts: parts.map((part) => ({ kind: 'result', name: nameOf(inner['name']), text: part.text })),
    };
  return { role, message, parts: [...parts, ...calls] };
};

/** A payload that is no message, as one. */
export const textTurn = (role: string, value: unknown): Turn => ({
  role,
  message: value,
  parts: [{ kind: 'text', text: asText(value) }],
});

const LISTS = ['messages', 'choices', 'output', 'contents'] as const;

/**
 * Reads a payload as a conversation. Senders use many shapes; what is none of them stays a payload.
 * @returns nothing when it is no list of messages
 */
export const readConversation = (value: unknown): readonly Turn[] | undefined => {
  const list = Array.isArray(value)
    ? value
    : isRecord(value)
      ? (LISTS.map((name) => value[name]).find(Array.isArray) ?? [value])
      : undefined;
  if (list === undefined || list.length === 0) return undefined;
  const turns = list.map(turnOf);
  return turns.every((turn) => turn !== undefined) ? turns : undefined;
};
