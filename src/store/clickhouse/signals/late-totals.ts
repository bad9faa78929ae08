import { setTimeout as sleep } from 'node:timers/promises';
import { createAllowance } from '../../signals/allowance.ts';
import { LONG_TRACES, startLane } from '../../signals/late-totals.ts';
import type { Database } from '../connection.ts';
import { keyText, type TraceKey } from './keyed.ts';
import { type LongTraces, type Pace, withoutLateTotals, writeSum, writeTogether } from './totals.ts';
import type { Versions } from './versions.ts';

/** After a failure, in milliseconds. */
const LOOK_MS = 10_000;
/** Late traces that are remembered. The rounds that repair totals find others, and all of them after a crash. */
const MOST_REMEMBERED = 10_000;

/** A trace, how much its totals count, and how much was added to it since. */
type Late = { readonly key: TraceKey; readonly counted: number; readonly added: number };

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
    /** How many traces come by themselves, after some could not be brought up together. */
    let alone = 0;
    /** Those that are brought up together: what is noted of them from now on is added up once more. */
    const take = (): Late[] => {
      const taken: Late[] = [];
      let room: number = LONG_TRACES.atOnce;
      for (const [name, late] of waiting) {
        const size = late.counted + late.added;
        if (taken.length > 0 && size > room) break;
        room -= size;
        waiting.delete(name);
        taken.push(late);
        if (alone > 0) break;
      }
      alone = Math.max(0, alone - 1);
      return taken;
    };
    const put = ({ key, counted, added }: Late): void => {
      const name = keyText(key);
      const before = waiting.get(name);
      if (before !== undefined || waiting.size < MOST_REMEMBERED)
        waiting.set(name, { key, counted, added: added + (before?.added ?? 0) });
    };
    const lane = startLane<Late[]>({
      next: () => (waiting.size === 0 ? undefined : take()),
      work: async (taken) => {
        try {
          const [first] = taken;
          if (first !== undefined && taken.length === 1) await writeSum(database, first.key, versions, patiently);
          else
            await patiently(() =>
              writeTogether(
                database,
                taken.map(({ key }) => key),
                versions,
              ),
            );
        } catch (error) {
          // Each by itself from now on: one that cannot be brought up keeps no other from it. The rounds try it again.
          alone = taken.length > 1 ? taken.length : alone;
          if (taken.length > 1) for (const late of taken) put(late);
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
      later: (key, counted, added) => {
        const isLarge = counted + added > LONG_TRACES.atOnce;
        const { lane, put } = isLarge ? large : others;
        if (!isLarge && !lane.mayWait() && allowance.isLeft()) return false;
        put({ key, counted, added });
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
