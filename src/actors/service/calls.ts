import { Unloadable } from '../../machines/persisted.ts';
import { type DefinitionOwner, SERVICE } from '../../model/definition/owner.ts';
import type { Failure, Result } from '../../model/failure.ts';
import type { ProjectReach } from '../../model/scope.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Message } from '../kernel/message.ts';
import { overloaded, tooManyOfCaller } from '../run/run-failures.ts';
import { Quarantined } from '../run/quarantined.ts';

/**
 * Most calls that wait for a commit at once. A client beyond them would time out before its answer. One caller may have half of
 * what the others leave.
 */
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

/** Whose calls count together: those about one project. */
export const callerOfProject = (project: string): string => `project ${project}`;
/** The same for a worker, whose calls name leases: those of the projects of its key, or where it may do all, its own. */
export const callerOfWorker = (workerId: string, reach: ProjectReach): string => {
  if (reach === 'all') return `worker ${workerId}`;
  return reach.length === 1 && reach[0] !== undefined ? callerOfProject(reach[0]) : `projects ${reach.join(', ')}`;
};
/** The same for who stores definitions. */
export const callerOfOwner = (owner: DefinitionOwner): string =>
  owner === SERVICE ? 'keys of all projects' : callerOfProject(owner);

/** The calls of clients that become messages. */
export const createCalls = (kernel: Pick<Kernel, 'backlog' | 'send'>, clock: Clock) => {
  let askedAt = Number.NEGATIVE_INFINITY;
  /** Calls that are not answered, by caller. */
  const waiting = new Map<string, number>();
  let inAll = 0;

  const count = (caller: string, more: 1 | -1): void => {
    const left = (waiting.get(caller) ?? 0) + more;
    inAll += more;
    if (left === 0) waiting.delete(caller);
    else waiting.set(caller, left);
  };
  const refusalOf = (caller: string) => {
    // Messages of the service's own wait in the same queue.
    const all = Math.max(kernel.backlog(), inAll);
    if (all >= BACKLOG_LIMIT) return overloaded(all, BACKLOG_LIMIT);
    const own = waiting.get(caller) ?? 0;
    return own >= (BACKLOG_LIMIT - (all - own)) / 2 ? tooManyOfCaller(caller, own, BACKLOG_LIMIT) : undefined;
  };

  const send = <T>(message: Message): Promise<Result<T>> => {
    askedAt = clock.monotonic();
    return attempt(async () => (await kernel.send(message)) as Result<T>);
  };

  return {
    /**
     * Sends a message and gives its answer.
     * @param caller whose call it is: `callerOfProject`, `callerOfWorker`, `callerOfOwner`
     */
    ask: async <T>(caller: string, message: Message): Promise<Result<T>> => {
      const refusal = refusalOf(caller);
      if (refusal !== undefined) return refusal;
      count(caller, 1);
      try {
        return await send<T>(message);
      } finally {
        count(caller, -1);
      }
    },
    /** The same however many calls wait: for what makes work less, not more. */
    askAlways: send,
    /** Whether callers were served since then, on the clock that does not jump, or shortly before. */
    servedSince: (at: number): boolean => askedAt > at - BUSY_MS,
    /** Whether callers were served just now: they are likely to come back at once, and wait for the event loop. */
    isBusy: (): boolean => clock.monotonic() - askedAt < BUSY_MS,
  };
};
export type Calls = ReturnType<typeof createCalls>;
