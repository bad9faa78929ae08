import { MOVE_NOTE } from '../../runs/moving.ts';
import { carriedOverNames } from '../../runs/records.ts';
import type { Schema } from '../migrate.ts';

/** The names of timers that carry work over, as SQL lists them. */
export const CARRIED_OVER = carriedOverNames.map((name) => `'${name}'`).join(', ');

/**
 * Tables of durable runs. Text stands in the order of its bytes. Senders choose the length of keys and ids, and an index entry has a
 * bound: `run_key` is a short text in the place of a long one, and what an index finds by it is compared in full.
 *
 * Each row that one owner alone writes says its shard. A run is found by its id whatever its shard; what an owner looks for at its start,
 * each second and for its workers, it looks for in its shard.
 */
const tables = `
CREATE FUNCTION run_key(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(value) <= 200 THEN value
    ELSE left(value, 32) || encode(sha256(convert_to(value, 'UTF8')), 'hex') END
$$;

-- Who owns a shard, and until when. Each commit locks the row for its own time: who takes a shard over waits for it, and what the owner
-- before commits later finds another epoch.
CREATE TABLE shard (
  shard integer PRIMARY KEY, epoch bigint NOT NULL, owner text COLLATE "C" NOT NULL, address text NOT NULL,
  expires_at timestamptz NOT NULL, latest_at bigint NOT NULL DEFAULT 0
);

-- What the services on this database know of each other. A UUID holds 122 random bits.
CREATE TABLE peer_secret (secret text NOT NULL);
INSERT INTO peer_secret SELECT gen_random_uuid()::text || gen_random_uuid()::text;

CREATE TABLE run (
  run_id text COLLATE "C" PRIMARY KEY, shard integer NOT NULL, trace_id text COLLATE "C" NOT NULL, project text COLLATE "C" NOT NULL,
  definition_id text COLLATE "C" NOT NULL, definition_version bigint NOT NULL, correlation text NOT NULL,
  user_id text COLLATE "C", idempotency_key text COLLATE "C", created_at bigint NOT NULL, deadline_at bigint,
  parent_run_id text COLLATE "C", parent_step_id text COLLATE "C", parent_visit bigint, parent_index bigint, depth bigint NOT NULL,
  status text COLLATE "C" NOT NULL, cursor text, snapshot text NOT NULL, version bigint NOT NULL, updated_at bigint NOT NULL,
  ended_at bigint, queue_order bigint, fault text, descendants text, definition_owner text COLLATE "C" NOT NULL, start_at bigint,
  priority bigint NOT NULL, held text COLLATE "C", places text, restarted_from text,
  -- What is asked for and stands inside of the texts above: filled by who writes the row.
  waiting_on text COLLATE "C", session_id text COLLATE "C", restarted_from_run text COLLATE "C", place_order bigint
) WITH (fillfactor = 80);
CREATE INDEX run_listing ON run (project, status, updated_at, run_id);
CREATE INDEX run_queue ON run (shard, definition_owner, definition_id, queue_order, run_id) INCLUDE (priority)
  WHERE queue_order IS NOT NULL;
CREATE UNIQUE INDEX run_idempotency ON run (project, run_key(idempotency_key)) WHERE idempotency_key IS NOT NULL;
CREATE INDEX run_children ON run (parent_run_id, parent_step_id, parent_visit, parent_index) WHERE parent_run_id IS NOT NULL;
CREATE INDEX run_user ON run (run_key(user_id)) WHERE user_id IS NOT NULL;
CREATE INDEX run_session ON run (run_key(session_id)) WHERE session_id IS NOT NULL;
CREATE INDEX run_restarts ON run (restarted_from_run) WHERE restarted_from_run IS NOT NULL;
CREATE INDEX run_ended ON run (project, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX run_fault ON run (shard, run_id) WHERE fault IS NOT NULL;
CREATE INDEX run_held ON run (shard, definition_owner, definition_id, held, run_id) WHERE held IS NOT NULL;
CREATE INDEX run_waiting ON run (project, waiting_on, updated_at, run_id) WHERE waiting_on IS NOT NULL;
CREATE TABLE tree (trace_id text COLLATE "C" PRIMARY KEY, descendants bigint NOT NULL);

CREATE TABLE attempt (
  lease_id text COLLATE "C" PRIMARY KEY, shard integer NOT NULL, run_id text COLLATE "C" NOT NULL, step_id text COLLATE "C" NOT NULL,
  visit bigint NOT NULL, attempt bigint NOT NULL, worker_id text COLLATE "C" NOT NULL, delivery text NOT NULL,
  offered_at bigint NOT NULL, state text COLLATE "C" NOT NULL, body_ran bigint NOT NULL, expires_at bigint NOT NULL,
  started_at bigint, ended_at bigint, timeout_at bigint, error text, usage text, cost text, details text,
  machine_version bigint NOT NULL, version bigint NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX attempt_of_run ON attempt (run_id, step_id, visit, attempt);
CREATE INDEX attempt_live ON attempt (shard, lease_id) WHERE ended_at IS NULL;
CREATE INDEX attempt_orphaned ON attempt (run_id) WHERE state = 'orphaned';

CREATE TABLE journal (
  run_id text COLLATE "C" NOT NULL, first_seq bigint NOT NULL, last_seq bigint NOT NULL, entries text NOT NULL, events text NOT NULL,
  PRIMARY KEY (run_id, first_seq)
);
CREATE TABLE checkpoint (
  run_id text COLLATE "C" NOT NULL, seq bigint NOT NULL, snapshot text NOT NULL, PRIMARY KEY (run_id, seq)
);
-- The name of a state holds a key that a worker chose.
CREATE TABLE document (run_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, body text NOT NULL, entry bigint);
CREATE UNIQUE INDEX document_by_name ON document (run_id, run_key(name));
CREATE TABLE replaced_document (
  run_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, entry bigint NOT NULL, body text NOT NULL
);
CREATE UNIQUE INDEX replaced_by_name ON replaced_document (run_id, run_key(name), entry);
CREATE TABLE output (
  run_id text COLLATE "C" NOT NULL, step_id text COLLATE "C" NOT NULL, visit bigint NOT NULL, body text NOT NULL,
  PRIMARY KEY (run_id, step_id, visit)
);

CREATE TABLE timer (
  run_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, shard integer NOT NULL, due_at bigint, step_id text,
  steady_due_at bigint, set_at bigint, runs_ms bigint, PRIMARY KEY (run_id, name)
) WITH (fillfactor = 80);
CREATE INDEX timer_due ON timer (shard, due_at, run_id) WHERE due_at IS NOT NULL AND steady_due_at IS NULL;
CREATE INDEX timer_steady ON timer (shard, steady_due_at, run_id) WHERE steady_due_at IS NOT NULL;
CREATE INDEX timer_left_over ON timer (shard, run_id, name) WHERE name IN (${CARRIED_OVER});

CREATE TABLE wait (
  run_id text COLLATE "C" NOT NULL, ord bigint NOT NULL, shard integer NOT NULL, project text COLLATE "C" NOT NULL,
  event text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, step_id text NOT NULL, since bigint NOT NULL, deadline_at bigint,
  PRIMARY KEY (run_id, ord)
);
CREATE INDEX wait_meeting ON wait (project, run_key(event), run_key(key), ord);
CREATE INDEX wait_order ON wait (shard, ord);

CREATE TABLE parked (
  shard integer NOT NULL, ord bigint NOT NULL, project text COLLATE "C" NOT NULL, event text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL, payload text NOT NULL, at bigint NOT NULL, event_id text COLLATE "C", PRIMARY KEY (shard, ord)
);
CREATE INDEX parked_meeting ON parked (project, run_key(event), run_key(key), ord);
CREATE INDEX parked_project ON parked (project, ord);
CREATE INDEX parked_at ON parked (shard, at);
CREATE TABLE event_seen (
  project text COLLATE "C" NOT NULL, event_id text COLLATE "C" NOT NULL, shard integer NOT NULL, at bigint NOT NULL,
  run_id text COLLATE "C"
);
CREATE UNIQUE INDEX event_seen_by_id ON event_seen (project, run_key(event_id));
CREATE INDEX event_taken ON event_seen (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX event_untaken ON event_seen (shard, at) WHERE run_id IS NULL;

CREATE TABLE definition (
  id text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL, version bigint NOT NULL, document text NOT NULL,
  hash text NOT NULL, created_at bigint NOT NULL, PRIMARY KEY (id, owner, version)
);
CREATE TABLE worker (
  worker_id text COLLATE "C" PRIMARY KEY, name text, version text, project text COLLATE "C", concurrency bigint,
  definitions text NOT NULL, last_seen_at bigint NOT NULL, reach text, owner text COLLATE "C" NOT NULL
);
CREATE INDEX worker_seen ON worker (last_seen_at);
CREATE TABLE outbox (
  shard integer NOT NULL, no bigint NOT NULL, run_id text COLLATE "C" NOT NULL, span text NOT NULL, PRIMARY KEY (shard, no)
);
CREATE INDEX outbox_of_run ON outbox (run_id);

CREATE TABLE kept_actor (
  type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, shard integer NOT NULL, project text COLLATE "C" NOT NULL,
  document text NOT NULL, snapshot text NOT NULL, status text NOT NULL, version bigint NOT NULL, created_at bigint NOT NULL,
  updated_at bigint NOT NULL, fault text, PRIMARY KEY (type, id)
);
CREATE INDEX kept_actor_fault ON kept_actor (type, id) WHERE fault IS NOT NULL;

CREATE TABLE limit_key (
  limit_id text COLLATE "C" PRIMARY KEY, shard integer NOT NULL, kind text NOT NULL, project text COLLATE "C" NOT NULL,
  definition_owner text COLLATE "C" NOT NULL, definition_id text COLLATE "C" NOT NULL, step_id text, key text NOT NULL,
  definition_version bigint NOT NULL, places bigint NOT NULL, per_ms bigint, machine_version bigint NOT NULL, state text NOT NULL,
  version bigint NOT NULL, used bigint NOT NULL, waiting bigint NOT NULL, lines bigint NOT NULL, starts text NOT NULL,
  steady_at bigint NOT NULL, updated_at bigint NOT NULL, due_at bigint, moved_at bigint NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX limit_project ON limit_key (project, limit_id);
CREATE INDEX limit_due ON limit_key (shard, due_at, limit_id) WHERE due_at IS NOT NULL;
CREATE INDEX limit_waited ON limit_key (moved_at, limit_id) WHERE waiting > 0;
CREATE TABLE limit_line (
  line_id text COLLATE "C" PRIMARY KEY, shard integer NOT NULL, waits_on text COLLATE "C" NOT NULL, waiting bigint NOT NULL,
  low bigint NOT NULL, ord bigint NOT NULL
);
CREATE INDEX limit_line_parked ON limit_line (waits_on, low, ord);
CREATE TABLE limit_place (
  shard integer NOT NULL, ord bigint NOT NULL, low bigint NOT NULL, run_id text COLLATE "C" NOT NULL, step_id text,
  concurrency_id text COLLATE "C", rate_id text COLLATE "C", line_id text COLLATE "C", since bigint NOT NULL,
  PRIMARY KEY (ord, shard)
);
CREATE INDEX limit_place_line ON limit_place (line_id, low, ord) WHERE line_id IS NOT NULL;
CREATE INDEX limit_place_holder ON limit_place (concurrency_id, ord) WHERE line_id IS NULL;
CREATE INDEX limit_place_both_concurrency ON limit_place (concurrency_id, low, ord)
  WHERE line_id IS NOT NULL AND concurrency_id IS NOT NULL AND rate_id IS NOT NULL;
CREATE INDEX limit_place_both_rate ON limit_place (rate_id, low, ord)
  WHERE line_id IS NOT NULL AND concurrency_id IS NOT NULL AND rate_id IS NOT NULL;
`;

