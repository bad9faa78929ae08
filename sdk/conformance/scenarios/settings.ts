import assert from 'node:assert/strict';
import { type Scenario, area } from '../kit/scenario.ts';
import { until } from '../kit/judging.ts';
import { spanNamed, spansOf } from './arrived.ts';

const settings = area('settings');

/** A port on which nothing listens: those below 1024 are not given to this user, and 9 is nobody's. */
const NOWHERE = 'http://127.0.0.1:9';

const variables = (endpoint: string): Record<string, string> => ({
  SVC_ENDPOINT: endpoint,
  SVC_API_KEY: 'key-of-environment',
  SVC_PROJECT: 'shop',
  SVC_ENVIRONMENT: 'staging',
  SVC_SERVICE_NAME: 'refunds',
  SVC_SERVICE_VERSION: '1.2.3',
});

const QUICK = { delay_ms: 20 };

export const settingsScenarios: readonly Scenario[] = [
  settings(
    1,
    'defaults',
    'With an endpoint alone, a span arrives without a key, a project or anything else that nobody set.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await world.fixture({ SVC_ENDPOINT: service.url });
      await fixture.ask('span', { name: 'plain' });
      await fixture.ask('flush', { timeout_ms: 5000 });
      const { correlation = {} } = await spanNamed(service, 'plain');
      assert.deepEqual(correlation, {}, 'the correlation of a span that nobody set anything for');
      const [call] = service.callsTo('ingest');
      assert.equal(call?.headers.authorization, undefined, 'no key is sent');
      assert.match(call?.headers['content-type'] ?? '', /^application\/json/);
    },
  ),

  settings(
    2,
    'variables',
    'Key, project, environment, service name and version come from SVC_* variables.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await world.fixture(variables(service.url));
      await fixture.ask('span', { name: 'set' });
      await fixture.ask('flush', { timeout_ms: 5000 });
      const { correlation } = await spanNamed(service, 'set');
      assert.deepEqual(correlation, {
        project: 'shop',
        environment: 'staging',
        service_name: 'refunds',
        service_version: '1.2.3',
      });
      const [call] = service.callsTo('ingest');
      assert.equal(
        call?.headers.authorization ?? `Bearer ${String(call?.headers['x-svc-key'])}`,
        'Bearer key-of-environment',
      );
    },
  ),

  settings(3, 'code-wins', 'What code sets wins over the environment.', async (world) => {
    const service = await world.scripted();
    const fixture = await world.fixture({ ...variables(NOWHERE), SVC_SAMPLE: '0', SVC_ENABLED: 'false' });
    await fixture.ask('configure', {
      ...{ ...QUICK, endpoint: service.url, api_key: 'key-of-code', project: 'desk', environment: 'live' },
      ...{ service_name: 'answers', service_version: '2', sample: 1, enabled: true },
    });
    await fixture.ask('span', { name: 'set' });
    await fixture.ask('flush', { timeout_ms: 5000 });
    const { correlation } = await spanNamed(service, 'set');
    assert.deepEqual(correlation, {
      project: 'desk',
      environment: 'live',
      service_name: 'answers',
      service_version: '2',
    });
    const [call] = service.callsTo('ingest');
    assert.equal(call?.headers.authorization ?? `Bearer ${String(call?.headers['x-svc-key'])}`, 'Bearer key-of-code');
  }),

  settings(4, 'empty-is-absent', 'A variable that is empty counts as absent.', async (world) => {
    const service = await world.scripted();
    const fixture = await world.fixture({
      ...Object.fromEntries(Object.keys(variables('')).map((name) => [name, ''])),
      SVC_SAMPLE: '',
      SVC_ENABLED: '',
      SVC_ENDPOINT: service.url,
    });
    await fixture.ask('span', { name: 'empty' });
    await fixture.ask('flush', { timeout_ms: 5000 });
    const { correlation = {} } = await spanNamed(service, 'empty');
    assert.deepEqual(correlation, {});
    assert.equal(service.callsTo('ingest')[0]?.headers.authorization, undefined);
  }),

  settings(
    5,
    'bad-values',
    'A setting that cannot be used falls back to its default, is named, and stops nothing.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await world.fixture({ SVC_ENDPOINT: service.url, SVC_SAMPLE: 'half' });
      const { problems } = await fixture.ask<{ problems: readonly string[] }>('configure', QUICK);
      assert.match([...problems, fixture.stderr()].join('\n'), /sample/i, 'the setting at fault is named');
      // The default fraction is 1: every one of them arrives.
      for (const index of [1, 2, 3, 4, 5]) await fixture.ask('span', { name: `kept-${index}` });
      await fixture.ask('flush', { timeout_ms: 5000 });
      await until('five spans', undefined, () => spansOf(service).length === 5);
    },
  ),

  settings(
    6,
    'disabled',
    'With SVC_ENABLED=false every call gives valid objects, and not a byte is sent.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await world.fixture({ SVC_ENDPOINT: service.url, SVC_ENABLED: 'false' });
      const span = await fixture.ask<{
        trace_id: string;
        span_id: string;
        traceparent: string;
        inside: readonly unknown[];
      }>('span', {
        name: 'outer',
        output: 'out',
        inside: [
          { do: 'log', with: { severity: 'info', message: 'm' } },
          { do: 'score', with: { scorer_id: 's', value: 1, min: 0, max: 1 } },
          { do: 'feedback', with: { kind: 'thumbs', value: 'up' } },
        ],
      });
      assert.match(span.trace_id, /^(?!0+$)[0-9a-f]{32}$/);
      assert.match(span.span_id, /^(?!0+$)[0-9a-f]{16}$/);
      assert.equal(
        span.traceparent,
        `00-${span.trace_id}-${span.span_id}-00`,
        'the header says that nothing is recorded',
      );
      await fixture.ask('metric', { name: 'm', type: 'counter', value: 1 });
      const { flushed } = await fixture.ask<{ flushed: boolean }>('flush', { timeout_ms: 1000 });
      assert.equal(flushed, true);
      await fixture.ask('close', {});
      assert.deepEqual(
        service.calls.map(({ path }) => path),
        [],
        'nothing was sent',
      );
    },
  ),

  settings(7, 'key-in-no-log', 'The key is in no log, no error and no problem, whatever goes wrong.', async (world) => {
    const key = 'sk-very-secret-4711';
    const service = await world.scripted();
    service.answerAlways('ingest', { status: 401, body: { code: 'unauthenticated', message: 'no such key' } });
    service.answerAlways('runs', { status: 401, body: { code: 'unauthenticated', message: 'no such key' } });
    service.answerAlways('register', { status: 401, body: { code: 'unauthenticated', message: 'no such key' } });
    const fixture = await world.fixture({ SVC_ENDPOINT: service.url, SVC_API_KEY: key, SVC_SAMPLE: 'half' });
    // The client refuses bad settings by an error; it is made without one.
    const { problems } = await fixture.ask<{ problems: readonly string[] }>('configure', { ...QUICK, sample: 1 });
    await fixture.ask('span', { name: 'refused' });
    await fixture.ask('flush', { timeout_ms: 5000 });
    const refused = await fixture.refused('client.start', { definition_id: 'refund', input: {} });
    assert.equal(refused.status, 401);
    const worker = fixture.send('worker.run', {
      definitions: [{ id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task' }] }],
    });
    const stopped = await worker.answer;
    const said = [JSON.stringify([problems, refused, stopped, fixture.events]), fixture.stderr()].join('\n');
    assert.ok(!said.includes(key), 'the key stands in what the library says');
    assert.equal(service.callsTo('ingest')[0]?.headers.authorization, `Bearer ${key}`, 'and was sent');
  }),

  settings(8, 'endpoints', 'An endpoint may have a path before the API, and an IPv6 address.', async (world) => {
    const plain = await world.scripted();
    const prefixed = await world.fixture({ SVC_ENDPOINT: `${plain.url}/base/of/it/` });
    await prefixed.ask('span', { name: 'prefixed' });
    await prefixed.ask('flush', { timeout_ms: 5000 });
    await spanNamed(plain, 'prefixed');
    assert.equal(plain.callsTo('ingest')[0]?.path, '/base/of/it/v1/ingest');
    await prefixed.ask('client.get', { run_id: 'run-1' });
    assert.equal(plain.callsTo('run-1')[0]?.path, '/base/of/it/v1/api/runs/run-1');

    const six = await world.scripted({ host: '::1' });
    const fixture = await world.fixture({ SVC_ENDPOINT: six.url });
    await fixture.ask('span', { name: 'six' });
    await fixture.ask('flush', { timeout_ms: 5000 });
    await spanNamed(six, 'six');
  }),
];
