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

/**
 * Records traces, logs, metrics, scores, feedback and aspect notes, and sends them in the background. Nothing here throws into
 * the code that it watches, and nothing here makes it wait; what cannot be delivered is counted.
 * @param options code wins over the environment (`SVC_ENDPOINT`, `SVC_API_KEY`, `SVC_PROJECT`, `SVC_ENVIRONMENT`,
 * `SVC_SERVICE_NAME`, `SVC_SERVICE_VERSION`, `SVC_SAMPLE`, `SVC_ENABLED`); a setting that cannot be used falls back to its
 * default and is named in `problems`
 */
export const createInstrumentation = (options: InstrumentationOptions = {}, shared?: Transport): Instrumentation =>
  createRecorder(node, options, shared);
