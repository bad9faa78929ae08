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
/**
 * Texts that are read for words with a beginning that more words have, at the most. Most spans hold such a word, so a page is full after a
 * few of them. Where it is not, the index is asked, which gathers all spans of the beginning first: a second in a million spans.
 */
const MOST_READ_TEXTS = 3_000;

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
  /** The same without prefixes of too many words to name; empty where nothing else is asked. */
  readonly narrow: string;
  /** Those prefixes. The index gathers all their spans each time it is asked, however few are wanted; of words it reads what is wanted. */
  readonly broad: readonly string[];
};

/** @returns `undefined` when no span can match */
const questionOf = (
  statements: Statements,
  words: readonly string[],
  prefixes: readonly string[],
): Question | undefined => {
  const parts = words.map(quoted);
  const broad: string[] = [];
  let left = NAMED_WORDS;
  for (const prefix of prefixes) {
    const begun = wordsThatBegin(statements, prefix, left);
    if (begun.length === 0) return undefined;
    if (begun.length > left) broad.push(prefix);
    else {
      left -= begun.length;
      parts.push(`(${begun.map(quoted).join(' OR ')})`);
    }
  }
  const all = [...parts, ...broad.map((prefix) => `${quoted(prefix)}*`)];
  return all.length === 0 ? undefined : { match: all.join(' AND '), narrow: parts.join(' AND '), broad };
};

/** Spans that match, in stretches of their numbers, and the newest. */
type Index = { newest(most: number): number[]; between(from: number, to: number): number[] };

const indexOf = (statements: Statements, match: string): Index => {
  const between = statements.pluck<number>(
    'SELECT rowid FROM search.span_search WHERE span_search MATCH ? AND rowid BETWEEN ? AND ?',
  );
  return {
    newest: (most) =>
      statements
        .pluck<number>('SELECT rowid FROM search.span_search WHERE span_search MATCH ? ORDER BY rowid DESC LIMIT ?')
        .all(match, most),
    // As bigints: the index narrows a search to a stretch only when its ends are bound as integers, and numbers are not.
    between: (from, to) => between.all(match, BigInt(from), BigInt(to)),
  };
};
/** Asks once for all spans. */
const gatheredOf = (statements: Statements, match: string): Index =>
  numberSetOf(
    statements.pluck<number>('SELECT rowid FROM search.span_search WHERE span_search MATCH ?').iterate(match),
  );
/** Of a question that names nothing: any span may match. */
const anySpan: Index = {
  newest: () => [],
  between: (from, to) => Array.from({ length: Math.max(0, to - from + 1) }, (_, place) => from + place),
};

/** Numbers that grow, a bit for each from the first to the last: spans of a broad prefix may be most of all that are stored. */
const numberSetOf = (numbers: Iterable<number>): Index => {
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
  const { match, narrow, broad } = question;
  let index = narrow === '' ? anySpan : indexOf(statements, narrow);
  /** Prefixes that are looked for in the texts of what the index finds. */
  let unasked = broad;
  let textsLeft = MOST_READ_TEXTS;
  const payloads = payloadReaderOf(statements);
  /**
   * The index does not keep where a word stands: phrases are found in the text, whose words are those of the index. Once too many texts
   * were read, nothing is found any more.
   */
  const holdsRest = (span: number): boolean => {
    if (phrases.length === 0 && unasked.length === 0) return true;
    if (unasked.length > 0) {
      textsLeft -= 1;
      if (textsLeft < 0) return false;
    }
    const texts = readableTexts(payloads, span);
    const read = texts.flatMap((text) => (text === null ? [] : [wordsOf(searchText(text))]));
    return (
      unasked.every((prefix) => read.some((words) => words.some((word) => word.startsWith(prefix)))) &&
      phrases.every((phrase) => read.some((words) => holdsPhrase(words, phrase)))
    );
  };

  const bound = phrases.length === 0 && broad.length === 0 ? WHOLE_SET_SPANS : WHOLE_SET_VERIFIED_SPANS;
  /** The newest spans that the index finds: all there are, or else all from `knownFrom` on. */
  const newest = narrow === '' ? [] : index.newest(bound + 1);
  const isWhole = narrow !== '' && newest.length <= bound;
  let known = new Set(newest);
  let knownFrom = narrow === '' ? Number.POSITIVE_INFINITY : (newest.at(-1) ?? 0);

  const keepFound = (traces: readonly number[], enough: number): Set<number> => {
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
        if (!found.has(trace) && matching.has(span) && holdsRest(span)) found.add(trace);
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
        if (mine.has(span) && holdsRest(span)) {
          found.add(trace);
          break;
        }
    }
    return found;
  };

  const keepMatching = (traces: readonly number[], enough: number): Set<number> => {
    const kept = keepFound(traces, enough);
    if (textsLeft >= 0 || unasked.length === 0) return kept;
    index = gatheredOf(statements, match);
    unasked = [];
    known = new Set();
    knownFrom = Number.POSITIVE_INFINITY;
    return keepFound(traces, enough);
  };

  if (!isWhole) return { keepMatching };
  const verified = newest.filter(holdsRest);
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
