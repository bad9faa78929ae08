/**
 * Durable runs as somebody who uses the library drives them: a worker and a client of `sdk/typescript` in one process, each run started
 * and awaited by the client. Started by `bench/runs.ts` with the plan on standard input; prints one line of JSON.
 */
import { createClient, createWorker, defineWorkflow } from '../sdk/typescript/src/index.ts';
import { quantile } from './pairs.ts';
import type { RunsFigures, RunsPlan } from './runs-worker.ts';

type Figures = Pick<RunsFigures, 'stepsPerSecond' | 'runs' | 'runP50Ms' | 'runP99Ms'>;

const WARM_UP_SHARE = 0.2;

const run = async (plan: RunsPlan): Promise<Figures> => {
  const { hostname } = new URL(plan.url);
  if (hostname !== '127.0.0.1') throw new Error(`load goes to 127.0.0.1 only, not to ${hostname}`);
  const client = createClient({ endpoint: plan.url });
  const { latest: definition } = await client.getDefinition(plan.definition);
  let steps = 0;
  const body = (): { ok: boolean } => {
    steps += 1;
    return { ok: true };
  };
  const bodies = Object.fromEntries(definition.steps.map(({ id }) => [id, body]));
  const worker = createWorker({
    endpoint: plan.url,
    workflows: [defineWorkflow({ definition, bodies })],
    concurrency: plan.inFlight,
    logger: { warn: () => {}, error: (message) => console.error(message) },
  });
  const served = worker.run();
  const from = performance.now();
  const until = from + plan.seconds * 1000;
  const warmUntil = from + plan.seconds * 1000 * WARM_UP_SHARE;
  let runs = 0;
  let measured: { at: number; steps: number } | undefined;
  const whole: number[] = [];
  const driver = async (n: number): Promise<void> => {
    while (performance.now() < until) {
      const at = performance.now();
      const begun = await client.start(plan.definition, { n }, { waitMs: 30_000 });
      if (begun.status !== 'succeeded') throw new Error(`run ${begun.run_id} is ${begun.status}`);
      runs += 1;
      const now = performance.now();
      if (measured === undefined && now >= warmUntil) measured = { at: now, steps };
      else if (measured !== undefined) whole.push(now - at);
    }
  };
  await Promise.all(Array.from({ length: plan.inFlight }, (_, n) => driver(n)));
  const took = (performance.now() - (measured?.at ?? Number.NaN)) / 1000;
  await worker.stop();
  await served;
  client.close();
  return {
    stepsPerSecond: (steps - (measured?.steps ?? 0)) / took,
    runs,
    runP50Ms: quantile(whole, 0.5),
    runP99Ms: quantile(whole, 0.99),
  };
};

const pieces: Buffer[] = [];
for await (const piece of process.stdin as AsyncIterable<Buffer>) pieces.push(piece);
process.stdout.write(JSON.stringify(await run(JSON.parse(Buffer.concat(pieces).toString()) as RunsPlan)));
