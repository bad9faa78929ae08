import type { Json } from '../../model/json.ts';

/** Characters that would move a terminal's cursor or turn text around; line breaks and tabs may stay. */
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

type Message = { readonly role: string; readonly content: Json | undefined };

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const asMessage = (value: Json): Message | undefined => {
  if (!isObject(value) || typeof value['role'] !== 'string') return undefined;
  return { role: value['role'], content: value['content'] ?? value['parts'] };
};

/** What a message says: its text, or the texts of its parts; anything else as JSON. */
const contentText = (content: Json | undefined): string => {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content
    .map((part: Json) => {
      if (typeof part === 'string') return part;
      if (isObject(part) && typeof part['text'] === 'string') return part['text'];
      return isObject(part) && typeof part['content'] === 'string' ? part['content'] : JSON.stringify(part);
    })
    .join('\n');
};

/** A list of chat messages as a dialogue, `undefined` when it is none. */
const dialogue = (value: Json): string | undefined => {
  const list = isObject(value) && Array.isArray(value['messages']) ? value['messages'] : value;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const messages = list.map(asMessage);
  if (!messages.every((message) => message !== undefined)) return undefined;
  return messages
    .map(({ role, content }, at) => {
      const said = contentText(content);
      return `${role}: ${said === '' ? JSON.stringify(list[at]) : said}`;
    })
    .join('\n');
};

const parsed = (text: string): Json | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

/**
 * A payload as lines that cannot pass for lines of the answer around it.
 * @param most characters that are shown; what is cut is counted
 */
export const payloadLines = (payload: Json, most: number): string[] => {
  const value = typeof payload === 'string' ? (parsed(payload) ?? payload) : payload;
  const text = dialogue(value) ?? (typeof payload === 'string' ? payload : JSON.stringify(payload));
  const shown = text.length > most ? text.slice(0, most) : text;
  const lines = shown.replaceAll('\r\n', '\n').replace(UNPRINTABLE, ' ').split('\n');
  return [
    ...lines.map((line) => `| ${line}`),
    ...(text.length > most ? [`(${text.length - most} more characters)`] : []),
  ];
};
