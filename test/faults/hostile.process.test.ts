import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

const folder = temporaryFolder();
const daemons: Daemon[] = [];
afterEach(async () => {
  await Promise.all(daemons.splice(0).map((daemon) => daemon.stop()));
});
afterAll(() => folder.remove());

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
let homes = 0;
const start = async (config: object = {}): Promise<Daemon> => {
  const home = join(folder.path, `home-${++homes}`);
  mkdirSync(home);
  const file = join(home, 'svc.json');
  writeFileSync(file, JSON.stringify(config));
  const daemon = await startDaemon(home, ['--config-file', file]);
  daemons.push(daemon);
  return daemon;
};
type Answer = { readonly status: number; readonly body: Record<string, unknown> };
const call = async (daemon: Daemon, method: string, path: string, key?: string, body?: object): Promise<Answer> => {
  const answer = await fetch(daemon.url + path, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const aSpan = (traceId: string) => ({
  trace_id: traceId,
  span_id: hex(8),
  name: 'a span',
  start_time: new Date().toISOString(),
});

describe('senders who share a service and not a project', () => {
  it('may use the same ingest key: neither takes the batch of the other for a resend of its own', async () => {
    const keysOf = (name: string) => ({ keys: { ingest: [`ingest-key-of-${name}`], read: [`read-key-of-${name}`] } });
    const daemon = await start({ projects: { alpha: keysOf('alpha'), beta: keysOf('beta') } });
    for (const name of ['alpha', 'beta']) {
      const traceId = hex(16);
      const batch = { ingest_key: 'batch-1', spans: [{ ...aSpan(traceId), correlation: { project: name } }] };
      const first = await call(daemon, 'POST', '/v1/ingest', `ingest-key-of-${name}`, batch);
      expect(first.body).toMatchObject({ accepted: 1, duplicate: 0 });
      const again = await call(daemon, 'POST', '/v1/ingest', `ingest-key-of-${name}`, batch);
      expect(again.body).toMatchObject({ accepted: 0, duplicate: 1 });
      const read = await call(daemon, 'GET', `/v1/api/traces/${traceId}`, `read-key-of-${name}`);
      expect(read.status).toBe(200);
    }
  });
});

describe('erasure of a trace', () => {
  it('reaches logs, scores, feedback and notes that name it when none of its spans has arrived', async () => {
    const daemon = await start();
    const traceId = hex(16);
    const at = new Date().toISOString();
    const sent = await call(daemon, 'POST', '/v1/ingest', undefined, {
      logs: [{ timestamp: at, severity: 'info', message: 'a message', trace_id: traceId }],
      scores: [{ score_id: '', trace_id: traceId, scorer_id: 'q', value: 1, timestamp: at }],
      feedback: [{ feedback_id: '', trace_id: traceId, kind: 'comment', value: 'fine', timestamp: at }],
      aspect_notes: [{ trace_id: traceId, aspect: 'a', text: 'a note', timestamp: at }],
    });
    expect(sent.body).toMatchObject({ accepted: 4 });
    const deleted = await call(daemon, 'DELETE', `/v1/api/traces/${traceId}`);
    expect([deleted.status, deleted.body]).toEqual([200, { deleted: true, deletes_pending: false }]);
    for (const [path, list] of [
      [`logs?trace_id=${traceId}`, 'logs'],
      [`scores?trace_id=${traceId}`, 'scores'],
      [`feedback?trace_id=${traceId}`, 'feedback'],
      [`aspect_notes?trace_id=${traceId}`, 'aspect_notes'],
    ] as const)
      expect((await call(daemon, 'GET', `/v1/api/${path}`)).body[list]).toEqual([]);
    expect((await call(daemon, 'DELETE', `/v1/api/traces/${traceId}`)).status).toBe(404);
  });
});
