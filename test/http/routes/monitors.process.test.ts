import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../eventually.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../../daemon.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Posted = Record<string, unknown>;

/** A receiver of webhooks on this machine, and what it was sent. */
const startReceiver = async () => {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      posted.push(JSON.parse(body) as Posted);
      response.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/s3cret-path`, posted };
};

const start = async (config: object, flags: readonly string[] = []): Promise<Daemon> => {
  const folder = temporaryFolder();
  cleanups.push(() => folder.remove());
  const file = join(folder.path, 'config.json');
  writeFileSync(file, JSON.stringify({ monitor_interval_seconds: 1, ...config }));
  const daemon = await startDaemon(folder.path, ['--config-file', file, ...flags]);
  cleanups.push(() => daemon.stop());
  return daemon;
};

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads answers freely, and fails where they are not as it says
const ask = async (url: string, init?: RequestInit): Promise<any> => (await fetch(url, init)).json();

const send = async ({ url }: Daemon, batch: object): Promise<void> => {
  const answer = await ask(`${url}/v1/ingest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(batch),
  });
  expect(answer.errors).toEqual([]);
};

let made = 0;
/** Runs of one span that started a moment ago. */
const runs = (count: number, status: 'ok' | 'error'): object[] =>
  Array.from({ length: count }, () => {
    made += 1;
    const id = made.toString(16);
    return {
      trace_id: id.padStart(32, 'a'),
      span_id: id.padStart(16, 'b'),
      name: 'answer',
      kind: 'agent_run',
      status,
      start_time: new Date(Date.now() - 2000).toISOString(),
      end_time: new Date(Date.now() - 1000).toISOString(),
    };
  });

/** Asks until the answer is as it should be: the daemon evaluates each second, on its own clock. */
const until = async <T>(read: () => Promise<T> | T, isReady: (value: T) => boolean): Promise<T> => {
  let value = await read();
  await eventually('an answer as it should be', async () => {
    value = await read();
    return isReady(value);
  });
  return value;
};

const monitor = (id: string, watch: string, threshold: number, more: object = {}) => ({
  id,
  watch,
  threshold,
  compare: 'above',
  window_seconds: 3600,
  min_samples: 5,
  ...more,
});

