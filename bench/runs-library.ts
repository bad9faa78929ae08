/**
 * Durable runs as somebody who uses the library drives them: a worker and a client of `sdk/typescript` in one process, each run started
 * and awaited by the client. Started by `bench/runs.ts` with the plan on standard input; prints one line of JSON.
 */
import { readPlan } from './drive-runs.ts';
import { startLibrary } from './library.ts';
import { quantile } from './pairs.ts';
import type { RunsFigures, RunsPlan } from './runs-worker.ts';

type Figures = Pick<RunsFigures, 'stepsPerSecond' | 'runs' | 'runP50Ms' | 'runP99Ms'>;

const WARM_UP_SHARE = 0.2;

const run = async (plan: RunsPlan): Promise<Figures> => {
  const library = await startLibrary(plan);
  const from = performance.now();
  const until = from + plan.seconds * 1000;
  const warmUntil = from + plan.seconds * 1000 * WARM_UP_SHARE;
  let runs = 0;
  let measured: { at: number; steps: number } | undefined;
  const whole: number[] = [];
  const driver = async (n: number): Promise<void> => {
    while (performance.now() < until) {
      const at = performance.now();
      await library.startAndAwait(n);
      runs += 1;
      const now = performance.now();
      if (measured === undefined && now >= warmUntil) measured = { at: now, steps: library.steps() };
      else if (measured !== undefined) whole.push(now - at);
    }
  };
  await Promise.all(Array.from({ length: plan.inFlight }, (_, n) => driver(n)));
  const took = (performance.now() - (measured?.at ?? Number.NaN)) / 1000;
  const steps = library.steps() - (measured?.steps ?? 0);
  await library.stop();
  return {
    stepsPerSecond: steps / took,
    runs,
    runP50Ms: quantile(whole, 0.5),
    runP99Ms: quantile(whole, 0.99),
  };
};

process.stdout.write(JSON.stringify(await run(await readPlan<RunsPlan>())));
