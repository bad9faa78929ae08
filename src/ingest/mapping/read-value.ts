import type { Json, JsonObject } from '../../model/json.ts';
import { storableText } from '../json-reader.ts';
import type { Shape } from './table.ts';

/** Longest JSON text inside an attribute that is parsed to look for a member (usage objects, tags): 64 KiB of characters. */
const LONGEST_INNER_JSON = 65_536;

/** A non-empty string; a number or a boolean as its text; nothing else. */
export const readText = (value: Json): string | undefined => {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return undefined;
};

/** A count of tokens: a non-negative integer that a double holds exactly, or its digits. */
const readTokens = (value: Json): number | undefined => {
  const count = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
};

/** An amount of money: a non-negative finite number, or its text. */
const readMoney = (value: Json): number | undefined => {
  const amount =
    typeof value === 'string' && /^\d{1,15}(\.\d{1,30})?([eE]-?\d{1,3})?$/.test(value) ? Number(value) : value;
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : undefined;
};

/** Parses JSON text inside an attribute, when it is short and is JSON; hostile nesting is harmless, nothing walks it. */
export const parseInner = (text: string): Json | undefined => {
  if (text.length > LONGEST_INNER_JSON) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

const PYTHON_WORDS: ReadonlyMap<string, string> = new Map([
  ['None', 'null'],
  ['True', 'true'],
  ['False', 'false'],
]);
/** Escapes of a Python string. Those that JSON knows as well are left as they are. */
const PYTHON_ESCAPES = /\\(?:x([\da-fA-F]{2})|U([\da-fA-F]{8})|([^]))/g;
const WORD = /[A-Za-z_]+/y;
/** What stands between strings and words: brackets, digits, commas. */
const REST = /[^'"A-Za-z_]+/y;
/** Most dicts, lists, strings, words and escapes of one text: one for sixteen characters of the longest. */
const MOST_PRINTED = 4_096;

/** Where the string that opens at `start` closes; -1 where it does not. */
const closingQuote = (text: string, start: number): number => {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1)
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  return -1;
};

/** Backslashes and quotes of a string: each is looked at by itself. */
const escapesIn = (body: string): number => {
  if (!body.includes('\\') && !body.includes('"')) return 0;
  let escapes = 0;
  for (const one of body) if (one === '\\' || one === '"') escapes += 1;
  return escapes;
};

const jsonString = (body: string): string =>
  `"${body
    .replaceAll(PYTHON_ESCAPES, (escape, byte?: string, point?: string, other?: string) => {
      if (byte !== undefined) return `\\u00${byte}`;
      if (point !== undefined) return JSON.stringify(String.fromCodePoint(Number.parseInt(point, 16))).slice(1, -1);
      return other === "'" ? "'" : escape;
    })
    .replaceAll(/(\\[^])|"/g, (found, escaped?: string) => escaped ?? '\\"')}"`;

/** The same value as JSON text, in one pass; `undefined` at the first thing that is no plain value. */
const jsonOfPython = (text: string): string | undefined => {
  let json = '';
  let printed = 0;
  for (let at = 0; at < text.length; ) {
    if (printed > MOST_PRINTED) return undefined;
    const character = text[at] as string;
    if (character === "'" || character === '"') {
      const end = closingQuote(text, at);
      if (end === -1) return undefined;
      const body = text.slice(at + 1, end);
      const escapes = escapesIn(body);
      printed += 1 + escapes;
      if (printed > MOST_PRINTED) return undefined;
      json += escapes === 0 ? `"${body}"` : jsonString(body);
      at = end + 1;
      continue;
    }
    REST.lastIndex = at;
    const rest = REST.exec(text)?.[0];
    if (rest !== undefined) {
      for (const one of rest) if (one === '[' || one === '{') printed += 1;
      json += rest;
      at += rest.length;
      continue;
    }
    printed += 1;
    WORD.lastIndex = at;
    const word = WORD.exec(text)?.[0] ?? '';
    if (word === 'e' || word === 'E') {
      json += character;
      at += 1;
      continue;
    }
    const known = PYTHON_WORDS.get(word);
    if (known === undefined) return undefined;
    json += known;
    at += word.length;
  }
  return printed > MOST_PRINTED ? undefined : json;
};

/**
 * Parses the text that Python prints for a dict or list of plain values (`{'cached_tokens': 400, 'audio': None}`), as some
 * libraries put it into an attribute. `undefined` for anything else, and for what is longer than 64 Ki characters or has more than
 * 4,096 dicts, lists, strings, words and escapes.
 */
export const parsePython = (text: string): Json | undefined => {
  if (text.length > LONGEST_INNER_JSON) return undefined;
  try {
    const json = jsonOfPython(text);
    return json === undefined ? undefined : (JSON.parse(json) as Json);
  } catch {
    return undefined;
  }
};

const stringsOf = (list: readonly Json[]): readonly string[] | undefined => {
  const strings = list.filter((item): item is string => typeof item === 'string' && item !== '');
  return strings.length === 0 ? undefined : strings;
};

/** Longest list of labels in one text, in characters, and most labels. */
const LONGEST_LABELS = 65_536;
const MOST_LABELS = 1_024;

/** Labels, each once: an array of strings, the same as JSON text, or a comma list. */
const readTags = (value: Json): readonly string[] | undefined => {
  const tags = labelsIn(value);
  return tags === undefined ? undefined : [...new Set(tags)];
};
const labelsIn = (value: Json): readonly string[] | undefined => {
  if (Array.isArray(value)) return stringsOf(value);
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_LABELS) return undefined;
  const parsed = value.startsWith('[') ? parseInner(value) : undefined;
  if (Array.isArray(parsed)) return stringsOf(parsed);
  const labels = value.split(',', MOST_LABELS + 1);
  return labels.length > MOST_LABELS ? undefined : stringsOf(labels.map((tag) => tag.trim()));
};

const memberAt = (object: Json, path: readonly string[]): Json | undefined => {
  let at: Json | undefined = object;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, name)) return undefined;
    at = (at as JsonObject)[name];
  }
  return at;
};

let lastText = '';
let lastParsed: Json | undefined;

/** The first member, of those named, that an attribute holding an object (or its JSON text) has. */
export const readMember = (value: Json, paths: readonly (readonly string[])[]): Json | undefined => {
  let object: Json | undefined = value;
  if (typeof value === 'string') {
    // One attribute feeds several fields, one after the other: the last parse is kept for the next of them.
    if (value !== lastText) {
      lastParsed = value.startsWith('{') ? parseInner(value) : undefined;
      lastText = value.length > LONGEST_INNER_JSON ? '' : value;
    }
    object = lastParsed;
  }
  if (object === undefined) return undefined;
  for (const path of paths) {
    const found = memberAt(object, path);
    // JSON inside of an attribute may spell out what the decoder would have replaced.
    if (found !== undefined) return typeof found === 'string' ? storableText(found) : found;
  }
  return undefined;
};

/** Reads a value as a shape; `undefined` where it cannot be, and the next row is tried. */
export const readShape = (shape: Shape, value: Json): Json | undefined => {
  switch (shape) {
    case 'text':
      return readText(value);
    case 'tokens':
      return readTokens(value);
    case 'money':
      return readMoney(value);
    case 'tags':
      return readTags(value);
    case 'payload':
      return value === null ? undefined : value;
    default:
      return shape satisfies never;
  }
};
