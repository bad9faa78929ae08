import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openSqliteSignalStore } from '../../src/store/sqlite/signals/open.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { type Entry, nativeEntry, otlpEntry } from '../crash/ledger.ts';
import { checkFiles, find, post } from '../crash/verify.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { aSpan, aUnit, traceIdOf } from '../store/signals/factories.ts';

const MEBIBYTE = 1024 * 1024;
const folder = temporaryFolder();
const agent = new Agent({ connections: 8 });
const leave: (() => void | Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of leave.splice(0).toReversed()) await step();
});
afterAll(async () => {
  await agent.close();
  folder.remove();
});

let disks = 0;
/** A disk of its own, and how to use up all of it. */
const aDisk = (mebibytes: number, skip: (why: string) => never) => {
  disks += 1;
  const data = join(folder.path, `disk-${disks}`);
  mkdirSync(data);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', data]);
  if (mounted.status !== 0) skip('a file system of its own cannot be mounted here');
  leave.push(() => void spawnSync('umount', ['-l', data]));
  const ballast = join(data, 'ballast');
  return {
    data,
    fill: () => {
      for (let bytes = 16 * MEBIBYTE; statfsSync(data).bavail > 0 && bytes >= 1; bytes = Math.floor(bytes / 2))
        try {
          for (;;) writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' });
        } catch (error) {
          expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
        }
      expect(statfsSync(data).bavail).toBe(0);
    },
    free: () => rmSync(ballast),
  };
};

type Answer = { readonly status: number; readonly retryAfter: number; readonly body: Record<string, unknown> };
const call = async (url: string, method: 'GET' | 'POST' | 'DELETE' = 'GET', body?: string): Promise<Answer> => {
  const answer = await request(url, {
    method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    dispatcher: agent,
  });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    retryAfter: Number(answer.headers['retry-after']),
    body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
};

const start = async (data: string): Promise<Daemon> => {
  const daemon = await startDaemon(data);
  leave.push(() => daemon.stop('SIGKILL'));
  return daemon;
};
const entryOf = (n: number): Entry => {
  const now = BigInt(Date.now()) * 1_000_000n;
  const filler = 'words that fill the disk '.repeat(20);
  return n % 2 === 0 ? otlpEntry(20, now, filler) : nativeEntry(20, now, filler);
};
const definitions = JSON.stringify({
  definitions: [{ id: 'hello', version: 1, steps: [{ id: 'greet', kind: 'task' }] }],
});
const aRun = JSON.stringify({ definition_id: 'hello', input: {}, correlation: { user_id: 'u-1' } });

