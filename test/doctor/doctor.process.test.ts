import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { DoctorReport } from '../../src/cli/doctor/finding.ts';
import { startDaemon, temporaryFolder } from '../daemon.ts';

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'svc.mjs');
const KEYS = ['--ingest-key', 'i'.repeat(20), '--read-key', 'r'.repeat(20), '--admin-key', 'a'.repeat(20)];

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
const aFolder = (): string => {
  const folder = temporaryFolder();
  cleanups.push(folder.remove);
  return folder.path;
};

/** `svc doctor` to its end, on the files that `startDaemon` gives a daemon of the folder. */
const doctor = async (
  folder: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
  user: { readonly uid?: number; readonly gid?: number } = {},
) => {
  const files = ['--data', join(folder, 'svc.db'), '--runs-data', join(folder, 'svc-runs.db')];
  const child = spawn(process.execPath, [BIN, 'doctor', ...files, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...user,
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
};
const reportOf = (out: string): DoctorReport => JSON.parse(out) as DoctorReport;
const findingsOf = (report: DoctorReport, group: string) =>
  report.groups.find((one) => one.group === group)?.findings ?? [];

const aModelCall = (model: string) => ({
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'chat' },
              startTimeUnixNano: `${Date.now()}000000`,
              endTimeUnixNano: `${Date.now() + 5}000000`,
              attributes: [
                { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
                { key: 'gen_ai.request.model', value: { stringValue: model } },
                { key: 'gen_ai.usage.input_tokens', value: { intValue: '7' } },
              ],
            },
          ],
        },
      ],
    },
  ],
});

describe('exit status', () => {
  it('"non-zero (2) on a fault"', async () => {
    const { code, out } = await doctor(aFolder(), ['--host', '0.0.0.0']);
    expect(code).toBe(2);
    expect(out).toMatch(/^FAULT {3}keys {7}read: open on 0\.0\.0\.0: .* -> set --read-key$/m);
  });

  it('"and zero on warnings"', async () => {
    const { code, out } = await doctor(aFolder(), ['--read-key', 'r'.repeat(20)]);
    expect(code).toBe(0);
    expect(out).toMatch(/^warning keys {7}admin: no admin key is set/m);
    expect(out).toMatch(/0 faults; \d+ checks skipped: not run, they proved nothing\n$/);
  });

  it.each([
    [['--window-days', '0'], '--window-days: must be an integer from 1 to 36525, is "0"'],
    [['--window-days', '36526'], '--window-days: must be an integer from 1 to 36525, is "36526"'],
    [['--window-days', '1.5'], '--window-days: must be an integer from 1 to 36525, is "1.5"'],
    [['--sample', '2'], '--sample: must be a number from 0 to 1, is "2"'],
  ])('refuses %j with one line and 2', async (args, line) => {
    expect(await doctor(aFolder(), args)).toEqual({ code: 2, out: '', err: `svc: ${line}\n` });
  });

  it.each(['1', '36525'])('takes --window-days %s, a bound of "from 1 to 36525"', async (days) => {
    const { code, out } = await doctor(aFolder(), ['--window-days', days, '--json']);
    expect(code).toBe(0);
    expect(reportOf(out).window_days).toBe(Number(days));
  });
});

