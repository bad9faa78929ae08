import type Database from 'better-sqlite3';
import { type DefinitionOwner, SERVICE } from '../../../model/definition/owner.ts';
import {
  begunRunStatuses,
  movingRunStatuses,
  openRunStatuses,
  type UnixMs,
  waitedForBesideWorkers,
  type WaitingOn,
} from '../../../model/run.ts';
import type { ProjectReach } from '../../../model/scope.ts';
import type {
  ActorRecord,
  AttemptRecord,
  Checkpoint,
  DefinitionRecord,
  JournalRow,
  ParkedEventSummary,
  RunRecord,
  WorkerRecord,
} from '../../runs/records.ts';
import type {
  ActorListQuery,
  DefinitionListQuery,
  ParkedEventQuery,
  QueuedRuns,
  RunBacklog,
  ActorRow,
  KeptActorQuery,
  RunListQuery,
  WorkerListQuery,
} from '../../runs/run-queries.ts';
import {
  FIRST_IN_LIST,
  isFiltered,
  isInReach,
  isKeptWait,
  matchesRun,
  newestFirst,
  pageOfMatching,
  statusesOf,
} from '../../runs/run-conditions.ts';
import { type PackedRun, recordPieces } from './record-pieces.ts';
import { limitQueriesOf } from './limits.ts';
import type { MatchingRuns, RunFilter, WaitingCount } from '../../runs/run-filter.ts';
import { lookupsOf } from './lookups.ts';
import {
  actorOf,
  attemptOf,
  definitionOf,
  journalOf,
  parkedSummaryOf,
  type Row,
  runOf,
  timerOf,
  waitOf,
  workerOf,
} from '../../runs/rows/records.ts';
import { journalUpTo } from '../../runs/journal-up-to.ts';
import { HELD_LEASE, LEASED, ORPHANED, WAITING, WAITING_ON } from './schema.ts';
import { keptActorRow } from '../../runs/kept-actor-row.ts';
import { leaseActor, runActor } from '../../runs/rows/actor-rows.ts';

type Value = string | number;

/** Runs looked at in one slice of a listing, when its other filters throw some away. */
const SCAN = 500;

/** Uses the index `run_session`, whose condition it repeats. */
export const OF_SESSION = `SELECT * FROM run
  WHERE json_extract(correlation, '$.session_id') = ? AND json_extract(correlation, '$.session_id') IS NOT NULL`;

/** Uses the index `run_restarts`, whose condition it repeats. */
export const RESTARTED_FROM = `SELECT * FROM run
  WHERE json_extract(restarted_from, '$.runId') = ? AND restarted_from IS NOT NULL`;

/** Runs of a project that wait for one thing, newest-updated first. Reads `run_waiting` in its order. */
const waitingRuns = (columns: string): string =>
  `SELECT ${columns} FROM run INDEXED BY run_waiting WHERE project = ? AND ${WAITING_ON} = ? AND ${WAITING}
     AND (updated_at, run_id) < (?, ?) ORDER BY updated_at DESC, run_id DESC LIMIT ?`;
export const WAITING_RUNS = waitingRuns('*');
export const COUNT_WAITING = `SELECT count(*) AS n FROM (${waitingRuns('1')})`;

/** Orphans are few: as many as workers held when they fell silent. */
export const ORPHANED_RUNS = `SELECT run.* FROM attempt INDEXED BY attempt_orphaned JOIN run USING (run_id) WHERE ${ORPHANED}`;

const OF_STATUS = `SELECT * FROM run WHERE project = ? AND status = ? AND (updated_at, run_id) < (?, ?)
  ORDER BY updated_at DESC, run_id DESC LIMIT ?`;

/** Reads `run_listing` in its order. */
export const LONGEST_STILL =
  'SELECT * FROM run INDEXED BY run_listing WHERE project = ? AND status = ? ORDER BY updated_at, run_id LIMIT ?';

const parkedSummaries = (where: string): string =>
  `SELECT ord, project, event, key, event_id, at, octet_length(payload) AS payload_bytes
   FROM parked WHERE ${where} at > ? AND ord < ? ORDER BY ord DESC LIMIT ?`;
const PARKED = parkedSummaries('');
/** Uses the index `parked_project`. */
export const PARKED_IN_PROJECT = parkedSummaries('project = ? AND');

