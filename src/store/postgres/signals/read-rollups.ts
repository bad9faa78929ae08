import { unscaled } from '../../signals/judgements.ts';
import type { Page, RollUp, RollUpQuery, RollUpSort } from '../../signals/query.ts';
import { instantOf, projectNumberAt, traceIdAt } from '../../signals/position.ts';
import { type RollUpKey, rollUpKeyAt, rollUpPosition } from '../../signals/rollup-position.ts';
import { facets, STATUS_ERROR } from '../../signals/rows/codes.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeRollUp } from '../../signals/rows/decode-records.ts';
import { int4Array } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { columns, unnest } from '../insert.ts';
import { projectNumbers } from './reach.ts';
import { type Binding, binding, hex } from './statement.ts';
import { scaledSum } from './sums.ts';

const columnOf = { session: 'session_id', user: 'user_id' } as const;
const facetOf = { session: facets.sessionId, user: facets.userId } as const;

/** Where the sum of the costs stands in a row. */
const COST = 4;

const printWindow = ({ from, to }: RollUpQuery, column: string, { bind }: Binding): string =>
  (from === undefined ? '' : ` AND ${column} >= ${bind(from, 'int8')}`) +
  (to === undefined ? '' : ` AND ${column} < ${bind(to, 'int8')}`);

const TOTALS = `count(*), count(*) FILTER (WHERE t.status = ${STATUS_ERROR}), ${scaledSum('t.total_cost')}, max(t.currency),
         min(t.start_ns), max(t.start_ns)`;

const decode = (row: Row): RollUp => decodeRollUp(row.with(COST, unscaled(row[COST] as number | null) ?? null));

/** What each order compares, in the row of `addedUp`, and the type of it. */
const orders = {
  last_seen: ['last_seen', 'int8'],
  first_seen: ['first_seen', 'int8'],
  trace_count: ['trace_count', 'int8'],
  error_count: ['error_count', 'int8'],
  cost: ['cost', 'float8'],
} as const satisfies Record<RollUpSort, readonly [string, string]>;

/** Adds up every session or user of the window, and takes the page from what that gives. */
const addedUp = async (ask: Ask, query: RollUpQuery & { readonly sort: RollUpSort }): Promise<Page<RollUp>> => {
  const column = columnOf[query.of];
  const [direction, beyond] = query.order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const [key, type] = orders[query.sort];
  const to = binding(int4Array(await projectNumbers(ask, query.projects)));
  const window = printWindow(query, 't.start_ns', to);
  let after = '';
  if (query.after !== undefined) {
    const [at, seen, digest, project] = query.after;
    const from = rollUpKeyAt(query.sort, at);
    const place = [
      to.bind(instantOf(seen), 'int8'),
      to.bind(traceIdAt(digest), 'text'),
      to.bind(projectNumberAt(project), 'int4'),
    ] as const;
    const behind = `(last_seen, digest, number) ${beyond} (${place.join(', ')})`;
    const value = from === null ? '' : to.bind(from, type);
    after =
      from === null
        ? `${key} IS NULL AND ${behind}`
        : `(${key} ${beyond} ${value} OR ${key} IS NULL OR (${key} = ${value} AND ${behind}))`;
    // The row that ended the page is not read again, also where its sum is now another in the last digit.
    after = `WHERE ${after} AND (digest, number) <> (${place[1]}, ${place[2]})`;
  }
  // An id has no bound: its digest tells those apart that are equal in the order.
  const found = await ask<Row>(
    `WITH summed (number, id, trace_count, error_count, cost, currency, first_seen, last_seen, digest) AS (
       SELECT t.project, t.${column}, ${TOTALS}, md5(t.${column})
       FROM traces AS t WHERE t.project = ANY ($1::int4[]) AND t.${column} IS NOT NULL${window} GROUP BY 1, 2)
     SELECT s.id, p.name, s.trace_count, s.error_count, s.cost, s.currency, s.first_seen, s.last_seen, s.digest, s.number, s.${key}
     FROM (SELECT * FROM summed ${after} ORDER BY ${key} ${direction} NULLS LAST, last_seen ${direction}, digest ${direction},
       number ${direction} LIMIT ${query.limit + 1}) AS s JOIN projects AS p ON p.project = s.number
     ORDER BY s.${key} ${direction} NULLS LAST, s.last_seen ${direction}, s.digest ${direction}, s.number ${direction}`,
    to.values,
  );
  const page = found.slice(0, query.limit);
  const [lastSeen, digest, number, at] = page.at(-1)?.slice(LAST_SEEN) ?? [];
  return {
    items: page.map((row) => decode(row.slice(0, LAST_SEEN + 1))),
    ...(found.length > query.limit
      ? { next: rollUpPosition(at as RollUpKey, String(lastSeen), String(digest), Number(number)) }
      : {}),
  };
};
/** Where the time that one was last seen at stands in the row. */
const LAST_SEEN = 7;