describe('the daemon watches', () => {
  it('a failing agent trips once, is acknowledged, recovers once; webhook and log tell it, the path of the webhook nobody', async () => {
    const receiver = await startReceiver();
    const daemon = await start({
      monitors: [monitor('errors', 'error_rate', 0.5, { webhook: receiver.url })],
      slos: [{ id: 'works', objective: 0.9, window_days: 30, min_samples: 5 }],
    });
    await send(daemon, { spans: runs(6, 'error') });
    const read = async () => (await ask(`${daemon.url}/v1/api/monitors`)).monitors[0];
    expect(await until(read, ({ condition }) => condition === 'tripped')).toMatchObject({ value: 1, samples: 6 });
    const acknowledged = await ask(`${daemon.url}/v1/api/monitors/errors/ack`, { method: 'POST' });
    expect(acknowledged.condition).toBe('acknowledged');
    const { evaluated_at: before } = await read();
    await until(read, ({ evaluated_at }) => evaluated_at > before);
    expect((await read()).condition).toBe('acknowledged');

    await send(daemon, { spans: runs(6, 'ok') });
    await until(read, ({ condition }) => condition === 'nominal');
    await until(
      () => receiver.posted,
      ({ length }) => length === 2,
    );
    expect(receiver.posted.map(({ monitor_id, condition, value }) => [monitor_id, condition, value])).toEqual([
      ['errors', 'tripped', 1],
      ['errors', 'nominal', 0.5],
    ]);
    // A round reads the objective beside the monitor, in no order.
    const slo = await until(
      async () => (await ask(`${daemon.url}/v1/api/slos`)).slos[0],
      ({ samples }) => samples === 12,
    );
    expect(slo).toMatchObject({ success_rate: 0.5, burn_rate_1h: 5, budget_remaining: -4, samples: 12 });
    const { evaluations } = await ask(`${daemon.url}/v1/api/monitors/errors/history?limit=1000`);
    expect(new Set(evaluations.map(({ condition }: Posted) => condition))).toEqual(
      new Set(['nominal', 'tripped', 'acknowledged']),
    );

    expect(await daemon.stop()).toBe(0);
    const logged = daemon.lines
      .map((line) => JSON.parse(line) as Posted)
      .filter((line) => line['monitor_id'] === 'errors');
    expect(logged.map(({ condition, level }) => [condition, level])).toEqual([
      ['tripped', 'warn'],
      ['nominal', 'info'],
    ]);
    expect(daemon.lines.join('\n')).not.toContain('s3cret');
  });

  it.each([['on'], ['off']] as const)('actors show monitors with durable runs %s', async (state) => {
    const daemon = await start(
      {
        monitors: [
          monitor('steps', 'step_count_divergence', 0),
          monitor('silence', 'trace_count', 1, { compare: 'below', min_samples: 0 }),
        ],
        slos: [{ id: 'works', objective: 0.9, window_days: 1 }],
      },
      state === 'off' ? ['--runs-data', 'off'] : [],
    );
    const { monitors } = await until(
      () => ask(`${daemon.url}/v1/api/monitors`),
      (answer) => answer.monitors.every(({ evaluated_at }: Posted) => evaluated_at !== undefined),
    );
    expect(monitors.map(({ id, condition }: Posted) => [id, condition])).toEqual([
      ['silence', 'tripped'],
      ['steps', 'nominal'],
    ]);
    expect(monitors[1].detail.includes('--runs-data is off')).toBe(state === 'off');
    const { actors } = await ask(`${daemon.url}/v1/api/actors`);
    expect(actors.map(({ type, id, value }: Posted) => [type, id, value])).toEqual([
      ['monitor', 'silence', 'tripped'],
      ['monitor', 'steps', 'nominal'],
      ['slo', 'works', 'nominal'],
      ['pipeline', 'main', expect.any(String)],
      ...(state === 'off' ? [] : ['timer', 'dispatcher', 'outbox'].map((type) => [type, 'main', expect.any(String)])),
    ]);
    const paged: unknown[] = [];
    for (let cursor = ''; ; ) {
      const page = await ask(`${daemon.url}/v1/api/actors?limit=1${cursor}`);
      paged.push(...page.actors.map(({ type, id }: Posted) => [type, id]));
      if (page.next_cursor === undefined) break;
      cursor = `&cursor=${String(page.next_cursor)}`;
    }
    expect(paged).toEqual(actors.map(({ type, id }: Posted) => [type, id]));
    expect(await ask(`${daemon.url}/v1/api/actors/monitor/silence`)).toMatchObject({
      machine: 'monitor',
      machine_version: 1,
      value: 'tripped',
      status: 'active',
      mailbox: 0,
      context: { rule: { compare: 'below', threshold: 1, minSamples: 0 }, reading: { value: 0, samples: 0 } },
    });
    expect(await ask(`${daemon.url}/v1/api/actors/pipeline/main`)).toMatchObject({
      machine: 'pipeline',
      status: 'active',
      mailbox: 0,
      context: { requests: 0, heldBytes: 0, perSecond: { refused: 0 } },
    });
    const timer = await fetch(`${daemon.url}/v1/api/actors/timer/main`);
    expect(timer.status).toBe(state === 'off' ? 404 : 200);
    const { machines } = await ask(`${daemon.url}/v1/api/machines`);
    expect(machines.map(({ name }: Posted) => name)).toEqual([
      'bulk',
      'definition',
      'dispatcher',
      'lease',
      'limit',
      'monitor',
      'outbox',
      'pipeline',
      'schedule',
      'slo',
      'timer',
    ]);
    expect(await (await fetch(`${daemon.url}/v1/api/machines/slo?format=mermaid`)).text()).toContain('stateDiagram');
  });

  it('“was it tripped last night” is answered after a restart, with the snapshot of then; it starts nominal all the same', async () => {
    const folder = temporaryFolder();
    cleanups.push(() => folder.remove());
    const file = join(folder.path, 'config.json');
    const silence = monitor('silence', 'trace_count', 1, { compare: 'below', min_samples: 0 });
    writeFileSync(file, JSON.stringify({ monitor_interval_seconds: 1, monitors: [silence] }));
    type Transition = { readonly seq: number; readonly event: string; readonly to: string };
    const historyOf = async ({ url }: Daemon): Promise<readonly Transition[]> =>
      (await ask(`${url}/v1/api/monitors/silence/history`)).transitions;

    const night = await startDaemon(folder.path, ['--config-file', file]);
    cleanups.push(() => night.stop());
    await until(
      () => historyOf(night),
      ({ length }) => length === 2,
    );
    await ask(`${night.url}/v1/api/monitors/silence/ack`, { method: 'POST' });
    const then = await historyOf(night);
    expect(then.map(({ seq, event, to }) => [seq, event, to])).toEqual([
      [3, 'trip.acknowledged', 'acknowledged'],
      [2, 'evaluation.ended', 'tripped'],
      [1, 'watch.started', 'nominal'],
    ]);
    const { version } = await ask(`${night.url}/v1/api/actors/monitor/silence`);
    expect(await night.stop()).toBe(0);

    const morning = await startDaemon(folder.path, ['--config-file', file]);
    cleanups.push(() => morning.stop());
    const now = await until(
      () => historyOf(morning),
      ({ length }) => length === 5,
    );
    expect(now.slice(2)).toEqual(then);
    expect(now.slice(0, 2).map(({ seq, event, to }) => [seq, event, to])).toEqual([
      [5, 'evaluation.ended', 'tripped'],
      [4, 'watch.started', 'nominal'],
    ]);
    const asked = `${morning.url}/v1/api/actors/monitor/silence`;
    expect(await ask(`${asked}?at_seq=3`)).toMatchObject({ value: 'acknowledged', context: { reading: { value: 0 } } });
    expect((await ask(`${asked}?at_seq=6`)).code).toBe('not_found');
    expect((await ask(asked)).version).toBeGreaterThan(version);
    expect(await morning.stop()).toBe(0);
    // Each start tells of the trip anew: nothing that decides was read back.
    for (const { lines } of [night, morning])
      expect(lines.filter((line) => line.includes('"monitor_id":"silence"'))).toHaveLength(1);
  });

  it('a receiver that hangs delays no evaluation, and holds up no stop', async () => {
    let hanging = 0;
    let most = 0;
    let over = 0;
    const server = createServer((_request, response) => {
      hanging += 1;
      most = Math.max(most, hanging);
      response.on('close', () => {
        hanging -= 1;
        over += 1;
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/s3cret-path`;
    const silence = { compare: 'below', min_samples: 0, webhook };
    const daemon = await start({
      monitors: Array.from({ length: 20 }, (_, n) => monitor(`m-${n}`, 'trace_count', 1, silence)),
    });
    const evaluations = async (): Promise<number> =>
      (await ask(`${daemon.url}/v1/api/monitors/m-7/history`)).evaluations.length;
    await eventually('the receiver to hang, with as many reports as are sent at a time', () => most === 4);
    const before = await evaluations();
    await eventually('three more evaluations', async () => (await evaluations()) >= before + 3);
    // Each hangs until its own deadline: had the evaluations waited for their reports, all twenty would be over.
    expect(over).toBeLessThan(20);
    expect(most).toBe(4);
    // Waited for, they would take five times ten seconds, and the stop would be cut off with 1.
    expect(await daemon.stop()).toBe(0);
    const dropped = daemon.lines.filter((line) => line.includes('a webhook was not delivered'));
    expect(dropped).toHaveLength(20);
    expect(daemon.lines.join('\n')).not.toContain('s3cret');
  });

  it('a trace_count monitor that cannot see an outage is warned about at the start', async () => {
    const daemon = await start({
      monitors: [monitor('traffic', 'trace_count', 100, { compare: 'below', min_samples: 20 })],
    });
    expect(daemon.lines.filter((line) => line.includes('min_samples to 0'))).toHaveLength(1);
  });
});
