/** Tables of datasets and experiments. They are read by the time of making, which replacing a record does not change. */
export const evaluation = `
CREATE TABLE IF NOT EXISTS datasets (
  dataset INTEGER PRIMARY KEY, project INTEGER NOT NULL, dataset_id TEXT NOT NULL, name TEXT NOT NULL, description TEXT,
  at_ns INTEGER NOT NULL,
  UNIQUE (project, dataset_id), UNIQUE (project, name)
);
CREATE INDEX IF NOT EXISTS datasets_by_time ON datasets (project, at_ns);

CREATE TABLE IF NOT EXISTS dataset_items (
  item INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, item_id TEXT NOT NULL, at_ns INTEGER NOT NULL, source_trace_id TEXT,
  input TEXT NOT NULL, expected TEXT, metadata TEXT,
  UNIQUE (dataset, item_id)
);
CREATE INDEX IF NOT EXISTS dataset_items_by_time ON dataset_items (dataset, at_ns);
CREATE INDEX IF NOT EXISTS dataset_items_by_source
  ON dataset_items (source_trace_id, at_ns) WHERE source_trace_id IS NOT NULL AND expected IS NOT NULL;

CREATE TABLE IF NOT EXISTS experiments (
  experiment INTEGER PRIMARY KEY, project INTEGER NOT NULL, experiment_id TEXT NOT NULL, name TEXT NOT NULL, dataset_id TEXT,
  service_version TEXT, metadata TEXT, at_ns INTEGER NOT NULL,
  UNIQUE (project, experiment_id)
);
CREATE INDEX IF NOT EXISTS experiments_by_time ON experiments (project, at_ns);
`;
