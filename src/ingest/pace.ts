/** Longest piece of work between two turns of the event loop, in milliseconds. */
const SLICE_MS = 2;
/** The rest after so much work, while others want the loop: each gets about half of it. */
const REST_MS = 2;

/**
 * Shares the event loop between long work and everything else that lives on it. All work of one pipeline asks the same
 * pace, so that many short jobs in one turn are held to the bound as one long job is.
 */
export type Pace = {
  /** True when the present turn of the loop has had its share of work, and while the work rests. */
  readonly isDue: () => boolean;
  /** Says that this turn had its share, where the work was done before anybody could ask: in reading a message. */
  readonly useUp: () => void;
  /** Resolves in a later turn of the loop; of several who wait, one goes on a turn, first come first served. */
  readonly nextTurn: () => Promise<void>;
};

export type PaceOptions = {
  /** Whether somebody else wants the loop now. Then each share of work, done in one turn or in several, is followed by a rest. */
  readonly isWanted?: () => boolean;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly sliceMs?: number;
  readonly restMs?: number;
};

export const createPace = ({
  isWanted = () => false,
  now = () => performance.now(),
  sliceMs = SLICE_MS,
  restMs = REST_MS,
}: PaceOptions = {}): Pace => {
  let turnStartedAt: number | undefined;
  let workedMs = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let armed = false;
  const waiting: (() => void)[] = [];

  const arm = (): void => {
    if (armed) return;
    armed = true;
    const rest = restsUntil - now();
    if (rest > 0) setTimeout(onTurn, rest);
    else setImmediate(onTurn);
  };
  const begin = (at: number): void => {
    turnStartedAt = at;
    arm();
  };
  /** The loop came round: what was done since the share began is counted, and rested from when it was enough. */
  const endTurn = (at: number): void => {
    if (turnStartedAt === undefined) return;
    workedMs += at - turnStartedAt;
    turnStartedAt = undefined;
    if (workedMs < sliceMs) return;
    workedMs = 0;
    if (isWanted()) restsUntil = at + restMs;
  };
  const onTurn = (): void => {
    armed = false;
    const at = now();
    endTurn(at);
    if (waiting.length === 0) return;
    if (at < restsUntil) {
      arm();
      return;
    }
    const next = waiting.shift();
    begin(at);
    next?.();
  };

  return {
    isDue: () => {
      const at = now();
      if (turnStartedAt !== undefined) return at - turnStartedAt >= sliceMs;
      // The first question of a turn starts its share; the turn ends when the loop comes round.
      if (at < restsUntil) return true;
      begin(at);
      return false;
    },
    useUp: () => {
      begin(Math.min(turnStartedAt ?? Number.POSITIVE_INFINITY, now() - sliceMs));
    },
    nextTurn: () => {
      arm();
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
};
