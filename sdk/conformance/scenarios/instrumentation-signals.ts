/** What a signal says. */
import assert from 'node:assert/strict';
import { between, until } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import { arrived, type Json, signalWhere, spanNamed, spansOf } from './arrived.ts';
import { sampling, traceparents } from './vectors.ts';
import { instrumentation, type SpanResult, quickFixture, span, flush, counters } from './instrumentation-stage.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{3}|\d{6}|\d{9})Z$/;

export const instrumentationSignalsScenarios: readonly Scenario[] = [
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
