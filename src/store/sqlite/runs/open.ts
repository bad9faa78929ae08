import type { RunMoving } from '../../runs/moving.ts';
import type { RunCommits } from '../../runs/run-commits.ts';
import type { RunQueries } from '../../runs/run-queries.ts';
import type { RunStore } from '../../runs/run-store.ts';
import type { WatchJournal } from '../../runs/watch-journal.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import { createRoomFlag, isRefusing, type RoomFlag } from '../room.ts';
import { startThread, type Thread } from '../thread.ts';
import { encodeChanges } from '../../runs/rows/encode-changes.ts';
import type { RunsReaderOptions } from './reader-thread.ts';
import { type PackedRun, unpackRun } from './record-pieces.ts';
import { KEPT_ENTRIES } from './watch-journal.ts';
import type { RunsWriterOptions } from './writer-thread.ts';

export type SqliteRunStoreOptions = {
  /** The file. Its side files (`-wal`, `-shm`, `.lock`) lie beside it. Folder and file are made as needed, for the owner alone. */
  readonly path: string;
  /** Room on the disk that the file keeps for itself, in bytes: with it the store opens and deletes on a full disk. None when absent. */
  readonly reserveBytes?: number;
  /** That of another store on the same disk. */
  readonly roomFlag?: RoomFlag;
  /** Opens it also where its runs were moved away, or are being moved here: for who moves them. */
  readonly moves?: true;
  /** Called with one line for an operator when only a new process can help. */
  readonly onFatal?: (message: string) => void;
};

/** The file holds what became of monitors and SLOs beside the runs: the same writer, the same close. */
export type SqliteRunStore = RunStore & { readonly watchJournal: WatchJournal; readonly moving: RunMoving };

const WRITER_CACHE_MIB = 64;
const READER_CACHE_MIB = 16;

/**
 * Opens the runs file, on threads of its own: one writes and answers the kernel, one answers questions.
 * @throws StoreUnavailable when the file is foreign, damaged, newer than this build or in use; nothing was changed then.
 * The message is one line that names the file and the cause
 */
