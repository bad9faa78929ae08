import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  aDaemon,
  aFolder,
  type Answer,
  countersOf,
  ingest,
  type Json,
  nativeSpan,
  newSpanId,
  newTraceId,
  newWord,
  nowNano,
  otlpAttributes,
  otlpSpan,
  otlpTraces,
} from './client.ts';

// "Ingest pipeline", the ceilings of "Limits", and "5. Ingest policy" of the decisions: sampling, redaction, quotas, forwarding.

const received: { headers: IncomingHttpHeaders; body: string; path: string | undefined }[] = [];
let receiverAnswers = [200];
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    received.push({ headers: request.headers, path: request.url, body: Buffer.concat(chunks).toString('latin1') });
    const status = receiverAnswers.length > 1 ? receiverAnswers.shift() : receiverAnswers[0];
    response.writeHead(status ?? 200, { 'content-type': 'application/json' }).end('{}');
  });
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const { port } = receiver.address() as { port: number };
const files = aFolder();
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});

const HASH_KEY = 'a-secret-for-hashing';
const QUOTA = 5;
const tight = Array.from({ length: 40 }, (_, index) => `tight${index}`);
const config = join(files, 'svc.json');
writeFileSync(
  config,
  JSON.stringify({
    projects: {
      half: { sample: 0.5 },
      all: { sample: 1 },
      nothing: { sample: 0 },
      tiny: { sample: 2 ** -56 },
      ...Object.fromEntries(tight.map((name) => [name, { quota_per_minute: QUOTA, sample: 1 }])),
    },
    redaction: { keys: ['ssn', 'Home.Address'], hash_identifiers: ['user_id'], hash_key: HASH_KEY },
    forward: { endpoint: `http://127.0.0.1:${port}`, headers: { 'x-forward-key': 'fk' } },
  }),
);
const service = await aDaemon(['--config-file', config, '--sample', '0.25']);
const spanOf = async (traceId: string): Promise<Json> =>
  (await service.get(`/v1/api/traces/${traceId}`)).json.spans?.[0];

describe('"Sampling keeps a trace when the low 56 bits of its id, as a fraction of 2^56, are below the project\'s fraction"', () => {
  const idWith = (low56: string): string => newTraceId().slice(0, 18) + low56;
  const isKept = async (project: string, low56: string): Promise<boolean> => {
    const span = nativeSpan({ trace_id: idWith(low56), correlation: { project } });
    const { accepted, rejected } = await ingest(service, { spans: [span] });
    const kept = (await service.get(`/v1/api/traces/${span.trace_id}`)).status === 200;
    expect([accepted, rejected]).toEqual([kept ? 1 : 0, 0]);
    return kept;
  };
  const rows: readonly [string, string, boolean][] = [
    ['half', '7fffffffffffff', true],
    ['half', '80000000000000', false],
    ['half', '00000000000000', true],
    ['half', 'ffffffffffffff', false],
    ['all', 'ffffffffffffff', true],
    ['nothing', '00000000000000', false],
    ['tiny', '00000000000000', true],
    ['tiny', '00000000000001', false],
    ['unnamed', '3fffffffffffff', true],
    ['unnamed', '40000000000000', false],
  ];
  for (const [project, low56, kept] of rows)
    it(`${project}: …${low56} is ${kept ? 'kept' : 'dropped'}`, async () =>
      expect(await isKept(project, low56)).toBe(kept));
  it('"Spans, and logs that name a trace, follow it; the rest is kept"', async () => {
    const traceId = idWith('ffffffffffffff');
    const correlation = { project: 'nothing' };
    const { accepted } = await ingest(service, {
      spans: [nativeSpan({ trace_id: traceId, correlation })],
      logs: [
        { message: 'follows', trace_id: traceId, correlation },
        { message: 'stays', correlation },
      ],
      metrics: [{ name: 'm', type: 'gauge', value: 1, correlation }],
      scores: [{ trace_id: traceId, scorer_id: 's', value: 1, correlation }],
      feedback: [{ trace_id: traceId, kind: 'thumbs', value: 'up', correlation }],
      aspect_notes: [{ trace_id: traceId, aspect: 'a', text: 't', correlation }],
    });
    expect(accepted).toBe(5);
    expect((await service.get('/v1/api/logs?project=nothing')).json.logs.map((log: Json) => log.message)).toEqual([
      'stays',
    ]);
  });
  it('"a kept trace is kept whole", and `svc_traces_sampled_out_total` counts traces, not spans', async () => {
    const before = (await countersOf(service))['svc_traces_sampled_out_total'] ?? 0;
    const [kept, dropped] = [idWith('00000000000000'), idWith('ffffffffffffff')];
    const three = (traceId: string) => [1, 2, 3].map(() => otlpSpan({ 'svc.project': 'half' }, { traceId }));
    const { json } = await service.post('/v1/traces', otlpTraces([...three(kept), ...three(dropped)]));
    expect(json.partialSuccess).toEqual({ rejectedSpans: 0, errorMessage: '' });
    expect((await service.get(`/v1/api/traces/${kept}`)).json.trace.span_count).toBe(3);
    expect((await countersOf(service))['svc_traces_sampled_out_total']).toBe(before + 1);
  });
});

