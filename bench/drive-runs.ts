/** The load on the service through its library, and on other engines through theirs: each run is awaited by the caller that started it. */
import { quantile } from './pairs.ts';

export type DrivenPlan = {
  /** Runs under way at any time. */
  readonly inFlight: number;
  readonly seconds: number;
};
export type DrivenFigures = {
  readonly runsPerSecond: number;
  readonly runs: number;
  readonly runP50Ms: number;
  readonly runP99Ms: number;
};

const WARM_UP_SHARE = 0.2;

/** The plan that the parent hands over on standard input. */
export const readPlan = async <Plan>(): Promise<Plan> => {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin as AsyncIterable<Buffer>) pieces.push(piece);
  return JSON.parse(Buffer.concat(pieces).toString()) as Plan;
};

/**
 * Keeps so many runs under way, each started when the one before it has ended.
 * @param startAndAwait resolves when its run has ended
 * @returns figures of all but the first fifth of the time
 */
export const driveRuns = async (
  { inFlight, seconds }: DrivenPlan,
  startAndAwait: (n: number) => Promise<unknown>,
): Promise<DrivenFigures> => {
  const from = performance.now();
  const until = from + seconds * 1000;
  const warmUntil = from + seconds * 1000 * WARM_UP_SHARE;
  const whole: number[] = [];
  let runs = 0;
  let warmRuns = 0;
  const driver = async (n: number): Promise<void> => {
    while (performance.now() < until) {
      const at = performance.now();
      await startAndAwait(n);
      runs += 1;
      if (performance.now() < warmUntil) warmRuns = runs;
      else if (at >= warmUntil) whole.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, n) => driver(n)));
  return {
    runsPerSecond: (runs - warmRuns) / ((performance.now() - warmUntil) / 1000),
    runs,
    runP50Ms: quantile(whole, 0.5),
    runP99Ms: quantile(whole, 0.99),
  };
};

/** Prints the figures and ends, whatever timers an engine keeps. */
export const printFigures = (figures: object): void => {
  process.stdout.write(JSON.stringify(figures), () => process.exit(0));
};
