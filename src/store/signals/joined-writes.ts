import { countSignals } from '../../model/signal.ts';
import type { Span } from '../../model/span.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { WriteOutcome, WriteUnit } from './signal-store.ts';

/**
 * Signals that one group takes, at about the most. Larger groups cost the store less a signal, but then few units are left to be prepared
 * meanwhile: with 4,096 PostgreSQL and ClickHouse took a fifth less.
 */
const GROUP_SIGNALS = 2_048;

/** Spans that are prepared before other work of the event loop gets its turn: some milliseconds of it. */
const PREPARED_AT_ONCE = 64;

/** A unit with what the engine made of each of its spans. */
export type PreparedUnit<P> = { readonly unit: WriteUnit; readonly spans: readonly P[] };

type Waiting<P> = {
  readonly unit: WriteUnit;
  readonly spans: Promise<readonly P[]>;
  readonly resolve: (outcome: WriteOutcome) => void;
  readonly reject: (error: unknown) => void;
};

export type JoinedWrites = {
  /**
   * Resolves when the unit is on the disk, or was before. Rejects with `StoreUnavailable` when that is not known, and after `close`.
   * @see SignalStore.write
   */
  readonly write: (unit: WriteUnit) => Promise<WriteOutcome>;
  /** Refuses all units that follow, and resolves when nothing waits to be written. */
  readonly close: () => Promise<void>;
};

/** How an engine writes groups of units. */
export type GroupWriter<P> = {
  /** Names the store in errors. */
  readonly store: string;
  /** Makes of a span what the engine stores of it, as far as that needs no answer of the store. */
  readonly prepare: (span: Span) => P;
  /** Writes a group, and says what became of each unit. */
  readonly write: (group: readonly PreparedUnit<P>[]) => Promise<readonly WriteOutcome[]>;
  /** Whether a group failed by what one of its units holds: then each is written by itself, so that only that one fails. */
  readonly isOfOne?: (error: unknown) => boolean;
};

/**
 * Joins the units that wait into groups, one under way at a time: writing a group costs a store that is asked over a network as much for one
 * unit as for many. Units are prepared when they come in, while the store works on the group before theirs.
 */
export const joinWrites = <P>({ store, prepare, write, isOfOne = () => false }: GroupWriter<P>): JoinedWrites => {
  const waiting: Waiting<P>[] = [];
  let writing: Promise<void> | undefined;
  let isClosed = false;

  const prepareAll = async (spans: readonly Span[]): Promise<readonly P[]> => {
    const prepared: P[] = [];
    for (const [place, span] of spans.entries()) {
      if (place > 0 && place % PREPARED_AT_ONCE === 0) await new Promise(setImmediate);
      prepared.push(prepare(span));
    }
    return prepared;
  };

  const writeTogether = async (group: readonly Waiting<P>[]): Promise<void> => {
    try {
      const prepared: PreparedUnit<P>[] = [];
      for (const { unit, spans } of group) prepared.push({ unit, spans: await spans });
      const outcomes = await write(prepared);
      for (const [place, { resolve }] of group.entries()) resolve(outcomes[place] ?? 'written');
    } catch (error) {
      if (group.length > 1 && isOfOne(error)) {
        for (const one of group) await writeTogether([one]);
        return;
      }
      for (const { reject } of group) reject(error);
    }
  };

  const writeAll = async (): Promise<void> => {
    // Units that are written in the same moment go along.
    await Promise.resolve();
    while (waiting.length > 0) {
      const group: Waiting<P>[] = [];
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
      isClosed
        ? Promise.reject(new StoreUnavailable(`the ${store} is closed`))
        : new Promise((resolve, reject) => {
            const spans = prepareAll(unit.batch.spans);
            // What fails here is thrown where the group awaits it.
            spans.catch(() => {});
            waiting.push({ unit, spans, resolve, reject });
            writing ??= writeAll();
          }),
    close: async () => {
      isClosed = true;
      await writing;
    },
  };
};