describe('"A value a rule matches never reaches storage"', () => {
  const REDACTED = '[redacted]';
  const correlation = { project: 'all' };
  const secret = newWord('canary');

  it('"at any depth of payloads, attributes, log attributes, judgement metadata", in each place', async () => {
    const traceId = newTraceId();
    const deep = { a: [{ ssn: secret, kept: 'k' }] };
    const gone = { a: [{ ssn: REDACTED, kept: 'k' }] };
    await ingest(service, {
      spans: [
        nativeSpan({
          trace_id: traceId,
          correlation,
          input: deep,
          output: JSON.stringify(deep),
          attributes: { ssn: secret, 'user.ssn': secret, nested: deep, text: JSON.stringify(deep) },
          events: [{ name: 'e', time: new Date().toISOString(), attributes: { ssn: secret, nested: deep } }],
          links: [{ trace_id: newTraceId(), span_id: newSpanId(), attributes: { ssn: secret } }],
        }),
      ],
      logs: [{ trace_id: traceId, message: JSON.stringify(deep), attributes: { ssn: secret }, correlation }],
      metrics: [
        {
          name: 'redacted.metric',
          type: 'gauge',
          value: 1,
          attributes: { ssn: secret },
          exemplars: [
            {
              trace_id: traceId,
              span_id: newSpanId(),
              value: 1,
              timestamp: new Date().toISOString(),
              attributes: { ssn: secret },
            },
          ],
          correlation,
        },
      ],
      scores: [{ trace_id: traceId, scorer_id: 's', value: 1, metadata: deep, correlation }],
      feedback: [{ trace_id: traceId, kind: 'comment', value: 'fine', metadata: deep, correlation }],
    });
    const { json, text } = await service.get(`/v1/api/traces/${traceId}?include=all`);
    expect(text).not.toContain(secret);
    const [span] = json.spans;
    expect(span.input).toEqual(gone);
    expect(JSON.parse(span.output)).toEqual(gone);
    expect(span.attributes).toMatchObject({ ssn: REDACTED, 'user.ssn': REDACTED, nested: gone });
    expect(JSON.parse(span.attributes.text)).toEqual(gone);
    expect(span.events[0].attributes).toEqual({ ssn: REDACTED, nested: gone });
    expect(span.links[0].attributes).toEqual({ ssn: REDACTED });
    expect(JSON.parse(json.logs[0].message)).toEqual(gone);
    expect(json.logs[0].attributes).toEqual({ ssn: REDACTED });
    expect(json.scores[0].metadata).toEqual(gone);
    expect(json.feedback[0].metadata).toEqual(gone);
    const points = await service.get('/v1/api/metrics/redacted.metric/points?project=all');
    expect(points.text).not.toContain(secret);
    expect(points.json.points[0].exemplars[0].attributes).toEqual({ ssn: REDACTED });
  });
  it('the same for OTLP: payload attributes, events, log bodies, single records of judgements', async () => {
    const resource = { 'svc.project': 'all' };
    const span = otlpSpan(
      {
        'input.value': JSON.stringify({ password: secret }),
        'gen_ai.completion': { api_key: secret },
        authorization: secret,
      },
      {
        events: [
          {
            name: 'e',
            timeUnixNano: nowNano(),
            attributes: otlpAttributes({ 'http.request.header.authorization': secret }),
          },
        ],
      },
    );
    await service.post('/v1/traces', otlpTraces([span], resource));
    await service.post('/v1/logs', {
      resourceLogs: [
        {
          resource: { attributes: otlpAttributes(resource) },
          scopeLogs: [
            {
              logRecords: [
                {
                  traceId: span.traceId,
                  timeUnixNano: nowNano(),
                  body: { kvlistValue: { values: otlpAttributes({ password: secret, ok: 'yes' }) } },
                  attributes: otlpAttributes({ 'x-api-key': secret }),
                },
              ],
            },
          ],
        },
      ],
    });
    const score = await service.post('/v1/api/scores', {
      trace_id: span.traceId,
      scorer_id: 's',
      value: 1,
      correlation,
      metadata: { token: secret },
    });
    const feedback = await service.post('/v1/api/feedback', {
      trace_id: span.traceId,
      kind: 'comment',
      value: 'x',
      correlation,
      metadata: { Password: secret },
    });
    const read = await service.get(`/v1/api/traces/${span.traceId}?include=all`);
    expect(read.json.logs[0].message).toContain('yes');
    for (const { text } of [score, feedback, read]) {
      expect(text).toContain(REDACTED);
      expect(text).not.toContain(secret);
    }
    expect((await service.get(`/v1/api/traces?project=all&q=${secret}`)).json.traces).toEqual([]);
  });
  it('"A key matches whole, case-insensitive, `-`, `_` and `.` alike"', async () => {
    const matching = ['SSN', 'home.address', 'home-address', 'HOME_ADDRESS', 'api-key', 'API_KEY', 'Authorization'];
    const other = ['ssn_number', 'assn', 'homeaddress2', 'address'];
    const span = nativeSpan({
      correlation,
      input: Object.fromEntries([...matching, ...other].map((key) => [key, 'value'])),
    });
    await ingest(service, { spans: [span] });
    const { input } = await spanOf(span.trace_id);
    for (const key of matching) expect([key, input[key]]).toEqual([key, REDACTED]);
    for (const key of other) expect([key, input[key]]).toEqual([key, 'value']);
  });
  it('"The default list holds the usual credential names"', async () => {
    const names = [
      'password',
      'passwd',
      'secret',
      'token',
      'access_token',
      'refresh_token',
      'api_key',
      'apikey',
      'authorization',
      'cookie',
      'set-cookie',
      'client_secret',
      'private_key',
    ];
    const span = nativeSpan({ correlation, input: Object.fromEntries(names.map((key) => [key, 'value'])) });
    await ingest(service, { spans: [span] });
    expect((await spanOf(span.trace_id)).input).toEqual(Object.fromEntries(names.map((key) => [key, REDACTED])));
  });
  it('does not take token counts for credentials', async () => {
    const span = otlpSpan({ 'svc.project': 'all', 'gen_ai.usage.input_tokens': 12, 'llm.token_count.total': 20 });
    await service.post('/v1/traces', otlpTraces([span]));
    expect((await spanOf(span.traceId)).attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 12,
      'llm.token_count.total': 20,
    });
  });
  it('"Hashed identifiers are HMAC-SHA-256, hex, 32 chars", in the map of attributes too', async () => {
    const hashed = createHmac('sha256', HASH_KEY).update('ada@example.com').digest('hex').slice(0, 32);
    const span = otlpSpan({ 'svc.project': 'all', 'user.id': 'ada@example.com' });
    const native = nativeSpan({ correlation: { ...correlation, user_id: 'ada@example.com' } });
    await service.post('/v1/traces', otlpTraces([span]));
    await ingest(service, {
      spans: [native],
      logs: [{ message: 'x', trace_id: native.trace_id, correlation: { ...correlation, user_id: 'ada@example.com' } }],
    });
    for (const traceId of [span.traceId, native.trace_id]) {
      const { text, json } = await service.get(`/v1/api/traces/${traceId}?include=all`);
      expect(json.spans[0].correlation.user_id).toBe(hashed);
      expect(text).not.toContain('ada@example.com');
    }
  });
  it('"`author_id`: stored exactly as sent"', async () => {
    const { json } = await service.post('/v1/api/feedback', {
      trace_id: newTraceId(),
      kind: 'comment',
      value: 'x',
      author_id: 'Ann <a@b>',
      correlation,
    });
    expect(json.author_id).toBe('Ann <a@b>');
  });
  it('is in no file of the store and in no log line', () => {
    for (const name of readdirSync(service.folder))
      expect(readFileSync(join(service.folder, name)).includes(secret), name).toBe(false);
    for (const line of service.daemon.lines)
      for (const word of [secret, HASH_KEY, 'ada@example.com']) expect(line).not.toContain(word);
  });
});

