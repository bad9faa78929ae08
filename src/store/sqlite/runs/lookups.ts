import type Database from 'better-sqlite3';
import type { HeldReason, OpenRunStatus, UnixMs } from '../../../model/run.ts';
import { reaches } from '../../../model/scope.ts';
import { ownedId, SERVICE } from '../../../model/definition/owner.ts';
import type { Found, Lookup, PastDocuments } from '../../runs/lookups.ts';
import { type IsOrphaned, matchesRun } from '../../runs/run-conditions.ts';
import { MOVE_NOTE } from '../../runs/moving.ts';
import { outboxBatch } from '../../runs/outbox-batch.ts';
import { dueTimeOf, type OutboxRow, type StoredDocuments } from '../../runs/records.ts';
import type { DueTimer, Resumption } from '../../runs/run-commits.ts';
import { limitLookupsOf } from './limits.ts';
import {
  actorOf,
  attemptOf,
  childResultOf,
  definitionOf,
  parkedOf,
  type Row,
  runOf,
  seenOf,
  timerOf,
  waitOf,
  workerOf,
} from '../../runs/rows/records.ts';
import { CARRIED_OVER, HELD_LEASE, LEASED, ORPHANED } from './schema.ts';

export const DUE_BY_WALL = `SELECT * FROM timer WHERE due_at <= ? AND steady_due_at IS NULL
  AND name NOT IN (${CARRIED_OVER}) ORDER BY due_at, run_id LIMIT ?`;
export const DUE_BY_STEADY = `SELECT * FROM timer WHERE steady_due_at <= ?
  AND name NOT IN (${CARRIED_OVER}) ORDER BY steady_due_at, run_id LIMIT ?`;

/**
 * State and last event of a run as they were when it entered its step of a number: what was written by then and never replaced, else the
 * newest of what was replaced. Run and number are bound three times.
 */
export const DOCUMENTS_BEFORE = `
  SELECT name, body, coalesce(entry, -1) AS entry FROM document
  WHERE run_id = ? AND name NOT IN ('input', 'output') AND coalesce(entry, -1) < ?
  UNION ALL
  SELECT past.name, past.body, past.entry FROM replaced_document AS past JOIN document AS now USING (run_id, name)
  WHERE past.run_id = ? AND coalesce(now.entry, -1) >= ? AND past.entry =
    (SELECT max(entry) FROM replaced_document WHERE run_id = ? AND name = past.name AND entry < ?)`;

