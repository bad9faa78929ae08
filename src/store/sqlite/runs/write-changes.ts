import type Database from 'better-sqlite3';
import type { AttemptRecord, Changes, RunRecord } from '../../runs/run-store.ts';

const orNull = <T>(value: T | undefined): T | null => value ?? null;
const holes = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

/** A row of the store is not as this process left it: another process writes to the file, or memory was wrong. */
export class RowMoved extends Error {}

/**
 * Writes what a group of turns decided. The caller holds the transaction: all of it is committed, or nothing.
 * @returns a function that throws `RowMoved` when a run is not at the version that its change starts from
 */
export const changesWriterOf = (db: Database.Database): ((changes: Changes) => void) => {
  const insertRun = db.prepare(`INSERT INTO run VALUES (${holes(23)})`);
  // Most changes leave queue and end alone; the statement that does not name their columns leaves their indexes alone too.
  const moveRun = db.prepare(
    'UPDATE run SET status = ?, cursor = ?, snapshot = ?, version = ?, updated_at = ? WHERE run_id = ? AND version = ?',
  );
  const turnRun = db.prepare(
    `UPDATE run SET status = ?, cursor = ?, snapshot = ?, version = ?, updated_at = ?, ended_at = ?, queue_order = ?, fault = ?
     WHERE run_id = ? AND version = ?`,
  );
  const insertAttempt = db.prepare(`INSERT INTO attempt VALUES (${holes(18)})`);
  const updateAttempt = db.prepare(
    `UPDATE attempt SET state = ?, body_ran = ?, expires_at = ?, started_at = ?, ended_at = ?, timeout_at = ?, error = ?,
       usage = ?, cost = ?, details = ? WHERE lease_id = ?`,
  );
  const insertJournal = db.prepare(`INSERT INTO journal VALUES (${holes(5)})`);
  const insertCheckpoint = db.prepare(`INSERT OR REPLACE INTO checkpoint VALUES (${holes(3)})`);
  const setDocument = db.prepare(`INSERT OR REPLACE INTO document VALUES (${holes(3)})`);
  const setOutput = db.prepare(`INSERT OR REPLACE INTO output VALUES (${holes(4)})`);
  const setTimer = db.prepare(`INSERT OR REPLACE INTO timer VALUES (${holes(4)})`);
  const clearTimer = db.prepare('DELETE FROM timer WHERE run_id = ? AND name = ?');
  const openWait = db.prepare(`INSERT OR REPLACE INTO wait VALUES (${holes(8)})`);
  const closeWait = db.prepare('DELETE FROM wait WHERE run_id = ?');
  const park = db.prepare(`INSERT INTO parked VALUES (${holes(6)})`);
  const unpark = db.prepare('DELETE FROM parked WHERE ord = ?');
  const unparkBefore = db.prepare('DELETE FROM parked WHERE at < ?');
  const forgetUntaken = db.prepare('DELETE FROM event_seen WHERE run_id IS NULL AND at < ?');
  const see = db.prepare(`INSERT OR REPLACE INTO event_seen VALUES (${holes(4)})`);
  const insertDefinition = db.prepare(`INSERT INTO definition VALUES (${holes(5)})`);
  const setWorker = db.prepare(`INSERT OR REPLACE INTO worker VALUES (${holes(7)})`);
  const insertOutbox = db.prepare(`INSERT INTO outbox VALUES (${holes(3)})`);
  const deliverOutbox = db.prepare('DELETE FROM outbox WHERE no <= ?');
  const setActor = db.prepare(`INSERT OR REPLACE INTO actor VALUES (${holes(6)})`);
  const erasures = [
    ...['attempt', 'journal', 'checkpoint', 'document', 'output', 'timer', 'wait', 'outbox'],
    ...['event_seen', 'run'],
  ].map((table) => db.prepare(`DELETE FROM ${table} WHERE run_id = ?`));

  const addRun = (run: RunRecord): void => {
    insertRun.run(
      run.runId,
      run.traceId,
      run.project,
      run.definitionId,
      run.definitionVersion,
      run.correlation,
      orNull(run.userId),
      orNull(run.idempotencyKey),
      run.createdAt,
      orNull(run.deadlineAt),
      orNull(run.parent?.runId),
      orNull(run.parent?.stepId),
      orNull(run.parent?.visit),
      orNull(run.parent?.index),
      run.depth,
      run.status,
      orNull(run.cursor),
      run.snapshot,
      run.version,
      run.updatedAt,
      orNull(run.endedAt),
      orNull(run.queueOrder),
      orNull(run.fault),
    );
  };

  const changeRun = ({ record, queueOrderChanged }: Changes['runsUpdated'][number]): void => {
    const { status, cursor, snapshot, version, updatedAt, endedAt, queueOrder, fault, runId } = record;
    const { changes } =
      queueOrderChanged || endedAt !== undefined || fault !== undefined
        ? turnRun.run(
            status,
            orNull(cursor),
            snapshot,
            version,
            updatedAt,
            orNull(endedAt),
            orNull(queueOrder),
            orNull(fault),
            runId,
            version - 1,
          )
        : moveRun.run(status, orNull(cursor), snapshot, version, updatedAt, runId, version - 1);
    if (changes !== 1) throw new RowMoved(`run ${runId} is not at version ${version - 1} in the file`);
  };

  const addAttempt = (attempt: AttemptRecord): void => {
    insertAttempt.run(
      attempt.leaseId,
      attempt.runId,
      attempt.stepId,
      attempt.visit,
      attempt.attempt,
      attempt.workerId,
      attempt.delivery,
      attempt.offeredAt,
      attempt.state,
      attempt.bodyRan ? 1 : 0,
      attempt.expiresAt,
      orNull(attempt.startedAt),
      orNull(attempt.endedAt),
      orNull(attempt.timeoutAt),
      orNull(attempt.error),
      orNull(attempt.usage),
      orNull(attempt.cost),
      orNull(attempt.details),
    );
  };

  const changeAttempt = (attempt: AttemptRecord): void => {
    updateAttempt.run(
      attempt.state,
      attempt.bodyRan ? 1 : 0,
      attempt.expiresAt,
      orNull(attempt.startedAt),
      orNull(attempt.endedAt),
      orNull(attempt.timeoutAt),
      orNull(attempt.error),
      orNull(attempt.usage),
      orNull(attempt.cost),
      orNull(attempt.details),
      attempt.leaseId,
    );
  };

  return (changes) => {
    for (const record of changes.definitions)
      insertDefinition.run(record.id, record.version, record.document, record.hash, record.createdAt);
    for (const worker of changes.workers)
      setWorker.run(
        worker.workerId,
        orNull(worker.name),
        orNull(worker.version),
        orNull(worker.project),
        orNull(worker.concurrency),
        JSON.stringify(worker.definitions),
        worker.lastSeenAt,
      );
    changes.runsInserted.forEach(addRun);
    changes.runsUpdated.forEach(changeRun);
    changes.attemptsInserted.forEach(addAttempt);
    changes.attemptsUpdated.forEach(changeAttempt);
    for (const row of changes.journal) insertJournal.run(row.runId, row.firstSeq, row.lastSeq, row.entries, row.events);
    for (const { runId, seq, snapshot } of changes.checkpoints) insertCheckpoint.run(runId, seq, snapshot);
    for (const { runId, name, body } of changes.documents) setDocument.run(runId, name, body);
    for (const { runId, stepId, visit, body } of changes.outputs) setOutput.run(runId, stepId, visit, body);
    for (const { runId, name } of changes.timersCleared) clearTimer.run(runId, name);
    for (const { runId, name, dueAt, stepId } of changes.timersSet)
      setTimer.run(runId, name, orNull(dueAt), orNull(stepId));
    for (const runId of changes.waitsClosed) closeWait.run(runId);
    for (const wait of changes.waitsOpened)
      openWait.run(
        wait.runId,
        wait.project,
        wait.event,
        wait.key,
        wait.stepId,
        wait.since,
        wait.order,
        orNull(wait.deadlineAt),
      );
    for (const event of changes.parked)
      park.run(event.order, event.project, event.event, event.key, event.payload, event.at);
    for (const order of changes.unparked) unpark.run(order);
    for (const event of changes.eventsSeen) see.run(event.project, event.eventId, event.at, orNull(event.runId));
    for (const { no, runId, span } of changes.outbox) insertOutbox.run(no, runId, span);
    if (changes.outboxDelivered !== undefined) deliverOutbox.run(changes.outboxDelivered);
    for (const actor of changes.actors)
      setActor.run(actor.type, actor.id, actor.machine, actor.snapshot, actor.version, actor.updatedAt);
    for (const runId of changes.erased) for (const erase of erasures) erase.run(runId);
    if (changes.parkedBefore !== undefined) {
      unparkBefore.run(changes.parkedBefore);
      forgetUntaken.run(changes.parkedBefore);
    }
  };
};
