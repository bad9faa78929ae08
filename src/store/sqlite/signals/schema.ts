import type { FileKind } from '../connection.ts';
import { evaluation } from './schema-evaluation.ts';
import { hours } from './schema-hours.ts';
import { savedViews } from './schema-views.ts';

/** What `schema_version` holds when this build has opened a file. @see Interface specification, "Versioning" */
export const SCHEMA_VERSION = 2;

/** Stands in the header of every file of ours ("svcs" in ASCII), so that the database of another program is recognised. */
const APPLICATION_ID = 0x73766373;

/** The same in the header of the full-text side file ("svcf"). */
export const SEARCH_APPLICATION_ID = 0x73766366;

/**
 * Columns of a span that lists and totals read. A row is narrow, because payloads live elsewhere, the project is a number, and what its trace has in common (service, user, session, ...) is one row of `trace_contexts`.
 */
const signals = `
CREATE TABLE IF NOT EXISTS projects (project INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE IF NOT EXISTS traces (
  trace INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  trace_id TEXT NOT NULL,
  start_ns INTEGER NOT NULL,
  duration_ns INTEGER,
  name TEXT NOT NULL,
  status INTEGER NOT NULL,
  span_count INTEGER NOT NULL,
  error_count INTEGER NOT NULL,
  total_cost REAL,
  currency TEXT,
  input_tokens INTEGER,
  output_tokens INTEGER,
  total_tokens INTEGER,
  models TEXT,
  tags TEXT,
  environment TEXT, service_name TEXT, service_version TEXT, release TEXT,
  user_id TEXT, session_id TEXT, thread_id TEXT, run_id TEXT, experiment_id TEXT,
  scores TEXT,
  feedback TEXT,
  facets TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS traces_by_id ON traces (trace_id, project);
-- Covers the windows of analytics, beside the default order of the list.
CREATE INDEX IF NOT EXISTS traces_by_start
  ON traces (project, start_ns, trace, status, duration_ns, total_cost, input_tokens, output_tokens);
CREATE INDEX IF NOT EXISTS traces_by_duration ON traces (project, duration_ns, trace);
CREATE INDEX IF NOT EXISTS traces_by_cost ON traces (project, total_cost, trace);
CREATE INDEX IF NOT EXISTS traces_by_span_count ON traces (project, span_count, trace);

CREATE TABLE IF NOT EXISTS facet_values (
  id INTEGER PRIMARY KEY, project INTEGER NOT NULL, facet INTEGER NOT NULL, value TEXT NOT NULL,
  UNIQUE (project, facet, value)
);
CREATE TABLE IF NOT EXISTS trace_facets (
  value INTEGER NOT NULL, start_ns INTEGER NOT NULL, trace INTEGER NOT NULL,
  PRIMARY KEY (value, start_ns, trace)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS trace_contexts (
  trace INTEGER NOT NULL, context INTEGER NOT NULL,
  environment TEXT, service_name TEXT, service_version TEXT, session_id TEXT, thread_id TEXT, user_id TEXT,
  request_id TEXT, release TEXT, run_id TEXT, resource_id TEXT, experiment_id TEXT, tags TEXT,
  PRIMARY KEY (trace, context)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS spans (
  span INTEGER PRIMARY KEY,
  trace INTEGER NOT NULL,
  context INTEGER NOT NULL,
  span_id TEXT NOT NULL,
  parent_span_id TEXT,
  name TEXT NOT NULL,
  kind INTEGER NOT NULL,
  status INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,
  end_ns INTEGER,
  model TEXT, provider TEXT, entity_name TEXT,
  input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
  total_cost REAL, currency TEXT,
  repeats_usage INTEGER NOT NULL,
  project INTEGER NOT NULL,
  received_ns INTEGER NOT NULL,
  is_event INTEGER NOT NULL,
  input_cost REAL, output_cost REAL, is_estimated INTEGER, price_book_id TEXT,
  usage_details TEXT,
  error_message TEXT, error_type TEXT,
  scope_name TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS spans_by_id ON spans (trace, span_id);
CREATE INDEX IF NOT EXISTS spans_by_start ON spans (project, start_ns);
-- Analytics over model calls read this index alone.
CREATE INDEX IF NOT EXISTS spans_priced
  ON spans (project, start_ns, end_ns, status, total_cost, input_tokens, output_tokens, model, provider, entity_name)
  WHERE total_cost IS NOT NULL;

-- Payloads of a few spans that came by themselves, until there are enough of them for a block, and all those of older builds.
CREATE TABLE IF NOT EXISTS span_payloads (
  span INTEGER PRIMARY KEY,
  forms INTEGER NOT NULL,
  input TEXT, input_attribute TEXT,
  output TEXT, output_attribute TEXT,
  attributes TEXT, events TEXT, links TEXT,
  error_stack TEXT, error_message TEXT
);

-- Spans that are gone, but whose words the side file may still hold. To take words out of the index their text is needed, so
-- the payload stays, out of every reader's sight, until the side file has erased it; then both rows leave.
CREATE TABLE IF NOT EXISTS pending_erasures (seq INTEGER PRIMARY KEY AUTOINCREMENT, span INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS pending_erasures_by_span ON pending_erasures (span);

CREATE TABLE IF NOT EXISTS trace_scores (
  project INTEGER NOT NULL, scorer_id TEXT NOT NULL, trace INTEGER NOT NULL, mean REAL NOT NULL,
  PRIMARY KEY (project, scorer_id, trace)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS trace_scores_by_mean ON trace_scores (project, scorer_id, mean, trace);

CREATE TABLE IF NOT EXISTS logs (
  log INTEGER PRIMARY KEY, project INTEGER NOT NULL, log_id TEXT NOT NULL, at_ns INTEGER NOT NULL, received_ns INTEGER NOT NULL,
  severity INTEGER NOT NULL, message TEXT NOT NULL, logger TEXT, trace_id TEXT, span_id TEXT,
  environment TEXT, service_name TEXT, session_id TEXT, user_id TEXT,
  attributes TEXT, correlation TEXT
);
CREATE INDEX IF NOT EXISTS logs_by_time ON logs (project, at_ns);
CREATE INDEX IF NOT EXISTS logs_by_severity ON logs (project, severity, at_ns);
CREATE INDEX IF NOT EXISTS logs_by_trace ON logs (trace_id, at_ns) WHERE trace_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS logs_by_session ON logs (project, session_id, at_ns) WHERE session_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS logs_by_user ON logs (project, user_id, at_ns) WHERE user_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS metric_points (
  point INTEGER PRIMARY KEY, project INTEGER NOT NULL, name TEXT NOT NULL, type INTEGER NOT NULL, unit TEXT, description TEXT,
  at_ns INTEGER NOT NULL, received_ns INTEGER NOT NULL, value REAL, sum REAL, count INTEGER, bounds TEXT, bucket_counts TEXT,
  temporality TEXT, service_name TEXT, attributes TEXT, correlation TEXT, exemplars TEXT
);
CREATE INDEX IF NOT EXISTS metric_points_by_name ON metric_points (project, name, at_ns);
CREATE INDEX IF NOT EXISTS metric_points_by_time ON metric_points (project, at_ns);

CREATE TABLE IF NOT EXISTS scores (
  score INTEGER PRIMARY KEY, project INTEGER NOT NULL, score_id TEXT NOT NULL, trace_id TEXT, span_id TEXT,
  scorer_id TEXT NOT NULL, scorer_version TEXT, value REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL, label TEXT, reason TEXT,
  source TEXT NOT NULL, score_trace_id TEXT, at_ns INTEGER NOT NULL, received_ns INTEGER NOT NULL, experiment_id TEXT,
  cost TEXT, correlation TEXT, metadata TEXT,
  UNIQUE (project, score_id)
);
CREATE INDEX IF NOT EXISTS scores_by_time ON scores (project, at_ns);
CREATE INDEX IF NOT EXISTS scores_by_scorer ON scores (project, scorer_id, at_ns);
CREATE INDEX IF NOT EXISTS scores_by_trace ON scores (trace_id, project) WHERE trace_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS scores_by_span ON scores (span_id, project) WHERE trace_id IS NULL;
CREATE INDEX IF NOT EXISTS scores_by_experiment ON scores (project, experiment_id, at_ns) WHERE experiment_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS feedback (
  feedback INTEGER PRIMARY KEY, project INTEGER NOT NULL, feedback_id TEXT NOT NULL, trace_id TEXT, span_id TEXT,
  kind TEXT NOT NULL, value NOT NULL, comment TEXT, author_kind TEXT, author_id TEXT, at_ns INTEGER NOT NULL,
  received_ns INTEGER NOT NULL, metadata TEXT, correlation TEXT,
  UNIQUE (project, feedback_id)
);
CREATE INDEX IF NOT EXISTS feedback_by_time ON feedback (project, at_ns);
CREATE INDEX IF NOT EXISTS feedback_by_trace ON feedback (trace_id, at_ns) WHERE trace_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS feedback_by_span ON feedback (span_id, at_ns) WHERE trace_id IS NULL;

CREATE TABLE IF NOT EXISTS aspect_notes (
  note INTEGER PRIMARY KEY, project INTEGER NOT NULL, note_id TEXT NOT NULL, trace_id TEXT NOT NULL, span_id TEXT,
  aspect TEXT NOT NULL, text TEXT NOT NULL, model TEXT, at_ns INTEGER NOT NULL, received_ns INTEGER NOT NULL, correlation TEXT,
  UNIQUE (project, note_id)
);
CREATE INDEX IF NOT EXISTS aspect_notes_by_time ON aspect_notes (project, at_ns);
CREATE INDEX IF NOT EXISTS aspect_notes_by_trace ON aspect_notes (trace_id, at_ns);
CREATE INDEX IF NOT EXISTS aspect_notes_by_aspect ON aspect_notes (project, aspect, at_ns);

CREATE TABLE IF NOT EXISTS ingest_keys (ingest_key TEXT PRIMARY KEY, at_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ingest_keys_by_time ON ingest_keys (at_ns);
`;

