/** How signals go out: batches, bounds, tries, and the end of a process. */
import assert from 'node:assert/strict';
import { between, meanwhile, until } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { FakeService } from '../opposite/scripted.ts';
import { spanNamed, spansOf } from './arrived.ts';
import { instrumentation, quickFixture, span, flush, counters } from './instrumentation-stage.ts';

const keysOf = (service: FakeService): unknown[] => service.callsTo('ingest').map((call) => call.body['ingest_key']);
/** A gate for answers. */
const held = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { after: promise, release: resolve };
};
/** A name of a burst: `burst-17` is 17. */
const indexOf = (name: string): number => Number(name.slice(name.lastIndexOf('-') + 1));

export const instrumentationDeliveryScenarios: readonly Scenario[] = [
  instrumentation(
    16,
    'overflow',
    'A full queue drops its oldest, counts exactly, and holds no more than its bound.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service, { max_queued: 100, batch_size: 50 });
      const gate = held();
      service.answer('ingest', {
        status: 200,
        body: { accepted: 50, rejected: 0, duplicate: 0, errors: [] },
        after: gate.after,
      });
      await fixture.ask('burst', { count: 1000 });
      await until('first batch', undefined, () => service.callsTo('ingest').length > 0);
      gate.release();
      await flush(fixture);
      const found = await counters(fixture);
      const names = spansOf(service).map(({ name }) => name);
      assert.equal(new Set(names).size, names.length, 'none arrived twice');
      assert.equal(found.sent, names.length, 'what was sent has arrived');
      assert.equal(found.sent + found.dropped + found.refused + found.failed, 1000, 'every span is counted once');
      assert.ok(found.dropped >= 1000 - 100 - 2 * 50, `${found.dropped} dropped: it held more than it may`);
      const missing = Array.from({ length: 100 }, (_, index) => `burst-${900 + index}`).filter(
        (name) => !names.includes(name),
      );
      assert.deepEqual(missing, [], 'the newest are kept');
    },
  ),

  instrumentation(17, 'byte-bound', 'The queue is bounded in bytes too, and drops its oldest there.', async (world) => {
    const service = await world.scripted();
    const fixture = await quickFixture(world, service, { max_queued_bytes: 1024 * 1024, batch_size: 4 });
    const gate = held();
    service.answer('ingest', {
      status: 200,
      body: { accepted: 4, rejected: 0, duplicate: 0, errors: [] },
      after: gate.after,
    });
    await fixture.ask('burst', { count: 100, payload_bytes: 64 * 1024 });
    await until('first batch', undefined, () => service.callsTo('ingest').length > 0);
    gate.release();
    await flush(fixture);
    const { sent, dropped } = await counters(fixture);
    assert.equal(sent + dropped, 100);
    // 15 of them fit into the bound, and two batches of 4 may be on their way.
    assert.ok(sent <= 23, `${sent} spans of 64 KiB were held, in a queue of 1 MiB`);
    const indexes = spansOf(service).map(({ name }) => indexOf(name));
    assert.ok(indexes.includes(99) && indexes.includes(90), 'the newest are kept');
  }),

  instrumentation(
    18,
    'stalled-service',
    'A service that does not answer makes no call of the user wait.',
    async (world) => {
      const service = await world.scripted();
      service.answerAlways('ingest', 'stall');
      const fixture = await quickFixture(world, service);
      await span(fixture, { name: 'first' });
      await until('a batch that hangs', undefined, () => service.callsTo('ingest').length > 0);
      const startedAt = performance.now();
      await fixture.ask('burst', { count: 10_000 });
      // Half a second where cores are free; a call that waited for the service would never end.
      between('10,000 spans beside a batch that hangs', performance.now() - startedAt, 0, 20_000);
    },
  ),

  instrumentation(
    19,
    'retry-after',
    'After 429 the same batch is sent again, no sooner than Retry-After says.',
    async (world) => {
      const service = await world.scripted();
      service.answer('ingest', {
        status: 429,
        headers: { 'retry-after': '1' },
        body: { code: 'overloaded', message: 'later' },
      });
      const fixture = await quickFixture(world, service);
      await span(fixture, { name: 'patient' });
      await until('second try', undefined, () => service.callsTo('ingest').length > 1);
      const [first, second] = service.callsTo('ingest');
      between('wait before the second try', (second?.at ?? 0) - (first?.at ?? 0), 990, 6000);
      assert.deepEqual(second?.body, first?.body, 'the same batch, with the same key');
      await until('count', undefined, async () => (await counters(fixture)).sent === 1);
    },
  ),

  instrumentation(
    20,
    'resend',
    'A batch that meets 503 twice is sent a third time, with the same ingest_key.',
    async (world) => {
      const service = await world.scripted();
      const later = { status: 503, body: { code: 'unavailable', message: 'later' } };
      service.answer('ingest', later, later);
      const fixture = await quickFixture(world, service);
      await span(fixture, { name: 'again' });
      await until('third try', undefined, () => service.callsTo('ingest').length > 2);
      const keys = keysOf(service);
      assert.equal(typeof keys[0], 'string', 'a batch has a key');
      assert.deepEqual(keys.slice(0, 3), [keys[0], keys[0], keys[0]]);
      await until('count', undefined, async () => (await counters(fixture)).sent === 1);
      await span(fixture, { name: 'next' });
      await flush(fixture);
      assert.notEqual(keysOf(service).at(-1), keys[0], 'another batch has another key');
    },
  ),

  instrumentation(
    21,
    'refused-once',
    'A batch that is refused with 400, 401, 403, 413 or 422 is sent once, and counted.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const statuses = [400, 401, 403, 413, 422];
      for (const status of statuses) {
        service.answer('ingest', { status, body: { code: 'refused', message: 'never' } });
        await span(fixture, { name: `refused-${status}` });
        await flush(fixture);
      }
      // Ten times the wait before a second try.
      await meanwhile(300);
      assert.deepEqual(
        spansOf(service).map(({ name }) => name),
        statuses.map((status) => `refused-${status}`),
      );
      const { refused, sent, failed } = await counters(fixture);
      assert.deepEqual({ refused, sent, failed }, { refused: statuses.length, sent: 0, failed: 0 });
    },
  ),

  instrumentation(
    22,
    'away-at-start',
    'What is recorded while nobody listens is delivered when the service is there.',
    async (world) => {
      const before = await world.scripted();
      const { port } = new URL(before.url);
      await before.stop();
      const fixture = await quickFixture(world, before, { retry: { attempts: 40, base_ms: 20, max_ms: 200 } });
      await span(fixture, { name: 'early' });
      await meanwhile(300);
      const service = await world.scripted({ port: Number(port) });
      await spanNamed(service, 'early');
      await until('count', undefined, async () => (await counters(fixture)).sent === 1);
      assert.equal(spansOf(service).length, 1, 'once');
    },
  ),

  instrumentation(
    23,
    'partly-rejected',
    'Signals that the service rejects in its answer are counted as refused.',
    async (world) => {
      const service = await world.scripted();
      service.answer('ingest', {
        status: 200,
        body: { accepted: 1, rejected: 2, duplicate: 0, errors: [{ signal: 'spans', index: 0, message: 'no' }] },
      });
      const fixture = await quickFixture(world, service, { delay_ms: 200 });
      await fixture.ask('burst', { count: 3 });
      await flush(fixture);
      const { sent, refused } = await counters(fixture);
      assert.deepEqual({ sent, refused }, { sent: 1, refused: 2 });
      assert.equal(service.callsTo('ingest').length, 1, 'what is rejected is not sent again');
    },
  ),

  instrumentation(
    24,
    'flush',
    'flush is true once all has arrived, and false when its time is over.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service, { delay_ms: 60_000 });
      await span(fixture, { name: 'waits' });
      await meanwhile(100);
      assert.equal(service.callsTo('ingest').length, 0, 'it waits for others to travel with');
      assert.equal((await flush(fixture)).flushed, true);
      assert.deepEqual(
        spansOf(service).map(({ name }) => name),
        ['waits'],
      );
      service.answerAlways('ingest', 'stall');
      await span(fixture, { name: 'stuck' });
      const startedAt = performance.now();
      const { flushed } = await fixture.ask<{ flushed: boolean }>('flush', { timeout_ms: 300 });
      assert.equal(flushed, false);
      between('a flush of 300 ms', performance.now() - startedAt, 290, 4000);
    },
  ),

  instrumentation(
    25,
    'exit-flushes',
    'A program that closes what it uses and exits has delivered everything.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service, { delay_ms: 60_000 });
      await fixture.ask('burst', { count: 50 });
      fixture.send('exit', { code: 3 });
      assert.equal((await fixture.exited).code, 3, 'the program ends with its own status');
      assert.equal(spansOf(service).length, 50);
    },
  ),

  instrumentation(
    26,
    'exit-without-service',
    'With a service that does not answer, closing ends within its deadline of 5 s.',
    async (world) => {
      const service = await world.scripted();
      service.answerAlways('ingest', 'stall');
      const fixture = await quickFixture(world, service);
      await fixture.ask('burst', { count: 50 });
      const startedAt = performance.now();
      fixture.send('exit', {});
      await fixture.exited;
      between('exit', performance.now() - startedAt, 0, 8000);
    },
  ),

  instrumentation(27, 'after-close', 'Calls after close do nothing: no error, and nothing is sent.', async (world) => {
    const service = await world.scripted();
    const fixture = await quickFixture(world, service);
    await span(fixture, { name: 'before' });
    await fixture.ask('close', { timeout_ms: 5000 });
    const before = service.calls.length;
    assert.equal(spansOf(service).length, 1, 'close delivers what was recorded');
    const late = await span(fixture, {
      name: 'late',
      inside: [{ do: 'log', with: { severity: 'info', message: 'late' } }],
    });
    assert.match(late.trace_id, /^[0-9a-f]{32}$/);
    await fixture.ask('metric', { name: 'late', type: 'counter', value: 1 });
    await fixture.ask('flush', { timeout_ms: 500 });
    await fixture.ask('close', { timeout_ms: 500 });
    await meanwhile(200);
    assert.equal(service.calls.length, before, 'nothing is sent after close');
  }),

  instrumentation(
    31,
    'fork',
    "A forked child delivers its own spans, and none of its parent's.",
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      await span(fixture, { name: 'before' });
      await fixture.ask('fork', { name: 'in-child' });
      await span(fixture, { name: 'after' });
      await flush(fixture);
      await spanNamed(service, 'in-child');
      assert.deepEqual(
        spansOf(service)
          .map(({ name }) => name)
          .toSorted(),
        ['after', 'before', 'in-child'],
        'each once',
      );
    },
    { needs: ['fork'] },
  ),

  instrumentation(
    32,
    'threads',
    'Spans of many threads are neither lost nor doubled.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      await fixture.ask('burst', { count: 8000, threads: 8 });
      await flush(fixture);
      const names = spansOf(service).map(({ name }) => name);
      assert.equal(new Set(names).size, 8000, 'none is lost');
      assert.equal(names.length, 8000, 'none is doubled');
      const ids = new Set(spansOf(service).map(({ span_id }) => span_id));
      assert.equal(ids.size, 8000, 'each has an id of its own');
    },
    { needs: ['threads'] },
  ),

  instrumentation(82, 'without-flush', 'Signals go out by themselves, soon, several in one batch.', async (world) => {
    const service = await world.scripted();
    const fixture = await quickFixture(world, service, { delay_ms: 200 });
    await fixture.ask('burst', { count: 100 });
    await until('all of them', undefined, () => spansOf(service).length === 100);
    assert.ok(service.callsTo('ingest').length <= 5, 'they travel together');
  }),
];
