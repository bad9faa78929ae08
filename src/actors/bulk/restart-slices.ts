import type { Failure, Result } from '../../model/failure.ts';
import type { Found, RunFilter, RunStore } from '../../store/runs/run-store.ts';
import type { Message } from '../kernel/message.ts';
import type { RestartRun } from '../service/runs-service.ts';
import type { BulkMessage } from './messages.ts';

/** Rows that one slice looks at. */
const SLICE_ROWS = 100;
/** Restarts of one action that are under way at once. */
const WAVE = 8;

/** A slice of an action: the runs that match beyond this one. */
export type RestartSlice = {
  readonly bulkId: string;
  /** Begins the key under which a run is restarted: a slice that is taken again finds what it started. */
  readonly keyPrefix: string;
  readonly filter: RunFilter;
  readonly after: string;
};

/** The same slice may succeed later: its counts are not known yet. */
const mayPass = ({ retryAfterSeconds }: Failure): boolean => retryAfterSeconds !== undefined;

/**
 * Restarts the runs of bulk actions. What a restart begins with is read from the journal of the run, which no turn waits for: so the actor
 * hands a slice over, and gets a message with what became of it. Where the service is killed in between, or the store fails, the timer of the actor
 * hands the slice over again, and each run answers with the restart that it has.
 */
export const createRestartSlices = (host: {
  readonly store: Pick<RunStore, 'matchingRuns' | 'load'>;
  readonly restart: (request: RestartRun) => Promise<Result<unknown>>;
  /** Sends a message, and resolves when its commit is through. */
  readonly send: (message: Message) => Promise<unknown>;
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}) => {
  const { store, closing } = host;
  const going = new Map<string, Promise<void>>();
  /** Actions that a call ends: they take no further wave. */
  const halted = new Set<string>();
  const mayGoOn = (bulkId: string): boolean => !closing.aborted && !halted.has(bulkId);

  /** @returns nothing for a run that is not one of the action's: erased since, or started by the action itself */
  const restartOne = async (
    { keyPrefix, filter }: RestartSlice,
    runId: string,
  ): Promise<Result<unknown> | undefined> => {
    const [found] = (await store.load([{ kind: 'run', runId }])) as [Found['run']];
    // Where the clock was set back, its own restarts match too: each would be restarted in turn, without an end.
    if (found === undefined || found.record.idempotencyKey?.startsWith(keyPrefix) === true) return undefined;
    return host.restart({ runId, reach: filter.reach, idempotencyKey: `${keyPrefix}${runId}` });
  };

  const work = async (slice: RestartSlice): Promise<void> => {
    const { bulkId, filter, after } = slice;
    const { runIds, upTo: end } = await store.matchingRuns(filter, after, SLICE_ROWS);
    let upTo = runIds.length === 0 ? end : after;
    let done = 0;
    let refused = 0;
    for (let from = 0; from < runIds.length && mayGoOn(bulkId); from += WAVE) {
      const wave = runIds.slice(from, from + WAVE);
      const results = await Promise.all(wave.map((runId) => restartOne(slice, runId)));
      // The wave is repeated as a whole: those of it that were restarted answer so again.
      if (results.some((result) => result?.ok === false && mayPass(result.failure))) break;
      for (const result of results) {
        if (result?.ok === true) done += 1;
        else if (result !== undefined) refused += 1;
      }
      upTo = from + WAVE < runIds.length ? wave.at(-1) : end;
    }
    if (closing.aborted || upTo === after) return;
    const body: BulkMessage = {
      kind: 'restarted',
      from: after,
      done,
      refused,
      ...(upTo === undefined ? {} : { upTo }),
    };
    await host.send({ type: 'bulk', id: bulkId, body });
  };

  return {
    /** Takes a slice, unless one of the action is under way. */
    take: (slice: RestartSlice): void => {
      const { bulkId } = slice;
      if (going.has(bulkId) || !mayGoOn(bulkId)) return;
      const slices = work(slice)
        .catch(host.onFault)
        .finally(() => going.delete(bulkId));
      going.set(bulkId, slices);
    },
    /** Does something while no run of the action is restarted: what was restarted before is counted. */
    halt: async <T>(bulkId: string, then: () => Promise<T>): Promise<T> => {
      halted.add(bulkId);
      try {
        await going.get(bulkId);
        return await then();
      } finally {
        halted.delete(bulkId);
      }
    },
    /** Resolves when no slice is under way. @returns whether one was */
    idle: async (): Promise<boolean> => {
      const wasGoing = going.size > 0;
      while (going.size > 0) await Promise.all(going.values());
      return wasGoing;
    },
  };
};
export type RestartSlices = ReturnType<typeof createRestartSlices>;
