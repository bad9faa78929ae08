import type { ActorUpdate, Changes, RunUpdate } from '../changes.ts';
import { limitProgressRow, limitRow, lineRow, placeRow } from './limits.ts';
import type { ActorRecord, AttemptRecord, RunRecord } from '../records.ts';

/**
 * What goes to the writing thread: rows of columns in the order in which its statements bind them. Arrays of plain values
 * cost a fraction of objects to copy between threads, and nothing more to bind.
 */
export type Column = string | number | null;
export type Columns = readonly Column[];

/** The statements of a commit, in the order in which they run. Each has its rows. */
export const operations = [
  'insertDefinition',
  'setWorker',
  'seeWorker',
  'forgetWorker',
  'insertRun',
  'moveRun',
  'turnRun',
  'setTreeSize',
  'insertAttempt',
  'updateAttempt',
  'insertJournal',
  'insertCheckpoint',
  'takeInput',
  'takeDocuments',
  'takeOutput',
  'setDocument',
  'setOutput',
  'clearTimer',
  'removeActor',
  'insertActor',
  'moveActor',
  'changeActor',
  'setTimer',
  'closeWait',
  'openWait',
  'goLimit',
  'insertLimit',
  'updateLimit',
  'goLine',
  'setLine',
  'goPlace',
  'setPlace',
  'park',
  'unpark',
  'seeEvent',
  'insertOutbox',
  'deliverOutbox',
  'erase',
  'restampParked',
  'unparkBefore',
] as const;
export type Operation = (typeof operations)[number];
/** Operation by its place in `operations`, and its rows; operations without rows are left out. */
export type EncodedChanges = readonly (readonly [operation: number, rows: readonly Columns[]])[];

const orNull = <T>(value: T | undefined): T | null => value ?? null;

const descendantsOf = ({ descendants }: RunRecord): string | null =>
  descendants === undefined ? null : JSON.stringify(descendants);

const placesOf = ({ places }: RunRecord): string | null => (places === undefined ? null : JSON.stringify(places));

const runRow = (run: RunRecord): Columns => [
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
  descendantsOf(run),
  run.definitionOwner,
  orNull(run.startAt),
  run.priority,
  orNull(run.held),
  placesOf(run),
  run.restartedFrom === undefined ? null : JSON.stringify(run.restartedFrom),
];
/** Most changes leave queue, end, fault and what holds it back alone; the statement that does not name their columns leaves their indexes alone too. */
const isMove = ({ before, after }: RunUpdate): boolean =>
  before.queueOrder === after.queueOrder &&
  before.endedAt === after.endedAt &&
  before.fault === after.fault &&
  before.held === after.held &&
  before.places === after.places;
const moveRow = ({ before, after }: RunUpdate): Columns => [
  after.status,
  orNull(after.cursor),
  after.snapshot,
  after.version,
  after.updatedAt,
  descendantsOf(after),
  before.runId,
  before.version,
];
const turnRow = ({ before, after }: RunUpdate): Columns => [
  after.status,
  orNull(after.cursor),
  after.snapshot,
  after.version,
  after.updatedAt,
  orNull(after.endedAt),
  orNull(after.queueOrder),
  orNull(after.fault),
  descendantsOf(after),
  orNull(after.held),
  placesOf(after),
  before.runId,
  before.version,
];
const attemptRow = (attempt: AttemptRecord): Columns => [
  attempt.leaseId,
  attempt.runId,
  attempt.stepId,
  attempt.visit,
  attempt.attempt,
  attempt.workerId,
  attempt.delivery,
  attempt.offeredAt,
  ...attemptProgress(attempt),
];
const attemptProgress = (attempt: AttemptRecord): Columns => [
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
  attempt.machineVersion,
  attempt.version,
  orNull(attempt.heartbeatAt),
];

const actorRow = (one: ActorRecord): Columns => [
  one.type,
  one.id,
  one.project,
  one.document,
  one.snapshot,
  one.status,
  one.version,
  one.createdAt,
  one.updatedAt,
  orNull(one.fault),
];
const hasNewDocument = ({ before, after }: ActorUpdate): boolean => before.document !== after.document;
const actorProgress = ({ before, after }: ActorUpdate): Columns => [
  after.snapshot,
  after.status,
  after.version,
  after.updatedAt,
  orNull(after.fault),
  before.type,
  before.id,
  before.version,
];

