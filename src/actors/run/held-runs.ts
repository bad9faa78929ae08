import type { HeldReason } from '../../model/run.ts';
import { ownerAndId } from '../../model/definition/owner.ts';
import type { Found, RunStore } from '../../store/runs/run-store.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { RunMessage } from './messages.ts';

/** Runs that one read brings and one group admits. */
const SLICE = 100;
const HELD = 'definition_paused' satisfies HeldReason;

/**
 * Admits the runs of definitions that were resumed, a slice a commit. While callers are served it rests as long as a slice took.
 *
 * What is to be done stands in the rows of the runs: those that say that their definition is paused, and it is not. So a start, and a look
 * after a commit that failed, find again what was lost here.
 */
export const createHeldRuns = (host: {
  readonly store: Pick<RunStore, 'load'>;
  readonly kernel: Pick<Kernel, 'handle'>;
  /** Whether a definition is paused, by `ownedId`. */
  readonly isPaused: (definition: string) => boolean;
  /** Whether callers were served since then, on the clock that does not jump, or shortly before. */
  readonly servedSince: (at: number) => boolean;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}) => {
  const { store, kernel, clock, closing } = host;
  /** By `ownedId`; those whose runs are to be admitted. */
  const resumed = new Set<string>();
  /** The store has not been asked yet which definitions these are. */
  let isUnknown = true;
  let going: Promise<void> | undefined;

  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (ms > 0) clock.after(ms, resolve);
      else resolve();
    });

  const admitAll = async (definition: string): Promise<void> => {
    for (let after = ''; !closing.aborted && !host.isPaused(definition); ) {
      const from = clock.monotonic();
      const lookup = { kind: 'held_runs', ...ownerAndId(definition), held: HELD, after, limit: SLICE } as const;
      const [found] = (await store.load([lookup])) as [Found['held_runs']];
      const body: RunMessage = { kind: 'admit' };
      const answers = await kernel.handle(found.map((id) => ({ type: 'run', id, body })));
      if (answers.some(({ status }) => status === 'rejected')) isUnknown = true;
      const last = found.at(-1);
      if (last === undefined) return;
      after = last;
      if (host.servedSince(from)) await rest(clock.monotonic() - from);
    }
  };

  const go = async (): Promise<void> => {
    try {
      if (isUnknown) {
        isUnknown = false;
        const [found] = (await store.load([{ kind: 'held_definitions', held: HELD }])) as [Found['held_definitions']];
        for (const definition of found) resumed.add(definition);
      }
      for (const definition of resumed) {
        resumed.delete(definition);
        await admitAll(definition);
      }
    } catch (error) {
      isUnknown = true;
      host.onFault(error);
    }
  };
  const wake = (): Promise<void> => {
    going ??= go().finally(() => {
      going = undefined;
      if (resumed.size > 0) void wake();
    });
    return going;
  };

  return {
    /** A definition was resumed. */
    resumed: (definition: string): void => {
      resumed.add(definition);
      void wake();
    },
    /** At the start, and each second: where a commit or a read failed, what it left. */
    look: async (): Promise<void> => {
      if (isUnknown) void wake();
    },
    /** Resolves when nothing is left to do. */
    idle: async (): Promise<void> => {
      while (going !== undefined) await going;
    },
  };
};
