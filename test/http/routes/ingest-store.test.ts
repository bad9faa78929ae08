import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { temporaryFolder } from '../../daemon.ts';
import { spanId, traceId } from '../../ingest/signals.ts';
import { type Door, openDoor } from './ingest-door.ts';
import { otlpProtobuf, otlpSpans } from './otlp-bodies.ts';

// The doors over the embedded store: what an acknowledgement promises.

let folder: ReturnType<typeof temporaryFolder>;
let store: SignalStore;
let door: Door;
const agent = new Agent({ connections: 50 });

beforeEach(async () => {
  folder = temporaryFolder();
  store = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
  door = await openDoor({ writeTo: store });
});
afterEach(async () => {
  await door.close();
  await store.close();
  folder.remove();
});

const post = async (path: string, body: string | Buffer, type: string): Promise<{ status: number; text: string }> => {
  const answer = await request(door.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': type },
    dispatcher: agent,
  });
  return { status: answer.statusCode, text: await answer.body.text() };
};

const spansOf = async (n: number): Promise<readonly string[]> => {
  const found = await store.findTrace(traceId(n), 'all', false);
  return found?.spans.map((span) => span.spanId) ?? [];
};

const batch = (key: string | undefined, ...spans: [trace: number, span: number][]): object => ({
  ...(key === undefined ? {} : { ingest_key: key }),
  spans: spans.map(([trace, span]) => ({
    trace_id: traceId(trace),
    span_id: spanId(span),
    name: 'a span',
    start_time: '2026-11-20T12:00:00Z',
  })),
});

describe('an acknowledged signal', () => {
  it('is read by the next read, whichever door it came through', async () => {
    expect((await post('/v1/traces', otlpProtobuf(otlpSpans(1)), 'application/x-protobuf')).status).toBe(200);
    expect(await spansOf(0)).toEqual([spanId(0)]);
    expect((await post('/v1/ingest', JSON.stringify(batch(undefined, [1, 1])), 'application/json')).status).toBe(200);
    expect(await spansOf(1)).toEqual([spanId(1)]);
  });

  it('is there once when fifty clients send the same keyed batch at the same time, and one of them gets the answer for that', async () => {
    for (let round = 0; round < 5; round += 1) {
      const body = JSON.stringify(batch(`key ${round}`, [round, 0], [round, 1], [round, 2]));
      const answers = await Promise.all(Array.from({ length: 50 }, () => post('/v1/ingest', body, 'application/json')));
      const replies = answers.map(({ text }) => JSON.parse(text) as { accepted: number; duplicate: number });
      expect(replies.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(3);
      expect(replies.reduce((sum, { duplicate }) => sum + duplicate, 0)).toBe(49);
      expect(await spansOf(round)).toHaveLength(3);
    }
  });

  it('is kept under its key by a stream as by a request of its own', async () => {
    await post('/v1/ingest', JSON.stringify(batch('a', [0, 0])), 'application/json');
    const stream = [batch('a', [0, 0]), batch('b', [0, 1]), batch(undefined, [0, 2]), batch('b', [0, 1])];
    const answer = await post(
      '/v1/ingest',
      stream.map((line) => JSON.stringify(line)).join('\n'),
      'application/x-ndjson',
    );
    expect(JSON.parse(answer.text)).toEqual({ accepted: 2, rejected: 0, duplicate: 2, errors: [] });
    expect(await spansOf(0)).toHaveLength(3);
  });
});

describe('a refused request', () => {
  it('leaves nothing behind, and its keys are free', async () => {
    const broken = `${JSON.stringify(batch('a', [0, 0]))}\n{"spans": [`;
    expect((await post('/v1/ingest', broken, 'application/x-ndjson')).status).toBe(400);
    expect(await spansOf(0)).toEqual([]);
    const whole = await post('/v1/ingest', JSON.stringify(batch('a', [0, 0])), 'application/json');
    expect(JSON.parse(whole.text)).toMatchObject({ accepted: 1, duplicate: 0 });
  });
});

describe('a store that was closed', () => {
  it('is answered as one that is away: 503 and a time to retry', async () => {
    await store.close();
    const answer = await post('/v1/ingest', JSON.stringify(batch('a', [0, 0])), 'application/json');
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([503, 'store_unavailable']);
  });
});
