import type { RunStore } from '../../runs/run-store.ts';
import { StoreUnavailable } from '../../signals/signal-store.ts';
import { startThread } from '../signals/thread.ts';
import { encodeChanges } from './encode-changes.ts';
import type { RunsReaderOptions } from './reader-thread.ts';
import type { RunsWriterOptions } from './writer-thread.ts';

export type SqliteRunStoreOptions = {
  /** The file. Its side files (`-wal`, `-shm`, `.lock`) lie beside it. Folder and file are made as needed, for the owner alone. */
  readonly path: string;
  /** Called with one line for an operator when only a new process can help. */
  readonly onFatal?: (message: string) => void;
};

const WRITER_CACHE_MIB = 64;
const READER_CACHE_MIB = 16;

/**
 * Opens the runs file, on threads of its own: one writes and answers the kernel, one answers questions.
 * @throws StoreUnavailable when the file is foreign, damaged, newer than this build or in use; nothing was changed then.
 * The message is one line that names the file and the cause
 */
export const openSqliteRunStore = async (options: SqliteRunStoreOptions): Promise<RunStore> => {
  const onFatal = options.onFatal ?? (() => {});
  let lastId = 0;
  let closed = false;
  const thread = (file: string, name: string, threadOptions: RunsWriterOptions | RunsReaderOptions) =>
    startThread(new URL(file, import.meta.url), name, { options: threadOptions }, [], onFatal);

  const writer = thread('./writer-thread.ts', 'runs-writer', { path: options.path, cacheMiB: WRITER_CACHE_MIB });
  const path = (await writer.ready) as string;
  const reader = thread('./reader-thread.ts', 'runs-reader', { path, cacheMiB: READER_CACHE_MIB });
  const call = async <T>(of: typeof writer, method: string, ...args: unknown[]): Promise<T> => {
    if (closed) throw new StoreUnavailable('the runs store is closed');
    lastId += 1;
    return (await of.call(lastId, method, args)) as T;
  };
  try {
    await reader.ready;
  } catch (error) {
    await call(writer, 'close');
    throw error;
  }

  return {
    kind: 'sqlite',
    load: (lookups) => call(writer, 'load', lookups),
    commit: (changes) => call(writer, 'commit', encodeChanges(changes), changes.erased.length > 0),
    resume: (leasesUntil) => call(writer, 'resume', leasesUntil),
    dueTimers: (now, limit) => call(writer, 'dueTimers', now, limit),
    readOutbox: (after, limit) => call(writer, 'readOutbox', after, limit),
    findRun: (runId) => call(reader, 'findRun', runId),
    listRuns: (query) => call(reader, 'listRuns', query),
    journal: (runId, after, limit) => call(reader, 'journal', runId, after, limit),
    journalBefore: (runId, seq, limit) => call(reader, 'journalBefore', runId, seq, limit),
    checkpoint: (runId, seq) => call(reader, 'checkpoint', runId, seq),
    findAttempt: (leaseId) => call(reader, 'findAttempt', leaseId),
    listDefinitions: (after, limit) => call(reader, 'listDefinitions', after, limit),
    definitionVersions: (id) => call(reader, 'definitionVersions', id),
    listWorkers: () => call(reader, 'listWorkers'),
    listLiveLeases: (reach, after, limit) => call(reader, 'listLiveLeases', reach, after, limit),
    listActors: (query) => call(reader, 'listActors', query),
    subjectRuns: (userId, reach, limit) => call(reader, 'subjectRuns', userId, reach, limit),
    finishedRuns: (project, before, limit) => call(reader, 'finishedRuns', project, before, limit),
    stuckRuns: (limit) => call(reader, 'stuckRuns', limit),
    runShapes: (project, from, to, limit) => call(reader, 'runShapes', project, from, to, limit),
    counts: () => call(reader, 'counts'),
    ping: () => call(reader, 'ping'),
    close: async () => {
      if (closed) return;
      const ends = [reader.call((lastId += 1), 'close', []), writer.call((lastId += 1), 'close', [])];
      closed = true;
      // A thread that has ended already has let go of the file as well.
      await Promise.allSettled(ends);
    },
  };
};
