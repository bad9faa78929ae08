import type { UnixMs } from '../model/run.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import type { Clock } from './kernel/clock.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { LeaseWatch } from './lease/deadlines.ts';
import type { RunMessage } from './run/messages.ts';

const TICK_MS = 1000;
/** Timers that one read takes. */
const TIMER_SLICE = 500;

/** Makes messages of what is due: timers of runs, deadlines of leases, claims and housekeeping. */
export const createTimer = (host: {
  readonly store: Pick<RunStore, 'dueTimers'>;
  readonly kernel: Pick<Kernel, 'handle'>;
  readonly leases: Pick<LeaseWatch, 'due'>;
  readonly clock: Clock;
  readonly now: () => UnixMs;
  /** What else each second does, after the deadlines. */
  readonly eachSecond: readonly (() => Promise<void>)[];
  readonly onFault: (error: unknown) => void;
}) => {
  const { store, kernel, clock } = host;
  let stopped = false;
  let cancel: (() => void) | undefined;
  let ticking: Promise<void> | undefined;

  const fireTimers = async (): Promise<void> => {
    for (;;) {
      const due = await store.dueTimers(host.now(), TIMER_SLICE);
      const answers = await kernel.handle(
        due.map(({ runId, name, dueAt }) => {
          const body: RunMessage = { kind: 'timer', name, dueAt };
          return { type: 'run', id: runId, body };
        }),
      );
      // What could not be taken is still due: the next tick looks at it again, not this one indefinitely.
      if (due.length < TIMER_SLICE || answers.every(({ status }) => status === 'rejected')) return;
    }
  };

  const tick = async (): Promise<void> => {
    await kernel.handle(host.leases.due());
    await fireTimers();
    for (const step of host.eachSecond) await step();
  };

  const arm = (): void => {
    if (stopped) return;
    const from = clock.monotonic();
    cancel = clock.after(TICK_MS, () => {
      ticking = tick()
        .catch(host.onFault)
        .finally(() => {
          ticking = undefined;
          // A tick that took long is followed at once: a timer is late by two seconds at most while the process is awake.
          if (clock.monotonic() - from > 2 * TICK_MS) cancel = clock.after(0, () => arm());
          else arm();
        });
    });
  };

  return {
    /** Looks at what is due once. */
    tick,
    /** From now on once a second. */
    start: arm,
    /** Looks no more; the work in hand is done when it resolves. */
    stop: async (): Promise<void> => {
      stopped = true;
      cancel?.();
      await ticking;
    },
  };
};
