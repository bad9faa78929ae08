/** Named links and boards. `path` of the one and `views` of the other are never both there. */
export const savedViews = `
CREATE TABLE IF NOT EXISTS saved_views (
  view INTEGER PRIMARY KEY, project INTEGER NOT NULL, view_id TEXT NOT NULL, name TEXT NOT NULL, path TEXT, views TEXT,
  user_id TEXT, at_ns INTEGER NOT NULL,
  UNIQUE (project, view_id)
);
CREATE INDEX IF NOT EXISTS saved_views_by_time ON saved_views (project, at_ns);
CREATE INDEX IF NOT EXISTS saved_views_by_user ON saved_views (user_id) WHERE user_id IS NOT NULL;
`;
