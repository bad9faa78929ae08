import { unscaled } from '../../signals/judgements.ts';
import type { Page, RollUp, RollUpQuery } from '../../signals/query.ts';
import { instantOf, projectNumberAt, traceIdAt } from '../../signals/position.ts';
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

/**
 * Reads a page of sessions or users, the one seen last first. It walks traces from the newest back: the newest trace of an identity in
 * the window is where the identity stands in the list, so a page reads little more than it shows.
 */
export const listRollUps = async (ask: Ask, query: RollUpQuery): Promise<Page<RollUp>> => {
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
       SELECT count(*), count(*) FILTER (WHERE t.status = ${STATUS_ERROR}), ${scaledSum('t.total_cost')}, max(t.currency),
         min(t.start_ns), max(t.start_ns)
       FROM trace_facets AS f JOIN traces AS t ON t.project = f.project AND t.trace_id = f.trace_id
       WHERE f.project = k.project AND f.facet = ${facet} AND f.value = signal_key(k.id)${printWindow(query, 'f.start_ns', adding)}
         AND t.${column} = k.id
     ) AS a WHERE a.min IS NOT NULL ORDER BY k.place`,
    adding.values,
  );
  const last = page.at(-1);
  return {
    items: items.map((row) => decodeRollUp(row.with(COST, unscaled(row[COST] as number | null) ?? null))),
    ...(found.length > query.limit && last !== undefined ? { next: [last[2].toString(), last[1], last[0]] } : {}),
  };
};
