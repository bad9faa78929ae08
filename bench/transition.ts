/**
 * What plans (`src/machines/plan.ts`) bring: `node bench/transition.ts [seconds]`. First the transitions by themselves, then a
 * durable step from request to commit. There one daemon under load turns plans off and on every 2.5 s, and each stretch is
 * compared with the two beside it: between two daemons the code that was compiled differs by more than what is measured.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type LeaseEvent, leaseMachine } from '../src/machines/lease.ts';
import { compileRun, type RunEvent } from '../src/machines/run.ts';
import { initialSnapshot, step, usePlans } from '../src/machines/transition.ts';
import { parseDefinition } from '../src/model/definition/parse.ts';
import { startDaemon } from '../test/daemon.ts';
import { measurePairs, median, percent, quantile, spread } from './pairs.ts';
import type { Stretch } from './plans-switch.ts';
import type { RunsPlan } from './runs-worker.ts';
import { benchFolder } from './serve.ts';

const STEPS = 5;
const PAIRS = 10;
const LIVES = 3000;
const SECONDS = Number(process.argv[2] ?? 180);
/** Until what a step needs is compiled. */
const WARM_UP_STRETCHES = 12;

const five = {
  id: 'five',
  version: 1,
  steps: Array.from({ length: STEPS }, (_, at) => ({ id: `step-${at}`, kind: 'task' })),
};

/** Processor time of a transition, in microseconds, over many runs of five steps and their leases. */
const transitionMicros = (plans: boolean): number => {
  const parsed = parseDefinition(JSON.parse(JSON.stringify(five)));
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const machine = compileRun(parsed.value);
  usePlans(plans);
  let taken = 0;
  const before = process.cpuUsage();
  for (let life = 0; life < LIVES; life += 1) {
    let run = initialSnapshot(machine);
    const move = (event: RunEvent): void => {
      run = step(machine, run, event).next;
      taken += 1;
    };
    move({ type: 'run.started', at: life });
    for (let at = 0; at < STEPS; at += 1) {
      let lease = initialSnapshot(leaseMachine);
      const moveLease = (event: LeaseEvent): void => {
        lease = step(leaseMachine, lease, event).next;
        taken += 1;
      };
      move({ type: 'step.opened', at: life });
      move({ type: 'step.offered', at: life, leaseId: 'l', workerId: 'w' });
      moveLease({ type: 'lease.offered', delivery: 'at_least_once', expiresAt: life });
      moveLease({ type: 'lease.started', expiresAt: life });
      moveLease({ type: 'lease.completed' });
      move({ type: 'step.completed', at: life, leaseId: 'l' });
      move({ type: 'route.taken', at: life, to: at + 1 < STEPS ? `step-${at + 1}` : 'end' });
    }
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / taken;
};

const benchTransitions = async (): Promise<void> => {
  for (const plans of [true, false]) transitionMicros(plans);
  const { a, b, ratio } = await measurePairs(
    PAIRS,
    () => transitionMicros(true),
    () => transitionMicros(false),
  );
  console.log(
    `a transition: by plan ${spread(a, 2)} us, by xstate ${spread(b, 2)} us, ratio ${ratio.toFixed(2)}; processor time`,
  );
};

/** Serves runs of five steps by one worker process while the daemon turns its switch. @returns a line for each stretch */
const turnedStretches = async (): Promise<Stretch[]> => {
  const folder = benchFolder();
  const file = join(folder.path, 'stretches');
  const daemon = await startDaemon(folder.path, [], {
    NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'plans-switch.ts')).href}`,
    BENCH_STRETCHES: file,
  });
  const registered = await fetch(`${daemon.url}/v1/api/workers/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ worker_id: 'registrar', definitions: [five] }),
  });
  if (registered.status !== 200) throw new Error(await registered.text());
  const plan: RunsPlan = { url: daemon.url, definition: 'five', inFlight: 50, seconds: SECONDS };
  const worker = spawn(process.execPath, [join(import.meta.dirname, 'runs-worker.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  worker.stdin.end(JSON.stringify(plan));
  const [code] = (await once(worker, 'close')) as [number | null];
  await daemon.stop();
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  folder.remove();
  if (code !== 0) throw new Error(`the worker process ended with ${code}`);
  return lines.map((line) => JSON.parse(line) as Stretch);
};

const benchSteps = async (): Promise<void> => {
  const ends = await turnedStretches();
  const stretches = ends.slice(1).map((end, index) => {
    const from = ends[index] ?? end;
    const steps = end.steps - from.steps;
    return {
      plans: end.plans,
      steps,
      daemon: (end.daemonMicros - from.daemonMicros) / steps,
      mainThread: (end.mainThreadMicros - from.mainThreadMicros) / steps,
    };
  });
  // The load ends within the last stretches: they hold too few steps to say anything.
  const usual = median(stretches.map(({ steps }) => steps));
  const counted = stretches.slice(WARM_UP_STRETCHES).filter(({ steps }) => steps > usual / 4);
  for (const [name, of] of [
    ['whole daemon', (one: (typeof counted)[number]) => one.daemon],
    ['main thread', (one: (typeof counted)[number]) => one.mainThread],
  ] as const) {
    const on: number[] = [];
    const off: number[] = [];
    counted.slice(1, -1).forEach((one, index) => {
      const [before, after] = [counted[index], counted[index + 2]];
      if (before === undefined || after === undefined || before.plans === one.plans || after.plans === one.plans)
        return;
      const beside = (of(before) + of(after)) / 2;
      on.push(one.plans ? of(one) : beside);
      off.push(one.plans ? beside : of(one));
    });
    const gains = on.map((micros, index) => 1 - micros / (off[index] ?? Number.NaN));
    console.log(
      `a durable step, ${name}: with plans ${spread(on, 0)} us, without ${spread(off, 0)} us; saved ${percent(median(gains))} ` +
        `(quartiles ${percent(quantile(gains, 0.25))} to ${percent(quantile(gains, 0.75))}), ${gains.length} comparisons; processor time`,
    );
  }
};

await benchTransitions();
await benchSteps();
