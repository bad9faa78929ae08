import { leasedRunStatuses } from '../../../model/run.ts';
import { MOVE_NOTE } from '../../runs/moving.ts';
import { carriedOverNames } from '../../runs/records.ts';
import { heldByKeys } from '../../runs/run-conditions.ts';
import type { FileKind } from '../connection.ts';

/**
 * Tables of the runs file. What a step writes is counted: few rows, few indexes on them, nothing that is rewritten as it
 * grows. Payloads, journal, attempts and outputs have rows of their own, so a run's row stays small.
 */
const tables = `
CREATE TABLE run (
  run_id TEXT PRIMARY KEY, trace_id TEXT NOT NULL, project TEXT NOT NULL,
  definition_id TEXT NOT NULL, definition_version INTEGER NOT NULL,
  correlation TEXT NOT NULL, user_id TEXT, idempotency_key TEXT,
  created_at INTEGER NOT NULL, deadline_at INTEGER,
  parent_run_id TEXT, parent_step_id TEXT, parent_visit INTEGER, parent_index INTEGER, depth INTEGER NOT NULL,
  status TEXT NOT NULL, cursor TEXT, snapshot TEXT NOT NULL, version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, ended_at INTEGER, queue_order INTEGER, fault TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX run_listing ON run (project, status, updated_at, run_id);
CREATE INDEX run_queue ON run (definition_id, queue_order, run_id) WHERE queue_order IS NOT NULL;
CREATE UNIQUE INDEX run_idempotency ON run (project, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX run_children ON run (parent_run_id, parent_step_id, parent_visit, parent_index) WHERE parent_run_id IS NOT NULL;
CREATE INDEX run_user ON run (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX run_ended ON run (project, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX run_fault ON run (run_id) WHERE fault IS NOT NULL;

CREATE TABLE attempt (
  lease_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, step_id TEXT NOT NULL, visit INTEGER NOT NULL, attempt INTEGER NOT NULL,
  worker_id TEXT NOT NULL, delivery TEXT NOT NULL, offered_at INTEGER NOT NULL,
  state TEXT NOT NULL, body_ran INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  started_at INTEGER, ended_at INTEGER, timeout_at INTEGER, error TEXT, usage TEXT, cost TEXT, details TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_of_run ON attempt (run_id, step_id, visit, attempt);

CREATE TABLE journal (
  run_id TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, entries TEXT NOT NULL, events TEXT NOT NULL,
  PRIMARY KEY (run_id, first_seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoint (
  run_id TEXT NOT NULL, seq INTEGER NOT NULL, snapshot TEXT NOT NULL, PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE document (
  run_id TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE output (
  run_id TEXT NOT NULL, step_id TEXT NOT NULL, visit INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (run_id, step_id, visit)
) STRICT, WITHOUT ROWID;

CREATE TABLE timer (
  run_id TEXT NOT NULL, name TEXT NOT NULL, due_at INTEGER, step_id TEXT, PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_due ON timer (due_at, run_id) WHERE due_at IS NOT NULL;

CREATE TABLE wait (
  run_id TEXT PRIMARY KEY, project TEXT NOT NULL, event TEXT NOT NULL, key TEXT NOT NULL, step_id TEXT NOT NULL,
  since INTEGER NOT NULL, ord INTEGER NOT NULL, deadline_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX wait_meeting ON wait (project, event, key, ord);
CREATE INDEX wait_order ON wait (ord);

CREATE TABLE parked (
  ord INTEGER PRIMARY KEY, project TEXT NOT NULL, event TEXT NOT NULL, key TEXT NOT NULL, payload TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX parked_meeting ON parked (project, event, key, ord);
CREATE INDEX parked_at ON parked (at);

CREATE TABLE event_seen (
  project TEXT NOT NULL, event_id TEXT NOT NULL, at INTEGER NOT NULL, run_id TEXT, PRIMARY KEY (project, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_taken ON event_seen (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX event_untaken ON event_seen (at) WHERE run_id IS NULL;

CREATE TABLE definition (
  id TEXT NOT NULL, version INTEGER NOT NULL, document TEXT NOT NULL, hash TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY (id, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE worker (
  worker_id TEXT PRIMARY KEY, name TEXT, version TEXT, project TEXT, concurrency INTEGER,
  definitions TEXT NOT NULL, last_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (no INTEGER PRIMARY KEY, run_id TEXT NOT NULL, span TEXT NOT NULL) STRICT;
CREATE TABLE actor (
  type TEXT NOT NULL, id TEXT NOT NULL, machine TEXT NOT NULL, snapshot TEXT NOT NULL, version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, PRIMARY KEY (type, id)
) STRICT, WITHOUT ROWID;
`;

