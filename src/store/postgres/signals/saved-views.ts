import { MOST_SAVED_VIEWS, type SavedViewStore } from '../../signals/saved-views.ts';
import { decodeView, encodeView } from '../../signals/rows/saved-view.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { isStorable, storable } from '../../signals/storable.ts';
import type { Ask, Database } from '../connection.ts';
import type { ProjectReach } from '../../../model/scope.ts';
import { lockProject } from './projects.ts';
import { inReach } from './reach.ts';
import { conditionsOf, readRecords, type RecordTable } from './record-page.ts';

export const VIEWS: RecordTable = {
  from: 'saved_views AS r JOIN projects AS p ON p.project = r.project',
  key: 'view',
  columns: 'r.view_id, r.name, p.name, r.path, r.views, r.at_ns',
  weight: 'coalesce(octet_length(r.path), 0) + coalesce(octet_length(r.views), 0)',
};

const findView = async (ask: Ask, viewId: string, reach: ProjectReach): Promise<Row | undefined> => {
  if (!isStorable(viewId)) return undefined;
  const [reached, values] = inReach(reach, 2);
  const [row] = await ask<Row>(
    `SELECT ${VIEWS.columns} FROM ${VIEWS.from} WHERE signal_key(r.view_id) = signal_key($1) AND r.view_id = $1 AND ${reached}
     ORDER BY p.name LIMIT 1`,
    [viewId, ...values],
  );
  return row;
};

/** Saved views and boards. @see SavedViewStore */
export const savedViews = ({ ask, transaction }: Database): SavedViewStore => ({
  putView: (view) =>
    transaction(async (within) => {
      const [projectName, viewId, ...rest] = encodeView(view).map((value) =>
        typeof value === 'string' ? storable(value) : value,
      );
      const project = await lockProject(within, projectName as string);
      const [[others] = [0n]] = await within<[bigint]>(
        'SELECT count(*) FROM saved_views WHERE project = $1 AND view_id <> $2',
        [project, viewId ?? null],
      );
      if (others >= MOST_SAVED_VIEWS) return undefined;
      await within(
        `INSERT INTO saved_views (project, view_id, name, path, views, user_id, at_ns) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (project, signal_key(view_id)) DO UPDATE SET name = excluded.name, path = excluded.path,
           views = excluded.views, user_id = excluded.user_id`,
        [project, viewId ?? null, ...rest],
      );
      const stored = await findView(within, viewId as string, [projectName as string]);
      return stored && decodeView(stored);
    }),
  listViews: (query) => {
    const [reached, values] = inReach(query.projects, 1);
    return readRecords(ask, VIEWS, decodeView, query, 'desc', conditionsOf([reached], [...values]));
  },
  findView: async (viewId, reach) => {
    const row = await findView(ask, viewId, reach);
    return row && decodeView(row);
  },
  deleteView: async (project, viewId) => {
    if (!isStorable(project) || !isStorable(viewId)) return { deleted: 0, pending: false };
    const gone = await transaction((within) =>
      within(
        `DELETE FROM saved_views AS r USING projects AS p WHERE p.project = r.project AND p.name = $1
         AND signal_key(r.view_id) = signal_key($2) AND r.view_id = $2 RETURNING 1`,
        [project, viewId],
      ),
    );
    return { deleted: gone.length, pending: false };
  },
  deleteViewsOfUser: async (userId, reach) => {
    if (!isStorable(userId)) return { deleted: 0, pending: false };
    const [reached, values] = inReach(reach, 2);
    const gone = await transaction((within) =>
      within(
        `DELETE FROM saved_views AS r USING projects AS p WHERE p.project = r.project AND ${reached}
         AND signal_key(r.user_id) = signal_key($1) AND r.user_id = $1 RETURNING 1`,
        [userId, ...values],
      ),
    );
    return { deleted: gone.length, pending: false };
  },
});
