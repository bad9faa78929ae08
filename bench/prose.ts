/**
 * Prose that does not repeat: words of an invented language, drawn from a seed, as often and as predictably as those of a natural one. What
 * compresses it, and what indexes its words, meets what it would meet in letters of people. The same seed gives the same text.
 *
 * Held against manuals and licences in English: zstd level 1 keeps 0.49 of 1,600 characters and 0.32 to 0.36 of 64 KiB of those, 0.50 and
 * 0.36 of this.
 */

/** Words of the language. A writer of letters knows some ten thousand. */
const VOCABULARY = 12_000;
/** Words that like to stand behind a given one, and how often one of them does. */
const FOLLOWERS = 8;
const FOLLOWED = 0.72;

const randomFrom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const ONSETS = [
  '',
  'b',
  'br',
  'c',
  'ch',
  'd',
  'f',
  'g',
  'h',
  'l',
  'm',
  'n',
  'p',
  'pr',
  'r',
  's',
  'st',
  't',
  'th',
  'tr',
  'v',
  'w',
];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea', 'ou'];
const CODAS = ['', '', 'n', 'r', 's', 't', 'l', 'd', 'nt', 'ck', 'm', 'st'];

const random = randomFrom(20_261_123);
const oneOf = (list: readonly string[]): string => list[Math.floor(random() * list.length)] as string;
const words = (() => {
  const known = new Set<string>();
  // Frequent words are short.
  while (known.size < VOCABULARY) {
    let word = '';
    const syllables = known.size < 60 ? 1 : 1 + Math.floor(random() * (known.size < 1_500 ? 2.2 : 3.4));
    for (let i = 0; i < syllables; i++) word += oneOf(ONSETS) + oneOf(VOWELS) + oneOf(CODAS);
    known.add(word);
  }
  return [...known];
})();

/** The rank of a word drawn by the law of Zipf and Mandelbrot: the inverse of its distribution, summed up. */
const ranks = (() => {
  const sums = new Float64Array(VOCABULARY);
  let sum = 0;
  for (let rank = 0; rank < VOCABULARY; rank++) {
    sum += 1 / (rank + 0.8) ** 1.04;
    sums[rank] = sum;
  }
  return { sums, sum };
})();
const rankAt = (share: number): number => {
  const wanted = share * ranks.sum;
  let low = 0;
  let high = VOCABULARY - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranks.sums[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
};
const followers = Uint16Array.from({ length: VOCABULARY * FOLLOWERS }, () => rankAt(random()));

/** @returns a writer: each call goes on with the text where the last one ended */
export const proseFrom = (seed: number): ((characters: number) => string) => {
  const next = randomFrom(seed);
  let word = rankAt(next());
  let left = 0;
  return (characters) => {
    let text = '';
    while (text.length < characters) {
      const begins = left === 0;
      if (begins) left = 5 + Math.floor(next() * 18);
      word =
        next() < FOLLOWED
          ? (followers[word * FOLLOWERS + Math.floor(next() ** 2 * FOLLOWERS)] as number)
          : rankAt(next());
      const spelled = words[word] as string;
      text += begins ? spelled.charAt(0).toUpperCase() + spelled.slice(1) : spelled;
      left -= 1;
      if (left === 0) text += next() < 0.2 ? '.\n\n' : '. ';
      else text += next() < 0.07 ? ', ' : ' ';
      if (next() < 0.01) text += `${Math.floor(next() * 10_000)} `;
    }
    return text.slice(0, characters);
  };
};

/** What is searched for: the prose has no word of a language that is spoken. */
export const SAID = 'The agent asks the model whether the policy lets customers have a refund.';
