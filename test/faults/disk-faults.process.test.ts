import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type Entry, nativeEntry, otlpEntry } from '../crash/ledger.ts';
import { checkFiles, find, post } from '../crash/verify.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { buildShim, type Disk, openDisk } from './disk.ts';
import { residentMebibytes } from './figures.ts';
import { ioErrors } from './io-errors.ts';

const folder = temporaryFolder();
// A connection for each request: a kept one may be ended by the service just when a test that was held up uses it again.
const agent = new Agent({ connections: 16, pipelining: 0 });
const leave: (() => void | Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of leave.splice(0).toReversed()) await step();
});
afterAll(async () => {
  await agent.close();
  folder.remove();
});

let homes = 0;
const newHome = (): string => {
  homes += 1;
  const home = join(folder.path, `home-${homes}`);
  mkdirSync(home);
  return home;
};
const start = async (data: string, env: NodeJS.ProcessEnv = {}): Promise<Daemon> => {
  const daemon = await startDaemon(data, [], env);
  leave.push(() => daemon.stop());
  return daemon;
};
const diskOf = (shim: string): Disk => {
  const disk = openDisk(shim, newHome(), { keepsJournal: false });
  leave.push(disk.close);
  return disk;
};

const nowNanos = (): bigint => BigInt(Date.now()) * 1_000_000n;
const filler = 'words that fill the disk '.repeat(400);
const entryOf = (n: number): Entry =>
  n % 2 === 0 ? otlpEntry(20, nowNanos(), filler) : nativeEntry(20, nowNanos(), filler);

type Answer = { readonly status: number; readonly retryAfter: string | undefined; readonly text: string };
const call = async (url: string, method: 'GET' | 'POST' | 'DELETE', body?: string): Promise<Answer> => {
  const answer = await request(url, {
    method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    dispatcher: agent,
  });
  return {
    status: answer.statusCode,
    retryAfter: answer.headers['retry-after']?.toString(),
    text: await answer.body.text(),
  };
};

/** @param disk how to use up what is left of the disk under the daemon, and how to give it back */
const endureFullDisk = async (
  daemon: Daemon,
  data: string,
  disk: { readonly fill: () => void; readonly free: () => void; readonly detail: RegExp },
): Promise<void> => {
  const { url } = daemon;
  const kept = await Promise.all(Array.from({ length: 10 }, async (_, n) => entryOf(n)));
  for (const entry of kept) expect((await post(url, entry, agent)).status).toBe(200);

  disk.fill();
  const refused: Entry[] = [];
  const acknowledged: Entry[] = [...kept];
  for (let n = 0; refused.length < 40; n += 1) {
    const entry = entryOf(n);
    const path = entry.door === 'otlp' ? '/v1/traces' : '/v1/ingest';
    const answer = await call(url + path, 'POST', entry.body);
    // Room inside the files may take some more; then each write is refused, and says when to come again.
    if (answer.status === 200) {
      acknowledged.push(entry);
      expect(refused.length).toBe(0);
      continue;
    }
    refused.push(entry);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([503, 'store_unavailable']);
    expect(Number(answer.retryAfter)).toBeGreaterThan(0);
    expect(answer.text).not.toContain(filler.slice(0, 20));
  }
  const score = JSON.stringify({ score_id: '', trace_id: kept[0]?.traceId, scorer_id: 'q', value: 1, min: 0, max: 1 });
  expect((await call(`${url}/v1/api/scores`, 'POST', score)).status).toBe(503);

  // Reads go on, of all that was acknowledged; the audit of them fails, and is counted.
  for (const entry of acknowledged) expect(await find(url, entry, agent)).toBe('whole');
  expect((await call(`${url}/healthz`, 'GET')).status).toBe(200);
  const ready = await call(`${url}/readyz`, 'GET');
  expect(ready.status).toBe(503);
  expect(JSON.parse(ready.text)).toMatchObject({ status: 'degraded', detail: expect.stringMatching(disk.detail) });
  await eventually('rows of the audit that could not be written', async () =>
    /svc_audit_write_failures_total [1-9]/.test((await call(`${url}/metrics`, 'GET')).text),
  );

  // Errors are not kept: hundreds of refusals leave the process as large as it was.
  const before = residentMebibytes(daemon.process.pid);
  const one = entryOf(0);
  for (let n = 0; n < 200; n += 1) expect((await call(`${url}/v1/traces`, 'POST', one.body)).status).toBe(503);
  expect(residentMebibytes(daemon.process.pid) - before).toBeLessThan(100);

  disk.free();
  // The same requests pass now, without a restart; nothing of them had been stored, or all of it.
  for (const entry of refused) {
    const found = await find(url, entry, agent);
    expect(['whole', 'absent']).toContain(found);
    const { status, duplicate } = await post(url, entry, agent);
    expect([status, duplicate]).toEqual([200, entry.door === 'native' && found === 'whole' ? 1 : 0]);
  }
  expect((await call(`${url}/readyz`, 'GET')).status).toBe(200);
  for (const entry of [...acknowledged, ...refused]) expect(await find(url, entry, agent)).toBe('whole');
  expect(await daemon.stop()).toBe(0);
  checkFiles(join(data, 'svc.db'));
};

