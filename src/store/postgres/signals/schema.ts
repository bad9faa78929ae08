import type { Schema } from '../migrate.ts';
import { records } from './schema-records.ts';
import { sharing } from './schema-sharing.ts';

/** What `schema_version` holds when this build has opened a database. */
export const SCHEMA_VERSION = 3;

/**
 * Spans that a report of calls may read: those that name a model, or carry a cost or tokens. Statements say it in these very words,
 * without which PostgreSQL does not take the index.
 */
export const CALLS = (spans: string): string =>
  `(${['model', 'total_cost', 'input_tokens', 'output_tokens'].map((column) => `${spans}.${column} IS NOT NULL`).join(' OR ')})`;

/**
 * Text stands in the order of its bytes (`COLLATE "C"`), which is that of code points, whatever the database was made with. JSON is text:
 * what a sender wrote comes back as it was written. Senders choose the length of names and ids, and an index entry has a bound:
 * `signal_key` is a short text in the place of a long one, and what an index finds by it is compared in full.
 */
const signals = `
CREATE FUNCTION signal_key(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(value) <= 512 THEN value
    ELSE left(value, 64) || encode(sha256(convert_to(value, 'UTF8')), 'hex') END
$$;

CREATE TABLE projects (
  project integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE
);

-- Totals of a trace are of its spans, and are written with them. The row is also the lock of all that changes the trace. One without a
-- name is seen by nobody: it is locked for signals that came before any span, and goes with the same transaction.
CREATE TABLE traces (
  project integer NOT NULL,
  trace_id uuid NOT NULL,
  start_ns bigint NOT NULL DEFAULT 0,
  duration_ns bigint,
  name text COLLATE "C" NOT NULL DEFAULT '',
  status smallint NOT NULL DEFAULT 0,
  span_count integer NOT NULL DEFAULT 0,
  error_count integer NOT NULL DEFAULT 0,
  total_cost float8,
  currency text COLLATE "C",
  input_tokens bigint,
  output_tokens bigint,
  total_tokens bigint,
  models text,
  tags text,
  environment text COLLATE "C", service_name text COLLATE "C", service_version text COLLATE "C", release text COLLATE "C",
  user_id text COLLATE "C", session_id text COLLATE "C", thread_id text COLLATE "C", run_id text COLLATE "C",
  experiment_id text COLLATE "C",
  scores text,
  feedback text,
  facets text NOT NULL DEFAULT '[]',
  PRIMARY KEY (project, trace_id)
) WITH (fillfactor = 80);
CREATE INDEX traces_by_trace ON traces (trace_id);
CREATE INDEX traces_by_start ON traces (project, start_ns, trace_id);
CREATE INDEX traces_by_duration ON traces (project, duration_ns, trace_id);
CREATE INDEX traces_by_cost ON traces (project, total_cost, trace_id);
CREATE INDEX traces_by_span_count ON traces (project, span_count, trace_id);

-- Values, as their signal_key, not numbers of values: two replicas would wait for each other on each value that is new.
CREATE TABLE trace_facets (
  project integer NOT NULL, facet smallint NOT NULL, value text COLLATE "C" NOT NULL, start_ns bigint NOT NULL, trace_id uuid NOT NULL,
  PRIMARY KEY (project, facet, value, start_ns, trace_id)
);
CREATE INDEX trace_facets_by_trace ON trace_facets (project, trace_id);

-- The id of the scorer, too, is its signal_key.
CREATE TABLE trace_scores (
  project integer NOT NULL, scorer_id text COLLATE "C" NOT NULL, trace_id uuid NOT NULL, mean float8 NOT NULL,
  PRIMARY KEY (project, trace_id, scorer_id)
);
CREATE INDEX trace_scores_by_mean ON trace_scores (project, scorer_id, mean, trace_id);

CREATE TABLE spans (
  project integer NOT NULL,
  trace_id uuid NOT NULL,
  span_id bytea NOT NULL,
  parent_span_id bytea,
  name text COLLATE "C" NOT NULL,
  kind smallint NOT NULL,
  status smallint NOT NULL,
  start_ns bigint NOT NULL,
  end_ns bigint,
  model text COLLATE "C", provider text COLLATE "C", entity_name text COLLATE "C",
  input_tokens bigint, output_tokens bigint, total_tokens bigint,
  total_cost float8, currency text COLLATE "C",
  repeats_usage smallint NOT NULL,
  received_ns bigint NOT NULL,
  is_event smallint NOT NULL,
  input_cost float8, output_cost float8, is_estimated smallint, price_book_id text,
  usage_details text,
  error_message text, error_type text,
  scope_name text,
  environment text COLLATE "C", service_name text COLLATE "C", service_version text, session_id text COLLATE "C", thread_id text,
  user_id text COLLATE "C", request_id text, release text, run_id text, resource_id text, experiment_id text, tags text,
  PRIMARY KEY (project, trace_id, span_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX spans_by_start ON spans (project, start_ns, trace_id, span_id);
CREATE INDEX spans_calls ON spans (project, start_ns) WHERE ${CALLS('spans')};

CREATE TABLE span_payloads (
  project integer NOT NULL,
  trace_id uuid NOT NULL,
  span_id bytea NOT NULL,
  forms smallint NOT NULL,
  input text, input_attribute text,
  output text, output_attribute text,
  attributes text, events text, links text,
  error_stack text, error_message text,
  PRIMARY KEY (project, trace_id, span_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);

-- The words of a span's payloads as the service splits them, so that every store finds the same. No positions: phrases are
-- looked for in the text.
CREATE TABLE span_words (
  project integer NOT NULL,
  trace_id uuid NOT NULL,
  span_id bytea NOT NULL,
  words text NOT NULL,
  ts tsvector GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED,
  PRIMARY KEY (project, trace_id, span_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX span_words_by_word ON span_words USING gin (ts) WITH (fastupdate = on);

CREATE TABLE logs (
  log bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, log_id text NOT NULL, at_ns bigint NOT NULL, received_ns bigint NOT NULL,
  severity smallint NOT NULL, message text NOT NULL, logger text, trace_id text COLLATE "C", span_id text COLLATE "C",
  environment text, service_name text, session_id text, user_id text,
  attributes text, correlation text
);
CREATE INDEX logs_by_time ON logs (project, at_ns, log);
CREATE INDEX logs_by_severity ON logs (project, severity, at_ns);
CREATE INDEX logs_by_trace ON logs (trace_id, at_ns) WHERE trace_id IS NOT NULL;
CREATE INDEX logs_by_session ON logs (project, signal_key(session_id), at_ns) WHERE session_id IS NOT NULL;
CREATE INDEX logs_by_user ON logs (project, signal_key(user_id), at_ns) WHERE user_id IS NOT NULL;

CREATE TABLE metric_points (
  point bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, name text COLLATE "C" NOT NULL, type smallint NOT NULL, unit text, description text,
  at_ns bigint NOT NULL, received_ns bigint NOT NULL, value float8, sum float8, count bigint, bounds text, bucket_counts text,
  temporality text, service_name text, attributes text, correlation text, exemplars text
);
CREATE INDEX metric_points_by_name ON metric_points (project, signal_key(name), at_ns, point);
CREATE INDEX metric_points_by_time ON metric_points (project, at_ns, point);

CREATE TABLE scores (
  score bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, score_id text COLLATE "C" NOT NULL, trace_id text COLLATE "C", span_id text COLLATE "C",
  scorer_id text COLLATE "C" NOT NULL, scorer_version text COLLATE "C", value float8 NOT NULL, min float8 NOT NULL, max float8 NOT NULL,
  label text, reason text, source text NOT NULL, score_trace_id text, at_ns bigint NOT NULL, received_ns bigint NOT NULL,
  experiment_id text COLLATE "C", cost text, correlation text, metadata text
);
CREATE UNIQUE INDEX scores_by_id ON scores (project, signal_key(score_id));
CREATE INDEX scores_by_time ON scores (project, at_ns, score);
CREATE INDEX scores_by_scorer ON scores (project, signal_key(scorer_id), at_ns);
CREATE INDEX scores_by_trace ON scores (trace_id, project) WHERE trace_id IS NOT NULL;
CREATE INDEX scores_by_span ON scores (span_id, project) WHERE trace_id IS NULL;
CREATE INDEX scores_by_experiment ON scores (project, signal_key(experiment_id), at_ns) WHERE experiment_id IS NOT NULL;

CREATE TABLE feedback (
  feedback bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, feedback_id text COLLATE "C" NOT NULL, trace_id text COLLATE "C", span_id text COLLATE "C",
  kind text COLLATE "C" NOT NULL, value text NOT NULL, comment text, author_kind text, author_id text, at_ns bigint NOT NULL,
  received_ns bigint NOT NULL, metadata text, correlation text
);
CREATE UNIQUE INDEX feedback_by_id ON feedback (project, signal_key(feedback_id));
CREATE INDEX feedback_by_time ON feedback (project, at_ns, feedback);
CREATE INDEX feedback_by_trace ON feedback (trace_id, at_ns) WHERE trace_id IS NOT NULL;
CREATE INDEX feedback_by_span ON feedback (span_id, at_ns) WHERE trace_id IS NULL;

CREATE TABLE aspect_notes (
  note bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project integer NOT NULL, note_id text COLLATE "C" NOT NULL, trace_id text COLLATE "C" NOT NULL, span_id text COLLATE "C",
  aspect text COLLATE "C" NOT NULL, text text NOT NULL, model text, at_ns bigint NOT NULL, received_ns bigint NOT NULL, correlation text
);
CREATE UNIQUE INDEX aspect_notes_by_id ON aspect_notes (project, signal_key(note_id));
CREATE INDEX aspect_notes_by_time ON aspect_notes (project, at_ns, note);
CREATE INDEX aspect_notes_by_trace ON aspect_notes (trace_id, at_ns);

-- The key is its signal_key.
CREATE TABLE ingest_keys (ingest_key text COLLATE "C" PRIMARY KEY, at_ns bigint NOT NULL);
CREATE INDEX ingest_keys_by_time ON ingest_keys (at_ns);
`;

/**
 * Traces whose totals are behind their spans for a while; `size` is how much
 * is to be read of them: what they count, and what was added since. Who changes a row holds that of its trace, but for
 * `turn`: when somebody may add the trace up next. `stamp` changes with each change that the totals do not hold,
 * and `born` never does: a trace that was deleted and comes again has another.
 */
const lateTotals = `
CREATE SEQUENCE late_totals_stamp_seq;
CREATE TABLE late_totals (
  project integer NOT NULL, trace_id uuid NOT NULL,
  counted integer NOT NULL, added integer NOT NULL, size integer NOT NULL GENERATED ALWAYS AS (counted + added) STORED,
  stamp bigint NOT NULL DEFAULT nextval('late_totals_stamp_seq'), born bigint NOT NULL DEFAULT nextval('late_totals_stamp_seq'),
  turn timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (project, trace_id)
) WITH (fillfactor = 50);
`;

/** The tables of the signal store. */
export const SIGNALS_SCHEMA: Schema = {
  name: 'signals',
  store: 'signal store',
  steps: [
    { version: 2, sql: signals + records + sharing },
    { version: SCHEMA_VERSION, sql: lateTotals },
  ],
};
