import type { Position, TraceQuery, TraceSort } from '../../signals/query.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { mayBeNull, sortKeyAt, tracePosition, type TraceSortKey } from '../../signals/trace-position.ts';
import { readUpTo } from './read-up-to.ts';
import { openSearch, type Search } from './read-search.ts';
import { projectNumbers, type Statements } from './statements.ts';
import {
  countUpTo,
  facetIds,
  indexes,
  type Part,
  type PrintedFilter,
  printConditions,
  printMeans,
  within,
} from './trace-filter.ts';
import { type Row, SUMMARY_COLUMNS } from '../../signals/rows/columns.ts';

export const TRACE_COLUMNS = `t.trace_id, p.name, ${SUMMARY_COLUMNS.map((column) => `t.${column}`).join(', ')}`;

/** Entries up to which a condition is so rare that its traces are all read and sorted. */
const RARE = 4_000;
/** Traces that a search looks at in one go when it walks the list: from the first to the last chunk. */
const FIRST_CHUNK = 64;
const LAST_CHUNK = 1_024;

/** A row of the list before the rest of it is read: what the order compares. */
type Candidate = { readonly trace: number; readonly key: TraceSortKey };

/** How each order reads: its column, and the index that has it. */
const orders = {
  start_time: { key: 't.start_ns', index: 'traces_by_start' },
  duration: { key: 't.duration_ns', index: 'traces_by_duration' },
  cost: { key: 't.total_cost', index: 'traces_by_cost' },
  span_count: { key: 't.span_count', index: 'traces_by_span_count' },
  score: { key: 'd.mean', index: undefined },
} as const satisfies Record<TraceSort, unknown>;

const positionOf = ({ key, trace }: Candidate): Position => tracePosition(key, trace);

const compareKeys = (a: TraceSortKey, b: TraceSortKey): number => {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
};

/** Where candidates come from: a FROM clause that binds `t`, and what it demands. */
type Source = {
  readonly from: string;
  readonly where: readonly Part[];
  /** Set when the source itself lies in the order of start times. */
  readonly isByStart?: boolean;
};

