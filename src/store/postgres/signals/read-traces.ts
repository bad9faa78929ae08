import type { Page, Position, TraceQuery, TraceSort, TraceSummary } from '../../signals/query.ts';
import { instantOf, projectNumberAt, traceIdAt } from '../../signals/position.ts';
import { decodeTrace } from '../../signals/rows/decode.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { type Row, SUMMARY_COLUMNS } from '../../signals/rows/columns.ts';
import { mayBeNull, sortKeyAt, tracePosition, type TraceSortKey } from '../../signals/trace-position.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { int4Array } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { unnest } from '../insert.ts';
import { signalKey } from './keys.ts';
import { projectNumbers } from './reach.ts';
import { openSearch, type Search, TRACE_KEY, type TraceKey, keyText } from './read-search.ts';
import { type Binding, binding, hex } from './statement.ts';
import {
  type FilteredFacet,
  indexedFigures,
  printBounds,
  printConditions,
  type PrintedFilter,
  printFacet,
  readFilter,
} from './trace-filter.ts';
import { readWhole, type Whole } from './whole-rows.ts';

/** What `decodeTrace` reads of a trace, its project and its row. */
export const summaryColumns = (t: string): string =>
  `${hex(`${t}.trace_id`)}, p.name, ${SUMMARY_COLUMNS.map((column) => `${t}.${column}`).join(', ')}`;

const TRACES: Whole = {
  from: 'traces AS r JOIN projects AS p ON p.project = r.project',
  key: TRACE_KEY,
  columns: summaryColumns('r'),
  texts: [
    ...['name', 'models', 'tags', 'environment', 'service_name', 'service_version', 'release', 'user_id', 'session_id'],
    ...['thread_id', 'run_id', 'experiment_id', 'scores', 'feedback'],
  ],
};

/** Entries up to which a condition is so rare that its traces are all read and sorted. */
const RARE = 4_000;
/** Traces that a search looks at in one go when it walks the list: from the first to the last chunk. */
const FIRST_CHUNK = 64;
const LAST_CHUNK = 1_024;
/** Traces after which a walk asks whether the matches are few after all. */
const LONG_WALK = 8_192;

/** A row of the list before the rest of it is read: what the order compares. */
type Candidate = { readonly trace: TraceKey; readonly key: TraceSortKey };

/** How each order reads: its column on the trace `t`, and the type of it. */
const orders = {
  start_time: { column: 't.start_ns', type: 'int8' },
  duration: { column: 't.duration_ns', type: 'int8' },
  cost: { column: 't.total_cost', type: 'float8' },
  span_count: { column: 't.span_count', type: 'int8' },
  score: { column: 'd.mean', type: 'float8' },
} as const satisfies Record<TraceSort, unknown>;

/** A position comes back from a client, who may have made it up. */
const candidateOf = (sort: TraceSort, [key, traceId, project]: Position): Candidate => {
  const trace: TraceKey = [projectNumberAt(project), traceIdAt(traceId)];
  const at = sortKeyAt(sort, key);
  return { trace, key: sort === 'span_count' ? instantOf(String(at)) : at };
};
const positionOf = ({ key, trace: [project, traceId] }: Candidate): Position => tracePosition(key, traceId, project);

/** Where the wanted traces are looked for. */
type Source =
  | { readonly kind: 'order' }
  | { readonly kind: 'traces'; readonly traces: readonly TraceKey[]; readonly scorerKey?: string }
  /** All entries are read. */
  | { readonly kind: 'rare_facet'; readonly facet: FilteredFacet }
  | { readonly kind: 'rare_figure'; readonly figure: (typeof indexedFigures)[number] }
  /** Its entries lie in the order of start times. */
  | { readonly kind: 'facet_by_start'; readonly facet: FilteredFacet }
  | { readonly kind: 'score'; readonly scorerKey: string };

/** A source that holds every wanted trace, and few others. */
const findSource = async (
  ask: Ask,
  { sort, hasScore }: TraceQuery,
  filter: PrintedFilter,
  projects: readonly number[],
): Promise<Source> => {
  if (sort === 'score' && hasScore !== undefined) return { kind: 'score', scorerKey: signalKey(hasScore) };
  const to = binding(int4Array(projects));
  const offers: { readonly source: Source; readonly count: string }[] = [];
  const upTo = (from: string): string => `(SELECT count(*) FROM (SELECT 1 FROM ${from} LIMIT ${RARE + 1}) AS x)`;
  for (const facet of filter.facets)
    offers.push({
      source: { kind: 'rare_facet', facet },
      count: upTo(`trace_facets AS d WHERE d.project = ANY ($1::int4[]) AND ${printFacet(filter, facet, to)}`),
    });
  for (const figure of indexedFigures) {
    // In the order of start times the page is read off the index anyway.
    if (figure === 'startTime' && sort === 'start_time') continue;
    const bounds = printBounds(filter, figure, to);
    if (bounds.length === 0) continue;
    offers.push({
      source: { kind: 'rare_figure', figure },
      count: upTo(`traces AS t WHERE t.project = ANY ($1::int4[]) AND ${bounds.join(' AND ')}`),
    });
  }
  if (offers.length === 0) return { kind: 'order' };
  const [counts = []] = await ask<bigint[]>(`SELECT ${offers.map(({ count }) => count).join(', ')}`, to.values);
  let best: Source | undefined;
  let least = RARE + 1;
  for (const [place, { source }] of offers.entries()) {
    const count = Number(counts[place]);
    if (count >= least) continue;
    least = count;
    best = source;
  }
  const [facet] = filter.facets;
  if (best !== undefined) return best;
  return sort === 'start_time' && facet !== undefined ? { kind: 'facet_by_start', facet } : { kind: 'order' };
};