const HIGHEST_VERSION = 'version = (SELECT max(version) FROM definition WHERE id = one.id AND owner = one.owner)';

/** What people and routes ask: longer questions, on a connection that only reads. */
export const queriesOf = (db: Database.Database) => {
  const statements = new Map<string, Database.Statement<Value[], Row>>();
  const prepared = (sql: string): Database.Statement<Value[], Row> => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare<Value[], Row>(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  const all = (sql: string, ...values: Value[]): Row[] => prepared(sql).all(...values);
  const lookups = lookupsOf(db);

  const projectsIn = (reach: ProjectReach): readonly string[] => (reach === 'all' ? lookups.projects() : reach);
  const { isOrphaned } = lookups;

  /** One run of the order newest-updated first within a project and a status or what is waited for, from a place on. */
  const listing = (sql: string, project: string, part: string, query: RunListQuery): RunRecord[] => {
    const found: RunRecord[] = [];
    let { updatedAt, runId } = query.after ?? FIRST_IN_LIST;
    for (;;) {
      const rows = all(sql, project, part, updatedAt, runId, isFiltered(query) ? SCAN : query.limit);
      for (const row of rows) {
        const record = runOf(row);
        if (matchesRun(record, query, isOrphaned)) found.push(record);
        if (found.length >= query.limit) return found;
        ({ updatedAt, runId } = record);
      }
      if (rows.length < (isFiltered(query) ? SCAN : query.limit)) return found;
    }
  };

  /** The answer where a filter has an index of its own: all that it finds is looked at. */
  const narrowed = (query: RunListQuery): RunRecord[] | undefined => {
    const session = query.correlation?.find(([name]) => name === 'session_id')?.[1];
    const { parentRunId, restartedFrom, waitingOn } = query;
    let rows: Row[];
    if (parentRunId !== undefined) rows = all('SELECT * FROM run WHERE parent_run_id = ?', parentRunId);
    else if (restartedFrom !== undefined) rows = all(RESTARTED_FROM, restartedFrom);
    else if (session !== undefined) rows = all(OF_SESSION, session);
    else if (waitingOn === 'orphan') rows = all(ORPHANED_RUNS);
    else return undefined;
    return pageOfMatching(rows.map(runOf), query, isOrphaned);
  };

  /** Of the newest-updated runs of a project that wait for something, those that match. */
  const countOf = (
    project: string,
    waitingOn: WaitingOn,
    query: RunFilter,
    most: number,
  ): { readonly count: number; readonly isCapped: boolean } => {
    const place = [project, waitingOn, FIRST_IN_LIST.updatedAt, FIRST_IN_LIST.runId, most + 1] as const;
    if (waitingOn !== 'orphan' && query.status === undefined && !isFiltered({ ...query, reach: 'all' })) {
      const count = all(COUNT_WAITING, ...place)[0]?.['n'] as number;
      return { count: Math.min(count, most), isCapped: count > most };
    }
    const records =
      waitingOn === 'orphan' ? orphanedIn(project).slice(0, most + 1) : all(WAITING_RUNS, ...place).map(runOf);
    return {
      count: records.slice(0, most).filter((record) => matchesRun(record, query, isOrphaned)).length,
      isCapped: records.length > most,
    };
  };
  const orphanedIn = (project: string): RunRecord[] =>
    all(ORPHANED_RUNS)
      .map(runOf)
      .filter(
        (record) => record.project === project && matchesRun(record, { reach: 'all', waitingOn: 'orphan' }, isOrphaned),
      )
      .toSorted(newestFirst);

  const family = (runId: string): RunRecord[] => {
    const found: RunRecord[] = [];
    const queue = [runId];
    for (let id = queue.shift(); id !== undefined; id = queue.shift())
      for (const row of all('SELECT * FROM run WHERE parent_run_id = ?', id)) {
        const record = runOf(row);
        found.push(record);
        queue.push(record.runId);
      }
    return found;
  };
  const isOver = (record: RunRecord): boolean => record.endedAt !== undefined;

  const actorsBefore = (type: ActorRow['type'], before: string): ActorRow[] => {
    switch (type) {
      case 'run':
        return all('SELECT * FROM run WHERE run_id < ? ORDER BY run_id DESC LIMIT ?', before, SCAN).map(runActor);
      case 'lease':
        return all(
          `SELECT attempt.*, run.project FROM attempt JOIN run USING (run_id)
           WHERE lease_id < ? ORDER BY lease_id DESC LIMIT ?`,
          before,
          SCAN,
        ).map(leaseActor);
      default:
        return all(
          'SELECT * FROM kept_actor WHERE type = ? AND id < ? ORDER BY id DESC LIMIT ?',
          type,
          before,
          SCAN,
        ).map((row) => keptActorRow(actorOf(row)));
    }
  };

  return {
    findRun: (runId: string): PackedRun | undefined => {
      const stored = lookups.find({ kind: 'run', runId }) as PackedRun['stored'] | undefined;
      if (stored === undefined) return undefined;
      const outputs = new Map(
        all('SELECT step_id, visit, body FROM output WHERE run_id = ?', runId).map((row) => [
          `${row['step_id']}/${row['visit']}`,
          row['body'] as string,
        ]),
      );
      const attempts = all('SELECT * FROM attempt WHERE run_id = ? ORDER BY lease_id', runId).map((row) => {
        const record = attemptOf(row);
        const output = record.state === 'succeeded' ? outputs.get(`${record.stepId}/${record.visit}`) : undefined;
        return { ...record, ...(output === undefined ? {} : { output }) };
      });
      // A run whose input is lost is damaged; no JSON text is empty.
      const documents = lookups.documentsOf(runId, []) ?? { input: '', state: [], steps: [] };
      return {
        stored,
        documents,
        attempts: recordPieces(attempts),
        timers: all('SELECT * FROM timer WHERE run_id = ? ORDER BY name', runId).map(timerOf),
        waits: all('SELECT * FROM wait WHERE run_id = ? ORDER BY ord', runId).map(waitOf),
        children: recordPieces(
          all(
            'SELECT * FROM run WHERE parent_run_id = ? ORDER BY parent_step_id, parent_visit, parent_index',
            runId,
          ).map(runOf),
        ),
      };
    },

    listRuns: (query: RunListQuery): RunRecord[] => {
      const few = narrowed(query);
      if (few !== undefined) return few;
      const { reach, waitingOn, limit } = query;
      const projects = projectsIn(reach);
      const parts = waitingOn !== undefined && isKeptWait(waitingOn) ? [waitingOn] : statusesOf(query);
      const sql = waitingOn !== undefined && isKeptWait(waitingOn) ? WAITING_RUNS : OF_STATUS;
      return projects
        .flatMap((project) => parts.flatMap((part) => listing(sql, project, part, query)))
        .toSorted(newestFirst)
        .slice(0, limit);
    },

    openRuns: (reach: ProjectReach, limit: number): RunRecord[] =>
      projectsIn(reach)
        .flatMap((project) => begunRunStatuses.flatMap((status) => all(LONGEST_STILL, project, status, limit)))
        .map(runOf)
        .toSorted((a, b) => -newestFirst(a, b))
        .slice(0, limit),

    countWaiting: (query: Omit<RunFilter, 'waitingOn'>, most: number): WaitingCount[] => {
      const projects = projectsIn(query.reach);
      return waitedForBesideWorkers.map((waitingOn) => {
        const counts = projects.map((project) => countOf(project, waitingOn, query, most));
        return {
          waitingOn,
          count: counts.reduce((sum, { count }) => sum + count, 0),
          isCapped: counts.some(({ isCapped }) => isCapped),
        };
      });
    },

    matchingRuns: (query: RunFilter, after: string, scan: number): MatchingRuns =>
      lookups.find({ kind: 'matching_runs', query, after, scan }) as MatchingRuns,

    journal: (runId: string, after: number, limit: number, maxBytes?: number): JournalRow[] => {
      // The row that holds `after` may hold later entries too: it is the one before the first that begins beyond it.
      const [holder] = all(
        'SELECT * FROM journal WHERE run_id = ? AND first_seq <= ? ORDER BY first_seq DESC LIMIT 1',
        runId,
        after,
      ).map(journalOf);
      const rest = prepared('SELECT * FROM journal WHERE run_id = ? AND first_seq > ? ORDER BY first_seq LIMIT ?');
      function* rows(): Generator<JournalRow> {
        if (holder !== undefined && holder.lastSeq > after) yield holder;
        for (const row of rest.iterate(runId, after, limit)) yield journalOf(row);
      }
      return journalUpTo(rows(), maxBytes, limit);
    },
    journalBefore: (runId: string, seq: number, limit: number): JournalRow[] =>
      all(
        'SELECT * FROM journal WHERE run_id = ? AND first_seq <= ? ORDER BY first_seq DESC LIMIT ?',
        runId,
        seq,
        limit,
      ).map(journalOf),
    checkpoint: (runId: string, seq: number): Checkpoint | undefined => {
      const [row] = all('SELECT * FROM checkpoint WHERE run_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1', runId, seq);
      return row === undefined ? undefined : { runId, seq: row['seq'] as number, snapshot: row['snapshot'] as string };
    },
    findAttempt: (leaseId: string): AttemptRecord | undefined => {
      const [row] = all('SELECT * FROM attempt WHERE lease_id = ?', leaseId);
      return row === undefined ? undefined : attemptOf(row);
    },

    listDefinitions: ({ reach, after = { id: '', owner: SERVICE }, limit }: DefinitionListQuery): DefinitionRecord[] =>
      (reach === 'all'
        ? all(
            `SELECT * FROM definition AS one WHERE (id, owner) > (?, ?) AND ${HIGHEST_VERSION}
             ORDER BY id, owner LIMIT ?`,
            after.id,
            after.owner,
            limit,
          )
        : all(
            `SELECT * FROM definition AS one WHERE (id, owner) > (?, ?) AND ${HIGHEST_VERSION}
               AND (owner = '' OR owner IN (SELECT value FROM json_each(?)))
             ORDER BY id, owner LIMIT ?`,
            after.id,
            after.owner,
            JSON.stringify(reach),
            limit,
          )
      ).map(definitionOf),
    definitionVersions: (
      owner: DefinitionOwner,
      id: string,
      reach: ProjectReach,
    ): (DefinitionRecord & { openRuns: number })[] => {
      const open = new Map<number, number>();
      for (const project of projectsIn(reach))
        for (const status of openRunStatuses)
          for (const row of all(
            `SELECT definition_version AS version, count(*) AS open FROM run
             WHERE project = ? AND status = ? AND definition_owner = ? AND definition_id = ?
             GROUP BY definition_version`,
            project,
            status,
            owner,
            id,
          )) {
            const version = row['version'] as number;
            open.set(version, (open.get(version) ?? 0) + (row['open'] as number));
          }
      return all('SELECT * FROM definition WHERE id = ? AND owner = ? ORDER BY version', id, owner).map((row) => {
        const record = definitionOf(row);
        return { ...record, openRuns: open.get(record.version) ?? 0 };
      });
    },
    listWorkers: ({ reach, after, limit }: WorkerListQuery): WorkerRecord[] =>
      (reach === 'all'
        ? all('SELECT * FROM worker WHERE worker_id > ? ORDER BY worker_id LIMIT ?', after ?? '', limit)
        : all(
            `SELECT * FROM worker WHERE worker_id > ? AND (project IS NULL OR project IN (SELECT value FROM json_each(?)))
             ORDER BY worker_id LIMIT ?`,
            after ?? '',
            JSON.stringify(reach),
            limit,
          )
      ).map(workerOf),
    silentWorkers: (before: UnixMs, limit: number): string[] =>
      all('SELECT worker_id FROM worker WHERE last_seen_at < ? ORDER BY last_seen_at LIMIT ?', before, limit).map(
        (row) => row['worker_id'] as string,
      ),

    listLiveLeases: (reach: ProjectReach, after: string | undefined, limit: number) =>
      projectsIn(reach)
        .flatMap((project) =>
          all(
            `SELECT attempt.*, run.project, run.definition_id, run.definition_version FROM run
             JOIN attempt ON attempt.lease_id = ${HELD_LEASE}
             WHERE run.project = ? AND run.status IN (${LEASED}) AND attempt.ended_at IS NULL AND attempt.lease_id > ?
             ORDER BY attempt.lease_id LIMIT ?`,
            project,
            after ?? '',
            limit,
          ),
        )
        .map((row) => ({
          ...attemptOf(row),
          project: row['project'] as string,
          definitionId: row['definition_id'] as string,
          definitionVersion: row['definition_version'] as number,
        }))
        .toSorted((a, b) => (a.leaseId < b.leaseId ? -1 : 1))
        .slice(0, limit),

    leasesHeld: (reach: ProjectReach): Map<string, number> => {
      const held = new Map<string, number>();
      const ofRuns = `SELECT attempt.worker_id, count(*) AS leases FROM run JOIN attempt ON attempt.lease_id = ${HELD_LEASE}
        WHERE run.status IN (${LEASED}) AND attempt.ended_at IS NULL`;
      for (const rows of reach === 'all'
        ? [all(`${ofRuns} GROUP BY attempt.worker_id`)]
        : reach.map((project) => all(`${ofRuns} AND run.project = ? GROUP BY attempt.worker_id`, project)))
        for (const row of rows) {
          const workerId = row['worker_id'] as string;
          held.set(workerId, (held.get(workerId) ?? 0) + (row['leases'] as number));
        }
      return held;
    },

    listActors: (query: ActorListQuery): ActorRow[] => {
      const found: ActorRow[] = [];
      // Ids of schedules begin with a project, which may begin with any character.
      let before = query.before ?? '\u{10FFFF}';
      for (;;) {
        const rows = actorsBefore(query.type, before);
        for (const actor of rows) {
          before = actor.id;
          if (!isInReach(query.reach, actor.project)) continue;
          if (query.status !== undefined && actor.status !== query.status) continue;
          found.push(actor);
          if (found.length >= query.limit) return found;
        }
        if (rows.length < SCAN) return found;
      }
    },

    listKeptActors: ({ type, reach, after, limit }: KeptActorQuery): ActorRecord[] =>
      (reach === 'all'
        ? all('SELECT * FROM kept_actor WHERE type = ? AND id > ? ORDER BY id LIMIT ?', type, after ?? '', limit)
        : all(
            `SELECT * FROM kept_actor WHERE type = ? AND id > ? AND project IN (SELECT value FROM json_each(?))
             ORDER BY id LIMIT ?`,
            type,
            after ?? '',
            JSON.stringify(reach),
            limit,
          )
      ).map(actorOf),

    listParkedEvents: ({ reach, parkedAfter, before, limit }: ParkedEventQuery): ParkedEventSummary[] => {
      const from = before ?? Number.MAX_SAFE_INTEGER;
      const rows =
        reach === 'all'
          ? all(PARKED, parkedAfter, from, limit)
          : reach.flatMap((project) => all(PARKED_IN_PROJECT, project, parkedAfter, from, limit));
      return rows
        .map(parkedSummaryOf)
        .toSorted((a, b) => b.order - a.order)
        .slice(0, limit);
    },

    ...limitQueriesOf(all),

    subjectRuns: (userId: string, reach: ProjectReach, limit: number) => {
      const theirs = all('SELECT * FROM run WHERE user_id = ?', userId)
        .map(runOf)
        .filter(({ project }) => isInReach(reach, project));
      const finished: { runId: string; traceId: string }[] = [];
      let taken = 0;
      for (const root of theirs) {
        if (root.parent !== undefined || !isOver(root) || taken >= limit) continue;
        const all = [root, ...family(root.runId)];
        if (!all.every(isOver)) continue;
        taken += 1;
        for (const { runId, traceId } of all) finished.push({ runId, traceId });
      }
      return { finished, inFlight: theirs.filter((record) => !isOver(record)).length };
    },
    finishedRuns: (project: string, before: number, limit: number): string[] =>
      all(
        `SELECT run_id FROM run WHERE project = ? AND ended_at < ? AND parent_run_id IS NULL
         ORDER BY ended_at LIMIT ?`,
        project,
        before,
        limit,
      ).flatMap((row) => {
        const runId = row['run_id'] as string;
        const descendants = family(runId);
        return descendants.every(isOver) ? [runId, ...descendants.map((record) => record.runId)] : [];
      }),

    stuckRuns: (limit: number): Pick<RunRecord, 'runId' | 'project' | 'cursor'>[] =>
      lookups
        .projects()
        .flatMap((project) =>
          movingRunStatuses.flatMap((status) =>
            all(
              `SELECT run_id, project, cursor FROM run WHERE project = ? AND status = ?
                 AND queue_order IS NULL AND fault IS NULL
                 AND (held IS NULL OR held IN ('concurrency_key', 'rate') AND NOT EXISTS (
                   SELECT 1 FROM limit_place WHERE limit_place.run_id = run.run_id AND line_id IS NOT NULL
                     AND ord = coalesce(json_extract(places, '$.step.order'), json_extract(places, '$.run.order'))))
                 AND NOT EXISTS (SELECT 1 FROM wait WHERE wait.run_id = run.run_id)
                 AND NOT EXISTS (SELECT 1 FROM timer WHERE timer.run_id = run.run_id AND timer.name <> 'run_timeout')
                 AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.run_id = run.run_id AND attempt.ended_at IS NULL)
                 AND NOT EXISTS (SELECT 1 FROM run AS child WHERE child.parent_run_id = run.run_id AND child.ended_at IS NULL)
               LIMIT ?`,
              project,
              status,
              limit,
            ),
          ),
        )
        .slice(0, limit)
        .map((row) => ({
          runId: row['run_id'] as string,
          project: row['project'] as string,
          ...(row['cursor'] === null ? {} : { cursor: row['cursor'] as string }),
        })),

    runShapes: (project: string, from: number, to: number, limit: number) =>
      all(
        `SELECT run_id, definition_owner, definition_id, definition_version, snapshot,
           coalesce((SELECT max(tries) FROM (SELECT count(*) AS tries FROM attempt WHERE attempt.run_id = run.run_id
                                             GROUP BY step_id)), 0) AS tries
         FROM run WHERE project = ? AND ended_at >= ? AND ended_at < ? ORDER BY ended_at DESC LIMIT ?`,
        project,
        from,
        to,
        limit,
      ).map((row) => ({
        runId: row['run_id'] as string,
        definitionOwner: row['definition_owner'] as string,
        definitionId: row['definition_id'] as string,
        definitionVersion: row['definition_version'] as number,
        snapshot: row['snapshot'] as string,
        maxStepAttempts: row['tries'] as number,
      })),

    backlog: (wall: UnixMs, steady: UnixMs): RunBacklog => {
      const [named] = all('SELECT min(due_at) AS at FROM timer WHERE due_at IS NOT NULL AND steady_due_at IS NULL');
      const [counted] = all('SELECT min(steady_due_at) AS at FROM timer WHERE steady_due_at IS NOT NULL');
      const next = [
        ...(typeof named?.['at'] === 'number' ? [named['at']] : []),
        ...(typeof counted?.['at'] === 'number' ? [counted['at'] - steady + wall] : []),
      ];
      const overdue = all(
        `SELECT (SELECT count(*) FROM timer WHERE due_at <= ? AND steady_due_at IS NULL)
              + (SELECT count(*) FROM timer WHERE steady_due_at <= ?) AS n`,
        wall,
        steady,
      );
      return {
        overdueTimers: overdue[0]?.['n'] as number,
        ...(next.length === 0 ? {} : { nextTimerAt: Math.min(...next) }),
        outboxRows: all('SELECT count(*) AS n FROM outbox')[0]?.['n'] as number,
      };
    },
    queuedRuns: (reach: ProjectReach, limit: number): QueuedRuns[] =>
      (reach === 'all'
        ? all(
            `SELECT definition_owner, definition_id, count(*) AS runs FROM run WHERE queue_order IS NOT NULL
             GROUP BY definition_owner, definition_id ORDER BY definition_id, definition_owner LIMIT ?`,
            limit,
          )
        : all(
            `SELECT definition_owner, definition_id, count(*) AS runs FROM run
             WHERE queue_order IS NOT NULL AND project IN (SELECT value FROM json_each(?))
             GROUP BY definition_owner, definition_id ORDER BY definition_id, definition_owner LIMIT ?`,
            JSON.stringify(reach),
            limit,
          )
      ).map((row) => ({
        definitionOwner: row['definition_owner'] as string,
        definitionId: row['definition_id'] as string,
        runs: row['runs'] as number,
      })),
    counts: () => {
      let openRuns = 0;
      for (const project of lookups.projects())
        for (const status of openRunStatuses)
          openRuns += all('SELECT count(*) AS n FROM run WHERE project = ? AND status = ?', project, status)[0]?.[
            'n'
          ] as number;
      return {
        definitionVersions: all('SELECT count(*) AS n FROM definition')[0]?.['n'] as number,
        openRuns,
        quarantined: all('SELECT count(*) AS n FROM run WHERE fault IS NOT NULL')[0]?.['n'] as number,
      };
    },

    ping: (): void => {
      all('SELECT 1 AS one FROM schema_version');
    },
  };
};
export type Queries = ReturnType<typeof queriesOf>;
