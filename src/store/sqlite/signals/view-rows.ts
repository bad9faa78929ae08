import type Database from 'better-sqlite3';
import type { ProjectReach } from '../../../model/scope.ts';
import type { Paging } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { MOST_SAVED_VIEWS } from '../../signals/saved-views.ts';
import { listByTime } from './read-records.ts';
import type { RowPage } from './read-traces.ts';
import { projectNumbers, type Statements } from './statements.ts';

export const VIEW = 'r.view_id, r.name, p.name, r.path, r.views, r.at_ns';

export type ViewWriter = {
  /** @returns the time of its making; `undefined` when the project has no room for another */
  putView(row: Row): bigint | undefined;
  /** @returns how many went: one or none */
  deleteView(project: string, viewId: string): number;
  /** @param projects names; `null` is all of them */
  deleteViewsOfUser(userId: string, projects: readonly string[] | null): number;
};

export const viewWriterOf = (db: Database.Database, projectNumber: (name: string) => number): ViewWriter => {
  const countOthers = db
    .prepare<[number, string], number>('SELECT count(*) FROM saved_views WHERE project = ? AND view_id <> ?')
    .pluck();
  const put = db
    .prepare<unknown[], bigint>(
      `INSERT INTO saved_views (project, view_id, name, path, views, user_id, at_ns) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (project, view_id) DO UPDATE SET name = excluded.name, path = excluded.path, views = excluded.views,
         user_id = excluded.user_id
       RETURNING at_ns`,
    )
    .pluck()
    .safeIntegers();
  const deleteOne = db.prepare(
    'DELETE FROM saved_views WHERE view_id = ? AND project = (SELECT project FROM projects WHERE name = ?)',
  );
  const deleteOfUser = db.prepare(
    `DELETE FROM saved_views WHERE user_id = ? AND
       project IN (SELECT project FROM projects WHERE ? IS NULL OR name IN (SELECT value FROM json_each(?)))`,
  );
  return {
    putView: ([projectName, viewId, ...rest]) => {
      const project = projectNumber(projectName as string);
      if ((countOthers.get(project, viewId as string) ?? 0) >= MOST_SAVED_VIEWS) return undefined;
      const madeNs = put.get(project, viewId, ...rest);
      if (madeNs === undefined) throw new Error('a saved view was neither inserted nor replaced');
      return madeNs;
    },
    deleteView: (project, viewId) => deleteOne.run(viewId, project).changes,
    deleteViewsOfUser: (userId, projects) => {
      const names = projects === null ? null : JSON.stringify(projects);
      return deleteOfUser.run(userId, names, names).changes;
    },
  };
};

export const listViews = (statements: Statements, query: Paging): RowPage =>
  listByTime(statements, { from: 'saved_views', key: 'view', columns: VIEW }, query, 'desc', () => {});

export const findView = (statements: Statements, viewId: string, reach: ProjectReach): Row | undefined =>
  statements
    .exact<Row>(
      `SELECT ${VIEW} FROM saved_views AS r JOIN projects AS p ON p.project = r.project
       WHERE r.project IN (SELECT value FROM json_each(?)) AND r.view_id = ? ORDER BY p.name LIMIT 1`,
    )
    .get(JSON.stringify(projectNumbers(statements, reach)), viewId);