/** The rows of one statement. */
export const rowsOf = (changes: Changes, operation: Operation): readonly Columns[] => {
  switch (operation) {
    case 'insertDefinition':
      return changes.definitions.map((one) => [one.id, one.owner, one.version, one.document, one.hash, one.createdAt]);
    case 'setWorker':
      return changes.workers.map((one) => [
        one.workerId,
        orNull(one.name),
        orNull(one.version),
        orNull(one.project),
        orNull(one.concurrency),
        JSON.stringify(one.definitions),
        one.lastSeenAt,
        one.registeredBy === undefined ? null : JSON.stringify(one.registeredBy),
        one.owner,
      ]);
    case 'seeWorker':
      return changes.workersSeen.map((one) => [one.at, one.workerId]);
    case 'forgetWorker':
      return changes.workersForgotten.map((one) => [one.workerId, one.before]);
    case 'insertRun':
      return changes.runsInserted.map(runRow);
    case 'moveRun':
      return changes.runsUpdated.filter(isMove).map(moveRow);
    case 'turnRun':
      return changes.runsUpdated.filter((update) => !isMove(update)).map(turnRow);
    case 'setTreeSize':
      return changes.treeSizes.map((one) => [one.traceId, one.descendants]);
    case 'insertAttempt':
      return changes.attemptsInserted.map(attemptRow);
    case 'updateAttempt':
      return changes.attemptsUpdated.map((one) => [...attemptProgress(one), one.leaseId]);
    case 'insertJournal':
      return changes.journal.map((one) => [one.runId, one.firstSeq, one.lastSeq, one.entries, one.events]);
    case 'insertCheckpoint':
      return changes.checkpoints.map((one) => [one.runId, one.seq, one.snapshot]);
    case 'setDocument':
      return changes.documents.map((one) => [one.runId, one.name, one.body, orNull(one.entry)]);
    case 'takeInput':
      return changes.takenOver.flatMap(({ runId, from, input }) => (input ? [[runId, from]] : []));
    case 'takeDocuments':
      return changes.takenOver.map(({ runId, from, entry }) => [runId, from, entry, from, entry, from, entry]);
    case 'takeOutput':
      return changes.takenOver.flatMap(({ runId, from, outputs }) =>
        outputs.map(([stepId, visit]) => [runId, from, stepId, visit]),
      );
    case 'setOutput':
      return changes.outputs.map((one) => [one.runId, one.stepId, one.visit, one.body]);
    case 'clearTimer':
      return changes.timersCleared.map((one) => [one.runId, one.name]);
    case 'removeActor':
      return changes.actorsRemoved.map(({ type, id }) => [id, type]);
    case 'insertActor':
      return changes.actorsInserted.map(actorRow);
    case 'moveActor':
      return changes.actorsUpdated.filter((update) => !hasNewDocument(update)).map(actorProgress);
    case 'changeActor':
      return changes.actorsUpdated
        .filter(hasNewDocument)
        .map((update) => [update.after.document, ...actorProgress(update)]);
    case 'setTimer':
      return changes.timersSet.map(({ runId, name, dueAt, stepId, countdown }) => [
        runId,
        name,
        orNull(dueAt),
        orNull(stepId),
        orNull(countdown?.dueAt),
        orNull(countdown?.setAt),
        orNull(countdown?.ms),
      ]);
    case 'closeWait':
      return changes.waitsClosed.map((runId) => [runId]);
    case 'openWait':
      return changes.waitsOpened.map((one) => [
        one.runId,
        one.project,
        one.event,
        one.key,
        one.stepId,
        one.since,
        one.order,
        orNull(one.deadlineAt),
      ]);
    case 'goLimit':
      return changes.limitsGone.map((limitId) => [limitId]);
    case 'insertLimit':
      return changes.limitsInserted.map(limitRow);
    case 'updateLimit':
      return changes.limitsUpdated.map(limitProgressRow);
    case 'goLine':
      return changes.linesGone.map((lineId) => [lineId]);
    case 'setLine':
      return changes.linesSet.map(lineRow);
    case 'goPlace':
      return changes.placesGone.map((order) => [order]);
    case 'setPlace':
      return changes.placesSet.map(placeRow);
    case 'park':
      return changes.parked.map((one) => [
        one.order,
        one.project,
        one.event,
        one.key,
        one.payload,
        one.at,
        orNull(one.eventId),
      ]);
    case 'unpark':
      return changes.unparked.map((order) => [order]);
    case 'seeEvent':
      return changes.eventsSeen.map((one) => [one.project, one.eventId, one.at, orNull(one.runId)]);
    case 'insertOutbox':
      return changes.outbox.map((one) => [one.no, one.runId, one.span]);
    case 'deliverOutbox':
      return changes.outboxDelivered === undefined ? [] : [[changes.outboxDelivered]];
    case 'erase':
      return changes.erased.map((runId) => [runId]);
    case 'restampParked':
      return changes.parkedUntil === undefined ? [] : [[changes.parkedUntil, changes.parkedUntil]];
    case 'unparkBefore':
      return changes.parkedBefore === undefined ? [] : [[changes.parkedBefore]];
    default:
      return operation satisfies never;
  }
};

export const encodeChanges = (changes: Changes): EncodedChanges =>
  operations.flatMap((operation, index) => {
    const rows = rowsOf(changes, operation);
    return rows.length === 0 ? [] : [[index, rows] as const];
  });