describe('"Quota: a fixed window per wall-clock minute and project; signals beyond it are refused one by one"', () => {
  let next = 0;
  /** A project whose window is untouched. */
  const aProject = (): { project: string } => ({ project: tight[next++] ?? '' });
  const spans = (count: number, correlation: object) =>
    Array.from({ length: count }, () => nativeSpan({ correlation }));
  /** Two requests in one window: where the minute turns between them, the second is taken, and another project is tried. */
  const whenFull = async (send: (correlation: { project: string }) => Promise<Answer>): Promise<Answer> => {
    const minuteOf = (ms: number): number => Math.floor(ms / 60_000);
    for (;;) {
      const correlation = aProject();
      const from = Date.now();
      const full = await service.post('/v1/ingest', { spans: spans(QUOTA, correlation) });
      expect(full.json.accepted).toBe(QUOTA);
      const answer = await send(correlation);
      // The clock of the service may be some milliseconds from this one.
      if (answer.status === 429 || minuteOf(from - 50) === minuteOf(Date.now() + 50)) return answer;
    }
  };
  it('takes what the ceiling allows, refuses the rest as `over_quota`, "the rest of the batch is written"', async () => {
    const correlation = aProject();
    const batch = spans(QUOTA + 2, correlation);
    const before = await countersOf(service);
    const { status, json } = await service.post('/v1/ingest', {
      spans: [...batch, nativeSpan({ trace_id: `${'0'.repeat(31)}1`, correlation: { project: 'all' } })],
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ accepted: QUOTA + 1, rejected: 2 });
    expect(json.errors.map((error: Json) => [error.index, error.code])).toEqual([
      [QUOTA, 'over_quota'],
      [QUOTA + 1, 'over_quota'],
    ]);
    const after = await countersOf(service);
    const moved = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
    expect([moved('svc_signals_over_quota_total'), moved('svc_signals_rejected_total')]).toEqual([2, 2]);
    expect([moved('svc_signals_accepted_total'), moved('svc_signals_unbounded_total')]).toEqual([QUOTA + 1, 1]);
  });
  it('counts every kind of signal', async () => {
    const correlation = aProject();
    const trace_id = newTraceId();
    const { json } = await service.post('/v1/ingest', {
      spans: spans(1, correlation),
      logs: [{ message: 'x', correlation }],
      metrics: [{ name: 'm', type: 'gauge', value: 1, correlation }],
      scores: [{ trace_id, scorer_id: 's', value: 1, correlation }],
      feedback: [{ trace_id, kind: 'thumbs', value: 'up', correlation }],
      aspect_notes: [{ trace_id, aspect: 'a', text: 't', correlation }],
    });
    expect(json).toMatchObject({ accepted: QUOTA, rejected: 1 });
  });
  it('"A request refused whole because of the quota answers 429 with `Retry-After` (to the next minute) and the usual reply body beside `code` `over_quota`"', async () => {
    const answer = await whenFull((correlation) => service.post('/v1/ingest', { spans: spans(1, correlation) }));
    expect(answer.status).toBe(429);
    expect(answer.json).toMatchObject({
      code: 'over_quota',
      accepted: 0,
      rejected: 1,
      duplicate: 0,
      errors: [{ code: 'over_quota' }],
    });
    const wait = Number(answer.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
  });
  it('the same at the OTLP doors', async () => {
    const traces = await whenFull(({ project }) =>
      service.post('/v1/traces', otlpTraces([otlpSpan()], { 'svc.project': project })),
    );
    expect([traces.status, traces.json.code, traces.json.partialSuccess.rejectedSpans]).toEqual([429, 'over_quota', 1]);
    const resource = (project: string) => ({ attributes: otlpAttributes({ 'svc.project': project }) });
    const logs = await whenFull(({ project }) =>
      service.post('/v1/logs', {
        resourceLogs: [{ resource: resource(project), scopeLogs: [{ logRecords: [{ body: { stringValue: 'x' } }] }] }],
      }),
    );
    expect([logs.status, logs.json.partialSuccess.rejectedLogRecords]).toEqual([429, 1]);
    const metrics = await whenFull(({ project }) =>
      service.post('/v1/metrics', {
        resourceMetrics: [
          {
            resource: resource(project),
            scopeMetrics: [{ metrics: [{ name: 'm', gauge: { dataPoints: [{ asInt: 1, timeUnixNano: '1' }] } }] }],
          },
        ],
      }),
    );
    expect([metrics.status, metrics.json.partialSuccess.rejectedDataPoints]).toEqual([429, 1]);
  });
  it('"the single-record score and feedback endpoints" count against it', async () => {
    const trace_id = newTraceId();
    for (const [path, record] of [
      ['scores', { trace_id, scorer_id: 's', value: 1 }],
      ['feedback', { trace_id, kind: 'thumbs', value: 'up' }],
    ] as const) {
      const answer = await whenFull((correlation) => service.post(`/v1/api/${path}`, { ...record, correlation }));
      expect([answer.status, answer.json.code]).toEqual([429, 'over_quota']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      const correlation = aProject();
      const taken = [];
      for (let n = 0; n < QUOTA; n += 1)
        taken.push((await service.post(`/v1/api/${path}`, { ...record, correlation })).status);
      expect(taken).toEqual(taken.map(() => 201));
    }
  });
  it('"`--quota-per-minute`: top-level per-minute ceiling on signals per project" covers projects without their own', async () => {
    const bounded = await aDaemon(['--quota-per-minute', '3']);
    for (const project of ['one', 'two']) {
      const { json } = await bounded.post('/v1/ingest', { spans: spans(5, { project }) });
      expect(json).toMatchObject({ accepted: 3, rejected: 2 });
    }
    expect((await countersOf(bounded))['svc_signals_unbounded_total']).toBe(0);
  });
});

describe('"Forwarding … sends accepted spans on, after sampling and redaction, as OTLP/HTTP"', () => {
  it('with the headers of the configuration, without what was redacted or refused', async () => {
    const [marker, secret] = [newWord('marker'), newWord('secret')];
    const spans = [
      otlpSpan({ 'svc.project': 'all', 'my.note': marker, ssn: secret }),
      otlpSpan({ 'svc.project': 'nothing', 'my.note': `${marker}dropped` }),
    ];
    await service.post('/v1/traces', otlpTraces(spans));
    await eventually('the span at the receiver', () => received.some(({ body }) => body.includes(marker)));
    const got = received.filter(({ body }) => body.includes(marker));
    expect(got).toHaveLength(1);
    expect(got[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-forward-key': 'fk' } });
    expect(got[0]?.body).not.toContain(secret);
    expect(got[0]?.body).not.toContain(`${marker}dropped`);
  });
  it('"retried on 429 and 5xx", and "drops are counted in `/metrics`" where the receiver refuses for good', async () => {
    const marker = newWord('marker');
    receiverAnswers = [503, 200];
    await service.post('/v1/traces', otlpTraces([otlpSpan({ 'svc.project': 'all', note: marker })]));
    const tries = () => received.filter(({ body }) => body.includes(marker)).length;
    await eventually('the second try', () => tries() > 1);
    receiverAnswers = [400];
    const before = (await countersOf(service))['svc_forward_dropped_total'] ?? 0;
    await service.post('/v1/traces', otlpTraces([otlpSpan({ 'svc.project': 'all' })]));
    const dropped = async () => ((await countersOf(service))['svc_forward_dropped_total'] ?? 0) - before;
    await eventually('the drop to be counted', async () => (await dropped()) > 0);
    expect([tries(), await dropped()]).toEqual([2, 1]);
    receiverAnswers = [200];
  });
});
