import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { aSpan, aTrace, TRACE } from '../factories.ts';
import { rawRequest, type Service, startService, written } from '../service.ts';

const MEBIBYTE = 1024 * 1024;
const PATH = `/v1/api/traces/${TRACE}`;

let service: Service;
afterEach(() => service.close());

const spans = Array.from({ length: 100 }, (_, n) =>
  aSpan({ spanId: (n + 1).toString(16).padStart(16, '0'), output: 'x'.repeat(1000) }),
);
type ReadTrace = SignalStore['readTrace'];
/** A store whose trace is expected to weigh so much, and comes as these pieces. */
const aTraceOf =
  (bytes: number, pieces: () => AsyncIterable<Uint8Array>): ReadTrace =>
  async (_traceId, _reach, _payloads, expectBytes) => {
    expectBytes(bytes);
    return { trace: aTrace(), projects: ['default'], spans: pieces() };
  };

describe('answers under way', () => {
  it('leave room: what does not fit is refused before a row is read, and is served once there is room again', async () => {
    const goOn = Promise.withResolvers<void>();
    let opened = 0;
    async function* inTwoParts(): AsyncGenerator<Uint8Array> {
      opened += 1;
      yield* written(spans, true);
      await goOn.promise;
      yield* written(spans, true);
    }
    service = await startService({
      maxAnswerBytes: 8 * MEBIBYTE,
      store: { readTrace: aTraceOf(6 * MEBIBYTE, inTwoParts) },
    });
    const first = await rawRequest(service.url + PATH);
    expect([first.statusCode, opened]).toEqual([200, 1]);

    const refused = await service.ask(PATH);
    expect([refused.status, refused.body.code, refused.headers.get('retry-after'), opened]).toEqual([
      429,
      'overloaded',
      '1',
      1,
    ]);
    expect(refused.body.message).toContain('--max-answer-bytes');
    const { text } = await service.ask('/metrics');
    expect(text).toContain('\nsvc_answers_refused_total 1\n');
    expect(text).toContain(`\nsvc_answer_bytes_limit ${8 * MEBIBYTE}\n`);
    expect(Number(/^svc_answer_bytes (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(5 * MEBIBYTE);
    for (const path of ['/v1/api/traces', '/v1/api/logs?limit=10', '/healthz', '/readyz', '/v1/api/doctor'])
      expect((await service.ask(path)).status).toBe(200);

    goOn.resolve();
    expect(((await first.body.json()) as { spans: unknown[] }).spans).toHaveLength(200);
    expect((await service.ask(PATH)).status).toBe(200);
    expect((await service.ask('/metrics')).text).toContain('\nsvc_answer_bytes 0\n');
  });

  it('are read on while they are sent where rows of a list are large, and end where they did: same rows, same cursor', async () => {
    const all = Array.from({ length: 10 }, (_, n) => aTrace({ name: `trace ${n} ${'x'.repeat(10_000)}` }));
    const asked: unknown[] = [];
    // Three rows at a time, whatever the limit is.
    const listTraces: SignalStore['listTraces'] = async ({ limit, after, maxBytes }) => {
      asked.push([limit, after, maxBytes === undefined]);
      const from = Number(after?.[0] ?? 0);
      const to = Math.min(from + limit, maxBytes === undefined ? all.length : from + 3, all.length);
      const items = all.slice(from, to);
      return to < all.length ? { items, next: [to] } : { items };
    };
    service = await startService({ store: { listTraces } });
    const listed = await service.ask('/v1/api/traces?limit=8');
    expect(listed.body.traces.map(({ name }: { name: string }) => name)).toEqual(
      all.slice(0, 8).map(({ name }) => name),
    );
    expect(Object.keys(listed.body)).toEqual(['traces', 'next_cursor']);
    expect(asked).toEqual([
      [8, undefined, false],
      [5, [3], false],
      [2, [6], false],
    ]);
    const rest = await service.ask(`/v1/api/traces?limit=8&cursor=${listed.body.next_cursor}`);
    expect(rest.body.traces.map(({ name }: { name: string }) => name)).toEqual(all.slice(8).map(({ name }) => name));
    expect(rest.body.next_cursor).toBeUndefined();
    expect((await service.ask('/metrics')).text).toContain('\nsvc_answer_bytes 0\n');
  });

  it.each(['zstd', 'br', 'gzip'])(
    'are read from the store no faster than their reader takes them, compressed with %s too, and their room goes back',
    async (coding) => {
      let readBytes = 0;
      const given = Promise.withResolvers<void>();
      async function* incompressible(): AsyncGenerator<Uint8Array> {
        try {
          for (; readBytes < 256 * MEBIBYTE; readBytes += 65_536)
            yield Buffer.from(`,"${randomBytes(49_150).toString('base64')}"`);
        } finally {
          given.resolve();
        }
      }
      service = await startService({
        readerTakesNothingMs: 500,
        store: { readTrace: aTraceOf(256 * MEBIBYTE, incompressible) },
      });
      const answer = await rawRequest(service.url + PATH, { headers: { 'accept-encoding': coding } });
      expect([answer.statusCode, answer.headers['content-encoding']]).toEqual([200, coding]);
      answer.body.on('error', () => {}); // nobody reads it: the service cuts it
      await given.promise;
      expect(readBytes).toBeLessThan(64 * MEBIBYTE);
      expect((await service.ask('/metrics')).text).toContain('\nsvc_answer_bytes 0\n');
    },
  );

  it('are cut short by nobody but their readers: one that is larger than all room is served when it is alone', async () => {
    service = await startService({
      maxAnswerBytes: MEBIBYTE,
      store: { readTrace: aTraceOf(500 * MEBIBYTE, () => written(spans, true)) },
    });
    const answer = await service.ask(PATH);
    expect([answer.status, answer.body.spans.length]).toEqual([200, 100]);
  });

  it('never take from operational routes, the doctor, or who asks who he is, even when there is no room at all', async () => {
    const never = Promise.withResolvers<void>();
    async function* held(): AsyncGenerator<Uint8Array> {
      yield* written(spans, true);
      await never.promise;
    }
    service = await startService({ maxAnswerBytes: 1, store: { readTrace: aTraceOf(1, held) } });
    const first = await rawRequest(service.url + PATH);
    expect(first.statusCode).toBe(200);
    expect((await service.ask('/v1/api/traces')).status).toBe(429);
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/', '/v1/api/doctor', '/v1/api/whoami'])
      expect([path, (await service.ask(path)).status]).toEqual([path, 200]);
    never.resolve();
    await first.body.dump();
  });

  it('that fail before their first byte are refused as ever; later, the connection is cut and the log says so', async () => {
    let sentBefore = 0;
    async function* failing(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < sentBefore; n++) yield* written(spans, true);
      throw new StoreUnavailable('the disk is away');
    }
    service = await startService({ store: { readTrace: aTraceOf(1000, failing) } });
    const refused = await service.ask(PATH);
    expect([refused.status, refused.body]).toEqual([503, { code: 'store_unavailable', message: 'the disk is away' }]);
    sentBefore = 20;
    const begun = await rawRequest(service.url + PATH);
    expect(begun.statusCode).toBe(200);
    await expect(begun.body.text()).rejects.toThrow('other side closed');
    expect(service.logged.filter((line) => line.includes('an answer broke off while it was sent'))).toHaveLength(1);
    expect((await service.ask('/metrics')).text).toContain('\nsvc_answer_bytes 0\n');
  });
});
