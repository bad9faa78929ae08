import { countSignals } from '../src/model/signal.ts';
import type { Span } from '../src/model/span.ts';
import type { WriteOutcome, WriteUnit } from '../src/store/signals/signal-store.ts';

/** A store in memory, which does what the contract of `write` says, when and as the test lets it. */
export type MemoryStore = {
  readonly write: (unit: WriteUnit) => Promise<WriteOutcome>;
  readonly isWritten: (ingestKey: string) => Promise<boolean>;
  readonly units: readonly WriteUnit[];
  readonly signals: () => number;
  readonly spans: () => readonly Span[];
  /** Makes every write that fits fail; without an argument, none. */
  readonly failWhen: (fails?: (unit: WriteUnit) => boolean) => void;
  /** Holds back every write until the returned function is called. */
  readonly hold: () => () => void;
  readonly waiting: () => number;
};

export const createMemoryStore = (): MemoryStore => {
  const units: WriteUnit[] = [];
  const keys = new Set<string>();
  let fails: (unit: WriteUnit) => boolean = () => false;
  let gate: Promise<void> = Promise.resolve();
  let waiting = 0;
  return {
    write: async (unit) => {
      waiting += 1;
      await gate;
      waiting -= 1;
      if (fails(unit)) throw new Error('disk I/O error of the test');
      if (unit.ingestKey !== undefined) {
        if (keys.has(unit.ingestKey)) return 'duplicate';
        keys.add(unit.ingestKey);
      }
      units.push(unit);
      return 'written';
    },
    isWritten: async (ingestKey) => keys.has(ingestKey),
    units,
    signals: () => units.reduce((sum, { batch }) => sum + countSignals(batch), 0),
    spans: () => units.flatMap(({ batch }) => batch.spans),
    failWhen: (when = () => false) => {
      fails = when;
    },
    hold: () => {
      let open: () => void = () => undefined;
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
    waiting: () => waiting,
  };
};