describe('a disk that is full when the service starts', () => {
  const endings = [
    { name: 'that was stopped', signal: 'SIGTERM', losesIndex: false },
    { name: 'that was killed', signal: 'SIGKILL', losesIndex: false },
    { name: 'that was stopped and whose index is gone', signal: 'SIGTERM', losesIndex: true },
  ] as const;
  it.for(endings)(
    'a service $name starts, reads and deletes, refuses writes with 503, and goes on when there is room',
    async ({ signal, losesIndex }, { skip }) => {
      const disk = aDisk(96, skip);
      const before = await start(disk.data);
      const kept = Array.from({ length: 6 }, (_, n) => entryOf(n));
      for (const entry of kept) expect((await post(before.url, entry, agent)).status).toBe(200);
      expect((await call(`${before.url}/v1/api/definitions`, 'POST', definitions)).status).toBe(200);
      const startRun = async () =>
        (await call(`${before.url}/v1/api/runs`, 'POST', aRun)).body as { readonly run_id: string };
      const [open, ended] = [await startRun(), await startRun()];
      expect((await call(`${before.url}/v1/api/runs/${ended.run_id}/cancel`, 'POST')).status).toBe(200);
      // A span that was not sent yet has to be written before the run can be erased, which takes room.
      await eventually(
        'every span of the runs to be sent',
        async () => (await call(`${before.url}/v1/api/actors/outbox/main`)).body['mailbox'] === 0,
      );
      await eventually('the reserves', () => {
        const names = readdirSync(disk.data);
        return names.includes('svc.db.reserve') && names.includes('svc-runs.db.reserve');
      });
      await before.stop(signal);
      if (losesIndex)
        for (const name of readdirSync(disk.data)) if (name.startsWith('svc.db.fts')) rmSync(join(disk.data, name));
      disk.fill();

      const { url, ...daemon } = await start(disk.data);
      const [gone, ...rest] = kept as [Entry, ...Entry[]];
      const isFound = async (entry: Entry): Promise<number> =>
        ((await call(`${url}/v1/api/traces?q=${entry.traceId}`)).body['traces'] as unknown[]).length;
      for (const entry of kept)
        expect((await call(`${url}/v1/api/traces/${entry.traceId}`)).body).toMatchObject({
          trace: { span_count: entry.spans },
        });
      if (losesIndex) expect(await isFound(gone)).toBe(0);
      else for (const entry of kept) expect(await find(url, entry, agent)).toBe('whole');
      expect((await call(`${url}/v1/api/runs/${open.run_id}`)).body).toMatchObject({ status: 'queued' });
      expect((await call(`${url}/healthz`)).status).toBe(200);
      expect(await call(`${url}/readyz`)).toMatchObject({
        status: 503,
        body: { status: 'degraded', detail: expect.stringMatching(/disk is full/) },
      });

      for (let n = 0; n < 20; n += 1) {
        const entry = entryOf(n);
        const answer = await call(url + (entry.door === 'otlp' ? '/v1/traces' : '/v1/ingest'), 'POST', entry.body);
        expect([answer.status, answer.body['code']]).toEqual([503, 'store_unavailable']);
        expect(answer.retryAfter).toBeGreaterThan(0);
      }
      expect(await call(`${url}/v1/api/runs`, 'POST', aRun)).toMatchObject({
        status: 503,
        body: { code: 'store_unavailable' },
      });
      expect(await call(`${url}/v1/api/traces/${gone.traceId}`, 'DELETE')).toMatchObject({
        status: 200,
        body: { deleted: true, deletes_pending: false },
      });
      expect((await call(`${url}/v1/api/traces/${gone.traceId}`)).status).toBe(404);
      expect((await call(`${url}/v1/api/subjects/u-1`, 'DELETE')).body).toMatchObject({ runs_erased: 1 });
      expect((await call(`${url}/v1/api/runs/${ended.run_id}`)).status).toBe(404);
      // What deletes gave back inside the files is not enough for writes: they are still refused.
      expect((await post(url, entryOf(0), agent)).status).toBe(503);

      disk.free();
      // Nobody has to ask for it: the service looks by itself.
      await eventually('room to be found', async () => (await call(`${url}/readyz`)).status === 200);
      const added = entryOf(1);
      expect((await post(url, added, agent)).status).toBe(200);
      expect((await call(`${url}/v1/api/runs`, 'POST', aRun)).status).toBe(201);
      await eventually('the index', async () => {
        const found = await Promise.all([...rest, added].map((entry) => find(url, entry, agent)));
        return found.every((one) => one === 'whole');
      });
      expect(await isFound(gone)).toBe(0);
      expect(await daemon.stop()).toBe(0);
      checkFiles(join(disk.data, 'svc.db'));
    },
  );

  it('the first start there ends with 1 and one line that says what to do, and leaves nothing that takes room', async ({
    skip,
  }) => {
    const disk = aDisk(8, skip);
    disk.fill();
    await expect(startDaemon(disk.data)).rejects.toThrow(
      /ended with 1:\nsvc: signal store \S+svc\.db: the disk is full \(\w+\); free some megabytes of it, then start again$/,
    );
    for (const name of readdirSync(disk.data).filter((one) => one !== 'ballast'))
      expect(statSync(join(disk.data, name)).size, name).toBe(0);
  });

  it('a file without a reserve starts as soon as there is some room', async ({ skip }) => {
    const disk = aDisk(96, skip);
    const flags = ['--disk-reserve-bytes', '0'];
    const before = await startDaemon(disk.data, flags);
    const entry = entryOf(0);
    expect((await post(before.url, entry, agent)).status).toBe(200);
    await before.stop();
    expect(readdirSync(disk.data).filter((name) => name.endsWith('.reserve'))).toEqual([]);
    disk.fill();
    await expect(startDaemon(disk.data, flags)).rejects.toThrow(/ended with 1:\nsvc: .*the disk is full/);
    disk.free();
    const again = await start(disk.data);
    expect(await find(again.url, entry, agent)).toBe('whole');
  });
});

describe('a disk that fills up while the service runs', () => {
  const RESERVE = 4 * MEBIBYTE;
  it('deletes and retention go on, and what they leave unused in the file takes new rows, with no room on the disk', async ({
    skip,
  }) => {
    const disk = aDisk(64, skip);
    const path = join(disk.data, 'svc.db');
    const store = await openSqliteSignalStore({ path, reserveBytes: RESERVE });
    leave.push(() => store.close());
    const output = 'words of a span that fills the disk';
    // Drawn anew for each span: what repeats would be compressed to nothing.
    const noise = (): string => randomBytes(7_500).toString('base64');
    const write = (n: number) =>
      store.write(
        aUnit({
          spans: Array.from({ length: 20 }, (_, i) =>
            aSpan({
              traceId: traceIdOf(n),
              spanId: `${n}`.padStart(12, '0') + `${i}`.padStart(4, '0'),
              output,
              attributes: { noise: noise() },
            }),
          ),
        }),
      );
    let written = 0;
    const fillStore = async (): Promise<void> => {
      for (; written < 10_000; written += 1) await write(written);
    };
    await expect(fillStore()).rejects.toBeInstanceOf(StoreUnavailable);
    expect(written).toBeGreaterThan(50);
    disk.fill();
    await expect(write(written)).rejects.toBeInstanceOf(StoreUnavailable);

    const half = Math.floor(written / 2);
    for (let n = 0; n < half; n += 1)
      expect((await store.deleteTraces([traceIdOf(n)], 'all')).deleted, `trace ${n}`).toBe(1);
    expect(await store.trim('default', BigInt(Date.now()) * 2_000_000n, 200)).toBeGreaterThan(0);
    expect(await store.findTrace(traceIdOf(half), 'all', false)).toBeUndefined();

    expect(await write(20_000)).toBe('written');
    await store.ping();
    expect((await store.findTrace(traceIdOf(20_000), 'all', false))?.spans).toHaveLength(20);
  });
});
