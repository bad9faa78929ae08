/**
 * Sixteen senders of small bodies that mean much work, against a daemon that has 1 GiB of memory and not a byte more (a cgroup of its own).
 * Beside them a neighbour sends honest batches of one span and asks `/healthz`; what it was acknowledged is looked up at the end. Ends with 1
 * where it is not served, something is lost, the daemon does not stop with 0, or one in a hundred of its batches waits for more than half a second.
 * Needs the right to make a cgroup. Run as a command: `node test/faults/hostile-senders.ts --senders 16 --minutes 10`.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Agent, request } from 'undici';
import { boundMemory } from '../cgroup.ts';
import { seededRandom } from '../crash/ledger.ts';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { hostileBodies } from '../ingest/hostile-bodies.ts';
import { peakMebibytes, quantile } from './figures.ts';

const GIBIBYTE = 1024 ** 3;
const NEIGHBOUR_EACH_MS = 50;
const MOST_P99_MS = 500;
/** Of bodies that are taken each comes with traces of its own, or with those of one of so many rounds, which are there by and by. */
const ROUNDS_AGAIN = 4;
/** A sender that is refused asks again at once, up to so many times a second: it is hostile. */
const HOSTILE_PAUSE_MS = 20;

const { values } = parseArgs({
  options: {
    senders: { type: 'string', default: '16' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '20261122' },
  },
});
const seed = Number(values.seed);
const random = seededRandom(seed);
const folder = temporaryFolder();
const cgroup = boundMemory(GIBIBYTE);
const daemon = await startDaemon(folder.path);
const pid = daemon.process.pid ?? 0;
cgroup.add(pid);
const made = hostileBodies.map((body) => ({ ...body, bytes: body.make() }));
let round = ROUNDS_AGAIN;
const maker = new Worker(new URL('hostile-maker.ts', import.meta.url));
maker.on('message', ({ place, bytes }: { readonly place: number; readonly bytes: Uint8Array }) => {
  const body = made[place];
  if (body !== undefined) body.bytes = Buffer.from(bytes);
});
/** To make one takes time, so one is sent until it is taken, and until the next is made. */
const nextRound = (): number => (random() < 0.5 ? Math.floor(random() * ROUNDS_AGAIN) : ++round);
const until = performance.now() + Number(values.minutes) * 60_000;
const answers: Record<string, number> = {};
const count = (what: string): void => void (answers[what] = (answers[what] ?? 0) + 1);

const hostile = async (): Promise<void> => {
  const agent = new Agent({ connections: 1 });
  while (performance.now() < until) {
    const place = Math.floor(random() * made.length);
    const body = made[place];
    if (body === undefined) continue;
    try {
      const answer = await request(daemon.url + body.path, {
        method: 'POST',
        dispatcher: agent,
        headers: { 'content-type': body.contentType, ...(body.gzip ? { 'content-encoding': 'gzip' } : {}) },
        body: body.bytes,
      });
      await answer.body.dump();
      count(String(answer.statusCode));
      if (answer.statusCode === 200) maker.postMessage({ place, round: nextRound() });
    } catch {
      count('cut');
    }
    await sleep(HOSTILE_PAUSE_MS);
  }
  await agent.destroy();
};

const neighbours = new Agent({ connections: 2 });
const acknowledged: string[] = [];
const batchMs: number[] = [];
const healthMs: number[] = [];
/** What the neighbour was refused with, and how long it waited for that. */
const refusedWith: Record<string, number> = {};
const refusedMs: number[] = [];
const neighbour = async (): Promise<void> => {
  while (performance.now() < until) {
    const traceId = randomBytes(16).toString('hex');
    const at = performance.now();
    const answer = await request(`${daemon.url}/v1/ingest`, {
      method: 'POST',
      dispatcher: neighbours,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        spans: [
          { trace_id: traceId, span_id: traceId.slice(16), name: 'honest', start_time: new Date().toISOString() },
        ],
      }),
    });
    const { accepted, code } = (await answer.body.json()) as { accepted?: number; code?: string };
    if (answer.statusCode === 200 && accepted === 1) {
      acknowledged.push(traceId);
      batchMs.push(performance.now() - at);
    } else {
      const why = `${answer.statusCode} ${code}`;
      refusedWith[why] = (refusedWith[why] ?? 0) + 1;
      refusedMs.push(performance.now() - at);
    }
    await sleep(NEIGHBOUR_EACH_MS);
  }
};
const pinger = async (): Promise<void> => {
  while (performance.now() < until) {
    const at = performance.now();
    const answer = await request(`${daemon.url}/healthz`, { dispatcher: neighbours });
    await answer.body.dump();
    healthMs.push(performance.now() - at);
    await sleep(NEIGHBOUR_EACH_MS);
  }
};

try {
  await Promise.all([neighbour(), pinger(), ...Array.from({ length: Number(values.senders) }, hostile)]);
  let lost = 0;
  for (const traceId of acknowledged) {
    const answer = await request(`${daemon.url}/v1/api/traces/${traceId}`, { dispatcher: neighbours });
    await answer.body.dump();
    if (answer.statusCode !== 200) lost += 1;
  }
  const stops = readFileSync(
    join(cgroup.folder, existsSync(join(cgroup.folder, 'memory.failcnt')) ? 'memory.failcnt' : 'memory.events'),
    'utf8',
  ).trim();
  // At the limit the kernel takes back pages of files first: what it holds of them says whether the process itself was near it.
  const held = Object.fromEntries(
    readFileSync(join(cgroup.folder, 'memory.stat'), 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .filter(([name = '']) => ['rss', 'cache', 'anon', 'file'].includes(name))
      .map(([name = '', bytes]) => [name, Math.round(Number(bytes) / 1024 ** 2)]),
  );
  const peak = peakMebibytes(pid);
  const exit = await daemon.stop('SIGTERM');
  console.log(
    JSON.stringify({
      ...{ seed, senders: Number(values.senders), minutes: Number(values.minutes), answers, peakMebibytes: peak },
      ...{ neighbourAcknowledged: acknowledged.length, neighbourRefused: refusedWith, lost, exit },
      ...(refusedMs.length === 0 ? {} : { refusedP50Ms: quantile(refusedMs, 0.5) }),
      ...{ batchP50Ms: quantile(batchMs, 0.5), batchP99Ms: quantile(batchMs, 0.99) },
      ...{
        healthP50Ms: quantile(healthMs, 0.5),
        healthP99Ms: quantile(healthMs, 0.99),
        cgroupStops: stops,
        heldMebibytes: held,
      },
    }),
  );
  const isServed = acknowledged.length > 0 && refusedMs.length < acknowledged.length;
  if (!isServed || lost > 0 || exit !== 0 || quantile(batchMs, 0.99) > MOST_P99_MS) process.exitCode = 1;
} finally {
  await daemon.stop('SIGKILL');
  await neighbours.destroy();
  await maker.terminate();
  cgroup.remove();
  folder.remove();
}