describe('configuration', () => {
  it('reads what the daemon reads: flags, environment and config file', async () => {
    const folder = aFolder();
    const file = join(folder, 'svc.json');
    writeFileSync(file, JSON.stringify({ audit_trusted_range: ['::/0'], retention_days: 5 }));
    const { code, out } = await doctor(folder, ['--config-file', file, '--json'], { SVCD_HOST: '0.0.0.0' });
    expect(code).toBe(2);
    const report = reportOf(out);
    expect(
      findingsOf(report, 'keys').some(({ level, message }) => level === 'fault' && message.startsWith('read')),
    ).toBe(true);
    expect(findingsOf(report, 'identity')[0]?.level).toBe('fault');
  });

  it('"a sampling fraction outside 0.0 to 1.0 in a project block" is reported, though no daemon starts with it', async () => {
    const folder = aFolder();
    const file = join(folder, 'svc.json');
    writeFileSync(
      file,
      JSON.stringify({ projects: { shop: { sample: 1.5 }, fine: { sample: 1 }, low: { sample: -0.1 } } }),
    );
    const { code, out } = await doctor(folder, ['--config-file', file, '--json']);
    expect(code).toBe(2);
    const faults = findingsOf(reportOf(out), 'limits').filter(({ level }) => level === 'fault');
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringMatching(/"shop" has the sampling fraction 1\.5/),
      expect.stringMatching(/"low" has the sampling fraction -0\.1/),
    ]);
    await expect(startDaemon(folder, ['--config-file', file])).rejects.toThrow('projects.shop.sample');
  });

  it('any other fault of the config file is refused as the daemon refuses it', async () => {
    const folder = aFolder();
    const file = join(folder, 'svc.json');
    writeFileSync(file, JSON.stringify({ projects: { shop: { sample: 1.5, colour: 'red' } } }));
    const { code, out, err } = await doctor(folder, ['--config-file', file]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^svc: .*projects\.shop\.colour: unknown key.*\n$/);
  });
});

