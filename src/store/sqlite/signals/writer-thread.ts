/** Body of the thread that owns the only writing connection of the data file. */
import { probeSpan } from './probe.ts';
import type { ProbeOutcome } from '../../signals/probe.ts';
import { type MessagePort, workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import {
  FileRefused,
  inspectFile,
  lockFile,
  openDataFile,
  openForWriting,
  settlePath,
  unusedBytesOf,
} from '../connection.ts';
import { driverCode, isDiskFull, needsReopening } from '../driver-error.ts';
import { drain, errorInfo, mainPort, openingError, post, whenIdle } from '../inbox.ts';
import type { ErrorInfo, Reply, Request, Requests } from '../messages.ts';
import { createRoom, isRefusing, namingQuota } from '../room.ts';
import { type Transactions, transactionsOf } from '../transaction.ts';
import { eraserOf, type Eraser } from './erase.ts';
import { type PayloadReader, payloadReaderOf } from './read-payloads.ts';
import { SIGNALS_FILE } from './schema.ts';
import { createSearchFile, readProgress, searchPath } from './search-file.ts';
import { statementsOf } from './statements.ts';
import { NICENESS, standBack } from '../../thread-priority.ts';
import type { Row } from '../../signals/rows/columns.ts';
import type { SearchNotice, UnitRows, WriterNotice, WriterOpened, WriterOptions } from './wire.ts';
import { type EvaluationWriter, evaluationWriterOf, type GroupedWrite, groupedWrites } from './write-evaluation.ts';
import { type UnitWriter, unitWriterOf } from './write-unit.ts';

/**
 * Signals in one commit, but for a larger unit, which is alone in its own: bounds the wait of the first unit of a group. Larger
 * groups are no faster, and the senders they answer at once come back at once.
 */
const GROUP_SIGNALS = 1_024;
/** Faults of the disk in a row after which the thread gives up on the file. */
const FATAL_FAULTS = 3;

const { options, searchPort } = workerData as { options: WriterOptions; searchPort: MessagePort };
standBack(NICENESS.writesSignals);
const main = mainPort();

type Engine = {
  readonly db: Database.Database;
  readonly transactions: Transactions;
  readonly writer: UnitWriter;
  readonly eraser: Eraser;
  readonly evaluation: EvaluationWriter;
  readonly insertAudit: Database.Statement;
  readonly erasedUpTo: Database.Statement<[number], number>;
  readonly forgetErased: Database.Statement;
  readonly lastPending: Database.Statement<[], number | null>;
};

const path = settlePath(options.path);

const engineOf = (db: Database.Database): Engine => {
  if (options.maxFileBytes !== null) {
    const pageBytes = db.pragma('page_size', { simple: true }) as number;
    db.pragma(`max_page_count = ${Math.max(1, Math.floor(options.maxFileBytes / pageBytes))}`);
  }
  const transactions = transactionsOf(db);
  const writer = unitWriterOf(db, transactions.unit, options.hourSettledMs);
  return {
    db,
    transactions,
    writer,
    eraser: eraserOf(db, writer),
    evaluation: evaluationWriterOf(db),
    insertAudit: db.prepare('INSERT INTO audit VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    erasedUpTo: db.prepare<[number], number>('SELECT span FROM pending_erasures WHERE seq <= ?').pluck(),
    forgetErased: db.prepare('DELETE FROM pending_erasures WHERE seq <= ?'),
    lastPending: db.prepare<[], number | null>('SELECT max(seq) FROM pending_erasures').pluck(),
  };
};

const PROBE_CACHE_MIB = 1;

let engine: Engine | undefined;
let isClosed = false;
const truncateLog = (): boolean => {
  const [result] = namingQuota(path, () => reach().db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]);
  return result?.busy === 0;
};
const room = createRoom({
  path,
  reserveBytes: options.reserveBytes,
  flag: options.roomFlag,
  fold: truncateLog,
  unusedBytes: () => unusedBytesOf(reach().db),
});
let releaseLock: (() => void) | undefined;
let faults = 0;

/** Whether all text of the file is indexed, given how far the index is, and none is on its way out. */
const isCaughtUp = (db: Database.Database, payloads: PayloadReader, highWater: number): boolean =>
  db.prepare('SELECT 1 FROM pending_erasures LIMIT 1').get() === undefined &&
  payloads.textsAfter(highWater, 1).length === 0;

const open = (): WriterOpened => {
  releaseLock = lockFile(path, SIGNALS_FILE);
  try {
    const { db, storeNumber } = openDataFile(path, options.cacheMiB, SIGNALS_FILE);
    engine = engineOf(db);
    const payloads = payloadReaderOf(statementsOf(db));
    const inSpans = db.prepare<[], number | null>('SELECT max(span) FROM spans').pluck().get() ?? 0;
    const lastSpan = Math.max(inSpans, payloads.lastSpan());
    const file = searchPath(path);
    if (lastSpan === 0 && readProgress(file, storeNumber) === undefined) createSearchFile(file, storeNumber);
    const progress = readProgress(file, storeNumber);
    return {
      path,
      storeNumber,
      lastSpan: Math.max(lastSpan, progress?.highWater ?? 0),
      isIndexWhole: progress !== undefined && !progress.isPurgeDue && isCaughtUp(db, payloads, progress.highWater),
    };
  } catch (error) {
    engine?.db.close();
    engine = undefined;
    releaseLock();
    throw error;
  }
};

/** The engine; opened and checked again when a fault of the disk made us drop it. */
const reach = (): Engine => {
  if (isClosed) throw new Error('the writer is closed');
  if (engine === undefined) {
    inspectFile(path, SIGNALS_FILE);
    engine = engineOf(openForWriting(path, options.cacheMiB, SIGNALS_FILE));
  }
  return engine;
};

/** Answers to units that are committed, and of whose traces some totals are not: one list a commit, in their order. */
let waiting: Reply[][] = [];
/** What the answers wait for was done, or becomes late. @param awaited how many commits still have something to do */
const answerWaiting = (awaited = 0): void => {
  for (const replies of waiting.slice(0, waiting.length - awaited)) post(main, replies);
  waiting = waiting.slice(waiting.length - awaited);
};
/** Takes what has come meanwhile. @returns whether something is to be written */
const lookForOthers = (): boolean => {
  drain(main, take);
  return queue.length > 0;
};

let lastFault: unknown;
/** Counts faults of the disk in a row, and drops a connection whose state is no longer known. */
const noteFault = (error: unknown): void => {
  if (error === lastFault) return; // on its way up
  lastFault = error;
  const code = driverCode(error);
  if (!(error instanceof FileRefused) && (code === undefined || !needsReopening(code))) return;
  faults++;
  try {
    engine?.db.close();
  } catch {
    // It is dropped whether or not it could be closed; the next request opens another.
  }
  engine = undefined;
  answerWaiting();
  if (faults >= FATAL_FAULTS) post(main, { fatal: errorInfo(path, error, SIGNALS_FILE.store).message });
};

/** False until the search thread has said something. It runs when there is something for it to do. */
let isSearchAwake = false;
const tellSearch = (notice: WriterNotice): void => {
  if (!isSearchAwake) post(main, { needed: 'search' });
  searchPort.postMessage(notice);
};

/** Runs work in one transaction, and leaves nothing of it in memory when it fails. */
const commit = <T>(work: (engine: Engine) => T): T => {
  try {
    const current = reach();
    const value = namingQuota(path, () => current.transactions.run(() => work(current)));
    faults = 0;
    return value;
  } catch (error) {
    engine?.writer.abandon();
    noteFault(error);
    throw error;
  }
};

/** Commits what adds. */
const add = <T>(work: (engine: Engine) => T): T => room.add(() => commit(work));
/** Commits what deletes. */
const remove = <T>(work: (engine: Engine) => T): T => room.remove(() => commit(work));

type Unit = {
  readonly id: number;
  readonly size: number;
  /** True when the search thread holds rows of this unit and waits for its end. */
  readonly isSearched: boolean;
  readonly write: (engine: Engine) => unknown;
};

/** Whether a unit is alone in its commit. */
const isLarge = (unit: Unit | undefined): boolean => unit !== undefined && unit.size > GROUP_SIGNALS;

const sizeOf = (pieces: readonly UnitRows[]): number => {
  let size = 0;
  for (const rows of pieces) for (let i = 3; i < rows.length; i++) if (i !== 4) size += (rows[i] as Row[]).length;
  return Math.max(1, size);
};

/** Pieces of units whose last one is on its way. */
const piecesOf = new Map<number, UnitRows[]>();

const unitOf = ([id, method, ...args]: Request): Unit | undefined => {
  if (method === 'write') {
    const [last, isSearched, firstSpan] = args as [UnitRows, boolean, number];
    const pieces = [...(piecesOf.get(id) ?? []), last];
    piecesOf.delete(id);
    return { id, size: sizeOf(pieces), isSearched, write: ({ writer }) => writer.write(pieces, firstSpan) };
  }
  if (method === 'audit') {
    const rows = args[0] as Row[];
    return {
      id,
      size: rows.length,
      isSearched: false,
      write: ({ transactions, insertAudit }) =>
        transactions.unit(() => {
          for (const row of rows) insertAudit.run(row);
        }),
    };
  }
  if (groupedWrites.includes(method as GroupedWrite))
    return {
      id,
      size: 1,
      isSearched: false,
      write: ({ transactions, evaluation }) => {
        const write = evaluation[method as GroupedWrite] as (...args: unknown[]) => unknown;
        return transactions.unit(() => write(...args));
      },
    };
  return undefined;
};

/** Commits units together. One that fails by itself is left out; a failure of the transaction fails all. */
const writeGroup = (units: readonly Unit[]): void => {
  const outcomes = new Map<number, unknown>();
  const errors = new Map<number, ErrorInfo>();
  try {
    add((current) => {
      // On a full disk this is done a second time.
      outcomes.clear();
      errors.clear();
      for (const { id, write } of units) {
        try {
          outcomes.set(id, write(current));
        } catch (error) {
          const code = driverCode(error);
          // SQLite ends the transaction by itself on some errors; nothing of the group is left to commit then.
          if (!current.db.inTransaction || (code !== undefined && needsReopening(code))) throw error;
          errors.set(id, errorInfo(path, error, SIGNALS_FILE.store));
        }
      }
      current.writer.finish(isLarge(units[0]) ? lookForOthers : undefined);
    });
  } catch (error) {
    outcomes.clear();
    const info = errorInfo(path, error, SIGNALS_FILE.store);
    for (const { id } of units) if (!errors.has(id)) errors.set(id, info);
  }
  const searched = units.filter(({ isSearched }) => isSearched).map(({ id }) => id);
  if (searched.length > 0) tellSearch(['ended', searched, searched.map((id) => outcomes.get(id) === 'written')]);
  const replies = units.map(({ id }): Reply => {
    const error = errors.get(id);
    return error === undefined ? [id, outcomes.get(id)] : [id, undefined, error];
  });
  if ((engine?.writer.projection.committed() ?? 0) > waiting.length) waiting.push(replies);
  else post(main, replies);
  if (engine?.writer.takeReplacedText() === true) tellSearch(['erase', 'later']);
};

/** Goes on with the totals that answers wait for. */
const projectAwaited = (): void => {
  if (waiting.length === 0) return;
  try {
    add(({ writer }) => writer.projectAwaited(lookForOthers));
    answerWaiting(reach().writer.projection.committed());
  } catch {
    // What was to be stored is stored. These totals follow as late ones do.
    engine?.writer.projection.giveUpAwaited();
    answerWaiting();
  }
};

/** Whether the log still holds bytes of what was erased: a reader kept it from being cut off. */
let isTruncationDue = false;
/** @param isSlice more of the same erasure follows: the log is cut off after that, unless the disk needs it now */
const truncateOrLater = (isSlice: boolean): boolean => {
  isTruncationDue = true;
  if (isSlice && !isRefusing(options.roomFlag)) return false;
  isTruncationDue = !room.remove(truncateLog);
  return !isTruncationDue;
};
/** What a fault or a reader kept from an erasure is done when there is time. */
const takeUpErasures = (): void => {
  if (engine === undefined) return; // dropped for a fault: the next request opens another
  try {
    if (engine.lastPending.get() !== null) tellSearch(['erase', 'later']);
    if (isTruncationDue) truncateOrLater(false);
  } catch (error) {
    noteFault(error);
  }
};

/** Deletes that answer when the side file has erased the text as well. */
let erasures: {
  readonly id: number;
  readonly seq: number;
  readonly isSlice: boolean;
  readonly value: (pending: boolean) => unknown;
}[] = [];

/** @param most where that many rows went, more of the same follows */
const erase = (
  id: number,
  work: (engine: Engine) => number,
  value: (rows: number, pending: boolean) => unknown,
  most = Number.POSITIVE_INFINITY,
): void => {
  const { rows, seq } = remove((current) => ({ rows: work(current), seq: current.lastPending.get() }));
  const isSlice = rows >= most;
  if (seq === null || seq === undefined) {
    // No text of it is in the index.
    post(main, [[id, value(rows, !truncateOrLater(isSlice))]]);
    return;
  }
  erasures.push({ id, seq, isSlice, value: (pending) => value(rows, pending) });
  tellSearch(['erase', isSlice ? 'slice' : 'now']);
};

/** Forgets text that the side file has erased, and answers the deletes that waited for it. */
const onSearchNotice = (notice: SearchNotice): void => {
  isSearchAwake = true;
  if (isClosed) return; // what it erased is forgotten after the next start
  let pending = true;
  let upTo = Number.POSITIVE_INFINITY;
  try {
    if (notice[0] === 'erased') {
      const [, seq, isGone] = notice;
      if (seq > 0)
        remove(({ writer, erasedUpTo, forgetErased }) => {
          for (const span of erasedUpTo.all(seq)) writer.payloads.drop(span);
          writer.finish();
          forgetErased.run(seq);
        });
      if (isGone === undefined) return;
      upTo = seq;
      pending = !(truncateOrLater(erasures.every(({ isSlice }) => isSlice)) && isGone);
    }
  } catch (error) {
    noteFault(error);
  }
  const ready = erasures.filter(({ seq }) => seq <= upTo);
  erasures = erasures.filter(({ seq }) => seq > upTo);
  if (ready.length > 0)
    post(
      main,
      ready.map(({ id, value }): Reply => [id, value(pending)]),
    );
};

/** Adding up hours takes a slice now and then, and rests many times as long where units wait. */
const HOURS_SLICE_MS = 10;
const HOURS_REST = { whileBusy: 30, whileIdle: 2 } as const;
/** After the start, after a failure, and between two looks of a busy writer whether there is something to add up, in milliseconds. */
const HOURS_PAUSE_MS = { atStart: 1_000, afterFailure: 60_000, betweenLooks: 1_000 } as const;
let nextHours = performance.now() + HOURS_PAUSE_MS.atStart;
let hoursTimer: NodeJS.Timeout | undefined;
const addUpHours = (isBusy: boolean): void => {
  const started = performance.now();
  if (engine === undefined || started < nextHours) return;
  const { hours } = engine.writer;
  try {
    const hasMore = hours.addUp(Date.now(), HOURS_SLICE_MS);
    if (hours.hasRows()) {
      add(({ writer }) => writer.hours.store());
      hours.stored();
      idle.refresh();
    }
    const took = performance.now() - started;
    nextHours =
      performance.now() +
      (hasMore ? took * HOURS_REST[isBusy ? 'whileBusy' : 'whileIdle'] : HOURS_PAUSE_MS.betweenLooks);
  } catch {
    // A disk that is full or fails: reports read the spans themselves.
    nextHours = performance.now() + HOURS_PAUSE_MS.afterFailure;
  }
};
/** Wakes the thread when an hour is to be added up. */
const planHours = (): void => {
  const at = isClosed || hoursTimer !== undefined ? undefined : engine?.writer.hours.nextAt(Date.now());
  if (at === undefined) return;
  hoursTimer = setTimeout(
    () => {
      hoursTimer = undefined;
      addUpHours(false);
      planHours();
    },
    Math.max(at - Date.now(), nextHours - performance.now(), 1),
  );
};

/** After the disk failed, totals that are late wait so long, in milliseconds. */
const LATE_PAUSE_MS = 60_000;
let nextLate = 0;
let lateTimer: NodeJS.Timeout | undefined;
const settleLate = (): void => {
  if (engine?.writer.msUntilLate() !== 0 || performance.now() < nextLate) return;
  try {
    add(({ writer }) => writer.settleLate());
    idle.refresh();
  } catch {
    nextLate = performance.now() + LATE_PAUSE_MS; // traces show what they had
  }
};
/** Wakes the thread when totals that are late may be brought up. */
const planLate = (): void => {
  const ms = isClosed || lateTimer !== undefined ? undefined : engine?.writer.msUntilLate();
  if (ms === undefined) return;
  lateTimer = setTimeout(
    () => {
      lateTimer = undefined;
      settleLate();
      planLate();
    },
    Math.max(ms, nextLate - performance.now(), 1),
  );
};

const writeTrivially = (): void =>
  add(({ db }) => {
    db.pragma(`user_version = ${db.pragma('user_version', { simple: true }) as number}`);
  });

/** On a connection of its own: one whose write failed is used no more. */
const probe = (): ProbeOutcome => {
  if (isClosed) throw new Error('the writer is closed');
  const db = openForWriting(path, PROBE_CACHE_MIB, SIGNALS_FILE);
  try {
    return probeSpan(db);
  } finally {
    db.close();
  }
};

const close = (): void => {
  isClosed = true;
  answerWaiting(); // the next start brings their totals up
  clearTimeout(idle);
  clearTimeout(hoursTimer);
  clearTimeout(lateTimer);
  engine?.db.close();
  engine = undefined;
  room.keep();
  releaseLock?.();
};

const operate = ([id, method, ...args]: Request): void => {
  try {
    switch (method) {
      case 'deleteTraces': {
        const [traceIds, projects] = args as [string[], string[] | null];
        erase(
          id,
          ({ eraser }) => eraser.eraseTraces(traceIds, projects),
          (deleted, pending) => ({ deleted, pending }),
        );
        return;
      }
      case 'deleteDataset': {
        const [project, datasetId] = args as [string, string];
        erase(
          id,
          ({ evaluation }) => evaluation.deleteDataset(project, datasetId),
          (deleted, pending) => ({ deleted, pending }),
        );
        return;
      }
      case 'deleteItem': {
        const [project, datasetId, itemId] = args as [string, string, string];
        erase(
          id,
          ({ evaluation }) => evaluation.deleteItem(project, datasetId, itemId),
          (deleted, pending) => ({ deleted, pending }),
        );
        return;
      }
      case 'deleteView': {
        const [project, viewId] = args as [string, string];
        erase(
          id,
          ({ evaluation }) => evaluation.deleteView(project, viewId),
          (deleted, pending) => ({ deleted, pending }),
        );
        return;
      }
      case 'deleteViewsOfUser': {
        const [userId, projects] = args as [string, string[] | null];
        erase(
          id,
          ({ evaluation }) => evaluation.deleteViewsOfUser(userId, projects),
          (deleted, pending) => ({ deleted, pending }),
        );
        return;
      }
      case 'trim': {
        const [project, before, limit] = args as [string, bigint, number];
        // On a full disk a slice may be too much for the room there is; a single trace may fit.
        for (let traces = limit; ; traces = Math.ceil(traces / 10))
          try {
            erase(
              id,
              ({ eraser }) => eraser.trim(project, before, traces),
              (rows) => rows,
              traces,
            );
            return;
          } catch (error) {
            if (traces <= 1 || !isDiskFull(error)) throw error;
          }
      }
      case 'trimRecords': {
        const [auditBefore, keysBefore] = args as [bigint, bigint];
        remove(({ eraser }) => eraser.trimRecords(auditBefore, keysBefore));
        break;
      }
      case 'writeTrivially':
        writeTrivially();
        break;
      case 'probe':
        post(main, [[id, probe()]]);
        return;
      case 'close':
        close();
        post(main, [[id, undefined]]);
        main.close();
        searchPort.close();
        return;
      default:
        throw new Error(`the writer has no method "${method}"`);
    }
    post(main, [[id, undefined]]);
  } catch (error) {
    post(main, [[id, undefined, errorInfo(path, error, SIGNALS_FILE.store)]]);
  }
};

/** What is written in groups, and everything else, in the order of its arrival. */
const queue: ({ readonly unit: Unit } | { readonly operation: Request })[] = [];
const takeOne = (request: Request): void => {
  const [id, method, rows] = request;
  if (method === 'piece') {
    const pieces = piecesOf.get(id);
    if (pieces === undefined) piecesOf.set(id, [rows as UnitRows]);
    else pieces.push(rows as UnitRows);
    return;
  }
  const unit = unitOf(request);
  if (unit === undefined) queue.push({ operation: request });
  // The answers that audit rows tell of have gone out, or wait for them: they overtake what was sent to be stored.
  else if (method === 'audit') queue.unshift({ unit });
  else queue.push({ unit });
};
const take = (requests: Requests): void => requests.forEach(takeOne);
/** The next units that belong in one commit. */
const nextGroup = (): Unit[] => {
  const units: Unit[] = [];
  for (let size = 0; size < GROUP_SIGNALS; ) {
    const next = queue[0];
    if (next === undefined || !('unit' in next)) break;
    if (units.length > 0 && isLarge(next.unit)) break;
    queue.shift();
    units.push(next.unit);
    size += next.unit.size;
  }
  return units;
};
const idle = whenIdle(() => {
  engine?.db.pragma('wal_checkpoint(PASSIVE)'); // a log that lies in the file already needs no room there
  engine?.db.pragma('shrink_memory');
  if (room.isStillFull(writeTrivially)) idle.refresh();
  else takeUpErasures();
});

const onRequest = (first: Requests): void => {
  take(first);
  drain(main, take);
  while (queue.length > 0 || waiting.length > 0) {
    const units = nextGroup();
    if (units.length > 0) {
      writeGroup(units);
      drain(main, take);
      // What has waited for a large unit waits for nothing else.
      if (isLarge(units[0]) && queue[0] !== undefined && 'unit' in queue[0] && !isLarge(queue[0].unit)) continue;
      addUpHours(true);
      settleLate();
    } else {
      const next = queue.shift();
      if (next !== undefined && 'operation' in next) operate(next.operation);
    }
    projectAwaited();
    // While more comes than one group holds, this loop does not end, and deletes wait for these.
    if (!isClosed) drain(searchPort, onSearchNotice);
    drain(main, take);
  }
  if (isClosed) return;
  idle.refresh();
  planHours();
  planLate();
};

try {
  const opened = room.open(open);
  searchPort.on('message', onSearchNotice);
  main.on('message', onRequest);
  post(main, [[0, opened]]);
  setImmediate(room.keep);
  planHours();
  planLate();
} catch (error) {
  post(main, [[0, undefined, openingError(path, error, SIGNALS_FILE.store)]]);
  main.close();
  searchPort.close();
}
