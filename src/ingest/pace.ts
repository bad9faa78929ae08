/** Longest piece of work between two turns of the event loop, in milliseconds. */
const SLICE_MS = 2;

/**
 * Shares the event loop between long work and everything else that lives on it. All work of one pipeline asks the same
 * pace, so that many short jobs in one turn are held to the bound as one long job is.
 */
export type Pace = {
  /** True when the present turn of the loop has had its share of work. */
  readonly isDue: () => boolean;
  /** Resolves in a later turn of the loop; of several who wait, one goes on a turn, first come first served. */
  readonly nextTurn: () => Promise<void>;
};

/** @param now a monotonic clock in milliseconds */
export const createPace = (now: () => number = () => performance.now(), sliceMs: number = SLICE_MS): Pace => {
  let turnStartedAt: number | undefined;
  let armed = false;
  const waiting: (() => void)[] = [];

  const arm = (): void => {
    if (armed) return;
    armed = true;
    setImmediate(onTurn);
  };
  const onTurn = (): void => {
    armed = false;
    turnStartedAt = undefined;
    const next = waiting.shift();
    if (waiting.length > 0) arm();
    next?.();
  };

  return {
    isDue: () => {
      // The first question of a turn starts its share; the turn ends when the loop comes round.
      if (turnStartedAt === undefined) {
        turnStartedAt = now();
        arm();
        return false;
      }
      return now() - turnStartedAt >= sliceMs;
    },
    nextTurn: () => {
      arm();
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
};
