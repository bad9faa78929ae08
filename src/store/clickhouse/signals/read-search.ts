import type { ProjectReach } from '../../../model/scope.ts';
import { holdsPhrase, planSearch, searchText } from '../../signals/search-text.ts';
import { wordsOf } from '../../signals/words.ts';
import { type Binding, binding } from '../binding.ts';
import type { Ask, Database } from '../connection.ts';
import { WORD_BYTES } from './capabilities.ts';
import { askKeys, keyText, TRACE_KEYS, type TraceKey } from './keyed.ts';
import { inReach } from './reach.ts';
import { SPANS, WORDS_INDEX } from './tables.ts';

/** Words of the index that a prefix stands for, at the most, and their characters; beyond it the words of each span are looked at. */
const MOST_TOKENS = 1_000;
const MOST_TOKEN_LENGTH = 16 * 1024;
/** Spans whose payloads are held at once to find a phrase in them. */
const VERIFIED_AT_ONCE = 32;
const SPAN_KEYS = 'Array(Tuple(String, String, String))';

/** A search, ready to be put into statements. */
export type Search = {
  /** The condition that the trace `t` has a span that holds every word. */
  readonly print: (to: Binding) => string;
  /** Whether a trace that holds the words may still lack a phrase. */
  readonly hasPhrases: boolean;
  /** Those of the given traces, which hold the words, in which all phrases stand. Stops after `enough` of them. */
  readonly verify: (traces: readonly TraceKey[], enough: number) => Promise<ReadonlySet<string>>;
};

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

  const matching = (to: Binding): string =>
    [
      inReach(reach, to, 's.'),
      ...(words.length === 0 ? [] : [`hasAllTokens(s.words, ${to.bind(words, 'Array(String)')})`]),
      ...prefixes.map((prefix, place) => {
        const some = tokens[place];
        return some === undefined
          ? `arrayExists(word -> startsWith(word, ${to.bind(prefix, 'String')}), s.words)`
          : `hasAnyTokens(s.words, ${to.bind(some, 'Array(String)')})`;
      }),
    ].join(' AND ');

  return {
    print: (to) =>
      `(t.project, t.trace_id) IN (SELECT s.project, s.trace_id FROM spans AS s FINAL WHERE ${matching(to)})`,
    hasPhrases: phrases.length > 0,
    verify: async (traces, enough) => {
      const found = new Set<string>();
      const to = binding();
      const condition = matching(to);
      const spans = await askKeys<[string, string, string]>(
        ask,
        traces,
        TRACE_KEYS,
        (keys) =>
          `SELECT s.project, s.trace_id, s.span_id FROM spans AS s FINAL WHERE (s.project, s.trace_id) IN ${keys} AND ${condition}`,
        to.params,
      );
      const place = new Map(traces.map((trace, at) => [keyText(trace), at]));
      const ofTrace = ([project, traceId]: readonly [string, string, ...unknown[]]): string =>
        keyText([project, traceId]);
      spans.sort((a, b) => (place.get(ofTrace(a)) ?? 0) - (place.get(ofTrace(b)) ?? 0));
      for (let at = 0; at < spans.length && found.size < enough; at += VERIFIED_AT_ONCE) {
        const some = spans.slice(at, at + VERIFIED_AT_ONCE).filter((span) => !found.has(ofTrace(span)));
        if (some.length === 0) continue;
        for (const [project, traceId, ...payloads] of await readPayloads(ask, some)) {
          const texts = payloads.map((payload) => (payload === null ? [] : wordsOf(searchText(payload))));
          if (phrases.every((phrase) => texts.some((own) => holdsPhrase(own, phrase))))
            found.add(keyText([project, traceId]));
        }
      }
      return found;
    },
  };
};

const readPayloads = (
  ask: Ask,
  spans: readonly (readonly [string, string, string])[],
): Promise<[string, string, string | null, string | null][]> =>
  askKeys(
    ask,
    spans,
    SPAN_KEYS,
    (keys) =>
      `SELECT s.project, s.trace_id, s.input, s.output FROM spans AS s FINAL WHERE (s.project, s.trace_id, s.span_id) IN ${keys}`,
  );
