/** The program of the library for TypeScript: `node bench/sdk/typescript.ts spans <url>`, or `runs` with a plan. @see README.md */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInstrumentation, type Instrumentation } from '../../sdk/typescript/src/index.ts';
import { readPlan } from '../drive-runs.ts';
import { type LibraryPlan, startLibrary } from '../library.ts';
import { quantile } from '../pairs.ts';

const WARM_UP = 10_000;
const SPANS = 50_000;
const OFFERED = 300_000;
const RATE = 100_000;

const record = async (svc: Instrumentation, n: number, question = 'What is it all about?'): Promise<void> => {
  const options = { kind: 'model_generation', model: 'gpt-4o-mini', input: question, attributes: { n } } as const;
  await svc.span('draft', options, (span) => {
    span.setOutput('42');
    span.setUsage({ input_tokens: 12, output_tokens: 1 });
  });
};

const residentMb = (): number => (Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1]) * 4096) / 1e6;

const cost = async (endpoint: string): Promise<object> => {
  const svc = createInstrumentation({ endpoint });
  for (let n = 0; n < WARM_UP; n += 1) await record(svc, n);
  const taken: number[] = [];
  const before = process.threadCpuUsage();
  for (let n = 0; n < SPANS; n += 1) {
    const from = performance.now();
    await record(svc, n);
    taken.push((performance.now() - from) * 1000);
  }
  const { user, system } = process.threadCpuUsage(before);
  return { median_us: quantile(taken, 0.5), p99_us: quantile(taken, 0.99), cpu_us: (user + system) / SPANS };
};

const stalled = async (endpoint: string): Promise<object> => {
  const svc = createInstrumentation({ endpoint });
  await record(svc, -1);
  await sleep(1000);
  const question = 'x'.repeat(4096);
  const before = residentMb();
  let most = before;
  const from = performance.now();
  for (let n = 1; n <= OFFERED; n += 1) {
    await record(svc, n, question);
    if (n % 1000 !== 0) continue;
    most = Math.max(most, residentMb());
    const aheadMs = (n / RATE) * 1000 - (performance.now() - from);
    // Its timers and connections have their turn in any case, as in a service under load.
    if (aheadMs > 0 || n % 10_000 === 0) await sleep(Math.max(0, aheadMs));
  }
  const seconds = (performance.now() - from) / 1000;
  const { dropped } = svc.counters();
  await svc.close(0);
  return { offered_per_s: Math.round(OFFERED / seconds), dropped, grew_mb: most - before };
};

type Plan = LibraryPlan & { readonly warmUpSeconds: number; readonly seconds: number };

const runs = async (plan: Plan): Promise<object> => {
  const library = await startLibrary(plan);
  let isOver = false;
  const driver = async (n: number): Promise<void> => {
    while (!isOver) await library.startAndAwait(n);
  };
  const driven = Promise.all(Array.from({ length: plan.inFlight }, (_, n) => driver(n)));
  await sleep(plan.warmUpSeconds * 1000);
  console.log('measuring');
  const before = { at: performance.now(), cpu: process.cpuUsage(), steps: library.steps() };
  await sleep(plan.seconds * 1000);
  console.log('measured');
  const { user, system } = process.cpuUsage(before.cpu);
  const figures = {
    steps: library.steps() - before.steps,
    seconds: (performance.now() - before.at) / 1000,
    cpu_us: user + system,
  };
  isOver = true;
  await driven;
  await library.stop();
  return figures;
};

const [verb, url = ''] = process.argv.slice(2);
const figures =
  verb === 'spans' ? { stalled: await stalled(url), record: await cost(url) } : await runs(await readPlan<Plan>());
console.log(JSON.stringify(figures));
process.exit(0);