/** A statement that reads candidates of a source. `OFFSET 0` keeps the planner from taking another way than the one that is written. */
const printCandidates = (
  source: Source,
  filter: PrintedFilter,
  {
    column,
    direction,
    extra,
    to,
  }: {
    readonly column: string;
    readonly direction: 'ASC' | 'DESC';
    /** What follows a position, as conditions on a column and the row that names the trace. */
    readonly extra: (key: string, row: 't' | 'd') => readonly string[];
    readonly to: Binding;
  },
  limit: number,
): string => {
  const ordered = (key: string, row: 't' | 'd'): string => `ORDER BY ${key} ${direction}, ${row}.trace_id ${direction}`;
  const conditions = printConditions(filter, to);
  const page = `ORDER BY c.key ${direction}, c.trace_id ${direction}, c.project ${direction} LIMIT ${limit}`;
  const selected = `SELECT c.project, ${hex('c.trace_id')}, c.key FROM`;
  /** The trace of an entry `d`, if it meets the conditions. */
  const joined = (more: readonly string[] = []): string =>
    `CROSS JOIN LATERAL (SELECT t.* FROM traces AS t WHERE ${['t.project = d.project', 't.trace_id = d.trace_id', ...conditions, ...more].join(' AND ')} OFFSET 0) AS t`;
  const eachProject = (inner: string): string =>
    `${selected} unnest($1::int4[]) AS k (project) CROSS JOIN LATERAL (${inner} LIMIT ${limit}) AS c ${page}`;
  const all = (entries: string): string =>
    `${selected} (SELECT t.project, t.trace_id, ${column} AS key FROM (${entries} OFFSET 0) AS d ${joined(extra(column, 't'))}) AS c
     WHERE c.project = ANY ($1::int4[]) ${page}`;
  switch (source.kind) {
    case 'order':
      return eachProject(
        `SELECT t.project, t.trace_id, ${column} AS key FROM traces AS t
         WHERE ${['t.project = k.project', ...conditions, ...extra(column, 't')].join(' AND ')} ${ordered(column, 't')}`,
      );
    case 'traces': {
      const { sql, values } = unnest(
        TRACE_KEY,
        source.traces.map((trace): Row => [...trace]),
        to.values.length + 1,
      );
      to.values.push(...values);
      const given = `${sql} AS x (project, trace_id)`;
      return all(
        source.scorerKey === undefined
          ? `SELECT x.project, x.trace_id FROM ${given}`
          : `SELECT x.project, x.trace_id, s.mean FROM ${given} JOIN trace_scores AS s
               ON s.project = x.project AND s.trace_id = x.trace_id AND s.scorer_id = ${to.bind(source.scorerKey, 'text')}`,
      );
    }
    case 'rare_facet':
      return all(
        `SELECT d.project, d.trace_id FROM trace_facets AS d WHERE d.project = ANY ($1::int4[]) AND ${printFacet(filter, source.facet, to)}`,
      );
    case 'rare_figure':
      return `${selected} (SELECT t.project, t.trace_id, ${column} AS key
        FROM (SELECT t.* FROM traces AS t WHERE ${['t.project = ANY ($1::int4[])', ...printBounds(filter, source.figure, to)].join(' AND ')} OFFSET 0) AS t
        WHERE ${[...conditions, ...extra(column, 't')].join(' AND ')}) AS c ${page}`;
    case 'facet_by_start':
      return eachProject(
        `SELECT t.project, t.trace_id, d.start_ns AS key FROM trace_facets AS d ${joined()}
         WHERE ${['d.project = k.project', printFacet(filter, source.facet, to), ...extra('d.start_ns', 'd')].join(' AND ')}
         ${ordered('d.start_ns', 'd')}`,
      );
    case 'score':
      return eachProject(
        `SELECT t.project, t.trace_id, d.mean AS key FROM trace_scores AS d ${joined()}
         WHERE ${['d.project = k.project', `d.scorer_id = ${to.bind(source.scorerKey, 'text')}`, ...extra('d.mean', 'd')].join(' AND ')}
         ${ordered('d.mean', 'd')}`,
      );
    default:
      return source satisfies never;
  }
};