/** What a move of the runs to another store, or from one, is at. @see MoveNote */
const moveNote = `CREATE TABLE ${MOVE_NOTE} (kind text NOT NULL, note text NOT NULL);`;

/** When the worker of a lease last extended it. Leases from before get it with their next heartbeat. */
const heartbeats = `ALTER TABLE attempt ADD COLUMN heartbeat_at bigint`;

/** Runs that are open, which a takeover counts: those that have ended may be millions. */
const openRuns = `CREATE INDEX run_open ON run (shard, status) WHERE ended_at IS NULL`;

/**
 * Into how many shards the runs are cut, which every service must know alike, and which services there are. The row is locked by who takes
 * a shard, and by who changes the number.
 */
const shards = `
CREATE TABLE shard_number (shards integer NOT NULL);
INSERT INTO shard_number VALUES (1);
CREATE TABLE run_service (owner text COLLATE "C" PRIMARY KEY, address text NOT NULL, expires_at timestamptz NOT NULL);
`;

export const RUNS_SCHEMA: Schema = {
  name: 'runs',
  store: 'runs store',
  steps: [
    { version: 1, sql: tables },
    { version: 2, sql: moveNote },
    { version: 3, sql: heartbeats },
    { version: 4, sql: openRuns },
    { version: 5, sql: shards },
  ],
};
