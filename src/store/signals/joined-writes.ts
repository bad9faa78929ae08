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
  readonly signals: number;
  readonly subjects: readonly string[];
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
  /**
   * Groups under way at once, 1 when absent: one may be put together while the store works on another. Units of which one may replace what
   * the other writes go in the order in which they came.
   */
  readonly atOnce?: number;
  /** Whether a group failed by what one of its units holds: then each is written by itself, so that only that one fails. */
  readonly isOfOne?: (error: unknown) => boolean;
};

/**
 * What a unit writes that another may write too: its key, its traces as wholes, and records by their ids. Projects are left out: units that
 * share an id of two projects only wait for each other.
 */
const subjectsOf = ({ ingestKey, batch }: WriteUnit): readonly string[] => {
  const subjects = new Set<string>();
  if (ingestKey !== undefined) subjects.add(`key ${ingestKey}`);
  for (const { traceId } of batch.spans) subjects.add(traceId);
  for (const { scoreId } of batch.scores) subjects.add(`score ${scoreId}`);
  for (const { feedbackId } of batch.feedback) subjects.add(`feedback ${feedbackId}`);
  for (const { noteId } of batch.aspectNotes) subjects.add(`note ${noteId}`);
  return [...subjects];
};

/**
 * Joins the units that wait into groups, few under way at a time: writing a group costs a store that is asked over a network as much for one
 * unit as for many. Units are prepared when they come in, while the store works on the groups before theirs.
 */
export const joinWrites = <P>({
  store,
  prepare,
  write,
  atOnce = 1,
  isOfOne = () => false,
}: GroupWriter<P>): JoinedWrites => {
  let waiting: Waiting<P>[] = [];
  /** What the groups under way write. */
  const busy = new Set<string>();
  const underWay = new Set<Promise<void>>();
  let signalsUnderWay = 0;
  let beginning: Promise<void> | undefined;
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

  /** Takes units that go next, until they hold so many signals: none that shares a subject with a group under way, or with a unit that came before it and waits. */
  const takeGroup = (most: number): Waiting<P>[] => {
    const group: Waiting<P>[] = [];
    const left: Waiting<P>[] = [];
    const held = new Set<string>();
    let signals = 0;
    for (const [place, next] of waiting.entries()) {
      if (signals >= most) {
        left.push(...waiting.slice(place));
        break;
      }
      if (next.subjects.some((subject) => busy.has(subject) || held.has(subject))) {
        for (const subject of next.subjects) held.add(subject);
        left.push(next);
        continue;
      }
      group.push(next);
      signals += next.signals;
    }
    waiting = left;
    return group;
  };

  const begin = (): void => {
    while (waiting.length > 0 && underWay.size < atOnce) {
      const signals = waiting.reduce((sum, one) => sum + one.signals, 0);
      // Beside a large group one of a single unit would cost about as much: it waits for more.
      if (underWay.size > 0 && signals < Math.min(GROUP_SIGNALS, signalsUnderWay) / 2) return;
      // Senders that wait for their answers come back together: in one group they would leave nothing to write beside it.
      const group = takeGroup(Math.min(GROUP_SIGNALS, signals / (atOnce - underWay.size)));
      if (group.length === 0) return;
      const taken = group.reduce((sum, one) => sum + one.signals, 0);
      const subjects = group.flatMap((one) => one.subjects);
      for (const subject of subjects) busy.add(subject);
      signalsUnderWay += taken;
      const written = writeTogether(group).finally(() => {
        for (const subject of subjects) busy.delete(subject);
        signalsUnderWay -= taken;
        underWay.delete(written);
        begin();
      });
      underWay.add(written);
    }
  };
  /** Units that are written in the same moment go along. */
  const beginSoon = (): void => {
    beginning ??= (async () => {
      await Promise.resolve();
      beginning = undefined;
      begin();
    })();
  };

  return {
    write: (unit) =>
      isClosed
        ? Promise.reject(new StoreUnavailable(`the ${store} is closed`))
        : new Promise((resolve, reject) => {
            const spans = prepareAll(unit.batch.spans);
            // What fails here is thrown where the group awaits it.
            spans.catch(() => {});
            const signals = 1 + countSignals(unit.batch);
            waiting.push({ unit, signals, subjects: atOnce > 1 ? subjectsOf(unit) : [], spans, resolve, reject });
            beginSoon();
          }),
    close: async () => {
      isClosed = true;
      await beginning;
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
};
