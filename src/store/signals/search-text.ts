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

/** Characters of one payload that are searched, from its start: 256 Ki UTF-16 units. */
const SEARCHED_LENGTH = 256 * 1024;

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
