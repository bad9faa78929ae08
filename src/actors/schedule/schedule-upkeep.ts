import type { UnixMs } from '../../model/run.ts';
import type { Found, Lookup, RunStore } from '../../store/runs/run-store.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { ScheduleMessage } from './messages.ts';

/** Schedules that one read brings and one group takes. */
const SLICE = 100;

/**
 * What befalls schedules from outside: a start that can load those in quarantine again, and a wall clock that was set back.
 * @param host.closing ends the work between two slices
 */
export const createScheduleUpkeep = (host: {
  readonly store: Pick<RunStore, 'load'>;
  readonly kernel: Pick<Kernel, 'handle'>;
  readonly now: () => UnixMs;
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}) => {
  const { store, kernel } = host;
  /** What is still to be done; after a store that failed it is done again. */
  let releases = true;
  let replans = true;

  const tellAll = async (which: (Lookup & { kind: 'kept_actors' })['which'], body: ScheduleMessage): Promise<void> => {
    for (let after = ''; !host.closing.aborted; ) {
      const lookup = { kind: 'kept_actors', type: 'schedule', which, after, limit: SLICE } as const;
      const [found] = (await store.load([lookup])) as [Found['kept_actors']];
      const last = found.at(-1);
      if (last === undefined) return;
      await kernel.handle(found.map(({ id }) => ({ type: 'schedule', id, body })));
      after = last.id;
    }
  };

  return {
    /** The wall clock was set back: what was planned by it may lie years ahead. */
    clockSetBack: (): void => {
      replans = true;
    },
    /** Does what is to be done, at the start and each second. */
    look: async (): Promise<void> => {
      try {
        if (releases) {
          await tellAll('quarantined', { kind: 'release' });
          releases = false;
        }
        if (replans) {
          replans = false;
          await tellAll({ changedAfter: host.now() }, { kind: 'clock_set' });
        }
      } catch (error) {
        replans = true;
        host.onFault(error);
      }
    },
  };
};
