import { createHash } from 'node:crypto';
import { wordsOf } from '../../signals/words.ts';
import { searchText } from '../../signals/search-text.ts';
import { WORD_BYTES } from './capabilities.ts';

const SHORT_BYTES = 512;
const KEPT_CHARACTERS = 64;

/** What stands in an index for a text of any length: what the function `signal_key` of the schema gives. */
export const signalKey = (text: string): string => {
  if (Buffer.byteLength(text) <= SHORT_BYTES) return text;
  let kept = '';
  let characters = 0;
  for (const character of text) {
    if ((characters += 1) > KEPT_CHARACTERS) break;
    kept += character;
  }
  return kept + createHash('sha256').update(text).digest('hex');
};

/** Bytes of all words of a span: beyond 1 MiB PostgreSQL would lose words without an error. */
const WORDS_BYTES = 900 * 1024;

/** The words of a span's payloads, each once, separated by spaces; empty where there is none. */
export const searchedWords = (payloads: readonly (string | null)[]): string => {
  const words = new Set<string>();
  let bytes = 0;
  for (const payload of payloads) {
    if (payload === null) continue;
    for (const word of wordsOf(searchText(payload))) {
      if (words.has(word)) continue;
      const length = Buffer.byteLength(word);
      if (length > WORD_BYTES) continue;
      bytes += length;
      if (bytes > WORDS_BYTES) return [...words].join(' ');
      words.add(word);
    }
  }
  return [...words].join(' ');
};