/** Reads a page of the trace list. No payload is read, and only rows of the page are read completely. */
export const listTraces = async (ask: Ask, query: TraceQuery): Promise<Page<TraceSummary>> => {
  const filter = readFilter(traceConditions(query));
  if (filter === undefined) return { items: [] };
  const projects = await projectNumbers(ask, query.projects);
  const search = filter.q === undefined ? undefined : await openSearch(ask, filter.q, projects);
  if (query.sort === 'score' && query.hasScore === undefined)
    throw new RangeError('the order "score" needs the scorer whose mean it compares');
  if (projects.length === 0 || (filter.q !== undefined && search === undefined)) return { items: [] };

  const isDescending = query.order === 'desc';
  const direction = isDescending ? 'DESC' : 'ASC';
  const beyond = isDescending ? '<' : '>';
  const { column, type } = orders[query.sort];

  const among = (traces: readonly TraceKey[]): Source =>
    query.sort === 'score' && query.hasScore !== undefined
      ? { kind: 'traces', traces, scorerKey: signalKey(query.hasScore) }
      : { kind: 'traces', traces };

  /** Candidates of a source after a position, in order; first those with a key, then those without. */
  const candidates = async (source: Source, after: Candidate | undefined, limit: number): Promise<Candidate[]> => {
    const read = async (isNull: boolean, most: number): Promise<Candidate[]> => {
      const to = binding(int4Array(projects));
      const extra = (key: string, row: 't' | 'd'): string[] => {
        const parts = isNull ? [`${key} IS NULL`] : mayBeNull[query.sort] ? [`${key} IS NOT NULL`] : [];
        if (after === undefined || (isNull && after.key !== null)) return parts;
        const [project, traceId] = after.trace;
        const place = `${to.bind(traceId, 'uuid')}, ${to.bind(project, 'int4')}`;
        return [
          ...parts,
          isNull
            ? `(${row}.trace_id, ${row}.project) ${beyond} (${place})`
            : `(${key}, ${row}.trace_id, ${row}.project) ${beyond} (${to.bind(after.key, type)}, ${place})`,
        ];
      };
      const found = await ask<[number, string, TraceSortKey]>(
        printCandidates(source, filter, { column, direction, extra, to }, most),
        to.values,
      );
      return found.map(([project, traceId, key]) => ({
        trace: [project, traceId],
        key: query.sort === 'span_count' ? Number(key) : key,
      }));
    };
    const found = after?.key === null ? [] : await read(false, limit);
    if (mayBeNull[query.sort] && found.length < limit) found.push(...(await read(true, limit - found.length)));
    return found;
  };

  /** A search for what many spans hold: walks the list, and keeps what the index confirms. */
  const walk = async (
    source: Source,
    from: Candidate | undefined,
    { keepMatching, wholeSet }: Search,
  ): Promise<Candidate[]> => {
    const wanted = query.limit + 1;
    const found: Candidate[] = [];
    let after = from;
    let lookedAt = 0;
    let isCommon = false;
    for (let chunk = FIRST_CHUNK; ; chunk = Math.min(chunk * 2, LAST_CHUNK)) {
      const next = await candidates(source, after, chunk);
      const kept = await keepMatching(
        next.map(({ trace }) => trace),
        wanted - found.length,
      );
      for (const candidate of next) if (kept.has(keyText(candidate.trace))) found.push(candidate);
      if (found.length >= wanted || next.length < chunk) return found.slice(0, wanted);
      after = next.at(-1);
      lookedAt += next.length;
      if (isCommon || lookedAt < LONG_WALK) continue;
      isCommon = true;
      const traces = await wholeSet();
      if (traces !== undefined) return [...found, ...(await candidates(among(traces), after, wanted - found.length))];
    }
  };

  const after = query.after === undefined ? undefined : candidateOf(query.sort, query.after);
  const whole = search?.isRare === true ? await search.wholeSet() : undefined;
  const source = whole === undefined ? await findSource(ask, query, filter, projects) : among(whole);
  const found =
    search === undefined || whole !== undefined
      ? await candidates(source, after, query.limit + 1)
      : await walk(source, after, search);

  const page = found.slice(0, query.limit);
  const { rows, taken } = await readWhole(
    ask,
    TRACES,
    page.map(({ trace }): Row => [...trace]),
    query.maxBytes,
  );
  const items = await decodeInTurns(rows, decodeTrace);
  const last = page[taken - 1];
  return found.length > taken && last !== undefined ? { items, next: positionOf(last) } : { items };
};
