import { holdsPhrase, planSearch, searchText } from '../../signals/search-text.ts';
import { wordsOf } from '../../signals/words.ts';
import { DamagedPayloads } from './payload-block.ts';
import { type PayloadReader, payloadReaderOf } from './read-payloads.ts';
import type { Statements } from './statements.ts';

/** Spans with a match up to which the complete set of a search is read at once. */
const WHOLE_SET_SPANS = 10_000;
/** The same where each match must be read to find a phrase in it. */
const WHOLE_SET_VERIFIED_SPANS = 500;
/** Words by which the index is asked for what begins as they do, at the most. */
const NAMED_WORDS = 200;

/** A search, ready to be asked of the index. */
export type Search = {
  /** Traces with a matching span, when these are few; otherwise the caller walks traces and asks `keepMatching`. */
  readonly traces?: readonly number[];
  /** Those of the given traces that hold a matching span. Stops after `enough` of them. */
  keepMatching(traces: readonly number[], enough: number): Set<number>;
};

/** A word holds letters and digits alone, so no quote. */
const quoted = (word: string): string => `"${word}"`;

/** The words of the index that begin so, and at most one more than `most`. */
const wordsThatBegin = (statements: Statements, prefix: string, most: number): string[] => {
  // The table has a row for each place of a word. Asked for the first row behind a word, it passes over none of them.
  const next = statements.pluck<string>('SELECT term FROM temp.search_words WHERE term >= ? LIMIT 1');
  const words: string[] = [];
  for (let word = next.get(prefix); word?.startsWith(prefix) && words.length <= most; word = next.get(`${word}\0`))
    words.push(word);
  return words;
};

/** What the index is asked: spans with all words, and for each prefix a word that begins so. */
type Question = {
  readonly match: string;
  /**
   * Whether each time it is asked the index gathers all spans of a prefix first, however few are wanted. It does of a prefix; of
   * words that are named it reads what is wanted.
   */
  readonly gathersAll: boolean;
};

/** @returns `undefined` when no span can match */
const questionOf = (
  statements: Statements,
  words: readonly string[],
  prefixes: readonly string[],
): Question | undefined => {
  const parts = words.map(quoted);
  let left = NAMED_WORDS;
  let gathersAll = false;
  for (const prefix of prefixes) {
    const begun = wordsThatBegin(statements, prefix, left);
    if (begun.length === 0) return undefined;
    if (begun.length > left) {
      gathersAll = true;
      parts.push(`${quoted(prefix)}*`);
    } else {
      left -= begun.length;
      parts.push(`(${begun.map(quoted).join(' OR ')})`);
    }
  }
  return parts.length === 0 ? undefined : { match: parts.join(' AND '), gathersAll };
};

/** Asks the index for spans in stretches of their numbers, and for the newest. */
const indexOf = (statements: Statements, { match, gathersAll }: Question) => {
  const between = statements.pluck<number>(
    'SELECT rowid FROM search.span_search WHERE span_search MATCH ? AND rowid BETWEEN ? AND ?',
  );
  // Once is enough.
  if (gathersAll)
    return numberSetOf(
      statements.pluck<number>('SELECT rowid FROM search.span_search WHERE span_search MATCH ?').iterate(match),
    );
  return {
    newest: (most: number): number[] =>
      statements
        .pluck<number>('SELECT rowid FROM search.span_search WHERE span_search MATCH ? ORDER BY rowid DESC LIMIT ?')
        .all(match, most),
    // As bigints: the index narrows a search to a stretch only when its ends are bound as integers, and numbers are not.
    between: (from: number, to: number): number[] => between.all(match, BigInt(from), BigInt(to)),
  };
};

/** Numbers that grow, a bit for each from the first to the last: spans of a broad prefix may be most of all that are stored. */
const numberSetOf = (numbers: Iterable<number>) => {
  let bits = new Uint8Array(4096);
  let first: number | undefined;
  let end = 0;
  for (const number of numbers) {
    first ??= number;
    const place = number - first;
    if (place >= bits.length * 8) {
      const wider = new Uint8Array(Math.max(bits.length * 2, (place >>> 3) + 1));
      wider.set(bits);
      bits = wider;
    }
    bits[place >>> 3] = (bits[place >>> 3] ?? 0) | (1 << (place & 7));
    end = number + 1;
  }
  const start = first ?? 0;
  const has = (number: number): boolean => {
    const place = number - start;
    return ((bits[place >>> 3] ?? 0) & (1 << (place & 7))) !== 0;
  };
  return {
    newest: (most: number): number[] => {
      const found: number[] = [];
      for (let number = end - 1; number >= start && found.length < most; number -= 1)
        if (has(number)) found.push(number);
      return found;
    },
    between: (from: number, to: number): number[] => {
      const found: number[] = [];
      for (let number = Math.max(from, start); number < end && number <= to; number += 1)
        if (has(number)) found.push(number);
      return found;
    },
  };
};

