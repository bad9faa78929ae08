import assert from 'node:assert/strict';
import type { Fixture } from '../kit/fixture.ts';
import { between, meanwhile, until } from '../kit/judging.ts';
import { area, type Scenario, type World } from '../kit/scenario.ts';
import type { FakeService } from '../opposite/scripted.ts';
import { arrived, type Json, signalWhere, spanNamed, spansOf } from './arrived.ts';
import { sampling, traceparents } from './vectors.ts';

const instrumentation = area('instrumentation');

type SpanResult = {
  readonly trace_id: string;
  readonly span_id: string;
  readonly traceparent: string;
  readonly inside: readonly SpanResult[];
  readonly raised?: string;
};
type Counters = {
  readonly sent: number;
  readonly dropped: number;
  readonly refused: number;
  readonly failed: number;
  readonly invalid?: number;
};

/** Batches go out soon, and tries come soon after one another. */
const QUICK = { delay_ms: 20, retry: { attempts: 5, base_ms: 20, max_ms: 200 } };
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{3}|\d{6}|\d{9})Z$/;

const quickFixture = async (world: World, service: { readonly url: string }, more: object = {}): Promise<Fixture> => {
  const fixture = await world.fixture({ SVC_ENDPOINT: service.url });
  await fixture.ask('configure', { ...QUICK, ...more });
  return fixture;
};
const span = (fixture: Fixture, input: object): Promise<SpanResult> => fixture.ask<SpanResult>('span', input);
const flush = (fixture: Fixture): Promise<{ flushed: boolean }> => fixture.ask('flush', { timeout_ms: 8000 });
const counters = (fixture: Fixture): Promise<Counters> => fixture.ask('counters');
const keysOf = (service: FakeService): unknown[] => service.callsTo('ingest').map((call) => call.body['ingest_key']);

/** A gate for answers. */
const held = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { after: promise, release: resolve };
};

/** A name of a burst: `burst-17` is 17. */
const indexOf = (name: string): number => Number(name.slice(name.lastIndexOf('-') + 1));

