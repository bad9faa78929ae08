import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Daemon } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { startPgBouncer } from '../pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../postgres.ts';
import { servicesOfTests } from '../services.ts';
import { type Entry, nativeEntry, otlpEntry } from './ledger.ts';
import { find, post } from './verify.ts';

const services = servicesOfTests();
const { agent } = services;
/** Batches of a ledger that are looked up at once. */
const AT_ONCE = 16;
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** A daemon on a database, with a home of its own for what it keeps beside signals. */
const start = (url: string, flags: readonly string[] = []): Promise<Daemon> =>
  services.start({ SVCD_SQLSTORE_URL: url }, flags);
const pairOn = async (url: string, flags: readonly string[] = []): Promise<readonly [Daemon, Daemon]> =>
  Promise.all([start(url, flags), start(url, flags)]);
const now = (): bigint => BigInt(Date.now()) * 1_000_000n;
const getJson = async (url: string): Promise<{ status: number; body: Record<string, unknown> }> => {
  const { statusCode, body } = await request(url, { dispatcher: agent });
  return { status: statusCode, body: (await body.json()) as Record<string, unknown> };
};

describe('two services on one PostgreSQL database', () => {
  it('start together, name the store with its capabilities, and show the password nowhere', async () => {
    const url = server.create().replace('//svc@', '//svc:canary@');
    const both = await pairOn(url);
    for (const daemon of both) {
      const ready = await getJson(`${daemon.url}/readyz`);
      expect(ready).toMatchObject({
        status: 200,
        body: { storage: 'postgres', capabilities: { deletes: 'immediate', idempotency: 'exact', atomicity: 'unit' } },
      });
      await daemon.stop();
      const log = daemon.lines.join('\n');
      expect(log).toContain('"storage":"postgres"');
      expect(log).not.toContain('canary');
    }
  });

  it('what comes in through one, by OTLP or natively, is read and found through the other', async () => {
    const both = await pairOn(server.create());
    const sent: Entry[] = [];
    for (let n = 0; n < 4; n += 1) {
      const entry = n < 2 ? otlpEntry(3, now()) : nativeEntry(3, now());
      sent.push(entry);
      expect((await post((both[n % 2] as Daemon).url, entry, agent)).status).toBe(200);
      expect(await find((both[(n + 1) % 2] as Daemon).url, entry, agent)).toBe('whole');
    }
    const [first] = sent as [Entry];
    const removed = await request(`${both[1].url}/v1/api/traces/${first.traceId}`, {
      method: 'DELETE',
      dispatcher: agent,
    });
    expect(await removed.body.json()).toMatchObject({ deletes_pending: false });
    expect(await find(both[0].url, first, agent)).toBe('absent');
  });

  it('a key that reaches both at once is written once', async () => {
    const both = await pairOn(server.create());
    for (let round = 0; round < 5; round += 1) {
      const entry = nativeEntry(3, now());
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => post((both[n % 2] as Daemon).url, entry, agent)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
      expect(answers.reduce((sum, { duplicate }) => sum + duplicate, 0)).toBe(19);
      expect(await find(both[round % 2]?.url ?? '', entry, agent)).toBe('whole');
    }
  });

  it('share the ceiling of a project: no minute takes more through both than through one', async () => {
    const url = server.create();
    const both = await pairOn(url, ['--quota-per-minute', '40']);
    const send = async (n: number): Promise<number> => {
      const { body } = await request(`${(both[n % 2] as Daemon).url}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          metrics: [{ name: 'm', type: 'gauge', timestamp: new Date().toISOString(), value: n }],
        }),
        dispatcher: agent,
      });
      return ((await body.json()) as { accepted?: number }).accepted ?? 0;
    };
    const accepted = await Promise.all(Array.from({ length: 120 }, (_, n) => send(n)));
    const total = accepted.reduce((sum, one) => sum + one, 0);
    const windows = server.run('SELECT taken FROM quota_windows', url).split('\n').map(Number);
    expect(windows.every((taken) => taken <= 40)).toBe(true);
    expect(total).toBeLessThanOrEqual(40 * windows.length);
    // What a service took ahead and did not need is lost to the other: a twentieth of each.
    expect(total).toBeGreaterThanOrEqual(36);
    expect(Number(server.run('SELECT count(*) FROM metric_points', url))).toBe(total);
  });

  it('a monitor that trips is reported by one of them, and by the other when that one has died', async () => {
    const reports: string[] = [];
    const receiver = createServer((call, reply) => {
      let text = '';
      call.on('data', (piece) => (text += String(piece)));
      call.on('end', () => {
        reports.push((JSON.parse(text) as { monitor_id: string }).monitor_id);
        reply.end();
      });
    }).listen(0, '127.0.0.1');
    services.undo(() => receiver.close());
    await once(receiver, 'listening');
    const config = join(services.folder, 'watch.json');
    const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const monitor = { watch: 'trace_count', window_seconds: 3600, compare: 'above', min_samples: 0, webhook };
    writeFileSync(
      config,
      JSON.stringify({
        monitor_interval_seconds: 1,
        monitors: [
          { ...monitor, id: 'first', threshold: 0 },
          { ...monitor, id: 'second', threshold: 2 },
        ],
      }),
      { mode: 0o600 },
    );
    const url = server.create();
    const both = await pairOn(url, ['--config-file', config]);
    const holder = async (): Promise<Daemon> =>
      eventually('a service with the duty', () =>
        both.find(({ lines }) => lines.some((line) => line.includes('"monitor_id":"first"'))),
      );
    const conditionsOf = async ({ url: at }: Daemon): Promise<string[]> =>
      ((await getJson(`${at}/v1/api/monitors`)).body['monitors'] as { condition: string }[]).map(
        ({ condition }) => condition,
      );
    expect((await post(both[0].url, otlpEntry(1, now()), agent)).status).toBe(200);
    const one = await holder();
    const other = both.find((daemon) => daemon !== one) as Daemon;
    // Both evaluate; one reports.
    await eventually('the other to see it', async () => (await conditionsOf(other))[0] === 'tripped');
    await eventually('the report', () => reports.length > 0);
    expect(reports).toEqual(['first']);
    // One that dies between the answer of the receiver and this row is reported once more: no report is lost.
    await eventually(
      'the report to be noted',
      () => server.run('SELECT count(*) FROM reported_conditions', url) === '1',
    );

    await one.stop('SIGKILL');
    for (let n = 0; n < 2; n += 1) expect((await post(other.url, otlpEntry(1, now()), agent)).status).toBe(200);
    await eventually('the other to report', () => reports.includes('second'));
    expect(reports).toEqual(['first', 'second']);
  });
});

describe('a PostgreSQL database that fails under load', () => {
  /** Sends batches through all services until it is told to stop, and keeps a ledger of what was acknowledged. */
  const load = (daemons: readonly Daemon[]) => {
    const ledger: Entry[] = [];
    const refusals: { readonly status: number; readonly text: string }[] = [];
    let goesOn = true;
    const send = async (sender: number): Promise<void> => {
      for (let n = 0; goesOn; n += 1) {
        const entry = n % 2 === 0 ? otlpEntry(2, now()) : nativeEntry(2, now());
        ledger.push(entry);
        const { status, text } = await post((daemons[(sender + n) % daemons.length] as Daemon).url, entry, agent);
        if (status === 200) entry.outcome = 'acknowledged';
        else refusals.push({ status, text });
      }
    };
    const senders = Promise.all([0, 1, 2, 3].map(send));
    services.undo(async () => {
      goesOn = false;
      await senders.catch(() => {});
    });
    const acknowledged = (): Entry[] => ledger.filter(({ outcome }) => outcome === 'acknowledged');
    return {
      acknowledged,
      refusals,
      /** Waits until some more are acknowledged. */
      more: async (many: number): Promise<void> => {
        const before = acknowledged().length;
        await eventually(`${many} more acknowledged`, () => acknowledged().length >= before + many);
      },
      stop: async (): Promise<void> => {
        goesOn = false;
        await senders;
      },
    };
  };
  const expectNothingLost = async (daemons: readonly Daemon[], acknowledged: readonly Entry[]): Promise<void> => {
    for (let n = 0; n < acknowledged.length; n += AT_ONCE) {
      const some = acknowledged.slice(n, n + AT_ONCE);
      const found = await Promise.all(
        some.map((entry, place) => find((daemons[place % daemons.length] as Daemon).url, entry, agent)),
      );
      expect(found).toEqual(some.map(() => 'whole'));
    }
  };

  it('killed again and again: callers get 503, nothing acknowledged is lost, and no service starts anew', async () => {
    const own = await startPostgres();
    services.undo(() => own.remove());
    const both = await pairOn(own.create());
    const { acknowledged, refusals, more, stop } = load(both);
    for (let round = 0; round < 3; round += 1) {
      await more(20);
      const refused = refusals.length;
      await own.kill('SIGKILL');
      await eventually('a refusal', () => refusals.length > refused);
      await own.start();
    }
    await more(20);
    await stop();
    for (const { status, text } of refusals) expect(`${status} ${text}`).toMatch(/^503 .*store_unavailable/);
    await expectNothingLost(both, acknowledged());
    for (const { process } of both) expect(process.exitCode).toBeNull();
  });

  it('frozen: callers get 503 in a bounded time, readyz says so, and it goes on when the database does', async () => {
    const own = await startPostgres();
    services.undo(() => own.remove());
    const both = await pairOn(own.create(), ['--request-timeout-seconds', '2']);
    const { acknowledged, refusals, more, stop } = load(both);
    await more(20);
    own.freeze();
    try {
      await eventually('a refusal', () => refusals.length > 0);
      expect((await getJson(`${both[0].url}/readyz`)).status).toBe(503);
    } finally {
      own.thaw();
    }
    await more(20);
    await stop();
    await expectNothingLost(both, acknowledged());
    for (const { process } of both) expect(process.exitCode).toBeNull();
  });

  it('behind PgBouncer in transaction mode: the same', async () => {
    const own = await startPostgres();
    services.undo(() => own.remove());
    const bouncer = await startPgBouncer(own.port, 6);
    services.undo(() => bouncer.remove());
    const both = await pairOn(bouncer.urlOf(own.create()));
    const { acknowledged, refusals, more, stop } = load(both);
    await more(20);
    await own.kill('SIGKILL');
    await eventually('a refusal', () => refusals.length > 0);
    await own.start();
    await more(20);
    await stop();
    for (const { status } of refusals) expect(status).toBe(503);
    await expectNothingLost(both, acknowledged());
  });
});

describe('a start on a database that cannot be', () => {
  const runToEnd = async (url: string): Promise<{ code: number | null; err: string }> => {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, '..', '..', 'bin', 'svc.mjs'), '--port', '0', '--runs-data', 'off'],
      {
        env: { ...process.env, NODE_COMPILE_CACHE: undefined, SVCD_SQLSTORE_URL: url },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    let err = '';
    child.stderr.on('data', (text) => (err += String(text)));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, err };
  };

  it('ends in one line that names the cause and not the password', async () => {
    const reader = server.create();
    server.run('CREATE ROLE reader LOGIN');
    for (const [url, says] of [
      ['postgres://svc:canary@127.0.0.1:1/d', 'does not answer (ECONNREFUSED)'],
      [
        server
          .create()
          .replace(/\/svc_\d+$/, '/none')
          .replace('svc@', 'svc:canary@'),
        'refuses (3D000)',
      ],
      [reader.replace('svc@', 'reader:canary@'), 'refuses (42501)'],
    ] as const) {
      const { code, err } = await runToEnd(url);
      expect(err.trim().split('\n')).toHaveLength(1);
      expect(err).toMatch(/^svc: signal store: /);
      expect(err).toContain(says);
      expect(err).not.toContain('canary');
      expect(code).toBe(1);
    }
  });
});