/**
 * Workers that were silent for long are found by when they were last seen, and a worker knows what the key reached that
 * registered it. A parked event carries its `event_id`, so that the id lives on with the run that takes the event. Events that
 * an earlier release parked get theirs where the millisecond of their arrival names one id only.
 */
const heldToTheirSenders = `
ALTER TABLE worker ADD COLUMN reach TEXT;
CREATE INDEX worker_seen ON worker (last_seen_at);
ALTER TABLE parked ADD COLUMN event_id TEXT;
UPDATE parked SET event_id = (
  SELECT min(event_id) FROM event_seen
  WHERE event_seen.project = parked.project AND event_seen.at = parked.at AND event_seen.run_id IS NULL
  HAVING count(*) = 1)
WHERE ord IN (SELECT min(ord) FROM parked GROUP BY project, at HAVING count(*) = 1);
`;

/**
 * What became of monitors and SLOs. Their snapshots lie in `actor`, which nothing wrote to before; each transition is a row
 * here, with the snapshot that it left.
 */
const watchJournal = `
CREATE TABLE watch_journal (
  type TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, project TEXT NOT NULL, event TEXT NOT NULL,
  value_before TEXT, value_after TEXT NOT NULL, detail TEXT NOT NULL, snapshot TEXT NOT NULL, version INTEGER NOT NULL,
  PRIMARY KEY (type, id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_journal_at ON watch_journal (at);
`;

/**
 * A lease carries the version of the machine that left its state, as a run does in its snapshot, and how often it changed.
 * Leases from before are of version 1 of the machine; their changes are counted from here on.
 */
const versionedLeases = `
ALTER TABLE attempt ADD COLUMN machine_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE attempt ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
`;

/** Runs of a session are found without reading those of their project. */
const runsOfSessions = `
CREATE INDEX run_session ON run (json_extract(correlation, '$.session_id'))
  WHERE json_extract(correlation, '$.session_id') IS NOT NULL;
`;

/**
 * What the runs below a run spent, beside it. Runs from before get what the snapshots of their descendants hold; one that cannot be read
 * adds nothing.
 */
const spendingOfDescendants = `
ALTER TABLE run ADD COLUMN descendants TEXT;
WITH RECURSIVE
  below (ancestor, run_id) AS (
    SELECT parent_run_id, run_id FROM run WHERE parent_run_id IS NOT NULL
    UNION ALL
    SELECT ancestor, run.run_id FROM below JOIN run ON run.parent_run_id = below.run_id
  ),
  spent (run_id, usage) AS (
    SELECT run_id, CASE WHEN json_valid(snapshot) THEN json_extract(snapshot, '$.c.usage') END FROM run
    WHERE parent_run_id IS NOT NULL
  )
UPDATE run SET descendants = total.usage FROM (
  SELECT ancestor, json_patch('{}', json_object(
    'inputTokens', coalesce(sum(json_extract(usage, '$.inputTokens')), 0),
    'outputTokens', coalesce(sum(json_extract(usage, '$.outputTokens')), 0),
    'totalTokens', coalesce(sum(json_extract(usage, '$.totalTokens')), 0),
    'cost', sum(json_extract(usage, '$.cost')))) AS usage
  FROM below JOIN spent ON spent.run_id = below.run_id GROUP BY ancestor
) AS total WHERE run.run_id = total.ancestor;
`;

