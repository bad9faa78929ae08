import { holdsPhrase, planSearch, type SearchPlan, SEARCHED_LENGTH, searchText } from '../../signals/search-text.ts';
import { wordsOf } from '../../signals/words.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { int4Array } from '../arrays.ts';
import type { Ask, Bound } from '../connection.ts';
import { type Columns, unnest } from '../insert.ts';
import { WORD_BYTES } from './capabilities.ts';
import { hex } from './statement.ts';

/** Spans with a match up to which the complete set of a search is read at once. */
const WHOLE_SET_SPANS = 10_000;
/** The same where each match must be read to find a phrase in it. */
const WHOLE_SET_VERIFIED_SPANS = 500;
/** Spans whose payloads are held at once to find a phrase in them. */
const VERIFIED_AT_ONCE = 32;

/** A trace: its project and its id. */
export type TraceKey = readonly [project: number, traceId: string];
export const TRACE_KEY: Columns = [
  ['project', 'int4'],
  ['trace_id', 'uuid'],
];
const SPAN_KEY: Columns = [...TRACE_KEY, ['span_id', 'hex']];
type SpanKey = readonly [project: number, traceId: string, spanId: string];

/** A trace as the key of a map. */
export const keyText = ([project, traceId]: TraceKey): string => `${project}/${traceId}`;

/** A search, ready to be asked of the index. */
export type Search = {
  /** Whether its matches seem to be so few that `wholeSet` is the shorter way. */
  readonly isRare: boolean;
  /** All traces with a matching span; `undefined` when too many spans match. */
  wholeSet(): Promise<readonly TraceKey[] | undefined>;
  /** Those of the given traces that hold a matching span. Stops after `enough` of them. */
  keepMatching(traces: readonly TraceKey[], enough: number): Promise<ReadonlySet<string>>;
};

const quote = (word: string): string => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** A query in the syntax of tsquery. @returns `undefined` when no span can match: a word is longer than any that is searched */
const printQuery = ({ words, prefixes }: SearchPlan): string | undefined =>
  words.length + prefixes.length === 0 || [...words, ...prefixes].some((word) => Buffer.byteLength(word) > WORD_BYTES)
    ? undefined
    : [...words.map(quote), ...prefixes.map((prefix) => `${quote(prefix)}:*`)].join(' & ');

/**
 * @param projects numbers of the projects that are searched
 * @returns `undefined` when the search can find nothing
 */
export const openSearch = async (ask: Ask, q: string, projects: readonly number[]): Promise<Search | undefined> => {
  const plan = planSearch(q);
  const query = printQuery(plan);
  if (query === undefined) return undefined;
  const { phrases } = plan;

  const holdsPhrases = (payloads: readonly (string | null)[]): boolean => {
    const texts = payloads.map((payload) => (payload === null ? [] : wordsOf(searchText(payload))));
    return phrases.every((phrase) => texts.some((words) => holdsPhrase(words, phrase)));
  };
  /** The spans in which all phrases stand, in the order of the spans. */
  const verified = async (spans: readonly SpanKey[], enough = Number.POSITIVE_INFINITY): Promise<TraceKey[]> => {
    const found = new Map<string, TraceKey>();
    for (let at = 0; at < spans.length && found.size < enough; at += VERIFIED_AT_ONCE) {
      const some = spans.slice(at, at + VERIFIED_AT_ONCE).filter((span) => !found.has(keyText([span[0], span[1]])));
      if (some.length === 0) continue;
      const { sql, values } = unnest(
        SPAN_KEY,
        some.map((span): Row => [...span]),
      );
      const payloads = await ask<[number, string, string | null, string | null]>(
        `SELECT l.project, ${hex('l.trace_id')}, left(l.input, ${SEARCHED_LENGTH}), left(l.output, ${SEARCHED_LENGTH})
         FROM ${sql} AS k (project, trace_id, span_id)
         JOIN span_payloads AS l ON l.project = k.project AND l.trace_id = k.trace_id AND l.span_id = k.span_id`,
        values,
      );
      for (const [project, traceId, ...texts] of payloads) {
        const trace: TraceKey = [project, traceId];
        if (!found.has(keyText(trace)) && holdsPhrases(texts)) found.set(keyText(trace), trace);
      }
    }
    return [...found.values()];
  };

  const bound = phrases.length === 0 ? WHOLE_SET_SPANS : WHOLE_SET_VERIFIED_SPANS;
  const matching = 'FROM span_words AS w WHERE w.ts @@ $1::tsquery AND w.project = ANY ($2::int4[])';
  const values: Bound[] = [query, int4Array(projects)];
  const [[plans] = [[]]] = await ask<[readonly { readonly Plan: { readonly 'Plan Rows': number } }[]]>(
    `EXPLAIN (FORMAT JSON) SELECT 1 ${matching}`,
    values,
  );

  return {
    isRare: (plans[0]?.Plan['Plan Rows'] ?? 0) <= bound,

    wholeSet: async () => {
      if (phrases.length > 0) {
        const spans = await ask<SpanKey>(
          `SELECT w.project, ${hex('w.trace_id')}, encode(w.span_id, 'hex') ${matching} LIMIT ${bound + 1}`,
          values,
        );
        return spans.length > bound ? undefined : verified(spans);
      }
      const traces = await ask<readonly [project: number, traceId: string, spans: bigint]>(
        `SELECT m.project, ${hex('m.trace_id')}, count(*) FROM (SELECT w.project, w.trace_id ${matching} LIMIT ${bound + 1}) AS m
         GROUP BY m.project, m.trace_id`,
        values,
      );
      const spans = traces.reduce((sum, [, , count]) => sum + Number(count), 0);
      return spans > bound ? undefined : traces.map(([project, traceId]) => [project, traceId]);
    },

    keepMatching: async (traces, enough) => {
      if (traces.length === 0) return new Set();
      const asked = unnest(
        TRACE_KEY,
        traces.map((trace): Row => [...trace]),
        2,
      );
      // A condition on the outcome of the match, not the match: the words of a few spans are read, and never the index of all.
      const isMatch = 'w.project = k.project AND w.trace_id = k.trace_id AND (w.ts @@ $1::tsquery) IS TRUE';
      const of = `FROM ${asked.sql} WITH ORDINALITY AS k (project, trace_id, place)`;
      if (phrases.length === 0) {
        const found = await ask<TraceKey>(
          `SELECT k.project, ${hex('k.trace_id')} ${of} WHERE EXISTS (SELECT 1 FROM span_words AS w WHERE ${isMatch} OFFSET 0)`,
          [query, ...asked.values],
        );
        return new Set(found.map(keyText));
      }
      const spans = await ask<SpanKey>(
        `SELECT k.project, ${hex('k.trace_id')}, encode(w.span_id, 'hex') ${of}
         CROSS JOIN LATERAL (SELECT w.span_id FROM span_words AS w WHERE ${isMatch} OFFSET 0) AS w ORDER BY k.place`,
        [query, ...asked.values],
      );
      return new Set((await verified(spans, enough)).map(keyText));
    },
  };
};
