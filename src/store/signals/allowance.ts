/** Time that a kind of work may take: a share of it, and so much at once after a quiet while. */
export type Allowance = {
  /** Whether any is left. Work that has begun is not interrupted: what it takes beyond is missing later. */
  isLeft(): boolean;
  /** Begins work, whose time counts until the function that this gives is called. */
  begin(): () => void;
  /** Does work, and counts the time that it takes. */
  use(work: () => void): void;
  /** After how many milliseconds some is left, if nothing uses it. */
  msUntilLeft(): number;
};

/**
 * @param share of the time, at most 1
 * @param mostMs what gathers at the most, and is there at first
 * @param now in milliseconds
 */
export const createAllowance = (share: number, mostMs: number, now = () => performance.now()): Allowance => {
  let leftMs = mostMs;
  let at = now();
  const gather = (): void => {
    const time = now();
    leftMs = Math.min(mostMs, leftMs + (time - at) * share);
    at = time;
  };
  const begin = (): (() => void) => {
    gather();
    const started = at;
    return () => {
      gather();
      leftMs -= at - started;
    };
  };
  return {
    isLeft: () => {
      gather();
      return leftMs > 0;
    },
    begin,
    use: (work) => {
      const end = begin();
      try {
        work();
      } finally {
        end();
      }
    },
    msUntilLeft: () => {
      gather();
      return leftMs > 0 ? 0 : -leftMs / share + 1;
    },
  };
};
