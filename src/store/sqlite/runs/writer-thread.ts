/** Body of the thread that owns the only writing connection of the runs file. */
import { workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import type { Lookup } from '../../runs/lookups.ts';
import type { WatchEntry, WatchSnapshot } from '../../runs/watch-journal.ts';
import {
  FileRefused,
  inspectFile,
  lockFile,
  openDataFile,
  openForWriting,
  settlePath,
  unusedBytesOf,
} from '../connection.ts';
import { driverCode, needsReopening } from '../driver-error.ts';
import { mainPort, openingError, post, takeEach, whenIdle } from '../inbox.ts';
import { createRoom, namingQuota, type RoomFlag } from '../room.ts';
import { type Transactions, transactionsOf } from '../transaction.ts';
import { type Lookups, lookupsOf } from './lookups.ts';
import { type HeldRunKind, type MoveNote, refusalOf } from '../../runs/moving.ts';
import type { Columns, EncodedChanges } from '../../runs/rows/encode-changes.ts';
import { faultOf } from './fault.ts';
import { movingOf } from './move.ts';
import { RUNS_FILE } from './schema.ts';
import { watchWriterOf } from './watch-journal.ts';
import { changesWriterOf } from './write-changes.ts';

export type RunsWriterOptions = {
  readonly path: string;
  readonly cacheMiB: number;
  readonly reserveBytes: number;
  readonly roomFlag: RoomFlag;
  /** Whether it is opened also where its runs were moved away, or are being moved here. */
  readonly moves: boolean;
};

/** Faults of the disk in a row after which the thread gives up on the file. */
const FATAL_FAULTS = 3;
/** Checkpoints are the other thread's work; this bound, in pages, holds when that one falls behind: 128 MiB. */
const CHECKPOINT_PAGES = 8192;

/** Written each minute by a service that may run nothing else: history is not worth the end of the process. */
const RECORD_WATCHES = 'recordWatches';

const { options } = workerData as { options: RunsWriterOptions };
const main = mainPort();
const path = settlePath(options.path);

type Engine = {
  readonly db: Database.Database;
  readonly transactions: Transactions;
  readonly write: (changes: EncodedChanges) => void;
  readonly lookups: Lookups;
  readonly watches: ReturnType<typeof watchWriterOf>;
  readonly moving: ReturnType<typeof movingOf>;
};
const engineOf = (db: Database.Database): Engine => {
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  return {
    db,
    transactions: transactionsOf(db),
    write: changesWriterOf(db),
    lookups: lookupsOf(db),
    watches: watchWriterOf(db),
    moving: movingOf(db),
  };
};

let engine: Engine | undefined;
let faults = 0;
const emptyLog = (): void => {
  namingQuota(path, () => reach().db.pragma('wal_checkpoint(TRUNCATE)'));
};
const room = createRoom({
  path,
  reserveBytes: options.reserveBytes,
  flag: options.roomFlag,
  fold: emptyLog,
  unusedBytes: () => unusedBytesOf(reach().db),
});

/** The engine; opened and checked again when a fault of the disk made us drop it. */
const reach = (): Engine => {
  if (engine === undefined) {
    inspectFile(path, RUNS_FILE);
    engine = engineOf(openForWriting(path, options.cacheMiB, RUNS_FILE));
  }
  return engine;
};

/** @param counts false where a fault is no reason to end the process: what the runs ask next will tell */
const noteFault = (error: unknown, counts: boolean): void => {
  const code = driverCode(error);
  if (code === undefined || !needsReopening(code)) return;
  if (counts) faults += 1;
  try {
    engine?.db.close();
  } catch {
    // It is dropped whether or not it could be closed; the next request opens another.
  }
  engine = undefined;
  if (faults >= FATAL_FAULTS) post(main, { fatal: faultOf(path, error).message });
};

const commit = <T>(work: (engine: Engine) => T): T => {
  const current = reach();
  const value = namingQuota(path, () => current.transactions.run(() => work(current)));
  faults = 0;
  return value;
};

const writeTrivially = (): void =>
  room.add(() =>
    commit(({ db }) => {
      db.pragma(`user_version = ${db.pragma('user_version', { simple: true }) as number}`);
    }),
  );

const idle = whenIdle(() => {
  engine?.db.pragma('shrink_memory');
  if (room.isStillFull(writeTrivially)) idle.refresh();
});

const methods = {
  load: (lookups: readonly Lookup[]) => {
    const { transactions, lookups: known } = reach();
    // One transaction for all of them: most of what a small read by itself costs is beginning and ending one.
    return transactions.read(() => lookups.map(known.find));
  },
  commit: (changes: EncodedChanges, erases: boolean) => {
    idle.refresh();
    const write = (): void =>
      commit((current) => {
        current.write(changes);
      });
    if (erases) {
      room.remove(write);
      // Erased bytes are overwritten in the file; the log that still holds them is emptied.
      room.remove(emptyLog);
    } else room.add(write);
  },
  // A start has to be possible on a full disk; it adds no row.
  resume: (leasesUntil: number, restartedAt?: number) =>
    room.remove(() => commit(({ lookups }) => lookups.resume(leasesUntil, restartedAt))),
  writeTrivially,
  dueTimers: (wall: number, limit: number, steady: number) => reach().lookups.dueTimers(wall, limit, steady),
  readOutbox: (after: number, limit: number, characters?: number) =>
    reach().lookups.readOutbox(after, limit, characters),
  watchHeads: () => reach().watches.heads(),
  countRows: (kind: HeldRunKind) => reach().moving.count(kind),
  scanRows: (kind: HeldRunKind, after: Columns | undefined, limit: number, maxBytes: number) =>
    reach().moving.scan(kind, after, limit, maxBytes),
  restoreRows: (kind: HeldRunKind, rows: readonly Columns[], note: MoveNote) =>
    room.add(() => commit(({ moving }) => moving.restore(kind, rows, note))),
  readMoveNote: () => reach().moving.readNote(),
  writeMoveNote: (note: MoveNote | undefined) => room.add(() => commit(({ moving }) => moving.writeNote(note))),
  [RECORD_WATCHES]: (snapshots: readonly WatchSnapshot[], entries: readonly WatchEntry[]) => {
    idle.refresh();
    room.add(() => commit(({ watches }) => watches.record(snapshots, entries)));
  },
};

const releaseLock = ((): (() => void) | undefined => {
  try {
    return room.open(() => lockFile(path, RUNS_FILE));
  } catch (error) {
    post(main, [[0, undefined, openingError(path, error, RUNS_FILE.store)]]);
    main.close();
    return undefined;
  }
})();

const close = (): void => {
  clearTimeout(idle);
  engine?.db.close();
  engine = undefined;
  room.keep();
  releaseLock?.();
};

if (releaseLock !== undefined)
  try {
    engine = engineOf(room.open(() => openDataFile(path, options.cacheMiB, RUNS_FILE)).db);
    const refusal = options.moves ? undefined : refusalOf(engine.moving.readNote());
    if (refusal !== undefined) throw new FileRefused(path, refusal, RUNS_FILE.store);
    takeEach(main, ([id, method, ...args]) => {
      if (method === 'close') {
        close();
        post(main, [[id, undefined]]);
        main.close();
        return;
      }
      try {
        const work = methods[method as keyof typeof methods] as (...args: unknown[]) => unknown;
        post(main, [[id, work(...args)]]);
      } catch (error) {
        noteFault(error, method !== RECORD_WATCHES);
        post(main, [[id, undefined, faultOf(path, error)]]);
      }
    });
    post(main, [[0, path]]);
    setImmediate(room.keep);
  } catch (error) {
    close();
    post(main, [[0, undefined, openingError(path, error, RUNS_FILE.store)]]);
    main.close();
  }