export const instrumentationScenarios: readonly Scenario[] = [
  instrumentation(
    9,
    'golden-span',
    'A span arrives with all that was set, its times in order, and nothing that was not set.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service, { project: 'shop' });
      const made = await span(fixture, {
        name: 'draft',
        kind: 'model_generation',
        input: { messages: [{ role: 'user', content: 'Grüße 😀' }] },
        output: 'an answer',
        model: 'gpt-4o-mini',
        provider: 'openai',
        entity_name: 'writer',
        usage: { input_tokens: 220, output_tokens: 31 },
        attributes: { 'shop.order': 17, 'shop.vip': true },
        correlation: { user_id: 'u-1' },
        events: [{ name: 'first_token', attributes: { index: 0 } }],
      });
      await span(fixture, { name: 'bare' });
      await flush(fixture);
      const golden = await spanNamed(service, 'draft');
      const { start_time, end_time, events, scope_name: _scope, ...rest } = golden;
      assert.deepEqual(rest, {
        trace_id: made.trace_id,
        span_id: made.span_id,
        name: 'draft',
        kind: 'model_generation',
        status: 'ok',
        input: { messages: [{ role: 'user', content: 'Grüße 😀' }] },
        output: 'an answer',
        model: 'gpt-4o-mini',
        provider: 'openai',
        entity_name: 'writer',
        usage: { input_tokens: 220, output_tokens: 31 },
        attributes: { 'shop.order': 17, 'shop.vip': true },
        correlation: { project: 'shop', user_id: 'u-1' },
      });
      assert.match(start_time, TIMESTAMP);
      assert.match(end_time, TIMESTAMP);
      assert.ok(Date.parse(end_time) >= Date.parse(start_time), 'it ends no earlier than it starts');
      between('age of the span', Date.now() - Date.parse(start_time), -1000, 60_000);
      const [event] = events as readonly Json[];
      assert.equal(event?.['name'], 'first_token');
      assert.deepEqual(event?.['attributes'], { index: 0 });
      assert.match(String(event?.['time']), TIMESTAMP);

      const bare = await spanNamed(service, 'bare');
      for (const [member, value] of Object.entries(bare)) assert.notEqual(value, null, `${member} is null, not absent`);
      for (const member of ['input', 'output', 'model', 'usage', 'error', 'parent_span_id'])
        assert.ok(!(member in bare), `${member} is there though nobody set it`);
      assert.notEqual(bare.trace_id, made.trace_id, 'a span outside of any begins a trace');
    },
  ),

  instrumentation(
    10,
    'nesting',
    'Spans nest, also behind an asynchronous hop, and logs belong to the span around them.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const outer = await span(fixture, {
        name: 'outer',
        hop: true,
        correlation: { session_id: 's-1' },
        inside: [
          {
            do: 'span',
            with: { name: 'inner', hop: true, inside: [{ do: 'log', with: { severity: 'warn', message: 'deep' } }] },
          },
          { do: 'span', with: { name: 'second' } },
        ],
      });
      await span(fixture, { name: 'after' });
      await flush(fixture);
      const inner = await spanNamed(service, 'inner');
      const second = await spanNamed(service, 'second');
      for (const child of [inner, second]) {
        assert.equal(child.trace_id, outer.trace_id, `${child.name} is in the trace of its parent`);
        assert.equal(child.parent_span_id, outer.span_id, `${child.name} is a child of the span around it`);
        assert.deepEqual(child.correlation, { session_id: 's-1' }, 'what the parent belongs to, its child does');
      }
      const log = await signalWhere(service, 'logs', 'deep', (each) => each['message'] === 'deep');
      assert.equal(log['trace_id'], outer.trace_id);
      assert.equal(log['span_id'], inner.span_id);
      assert.equal(
        (await spanNamed(service, 'after')).parent_span_id,
        undefined,
        "a span that has ended is nobody's parent",
      );
    },
  ),

  instrumentation(
    11,
    'traceparent-in',
    'A span continues the trace of an incoming traceparent, whatever its flag says.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const valid = traceparents.cases.filter(({ trace_id }) => trace_id !== null);
      for (const [index, { header }] of valid.entries())
        await span(fixture, { name: `in-${index}`, traceparent: header });
      await flush(fixture);
      for (const [index, { trace_id, span_id, why }] of valid.entries()) {
        const sent = await spanNamed(service, `in-${index}`);
        assert.equal(sent.trace_id, trace_id, why);
        assert.equal(sent.parent_span_id, span_id, why);
      }
    },
  ),

  instrumentation(
    12,
    'traceparent-out',
    'Inside a span there is a traceparent of that span for outgoing calls.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const outer = await span(fixture, { name: 'outer', inside: [{ do: 'span', with: { name: 'inner' } }] });
      const inner = outer.inside[0];
      assert.equal(outer.traceparent, `00-${outer.trace_id}-${outer.span_id}-01`);
      assert.equal(inner?.traceparent, `00-${outer.trace_id}-${inner?.span_id}-01`);
      await flush(fixture);
      assert.equal(
        (await spanNamed(service, 'inner')).span_id,
        inner?.span_id,
        'the header names the span that arrives',
      );
    },
  ),

  instrumentation(
    13,
    'traceparent-malformed',
    'A malformed traceparent begins a new trace, and refuses nothing.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const bad = traceparents.cases.filter(({ trace_id }) => trace_id === null);
      for (const [index, { header }] of bad.entries())
        await span(fixture, { name: `bad-${index}`, traceparent: header });
      await flush(fixture);
      const traces = new Set<string>();
      for (const [index, { why }] of bad.entries()) {
        const sent = await spanNamed(service, `bad-${index}`);
        assert.equal(sent.parent_span_id, undefined, why);
        assert.match(sent.trace_id, /^(?!0+$)[0-9a-f]{32}$/, why);
        traces.add(sent.trace_id);
      }
      assert.equal(traces.size, bad.length, 'each begins a trace of its own');
    },
  ),

  instrumentation(
    14,
    'sampling',
    'SVC_SAMPLE keeps exactly the traces that the service would keep, by their ids.',
    async (world) => {
      const service = await world.scripted();
      const chosen = sampling.fractions.entries().filter(([, fraction]) => fraction > 0 && fraction < 1);
      await Promise.all(
        [...chosen].map(async ([column, fraction]) => {
          const fixture = await world.fixture({ SVC_ENDPOINT: service.url, SVC_SAMPLE: String(fraction) });
          for (const { trace_id } of sampling.cases) {
            const made = await span(fixture, {
              name: `${fraction}-${trace_id}`,
              traceparent: `00-${trace_id}-b7ad6b7169203331-01`,
            });
            const kept = sampling.cases.find((each) => each.trace_id === trace_id)?.kept[column];
            assert.equal(
              made.traceparent.slice(-2),
              kept === true ? '01' : '00',
              `the flag of ${trace_id} at ${fraction}`,
            );
          }
          await flush(fixture);
          const expected = sampling.cases
            .filter(({ kept }) => kept[column])
            .map(({ trace_id }) => `${fraction}-${trace_id}`);
          const names = (): string[] =>
            spansOf(service)
              .map(({ name }) => name)
              .filter((name) => name.startsWith(`${fraction}-`));
          await until(`${expected.length} spans at ${fraction}`, undefined, () => names().length >= expected.length);
          assert.deepEqual(names().toSorted(), expected.toSorted());
        }),
      );
    },
  ),

  instrumentation(
    15,
    'hostile-values',
    'What JSON cannot say stops nothing: it arrives as JSON, or it is counted.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      let recorded = 0;
      for (const what of ['cycle', 'nan', 'huge', 'bad_text', 'throws']) {
        const answer = await fixture.send('hostile', { name: `hostile-${what}`, what }).answer;
        if (answer.error !== undefined && answer.error.type !== 'Unrepresentable')
          assert.fail(`${what} reached the user: ${JSON.stringify(answer.error)}`);
        if (answer.error === undefined) recorded += 1;
      }
      await span(fixture, { name: 'after-it' });
      await flush(fixture);
      await spanNamed(service, 'after-it');
      const hostile = spansOf(service).filter(({ name }) => name.startsWith('hostile-'));
      const { dropped, refused, failed, invalid = 0 } = await counters(fixture);
      assert.equal(
        hostile.length + dropped + refused + failed + invalid,
        recorded,
        'each arrived or was counted, once',
      );
    },
  ),

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
    28,
    'score-without-scale',
    'A score whose scale says nothing is not sent: it is counted, or its types refuse it.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const { trace_id } = await span(fixture, { name: 'scored' });
      const upside = await fixture.send('score', { trace_id, scorer_id: 's', value: 1, min: 1, max: 1 }).answer;
      assert.equal(upside.error, undefined, 'no error reaches the user');
      const without = await fixture.send('score', { trace_id, scorer_id: 's', value: 1 }).answer;
      if (without.error !== undefined) assert.equal(without.error.type, 'Unrepresentable', 'no error reaches the user');
      await flush(fixture);
      assert.deepEqual(arrived(service, 'scores'), []);
      const { dropped, invalid = 0 } = await counters(fixture);
      assert.equal(dropped + invalid, without.error === undefined ? 2 : 1, 'counted');
    },
  ),

  instrumentation(
    29,
    'six-signals',
    'Spans, logs, metrics of three types, scores, feedback and aspect notes arrive with what belongs to them.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service, { project: 'shop' });
      const { trace_id, span_id } = await span(fixture, {
        name: 'all',
        inside: [
          { do: 'log', with: { severity: 'error', message: 'broken', logger: 'shop', attributes: { code: 7 } } },
          { do: 'score', with: { scorer_id: 'exact', value: 0.5, min: 0, max: 2, reason: 'half' } },
          { do: 'feedback', with: { kind: 'rating', value: 4, scale_min: 1, scale_max: 5, comment: 'good' } },
          { do: 'aspect_note', with: { aspect: 'tone', text: 'friendly' } },
          { do: 'metric', with: { name: 'orders', type: 'counter', value: 2, unit: '1', attributes: { shop: 'a' } } },
          { do: 'metric', with: { name: 'queue', type: 'gauge', value: 7 } },
          {
            do: 'metric',
            with: { name: 'latency', type: 'histogram', count: 3, sum: 6.5, bounds: [1, 5], bucket_counts: [1, 2, 0] },
          },
        ],
      });
      await flush(fixture);
      const only = async (signals: Parameters<typeof arrived>[1]): Promise<Json> =>
        signalWhere(service, signals, 'any', () => true);
      const part = (signal: Json, ...members: string[]): Json =>
        Object.fromEntries(members.map((member) => [member, signal[member]]));

      assert.deepEqual(part(await only('logs'), 'severity', 'message', 'logger', 'trace_id', 'span_id', 'attributes'), {
        ...{ severity: 'error', message: 'broken', logger: 'shop', trace_id, span_id, attributes: { code: 7 } },
      });
      assert.deepEqual(part(await only('scores'), 'trace_id', 'scorer_id', 'value', 'min', 'max', 'source', 'reason'), {
        ...{ trace_id, scorer_id: 'exact', value: 0.5, min: 0, max: 2, source: 'live', reason: 'half' },
      });
      assert.deepEqual(part(await only('feedback'), 'trace_id', 'kind', 'value', 'comment', 'metadata'), {
        ...{ trace_id, kind: 'rating', value: 4, comment: 'good', metadata: { scale_min: 1, scale_max: 5 } },
      });
      assert.deepEqual(part(await only('aspect_notes'), 'trace_id', 'aspect', 'text'), {
        ...{ trace_id, aspect: 'tone', text: 'friendly' },
      });
      const metric = (name: string): Promise<Json> =>
        signalWhere(service, 'metrics', name, (each) => each['name'] === name);
      assert.deepEqual(part(await metric('orders'), 'type', 'value', 'unit', 'temporality', 'attributes'), {
        ...{ type: 'counter', value: 2, unit: '1', temporality: 'delta', attributes: { shop: 'a' } },
      });
      assert.deepEqual(part(await metric('queue'), 'type', 'value'), { type: 'gauge', value: 7 });
      assert.deepEqual(part(await metric('latency'), 'type', 'count', 'sum', 'bounds', 'bucket_counts'), {
        ...{ type: 'histogram', count: 3, sum: 6.5, bounds: [1, 5], bucket_counts: [1, 2, 0] },
      });
      for (const signals of ['logs', 'scores', 'feedback', 'aspect_notes', 'metrics'] as const)
        for (const signal of arrived(service, signals)) {
          assert.deepEqual(signal['correlation'], { project: 'shop' }, `${signals}: what they belong to`);
          assert.match(String(signal['timestamp']), TIMESTAMP, `${signals}: when`);
        }
    },
  ),

  instrumentation(
    30,
    'log-bridge',
    "Records of the language's own logging arrive as logs of the span around them.",
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const made = await span(fixture, {
        name: 'logs',
        inside: [{ do: 'log.native', with: { level: 'warn', message: 'by the language' } }],
      });
      await flush(fixture);
      const log = await signalWhere(
        service,
        'logs',
        'by the language',
        (each) => each['message'] === 'by the language',
      );
      assert.equal(log['severity'], 'warn');
      assert.equal(log['trace_id'], made.trace_id);
      assert.equal(log['span_id'], made.span_id);
    },
    { needs: ['log_bridge'] },
  ),

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

  instrumentation(
    81,
    'failed-span',
    'An error inside a span marks it, and goes on to the caller as it was.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const { raised } = await span(fixture, { name: 'fails', error: 'the bank is closed' });
      assert.equal(raised, 'the bank is closed');
      await flush(fixture);
      const failed = await spanNamed(service, 'fails');
      assert.equal(failed['status'], 'error');
      assert.equal((failed['error'] as Json)['message'], 'the bank is closed');
    },
  ),

  instrumentation(82, 'without-flush', 'Signals go out by themselves, soon, several in one batch.', async (world) => {
    const service = await world.scripted();
    const fixture = await quickFixture(world, service, { delay_ms: 200 });
    await fixture.ask('burst', { count: 100 });
    await until('all of them', undefined, () => spansOf(service).length === 100);
    assert.ok(service.callsTo('ingest').length <= 5, 'they travel together');
  }),

  instrumentation(
    83,
    'otel-bridge',
    'Inside a span of OpenTelemetry, ours is its child.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await quickFixture(world, service);
      const outer = await fixture.ask<SpanResult>('otel.span', {
        name: 'theirs',
        inside: [{ do: 'span', with: { name: 'ours' } }],
      });
      await flush(fixture);
      const ours = await spanNamed(service, 'ours');
      assert.equal(ours.trace_id, outer.trace_id);
      assert.equal(ours.parent_span_id, outer.span_id);
    },
    { needs: ['otel_bridge'] },
  ),
];
