import type { NewSavedView, SavedView } from '../saved-views.ts';
import type { Row } from './columns.ts';
import { rowReader } from './decode.ts';

/** @returns project name, view_id, name, path, views, user_id, at_ns */
export const encodeView = ({ viewId, name, project, createdAt, shows, userId }: NewSavedView): Row => [
  project,
  viewId,
  name,
  shows.kind === 'page' ? shows.path : null,
  shows.kind === 'board' ? JSON.stringify(shows.views) : null,
  userId ?? null,
  createdAt,
];

/** Place of the user in a row of `decodeWrittenView`. */
const WRITTEN_USER = 6;

export const decodeView = (row: Row): SavedView => {
  const r = rowReader(row);
  const viewId = r.mustText();
  const name = r.mustText();
  const project = r.mustText();
  const path = r.text();
  const views = r.json<string[]>() ?? [];
  const createdAt = r.mustNanos();
  return {
    viewId,
    name,
    project,
    createdAt,
    shows: path === undefined ? { kind: 'board', views } : { kind: 'page', path },
  };
};

/** @param row what `decodeView` reads, and then user_id */
export const decodeWrittenView = (row: Row): NewSavedView => {
  const userId = row[WRITTEN_USER] ?? undefined;
  return { ...decodeView(row), ...(userId === undefined ? {} : { userId: userId as string }) };
};
