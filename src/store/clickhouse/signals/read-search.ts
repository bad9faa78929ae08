import type { ProjectReach } from '../../../model/scope.ts';
import { holdsPhrase, planSearch, searchText } from '../../signals/search-text.ts';
import { wordsOf } from '../../signals/words.ts';
import { type Binding, binding } from '../binding.ts';
import type { Ask, Database } from '../connection.ts';
import { WORD_BYTES } from './capabilities.ts';
import { askKeys, askTraces, keyText, type TraceKey } from './keyed.ts';
import { inReach } from './reach.ts';
import { GRANULARITY, SPANS, WORDS_INDEX } from './tables.ts';

/** Words of the index that a prefix stands for, at the most, and their characters; beyond it the words of each span are looked at. */
const MOST_TOKENS = 1_000;
const MOST_TOKEN_LENGTH = 16 * 1024;
/** Spans whose payloads are held at once to find a phrase in them. */
const VERIFIED_AT_ONCE = 64;
const SPAN_KEYS = 'Array(Tuple(String, String, String))';
/** How many places may be looked at in the time that a statement takes in any case. */
const PLACES_OF_A_STATEMENT = 64;
/** The share of spans that hold words of which the index says nothing: begun so by more than it names. */
const UNKNOWN_SHARE = 0.25;

/**
 * How a list finds traces that hold the words: it reads first which do (`matches`), or goes through the traces in order and asks of each
 * (`walk`), about the given share of which hold them.
 */
export type SearchWay =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'matches' }
  | { readonly kind: 'walk'; readonly share: number };

/** A search, ready to be put into statements. */
export type Search = {
  /** The condition that the trace `t` has a span that holds every word. */
  readonly print: (to: Binding) => string;
  /** A condition that is met by all of these traces and maybe by more, and takes a part of the time: replaced spans count. */
  readonly printNear: (to: Binding) => string;
  /** @param wanted traces that are wanted in order */
  readonly chooseWay: (wanted: number) => Promise<SearchWay>;
  /** Whether a trace that holds the words may still lack a phrase. */
  readonly hasPhrases: boolean;
  /** Those of the given traces that have a span which holds every word and phrase. */
  readonly verify: (traces: readonly TraceKey[]) => Promise<ReadonlySet<string>>;
};

type SpanKey = readonly [project: string, traceId: string, spanId: string];
const traceOf = ([project, traceId]: readonly [string, string, ...unknown[]]): string => keyText([project, traceId]);

/** The words that begin so, as the index has them; `undefined` when they are too many. */
const tokensOf = async ({ ask, name }: Database, prefix: string): Promise<readonly string[] | undefined> => {
  const found = await ask<[string]>(
    `SELECT DISTINCT token FROM mergeTreeTextIndex({database:String}, '${SPANS.table}', '${WORDS_INDEX}')
     WHERE startsWith(token, {prefix:String}) LIMIT ${MOST_TOKENS + 1}`,
    { database: name, prefix },
  );
  const length = found.reduce((sum, [token]) => sum + token.length, 0);
  return found.length > MOST_TOKENS || length > MOST_TOKEN_LENGTH ? undefined : found.map(([token]) => token);
};