/** How many runs stand below each root, which all have its trace. Counted once here, and from then on as they start. */
const sizesOfTrees = `
CREATE TABLE tree (trace_id TEXT PRIMARY KEY, descendants INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO tree SELECT trace_id, count(*) FROM run WHERE parent_run_id IS NOT NULL GROUP BY trace_id;
`;

/**
 * A definition belongs to the service or to a project; all from before belong to the service. A worker that the key of one project
 * registered is limited to that project, as those that register from here on are.
 */
const ownedDefinitions = `
ALTER TABLE run ADD COLUMN definition_owner TEXT NOT NULL DEFAULT '';
DROP INDEX run_queue;
CREATE INDEX run_queue ON run (definition_owner, definition_id, queue_order, run_id) WHERE queue_order IS NOT NULL;
CREATE TABLE owned_definition (
  id TEXT NOT NULL, owner TEXT NOT NULL, version INTEGER NOT NULL, document TEXT NOT NULL, hash TEXT NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY (id, owner, version)
) STRICT, WITHOUT ROWID;
INSERT INTO owned_definition SELECT id, '', version, document, hash, created_at FROM definition;
DROP TABLE definition;
ALTER TABLE owned_definition RENAME TO definition;
ALTER TABLE worker ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE worker SET project = json_extract(reach, '$[0]')
  WHERE project IS NULL AND json_type(reach) = 'array' AND json_array_length(reach) = 1;
`;

/**
 * Timers that are due after some time keep how long they run and when they were set, and are due by a clock of the process.
 * Those from before get both where their name says that they are such. A sleep may be until a time that somebody named: it follows the
 * wall clock, as all timers did.
 */
const countdowns = `
ALTER TABLE timer ADD COLUMN steady_due_at INTEGER;
ALTER TABLE timer ADD COLUMN set_at INTEGER;
ALTER TABLE timer ADD COLUMN runs_ms INTEGER;
UPDATE timer SET steady_due_at = due_at, set_at = born.at, runs_ms = due_at - born.at FROM (
  SELECT timer.run_id, timer.name, min(timer.due_at, iif(timer.name = 'run_timeout', created_at, updated_at)) AS at
  FROM timer JOIN run ON run.run_id = timer.run_id
  WHERE timer.name IN ('run_timeout', 'wait', 'backoff') AND timer.due_at IS NOT NULL
) AS born WHERE timer.run_id = born.run_id AND timer.name = born.name;
DROP INDEX timer_due;
CREATE INDEX timer_due ON timer (due_at, run_id) WHERE due_at IS NOT NULL AND steady_due_at IS NULL;
CREATE INDEX timer_steady ON timer (steady_due_at, run_id) WHERE steady_due_at IS NOT NULL;
`;

/** Actors with a row of their own: schedules, and actions on many runs. Their timers lie with those of runs. */
const keptActors = `
CREATE TABLE kept_actor (
  type TEXT NOT NULL, id TEXT NOT NULL, project TEXT NOT NULL, document TEXT NOT NULL, snapshot TEXT NOT NULL,
  status TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, fault TEXT,
  PRIMARY KEY (type, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_actor_fault ON kept_actor (type, id) WHERE fault IS NOT NULL;
`;

/**
 * Keys in use, the lines that wait for them, and who holds them or waits. Who waits is found by its line and rank, who holds by its
 * key; a place is written once and goes, so it is named by its number, which is its age as well.
 */