/**
 * Reads a page of sessions or users. By default the one seen last comes first, and it walks traces from the newest back: the newest trace of an identity in
 * the window is where the identity stands in the list, so a page reads little more than it shows.
 */
export const listRollUps = async (ask: Ask, query: RollUpQuery): Promise<Page<RollUp>> => {
  const { sort = 'last_seen', order = 'desc' } = query;
  if (sort !== 'last_seen' || order !== 'desc') return addedUp(ask, { ...query, sort, order });
  const column = columnOf[query.of];
  const facet = facetOf[query.of];
  const walking = binding(int4Array(await projectNumbers(ask, query.projects)));
  let after = '';
  if (query.after !== undefined) {
    const [at, traceId, project] = query.after;
    const id = traceIdAt(traceId);
    const number = projectNumberAt(project);
    after = `AND (t.start_ns, t.trace_id, t.project) < (${walking.bind(instantOf(at), 'int8')}, ${walking.bind(id, 'uuid')}, ${walking.bind(number, 'int4')})`;
  }
  // A later trace of the same identity inside the window means that this one is not where it stands.
  const found = await ask<[project: number, traceId: string, start: bigint, id: string]>(
    `SELECT c.project, ${hex('c.trace_id')}, c.start_ns, c.id FROM unnest($1::int4[]) AS k (project) CROSS JOIN LATERAL (
       SELECT t.project, t.trace_id, t.start_ns, t.${column} AS id FROM traces AS t
       WHERE t.project = k.project AND t.${column} IS NOT NULL ${after}${printWindow(query, 't.start_ns', walking)}
         AND NOT EXISTS (
           SELECT 1 FROM trace_facets AS f JOIN traces AS n ON n.project = f.project AND n.trace_id = f.trace_id
           WHERE f.project = t.project AND f.facet = ${facet} AND f.value = signal_key(t.${column})
             AND (f.start_ns, f.trace_id) > (t.start_ns, t.trace_id)${printWindow(query, 'f.start_ns', walking)}
             AND n.${column} = t.${column} OFFSET 0)
       ORDER BY t.start_ns DESC, t.trace_id DESC LIMIT ${query.limit + 1}
     ) AS c ORDER BY c.start_ns DESC, c.trace_id DESC, c.project DESC LIMIT ${query.limit + 1}`,
    walking.values,
  );
  const page = found.slice(0, query.limit);
  if (page.length === 0) return { items: [] };
  const identities = unnest(
    [['project', 'int4'], ...columns('text', 'id')],
    page.map(([project, , , id]): Row => [project, id]),
  );
  const adding = binding(...identities.values);
  const items = await ask<Row>(
    `SELECT k.id, p.name, a.* FROM ${identities.sql} WITH ORDINALITY AS k (project, id, place)
     JOIN projects AS p ON p.project = k.project
     CROSS JOIN LATERAL (
       SELECT ${TOTALS}
       FROM trace_facets AS f JOIN traces AS t ON t.project = f.project AND t.trace_id = f.trace_id
       WHERE f.project = k.project AND f.facet = ${facet} AND f.value = signal_key(k.id)${printWindow(query, 'f.start_ns', adding)}
         AND t.${column} = k.id
     ) AS a WHERE a.min IS NOT NULL ORDER BY k.place`,
    adding.values,
  );
  const last = page.at(-1);
  return {
    items: items.map(decode),
    ...(found.length > query.limit && last !== undefined ? { next: [last[2].toString(), last[1], last[0]] } : {}),
  };
};
