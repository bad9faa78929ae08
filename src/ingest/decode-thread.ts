import { Worker } from 'node:worker_threads';
import PQueue from 'p-queue';
import { type Failure, Refusal } from '../model/failure.ts';
import { programFile } from '../model/program-file.ts';
import type { Payload } from './decode.ts';
import type { DecodeContext, DecodedBatch } from './decoded.ts';
import type { Pace } from './pace.ts';
import type { FinishConfig } from './finish.ts';

/**
 * A part of one element of the request, as it comes back from the thread: at most some dozen signals, so that taking
 * one over is a short piece of work. Refusals of an element come with its first slice. Already redacted and priced.
 */
export type DecodedSlice = { readonly element: number; readonly decoded: DecodedBatch };

/** What the main thread says to the decode thread; one job at a time. */
export type ToDecodeThread =
  | { readonly kind: 'decode'; readonly payload: Payload; readonly context: DecodeContext }
  /** The last slice was taken over; the thread never has more than one on its way. */
  | { readonly kind: 'next' };

export type FromDecodeThread =
  | { readonly kind: 'slice'; readonly slice: DecodedSlice }
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** A bug. Only the name of the error crosses: its message may quote the body. */
  | { readonly kind: 'failed'; readonly errorName: string };

export type DecodeThreadOptions = {
  /** How to redact and price, as plain data: the thread builds its own stages from it. */
  readonly finish: FinishConfig;
  readonly pace: Pace;
  /** Heap of the thread in mebibytes: the bound on what one hostile body can take. */
  readonly heapMebibytes?: number;
  /** The thread ends after this long without work. */
  readonly idleMs?: number;
  /** Longest time for one body; how long its slices wait to be taken over is not counted. */
  readonly timeoutMs?: number;
  /** The program of the thread. */
  readonly program?: URL;
};

export type DecodeThread = {
  /**
   * Decodes one payload off the main thread; payloads go one after another.
   * @param take is given the slices in order
   * @throws Refusal of the decoder; `payload_too_large` when the body needs more memory than the thread has;
   * `request_timeout` when it takes too long; any other error is a bug in a decoder
   */
  readonly decode: (payload: Payload, context: DecodeContext, take: (slice: DecodedSlice) => void) => Promise<void>;
  /** Whether a thread lives now. */
  readonly isRunning: () => boolean;
  readonly close: () => Promise<void>;
};

/** Enough for ten thousand spans in the largest legal body, 128 MiB inflated, as decoded and as redacted. */
const HEAP_MEBIBYTES = 512;
/** Garbage of one body need not wait long for its collection. */
const YOUNG_MEBIBYTES = 16;
const IDLE_MS = 30_000;
const TIMEOUT_MS = 20_000;
const RETRY_AFTER_SECONDS = 5;

/**
 * A thread for bodies that would hold up the main thread, by their size or by intent. It is started by the first such body
 * and ends when it has had nothing to do for a while. Whatever becomes of it, only the body in work is refused.
 */
export const createDecodeThread = (options: DecodeThreadOptions): DecodeThread => {
  const heapMebibytes = options.heapMebibytes ?? HEAP_MEBIBYTES;
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const jobs = new PQueue({ concurrency: 1 });
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  const start = (): Worker => {
    const started = new Worker(options.program ?? programFile(new URL('./decode-thread-program.ts', import.meta.url)), {
      name: 'decode',
      workerData: options.finish,
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes, maxYoungGenerationSizeMb: YOUNG_MEBIBYTES },
      env: {},
      stdin: false,
    });
    const forget = (): void => {
      if (worker === started) worker = undefined;
    };
    // An error nobody listens for would end the process; the job in work has its own listener.
    started.on('error', forget).on('exit', forget);
    started.unref();
    return started;
  };

  const stop = async (): Promise<void> => {
    clearTimeout(idle);
    const stopped = worker;
    worker = undefined;
    await stopped?.terminate();
  };

  const run = (payload: Payload, context: DecodeContext, take: (slice: DecodedSlice) => void): Promise<void> => {
    clearTimeout(idle);
    worker ??= start();
    const serving = worker;
    return new Promise<void>((resolve, reject) => {
      let isSettled = false;
      let leftMs = timeoutMs;
      let askedAt = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const stopClock = (): void => {
        clearTimeout(timer);
        leftMs -= performance.now() - askedAt;
      };
      const startClock = (): void => {
        askedAt = performance.now();
        timer = setTimeout(onTimeout, Math.max(0, leftMs));
      };
      const askForMore = async (): Promise<void> => {
        await options.pace.nextTurn();
        if (isSettled) return;
        startClock();
        serving.postMessage({ kind: 'next' } satisfies ToDecodeThread);
      };
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        isSettled = true;
        serving.off('message', onMessage).off('error', onError).off('exit', onExit);
        if (error === undefined) resolve();
        else reject(error);
      };
      const onMessage = (message: FromDecodeThread): void => {
        switch (message.kind) {
          case 'slice':
            stopClock();
            try {
              take(message.slice);
            } catch (error) {
              // Not asked for more, the thread drops the rest when its next body comes.
              settle(error instanceof Error ? error : new Error('a slice was not taken', { cause: error }));
              return;
            }
            // Taking it over was work, though most of it was done before this call: reading the message.
            options.pace.useUp();
            void askForMore();
            return;
          case 'done':
            settle();
            return;
          case 'refused':
            settle(new Refusal(message.failure));
            return;
          case 'failed':
            settle(new Error(`a body could not be decoded: ${message.errorName} in the decode thread`));
            return;
        }
      };
      const onError = (error: Error & { code?: string }): void => {
        if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') {
          settle(new Error('the decode thread failed', { cause: error }));
          return;
        }
        const message = `decoding this body needs more than ${heapMebibytes} MiB of memory; send smaller batches`;
        settle(new Refusal({ code: 'payload_too_large', message }, { cause: error }));
      };
      const onExit = (code: number): void => settle(new Error(`the decode thread ended with ${code} during a body`));
      const onTimeout = (): void => {
        const message = `decoding this body took longer than ${timeoutMs} ms; send smaller batches, or again later`;
        settle(new Refusal({ code: 'request_timeout', message, retryAfterSeconds: RETRY_AFTER_SECONDS }));
        void stop();
      };
      serving.on('message', onMessage).on('error', onError).on('exit', onExit);
      // The body is moved, not copied, where it owns its memory; a small one shares a pool with others and is copied.
      const { body } = payload;
      const owned = body.byteOffset === 0 && body.byteLength === body.buffer.byteLength;
      const moved = owned ? body : new Uint8Array(body);
      const request: ToDecodeThread = { kind: 'decode', payload: { ...payload, body: moved }, context };
      startClock();
      serving.postMessage(request, [moved.buffer as ArrayBuffer]);
    }).finally(() => {
      idle = setTimeout(() => void stop(), options.idleMs ?? IDLE_MS);
      idle.unref();
    });
  };

  return {
    decode: (payload, context, take) => jobs.add(() => run(payload, context, take)),
    isRunning: () => worker !== undefined,
    close: async () => {
      await jobs.onIdle();
      await stop();
    },
  };
};
