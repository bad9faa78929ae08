import { once } from 'node:events';
import { connect } from 'node:net';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRunsDatabase } from '../../src/cli/doctor/runs-database.ts';
import type { Daemon } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { type PostgresServer, startPostgres } from '../postgres.ts';
import { servicesOfTests } from '../services.ts';

const services = servicesOfTests();
const { agent } = services;
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

const start = (url: string, flags: readonly string[] = []): Promise<Daemon> =>
  services.start({ SVCD_RUNS_URL: url }, flags);
/** The owner of the runs of a database, and a service that passes on. */
const pairOn = async (url: string, flags: readonly string[] = []): Promise<readonly [Daemon, Daemon]> => {
  const owner = await start(url, flags);
  return [owner, await start(url, flags)];
};
type Answered = {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Record<string, unknown>;
};
const ask = async (
  { url }: Daemon,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answered> => {
  const answer = await request(`${url}${path}`, {
    method,
    dispatcher: agent,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, headers: answer.headers, body: (await answer.body.json()) as Answered['body'] };
};
const definitions = [
  {
    id: 'flow',
    version: 1,
    steps: [
      { id: 'one', kind: 'task' },
      { id: 'two', kind: 'task' },
    ],
  },
];
const register = (daemon: Daemon, workerId = 'w', headers: Record<string, string> = {}): Promise<Answered> =>
  ask(daemon, 'POST', '/v1/api/workers/register', { worker_id: workerId, definitions }, headers);
const startRun = async (daemon: Daemon, headers: Record<string, string> = {}): Promise<string> => {
  const { status, body } = await ask(daemon, 'POST', '/v1/api/runs', { definition_id: 'flow', input: {} }, headers);
  expect(status).toBe(201);
  return body['run_id'] as string;
};
type WireLease = { readonly lease_id: string; readonly step_id: string; readonly attempt: number };
const claim = async (daemon: Daemon, waitMs: number, workerId = 'w'): Promise<WireLease[]> => {
  const { body } = await ask(daemon, 'POST', '/v1/api/steps/claim', { worker_id: workerId, max: 1, wait_ms: waitMs });
  return body['leases'] as WireLease[];
};
const report = (daemon: Daemon, leaseId: string, verb: string, body: object = {}): Promise<Answered> =>
  ask(daemon, 'POST', `/v1/api/steps/${leaseId}/${verb}`, { worker_id: 'w', ...body });

describe('services that share their runs (--runs-url)', () => {
  it('answer every call about runs, whichever is asked: worker calls, starts, lists, actors, the live journal', async () => {
    const [owner, other] = await pairOn(server.create());
    expect((await register(other)).status).toBe(200);
    const claiming = claim(other, 20_000);
    const runId = await startRun(owner);
    const journal = await request(`${other.url}/v1/api/runs/${runId}/events`, {
      dispatcher: agent,
      headers: { accept: 'text/event-stream' },
    });
    expect(journal.headers['content-type']).toContain('text/event-stream');
    let told = '';
    const following = (async () => {
      for await (const piece of journal.body.setEncoding('utf8')) told += piece as string;
    })();
    for (const [step, at, next] of [
      ['one', other, owner],
      ['two', owner, other],
    ] as const) {
      const [lease] =
        step === 'one'
          ? await claiming
          : await eventually('a lease', async () => {
              const leases = await claim(at, 5_000);
              return leases.length > 0 && leases;
            });
      expect(lease?.step_id).toBe(step);
      expect((await report(at, lease?.lease_id ?? '', 'started')).status).toBe(200);
      expect((await report(next, lease?.lease_id ?? '', 'heartbeat')).status).toBe(200);
      expect((await report(next, lease?.lease_id ?? '', 'complete', { output: { step } })).status).toBe(200);
    }
    await following;
    const seqs = [...told.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
    expect(seqs).toEqual(seqs.map((_, at) => at));
    expect(told).toContain('run.finished');
    for (const daemon of [owner, other]) {
      expect((await ask(daemon, 'GET', `/v1/api/runs/${runId}`)).body).toMatchObject({ status: 'succeeded' });
      expect((await ask(daemon, 'GET', '/v1/api/actors?type=dispatcher')).body['actors']).toHaveLength(1);
      expect(await ask(daemon, 'GET', '/readyz')).toMatchObject({ status: 200 });
    }
  });

  it('a claim that is passed on gives its work back when the connection of the worker dies', async () => {
    const [owner, other] = await pairOn(server.create(), ['--offer-ttl-ms', '30000']);
    await register(other);
    await register(owner, 'second');
    const gone = new AbortController();
    const lost = request(`${other.url}/v1/api/steps/claim`, {
      method: 'POST',
      dispatcher: agent,
      signal: gone.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ worker_id: 'w', max: 1, wait_ms: 20_000 }),
    }).catch((error: unknown) => error);
    const waiting = async (): Promise<unknown> =>
      ((await ask(owner, 'GET', '/v1/api/actors/dispatcher/main')).body['context'] as Record<string, unknown>)[
        'waitingClaims'
      ];
    await eventually('the claim waits at the owner', async () => (await waiting()) === 1);
    gone.abort();
    await lost;
    await eventually('nobody waits at the owner', async () => (await waiting()) === 0);
    await startRun(owner);
    const [lease] = await claim(owner, 5_000, 'second');
    expect(lease).toMatchObject({ step_id: 'one', attempt: 1 });
  });

  it('go to another service at once when the owner stops, while that one still answers what is under way', async () => {
    const [owner, other] = await pairOn(server.create(), ['--request-timeout-seconds', '120']);
    await register(owner);
    const socket = connect(Number(new URL(owner.url).port), '127.0.0.1');
    services.undo(() => socket.destroy());
    socket.write(
      'POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n',
    );
    expect(String((await once(socket, 'data'))[0])).toContain('100 Continue');
    const ended = once(owner.process, 'exit');
    owner.process.kill('SIGTERM');
    await eventually('the other moves the runs', async () => {
      const { status } = await ask(other, 'POST', '/v1/api/runs', { definition_id: 'flow', input: {} });
      return status === 201;
    });
    expect(owner.process.exitCode).toBe(null);
    socket.write('{}');
    expect(await ended).toEqual([0, null]);
  });

  it('decide who calls before anything is passed on, and believe no other who says that somebody called', async () => {
    const url = server.create();
    const keys = [
      '--read-key',
      'read-key-00000001',
      '--worker-key',
      'worker-key-000001',
      '--execute-key',
      'execute-key-00001',
    ];
    const [owner, other] = await pairOn(url, keys);
    expect((await ask(other, 'GET', '/v1/api/runs')).status).toBe(401);
    expect((await ask(other, 'POST', '/v1/api/runs', {}, { 'x-svc-key': 'read-key-00000001' })).status).toBe(403);
    expect((await register(other, 'w', { 'x-svc-key': 'worker-key-000001' })).status).toBe(200);
    await startRun(other, { 'x-svc-key': 'execute-key-00001' });
    expect(
      (await ask(other, 'GET', '/v1/api/runs', undefined, { 'x-svc-key': 'read-key-00000001' })).body['runs'],
    ).toHaveLength(1);
    const caller = Buffer.from(
      JSON.stringify({ scopes: ['read', 'admin'], reach: 'all', remoteAddress: '127.0.0.1' }),
    ).toString('base64url');
    for (const secret of ['', 'guess', 'x'.repeat(72)])
      for (const daemon of [owner, other]) {
        const forged = { 'x-svc-peer': secret, 'x-svc-caller': caller };
        expect((await ask(daemon, 'GET', '/v1/api/runs', undefined, forged)).status).toBe(401);
      }
    const secret = server.run('SELECT secret FROM peer_secret', url);
    for (const daemon of [owner, other]) {
      await daemon.stop();
      expect(daemon.lines.join('\n')).not.toContain(secret);
    }
  });

  it('are counted by svc doctor, which is none of them', async () => {
    const url = server.create();
    const [, other] = await pairOn(url);
    const examine = async (): Promise<string[]> => {
      const { findings, close } = await openRunsDatabase(url);
      await close();
      return findings.map(({ message }) => message);
    };
    expect(await examine()).toContain('2 services have it open');
    await other.stop();
    expect(await examine()).toContain('1 service has it open');
  });

  it('say 503 with Retry-After 1 while nobody owns the runs, and /readyz says so too', async () => {
    const url = server.create();
    const other = await start(url);
    server.run(`UPDATE shard SET epoch = 9, address = '', expires_at = now() + interval '1 day'`, url);
    const refused = await eventually('the service has no runs', async () => {
      const answer = await ask(other, 'POST', '/v1/api/runs', { definition_id: 'flow', input: {} });
      return answer.status === 503 && answer;
    });
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.body).toMatchObject({ code: 'store_unavailable' });
    server.run(`UPDATE shard SET expires_at = now()`, url);
    await eventually('the service owns them', async () => (await register(other)).status === 200);
  });

  it('name the database in the log and in svc doctor, never its password', async () => {
    const url = server.create().replace('//svc@', '//svc:canary@');
    const [, other] = await pairOn(url);
    const { body } = await ask(other, 'GET', '/v1/api/doctor');
    expect(JSON.stringify(body)).not.toContain('canary');
    await other.stop();
    expect(other.lines.join('\n')).toContain('"runs":"postgres://svc@127.0.0.1');
    expect(other.lines.join('\n')).not.toContain('canary');
  });
});
