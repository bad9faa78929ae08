import { countSignals } from '../../../model/signal.ts';
import type { UnixNano } from '../../../model/time.ts';
import type { WriteOutcome, WriteUnit } from '../../signals/signal-store.ts';
import type { Database } from '../connection.ts';
import { isOfValues } from '../driver-error.ts';
import type { ProjectNumbers } from './projects.ts';
import { writeGroup } from './write-group.ts';

/** Signals that one transaction takes, at about the most. */
const GROUP_SIGNALS = 4_096;

type Waiting = {
  readonly unit: WriteUnit;
  readonly resolve: (outcome: WriteOutcome) => void;
  readonly reject: (error: unknown) => void;
};

export type SignalWriter = {
  /**
   * Resolves when the unit is committed, or was before. Rejects with `StoreUnavailable` when that is not known.
   * @see SignalStore.write
   */
  readonly write: (unit: WriteUnit) => Promise<WriteOutcome>;
  /** Resolves when nothing waits to be written. */
  readonly idle: () => Promise<void>;
};

/** Joins the units that wait into one transaction, one at a time, so that one commit serves many. */
export const createSignalWriter = (database: Database, clock: () => UnixNano): SignalWriter => {
  const waiting: Waiting[] = [];
  let known: ProjectNumbers = new Map();
  let writing: Promise<void> | undefined;

  const writeTogether = async (group: readonly Waiting[]): Promise<void> => {
    try {
      const written = await database.transaction((ask) =>
        writeGroup(
          ask,
          group.map(({ unit }) => unit),
          known,
          clock(),
        ),
      );
      known = written.known;
      for (const [place, { resolve }] of group.entries()) resolve(written.outcomes[place] ?? 'written');
    } catch (error) {
      if (group.length > 1 && isOfValues(error)) {
        // One of them holds what the database does not take; the others shall not suffer for it.
        for (const one of group) await writeTogether([one]);
        return;
      }
      for (const { reject } of group) reject(error);
    }
  };

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group: Waiting[] = [];
      for (let signals = 0; signals < GROUP_SIGNALS; ) {
        const next = waiting.shift();
        if (next === undefined) break;
        group.push(next);
        signals += 1 + countSignals(next.unit.batch);
      }
      await writeTogether(group);
    }
    writing = undefined;
  };

  return {
    write: (unit) =>
      new Promise((resolve, reject) => {
        waiting.push({ unit, resolve, reject });
        writing ??= writeAll();
      }),
    idle: async () => {
      await writing;
    },
  };
};
