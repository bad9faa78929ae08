import PQueue from 'p-queue';
import type { Clock } from '../actors/kernel/clock.ts';
import type { UnixMs } from '../model/run.ts';
import type { WatchType } from '../model/watch.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { WatchLog } from './log.ts';
import { newRound, type Round } from './readings.ts';

/** Evaluations that read at once: half the readers of the store, so that queries have the other half. */
const READING_AT_ONCE = 2;

/** One monitor or SLO, as a round evaluates it. */
export type Subject = {
  readonly type: WatchType;
  readonly id: string;
  /** Reads, and gives what hands the reading to the actor. */
  readonly read: (round: Round) => Promise<() => void>;
  /** Tells the actor that nothing could be read, and why. */
  readonly miss: (at: UnixMs, note: string) => void;
};

export type RoundsOptions = {
  readonly subjects: readonly Subject[];
  readonly intervalSeconds: number;
  /** How long one evaluation may read. */
  readonly readingMs: number;
  readonly clock: Clock;
  readonly log: WatchLog;
  /** When the last evaluation of a round has ended. */
  readonly ended: () => void;
};

/** A subject on its way through rounds. */
type Place = {
  readonly subject: Subject;
  /** From being queued until its read has come back, however late. */
  isBusy: boolean;
  /** An evaluation was asked for and has not ended. */
  isAwaited: boolean;
};

/**
 * Evaluates on a timer, round by round. An evaluation that reads too long is given up and waits for no other; while its read is
 * still under way, it is not repeated, so a store that hangs holds as many reads as there are subjects at the most.
 */
export const createRounds = ({ subjects, intervalSeconds, readingMs, clock, log, ended }: RoundsOptions) => {
  const places = subjects.map((subject): Place => ({ subject, isBusy: false, isAwaited: false }));
  const placesByAddress = new Map(places.map((place) => [`${place.subject.type}/${place.subject.id}`, place]));
  const closing = new AbortController();
  const queue = new PQueue({ concurrency: READING_AT_ONCE });

  /** Resolves with a note when time is up, or when the service stops. */
  const givenUp = (): { readonly late: Promise<string>; readonly forget: () => void } => {
    let forget = (): void => {};
    const late = new Promise<string>((resolve) => {
      const stop = (): void => resolve('the service stops');
      const cancel = clock.after(readingMs, () => resolve(`the store did not answer within ${readingMs} ms`));
      closing.signal.addEventListener('abort', stop, { once: true });
      forget = () => {
        cancel();
        closing.signal.removeEventListener('abort', stop);
      };
    });
    return { late, forget };
  };

  const noteOf = (error: unknown, { type, id }: Subject): string => {
    if (error instanceof StoreUnavailable) return 'the store is unavailable';
    log.error({ err: error, actor: `${type}/${id}` }, 'a bug in a reading');
    return 'the reading failed';
  };

  /** @returns why nothing was read, where nothing was */
  const evaluate = async (place: Place, round: Round): Promise<string | undefined> => {
    const { subject } = place;
    if (closing.signal.aborted) return undefined;
    const reading = subject.read(round).catch((error: unknown) => noteOf(error, subject));
    void reading.finally(() => {
      place.isBusy = false;
    });
    const { late, forget } = givenUp();
    const outcome = await Promise.race([reading, late]);
    forget();
    if (closing.signal.aborted) return undefined;
    if (typeof outcome !== 'string') {
      outcome();
      return undefined;
    }
    subject.miss(round.at, outcome);
    return outcome;
  };

  /** The newest round: what waited in the queue for long reads windows that end now. */
  let latest = newRound(0);

  const visit = async (place: Place): Promise<string | undefined> => {
    const { subject } = place;
    if (place.isBusy) {
      const note = 'the evaluation before this one still reads';
      subject.miss(latest.at, note);
      return note;
    }
    place.isBusy = true;
    place.isAwaited = true;
    try {
      return await queue.add(() => evaluate(place, latest));
    } finally {
      place.isAwaited = false;
    }
  };
  const visitSafely = async (place: Place): Promise<string | undefined> => {
    try {
      return await visit(place);
    } catch (error) {
      const { type, id } = place.subject;
      log.error({ err: error, actor: `${type}/${id}` }, 'a bug in an evaluation');
      return 'a bug';
    }
  };

  const tick = async (): Promise<void> => {
    latest = newRound(Math.trunc(clock.wall()));
    const notes = await Promise.all(places.map(visitSafely));
    const missed = notes.filter((note) => note !== undefined);
    if (missed.length > 0)
      log.warn({ missed: missed.length, of: places.length, reason: missed[0] }, 'evaluations read nothing');
    ended();
  };

  const intervalMs = intervalSeconds * 1000;
  let cancelTick: (() => void) | undefined;
  /** Counts on a grid: however long a round takes, the next one is not late by it. */
  const arm = (from: number, no: number): void => {
    if (closing.signal.aborted) return;
    cancelTick = clock.after(Math.max(0, from + no * intervalMs - clock.monotonic()), () => {
      void tick();
      arm(from, Math.max(no, Math.floor((clock.monotonic() - from) / intervalMs)) + 1);
    });
  };

  return {
    /** Evaluates every subject once; resolves when the last evaluation has ended. */
    tick,
    /** Begins the intervals, with a round at once. */
    start: (): void => {
      if (places.length > 0) arm(clock.monotonic(), 0);
    },
    /** Evaluations that an actor waits for: at most one, queued or being read. */
    awaitedBy: (type: WatchType, id: string): number =>
      placesByAddress.get(`${type}/${id}`)?.isAwaited === true ? 1 : 0,
    /** Ends the intervals and gives up what is being read. */
    close: (): void => {
      closing.abort();
      cancelTick?.();
    },
  };
};