/**
 * Payloads of many spans together, compressed. A block stands under the number of its first span; `spans` says which it holds. Its body
 * is cut into parts of which eight fill a page: whole blocks would leave a fifth of their pages empty.
 */
const payloadBlocks = `
CREATE TABLE IF NOT EXISTS payload_blocks (
  block INTEGER PRIMARY KEY, spans BLOB NOT NULL, first_part INTEGER NOT NULL, parts INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS payload_parts (part INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
`;

/**
 * Traces whose totals are behind their spans for a while; those of very many spans apart, and those that an answer waits for, by the number of
 * their list.
 */
const lateTotals = `
CREATE TABLE IF NOT EXISTS late_totals (trace INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS late_totals_large (trace INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS awaited_totals (list INTEGER NOT NULL, trace INTEGER NOT NULL, PRIMARY KEY (list, trace)) WITHOUT ROWID;
`;

const audit = `
CREATE TABLE IF NOT EXISTS audit (
  entry INTEGER PRIMARY KEY, audit_id TEXT NOT NULL, at_ns INTEGER NOT NULL, operation TEXT NOT NULL, project TEXT NOT NULL,
  subject TEXT, key_fingerprint TEXT, remote_address TEXT NOT NULL, resource TEXT NOT NULL, outcome TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS audit_by_time ON audit (at_ns);
CREATE INDEX IF NOT EXISTS audit_by_project ON audit (project, at_ns);
`;

