import PQueue from 'p-queue';

/** Requests of a kind, short or long, that are worked on in turns at one time; the others wait. */
const CONCURRENT_REQUESTS = 4;
/** The same of long ones for so many milliseconds after a short one: the next one does not find all processors busy with them. */
const LONG_BESIDE_SHORT = 1;
const BESIDE_SHORT_MS = 1_000;

/** In which order requests are worked on: long ones wait for each other, and short ones do not wait for them. */
export type Turns = {
  readonly takeShort: <T>(step: () => Promise<T>) => Promise<T>;
  /** A step of a long request: from the bytes of a body to its signals, or from these to the commit. It waits for no sender. */
  readonly takeLong: <T>(step: () => Promise<T>) => Promise<T>;
  /** A short request has come. */
  readonly noteShort: () => void;
  readonly waiting: () => number;
  readonly working: () => number;
};

/** @param monotonic milliseconds of a clock that does not jump */
export const createTurns = (monotonic: () => number): Turns => {
  const short = new PQueue({ concurrency: CONCURRENT_REQUESTS });
  const long = new PQueue({ concurrency: CONCURRENT_REQUESTS });
  let shortCameAt = Number.NEGATIVE_INFINITY;
  return {
    takeShort: (step) => short.add(step),
    takeLong: (step) => {
      if (monotonic() - shortCameAt > BESIDE_SHORT_MS) long.concurrency = CONCURRENT_REQUESTS;
      return long.add(step);
    },
    noteShort: () => {
      shortCameAt = monotonic();
      long.concurrency = LONG_BESIDE_SHORT;
    },
    waiting: () => short.size + long.size,
    working: () => short.pending + long.pending,
  };
};
