const WINDOW_SECONDS = 60;

/**
 * How often something happens, over the last minute. Adding costs a few machine instructions, so hot paths can afford it.
 * Times are milliseconds of a clock that does not jump.
 */
export const createRate = (bornAt: number) => {
  const counts = new Float64Array(WINDOW_SECONDS);
  const seconds = new Float64Array(WINDOW_SECONDS).fill(-1);
  const bornSecond = Math.floor(bornAt / 1000);
  return {
    add: (at: number, count = 1): void => {
      const second = Math.floor(at / 1000);
      const slot = second % WINDOW_SECONDS;
      if (seconds[slot] !== second) {
        seconds[slot] = second;
        counts[slot] = 0;
      }
      counts[slot] = (counts[slot] ?? 0) + count;
    },
    /** A young process divides by its age, so that its first minute is not shown too quiet. */
    perSecond: (at: number): number => {
      const now = Math.floor(at / 1000);
      let total = 0;
      for (const [slot, second] of seconds.entries())
        if (second > now - WINDOW_SECONDS && second <= now) total += counts[slot] ?? 0;
      const over = Math.min(WINDOW_SECONDS, now - bornSecond + 1);
      return Math.round((total / over) * 1000) / 1000;
    },
  };
};
