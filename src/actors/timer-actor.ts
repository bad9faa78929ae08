import { createResident, type ResidentActor } from '../machines/resident.ts';
import { TIMER_MACHINE_VERSION, timerMachine } from '../machines/timer.ts';
import type { Json } from '../model/json.ts';
import { createRate } from '../model/rate.ts';
import type { RunBacklog } from '../store/runs/run-queries.ts';
import type { DueTimer } from '../store/runs/run-commits.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import { addresseeOf } from '../store/runs/records.ts';
import { failureCodeOf } from '../store/unavailable.ts';
import type { Clock, ServiceClock } from './kernel/clock.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { LeaseWatch } from './lease/deadlines.ts';
import type { TimerMessage } from './timer-message.ts';

const TICK_MS = 1000;
/** Timers that one read takes. */
const READ_TIMERS = 2000;
/** Timers that are handed over together: one commit. */
const TIMER_SLICE = 256;

/** The timer: each second it makes messages of what is due, timers of runs and deadlines of leases. */
export const createTimer = (host: {
  readonly store: Pick<RunStore, 'dueTimers'>;
  readonly kernel: Pick<Kernel, 'handle'>;
  readonly leases: Pick<LeaseWatch, 'due' | 'size'>;
  readonly clock: Clock;
  readonly serviceClock: Pick<ServiceClock, 'now' | 'steady' | 'look' | 'jumps'>;
  /** What else each second does, after the deadlines. */
  readonly eachSecond: readonly (() => Promise<void>)[];
  /** What waits in the store; `undefined` while it cannot be asked. */
  readonly backlog: () => Promise<RunBacklog | undefined>;
  readonly onFault: (error: unknown) => void;
}) => {
  const { store, kernel, clock, serviceClock } = host;
  const { now } = serviceClock;
  let stopped = false;
  let cancel: (() => void) | undefined;
  let ticking: Promise<void> | undefined;

  const actor = createResident(timerMachine, now);
  const born = clock.monotonic();
  const rates = { timers: createRate(born), leases: createRate(born) };
  /** Looks that are under way: more than one only where tests ask for them. */
  let looks = 0;

  /** @returns how many were handed over */
  const fireLeases = async (): Promise<number> => {
    const due = host.leases.due();
    rates.leases.add(clock.monotonic(), due.length);
    await kernel.handle(due);
    return due.length;
  };

  /**
   * Hands timers over in slices: while one is committed the next is decided, and no more wait, so that a call has its turn soon.
   * @returns whether a message of them was answered
   */
  const handOver = async (due: readonly DueTimer[]): Promise<boolean> => {
    let answered = false;
    const end = async (slice: ReturnType<Kernel['handle']>): Promise<void> => {
      if ((await slice).some(({ status }) => status === 'fulfilled')) answered = true;
    };
    let ahead: ReturnType<Kernel['handle']> | undefined;
    for (let from = 0; from < due.length && !stopped; from += TIMER_SLICE) {
      const slice = kernel.handle(
        due.slice(from, from + TIMER_SLICE).map(({ runId, name, dueAt }) => {
          const body: TimerMessage = { kind: 'timer', name, dueAt };
          return { ...addresseeOf({ runId, name }), body };
        }),
      );
      if (ahead !== undefined) await end(ahead);
      ahead = slice;
    }
    if (ahead !== undefined) await end(ahead);
    return answered;
  };

  /** @returns how many were handed over */
  const fireTimers = async (): Promise<number> => {
    for (let fired = 0; ; ) {
      const due = await store.dueTimers(now(), READ_TIMERS, serviceClock.steady());
      const answered = await handOver(due);
      rates.timers.add(clock.monotonic(), due.length);
      fired += due.length;
      // A timer whose message failed is still due. The next tick takes it; this one would repeat it without end.
      // A stop does not wait for the rest: they are rows, and due at the next start.
      if (stopped || due.length < READ_TIMERS || !answered) return fired;
    }
  };

  const tick = async (): Promise<void> => {
    serviceClock.look();
    const at = now();
    const from = clock.monotonic();
    looks += 1;
    if (looks === 1) actor.send({ type: 'turn.began' });
    try {
      const leases = await fireLeases();
      const timers = await fireTimers();
      for (const step of host.eachSecond) await step();
      looks -= 1;
      const turn = { at, durationMs: Math.round(clock.monotonic() - from), timers, leases };
      if (looks === 0) actor.send({ type: 'turn.ended', turn });
    } catch (error) {
      looks -= 1;
      if (looks === 0) actor.send({ type: 'turn.failed', fault: { at: now(), code: failureCodeOf(error) } });
      throw error;
    }
  };

  /** Jumps of the wall clock: how many were seen, and the last one. */
  const clockJumps = (): Json => {
    const { count, last } = serviceClock.jumps();
    const newest = last.at(-1);
    return { count, ...(newest === undefined ? {} : { last: { fromAt: newest.from, toAt: newest.to } }) };
  };

  const arm = (ms: number): void => {
    if (stopped) return;
    const from = clock.monotonic();
    cancel = clock.after(ms, () => {
      ticking = tick()
        .catch(host.onFault)
        .finally(() => {
          ticking = undefined;
          // After a tick that took long the next one follows at once.
          arm(Math.max(0, Math.min(TICK_MS, from + ms + TICK_MS - clock.monotonic())));
        });
    });
  };

  return {
    /** Looks at what is due once. */
    tick,
    /** From now on once a second. */
    start: (): void => arm(TICK_MS),
    /** Looks no more; the work in hand is done when it resolves. */
    stop: async (): Promise<void> => {
      stopped = true;
      cancel?.();
      await ticking;
    },

    /** Itself, as an actor that can be looked at. */
    actor: {
      machine: timerMachine,
      version: TIMER_MACHINE_VERSION,
      state: actor.state,
      read: async () => {
        const at = clock.monotonic();
        const backlog = await host.backlog();
        const { overdueTimers, nextTimerAt } = backlog ?? {};
        return {
          ...actor.state(),
          mailbox: overdueTimers ?? 0,
          context: {
            everyMs: TICK_MS,
            ...(overdueTimers === undefined ? {} : { overdueTimers }),
            ...(nextTimerAt === undefined ? {} : { nextTimerAt }),
            liveLeases: host.leases.size(),
            clockJumps: clockJumps(),
            ...actor.context(),
            perSecond: { timers: rates.timers.perSecond(at), leases: rates.leases.perSecond(at) },
          },
        };
      },
    } satisfies ResidentActor,
  };
};
