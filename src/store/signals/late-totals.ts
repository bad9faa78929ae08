/**
 * What is read of a trace for its totals: all of its spans, where one was added or changed, and all that was said of it. A trace of which more
 * than `ofTrace` of them are read, what else is written anew of it included, is long, and so is each beyond what one commit reads: `together`,
 * and `ofEach` for each of its traces. A body of some kilobytes can name many such traces: the totals of long ones may be
 * brought up after the commit (*late totals*).
 */
const FEW = { ofTrace: 32, together: 4_096, ofEach: 4 } as const;
/** Whether so many are few by themselves. */
export const isFewAlone = (read: number): boolean => read <= FEW.ofTrace;
/** As many values as nearly every trace is found by. They are not counted beside its spans. */
const USUAL_VALUES = 16;
/** How many of the values by which a trace is found count for its totals. */
export const countedValues = (values: number): number => Math.max(0, values - USUAL_VALUES);
/** Says, one trace after the other, whether what is read of it is little. @param traces that the commit touches */
export const fewOf = (traces: number): ((read: number) => boolean) => {
  let room = FEW.together + FEW.ofEach * traces;
  return (read) => {
    if (!isFewAlone(read) || read > room) return false;
    room -= read;
    return true;
  };
};

/**
 * What long traces take of what writes: a part of the time, and half a second at once. Without more than that, totals are late only of traces of
 * which more than `atOnce` is read.
 */
export const LONG_TRACES = { share: 0.3, mostMs: 500, atOnce: 20_000 } as const;
/** Late totals are brought up in slices of about so long, in milliseconds. */
export const LATE_SLICE_MS = 50;

/** Brings up late totals. */
export type Lane = {
  /** Whether any may be late. */
  readonly mayWait: () => boolean;
  /** Some were noted as late. */
  readonly wake: () => void;
  /** Resolves when it was stopped, and nothing is being written. */
  readonly ended: Promise<void>;
};

export type LaneOptions<T> = {
  /** Whose turn it is; `undefined` where none is late. */
  readonly next: () => Promise<T | undefined> | T | undefined;
  /** Adds that up. What it throws is tried again, as `next` has it. */
  readonly work: (late: T) => Promise<void>;
  /** Stops it. */
  readonly signal: AbortSignal;
  /** After how long is looked again where nothing was late, or something failed, in milliseconds. */
  readonly lookMs: number;
};

/** Begins to bring up late totals, in a service that asks its store over a network. */
export const startLane = <T>({ next, work, signal, lookMs }: LaneOptions<T>): Lane => {
  let mayWait = true;
  let isNoted = false;
  let endPause = (): void => {};
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, lookMs).unref();
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      isNoted = false;
      try {
        const late = await next();
        if (late !== undefined) {
          mayWait = true;
          await work(late);
          continue;
        }
        if (isNoted) continue; // meanwhile
        mayWait = false;
      } catch {
        // The store is away, or is being closed.
      }
      if (!signal.aborted) await pause();
    }
  };
  signal.addEventListener('abort', () => endPause(), { once: true });
  return {
    mayWait: () => mayWait,
    wake: () => {
      isNoted = true;
      mayWait = true;
      endPause();
    },
    ended: run(),
  };
};
