/**
 * Loaded into the daemon of `bench/transition.ts` before anything else: turns plans off and on in turn, and writes a line for
 * each stretch, with the steps completed and the processor time spent up to its end.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { isMainThread } from 'node:worker_threads';
import { usePlans } from '../src/machines/transition.ts';

/** How things stood when a stretch ended; processor time in microseconds since the start. */
export type Stretch = {
  readonly plans: boolean;
  readonly steps: number;
  readonly daemonMicros: number;
  readonly mainThreadMicros: number;
};

const STRETCH_MS = 2500;

const file = process.env['BENCH_STRETCHES'];
if (isMainThread && file !== undefined) {
  let plans = true;
  let steps = 0;
  subscribe('http.server.request.start', (message) => {
    if ((message as { request: IncomingMessage }).request.url?.endsWith('/complete') === true) steps += 1;
  });
  const sum = ({ user, system }: NodeJS.CpuUsage): number => user + system;
  setInterval(() => {
    const stretch: Stretch = {
      plans,
      steps,
      daemonMicros: sum(process.cpuUsage()),
      mainThreadMicros: sum(process.threadCpuUsage()),
    };
    appendFileSync(file, `${JSON.stringify(stretch)}\n`);
    plans = !plans;
    usePlans(plans);
  }, STRETCH_MS).unref();
}
