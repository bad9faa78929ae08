import { Unloadable } from '../../machines/persisted.ts';
import type { Failure, Result } from '../../model/failure.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Message } from '../kernel/message.ts';
import { overloaded } from '../run/run-failures.ts';
import { Quarantined } from '../run/quarantined.ts';

/** Most calls that wait for a commit at once. A client beyond them would time out before its answer. */
const BACKLOG_LIMIT = 10_000;
/** After a call the next one of the same caller is expected for so long. */
const BUSY_MS = 50;

const unavailable = (error: StoreUnavailable): Failure => ({
  code: 'store_unavailable',
  message: error.message,
  retryAfterSeconds: 1,
});

/** Does work whose expected faults are answers: what is expected to go wrong comes back as a failure. */
export const attempt = async <T>(work: () => Promise<Result<T>>): Promise<Result<T>> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailable) return { ok: false, failure: unavailable(error) };
    if (error instanceof Quarantined || error instanceof Unloadable)
      return { ok: false, failure: { code: 'conflict', message: error.message } };
    throw error;
  }
};

/** The calls of clients that become messages. */
export const createCalls = (kernel: Pick<Kernel, 'backlog' | 'send'>, clock: Clock) => {
  let askedAt = Number.NEGATIVE_INFINITY;
  return {
    /**
     * Sends a message and gives its answer.
     * @param how.always also while too many calls wait: for what makes work less, not more
     */
    ask: async <T>(message: Message, how: { readonly always?: boolean } = {}): Promise<Result<T>> => {
      if (how.always !== true && kernel.backlog() >= BACKLOG_LIMIT) return overloaded(kernel.backlog());
      askedAt = clock.monotonic();
      return attempt(async () => (await kernel.send(message)) as Result<T>);
    },
    /** Whether callers were served since then, on the clock that does not jump, or shortly before. */
    servedSince: (at: number): boolean => askedAt > at - BUSY_MS,
    /** Whether callers were served just now: they are likely to come back at once, and wait for the event loop. */
    isBusy: (): boolean => clock.monotonic() - askedAt < BUSY_MS,
  };
};
export type Calls = ReturnType<typeof createCalls>;
