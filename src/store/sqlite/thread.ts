import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type Transferable, Worker } from 'node:worker_threads';
import { programFile } from '../../model/program-file.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { ErrorInfo, Replies, Request } from './messages.ts';

/** A worker thread that answers requests by their id. */
export type Thread = {
  /** What the thread said when it was ready; rejects when it could not start. */
  readonly ready: Promise<unknown>;
  call(id: number, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Hands over what belongs to the call of the same id, which follows; nothing answers it. */
  tell(id: number, method: string, args: readonly unknown[]): void;
  /** Posts what was asked since the last time; it happens by itself before the event loop goes on. */
  flush(): void;
  /** Requests that are not answered yet. */
  readonly waiting: number;
  /** True when the thread has ended, by itself or by a fault. */
  readonly isOver: boolean;
};

const toError = ({ unavailable, message }: ErrorInfo): Error =>
  unavailable ? new StoreUnavailable(message) : new Error(message);

const READY = 0;

/**
 * A thread does not share the compile cache of its process by itself. Without it each loads its own copy of the type
 * stripper: ten more megabytes that stay.
 */
const withCompileCache = (): NodeJS.ProcessEnv => {
  const folder = getCompileCacheDir(); // one folder below the one that was asked for
  return folder === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(folder) };
};

/**
 * Starts a thread.
 * @param name stands in messages and in the thread's name
 * @param onFatal called when the thread reports a fault that a restart of the process may cure, or ends by itself
 * @param onNeed called when the thread waits for the other one to run
 * @param beforePost called before requests are posted: what another thread must have before this one has them is posted there
 */
export const startThread = (
  file: URL,
  name: string,
  workerData: Record<string, unknown>,
  transferList: Transferable[],
  onFatal: (message: string) => void,
  onNeed: () => void = () => {},
  beforePost: () => void = () => {},
): Thread => {
  setFlagsFromString('--expose-gc'); // seen by threads that start from now on: an idle one collects its garbage
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const ready = new Promise<unknown>((resolve, reject) => waiting.set(READY, { resolve, reject }));
  const worker = new Worker(programFile(file), {
    name,
    workerData,
    transferList,
    // A thread starts from its own few files: flags of the process (a test runner's loaders, inspectors) are not for it.
    execArgv: [],
    env: withCompileCache(),
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  let isOver = false;
  let isReady = false;

  worker.on('message', (replies: Replies) => {
    if ('fatal' in replies) {
      onFatal(replies.fatal);
      return;
    }
    if ('needed' in replies) {
      onNeed();
      return;
    }
    for (const [id, value, error] of replies) {
      const call = waiting.get(id);
      waiting.delete(id);
      if (id === READY && error === undefined) isReady = true;
      if (error === undefined) call?.resolve(value);
      else call?.reject(toError(error));
    }
  });
  const end = (cause: string, error?: unknown): void => {
    if (isOver) return;
    isOver = true;
    const hadWork = waiting.size > 0;
    for (const { reject } of waiting.values()) reject(new StoreUnavailable(cause, { cause: error }));
    waiting.clear();
    if (isReady && (hadWork || error !== undefined)) onFatal(cause);
  };
  worker.on('error', (error) => end(`the ${name} thread failed`, error));
  worker.on('exit', (code) => end(`the ${name} thread ended (exit code ${code})`));

  let requests: Request[] = [];
  const flush = (): void => {
    if (requests.length === 0) return;
    beforePost();
    const together = requests;
    requests = [];
    // It throws for a value that no thread can be given: a bug. The process ends then, as a unit of which a piece is missing must not be written.
    worker.postMessage(together);
  };
  /** A message costs some microseconds on both sides, whatever it holds: what is asked in one turn goes in one. */
  const postSoon = (request: Request): void => {
    if (requests.push(request) === 1) queueMicrotask(flush);
  };

  return {
    ready,
    call: (id, method, args) => {
      if (isOver) return Promise.reject(new StoreUnavailable(`the ${name} thread has ended`));
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        postSoon([id, method, ...args]);
      });
    },
    tell: (id, method, args) => postSoon([id, method, ...args]),
    flush,
    get waiting() {
      return waiting.size;
    },
    get isOver() {
      return isOver;
    },
  };
};