/** Of a span whose payloads are damaged there is none: a search goes on without it. */
const readableTexts = (payloads: PayloadReader, span: number): (string | null)[] => {
  try {
    const [, ...texts] = payloads.findTexts(span) ?? [0];
    return texts;
  } catch (error) {
    if (error instanceof DamagedPayloads) return [];
    throw error;
  }
};

/** @returns `undefined` when the search can find nothing */
export const openSearch = (statements: Statements, q: string): Search | undefined => {
  const { words, prefixes, phrases } = planSearch(q);
  const question = questionOf(statements, words, prefixes);
  if (question === undefined) return undefined;
  const index = indexOf(statements, question);
  const payloads = payloadReaderOf(statements);
  /** The index does not keep where a word stands: phrases are found in the text, whose words are those of the index. */
  const holdsPhrases = (span: number): boolean => {
    if (phrases.length === 0) return true;
    const texts = readableTexts(payloads, span);
    const read = texts.flatMap((text) => (text === null ? [] : [wordsOf(searchText(text))]));
    return phrases.every((phrase) => read.some((words) => holdsPhrase(words, phrase)));
  };

  const bound = phrases.length === 0 ? WHOLE_SET_SPANS : WHOLE_SET_VERIFIED_SPANS;
  /** The newest spans with all words: all there are, or else all from `knownFrom` on. */
  const newest = index.newest(bound + 1);
  const isWhole = newest.length <= bound;
  const known = new Set(newest);
  const knownFrom = newest.at(-1) ?? 0;

  const keepMatching = (traces: readonly number[], enough: number): Set<number> => {
    const spans = statements
      .raw<[number, number]>(
        'SELECT s.trace, s.span FROM json_each(?) AS j CROSS JOIN spans AS s INDEXED BY spans_by_id ON s.trace = j.value',
      )
      .all(JSON.stringify(traces));
    const found = new Set<number>();
    let low = Number.POSITIVE_INFINITY;
    let high = 0;
    for (const [, span] of spans) {
      if (span < low) low = span;
      if (span > high) high = span;
    }
    // Traces that stand together in the order of the list mostly came together: one stretch of the index holds them all.
    if (high - low <= spans.length * 4 + 1_000) {
      const matching = low >= knownFrom ? known : new Set(index.between(low, high));
      for (const [trace, span] of spans) {
        if (found.size >= enough) break;
        if (!found.has(trace) && matching.has(span) && holdsPhrases(span)) found.add(trace);
      }
      return found;
    }
    const byTrace = new Map<number, number[]>();
    for (const [trace, span] of spans) {
      const own = byTrace.get(trace);
      if (own === undefined) byTrace.set(trace, [span]);
      else own.push(span);
    }
    for (const [trace, own] of byTrace) {
      if (found.size >= enough) break;
      own.sort((a, b) => a - b);
      const mine = new Set(own);
      for (const span of stretchesOf(own).flatMap(([from, to]) => index.between(from, to)))
        if (mine.has(span) && holdsPhrases(span)) {
          found.add(trace);
          break;
        }
    }
    return found;
  };

  if (!isWhole) return { keepMatching };
  const verified = newest.filter(holdsPhrases);
  const traces = statements
    .pluck<number>('SELECT DISTINCT s.trace FROM json_each(?) AS j CROSS JOIN spans AS s ON s.span = j.value')
    .all(JSON.stringify(verified));
  return { traces, keepMatching };
};

/** Splits sorted numbers where the gap is wide: a few short reads of the index beat one long one. */
const stretchesOf = (sorted: readonly number[]): [number, number][] => {
  const WIDE_GAP = 2_000;
  const stretches: [number, number][] = [];
  let current: [number, number] | undefined;
  for (const number of sorted) {
    if (current !== undefined && number - current[1] <= WIDE_GAP) current[1] = number;
    else {
      current = [number, number];
      stretches.push(current);
    }
  }
  return stretches;
};
