/**
 * Sets the clock of a real daemon forth and back, by a second to ten years, under a load of durable runs and over restarts, and holds it
 * to what no jump may change: no sleep ends early, no lease is lost, no journal has a gap, everything ends. The daemon runs under
 * `libfaketime` (a Debian package), which fakes its wall clock alone; this process sees the true time.
 * Run as a command: `node test/faults/clock-jumps.ts --jumps 200 --seed 7`.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededRandom } from '../crash/ledger.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path));
const NAP_MS = 3000;
const JUMP_EACH_MS = 250;
const RESTART_EACH_JUMPS = 40;
const YEAR_S = 365 * 24 * 3600;
const FLAGS = ['--lease-ttl-ms', '2000'];

const definition = {
  id: 'nap',
  version: 1,
  steps: [
    { id: 'nap', kind: 'sleep', sleep_ms: NAP_MS },
    { id: 'work', kind: 'task', retry: { max_attempts: 1 } },
  ],
};

type Answer = Record<string, unknown>;

/** @throws Error that names the seed on the first promise that does not hold */
const jumpClock = async (library: string, jumps: number, seed: number, folder: string): Promise<object> => {
  const random = seededRandom(seed);
  const offset = join(folder, 'offset');
  const setClock = (seconds: number): void => {
    writeFileSync(`${offset}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${offset}.new`, offset);
  };
  setClock(0);
  const port = String(await aLastingPort());
  const open = (): Promise<Daemon> =>
    startDaemon(folder, [...FLAGS, '--port', port], {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
    });
  let daemon = await open();
  const url = `http://127.0.0.1:${port}/v1/api`;
  const fail = (what: string): Error => new Error(`seed ${seed}: ${what}`);
  let restarts = 0;
  let restarting = false;
  /** @returns nothing while the daemon is away */
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<(Answer & { code: number }) | undefined> => {
    try {
      const answer = await fetch(url + path, {
        method,
        ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
      return { ...((await answer.json()) as Answer), code: answer.status };
    } catch (error) {
      if (restarting) return undefined;
      throw error;
    }
  };
  const register = () => ask('POST', '/workers/register', { worker_id: 'w', definitions: [definition] });
  const registered = await register();
  if (registered?.code !== 200 && registered?.code !== 201)
    throw fail(`a worker could not register: ${JSON.stringify(registered)}`);

  let working = true;
  let naps = 0;
  let bodies = 0;
  let faults = 0;
  const broken: Error[] = [];
  const strand = (work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => {
      broken.push(error instanceof Error ? error : fail(String(error)));
    });
  const serve = async (): Promise<void> => {
    while (working) {
      const claimed = await ask('POST', '/steps/claim', { worker_id: 'w', max: 10, wait_ms: 500 });
      if (claimed === undefined || claimed.code !== 200) {
        if (claimed?.code === 404) await register();
        await sleep(50);
        continue;
      }
      await Promise.all((claimed['leases'] as { lease_id: string }[]).map(body));
    }
  };
  /** Beats for three seconds, over many jumps: no call of its may be refused. */
  const body = async ({ lease_id: id }: { lease_id: string }): Promise<void> => {
    const life = restarts;
    for (const verb of ['started', 'heartbeat', 'heartbeat', 'heartbeat', 'complete']) {
      const answer = await ask('POST', `/steps/${id}/${verb}`, { worker_id: 'w' });
      if (answer?.code !== 200 && restarts === life && !restarting)
        throw fail(`${verb} of ${id} answered ${JSON.stringify(answer)}`);
      if (verb !== 'complete') await sleep(700);
    }
    bodies += 1;
  };
  const runIds: string[] = [];
  const nap = async (): Promise<void> => {
    while (working) {
      const life = restarts;
      const startedAt = performance.now();
      const begun = await ask('POST', '/runs', { definition_id: 'nap', input: {} });
      const runId = begun?.['run_id'];
      if (typeof runId !== 'string') {
        await sleep(50);
        continue;
      }
      runIds.push(runId);
      for (let waiting = true; waiting && working; ) {
        await sleep(25);
        const seen = await ask('GET', `/runs/${runId}`);
        waiting = seen === undefined || seen['status'] === 'waiting';
      }
      const slept = performance.now() - startedAt;
      if (working && restarts === life && !restarting && slept < NAP_MS)
        throw fail(`run ${runId} slept ${slept} ms of ${NAP_MS}`);
      if (working && restarts === life && slept > NAP_MS + 5000)
        throw fail(`run ${runId} slept ${slept} ms of ${NAP_MS}`);
      naps += 1;
    }
  };
  const strands = [strand(serve), ...Array.from({ length: 8 }, () => strand(nap))];
  let seconds = 0;
  for (let jump = 1; jump <= jumps && broken.length === 0; jump += 1) {
    await sleep(JUMP_EACH_MS);
    const furthest = [1, 60, 86_400, 10 * YEAR_S][Math.floor(random() * 4)] ?? 1;
    seconds = random() < 0.3 ? 0 : Math.ceil(random() * furthest) * (random() < 0.5 ? 1 : -1);
    setClock(seconds);
    if (jump % RESTART_EACH_JUMPS !== 0) continue;
    restarting = true;
    await daemon.stop(random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
    restarts += 1;
    daemon = await open();
    restarting = false;
  }
  setClock(0);
  await sleep(NAP_MS + 2000);
  working = false;
  await Promise.all(strands);
  if (broken[0] !== undefined) {
    await daemon.stop();
    throw broken[0];
  }
  // What was open goes on without the strands.
  working = true;
  const last = strand(serve);
  const endBy = performance.now() + 60_000;
  for (const runId of runIds) {
    for (;;) {
      const run = await ask('GET', `/runs/${runId}`);
      if (run?.['status'] === 'succeeded' || run?.['status'] === 'failed') {
        if (run['status'] === 'failed') faults += 1;
        break;
      }
      if (performance.now() > endBy) throw fail(`run ${runId} did not end: ${JSON.stringify(run)}`);
      await sleep(100);
    }
    const events = (await ask('GET', `/runs/${runId}/events?limit=1000`))?.['events'] as { seq: number }[] | undefined;
    if (events?.some(({ seq }, at) => seq !== at) !== false) throw fail(`the journal of run ${runId} has a gap`);
  }
  working = false;
  await last;
  const told = daemon.lines.filter((line) => line.includes('the clock of this machine was set')).length;
  await daemon.stop();
  if (broken[0] !== undefined) throw broken[0];
  return {
    seed,
    jumps,
    restarts,
    naps,
    bodies,
    runs: runIds.length,
    failedOverRestarts: faults,
    jumpsToldByTheLastProcess: told,
  };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { jumps: { type: 'string', default: '200' }, seed: { type: 'string', default: '20261122' } },
  });
  if (LIBRARY === undefined) console.log('skipped: libfaketime is not installed (apt-get install libfaketime)');
  else {
    const folder = temporaryFolder();
    try {
      console.log(JSON.stringify(await jumpClock(LIBRARY, Number(values.jumps), Number(values.seed), folder.path)));
    } finally {
      folder.remove();
    }
  }
}