const keysInUse = `
CREATE TABLE limit_key (
  limit_id TEXT PRIMARY KEY, kind TEXT NOT NULL, project TEXT NOT NULL, definition_owner TEXT NOT NULL,
  definition_id TEXT NOT NULL, step_id TEXT, key TEXT NOT NULL, definition_version INTEGER NOT NULL, places INTEGER NOT NULL,
  per_ms INTEGER, machine_version INTEGER NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL, used INTEGER NOT NULL,
  waiting INTEGER NOT NULL, lines INTEGER NOT NULL, starts TEXT NOT NULL, steady_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, due_at INTEGER, moved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX limit_project ON limit_key (project, limit_id);
CREATE INDEX limit_due ON limit_key (due_at, limit_id) WHERE due_at IS NOT NULL;
CREATE INDEX limit_waited ON limit_key (moved_at, limit_id) WHERE waiting > 0;

CREATE TABLE limit_line (
  line_id TEXT PRIMARY KEY, waits_on TEXT NOT NULL, waiting INTEGER NOT NULL, low INTEGER NOT NULL, ord INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX limit_line_parked ON limit_line (waits_on, low, ord);

CREATE TABLE limit_place (
  ord INTEGER PRIMARY KEY, low INTEGER NOT NULL, run_id TEXT NOT NULL, step_id TEXT, concurrency_id TEXT, rate_id TEXT,
  line_id TEXT, since INTEGER NOT NULL
) STRICT;
CREATE INDEX limit_place_line ON limit_place (line_id, low, ord) WHERE line_id IS NOT NULL;
CREATE INDEX limit_place_holder ON limit_place (concurrency_id, ord) WHERE line_id IS NULL;
CREATE INDEX limit_place_both_concurrency ON limit_place (concurrency_id, low, ord)
  WHERE line_id IS NOT NULL AND concurrency_id IS NOT NULL AND rate_id IS NOT NULL;
CREATE INDEX limit_place_both_rate ON limit_place (rate_id, low, ord)
  WHERE line_id IS NOT NULL AND concurrency_id IS NOT NULL AND rate_id IS NOT NULL;
`;

/**
 * A run may begin later, has a priority, and may be held back before its first step. The queue's index holds the priority, so that a
 * start finds the last place of each without reading the runs.
 */
const laterStarts = `
ALTER TABLE run ADD COLUMN start_at INTEGER;
ALTER TABLE run ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN held TEXT;
DROP INDEX run_queue;
CREATE INDEX run_queue ON run (definition_owner, definition_id, queue_order, run_id, priority) WHERE queue_order IS NOT NULL;
CREATE INDEX run_held ON run (definition_owner, definition_id, held, run_id) WHERE held IS NOT NULL;
`;

/** A run may wait for several events at once: a row for each. */
const severalWaits = `
CREATE TABLE open_wait (
  run_id TEXT NOT NULL, project TEXT NOT NULL, event TEXT NOT NULL, key TEXT NOT NULL, step_id TEXT NOT NULL,
  since INTEGER NOT NULL, ord INTEGER NOT NULL, deadline_at INTEGER, PRIMARY KEY (run_id, ord)
) STRICT, WITHOUT ROWID;
INSERT INTO open_wait SELECT run_id, project, event, key, step_id, since, ord, deadline_at FROM wait;
DROP TABLE wait;
ALTER TABLE open_wait RENAME TO wait;
CREATE INDEX wait_meeting ON wait (project, event, key, ord);
CREATE INDEX wait_order ON wait (ord);
`;

/** A run knows the keys that it and its step hold or wait for, to give them back. */
const keysOfRuns = `ALTER TABLE run ADD COLUMN places TEXT;`;

/**
 * A run may be begun again from one of its steps, with its state and its last event as they were then: each is stored with the number
 * of the step that wrote it, and what it replaces is kept. Rows from before have no number. A restarted run names the one before it.
 */
const restarts = `
ALTER TABLE run ADD COLUMN restarted_from TEXT;
CREATE INDEX run_restarts ON run (json_extract(restarted_from, '$.runId')) WHERE restarted_from IS NOT NULL;
ALTER TABLE document ADD COLUMN entry INTEGER;
CREATE TABLE replaced_document (
  run_id TEXT NOT NULL, name TEXT NOT NULL, entry INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run_id, name, entry)
) STRICT, WITHOUT ROWID;
`;