/** @returns `undefined` when the search can find nothing */
export const openSearch = async (database: Database, q: string, reach: ProjectReach): Promise<Search | undefined> => {
  const { words, prefixes, phrases } = planSearch(q);
  const all = [...words, ...prefixes];
  if (all.length === 0 || all.some((word) => Buffer.byteLength(word) > WORD_BYTES)) return undefined;
  const tokens = await Promise.all(prefixes.map((prefix) => tokensOf(database, prefix)));
  if (tokens.some((some) => some?.length === 0)) return undefined;
  const { ask } = database;

  /** What the index answers by itself. */
  const indexed = (to: Binding): string[] => [
    ...(words.length === 0 ? [] : [`hasAllTokens(s.words, ${to.bind(words, 'Array(String)')})`]),
    ...tokens.flatMap((some) =>
      some === undefined ? [] : [`hasAnyTokens(s.words, ${to.bind(some, 'Array(String)')})`],
    ),
  ];
  const holding = (to: Binding): string[] => [
    ...indexed(to),
    ...prefixes.flatMap((prefix, place) =>
      tokens[place] === undefined
        ? [`arrayExists(word -> startsWith(word, ${to.bind(prefix, 'String')}), s.words)`]
        : [],
    ),
  ];
  const matching = (to: Binding): string => [inReach(reach, to, 's.'), ...holding(to)].join(' AND ');

  const holdingSpans = (traces: readonly TraceKey[], columns: string): Promise<SpanKey[]> => {
    const to = binding();
    const condition = matching(to);
    return askTraces<[...SpanKey]>(
      ask,
      traces,
      's.',
      // By the hash alone most rows are passed by before their ids are read.
      (isOfTraces, hashes) =>
        `SELECT ${columns} FROM spans AS s FINAL PREWHERE s.trace_hash IN ${hashes()} WHERE ${isOfTraces} AND ${condition}`,
      to.params,
    );
  };
  const holdsPhrases = (payloads: readonly (string | null)[]): boolean => {
    const texts = payloads.map((payload) => (payload === null ? [] : wordsOf(searchText(payload))));
    return phrases.every((phrase) => texts.some((own) => holdsPhrase(own, phrase)));
  };

  return {
    print: (to) =>
      `(t.project, t.trace_id) IN (SELECT s.project, s.trace_id FROM spans AS s FINAL WHERE ${matching(to)})`,
    // The project is looked at in the trace: in spans it would be read of each.
    printNear: (to) =>
      `cityHash64(t.trace_id) IN (SELECT s.trace_hash FROM spans AS s WHERE ${[...holding(to), `indexHint(${inReach(reach, to, 's.')})`].join(' AND ')})`,
    chooseWay: async (wanted) => {
      const to = binding();
      const conditions = indexed(to);
      if (conditions.length === 0) return { kind: 'walk', share: UNKNOWN_SHARE };
      // Of all projects: the index alone is read.
      const [[found, total] = ['0', '0']] = await ask<[string, string]>(
        `SELECT (SELECT count() FROM spans AS s WHERE ${conditions.join(' AND ')}), (SELECT count() FROM spans)`,
        to.params,
      );
      const matches = Number(found);
      if (matches === 0) return { kind: 'nothing' };
      const share = Math.min(1, matches / Number(total));
      // Each match may lie in a piece of its own, and each trace that is walked by is looked up.
      const piecesOfMatches = Math.min(matches, Number(total) / GRANULARITY);
      return wanted / share <= PLACES_OF_A_STATEMENT + piecesOfMatches ? { kind: 'walk', share } : { kind: 'matches' };
    },
    hasPhrases: phrases.length > 0,
    verify: async (traces) => {
      if (phrases.length === 0)
        return new Set((await holdingSpans(traces, 'DISTINCT s.project, s.trace_id, NULL')).map(traceOf));
      const held = new Map<string, SpanKey[]>();
      for (const span of await holdingSpans(traces, 's.project, s.trace_id, s.span_id')) {
        const own = held.get(traceOf(span));
        if (own === undefined) held.set(traceOf(span), [span]);
        else own.push(span);
      }
      const found = new Set<string>();
      const open = [...held.entries()];
      // The first spans of many traces come before the next ones of a few: mostly a trace has the phrase in its first.
      for (let at = 0; at < open.length; at += VERIFIED_AT_ONCE) {
        let left = open.slice(at, at + VERIFIED_AT_ONCE);
        while (left.length > 0) {
          const ofEach = Math.floor(VERIFIED_AT_ONCE / left.length);
          const some = left.flatMap(([, spans]) => spans.splice(0, ofEach));
          for (const [project, traceId, ...payloads] of await readPayloads(ask, some))
            if (holdsPhrases(payloads)) found.add(keyText([project, traceId]));
          left = left.filter(([trace, spans]) => spans.length > 0 && !found.has(trace));
        }
      }
      return found;
    },
  };
};

const readPayloads = (ask: Ask, spans: readonly SpanKey[]): Promise<[string, string, string | null, string | null][]> =>
  askKeys(
    ask,
    spans,
    SPAN_KEYS,
    (keys) =>
      `SELECT s.project, s.trace_id, s.input, s.output FROM spans AS s FINAL WHERE (s.project, s.trace_id, s.span_id) IN ${keys}`,
  );
