import type { Failure, Result } from '../../model/failure.ts';
import type { Lease } from '../../model/run.ts';
import type { Clock } from '../kernel/clock.ts';
import type { ClaimSteps, WorkerCommands } from './runs-service.ts';

type Claim = WorkerCommands['claim'];
type Claimed = Result<readonly Lease[]>;

/** A kernel of this service, or the kernels of another. */
export type Place = {
  readonly claim: Claim;
  /** How many shards answer there. */
  readonly shards: number;
};

/** Where every place is gone, or answers at once with nothing: how long until they are asked again, in milliseconds. */
const ASK_AGAIN_MS = 500;
/** How long a place may take to say what it has, in milliseconds: one that hangs keeps no claim from the others. */
const ASK_MS = 1_000;
/** How long a claim that has something waits for what other places were offering at that moment: a commit or two, in milliseconds. */
const COLLECT_MS = 100;

/** What each place may offer to a claim that waits at all of them, so that together they offer no more than it takes. */
const sharesOf = (places: readonly Place[], max: number): number[] => {
  const all = places.reduce((sum, { shards }) => sum + shards, 0);
  const shares = places.map(({ shards }) => Math.max(1, Math.floor((max * shards) / all)));
  const [first = 1, ...others] = shares;
  return [Math.max(first, max - others.reduce((sum, one) => sum + one, 0)), ...others];
};

/**
 * A claim that several kernels, or services, may answer. Each is asked for what it has, in turn, and the first that has something answers the
 * claim: many steps of one place share its commits, now and when they are reported. Where none has, the claim waits at all places, at each for a
 * part of what it takes. When one offers something, the waiting ends everywhere, and what others were offering at that moment is part of the answer.
 * @param giveBack what came too late, or is more than the claim takes
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
  readonly places: () => readonly Place[];
  readonly giveBack: (leases: readonly Lease[]) => void;
  readonly request: ClaimSteps;
  readonly signal: AbortSignal | undefined;
  readonly clock: Pick<Clock, 'after'>;
  readonly onChange: (changed: () => void) => () => void;
  readonly first: number;
}): Promise<Claimed> => {
  const nothing: Claimed = { ok: true, value: [] };
  const isGone = (): boolean => signal?.aborted === true;
  let isOver = request.waitMs === 0;
  let wake = (): void => {};
  const over = (): void => {
    isOver = true;
    wake();
  };
  const cancelTimer = isOver ? (): void => {} : clock.after(request.waitMs, over);
  signal?.addEventListener('abort', over);

  /** Asks these places at once, until one answers, every one has ended, or `wake` is called; then takes what the others were offering. */
  const gather = async (
    asked: readonly Place[],
    { maxOf, waitMs }: { readonly maxOf: readonly number[]; readonly waitMs: number },
  ): Promise<Claimed> => {
    const ending = new AbortController();
    const leases: Lease[] = [];
    let refusal: Claimed | undefined;
    let fault: { readonly error: unknown } | undefined;
    let left = asked.length;
    let isClosed = false;
    let allEnded = (): void => {};
    const all = new Promise<void>((resolve) => {
      allEnded = resolve;
    });
    let answers = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answers = resolve;
    });
    // Who is asked for what it has says so soon.
    if (waitMs > 0) wake = answers;
    const cancelAsking = waitMs > 0 ? (): void => {} : clock.after(ASK_MS, answers);
    const take = (claimed: Claimed): void => {
      if (!claimed.ok) {
        if (refusal === undefined || isFinal(claimed)) refusal = claimed;
        if (isFinal(claimed)) answers();
      } else if (claimed.value.length > 0 && isClosed) giveBack(claimed.value);
      else if (claimed.value.length > 0) {
        leases.push(...claimed.value);
        answers();
      }
    };
    const ask = async ({ claim }: Place, place: number): Promise<void> => {
      try {
        take(await claim({ ...request, max: maxOf[place] ?? 1, waitMs, collects: true }, ending.signal));
      } catch (error) {
        fault ??= { error };
      }
      left -= 1;
      if (left === 0) allEnded();
    };
    for (const [place, one] of asked.entries()) void ask(one, place);
    if (left === 0) allEnded();
    await Promise.race([answered, all]);
    cancelAsking();
    if (left > 0) {
      ending.abort();
      const cancel = clock.after(COLLECT_MS, allEnded);
      await all;
      cancel();
    }
    isClosed = true;
    if (leases.length === 0) {
      if (fault !== undefined) throw fault.error;
      return refusal ?? nothing;
    }
    if (isGone() && request.collects !== true) {
      giveBack(leases);
      return nothing;
    }
    if (leases.length > request.max) giveBack(leases.slice(request.max));
    return { ok: true, value: leases.slice(0, request.max) };
  };
  const moment = (): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.after(ASK_AGAIN_MS, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  const isAnswer = (claimed: Claimed): boolean => (claimed.ok ? claimed.value.length > 0 : isFinal(claimed));

  let isChanged = false;
  const stopListening = onChange(() => {
    isChanged = true;
    wake();
  });
  try {
    for (;;) {
      if (isGone()) return nothing;
      isChanged = false;
      const now = places();
      const asked = now.map((_, place) => now[(first + place) % now.length] as Place);
      const shares = sharesOf(asked, request.max);
      let unavailable: Failure | undefined;
      for (const place of asked) {
        const claimed = await gather([place], { maxOf: [request.max], waitMs: 0 });
        if (isAnswer(claimed)) return claimed;
        if (!claimed.ok) unavailable = claimed.failure;
        if (isGone()) return nothing;
      }
      if (isOver) return unavailable === undefined ? nothing : { ok: false, failure: unavailable };
      if (isChanged) continue;
      if (asked.length === 0) {
        await moment();
        continue;
      }
      const waited = await gather(asked, { maxOf: shares, waitMs: request.waitMs });
      if (isAnswer(waited)) return waited;
      if (isOver) return nothing;
      if (isChanged) continue;
      // Those that have nothing to wait for any more, or cannot be reached, are asked again in a moment.
      await moment();
    }
  } finally {
    stopListening();
    cancelTimer();
    signal?.removeEventListener('abort', over);
  }
};

/** A refusal that another place would repeat. */
const isFinal = (claimed: Claimed): boolean => !claimed.ok && claimed.failure.code !== 'store_unavailable';
