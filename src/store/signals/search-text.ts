import { wordsOf } from './words.ts';

/**
 * What `q` means, for every engine.
 *
 * A span is found when it holds every word of `q` in its input or output. `wordsOf` says what a word is; it matches
 * as a complete word and in any case. `word*` matches every word that begins so. `"a phrase"` matches its words side by side, in one of
 * the two payloads. Everything else separates words, so every input is a valid query; a quote without its pair too is a
 * separator. An input without a word asks for a word that nobody has: it finds nothing.
 * @see Interface decisions, "4. Signals, native names"
 */
export type SearchTerm =
  | { readonly kind: 'words'; readonly text: string; readonly isPrefix: boolean }
  | { readonly kind: 'phrase'; readonly text: string };

const PIECE = /"([^"]*)"|([^\s"]+)/g;

/** Splits `q` into phrases and chunks of words, which `wordsOf` splits further. */
export const parseSearch = (q: string): SearchTerm[] => {
  const terms: SearchTerm[] = [];
  for (const [, phrase, chunk] of q.matchAll(PIECE)) {
    if (phrase !== undefined) terms.push({ kind: 'phrase', text: phrase });
    // A star inside a chunk ends a prefix as well: `re*port*` is `re*` and `port*`.
    else if (chunk !== undefined)
      for (const part of chunk.match(/[^*]+\*?/g) ?? [])
        terms.push({ kind: 'words', text: part.replace('*', ''), isPrefix: part.endsWith('*') });
  }
  return terms;
};

/** Words of one search at the most; those after it are not looked at. */
const SEARCH_WORDS = 64;

/** What an index is asked for, and what is left to be found in the text of each match. Without words and prefixes it finds nothing. */
export type SearchPlan = {
  /** They stand in every match. */
  readonly words: readonly string[];
  /** Of each, every match has a word that begins so. */
  readonly prefixes: readonly string[];
  /** Each of two words or more, which stand side by side. */
  readonly phrases: readonly (readonly string[])[];
};

/** Reads `q` for engines whose index knows which words a span holds, and not where. */
export const planSearch = (q: string): SearchPlan => {
  const asked = new Set<string>();
  const begun = new Set<string>();
  const phrases: string[][] = [];
  for (const term of parseSearch(q)) {
    const words = wordsOf(term.text);
    if (term.kind === 'phrase' && words.length > 1) phrases.push([...words]);
    const prefix = term.kind === 'words' && term.isPrefix ? words.pop() : undefined;
    for (const word of words) asked.add(word);
    if (prefix !== undefined) begun.add(prefix);
  }
  const words = [...asked].slice(0, SEARCH_WORDS);
  return { words, prefixes: [...begun].slice(0, SEARCH_WORDS - words.length), phrases };
};

/** Whether words stand side by side among others. */
export const holdsPhrase = (words: readonly string[], phrase: readonly string[]): boolean => {
  const [first] = phrase;
  for (let at = first === undefined ? -1 : words.indexOf(first); at !== -1; at = words.indexOf(first as string, at + 1))
    if (phrase.every((word, place) => words[at + place] === word)) return true;
  return false;
};

/** Characters of one payload that are searched, from its start: 256 Ki UTF-16 units. */
export const SEARCHED_LENGTH = 256 * 1024;

const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const SLASH = 0x2f;
const LOWER_U = 0x75;
const HEX_4 = /^[0-9a-fA-F]{4}$/;

const looksLikeJson = (text: string): boolean => {
  const first = text.charCodeAt(0);
  return first === 0x7b || first === 0x5b || first === QUOTE; // { [ "
};

/**
 * The text under which a payload is searched. In JSON, escapes are read, so that `\nhello` holds the word "hello" and not
 * "nhello"; a string that holds JSON is read alike, because that is how most instrumentation sends messages.
 * @param payload the payload as stored: a string as it is, anything else as its JSON
 */
export const searchText = (payload: string): string => {
  const text = payload.length > SEARCHED_LENGTH ? payload.slice(0, SEARCHED_LENGTH) : payload;
  let at = text.indexOf('\\');
  if (at === -1 || !looksLikeJson(text)) return text;
  // Read by hand: this runs over every payload, and a replacing function costs twice as much.
  let read = '';
  let from = 0;
  while (at !== -1) {
    read += text.slice(from, at);
    const escaped = text.charCodeAt(at + 1);
    from = at + 2;
    if (escaped === LOWER_U && HEX_4.test(text.slice(at + 2, at + 6))) {
      read += String.fromCharCode(Number.parseInt(text.slice(at + 2, at + 6), 16));
      from = at + 6;
    } else if (escaped === QUOTE || escaped === SLASH) read += text[at + 1];
    else if (escaped === BACKSLASH) read += '\\';
    else read += ' ';
    at = text.indexOf('\\', from);
  }
  return read + text.slice(from);
};
