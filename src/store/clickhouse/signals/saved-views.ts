import type { ProjectReach } from '../../../model/scope.ts';
import { MOST_SAVED_VIEWS, type SavedViewStore } from '../../signals/saved-views.ts';
import type { DeleteOutcome } from '../../signals/query.ts';
import { decodeView, encodeView } from '../../signals/rows/saved-view.ts';
import { isStorable } from '../../signals/storable.ts';
import { binding } from '../binding.ts';
import type { Database, Params } from '../connection.ts';
import { removeRows } from './erase.ts';
import { findIn, oneAtATime, placeOf, storableRow } from './evaluation.ts';
import { inReach } from './reach.ts';
import { listByTime, type RecordTable } from './record-page.ts';
import { VIEWS } from './tables.ts';
import type { Versions } from './versions.ts';
import { weightOf } from './whole-rows.ts';

const LIVES = 0;
export const VIEW_RECORDS: RecordTable = {
  of: VIEWS,
  ties: ['row', 'project'],
  columns: 'r.view_id, r.name, r.project, r.path, r.views, r.at_ns',
  weight: weightOf(['path', 'views']),
};

/** Saved views and boards. @see SavedViewStore */
export const savedViews = (database: Database, versions: Versions): SavedViewStore => {
  const { ask, insert } = database;
  const alone = oneAtATime();
  const remove = async (condition: string, params: Params): Promise<DeleteOutcome> => {
    const [[count] = ['0']] = await ask<[string]>(
      `SELECT count() FROM saved_views AS r FINAL WHERE ${condition}`,
      params,
    );
    const removed = Number(count);
    if (removed > 0) await removeRows(database, VIEWS, condition, params);
    return { deleted: removed, pending: removed > 0 };
  };
  const find = (viewId: string, reach: ProjectReach) => findIn(ask, VIEW_RECORDS, 'view_id', viewId, reach);

  return {
    putView: (view) =>
      alone(async () => {
        const row = storableRow(encodeView(view));
        const [project, viewId] = row as [string, string];
        const [[others] = ['0']] = await ask<[string]>(
          'SELECT count() FROM saved_views FINAL WHERE project = {project:String} AND view_id <> {view:String}',
          { project, view: viewId },
        );
        if (Number(others) >= MOST_SAVED_VIEWS) return undefined;
        const version = versions.take();
        const place = await placeOf(ask, VIEW_RECORDS, [project, viewId], row.at(-1) as bigint, version);
        await insert(VIEWS, [[...row.slice(0, -1), ...place, version, LIVES]]);
        const stored = await find(viewId, [project]);
        return stored && decodeView(stored);
      }),
    listViews: (query) => listByTime(ask, VIEW_RECORDS, query, 'desc', decodeView),
    findView: async (viewId, reach) => {
      const row = await find(viewId, reach);
      return row && decodeView(row);
    },
    deleteView: (project, viewId) =>
      alone(async () => {
        if (!isStorable(project) || !isStorable(viewId)) return { deleted: 0, pending: false };
        return remove('r.project = {project:String} AND r.view_id = {view:String}', { project, view: viewId });
      }),
    deleteViewsOfUser: (userId, reach) =>
      alone(async () => {
        if (!isStorable(userId)) return { deleted: 0, pending: false };
        const to = binding();
        return remove(`r.user_id = ${to.bind(userId, 'String')} AND ${inReach(reach, to, 'r.')}`, to.params);
      }),
  };
};
