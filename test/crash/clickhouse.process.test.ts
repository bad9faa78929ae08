import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServerAddress } from '../../src/store/clickhouse/address.ts';
import { type ClickHouseServer, startClickHouse } from '../clickhouse.ts';
import type { Daemon } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { servicesOfTests } from '../services.ts';
import { type Entry, nativeEntry, otlpEntry } from './ledger.ts';
import { find, post } from './verify.ts';

const services = servicesOfTests();
const { agent } = services;
let server: ClickHouseServer;
beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.remove());

/** On a busy machine a request may take long; none is asked to be quick here. */
const PATIENT = ['--request-timeout-seconds', '240'];

/** A daemon on a database, with a home of its own for what it keeps beside signals. */
const start = ({ url, database }: ServerAddress): Promise<Daemon> =>
  services.start({ SVCD_COLSTORE_URL: url.origin, SVCD_COLSTORE_DATABASE: database }, PATIENT);
const now = (): bigint => BigInt(Date.now()) * 1_000_000n;
const ready = async ({ url }: Daemon): Promise<{ status: number; body: Record<string, unknown> }> => {
  const { statusCode, body } = await request(`${url}/readyz`, { dispatcher: agent });
  return { status: statusCode, body: (await body.json()) as Record<string, unknown> };
};

/** Sends batches through all services until it is told to stop, and keeps a ledger of what was acknowledged. */
const load = (daemons: () => readonly Daemon[]) => {
  const ledger: Entry[] = [];
  const refusals: number[] = [];
  let goesOn = true;
  const send = async (sender: number): Promise<void> => {
    for (let n = 0; goesOn; n += 1) {
      const all = daemons();
      const entry = n % 2 === 0 ? otlpEntry(2, now()) : nativeEntry(2, now());
      ledger.push(entry);
      try {
        const { status } = await post((all[(sender + n) % all.length] as Daemon).url, entry, agent);
        if (status === 200) entry.outcome = 'acknowledged';
        else refusals.push(status);
      } catch {
        // The service was killed: nobody knows.
      }
    }
  };
  const senders = Promise.all([0, 1, 2].map(send));
  const stop = async (): Promise<void> => {
    goesOn = false;
    await senders;
  };
  services.undo(stop);
  const acknowledged = (): Entry[] => ledger.filter(({ outcome }) => outcome === 'acknowledged');
  return {
    acknowledged,
    refusals,
    stop,
    more: async (many: number): Promise<void> => {
      const before = acknowledged().length;
      await eventually(`${many} more acknowledged`, () => acknowledged().length >= before + many);
    },
  };
};
const expectWhole = async (daemon: Daemon, entries: readonly Entry[]): Promise<void> => {
  for (const entry of entries)
    expect([entry.traceId, await find(daemon.url, entry, agent)]).toEqual([entry.traceId, 'whole']);
};

describe('services on one ClickHouse database', () => {
  it('name the store with its capabilities; what comes in through one is found, and deleted, through the other', async () => {
    const address = server.create();
    const both = await Promise.all([start(address), start(address)]);
    for (const daemon of both)
      expect(await ready(daemon)).toMatchObject({
        status: 200,
        body: {
          storage: 'clickhouse',
          capabilities: { deletes: 'deferred', idempotency: 'converging', atomicity: 'converging' },
        },
      });
    const entries = [otlpEntry(3, now()), nativeEntry(3, now())];
    for (const [n, entry] of entries.entries()) {
      expect((await post((both[n] as Daemon).url, entry, agent)).status).toBe(200);
      expect(await find((both[1 - n] as Daemon).url, entry, agent)).toBe('whole');
    }
    const [first, second] = entries as [Entry, Entry];
    const removed = await request(`${both[1].url}/v1/api/traces/${first.traceId}`, {
      method: 'DELETE',
      dispatcher: agent,
    });
    expect(await removed.body.json()).toMatchObject({ deletes_pending: true });
    expect(await find(both[0].url, first, agent)).toBe('absent');
    expect(await find(both[0].url, second, agent)).toBe('whole');
  });

  it('a killed server and a killed service lose nothing that was acknowledged; the others answer 503 meanwhile, and go on', async () => {
    const address = server.create();
    const survivor = await start(address);
    let victim = await start(address);
    const { acknowledged, refusals, more, stop } = load(() => [survivor, victim]);
    for (let round = 0; round < 2; round += 1) {
      await more(6);
      await server.kill('SIGKILL');
      await eventually('a refusal', () => refusals.includes(503));
      expect((await ready(survivor)).status).toBe(503);
      await server.start();
      await eventually('the service to be ready', async () => (await ready(survivor)).status === 200);
      await more(6);
      await victim.stop('SIGKILL');
      victim = await start(address);
    }
    await stop();
    expect(refusals.filter((status) => status !== 503 && status !== 429)).toEqual([]);
    await expectWhole(victim, acknowledged());
  });

  it('while the server is away a batch is refused with 503 and Retry-After', async () => {
    const daemon = await start(server.create());
    await server.kill('SIGKILL');
    try {
      const { statusCode, headers, body } = await request(`${daemon.url}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: otlpEntry(1, now()).body,
        dispatcher: agent,
      });
      await body.dump();
      expect([statusCode, Number(headers['retry-after']) > 0]).toEqual([503, true]);
    } finally {
      await server.start();
    }
    expect((await post(daemon.url, otlpEntry(1, now()), agent)).status).toBe(200);
  });
});
