/** What a heartbeat found: `again` for the next one in time, `sooner` when nobody answered, `over` when none shall follow. */
export type Pulse = 'again' | 'sooner' | 'over';

/** Details that change quickly travel together. */
const DETAILS_DELAY_MS = 1000;

/**
 * Beats from now on until it is stopped.
 * @param beat sends one heartbeat, with the details that the body gave since the last one, if any; never throws
 */
export const startHeart = (
  heartbeatMs: number,
  beat: (details: string | undefined, signal: AbortSignal) => Promise<Pulse>,
) => {
  let timer: NodeJS.Timeout | undefined;
  let inFlight: AbortController | undefined;
  let pulsing: Promise<void> | undefined;
  let stopped = false;
  let details: string | undefined;
  let lastBeat = performance.now();
  let flushed = (): void => {};

  const schedule = (waitMs: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void beatNow(), Math.max(0, waitMs - (performance.now() - lastBeat)));
  };

  const pulse = async (): Promise<void> => {
    const sent = details;
    details = undefined;
    lastBeat = performance.now();
    inFlight = new AbortController();
    const found = await beat(sent, inFlight.signal);
    inFlight = undefined;
    if (found === 'over') stopped = true;
    // Details that did not arrive are sent again, unless newer ones came meanwhile.
    if (found === 'sooner') details ??= sent;
    const waitMs = found === 'sooner' ? heartbeatMs / 4 : heartbeatMs;
    schedule(details === undefined ? waitMs : Math.min(waitMs, DETAILS_DELAY_MS));
    if (details === undefined || stopped) flushed();
  };

  const beatNow = (): Promise<void> => {
    clearTimeout(timer);
    pulsing = pulse().finally(() => {
      pulsing = undefined;
    });
    return pulsing;
  };

  schedule(heartbeatMs);
  return {
    /** Details, as JSON text, for the next beat, which comes within a second. */
    tell: (text: string): void => {
      details = text;
      if (inFlight === undefined) schedule(Math.min(heartbeatMs, DETAILS_DELAY_MS));
    },
    /** Resolves when the details given so far have arrived, or no beat shall follow, or the time is over. */
    flush: async (withinMs: number): Promise<void> => {
      await pulsing;
      if (details === undefined || stopped) return;
      const over = new Promise<void>((resolve) => {
        flushed = resolve;
      });
      const late = setTimeout(flushed, withinMs);
      // At once; where nobody answers, the beats that follow it repeat the details.
      void beatNow();
      await over;
      clearTimeout(late);
    },
    stop: (): void => {
      stopped = true;
      flushed();
      clearTimeout(timer);
      inFlight?.abort();
    },
  };
};