/**
 * Steps from one version to the next: version n is made by applying the first n of them. Each is idempotent, runs in a
 * transaction of its own with its row in `schema_version`, and is never edited after a release.
 */
export const migrations: readonly { readonly version: number; readonly sql: string }[] = [
  { version: 1, sql: signals },
  { version: SCHEMA_VERSION, sql: audit + evaluation },
];

/**
 * Spans that a report of calls may read: those that name a model, or carry a cost or tokens. Statements say it in these very words,
 * without which SQLite does not take the index.
 */
export const CALLS = (spans: string): string =>
  `(${['model', 'total_cost', 'input_tokens', 'output_tokens'].map((column) => `${spans}.${column} IS NOT NULL`).join(' OR ')})`;

/**
 * What the file has besides, without a version of its own, applied at every start: indexes, the table of saved views, what hours add up to, which totals are
 * late, and the blocks of payloads. The specification fixes the version at 2; an older build, which is not promised to read a newer file, finds spans of blocks
 * without their payloads.
 * `spans_calls` is all that analytics over model calls read. `spans_priced`, which files of older builds have, held no call that failed.
 */
const standing = `
CREATE INDEX IF NOT EXISTS spans_calls
  ON spans (project, start_ns, end_ns, status, kind, repeats_usage, total_cost, input_tokens, output_tokens, model, provider, entity_name)
  WHERE ${CALLS('spans').replaceAll('spans.', '')};
DROP INDEX IF EXISTS spans_priced;
${payloadBlocks}${savedViews}${hours}${lateTotals}`;

/** The side file: an index without the texts. Its progress is one row, written in the transaction that it describes. */
export const searchSchema = `
CREATE VIRTUAL TABLE IF NOT EXISTS span_search USING fts5 (
  input, output, content='', columnsize=0, detail=none, tokenize='unicode61 remove_diacritics 0'
);
CREATE TABLE IF NOT EXISTS progress (
  id INTEGER PRIMARY KEY CHECK (id = 1), store INTEGER NOT NULL, high_water INTEGER NOT NULL, erased_seq INTEGER NOT NULL,
  purge_due INTEGER NOT NULL
);
`;

/** The data file of signals. */
export const SIGNALS_FILE: FileKind = {
  store: 'signal store',
  applicationId: APPLICATION_ID,
  schemaVersion: SCHEMA_VERSION,
  migrations,
  standing,
};