/** What a move of the runs to another store, or from one, is at. @see MoveNote */
const moveNote = `CREATE TABLE ${MOVE_NOTE} (kind TEXT NOT NULL, note TEXT NOT NULL) STRICT;`;

/** When the worker of a lease last extended it. Leases from before get it with their next heartbeat. */
const heartbeats = `
ALTER TABLE attempt ADD COLUMN heartbeat_at INTEGER;
`;

/** The names of timers that carry work over, as SQL lists them. */
export const CARRIED_OVER = carriedOverNames.map((name) => `'${name}'`).join(', ');

/** The statuses in which a worker may hold a lease. */
export const LEASED = leasedRunStatuses.map((status) => `'${status}'`).join(', ');

/** Attempts whose worker fell silent, and that may still report. */
export const ORPHANED = "state = 'orphaned'";

/** Runs that wait for something beside a worker. `run_waiting` has this condition, and what it finds repeats it. */
export const WAITING = `(status IN ('waiting', 'scheduled')
  OR status = 'queued' AND held IN (${heldByKeys.map((held) => `'${held}'`).join(', ')}))`;
/** For what such a run waits, as `run-conditions.ts` says it; NULL where its snapshot cannot be read. */
export const WAITING_ON = `CASE
  WHEN status = 'queued' THEN 'key'
  WHEN status = 'scheduled' THEN 'timer'
  WHEN NOT json_valid(snapshot) THEN NULL
  WHEN json_type(snapshot, '$.v.active') IS NOT 'object' THEN NULL
  WHEN json_extract(snapshot, '$.v.active') LIKE '%:"backoff"%' THEN 'backoff'
  WHEN json_type(snapshot, '$.c.waitKey') IS NOT NULL THEN 'event'
  WHEN json_type(snapshot, '$.c.children') IS NULL THEN 'timer'
  ELSE 'children' END`;

/** The lease that a run's snapshot names. A snapshot that is damaged names none: it must fail neither a list nor the start of the service. */
export const HELD_LEASE = `CASE WHEN json_valid(run.snapshot) THEN json_extract(run.snapshot, '$.c.leaseId') END`;

/** What an earlier release can do without: it neither uses nor misses it. */
const standing = `
CREATE INDEX IF NOT EXISTS parked_project ON parked (project, ord);
DROP INDEX IF EXISTS timer_carried_over;
CREATE INDEX IF NOT EXISTS timer_left_over ON timer (run_id, name) WHERE name IN (${CARRIED_OVER});
CREATE INDEX IF NOT EXISTS run_waiting ON run (project, ${WAITING_ON}, updated_at, run_id, status, held) WHERE ${WAITING};
CREATE INDEX IF NOT EXISTS attempt_orphaned ON attempt (run_id) WHERE ${ORPHANED};
CREATE INDEX IF NOT EXISTS limit_waited_for ON limit_key (limit_id, project) WHERE waiting > 0;
`;

/** The schema of the runs file has versions of its own: it grows apart from that of the signals. */
export const RUNS_FILE: FileKind = {
  store: 'runs store',
  applicationId: 0x73766372,
  schemaVersion: 17,
  migrations: [
    { version: 1, sql: tables },
    { version: 2, sql: heldToTheirSenders },
    { version: 3, sql: watchJournal },
    { version: 4, sql: versionedLeases },
    { version: 5, sql: runsOfSessions },
    { version: 6, sql: spendingOfDescendants },
    { version: 7, sql: sizesOfTrees },
    { version: 8, sql: ownedDefinitions },
    { version: 9, sql: countdowns },
    { version: 10, sql: keptActors },
    { version: 11, sql: keysInUse },
    { version: 12, sql: laterStarts },
    { version: 13, sql: severalWaits },
    { version: 14, sql: keysOfRuns },
    { version: 15, sql: restarts },
    { version: 16, sql: moveNote },
    { version: 17, sql: heartbeats },
  ],
  standing,
};