/** What the kernel asks while it decides: short questions by key, on the connection that also writes. */
export const lookupsOf = (db: Database.Database) => {
  const one = (sql: string): ((...values: (string | number)[]) => Row | undefined) => {
    const statement = db.prepare<(string | number)[], Row>(sql);
    return (...values) => statement.get(...values);
  };
  const many = (sql: string): ((...values: (string | number)[]) => Row[]) => {
    const statement = db.prepare<(string | number)[], Row>(sql);
    return (...values) => statement.all(...values);
  };
  /**
   * The first rows in the order of the index that the statement names. With ORDER BY or a bound LIMIT, SQLite would plan the
   * statement anew for each new value, which takes longer than these searches.
   */
  const first = (sql: string): ((limit: number, ...values: (string | number)[]) => Row[]) => {
    const statement = db.prepare<(string | number)[], Row>(sql);
    return (limit, ...values) => {
      const rows: Row[] = [];
      for (const row of statement.iterate(...values)) {
        if (rows.push(row) >= limit) break;
      }
      return rows;
    };
  };
  const run = one('SELECT * FROM run WHERE run_id = ?');
  const orphan = one(`SELECT run_id FROM attempt INDEXED BY attempt_orphaned WHERE ${ORPHANED} AND run_id = ?`);
  const isOrphaned: IsOrphaned = ({ runId }) => orphan(runId) !== undefined;
  const lastSeq = one('SELECT last_seq FROM journal WHERE run_id = ? ORDER BY first_seq DESC LIMIT 1');
  const lease = one('SELECT * FROM attempt WHERE lease_id = ?');
  const documents = many('SELECT name, body FROM document WHERE run_id = ?');
  const newestOutput = one('SELECT body FROM output WHERE run_id = ? AND step_id = ? ORDER BY visit DESC LIMIT 1');
  const input = one("SELECT body FROM document WHERE run_id = ? AND name = 'input'");
  const documentsBefore = many(DOCUMENTS_BEFORE);
  const outputUpTo = one(
    'SELECT body FROM output WHERE run_id = ? AND step_id = ? AND visit <= ? ORDER BY visit DESC LIMIT 1',
  );
  const definition = one('SELECT * FROM definition WHERE id = ? AND owner = ? AND version = ?');
  // The service's name is the empty one: it comes after that of any project.
  const latest = one(
    "SELECT * FROM definition WHERE id = ? AND owner IN (?, '') ORDER BY owner DESC, version DESC LIMIT 1",
  );
  const worker = one('SELECT * FROM worker WHERE worker_id = ?');
  const idempotency = one('SELECT run_id FROM run WHERE project = ? AND idempotency_key = ?');
  const eventSeen = one('SELECT * FROM event_seen WHERE project = ? AND event_id = ?');
  const waits = first(
    `SELECT * FROM wait INDEXED BY wait_meeting WHERE project = ? AND event = ? AND key = ?
     AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_fault WHERE run.run_id = wait.run_id AND fault IS NOT NULL)`,
  );
  const parked = first(
    'SELECT * FROM parked INDEXED BY parked_meeting WHERE project = ? AND event = ? AND key = ? AND at > ?',
  );
  const runnable = many(
    `SELECT run_id, project, definition_owner, definition_id, definition_version, queue_order FROM run
     WHERE definition_owner = ? AND definition_id = ? AND (queue_order, run_id) > (?, ?) ORDER BY queue_order, run_id LIMIT ?`,
  );
  const heldRuns = many(
    `SELECT run_id FROM run INDEXED BY run_held WHERE definition_owner = ? AND definition_id = ? AND held = ? AND fault IS NULL
       AND run_id > ? ORDER BY run_id LIMIT ?`,
  );
  const nextHeldOwner = one(
    'SELECT min(definition_owner) AS owner FROM run INDEXED BY run_held WHERE held IS NOT NULL AND definition_owner > ?',
  );
  const nextHeldId = one(
    `SELECT min(definition_id) AS id FROM run INDEXED BY run_held
     WHERE held IS NOT NULL AND definition_owner = ? AND definition_id > ?`,
  );
  const firstHeld = one(
    'SELECT 1 AS found FROM run INDEXED BY run_held WHERE definition_owner = ? AND definition_id = ? AND held = ? LIMIT 1',
  );
  /** From definition to definition: a hundred thousand runs that a key holds back are one step. */
  const heldDefinitions = (held: HeldReason): string[] => {
    const found: string[] = [];
    // The service's name is the empty one, and no other comes before it.
    for (let owner: string | null = SERVICE; owner !== null; owner = nextHeldOwner(owner)?.['owner'] as string | null)
      for (
        let id = nextHeldId(owner, '')?.['id'] as string | null;
        id !== null;
        id = nextHeldId(owner, id)?.['id'] as string | null
      )
        if (firstHeld(owner, id, held) !== undefined) found.push(ownedId(owner, id));
    return found.toSorted();
  };
  const quarantined = many(
    'SELECT run_id FROM run INDEXED BY run_fault WHERE fault IS NOT NULL AND run_id > ? ORDER BY run_id LIMIT ?',
  );
  const carriedOver = many(
    `SELECT timer.run_id, name, due_at, project, trace_id FROM timer INDEXED BY timer_left_over JOIN run USING (run_id)
     WHERE name IN (${CARRIED_OVER}) AND due_at IS NOT NULL AND iif(steady_due_at IS NULL, due_at <= ?, steady_due_at <= ?)
       AND (timer.run_id, name) > (?, ?) ORDER BY timer.run_id, name LIMIT ?`,
  );
  const keptActor = one('SELECT * FROM kept_actor WHERE type = ? AND id = ?');
  const keptChanged = many('SELECT * FROM kept_actor WHERE type = ? AND id > ? AND updated_at > ? ORDER BY id LIMIT ?');
  const keptWithFault = many(
    'SELECT * FROM kept_actor WHERE type = ? AND fault IS NOT NULL AND id > ? ORDER BY id LIMIT ?',
  );
  const runsAfter = many('SELECT * FROM run WHERE run_id > ? ORDER BY run_id LIMIT ?');
  const treeSize = one('SELECT descendants FROM tree WHERE trace_id = ?');
  const openChildren = many(
    `SELECT run_id FROM run WHERE parent_run_id = ? AND ended_at IS NULL
     ORDER BY parent_step_id, parent_visit, parent_index`,
  );
  const childResults = many(
    `SELECT parent_index, run.run_id, status, iif(status = 'failed', snapshot, NULL) AS snapshot, body
     FROM run LEFT JOIN document ON document.run_id = run.run_id AND name = 'output'
     WHERE parent_run_id = ? AND parent_step_id = ? AND parent_visit = ? ORDER BY parent_index`,
  );
  const attemptBefore = one('SELECT * FROM attempt WHERE run_id = ? AND step_id = ? AND visit = ? AND attempt = ?');
  const keys = limitLookupsOf(db);
  const dueByWall = many(DUE_BY_WALL);
  const dueBySteady = many(DUE_BY_STEADY);
  const forgetLeaving = db.prepare(`DELETE FROM ${MOVE_NOTE} WHERE kind = 'leaving'`);
  const countOn = db.prepare(
    `UPDATE timer SET set_at = min(set_at, @at), steady_due_at = min(set_at, @at) + runs_ms
     WHERE steady_due_at IS NOT NULL AND (set_at > @at OR steady_due_at <> set_at + runs_ms)`,
  );
  const outbox = db.prepare<[number], OutboxRow>(
    'SELECT no, run_id AS runId, span FROM outbox WHERE no > ? ORDER BY no',
  );
  const nextProject = one('SELECT min(project) AS project FROM run WHERE project > ?');
  /** A run that cannot be loaded may name no lease: the deadline of its open attempt is what finds it. */
  const live = many(
    `SELECT lease_id, worker_id, started_at, timeout_at FROM attempt WHERE ended_at IS NULL AND lease_id IN
       (SELECT ${HELD_LEASE} FROM run WHERE project = ? AND status IN (${LEASED}))
     UNION ALL
     SELECT lease_id, worker_id, started_at, timeout_at FROM attempt WHERE ended_at IS NULL AND run_id IN
       (SELECT run_id FROM run WHERE project = ? AND status IN (${LEASED}) AND ${HELD_LEASE} IS NULL)`,
  );
  const countOpen = one('SELECT count(*) AS n FROM run WHERE project = ? AND status = ?');
  const openRuns = (): Resumption['openRuns'] => {
    const of = (status: OpenRunStatus): number =>
      projects().reduce((sum, project) => sum + (countOpen(project, status)?.['n'] as number), 0);
    return {
      scheduled: of('scheduled'),
      queued: of('queued'),
      running: of('running'),
      waiting: of('waiting'),
      paused: of('paused'),
    };
  };
  const extend = db.prepare('UPDATE attempt SET expires_at = ? WHERE lease_id = ?');
  const highest = one(
    `SELECT coalesce((SELECT max(no) FROM outbox), 0) AS no,
            max(coalesce((SELECT max(ord) FROM wait), 0), coalesce((SELECT max(ord) FROM parked), 0)) AS ord`,
  );
  const queueOrders = many(
    `SELECT priority, max(queue_order) AS queue_order FROM run INDEXED BY run_queue WHERE queue_order IS NOT NULL
     GROUP BY priority ORDER BY priority`,
  );

  const documentsOf = (runId: string, steps: readonly string[]): StoredDocuments | undefined => {
    let input: string | undefined;
    let output: string | undefined;
    let event: string | undefined;
    const state: [string, string][] = [];
    for (const row of documents(runId)) {
      const name = row['name'] as string;
      const body = row['body'] as string;
      if (name === 'input') input = body;
      else if (name === 'output') output = body;
      else if (name === 'event') event = body;
      else state.push([name.slice('state/'.length), body]);
    }
    if (input === undefined) return undefined;
    const outputs = steps.flatMap((stepId) => {
      const row = newestOutput(runId, stepId);
      return row === undefined ? [] : [[stepId, row['body'] as string] as const];
    });
    return {
      input,
      ...(output === undefined ? {} : { output }),
      ...(event === undefined ? {} : { event }),
      state,
      steps: outputs,
    };
  };

  const pastDocumentsOf = ({ runId, entry, outputs }: Lookup & { kind: 'documents_at' }): PastDocuments | undefined => {
    const given = input(runId);
    if (given === undefined) return undefined;
    const before = documentsBefore(runId, entry, runId, entry, runId, entry);
    const event = before.find(({ name }) => name === 'event')?.['body'];
    return {
      input: given['body'] as string,
      ...(event === undefined ? {} : { event: event as string }),
      state: before.flatMap(({ name, body }) =>
        name === 'event' ? [] : [[String(name).slice('state/'.length), body as string] as const],
      ),
      steps: outputs.flatMap(([stepId, visit]) => {
        const row = outputUpTo(runId, stepId, visit);
        return row === undefined ? [] : [[stepId, row['body'] as string] as const];
      }),
      ...(before.some((row) => Number(row['entry']) < 0) ? { ageUnknown: true } : {}),
    };
  };

  const map = <T>(row: Row | undefined, decode: (row: Row) => T): T | undefined =>
    row === undefined ? undefined : decode(row);

  const find = (lookup: Lookup): Found[Lookup['kind']] => {
    switch (lookup.kind) {
      case 'run':
        return map(run(lookup.runId), (row) => ({
          record: runOf(row),
          nextSeq: ((lastSeq(lookup.runId)?.['last_seq'] as number | undefined) ?? -1) + 1,
        }));
      case 'lease':
        return map(lease(lookup.leaseId), attemptOf);
      case 'documents':
        return documentsOf(lookup.runId, lookup.steps);
      case 'documents_at':
        return pastDocumentsOf(lookup);
      case 'definition':
        return map(definition(lookup.id, lookup.owner, lookup.version), definitionOf);
      case 'latest':
        return map(latest(lookup.id, lookup.owner), definitionOf);
      case 'worker':
        return map(worker(lookup.workerId), workerOf);
      case 'idempotency':
        return idempotency(lookup.project, lookup.key)?.['run_id'] as string | undefined;
      case 'event_id':
        return map(eventSeen(lookup.project, lookup.eventId), seenOf);
      case 'event_mailbox': {
        const { project, event, key, parkedAfter, limit } = lookup;
        const open = waits(limit + 1, project, event, key);
        const held = parked(limit + 1, project, event, key, parkedAfter);
        return {
          waits: open.slice(0, limit).map(waitOf),
          moreWaits: open.length > limit,
          parked: held.slice(0, limit).map(parkedOf),
          moreParked: held.length > limit,
        };
      }
      case 'runnable':
        return runnable(
          lookup.definitionOwner,
          lookup.definitionId,
          lookup.after.order,
          lookup.after.runId,
          lookup.limit,
        ).map((row) => ({
          runId: row['run_id'] as string,
          project: row['project'] as string,
          definitionOwner: row['definition_owner'] as string,
          definitionId: row['definition_id'] as string,
          definitionVersion: row['definition_version'] as number,
          order: row['queue_order'] as number,
        }));
      case 'held_runs': {
        const { definitionOwner, definitionId, held, after, limit } = lookup;
        return heldRuns(definitionOwner, definitionId, held, after, limit).map((row) => row['run_id'] as string);
      }
      case 'held_definitions':
        return heldDefinitions(lookup.held);
      case 'quarantined':
        return quarantined(lookup.after, lookup.limit).map((row) => row['run_id'] as string);
      case 'carried_over': {
        const { runId, name } = lookup.after ?? { runId: '', name: '' };
        return carriedOver(lookup.wall, lookup.steady, runId, name, lookup.limit).map((row) => ({
          runId: row['run_id'] as string,
          name: row['name'] as string,
          dueAt: row['due_at'] as number,
          project: row['project'] as string,
          traceId: row['trace_id'] as string,
        }));
      }
      case 'kept_actor':
        return map(keptActor(lookup.type, lookup.id), actorOf);
      case 'kept_actors': {
        const { type, which, after, limit } = lookup;
        const rows =
          which === 'quarantined'
            ? keptWithFault(type, after, limit)
            : keptChanged(type, after, which.changedAfter, limit);
        return rows.map(actorOf);
      }
      case 'matching_runs': {
        const { query, after, scan } = lookup;
        const rows = runsAfter(after, scan).map(runOf);
        const last = rows.length < scan ? undefined : rows.at(-1);
        return {
          runIds: rows.flatMap((record) =>
            reaches(query.reach, record.project) && matchesRun(record, query, isOrphaned) ? [record.runId] : [],
          ),
          ...(last === undefined ? {} : { upTo: last.runId }),
        };
      }
      case 'tree_size':
        return {
          traceId: lookup.traceId,
          descendants: (treeSize(lookup.traceId)?.['descendants'] as number | undefined) ?? 0,
        };
      case 'limit':
        return keys.limit(lookup.limitId);
      case 'limit_ids':
        return keys.ids(lookup.limit);
      case 'limit_line':
        return keys.line(lookup.lineId);
      case 'limit_place':
        return keys.place(lookup.order);
      case 'limit_front':
        return keys.front(lookup.limitId, lookup.limit);
      case 'limit_holders':
        return keys.holders(lookup.limitId, lookup.limit);
      case 'limits_due':
        return keys.due(lookup.steady, lookup.after, lookup.limit);
      case 'open_children':
        return openChildren(lookup.runId).map((row) => row['run_id'] as string);
      case 'child_results':
        return childResults(lookup.runId, lookup.stepId, lookup.visit).map(childResultOf);
      case 'attempt_before':
        return map(attemptBefore(lookup.runId, lookup.stepId, lookup.visit, lookup.attempt - 1), attemptOf);
      default:
        return lookup satisfies never;
    }
  };

  /** Every project that holds a run, one seek each. */
  const projects = (): string[] => {
    const found: string[] = [];
    for (let project = nextProject('')?.['project']; typeof project === 'string'; ) {
      found.push(project);
      project = nextProject(project)?.['project'];
    }
    return found;
  };

  return {
    isOrphaned,
    find,
    documentsOf,
    projects,
    dueTimers: (wall: UnixMs, limit: number, steady: UnixMs): DueTimer[] =>
      [...dueByWall(wall, limit), ...dueBySteady(steady, limit)]
        .map((row) => timerOf(row) as DueTimer)
        .toSorted((a, b) => dueTimeOf(a) - dueTimeOf(b) || (a.runId < b.runId ? -1 : 1))
        .slice(0, limit),
    readOutbox: (after: number, limit: number, characters?: number): OutboxRow[] =>
      outboxBatch(outbox.iterate(after), limit, characters),
    /** The caller holds a transaction: leases are extended, and countdowns go on by the wall clock. */
    resume: (leasesUntil: UnixMs, restartedAt?: UnixMs): Resumption => {
      // What this kernel does from now on a move that has begun does not know.
      forgetLeaving.run();
      if (restartedAt !== undefined) {
        countOn.run({ at: restartedAt });
        keys.countOn(restartedAt);
      }
      const liveLeases = projects().flatMap((project) =>
        live(project, project).map((row) => {
          extend.run(leasesUntil, row['lease_id']);
          return {
            leaseId: row['lease_id'] as string,
            workerId: row['worker_id'] as string,
            expiresAt: leasesUntil,
            ...(row['started_at'] === null ? {} : { startedAt: row['started_at'] as number }),
            ...(row['timeout_at'] === null ? {} : { timeoutAt: row['timeout_at'] as number }),
          };
        }),
      );
      const top = highest();
      return {
        liveLeases,
        openRuns: openRuns(),
        highest: {
          outboxNo: top?.['no'] as number,
          order: Math.max(top?.['ord'] as number, keys.highestOrder()),
          queueOrders: queueOrders().map((row) => ({
            priority: row['priority'] as number,
            queueOrder: row['queue_order'] as number,
          })),
        },
      };
    },
  };
};
export type Lookups = ReturnType<typeof lookupsOf>;
