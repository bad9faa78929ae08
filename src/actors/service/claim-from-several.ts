import type { Failure, Result } from '../../model/failure.ts';
import type { Lease } from '../../model/run.ts';
import type { Clock } from '../kernel/clock.ts';
import type { ClaimSteps, WorkerCommands } from './runs-service.ts';

type Claim = WorkerCommands['claim'];
type Claimed = Result<readonly Lease[]>;

/** Where every place is gone, or answers at once with nothing: how long until they are asked again, in milliseconds. */
const ASK_AGAIN_MS = 500;

/**
 * A claim that several kernels, or services, may answer. Each is asked for what it has, in turn, and the first that has something answers
 * the claim; where none has, it waits at all of them. One that offers something ends the others' waiting. What another offered in that
 * moment goes back to its queue at no cost, as for a claimer that went away.
 * @param giveBack what was offered too much
 * @param places who may answer now. They are asked for again when a shard has another owner
 * @param first which place is asked first, so that no place is always the last
 */
export const claimFromSeveral = async ({
  places,
  giveBack,
  request,
  signal,
  clock,
  onChange,
  first,
}: {
  readonly places: () => readonly Claim[];
  readonly giveBack: (leases: readonly Lease[]) => void;
  readonly request: ClaimSteps;
  readonly signal: AbortSignal | undefined;
  readonly clock: Pick<Clock, 'after'>;
  readonly onChange: (changed: () => void) => () => void;
  readonly first: number;
}): Promise<Claimed> => {
  const nothing: Claimed = { ok: true, value: [] };
  let isOver = request.waitMs === 0;
  let wake = (): void => {};
  const over = (): void => {
    isOver = true;
    wake();
  };
  const cancelTimer = isOver ? (): void => {} : clock.after(request.waitMs, over);
  signal?.addEventListener('abort', over);

  /** What waits at each place, until one offers something, a shard has another owner, or the time is over. */
  const waitAt = async (asked: readonly Claim[]): Promise<Claimed | undefined> => {
    const given = new AbortController();
    let answered: Claimed | undefined;
    let waiting = asked.length;
    let stopListening = (): void => {};
    let cancelNet = (): void => {};
    await new Promise<void>((resolve) => {
      // Those that have nothing to wait for any more, or cannot be reached, are asked again in a moment.
      const askAgain = (): void => {
        cancelNet = clock.after(ASK_AGAIN_MS, resolve);
      };
      const ended = (): void => {
        waiting -= 1;
        if (waiting === 0 && !given.signal.aborted) askAgain();
      };
      stopListening = onChange(resolve);
      wake = resolve;
      if (isOver) resolve();
      if (asked.length === 0) askAgain();
      const wait = async (claim: Claim): Promise<void> => {
        const claimed = await claim(request, given.signal).catch(() => nothing);
        const isOffered = claimed.ok && claimed.value.length > 0;
        if (!isOffered && !isFinal(claimed)) ended();
        else if (answered === undefined && !given.signal.aborted) {
          answered = claimed;
          resolve();
        } else if (claimed.ok) giveBack(claimed.value);
      };
      for (const claim of asked) void wait(claim);
    });
    given.abort();
    stopListening();
    cancelNet();
    return answered;
  };

  try {
    for (;;) {
      if (signal?.aborted === true) return nothing;
      const now = places();
      const asked = now.map((_, place) => now[(first + place) % now.length] as Claim);
      let unavailable: Failure | undefined;
      for (const claim of asked) {
        const claimed = await claim({ ...request, waitMs: 0 }, signal);
        if (claimed.ok ? claimed.value.length > 0 : isFinal(claimed)) return claimed;
        if (!claimed.ok) unavailable = claimed.failure;
      }
      if (isOver) return unavailable === undefined ? nothing : { ok: false, failure: unavailable };
      const waited = await waitAt(asked);
      if (waited !== undefined) return waited;
      if (isOver) return nothing;
    }
  } finally {
    cancelTimer();
    signal?.removeEventListener('abort', over);
  }
};

/** A refusal that another place would repeat. */
const isFinal = (claimed: Claimed): boolean => !claimed.ok && claimed.failure.code !== 'store_unavailable';
