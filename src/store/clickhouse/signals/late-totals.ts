import { setTimeout as sleep } from 'node:timers/promises';
import { createAllowance } from '../../signals/allowance.ts';
import { LONG_TRACES, startLane } from '../../signals/late-totals.ts';
import type { Database } from '../connection.ts';
import { keyText, type TraceKey } from './keyed.ts';
import { type LongTraces, type Pace, withoutLateTotals, writeLong, writeTogether } from './totals.ts';
import type { Versions } from './versions.ts';

/** After a failure, in milliseconds. */
const LOOK_MS = 10_000;
/** Late traces that are remembered. The rounds that repair totals find others, and all of them after a crash. */
const MOST_REMEMBERED = 10_000;

/** A trace, and how much its totals count. */
type Late = { readonly key: TraceKey; readonly size: number };

export type LateTotals = {
  readonly long: LongTraces;
  /** For work in the background, which waits for time instead of leaving it for later. */
  readonly patient: LongTraces;
  /** Begins with no other trace. Resolves when nothing is being written. */
  readonly stop: () => Promise<void>;
};

/**
 * Brings up late totals, those of very many spans beside those of others: one large trace may take minutes, and nobody waits behind it. What
 * is late stands in memory alone: totals that are behind what they count are found by their versions.
 */
export const bringUpLateTotals = (database: Database, versions: Versions): LateTotals => {
  const allowance = createAllowance(LONG_TRACES.share, LONG_TRACES.mostMs);
  const stopping = new AbortController();
  const { signal } = stopping;
  const counted: Pace = async (work) => {
    const end = allowance.begin();
    try {
      await work();
    } finally {
      end();
    }
  };
  const patiently: Pace = async (work) => {
    await sleep(allowance.msUntilLeft(), undefined, { signal });
    await counted(work);
  };
  const patient: LongTraces = { ...withoutLateTotals, pace: patiently };

  const startOwnLane = () => {
    const waiting = new Map<string, Late>();
    /** Those that are brought up together: what is noted of them from now on is added up once more. */
    const take = (): Late[] => {
      const taken: Late[] = [];
      let room: number = LONG_TRACES.atOnce;
      for (const [name, late] of waiting) {
        if (taken.length > 0 && late.size > room) break;
        room -= late.size;
        waiting.delete(name);
        taken.push(late);
      }
      return taken;
    };
    const put = (late: Late): void => {
      if (waiting.size < MOST_REMEMBERED) waiting.set(keyText(late.key), late);
    };
    const lane = startLane<Late[]>({
      next: () => (waiting.size === 0 ? undefined : take()),
      work: async (taken) => {
        try {
          const [first] = taken;
          if (first !== undefined && taken.length === 1)
            await writeLong(database, first.key, first.size, versions, patiently);
          else
            await patiently(() =>
              writeTogether(
                database,
                taken.map(({ key }) => key),
                versions,
              ),
            );
        } catch (error) {
          for (const late of taken) put(late);
          throw error;
        }
      },
      signal,
      lookMs: LOOK_MS,
    });
    return { lane, put };
  };
  const others = startOwnLane();
  const large = startOwnLane();

  return {
    patient,
    long: {
      later: (key, size) => {
        const isLarge = size > LONG_TRACES.atOnce;
        const { lane, put } = isLarge ? large : others;
        if (!isLarge && !lane.mayWait() && allowance.isLeft()) return false;
        put({ key, size });
        lane.wake();
        return true;
      },
      pace: counted,
    },
    stop: async () => {
      stopping.abort();
      await Promise.all([others.lane.ended, large.lane.ended]);
    },
  };
};
