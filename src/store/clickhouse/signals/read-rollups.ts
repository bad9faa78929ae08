import { unscaled } from '../../signals/judgements.ts';
import type { Page, RollUp, RollUpQuery } from '../../signals/query.ts';
import { instantOf, traceIdAt } from '../../signals/position.ts';
import { STATUS_ERROR } from '../../signals/rows/codes.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeRollUp } from '../../signals/rows/decode-records.ts';
import { storable } from '../../signals/storable.ts';
import { binding } from '../binding.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { scaledSum } from './sums.ts';

const columnOf = { session: 'session_id', user: 'user_id' } as const;
/** Where the sum of the costs stands in a row, and where what a page ends at. */
const COST = 4;
const LAST = 7;
const TRACE = 8;

/** Reads a page of sessions or users, the one seen last first. An identity stands where its newest trace in the window does. */
export const listRollUps = async (ask: Ask, query: RollUpQuery): Promise<Page<RollUp>> => {
  const column = columnOf[query.of];
  const to = binding();
  const parts = [inReach(query.projects, to, 't.'), `t.${column} IS NOT NULL`];
  if (query.from !== undefined) parts.push(`t.start_ns >= ${to.bind(query.from, 'Int64')}`);
  if (query.to !== undefined) parts.push(`t.start_ns < ${to.bind(query.to, 'Int64')}`);
  let after = '';
  if (query.after !== undefined) {
    const [at, traceId, project] = query.after;
    const id = traceIdAt(traceId);
    after = `HAVING (last, newest, t.project) < (${to.bind(instantOf(at), 'Int64')}, ${to.bind(id, 'String')}, ${to.bind(storable(String(project)), 'String')})`;
  }
  const found = await ask<Row>(
    `SELECT assumeNotNull(t.${column}) AS id, t.project, count(), countIf(t.status = ${STATUS_ERROR}), ${scaledSum('t.total_cost')},
       max(t.currency), min(t.start_ns), max(t.start_ns) AS last, argMax(t.trace_id, (t.start_ns, t.trace_id)) AS newest
     FROM traces AS t FINAL WHERE ${parts.join(' AND ')} GROUP BY t.project, id ${after}
     ORDER BY last DESC, newest DESC, t.project DESC LIMIT ${query.limit + 1}`,
    to.params,
  );
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const items = page.map((row) =>
    decodeRollUp(row.slice(0, TRACE).with(COST, unscaled(row[COST] as number | null) ?? null)),
  );
  return found.length > query.limit && last !== undefined
    ? { items, next: [String(last[LAST]), String(last[TRACE]), String(last[1])] }
    : { items };
};
