import { ConnectionError, ServiceError } from './errors.ts';

/** How long to try, and how to wait in between. */
export type RetryPolicy = {
  /** Tries in all, the first included. */
  readonly attempts: number;
  readonly baseMs: number;
  readonly maxMs: number;
  /** No try begins later than this after the first, in milliseconds. */
  readonly forMs?: number;
};

export const callerPolicy: RetryPolicy = { attempts: 5, baseMs: 200, maxMs: 10_000 };
/** For what must arrive: it ends by an answer, or by its abort signal. */
export const untilAnswered: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 200, maxMs: 5000 };

/** Waits; ends early, without a fault, when the signal fires. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });

/** Full jitter: anything between nothing and the exponential step, so that many callers do not come back at once. */
export const backoffMs = (policy: RetryPolicy, attempt: number, random: () => number = Math.random): number =>
  random() * Math.min(policy.maxMs, policy.baseMs * 2 ** Math.min(attempt - 1, 30));

/** True for what a later try may change: no answer, 429, and the 5xx that say "later". Never for another 4xx. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ServiceError && error.retryable);

/**
 * Calls until it succeeds, until it fails for good, or until the policy or the signal ends it.
 * @throws the last error; when the signal fires during a wait, the error before it
 */
export const withRetries = async <T>(policy: RetryPolicy, call: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
  const startedAt = performance.now();
  const isAborted = (): boolean => signal?.aborted ?? false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isRetryable(error) || attempt >= policy.attempts || isAborted()) throw error;
      const asked = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
      const waitMs = Math.max(asked, backoffMs(policy, attempt));
      if (performance.now() - startedAt + waitMs > (policy.forMs ?? Number.POSITIVE_INFINITY)) throw error;
      await pause(waitMs, signal);
      if (isAborted()) throw error;
    }
  }
};