describe('forwarding', () => {
  const aReceiver = async (status: number) => {
    const bodies: { url: string; type: string; bytes: number }[] = [];
    const server = createServer((request, response) => {
      let bytes = 0;
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () => {
        bodies.push({ url: request.url ?? '', type: request.headers['content-type'] ?? '', bytes });
        response.writeHead(status).end();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => server.close());
    return { bodies, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  const withForward = (folder: string, endpoint: string): string[] => {
    const file = join(folder, 'svc.json');
    writeFileSync(file, JSON.stringify({ forward: { endpoint } }));
    return ['--config-file', file, '--json'];
  };

  it('"posts an OTLP batch with no spans to the forwarding endpoint"', async () => {
    const folder = aFolder();
    const { bodies, endpoint } = await aReceiver(200);
    const { code, out } = await doctor(folder, withForward(folder, endpoint));
    expect(code).toBe(0);
    expect(findingsOf(reportOf(out), 'forwarding')).toEqual([
      { level: 'ok', message: `${endpoint} took an OTLP batch with no spans` },
    ]);
    expect(bodies).toEqual([{ url: '/v1/traces', type: 'application/x-protobuf', bytes: 0 }]);
  });

  it('a receiver that refuses is a fault; "--offline" asks it nothing and reports skipped', async () => {
    const folder = aFolder();
    const { bodies, endpoint } = await aReceiver(401);
    const refused = await doctor(folder, withForward(folder, endpoint));
    expect(refused.code).toBe(2);
    expect(findingsOf(reportOf(refused.out), 'forwarding')[0]).toMatchObject({
      level: 'fault',
      message: expect.stringContaining('status 401'),
    });
    const offline = await doctor(folder, [...withForward(folder, endpoint), '--offline']);
    expect(offline.code).toBe(0);
    expect(findingsOf(reportOf(offline.out), 'forwarding')[0]?.level).toBe('skipped');
    expect(bodies).toHaveLength(1);
  });
});

describe('beside a service and without one', () => {
  it('gives the same answer while the daemon runs and after it has stopped; the daemon goes on', async () => {
    const folder = aFolder();
    const daemon = await startDaemon(folder, ['--retention-days', '9']);
    cleanups.push(() => daemon.stop('SIGKILL'));
    const send = (model: string): Promise<Response> =>
      fetch(`${daemon.url}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(aModelCall(model)),
      });
    expect((await send('own-7b')).status).toBe(200);
    const beside = await doctor(folder, ['--retention-days', '9']);
    expect(beside.code).toBe(0);
    expect(beside.out).toMatch(/^ok {6}storage {4}a probe span survived write, read and delete$/m);
    expect(beside.out).toMatch(/^ok {6}retention {2}"default" goes back to .*kept for 9 days$/m);
    expect(beside.out).toMatch(/^warning pricing {4}.*"own-7b": 1 call without a cost/m);
    expect((await send('own-8b')).status).toBe(200);
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
    await daemon.stop();

    const files = readdirSync(folder).toSorted();
    const without = await doctor(folder, ['--retention-days', '9']);
    expect(without.code).toBe(0);
    expect(without.out).toContain('a probe span survived');
    expect(readdirSync(folder).toSorted()).toEqual(files);
    const again = await startDaemon(folder);
    cleanups.push(() => again.stop('SIGKILL'));
    expect((await fetch(`${again.url}/readyz`)).status).toBe(200);
    await again.stop();
  });

  it('a daemon that was killed left its log: it is read, and the next start finds everything', async () => {
    const folder = aFolder();
    const daemon = await startDaemon(folder);
    cleanups.push(() => daemon.stop('SIGKILL'));
    await fetch(`${daemon.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(aModelCall('own-7b')),
    });
    await daemon.stop('SIGKILL');
    for (const mode of [['--read-only'], []]) {
      const { code, out } = await doctor(folder, mode);
      expect(code).toBe(0);
      expect(out).toContain('1 project with 1 trace');
    }
    const again = await startDaemon(folder);
    cleanups.push(() => again.stop('SIGKILL'));
    expect((await fetch(`${again.url}/v1/api/traces/${'a'.repeat(32)}`)).status).toBe(200);
  });
});

describe('as a user who owns nothing of it', () => {
  it('says of files out of reach that this user may not read them, neither that they are damaged nor that they are absent', async (context) => {
    const folder = aFolder();
    const daemon = await startDaemon(folder);
    await daemon.stop();
    // Root reads everything, so for root it is asked as nobody; anybody else may shut the files to himself.
    const isRoot = process.getuid?.() === 0;
    const asked = () => doctor(folder, ['--read-only'], {}, isRoot ? { uid: 65_534, gid: 65_534 } : {});
    const files = ['svc.db', 'svc-runs.db'].map((name) => join(folder, name));
    chmodSync(folder, isRoot ? 0o755 : 0o700);
    for (const file of files) chmodSync(file, isRoot ? 0o600 : 0o000);
    const shut = await asked().catch(() => context.skip('nobody may not run the Node of these tests'));
    const says = (group: string, name: string, why: string) =>
      new RegExp(`^FAULT +${group} +\\S+/${name}${why} \\(EACCES\\) -> run the check as the user of the service$`, 'm');
    expect(shut.out, shut.err).toMatch(says('storage', 'svc\\.db', ' may not be read by this user'));
    expect(shut.out).toMatch(says('runs', 'svc-runs\\.db', ' may not be read by this user'));
    expect(shut.code).toBe(2);

    chmodSync(folder, isRoot ? 0o700 : 0o000);
    cleanups.push(() => chmodSync(folder, 0o700));
    const hidden = await asked();
    expect(hidden.out).toMatch(says('storage', 'svc\\.db', ': this user may not look into its folder'));
    expect(hidden.out).toMatch(says('runs', 'svc-runs\\.db', ': this user may not look into its folder'));
    expect(hidden.out).not.toMatch(/damaged|there is no/);
  });
});

describe('GET /v1/api/doctor', () => {
  it('is read-only and offline, takes an admin key that reaches every project, and answers all twelve groups', async () => {
    const folder = aFolder();
    const file = join(folder, 'svc.json');
    writeFileSync(
      file,
      JSON.stringify({
        forward: { endpoint: 'http://127.0.0.1:9' },
        projects: { shop: { keys: { admin: ['s'.repeat(20)] } } },
      }),
      { mode: 0o600 },
    );
    const daemon = await startDaemon(folder, [...KEYS, '--config-file', file]);
    cleanups.push(() => daemon.stop('SIGKILL'));
    const ask = (key: string, query = ''): Promise<Response> =>
      fetch(`${daemon.url}/v1/api/doctor${query}`, { headers: { authorization: `Bearer ${key}` } });
    expect((await ask('r'.repeat(20))).status).toBe(403);
    expect((await ask('s'.repeat(20))).status).toBe(403);
    expect((await ask('a'.repeat(20), '?window_days=0')).status).toBe(400);
    expect((await ask('a'.repeat(20), '?window_days=36526')).status).toBe(400);

    const answer = await ask('a'.repeat(20), '?window_days=30');
    expect(answer.status).toBe(200);
    const report = (await answer.json()) as DoctorReport;
    expect(report).toMatchObject({ offline: true, read_only: true, window_days: 30 });
    expect(report.groups).toHaveLength(12);
    expect(findingsOf(report, 'storage').map(({ level }) => level)).toEqual(['ok', 'skipped']);
    expect(findingsOf(report, 'runs')[0]).toEqual({ level: 'ok', message: 'the runs store answers' });
    expect(findingsOf(report, 'forwarding')[0]?.level).toBe('skipped');
    expect(findingsOf(report, 'keys').every(({ level }) => level === 'ok')).toBe(true);
    const byDefault = (await (await ask('a'.repeat(20))).json()) as DoctorReport;
    expect(byDefault.window_days).toBe(7);

    // "the write probe is a separate admin button"
    const write = (key: string): Promise<Response> =>
      fetch(`${daemon.url}/v1/api/doctor`, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
    expect([(await write('r'.repeat(20))).status, (await write('s'.repeat(20))).status]).toEqual([403, 403]);
    const written = (await (await write('a'.repeat(20))).json()) as DoctorReport;
    expect(written).toMatchObject({ offline: true, read_only: false });
    expect(findingsOf(written, 'storage').map(({ level, message }) => [level, message])).toEqual([
      ['ok', expect.stringContaining('answers')],
      ['ok', 'a probe span survived write, read and delete'],
      ['skipped', expect.stringContaining('damage')],
    ]);
    expect(findingsOf(written, 'projects')).toEqual(findingsOf(byDefault, 'projects'));
  });

  it('knows which workers live; from outside that is skipped, and a version that nobody registered is a warning', async () => {
    const folder = aFolder();
    const daemon = await startDaemon(folder);
    cleanups.push(() => daemon.stop('SIGKILL'));
    const post = async (path: string, body: object): Promise<void> => {
      const answer = await fetch(`${daemon.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(answer.status, await answer.text()).toBeLessThan(300);
    };
    const definition = { id: 'refund', version: 1, steps: [{ id: 'only', kind: 'task' }] };
    await post('/v1/api/workers/register', { worker_id: 'w', definitions: [definition] });
    await post('/v1/api/runs', { definition_id: 'refund', input: {} });
    const inside = (await (await fetch(`${daemon.url}/v1/api/doctor`)).json()) as DoctorReport;
    expect(findingsOf(inside, 'runs').map(({ message }) => message)).toEqual([
      'the runs store answers',
      '1 definition version, 1 durable run in progress',
      'a live worker holds "refund" version 1, which 1 open durable run is pinned to',
      expect.stringContaining('no key guards'),
    ]);
    const outside = findingsOf(reportOf((await doctor(folder, ['--json'])).out), 'runs');
    expect(outside.map(({ level }) => level)).toEqual(['ok', 'ok', 'ok', 'skipped', 'ok']);
    expect(outside[3]?.message).toContain('only the running service knows');

    // The worker comes back with another version alone.
    await post('/v1/api/workers/register', { worker_id: 'w', definitions: [{ ...definition, version: 2 }] });
    for (const report of [
      (await (await fetch(`${daemon.url}/v1/api/doctor`)).json()) as DoctorReport,
      reportOf((await doctor(folder, ['--json'])).out),
    ])
      expect(findingsOf(report, 'runs')).toContainEqual({
        level: 'warning',
        message: 'no worker has registered "refund" version 1, which 1 open durable run is pinned to',
        mend: 'start a worker that registers refund version 1',
      });

    await post('/v1/api/definitions/refund/pause', { reason: 'broken prompt' });
    for (const report of [
      (await (await fetch(`${daemon.url}/v1/api/doctor`)).json()) as DoctorReport,
      reportOf((await doctor(folder, ['--json'])).out),
    ])
      expect(findingsOf(report, 'runs')).toContainEqual({
        level: 'warning',
        message: expect.stringMatching(
          /^definition "refund" is paused since .* \("broken prompt"\), and 1 queued run /,
        ),
        mend: 'npx svc definitions resume refund lets it go on',
      });
  });
});
