import { FOLD_RUNS, LETTER_RUNS, MARK_RUNS } from './word-table.ts';

const numbersOf = (text: string): number[] =>
  text
    .trim()
    .split(/\s+/)
    .map((digits) => Number.parseInt(digits, 36));

/** The runs as a class of a regular expression, without its brackets. */
const classOf = (runs: string): string => {
  let at = 0;
  let isIn = false;
  let ranges = '';
  for (const length of numbersOf(runs)) {
    if (isIn) ranges += `\\u{${at.toString(16)}}-\\u{${(at + length - 1).toString(16)}}`;
    at += length;
    isIn = !isIn;
  }
  return ranges;
};

const foldsOf = (runs: string): ReadonlyMap<number, number> => {
  const folds = new Map<number, number>();
  const numbers = numbersOf(runs);
  for (let at = 0; at < numbers.length; at += 4) {
    const [from = 0, count = 0, step = 0, distance = 0] = numbers.slice(at, at + 4);
    for (let i = 0; i < count; i += 1) folds.set(from + i * step, from + i * step + distance);
  }
  return folds;
};

const LETTERS = classOf(LETTER_RUNS);
const WORD = new RegExp(`[${LETTERS}][${LETTERS}${classOf(MARK_RUNS)}]*`, 'gu');
const FOLDS = foldsOf(FOLD_RUNS);
const ASCII = /^[\0-\x7f]*$/;

const fold = (word: string): string => {
  if (ASCII.test(word)) return word.toLowerCase();
  let folded = '';
  for (const character of word) {
    const to = FOLDS.get(character.codePointAt(0) ?? 0);
    folded += to === undefined ? character : String.fromCodePoint(to);
  }
  return folded;
};

/**
 * The words of a text, in its order, folded so that letter case does not count: what a search compares, for every engine. A word is
 * a run of letters and digits, with the marks that stand on them. Which characters these are is a table of our own, the one by which the
 * embedded store indexes: a rule of the platform would change with its release, and words that are stored already would not.
 */
export const wordsOf = (text: string): string[] => (text.match(WORD) ?? []).map(fold);
