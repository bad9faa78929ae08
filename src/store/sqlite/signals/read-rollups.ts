import type { RollUpQuery } from '../../signals/query.ts';
import { facets, STATUS_ERROR } from '../../signals/rows/codes.ts';
import type { RowPage } from './read-traces.ts';
import { timeAndRow } from '../../signals/position.ts';
import { projectNumbers, type Statements } from './statements.ts';
import type { Row } from '../../signals/rows/columns.ts';

const columnOf = { session: 'session_id', user: 'user_id' } as const;
const facetOf = { session: facets.sessionId, user: facets.userId } as const;

/**
 * Reads a page of sessions or users, the one seen last first. It walks traces from the newest back: the newest trace of an
 * identity in the window is where the identity stands in the list, so a page reads little more than it shows.
 */
export const listRollUps = (statements: Statements, query: RollUpQuery): RowPage => {
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
    `SELECT v.value, p.name, count(*), sum(t.status = ${STATUS_ERROR}), sum(t.total_cost), max(t.currency), min(t.start_ns), max(t.start_ns)
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
