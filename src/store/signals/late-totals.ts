/**
 * A trace of more spans than `ofTrace` is long, and so is each beyond the spans that one commit reads: `together`, and `ofEach` for each of its
 * traces. All spans of a trace are read for each that is added, and a body of some kilobytes can name many such traces: the totals of long
 * ones may be brought up after the commit (*late totals*).
 */
const FEW_SPANS = { ofTrace: 32, together: 4_096, ofEach: 4 } as const;
/** Says, one trace after the other, whether its spans are few. @param traces that the commit touches */
export const fewSpans = (traces: number): ((spans: number) => boolean) => {
  let room = FEW_SPANS.together + FEW_SPANS.ofEach * traces;
  return (spans) => {
    if (spans > FEW_SPANS.ofTrace || spans > room) return false;
    room -= spans;
    return true;
  };
};

/**
 * What long traces take of what writes: a part of the time, and half a second at once. Without more than that, totals are late only of traces
 * that have too many spans to be read within one commit.
 */
export const LONG_TRACES = { share: 0.3, mostMs: 500, spansAtOnce: 20_000 } as const;
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
