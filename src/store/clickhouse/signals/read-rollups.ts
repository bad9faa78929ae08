import { unscaled } from '../../signals/judgements.ts';
import type { Page, RollUp, RollUpQuery, RollUpSort } from '../../signals/query.ts';
import { instantOf, traceIdAt } from '../../signals/position.ts';
import { type RollUpKey, rollUpKeyAt, rollUpPosition } from '../../signals/rollup-position.ts';
import { STATUS_ERROR } from '../../signals/rows/codes.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeRollUp } from '../../signals/rows/decode-records.ts';
import { storable } from '../../signals/storable.ts';
import { type Binding, binding } from '../binding.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { scaledSum } from './sums.ts';

const columnOf = { session: 'session_id', user: 'user_id' } as const;
/** Where the sum of the costs stands in a row, and where what a page ends at. */
const COST = 4;
const LAST = 7;
const TRACE = 8;

const TOTALS = `count() AS trace_count, countIf(t.status = ${STATUS_ERROR}) AS error_count, ${scaledSum('t.total_cost')} AS cost,
       max(t.currency), min(t.start_ns) AS first_seen, max(t.start_ns) AS last_seen`;

const decode = (row: Row): RollUp =>
  decodeRollUp(row.slice(0, TRACE).with(COST, unscaled(row[COST] as number | null) ?? null));

/** The traces that are rolled up. */
const inWindow = (query: RollUpQuery, to: Binding): string => {
  const parts = [inReach(query.projects, to, 't.'), `t.${columnOf[query.of]} IS NOT NULL`];
  if (query.from !== undefined) parts.push(`t.start_ns >= ${to.bind(query.from, 'Int64')}`);
  if (query.to !== undefined) parts.push(`t.start_ns < ${to.bind(query.to, 'Int64')}`);
  return parts.join(' AND ');
};

/** What each order compares, and the type of it. */
const orders = {
  last_seen: ['last_seen', 'Int64'],
  first_seen: ['first_seen', 'Int64'],
  trace_count: ['trace_count', 'Int64'],
  error_count: ['error_count', 'Int64'],
  cost: ['cost', 'Float64'],
} as const satisfies Record<RollUpSort, readonly [string, string]>;

/** Adds up every session or user of the window, and takes the page from what that gives. */
const addedUp = async (ask: Ask, query: RollUpQuery & { readonly sort: RollUpSort }): Promise<Page<RollUp>> => {
  const [direction, beyond] = query.order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const [key, type] = orders[query.sort];
  const to = binding();
  const where = inWindow(query, to);
  let after = '';
  if (query.after !== undefined) {
    const [at, seen, digest, project] = query.after;
    const from = rollUpKeyAt(query.sort, at);
    const place = [
      to.bind(instantOf(seen), 'Int64'),
      to.bind(traceIdAt(digest), 'String'),
      to.bind(storable(String(project)), 'String'),
    ] as const;
    const behind = `(last_seen, digest, project) ${beyond} (${place.join(', ')})`;
    const value = from === null ? '' : to.bind(from, type);
    after =
      from === null
        ? `isNull(${key}) AND ${behind}`
        : `(ifNull(${key} ${beyond} ${value}, false) OR isNull(${key}) OR (ifNull(${key} = ${value}, false) AND ${behind}))`;
    // The row that ended the page is not read again, also where its sum is now another in the last digit.
    after = `HAVING (${after}) AND (digest, project) <> (${place[1]}, ${place[2]})`;
  }
  // An id has no bound: its digest tells those apart that are equal in the order.
  const found = await ask<Row>(
    `SELECT assumeNotNull(t.${columnOf[query.of]}) AS id, t.project AS project, ${TOTALS}, lower(hex(MD5(id))) AS digest, ${key}
     FROM traces AS t FINAL WHERE ${where} GROUP BY project, id ${after}
     ORDER BY ${key} ${direction} NULLS LAST, last_seen ${direction}, digest ${direction}, project ${direction} LIMIT ${query.limit + 1}`,
    to.params,
  );
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const [seen, digest, at] = last?.slice(LAST) ?? [];
  return {
    items: page.map(decode),
    ...(found.length > query.limit && last !== undefined
      ? { next: rollUpPosition(keyOf(at), String(seen), String(digest), String(last[1])) }
      : {}),
  };
};

/** Whole numbers come as texts. */
const keyOf = (column: Row[number] | undefined): RollUpKey =>
  typeof column === 'string'
    ? BigInt(column)
    : typeof column === 'number' || typeof column === 'bigint'
      ? column
      : null;

/**
 * Reads a page of sessions or users. By default the one seen last comes first: an identity stands where its newest trace in the window
 * does.
 */
export const listRollUps = async (ask: Ask, query: RollUpQuery): Promise<Page<RollUp>> => {
  const { sort = 'last_seen', order = 'desc' } = query;
  if (sort !== 'last_seen' || order !== 'desc') return addedUp(ask, { ...query, sort, order });
  const to = binding();
  const where = inWindow(query, to);
  let after = '';
  if (query.after !== undefined) {
    const [at, traceId, project] = query.after;
    const id = traceIdAt(traceId);
    after = `HAVING (last_seen, newest, t.project) < (${to.bind(instantOf(at), 'Int64')}, ${to.bind(id, 'String')}, ${to.bind(storable(String(project)), 'String')})`;
  }
  const found = await ask<Row>(
    `SELECT assumeNotNull(t.${columnOf[query.of]}) AS id, t.project, ${TOTALS}, argMax(t.trace_id, (t.start_ns, t.trace_id)) AS newest
     FROM traces AS t FINAL WHERE ${where} GROUP BY t.project, id ${after}
     ORDER BY last_seen DESC, newest DESC, t.project DESC LIMIT ${query.limit + 1}`,
    to.params,
  );
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const items = page.map(decode);
  return found.length > query.limit && last !== undefined
    ? { items, next: [String(last[LAST]), String(last[TRACE]), String(last[1])] }
    : { items };
};
