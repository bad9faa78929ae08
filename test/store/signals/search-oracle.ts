import type { Span } from '../../../src/model/span.ts';
import { payloadText } from '../../../src/model/signal.ts';
import { parseSearch, searchText } from '../../../src/store/signals/search-text.ts';
import { wordsOf } from '../../../src/store/signals/words.ts';

// A naive reading of what `q` means, to hold the indexes of engines against.

const holdsInARow = (words: readonly string[], wanted: readonly string[]): boolean =>
  words.some((_, from) => wanted.every((word, place) => words[from + place] === word));

/** Whether a search finds the span. */
export const holdsText = ({ input, output }: Pick<Span, 'input' | 'output'>, q: string): boolean => {
  const texts = [input, output].flatMap((payload) =>
    payload === undefined ? [] : [wordsOf(searchText(payloadText(payload)))],
  );
  const all = texts.flat();
  let asked = 0;
  for (const term of parseSearch(q)) {
    const wanted = wordsOf(term.text);
    asked += wanted.length;
    const last = wanted.at(-1);
    const complete = term.kind === 'words' && term.isPrefix ? wanted.slice(0, -1) : wanted;
    if (!complete.every((word) => all.includes(word))) return false;
    if (complete !== wanted && last !== undefined && !all.some((word) => word.startsWith(last))) return false;
    if (term.kind === 'phrase' && wanted.length > 1 && !texts.some((words) => holdsInARow(words, wanted))) return false;
  }
  return asked > 0;
};
