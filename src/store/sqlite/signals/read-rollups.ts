import type { RollUpQuery, RollUpSort } from '../../signals/query.ts';
import { facets, STATUS_ERROR } from '../../signals/rows/codes.ts';
import type { RowPage } from './read-traces.ts';
import { instantOf, timeAndRow } from '../../signals/position.ts';
import { type RollUpKey, rollUpKeyAt, rollUpPosition } from '../../signals/rollup-position.ts';
import { projectNumbers, type Statements } from './statements.ts';
import type { Row } from '../../signals/rows/columns.ts';

const columnOf = { session: 'session_id', user: 'user_id' } as const;
const facetOf = { session: facets.sessionId, user: facets.userId } as const;

const TOTALS = `count(*), sum(t.status = ${STATUS_ERROR}), sum(t.total_cost), max(t.currency), min(t.start_ns), max(t.start_ns)`;

/** What each order compares, in the row of `addedUp`. */
const keyOf = {
  last_seen: 'last_seen',
  first_seen: 'first_seen',
  trace_count: 'trace_count',
  error_count: 'error_count',
  cost: 'cost',
} as const satisfies Record<RollUpSort, string>;

/** Adds up every session or user of the window, and takes the page from what that gives. */
const addedUp = (statements: Statements, query: RollUpQuery & { readonly sort: RollUpSort }): RowPage => {
  const column = columnOf[query.of];
  const isAscending = query.order === 'asc';
  const [direction, beyond] = isAscending ? ['ASC', '>'] : ['DESC', '<'];
  const key = keyOf[query.sort];
  const windows: string[] = [];
  const values: unknown[] = [JSON.stringify(projectNumbers(statements, query.projects))];
  if (query.from !== undefined) {
    windows.push('AND t.start_ns >= ?');
    values.push(query.from);
  }
  if (query.to !== undefined) {
    windows.push('AND t.start_ns < ?');
    values.push(query.to);
  }
  let after = '';
  if (query.after !== undefined) {
    const [at, seen, row] = query.after;
    const from = rollUpKeyAt(query.sort, at);
    const [lastSeen, newest] = [instantOf(seen), instantOf(row)];
    const behind = `(last_seen, newest) ${beyond} (?, ?)`;
    // The row that ended the page is not read again, also where its sum is now another in the last digit.
    if (from === null) {
      after = `WHERE ${key} IS NULL AND ${behind} AND newest <> ?`;
      values.push(lastSeen, newest, newest);
    } else {
      after = `WHERE (${key} ${beyond} ? OR ${key} IS NULL OR (${key} = ? AND ${behind})) AND newest <> ?`;
      values.push(from, from, lastSeen, newest, newest);
    }
  }
  // Each trace has one session and one user: its newest row tells one from all others.
  const found = statements
    .exact<Row>(
      `WITH summed (id, project, trace_count, error_count, cost, currency, first_seen, last_seen, newest) AS MATERIALIZED (
         SELECT t.${column}, p.name, ${TOTALS}, max(t.trace)
         FROM traces AS t CROSS JOIN projects AS p ON p.project = t.project
         WHERE t.project IN (SELECT value FROM json_each(?)) AND t.${column} IS NOT NULL ${windows.join(' ')}
         GROUP BY t.project, t.${column})
       SELECT *, ${key} FROM summed ${after}
       ORDER BY ${key} ${direction} NULLS LAST, last_seen ${direction}, newest ${direction} LIMIT ?`,
    )
    .all(...values, query.limit + 1);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const [lastSeen, newest, at] = last?.slice(LAST_SEEN) ?? [];
  return [
    page.map((row) => row.slice(0, LAST_SEEN + 1)),
    found.length > query.limit && last !== undefined
      ? rollUpPosition(at as RollUpKey, String(lastSeen), String(newest))
      : undefined,
  ];
};
/** Where the time that one was last seen at stands in the row. */
const LAST_SEEN = 7;

/**
 * Reads a page of sessions or users. By default the one seen last comes first, and it walks traces from the newest back: the newest trace of an
 * identity in the window is where the identity stands in the list, so a page reads little more than it shows.
 */
export const listRollUps = (statements: Statements, query: RollUpQuery): RowPage => {
  const { sort = 'last_seen', order = 'desc' } = query;
  if (sort !== 'last_seen' || order !== 'desc') return addedUp(statements, { ...query, sort, order });
  const column = columnOf[query.of];
  const parts: string[] = [];
  const values: unknown[] = [];
  const inWindow: string[] = [];
  const windowValues: unknown[] = [];
  if (query.from !== undefined) {
    inWindow.push('f.start_ns >= ?');
    windowValues.push(query.from);
  }
  if (query.to !== undefined) {
    inWindow.push('f.start_ns < ?');
    windowValues.push(query.to);
  }
  for (const [i, condition] of inWindow.entries()) {
    parts.push(condition.replace('f.', 't.'));
    values.push(windowValues[i]);
  }
  if (query.after !== undefined) {
    parts.push('(t.start_ns, t.trace) < (?, ?)');
    values.push(...timeAndRow(query.after));
  }
  const windowed = inWindow.map((condition) => ` AND ${condition}`).join('');
  // A later trace of the same identity inside the window means that this one is not where it stands.
  const walk = statements.exact<[bigint, bigint, bigint]>(
    `SELECT t.trace, t.start_ns, v.id FROM traces AS t INDEXED BY traces_by_start
     CROSS JOIN facet_values AS v ON v.project = t.project AND v.facet = ? AND v.value = t.${column}
     WHERE t.project = ? AND t.${column} IS NOT NULL ${parts.map((part) => `AND ${part}`).join(' ')}
       AND NOT EXISTS (SELECT 1 FROM trace_facets AS f
                       WHERE f.value = v.id AND (f.start_ns, f.trace) > (t.start_ns, t.trace)${windowed})
     ORDER BY t.start_ns DESC, t.trace DESC LIMIT ?`,
  );
  const found = projectNumbers(statements, query.projects).flatMap((project) =>
    walk.all(facetOf[query.of], project, ...values, ...windowValues, query.limit + 1),
  );
  found.sort(([traceA, startA], [traceB, startB]) => {
    if (startA !== startB) return startA < startB ? 1 : -1;
    return traceA < traceB ? 1 : -1;
  });
  const page = found.slice(0, query.limit);
  const totals = statements.exact<Row>(
    `SELECT v.value, p.name, ${TOTALS}
     FROM facet_values AS v CROSS JOIN projects AS p ON p.project = v.project
     CROSS JOIN trace_facets AS f ON f.value = v.id CROSS JOIN traces AS t ON t.trace = f.trace
     WHERE v.id = ?${windowed}`,
  );
  const rows = page
    .map(([, , value]) => totals.get(value, ...windowValues))
    .filter((row): row is Row => row !== undefined);
  const last = page.at(-1);
  return [rows, found.length > query.limit && last !== undefined ? [last[1].toString(), Number(last[0])] : undefined];
};
