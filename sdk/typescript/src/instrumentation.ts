import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { createHttp } from './http.ts';
import type { Platform } from './platform.ts';
import { createRecorder, type Instrumentation, type InstrumentationOptions } from './recorder.ts';
import type { Transport } from './transport.ts';

const node: Platform = {
  env: process.env,
  randomHex: (bytes) => randomBytes(bytes).toString('hex'),
  createStorage: <T>() => new AsyncLocalStorage<T>(),
  createTransport: createHttp,
};

/** Each is closed when the program has nothing left to do. One listener for all: a process warns where it has many. */
const unclosed = new Set<() => Promise<void>>();
const closeAll = (): void => {
  for (const close of unclosed) void close();
};
const forget = (close: () => Promise<void>): void => {
  unclosed.delete(close);
  if (unclosed.size === 0) process.off('beforeExit', closeAll);
};

/**
 * Records traces, logs, metrics, scores, feedback and aspect notes, and sends them in the background. Nothing here throws into
 * the code that it watches, and nothing here makes it wait; what cannot be delivered is counted.
 * @param options code wins over the environment (`SVC_ENDPOINT`, `SVC_API_KEY`, `SVC_PROJECT`, `SVC_ENVIRONMENT`,
 * `SVC_SERVICE_NAME`, `SVC_SERVICE_VERSION`, `SVC_SAMPLE`, `SVC_ENABLED`); a setting that cannot be used falls back to its
 * default and is named in `problems`. What is queued when the program has nothing left to do goes out then, within five seconds; a program
 * that ends by `process.exit` or by a signal calls `close` before.
 */
export const createInstrumentation = (options: InstrumentationOptions = {}, shared?: Transport): Instrumentation => {
  const recorder = createRecorder(node, options, shared);
  // Who lends its connections closes by itself.
  if (shared !== undefined) return recorder;
  const close = async (timeoutMs?: number): Promise<void> => {
    forget(close);
    await recorder.close(timeoutMs);
  };
  if (unclosed.size === 0) process.on('beforeExit', closeAll);
  unclosed.add(close);
  return { ...recorder, close };
};
