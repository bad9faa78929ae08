import Database from 'better-sqlite3';
import { parseSearch, searchText } from '../../signals/search-text.ts';
import { wordsOf } from '../../signals/words.ts';
import type { Statements } from './statements.ts';

/** Spans with a match up to which the complete set of a search is read at once. */
const WHOLE_SET_SPANS = 10_000;
/** The same where each match must be read to find a phrase in it. */
const WHOLE_SET_VERIFIED_SPANS = 500;
/** Words of one search at the most; those after it are not looked at. */
const SEARCH_WORDS = 64;

/** A search, ready to be asked of the index. */
export type Search = {
  /** Traces with a matching span, when these are few; otherwise the caller walks traces and asks `keepMatching`. */
  readonly traces?: readonly number[];
  /** Those of the given traces that hold a matching span. Stops after `enough` of them. */
  keepMatching(traces: readonly number[], enough: number): Set<number>;
};

/** A small full-text table in memory. It finds phrases in the text of one row, which the index itself does not keep. */
const scratchOf = () => {
  const db = new Database(':memory:');
  db.exec("CREATE VIRTUAL TABLE scratch USING fts5 (input, output, tokenize='unicode61 remove_diacritics 0')");
  const insert = db.prepare('INSERT INTO scratch (rowid, input, output) VALUES (1, ?, ?)');
  const find = db.prepare('SELECT 1 FROM scratch WHERE scratch MATCH ?');
  const clear = db.prepare('DELETE FROM scratch');
  return {
    holds: (input: string | null, output: string | null, phrases: readonly string[]): boolean => {
      insert.run(input, output);
      try {
        return phrases.every((phrase) => find.get(phrase) !== undefined);
      } finally {
        clear.run();
      }
    },
  };
};
let scratch: ReturnType<typeof scratchOf> | undefined;

/** Reads `q`. `match` asks the index for all its words; `phrases` remain to be found in the text of each match. */
const compile = (q: string): { match: string; phrases: string[] } | undefined => {
  const asked = new Set<string>();
  const phrases: string[] = [];
  for (const term of parseSearch(q)) {
    const words = wordsOf(term.text).map((word) => `"${word}"`);
    if (term.kind === 'phrase' && words.length > 1) phrases.push(words.join(' + '));
    if (term.kind === 'words' && term.isPrefix && words.length > 0) words.push(`${words.pop() ?? ''}*`);
    for (const word of words) asked.add(word);
  }
  if (asked.size === 0) return undefined;
  return { match: [...asked].slice(0, SEARCH_WORDS).join(' AND '), phrases };
};

/** @returns `undefined` when the search can find nothing */
export const openSearch = (statements: Statements, q: string): Search | undefined => {
  const compiled = compile(q);
  if (compiled === undefined) return undefined;
  const { match, phrases } = compiled;
  const matches = statements.pluck<number>(
    'SELECT rowid FROM search.span_search WHERE span_search MATCH ? AND rowid BETWEEN ? AND ?',
  );
  // As bigints: the index narrows a search to a stretch only when its ends are bound as integers, and numbers are not.
  const matchesBetween = (from: number, to: number): number[] => matches.all(match, BigInt(from), BigInt(to));
  const payload = statements.raw<[number, string | null, string | null]>(
    'SELECT forms, input, output FROM span_payloads WHERE span = ?',
  );
  const holdsPhrases = (span: number): boolean => {
    if (phrases.length === 0) return true;
    const row = payload.get(span);
    if (row === undefined) return false;
    scratch ??= scratchOf();
    const [, input, output] = row;
    return scratch.holds(
      input === null ? null : searchText(input),
      output === null ? null : searchText(output),
      phrases,
    );
  };

  const bound = phrases.length === 0 ? WHOLE_SET_SPANS : WHOLE_SET_VERIFIED_SPANS;
  /** The newest spans with all words: all there are, or else all from `knownFrom` on. */
  const newest = statements
    .pluck<number>('SELECT rowid FROM search.span_search WHERE span_search MATCH ? ORDER BY rowid DESC LIMIT ?')
    .all(match, bound + 1);
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
      const matching = low >= knownFrom ? known : new Set(matchesBetween(low, high));
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
      for (const span of stretchesOf(own).flatMap(([from, to]) => matchesBetween(from, to)))
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
