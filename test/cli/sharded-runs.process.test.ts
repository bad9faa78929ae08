import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shardOfProject } from '../../src/store/postgres/runs/shards.ts';
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

const SHARDS = 4;
/** A project of each shard. */
const PROJECTS = Array.from({ length: SHARDS }, (_, shard) => {
  for (let n = 0; ; n += 1) if (shardOfProject(`p${n}`, SHARDS) === shard) return `p${n}`;
});
const [FIRST = ''] = PROJECTS;
type Answered = { readonly status: number; readonly body: Record<string, unknown> };
const ask = async (
  { url }: Daemon,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<Answered> => {
  const answer = await request(`${url}${path}`, {
    method,
    dispatcher: agent,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: (await answer.body.json()) as Answered['body'] };
};
const flow = {
  id: 'flow',
  version: 1,
  steps: [
    { id: 'one', kind: 'task' },
    { id: 'two', kind: 'wait_event', event: 'go', key: '${input.n}', timeout_ms: 600_000 },
    { id: 'three', kind: 'task' },
  ],
};
const register = (daemon: Daemon, definitions: object[] = [flow]): Promise<Answered> =>
  ask(daemon, 'POST', '/v1/api/workers/register', { worker_id: 'w', definitions });
const start = async (daemon: Daemon, project: string, n = project): Promise<string> => {
  const { status, body } = await ask(daemon, 'POST', '/v1/api/runs', {
    definition_id: 'flow',
    project,
    input: { n },
    idempotency_key: n,
  });
  expect([200, 201]).toContain(status);
  return body['run_id'] as string;
};
type WireLease = { readonly lease_id: string; readonly run_id: string; readonly step_id: string };
const claim = async (daemon: Daemon, waitMs: number): Promise<WireLease[]> => {
  const { body } = await ask(daemon, 'POST', '/v1/api/steps/claim', { worker_id: 'w', max: 10, wait_ms: waitMs });
  return body['leases'] as WireLease[];
};
const report = (daemon: Daemon, leaseId: string, verb: string): Promise<Answered> =>
  ask(daemon, 'POST', `/v1/api/steps/${leaseId}/${verb}`, { worker_id: 'w' });
const statusOf = async (daemon: Daemon, runId: string): Promise<unknown> =>
  (await ask(daemon, 'GET', `/v1/api/runs/${runId}`)).body['status'];
/** Services that share the shards evenly. */
const sharing = async (url: string, count: number): Promise<Daemon[]> => {
  const started: Daemon[] = [];
  for (let n = 0; n < count; n += 1)
    started.push(
      await services.start({ SVCD_RUNS_URL: url, SVCD_SQLSTORE_URL: url }, ['--runs-shards', String(SHARDS)]),
    );
  await eventually('each service has its part', async () => {
    const owned = server.run(
      'SELECT string_agg(n::text, $$,$$) FROM (SELECT count(*) AS n FROM shard WHERE expires_at > clock_timestamp() GROUP BY owner ORDER BY 1) AS s',
      url,
    );
    return owned.split(',').length === count && owned.split(',').every((n) => Number(n) <= Math.ceil(SHARDS / count));
  });
  await eventually('each service knows who has the others', async () => {
    const listed = await Promise.all(started.map((daemon) => ask(daemon, 'GET', '/v1/api/actors?type=dispatcher')));
    return listed.every(({ body }) => (body['actors'] as unknown[]).length === SHARDS);
  });
  return started;
};
/** Does every step that there is, with claims at one service and reports at another. */
const work = async (claims: Daemon, reports: Daemon, isDone: () => Promise<boolean>): Promise<void> => {
  for (;;) {
    if (await isDone()) return;
    for (const { lease_id } of await claim(claims, 200)) {
      expect((await report(reports, lease_id, 'started')).status).toBe(200);
      expect((await report(claims, lease_id, 'complete')).status).toBe(200);
    }
  }
};

describe('runs in several shards (--runs-shards)', () => {
  it('are shared by the services, and any of them answers every call: starts, events, claims, reports, lists, the live journal', async () => {
    const [one, other, third] = (await sharing(server.create(), 3)) as [Daemon, Daemon, Daemon];
    expect((await register(other)).status).toBe(200);
    const runIds = await Promise.all(
      PROJECTS.map((project, n) => start([one, other, third][n % 3] as Daemon, project)),
    );
    expect(await start(third, FIRST)).toBe(runIds[0]);
    const journal = await request(`${third.url}/v1/api/runs/${runIds[0]}/events`, {
      dispatcher: agent,
      headers: { accept: 'text/event-stream' },
    });
    let told = '';
    const following = (async () => {
      for await (const piece of journal.body.setEncoding('utf8')) told += piece as string;
    })();
    const areAll = (status: string) => async (): Promise<boolean> =>
      (await Promise.all(runIds.map((runId) => statusOf(other, runId)))).every((found) => found === status);
    await work(one, other, areAll('waiting'));
    for (const project of PROJECTS) {
      const sent = await ask(third, 'POST', '/v1/api/events', { event: 'go', key: project, project, payload: {} });
      expect(sent.body).toMatchObject({ outcome: 'delivered' });
    }
    await work(third, one, areAll('succeeded'));
    await following;
    const seqs = [...told.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
    expect(seqs).toEqual(seqs.map((_, at) => at));
    expect(told).toContain('run.finished');
    for (const daemon of [one, other, third]) {
      const listed = await ask(daemon, 'GET', '/v1/api/runs?project=*');
      expect((listed.body['runs'] as { run_id: string }[]).map(({ run_id }) => run_id).toSorted()).toEqual(
        runIds.toSorted(),
      );
      const dispatchers = await ask(daemon, 'GET', '/v1/api/actors?type=dispatcher');
      expect((dispatchers.body['actors'] as { id: string }[]).map(({ id }) => id)).toEqual(['0', '1', '2', '3']);
    }
  });

  it('a claim that waits at one service gets the step of a run that another moves, and a definition that was brought to one is known to all', async () => {
    const [one, other] = (await sharing(server.create(), 2)) as [Daemon, Daemon];
    await register(one);
    for (const [n, project] of PROJECTS.entries()) {
      const claiming = claim(n % 2 === 0 ? one : other, 20_000);
      const runId = await start(n % 2 === 0 ? other : one, project);
      const [lease] = await claiming;
      expect(lease).toMatchObject({ run_id: runId, step_id: 'one' });
      expect((await report(other, lease?.lease_id ?? '', 'started')).status).toBe(200);
      expect((await report(one, lease?.lease_id ?? '', 'complete')).status).toBe(200);
    }
    await register(other, [{ ...flow, version: 2 }]);
    for (const project of PROJECTS) {
      const { body } = await ask(one, 'POST', '/v1/api/runs', { definition_id: 'flow', project, input: { n: 'x' } });
      expect(body).toMatchObject({ definition_version: 2, status: 'queued' });
    }
  });

  it('a definition of the service that is paused at one service is paused for every shard', async () => {
    const [one, other] = (await sharing(server.create(), 2)) as [Daemon, Daemon];
    await register(one);
    expect((await ask(other, 'POST', '/v1/api/definitions/flow/pause', {})).status).toBe(200);
    const runIds = await Promise.all(PROJECTS.map((project) => start(one, project)));
    expect(await claim(one, 0)).toEqual([]);
    for (const runId of runIds)
      expect((await ask(other, 'GET', `/v1/api/runs/${runId}`)).body).toMatchObject({ status: 'queued' });
    expect((await ask(one, 'POST', '/v1/api/definitions/flow/resume', {})).status).toBe(200);
    const claimed = new Set<string>();
    await eventually('every run is offered', async () => {
      for (const { run_id } of await claim(other, 500)) claimed.add(run_id);
      return claimed.size === runIds.length;
    });
  });

  it('what a service passes on needs the secret of the services, and is no part of what clients may call', async () => {
    const url = server.create();
    const [one] = (await sharing(url, 1)) as [Daemon];
    const call = { shard: 0, method: 'listActors', args: [{ reach: 'all', limit: 1 }] };
    const door = { method: 'POST', dispatcher: agent, body: JSON.stringify(call) } as const;
    const passed = (headers: Record<string, string>) => request(`${one.url}/v1/peer/runs`, { ...door, headers });
    expect((await passed({})).statusCode).toBe(401);
    expect((await passed({ 'x-svc-peer': 'a guess' })).statusCode).toBe(401);
    const secret = server.run('SELECT secret FROM peer_secret', url);
    expect((await passed({ 'x-svc-peer': secret })).statusCode).toBe(200);
  });

  it('of a service that was killed others take over its shards, and no live lease is lost', async () => {
    const url = server.create();
    const [one, other, third] = (await sharing(url, 3)) as [Daemon, Daemon, Daemon];
    await register(one);
    const runIds = await Promise.all(PROJECTS.map((project) => start(one, project)));
    const leases: WireLease[] = [];
    while (leases.length < runIds.length) leases.push(...(await claim(other, 1_000)));
    for (const { lease_id } of leases) await report(one, lease_id, 'started');
    await third.stop('SIGKILL');
    for (const { lease_id } of leases)
      await eventually('the complete is taken', async () => (await report(one, lease_id, 'complete')).status === 200);
    // Until it knows who moves them now, a service answers 503.
    for (const runId of runIds)
      await eventually('the run waits', async () => (await statusOf(other, runId)) === 'waiting');
  });

  it('one shard becomes several at a start that has all: runs, waits, schedules and parked events go on, under the ids that they had', async () => {
    const url = server.create();
    const before = await services.start({ SVCD_RUNS_URL: url, SVCD_SQLSTORE_URL: url });
    await register(before);
    const runIds = await Promise.all(PROJECTS.map((project) => start(before, project)));
    const leases = await claim(before, 1_000);
    for (const { lease_id } of leases) {
      await report(before, lease_id, 'started');
      await report(before, lease_id, 'complete');
    }
    for (const project of PROJECTS) {
      const schedule = { id: 's', project, definition_id: 'flow', input: { n: `s-${project}` }, every_ms: 1000 };
      expect((await ask(before, 'POST', '/v1/api/schedules', schedule)).status).toBe(201);
      await ask(before, 'POST', '/v1/api/events', { event: 'go', key: 'later', project, payload: {} });
    }
    await expect(
      services.start({ SVCD_RUNS_URL: url, SVCD_SQLSTORE_URL: url }, ['--runs-shards', String(SHARDS)]),
    ).rejects.toThrow('a service owns runs');
    await before.stop();
    const [one, other] = (await sharing(url, 2)) as [Daemon, Daemon];
    expect(server.run('SELECT count(DISTINCT shard) FROM run', url)).toBe(String(SHARDS));
    for (const [n, runId] of runIds.entries()) {
      const key = PROJECTS[n];
      expect(await statusOf(n % 2 === 0 ? one : other, runId)).toBe('waiting');
      const sent = await ask(other, 'POST', '/v1/api/events', { event: 'go', key, project: key, payload: {} });
      expect(sent.body).toMatchObject({ outcome: 'delivered', run_id: runId });
      const late = await start(one, PROJECTS[n] as string, 'later');
      expect((await ask(one, 'POST', `/v1/api/runs/${late}/cancel`, {})).body).toMatchObject({ status: 'cancelled' });
    }
    await eventually('each schedule fires', async () => {
      const fired = await Promise.all(
        PROJECTS.map((project) => ask(other, 'GET', `/v1/api/schedules/s?project=${project}`)),
      );
      return fired.every(({ body }) => (body['firings'] as unknown[]).length > 1);
    });
    await Promise.all([one.stop(), other.stop()]);
    await expect(
      services.start({ SVCD_RUNS_URL: url, SVCD_SQLSTORE_URL: url }, ['--runs-shards', '2']),
    ).rejects.toThrow('does not shrink');
  });
});