export const openSqliteRunStore = async (options: SqliteRunStoreOptions): Promise<SqliteRunStore> => {
  const onFatal = options.onFatal ?? (() => {});
  let lastId = 0;
  let closed = false;
  const thread = (file: string, name: string, threadOptions: RunsWriterOptions | RunsReaderOptions) =>
    startThread(new URL(file, import.meta.url), name, { options: threadOptions }, [], onFatal);

  const roomFlag = options.roomFlag ?? createRoomFlag();
  const writer = thread('./writer-thread.ts', 'runs-writer', {
    path: options.path,
    cacheMiB: WRITER_CACHE_MIB,
    reserveBytes: options.reserveBytes ?? 0,
    roomFlag,
    moves: options.moves ?? false,
  });
  const path = (await writer.ready) as string;
  // Started by the first question: a thread costs some twelve MiB, and an idle daemon is asked nothing.
  let reader: Promise<Thread> | undefined;
  const startReader = async (): Promise<Thread> => {
    const started = thread('./reader-thread.ts', 'runs-reader', { path, cacheMiB: READER_CACHE_MIB });
    try {
      await started.ready;
    } catch (error) {
      reader = undefined; // the next question tries again
      throw error;
    }
    return started;
  };
  const call = async <T>(of: Thread, method: string, ...args: unknown[]): Promise<T> => {
    if (closed) throw new StoreUnavailable('the runs store is closed');
    lastId += 1;
    return (await of.call(lastId, method, args)) as T;
  };
  const ask = async <T>(method: string, ...args: unknown[]): Promise<T> => {
    if (closed) throw new StoreUnavailable('the runs store is closed');
    reader ??= startReader();
    return call(await reader, method, ...args);
  };

  // The writer takes what it is asked in its order, so commits and their reads follow each other as they were called.
  const commits: RunCommits = {
    load: (lookups) => call(writer, 'load', lookups),
    commit: (changes) => call(writer, 'commit', encodeChanges(changes), changes.erased.length > 0),
    resume: (leasesUntil, restartedAt) => call(writer, 'resume', leasesUntil, restartedAt),
    dueTimers: (wall, limit, steady) => call(writer, 'dueTimers', wall, limit, steady),
    readOutbox: (after, limit, characters) => call(writer, 'readOutbox', after, limit, characters),
  };
  // Another connection, which sees all that was committed when the question reaches it.
  const queries: RunQueries = {
    findRun: async (runId) => {
      const packed = await ask<PackedRun | undefined>('findRun', runId);
      return packed && unpackRun(packed);
    },
    listRuns: (query) => ask('listRuns', query),
    openRuns: (reach, limit) => ask('openRuns', reach, limit),
    countWaiting: (query, most) => ask('countWaiting', query, most),
    matchingRuns: (query, after, scan) => ask('matchingRuns', query, after, scan),
    journal: (runId, after, limit, maxBytes) => ask('journal', runId, after, limit, maxBytes),
    journalBefore: (runId, seq, limit) => ask('journalBefore', runId, seq, limit),
    checkpoint: (runId, seq) => ask('checkpoint', runId, seq),
    findAttempt: (leaseId) => ask('findAttempt', leaseId),
    listDefinitions: (query) => ask('listDefinitions', query),
    definitionVersions: (owner, id, reach) => ask('definitionVersions', owner, id, reach),
    listWorkers: (query) => ask('listWorkers', query),
    silentWorkers: (before, limit) => ask('silentWorkers', before, limit),
    listLiveLeases: (reach, after, limit) => ask('listLiveLeases', reach, after, limit),
    leasesHeld: (reach) => ask('leasesHeld', reach),
    listLimits: (query) => ask('listLimits', query),
    findLimit: (limitId, shown) => ask('findLimit', limitId, shown),
    whereWaits: (order, shown) => ask('whereWaits', order, shown),
    stalledLimits: (movedBefore, limit) => ask('stalledLimits', movedBefore, limit),
    listActors: (query) => ask('listActors', query),
    listKeptActors: (query) => ask('listKeptActors', query),
    listParkedEvents: (query) => ask('listParkedEvents', query),
    subjectRuns: (userId, reach, limit) => ask('subjectRuns', userId, reach, limit),
    finishedRuns: (project, before, limit) => ask('finishedRuns', project, before, limit),
    stuckRuns: (limit) => ask('stuckRuns', limit),
    runShapes: (project, from, to, limit) => ask('runShapes', project, from, to, limit),
    backlog: (wall, steady) => ask('backlog', wall, steady),
    queuedRuns: (reach, limit) => ask('queuedRuns', reach, limit),
    counts: () => ask('counts'),
  };
  return {
    kind: 'sqlite',
    ...commits,
    ...queries,
    ping: async () => {
      await ask('ping');
      if (isRefusing(roomFlag)) await call(writer, 'writeTrivially');
    },
    watchJournal: {
      keptEntries: KEPT_ENTRIES,
      heads: () => call(writer, 'watchHeads'),
      record: (snapshots, entries) => call(writer, 'recordWatches', snapshots, entries),
      listEntries: (of, before, limit) => ask('listWatchEntries', of, before, limit),
      findEntry: (of, seq) => ask('findWatchEntry', of, seq),
    },
    moving: {
      count: (kind) => call(writer, 'countRows', kind),
      scan: (kind, after, limit, maxBytes) => call(writer, 'scanRows', kind, after, limit, maxBytes),
      restore: (kind, rows, note) => call(writer, 'restoreRows', kind, rows, note),
      readNote: () => call(writer, 'readMoveNote'),
      writeNote: (note) => call(writer, 'writeMoveNote', note),
    },
    close: async () => {
      if (closed) return;
      closed = true;
      // A thread that has ended already has released the file as well.
      const end = (one: Thread | undefined) => Promise.allSettled([one?.call((lastId += 1), 'close', [])]);
      await end(await reader?.catch(() => undefined)); // one that did not start holds nothing
      // Last, because the last connection to close folds the log into the file, and a reader cannot.
      await end(writer);
    },
  };
};
