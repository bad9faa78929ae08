/** Body of the thread that answers questions about runs, and moves the log into the file off the writer's path. */
import { statSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { openForWriting } from '../connection.ts';
import { mainPort, post, takeEach } from '../inbox.ts';
import { transactionsOf } from '../transaction.ts';
import { faultOf } from './fault.ts';
import { queriesOf } from './queries.ts';
import { RUNS_FILE } from './schema.ts';
import { watchQueriesOf } from './watch-journal.ts';

export type RunsReaderOptions = { readonly path: string; readonly cacheMiB: number };

const CHECKPOINT_MS = 500;
/** Below this size of the log a checkpoint is not worth its writes. */
const CHECKPOINT_BYTES = 8 * 1024 * 1024;

const { options } = workerData as { options: RunsReaderOptions };
const main = mainPort();

try {
  const db = openForWriting(options.path, options.cacheMiB, RUNS_FILE);
  const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  db.pragma('query_only = ON');
  const queries = { ...queriesOf(db), ...watchQueriesOf(db) };
  const transactions = transactionsOf(db);
  const checkpoints = setInterval(() => {
    try {
      if ((statSync(`${options.path}-wal`, { throwIfNoEntry: false })?.size ?? 0) < CHECKPOINT_BYTES) return;
      db.pragma('query_only = OFF');
      checkpoint.all();
      db.pragma('query_only = ON');
    } catch {
      // The log grows on; the writer's own bound, and its errors, speak for the file.
    }
  }, CHECKPOINT_MS);
  takeEach(main, ([id, method, ...args]) => {
    if (method === 'close') {
      clearInterval(checkpoints);
      db.close();
      post(main, [[id, undefined]]);
      main.close();
      return;
    }
    try {
      const read = queries[method as keyof typeof queries] as (...args: unknown[]) => unknown;
      const value = transactions.read(() => read(...args));
      post(main, [[id, value]]);
    } catch (error) {
      post(main, [[id, undefined, faultOf(options.path, error)]]);
    }
  });
  post(main, [[0, undefined]]);
} catch (error) {
  post(main, [[0, undefined, faultOf(options.path, error)]]);
  main.close();
}