const listProject = (
  statements: Statements,
  project: number,
  query: TraceQuery,
  filter: PrintedFilter,
  search: Search | undefined,
): Candidate[] => {
  const wanted = query.limit + 1;
  const isDescending = query.order === 'desc';
  const direction = isDescending ? 'DESC' : 'ASC';
  const beyond = isDescending ? '<' : '>';
  const order = orders[query.sort];

  const values = facetIds(statements, project, filter);
  if (values === undefined) return [];
  const conditions = filter.bounds.map(({ part }) => part);
  const meansBelow = printMeans(filter, project);

  const hasValue = (id: number): Part => ({
    sql: 'EXISTS (SELECT 1 FROM trace_facets AS f WHERE f.value = ? AND f.start_ns = t.start_ns AND f.trace = t.trace)',
    values: [id],
  });

  const countRare = (from: string, parts: readonly Part[]): number => countUpTo(statements, from, parts, RARE + 1);

  const ofProject: Part = { sql: 't.project = ?', values: [project] };
  const inWindow = within(filter, 'd.start_ns');

  /** Sources that hold every wanted trace, each with the number of entries it would read, at most one more than `RARE`. */
  const rareSource = (): Source | undefined => {
    if (search?.traces !== undefined)
      return {
        from: 'json_each(?) AS d CROSS JOIN traces AS t ON t.trace = d.value',
        where: [{ sql: 'true', values: [] }, ofProject],
      };
    let best: Source | undefined;
    let least = RARE + 1;
    const offer = (count: number, source: Source): void => {
      if (count >= least) return;
      least = count;
      best = source;
    };
    for (const value of values) {
      const parts: Part[] = [{ sql: 'd.value = ?', values: [value] }, ...inWindow];
      offer(countRare('trace_facets AS d', parts), {
        from: 'trace_facets AS d CROSS JOIN traces AS t ON t.trace = d.trace',
        where: parts,
        isByStart: true,
      });
    }
    for (const [figure, index] of indexes) {
      // In the order of start times the page is read off the index anyway.
      if (figure === 'startTime' && query.sort === 'start_time') continue;
      const parts = filter.bounds.filter((one) => one.figure === figure).map(({ part }) => part);
      if (parts.length === 0) continue;
      const from = `traces AS t INDEXED BY ${index}`;
      const where = [ofProject, ...parts];
      offer(countRare(from, where), { from, where });
    }
    return best;
  };

  const rare = query.sort === 'score' ? undefined : rareSource();
  let source: Source;
  let key: string = order.key;
  let tie = 't.trace';
  if (query.sort === 'score') {
    if (query.hasScore === undefined) throw new RangeError('the order "score" needs the scorer whose mean it compares');
    source = {
      from: 'trace_scores AS d INDEXED BY trace_scores_by_mean CROSS JOIN traces AS t ON t.trace = d.trace',
      where: [
        { sql: 'd.project = ? AND d.scorer_id = ?', values: [project, query.hasScore] },
        ...(search?.traces === undefined
          ? []
          : [{ sql: 'd.trace IN (SELECT value FROM json_each(?))', values: [JSON.stringify(search.traces)] }]),
      ],
    };
    tie = 'd.trace';
  } else if (rare !== undefined) source = rare;
  else if (query.sort === 'start_time' && values[0] !== undefined) {
    source = {
      from: 'trace_facets AS d CROSS JOIN traces AS t ON t.trace = d.trace',
      where: [{ sql: 'd.value = ?', values: [values[0]] }, ...inWindow],
      isByStart: true,
    };
  } else source = { from: `traces AS t INDEXED BY ${order.index ?? 'traces_by_start'}`, where: [ofProject] };

  // The entries of a facet lie in the order of start times: the page is read off them, and the rest is never looked at.
  if (source.isByStart === true && query.sort === 'start_time') {
    key = 'd.start_ns';
    tie = 'd.trace';
  }

  const where = [...source.where, ...values.map(hasValue), ...conditions, ...meansBelow];
  const sourceValues = rare !== undefined && search?.traces !== undefined ? [JSON.stringify(search.traces)] : [];

  /** Candidates after a position, in order; first those with a key, then those without. */
  const candidates = (after: Candidate | undefined, limit: number): Candidate[] => {
    const read = (extra: readonly Part[], orderBy: string, count: number): Candidate[] => {
      const parts = [...where, ...extra];
      return statements
        .exact<[bigint, bigint | number | null]>(
          `SELECT t.trace, ${key} FROM ${source.from} WHERE ${parts.map(({ sql }) => sql).join(' AND ')}
           ORDER BY ${orderBy} LIMIT ?`,
        )
        .all(...sourceValues, ...parts.flatMap((part) => part.values), count)
        .map(([trace, found]) => ({ trace: Number(trace), key: query.sort === 'span_count' ? Number(found) : found }));
    };
    const found: Candidate[] = [];
    if (after === undefined || after.key !== null)
      found.push(
        ...read(
          [
            ...(mayBeNull[query.sort] ? [{ sql: `${key} IS NOT NULL`, values: [] }] : []),
            ...(after === undefined
              ? []
              : [{ sql: `(${key}, ${tie}) ${beyond} (?, ?)`, values: [after.key, after.trace] }]),
          ],
          `${key} ${direction}, ${tie} ${direction}`,
          limit,
        ),
      );
    if (mayBeNull[query.sort] && found.length < limit)
      found.push(
        ...read(
          [
            { sql: `${key} IS NULL`, values: [] },
            ...(after?.key === null ? [{ sql: `${tie} ${beyond} ?`, values: [after.trace] }] : []),
          ],
          `${tie} ${direction}`,
          limit - found.length,
        ),
      );
    return found;
  };

  let after: Candidate | undefined =
    query.after === undefined
      ? undefined
      : { key: sortKeyAt(query.sort, query.after[0]), trace: Number(query.after[1]) };
  if (search === undefined || search.traces !== undefined) return candidates(after, wanted);

  // A search for what many spans hold: walk the list, and keep what the index confirms.
  const found: Candidate[] = [];
  for (let chunk = FIRST_CHUNK; ; chunk = Math.min(chunk * 2, LAST_CHUNK)) {
    const next = candidates(after, chunk);
    const kept = search.keepMatching(
      next.map(({ trace }) => trace),
      wanted - found.length,
    );
    for (const candidate of next) if (kept.has(candidate.trace)) found.push(candidate);
    if (found.length >= wanted || next.length < chunk) return found.slice(0, wanted);
    after = next.at(-1);
  }
};

/** A page of rows, as it goes to the main thread. */
export type RowPage = [rows: Row[], next: Position | undefined];

/** Reads a page of the trace list. No payload is read, and only rows of the page are read completely. */
export const listTraces = (statements: Statements, query: TraceQuery): RowPage => {
  const filter = printConditions(traceConditions(query));
  const search = filter.q === undefined ? undefined : openSearch(statements, filter.q);
  if (filter.q !== undefined && search === undefined) return [[], undefined];
  const found = projectNumbers(statements, query.projects).flatMap((project) =>
    listProject(statements, project, query, filter, search),
  );
  const sign = query.order === 'desc' ? -1 : 1;
  found.sort((a, b) => {
    const byKey = compareKeys(a.key, b.key);
    if (byKey !== 0) return a.key === null || b.key === null ? byKey : byKey * sign;
    return (a.trace - b.trace) * sign;
  });
  const page = found.slice(0, query.limit);
  const read = statements.exact<Row>(
    `SELECT ${TRACE_COLUMNS} FROM traces AS t JOIN projects AS p ON p.project = t.project WHERE t.trace = ?`,
  );
  const [rows, taken] = readUpTo(page, ({ trace }) => read.get(trace), query.maxBytes);
  const last = page[taken - 1];
  return [rows, found.length > taken && last !== undefined ? positionOf(last) : undefined];
};