describe('a full disk (P16)', () => {
  it.for([
    { name: 'that is full', code: constants.errno.ENOSPC, detail: /disk is full/ },
    { name: 'of which the quota of the user is used up', code: constants.errno.EDQUOT, detail: /quota of this user/ },
  ])(
    'a disk under the shim $name: 503 with Retry-After, reads go on, degraded, recovers without a restart, nothing half stored',
    async ({ code, detail }, { skip }) => {
      const built = buildShim(folder.path);
      const disk = diskOf('path' in built ? built.path : skip(built.missing));
      const daemon = await start(disk.folder, disk.env);
      await endureFullDisk(daemon, disk.folder, {
        fill: () => disk.set('diskIsFull', code),
        free: () => disk.set('diskIsFull', 0),
        detail,
      });
    },
  );

  it('a real one, of 128 MiB: the same six points', async ({ skip }) => {
    const data = join(newHome(), 'data');
    mkdirSync(data);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128m', 'tmpfs', data]);
    if (mounted.status !== 0) skip('a file system of its own cannot be mounted here; the shim has shown the same');
    leave.push(() => void spawnSync('umount', ['-l', data]));
    const daemon = await start(data);
    const ballast = join(data, 'ballast');
    await endureFullDisk(daemon, data, {
      fill: () => {
        for (let size = 64 * 1024 * 1024; size >= 4096; size = Math.floor(size / 2))
          try {
            writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' });
          } catch (error) {
            expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
          }
        expect(statSync(ballast).size).toBeGreaterThan(0);
      },
      free: () => rmSync(ballast),
      detail: /disk is full/,
    });
  });
});

describe('I/O errors (P17)', () => {
  it('a sync that fails: that request is 503, the next is taken, and no acknowledged batch is lost, also over restarts', async ({
    skip,
  }) => {
    const built = buildShim(folder.path);
    const shim = 'path' in built ? built.path : skip(built.missing);
    const seed = Date.now() % 1_000_000;
    console.log(`I/O errors seed ${seed}`);
    const figures = await ioErrors({ faults: 12, seed, home: newHome(), shim });
    console.log(`I/O errors figures ${JSON.stringify(figures)}`);
    expect(figures.faults).toBe(12);
    expect(figures.refused).toBeGreaterThan(0);
  });

  it('that do not end: exit 70 with one line, and what was acknowledged is there at the next start', async ({
    skip,
  }) => {
    const built = buildShim(folder.path);
    const disk = diskOf('path' in built ? built.path : skip(built.missing));
    const daemon = await start(disk.folder, disk.env);
    const kept = Array.from({ length: 5 }, (_, n) => entryOf(n));
    for (const entry of kept) expect((await post(daemon.url, entry, agent)).status).toBe(200);
    disk.set('eioCount', 1_000_000);
    disk.set('eioFirst', disk.get('syncsSeen') + 1);
    for (let n = 0; n < 10 && daemon.process.exitCode === null; n += 1)
      try {
        expect((await post(daemon.url, entryOf(n), agent)).status).toBe(503);
      } catch {
        break; // the process ended with the answer on its way
      }
    expect(await daemon.ended).toBe(70);
    expect(daemon.lines.filter((line) => line.includes('"level":60') || line.includes('fatal'))).toHaveLength(1);
    disk.set('eioFirst', 0);
    const again = await start(disk.folder, disk.env);
    for (const entry of kept) expect(await find(again.url, entry, agent)).toBe('whole');
  });
});

describe('a slow disk (P19)', () => {
  it('every sync takes a second: waiting requests share commits, every one is answered 200, and others meanwhile', async ({
    skip,
  }) => {
    const built = buildShim(folder.path);
    const disk = diskOf('path' in built ? built.path : skip(built.missing));
    const daemon = await start(disk.folder, disk.env);
    disk.set('slowSyncMs', 1000);
    const syncsBefore = disk.get('syncsSeen');
    const [clients, batchesOfEach] = [15, 4];
    let taken = 0;
    let healthy = 0;
    const client = async (): Promise<void> => {
      for (let batch = 0; batch < batchesOfEach; batch += 1) {
        expect((await post(daemon.url, otlpEntry(5, nowNanos()), agent)).status).toBe(200);
        taken += 1;
      }
    };
    const health = async (): Promise<void> => {
      for (; taken < clients * batchesOfEach; healthy += 1)
        expect((await call(`${daemon.url}/healthz`, 'GET')).status).toBe(200);
    };
    await Promise.all([...Array.from({ length: clients }, client), health()]);
    const syncs = disk.get('syncsSeen') - syncsBefore;
    console.log(`slow disk: ${taken} batches, ${syncs} syncs, ${healthy} answers of /healthz`);
    // One after another, they could not be more than the syncs if each had waited for one.
    expect(healthy).toBeGreaterThan(2 * syncs);
    expect(taken).toBeGreaterThan(syncs);
  });
});
