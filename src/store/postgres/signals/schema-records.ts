/**
 * What is kept beside the signals: datasets, experiments, saved views, the audit log. They are read by the time of making, which
 * replacing a record does not change.
 */
export const records = `
CREATE TABLE datasets (
  dataset bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, dataset_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, description text, at_ns bigint NOT NULL
);
CREATE UNIQUE INDEX datasets_by_id ON datasets (project, signal_key(dataset_id));
CREATE UNIQUE INDEX datasets_by_name ON datasets (project, signal_key(name));
CREATE INDEX datasets_by_time ON datasets (project, at_ns, dataset);

CREATE TABLE dataset_items (
  item bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dataset bigint NOT NULL, item_id text COLLATE "C" NOT NULL, at_ns bigint NOT NULL, source_trace_id text COLLATE "C",
  input text NOT NULL, expected text, metadata text
);
CREATE UNIQUE INDEX dataset_items_by_id ON dataset_items (dataset, signal_key(item_id));
CREATE INDEX dataset_items_by_time ON dataset_items (dataset, at_ns, item);
CREATE INDEX dataset_items_by_source ON dataset_items (signal_key(source_trace_id), at_ns)
  WHERE source_trace_id IS NOT NULL AND expected IS NOT NULL;

CREATE TABLE experiments (
  experiment bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, experiment_id text COLLATE "C" NOT NULL, name text NOT NULL, dataset_id text, service_version text,
  metadata text, at_ns bigint NOT NULL
);
CREATE UNIQUE INDEX experiments_by_id ON experiments (project, signal_key(experiment_id));
CREATE INDEX experiments_by_time ON experiments (project, at_ns, experiment);

-- Of path and views one is there.
CREATE TABLE saved_views (
  view bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, view_id text COLLATE "C" NOT NULL, name text NOT NULL, path text, views text, user_id text COLLATE "C",
  at_ns bigint NOT NULL
);
CREATE UNIQUE INDEX saved_views_by_id ON saved_views (project, signal_key(view_id));
CREATE INDEX saved_views_by_time ON saved_views (project, at_ns, view);
CREATE INDEX saved_views_by_user ON saved_views (signal_key(user_id)) WHERE user_id IS NOT NULL;

CREATE TABLE audit (
  entry bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  audit_id text NOT NULL, at_ns bigint NOT NULL, operation text NOT NULL, project text COLLATE "C" NOT NULL, subject text,
  key_fingerprint text, remote_address text NOT NULL, resource text NOT NULL, outcome text NOT NULL
);
CREATE INDEX audit_by_time ON audit (at_ns, entry);
CREATE INDEX audit_by_project ON audit (signal_key(project), at_ns, entry);
`;
