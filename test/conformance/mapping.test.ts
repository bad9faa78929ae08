import { describe, expect, it } from 'vitest';
import {
  aDaemon,
  type Json,
  newSpanId,
  newTraceId,
  nowNano,
  otlpAttributes,
  otlpSpan,
  otlpTraces,
  roundTrip,
} from './client.ts';

// "OTLP attribute mapping", "Span kinds", "Span status", "Identifiers and time" of the interface specification.

const service = await aDaemon();
const send = (attributes: Record<string, unknown>, resource?: Record<string, unknown>, more?: object): Promise<Json> =>
  roundTrip(service, attributes, resource, more);
const at = (span: Json, path: string): unknown =>
  path.split('.').reduce<Json>((value, key) => (value === undefined ? undefined : value[key]), span);

describe('"Each row is read in order; first match wins"', () => {
  const texts: readonly [string, readonly string[]][] = [
    ['model', ['gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name', 'svc.model']],
    ['provider', ['gen_ai.system', 'llm.provider', 'svc.provider']],
    ['input', ['input.value', 'gen_ai.prompt', 'svc.input']],
    ['output', ['output.value', 'gen_ai.completion', 'svc.output']],
    ['entity_name', ['gen_ai.agent.name', 'svc.entity.name']],
    ['correlation.session_id', ['gen_ai.conversation.id', 'session.id', 'svc.session_id']],
    ['correlation.thread_id', ['svc.thread_id', 'thread.id']],
    ['correlation.user_id', ['user.id', 'enduser.id', 'svc.user_id']],
    ['correlation.request_id', ['svc.request_id', 'http.request.id']],
    ['correlation.release', ['svc.release']],
    ['correlation.environment', ['svc.environment']],
    ['correlation.run_id', ['svc.run_id']],
    ['correlation.resource_id', ['svc.resource_id']],
    ['correlation.experiment_id', ['svc.experiment_id']],
  ];
  const counts: readonly [string, readonly string[]][] = [
    [
      'usage.input_tokens',
      ['gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', 'llm.token_count.prompt', 'svc.usage.input_tokens'],
    ],
    [
      'usage.output_tokens',
      [
        'gen_ai.usage.output_tokens',
        'gen_ai.usage.completion_tokens',
        'llm.token_count.completion',
        'svc.usage.output_tokens',
      ],
    ],
    ['usage.total_tokens', ['llm.token_count.total', 'gen_ai.usage.total_tokens']],
    [
      'usage.input_details.cache_read',
      [
        'gen_ai.usage.cache_read_input_tokens',
        'llm.token_count.prompt_details.cache_read',
        'svc.usage.cache_read_tokens',
      ],
    ],
    [
      'usage.input_details.cache_write',
      [
        'gen_ai.usage.cache_creation_input_tokens',
        'llm.token_count.prompt_details.cache_write',
        'svc.usage.cache_write_tokens',
      ],
    ],
    ['usage.input_details.audio', ['llm.token_count.prompt_details.audio']],
    [
      'usage.output_details.reasoning',
      ['llm.token_count.completion_details.reasoning', 'gen_ai.usage.reasoning_tokens'],
    ],
    ['usage.output_details.audio', ['llm.token_count.completion_details.audio']],
  ];
  for (const [field, names] of texts)
    it(`\`${field}\` is read from ${names.join(', ')}`, async () => {
      for (const [first] of names.entries()) {
        // Later names come first in the body, so that the order of the table decides and not that of the sender.
        const present = names.slice(first).toReversed();
        const span = await send(Object.fromEntries(present.map((name) => [name, `value of ${name}`])));
        expect(at(span, field)).toBe(`value of ${names[first]}`);
        for (const name of present) expect(span.attributes[name]).toBe(`value of ${name}`);
      }
    });
  for (const [field, names] of counts)
    it(`\`${field}\` is read from ${names.join(', ')}`, async () => {
      for (const [first] of names.entries()) {
        const present = names.slice(first).toReversed();
        const values = Object.fromEntries(present.map((name) => [name, 1000 + names.indexOf(name)]));
        const total = field === 'usage.total_tokens' ? {} : { 'llm.token_count.total': 9000 };
        const span = await send({ ...total, ...values });
        expect(at(span, field)).toBe(1000 + first);
      }
    });

  it('"`project`: `svc.project` on the span, then on the resource, then the daemon\'s `--project`"', async () => {
    expect((await send({ 'svc.project': 'p-span' }, { 'svc.project': 'p-resource' })).correlation.project).toBe(
      'p-span',
    );
    expect((await send({}, { 'svc.project': 'p-resource' })).correlation.project).toBe('p-resource');
    expect((await send({})).correlation.project).toBe('default');
  });
  it('"`environment`: `svc.environment`, resource `deployment.environment.name`, resource `deployment.environment`"', async () => {
    const resource = { 'deployment.environment': 'old', 'deployment.environment.name': 'new' };
    expect((await send({ 'svc.environment': 'own' }, resource)).correlation.environment).toBe('own');
    expect((await send({}, { ...resource, 'svc.environment': 'own' })).correlation.environment).toBe('own');
    expect((await send({}, resource)).correlation.environment).toBe('new');
    expect((await send({}, { 'deployment.environment': 'old' })).correlation.environment).toBe('old');
  });
  it('"`service_name`: resource `service.name`", "`service_version`: resource `service.version`"', async () => {
    const { correlation } = await send({}, { 'service.name': 'api', 'service.version': '1.2' });
    expect(correlation).toMatchObject({ service_name: 'api', service_version: '1.2' });
  });
  it('"`release`: `svc.release`, resource `service.version`"', async () => {
    expect((await send({ 'svc.release': 'r9' }, { 'service.version': '1.2' })).correlation.release).toBe('r9');
    expect((await send({}, { 'service.version': '1.2' })).correlation.release).toBe('1.2');
  });
  it('"`tags`: `svc.tags` (array of strings)"', async () => {
    expect((await send({ 'svc.tags': ['vip', 'eu'] })).correlation.tags).toEqual(['vip', 'eu']);
  });
  it('"Span attributes are read before resource attributes for correlation"', async () => {
    // A later name on the span beats an earlier one on the resource.
    const { correlation } = await send(
      { 'svc.session_id': 'of span', 'svc.user_id': 'of span', 'thread.id': 'of span' },
      { 'gen_ai.conversation.id': 'of resource', 'user.id': 'of resource', 'svc.thread_id': 'of resource' },
    );
    expect(correlation).toMatchObject({ session_id: 'of span', user_id: 'of span', thread_id: 'of span' });
    expect((await send({}, { 'session.id': 'r', 'svc.tags': ['t'] })).correlation).toMatchObject({
      session_id: 'r',
      tags: ['t'],
    });
  });
  it('"Attributes with no row are still kept", of every type, those of the resource beside those of the span', async () => {
    const mine = {
      'my.text': 'x',
      'my.flag': false,
      'my.count': 0,
      'my.ratio': 0.25,
      'my.list': ['a', 'b'],
      'my.map': { deep: 'v' },
    };
    const { attributes } = await send(mine, { 'my.text': 'of the resource', 'host.name': 'h' });
    expect(attributes).toMatchObject({ ...mine, 'host.name': 'h' });
  });
  it('reads a payload that is structured as JSON, not as text', async () => {
    const span = await send({ 'input.value': { role: 'user' }, 'output.value': ['a', 1] });
    expect(span).toMatchObject({ input: { role: 'user' }, output: ['a', 1] });
  });
});

describe('"`usage`: absent unless at least one of input, output or total token counts is present"', () => {
  it('"Zero and unknown differ": a zero is kept', async () => {
    expect((await send({ 'gen_ai.usage.input_tokens': 0 })).usage).toEqual({ input_tokens: 0 });
  });
  it('"a span with none of the three main counts has no `usage` object", details or not', async () => {
    expect(await send({})).not.toHaveProperty('usage');
    expect(await send({ 'gen_ai.usage.cache_read_input_tokens': 5 })).not.toHaveProperty('usage');
  });
});

describe('"Span kind inference, in order"', () => {
  const known = [
    'model_generation',
    'workflow_run',
    'tool_call',
    'agent_run',
    'retrieval',
    'rag_embedding',
    'rag_action',
    'guardrail',
    'scorer_run',
    'mcp_tool_call',
    'http_request',
    'generic',
    'client_tool_call',
    'provider_tool_call',
  ];
  it('"(1) `svc.span.kind` when it names a known kind", before everything else', async () => {
    for (const kind of known)
      expect(
        (
          await send({
            'svc.span.kind': kind,
            'openinference.span.kind': 'LLM',
            'gen_ai.operation.name': 'embeddings',
            'mcp.tool.name': 'x',
          })
        ).kind,
      ).toBe(kind);
  });
  it('"(2) `openinference.span.kind`" when `svc.span.kind` names none', async () => {
    const rows = {
      LLM: 'model_generation',
      CHAIN: 'workflow_run',
      TOOL: 'tool_call',
      AGENT: 'agent_run',
      RETRIEVER: 'retrieval',
      EMBEDDING: 'rag_embedding',
      RERANKER: 'rag_action',
      GUARDRAIL: 'guardrail',
      EVALUATOR: 'scorer_run',
    };
    for (const [value, kind] of Object.entries(rows))
      expect(
        (
          await send({
            'svc.span.kind': 'no such kind',
            'openinference.span.kind': value,
            'gen_ai.operation.name': value === 'LLM' ? 'embeddings' : 'chat',
          })
        ).kind,
      ).toBe(kind);
  });
  it('"(3) `gen_ai.operation.name`" before the presence of an attribute', async () => {
    const rows = {
      chat: 'model_generation',
      text_completion: 'model_generation',
      generate_content: 'model_generation',
      embeddings: 'rag_embedding',
      execute_tool: 'tool_call',
      invoke_agent: 'agent_run',
      create_agent: 'agent_run',
    };
    for (const [value, kind] of Object.entries(rows))
      expect((await send({ 'gen_ai.operation.name': value, 'http.request.method': 'GET' })).kind).toBe(kind);
  });
  it('"(4) presence of an attribute only one kind carries; else `generic`"', async () => {
    for (const name of ['gen_ai.system', 'llm.model_name', 'llm.provider'])
      expect((await send({ [name]: 'x', 'mcp.tool.name': 'y', 'http.method': 'GET' })).kind).toBe('model_generation');
    expect((await send({ 'mcp.tool.name': 'y', 'http.method': 'GET' })).kind).toBe('mcp_tool_call');
    expect((await send({ 'http.request.method': 'GET' })).kind).toBe('http_request');
    expect((await send({ 'http.method': 'GET' })).kind).toBe('http_request');
    expect((await send({ anything: 'else' })).kind).toBe('generic');
  });
  it('"An unrecognised value falls to `generic`, never a rejection"', async () => {
    for (const name of ['svc.span.kind', 'openinference.span.kind', 'gen_ai.operation.name'])
      expect((await send({ [name]: 'something new' })).kind).toBe('generic');
    expect((await send({ 'svc.span.kind': 7 })).kind).toBe('generic');
  });
  it('an MCP call is `mcp_tool_call` also when `gen_ai.operation.name` = `execute_tool`', async () => {
    expect((await send({ 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool' })).kind).toBe(
      'mcp_tool_call',
    );
  });
});

describe('"Error spans"', () => {
  const ERROR = 2;
  it('"message from `status.message`, then `exception.message`, else the literal `unspecified error`"', async () => {
    const of = async (message: string | undefined, attributes: Record<string, unknown>): Promise<unknown> =>
      (await send(attributes, {}, { status: { code: ERROR, ...(message !== undefined && { message }) } })).error
        .message;
    expect(await of('boom', { 'exception.message': 'bang' })).toBe('boom');
    expect(await of(undefined, { 'exception.message': 'bang' })).toBe('bang');
    expect(await of('', { 'exception.message': 'bang' })).toBe('bang');
    expect(await of(undefined, {})).toBe('unspecified error');
  });
  it('"error kind from `exception.type`; stack from `exception.stacktrace`"', async () => {
    const { error, status } = await send(
      { 'exception.type': 'ValueError', 'exception.stacktrace': 'at line 1' },
      {},
      { status: { code: ERROR, message: 'm' } },
    );
    expect(status).toBe('error');
    expect(error).toEqual({ message: 'm', type: 'ValueError', stack: 'at line 1' });
  });
  it('"`error`: present on an error span", and on no other', async () => {
    expect(await send({ 'exception.message': 'handled' })).not.toHaveProperty('error');
  });
});

describe('"Span status"', () => {
  it('"OTLP status code 1 becomes `ok`; 2 becomes `error`", also by their names', async () => {
    expect((await send({}, {}, { status: { code: 1 } })).status).toBe('ok');
    expect((await send({}, {}, { status: { code: 2 } })).status).toBe('error');
    expect((await send({}, {}, { status: { code: 'STATUS_CODE_ERROR' } })).status).toBe('error');
  });
  it('"Unset with an end time is recorded `ok`. Unset with no end time stays `unset`"', async () => {
    for (const status of [undefined, {}, { code: 0 }]) {
      const more = status === undefined ? {} : { status };
      expect((await send({}, {}, more)).status).toBe('ok');
      expect((await send({}, {}, { ...more, endTimeUnixNano: undefined })).status).toBe('unset');
    }
  });
  it('"`endTimeUnixNano` of 0 or absent means the span has not finished"', async () => {
    for (const endTimeUnixNano of ['0', 0, undefined]) {
      const span = await send({}, {}, { endTimeUnixNano });
      expect(span).not.toHaveProperty('end_time');
      expect(span.status).toBe('unset');
    }
  });
});

describe('"Identifiers and time"', () => {
  it('"OTLP/JSON ids may arrive as hex or base64; they are stored as hex", lowercase', async () => {
    const traceId = newTraceId();
    const spanId = newSpanId();
    const parent = newSpanId();
    const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');
    const body = otlpTraces([
      { ...otlpSpan(), traceId: base64(traceId), spanId: base64(spanId), parentSpanId: base64(parent) },
      { ...otlpSpan(), traceId: traceId.toUpperCase(), spanId: parent.toUpperCase() },
    ]);
    expect((await service.post('/v1/traces', body)).json.partialSuccess.rejectedSpans).toBe(0);
    const { spans } = (await service.get(`/v1/api/traces/${traceId}`)).json;
    expect(spans.map((span: Json) => [span.trace_id, span.span_id, span.parent_span_id, span.is_root])).toEqual([
      [traceId, parent, undefined, true],
      [traceId, spanId, parent, false],
    ]);
  });
  it('"A span with missing, wrong-length or all-zero ids is skipped and counted rejected; the rest of the batch is written"', async () => {
    const good = otlpSpan();
    const bad = [
      { traceId: undefined },
      { spanId: undefined },
      { traceId: '' },
      { traceId: 'abcd' },
      { traceId: `${newTraceId()}00` },
      { spanId: 'abcd' },
      { traceId: '0'.repeat(32) },
      { spanId: '0'.repeat(16) },
      { traceId: Buffer.alloc(16).toString('base64') },
      { traceId: 'z'.repeat(32) },
      { traceId: 17 },
      { spanId: null },
    ].map((more) => ({ ...otlpSpan(), ...more }));
    const { status, json } = await service.post('/v1/traces', otlpTraces([...bad, good]));
    expect(status).toBe(200);
    expect(json.partialSuccess.rejectedSpans).toBe(bad.length);
    expect(json.partialSuccess.errorMessage).not.toBe('');
    expect((await service.get(`/v1/api/traces/${good.traceId}`)).json.spans).toHaveLength(1);
  });
  it('"nanoseconds since the Unix epoch, sent as strings and parsed as strings (never floating point)"', async () => {
    const span = await send(
      {},
      {},
      { startTimeUnixNano: '1763629200123456789', endTimeUnixNano: '1763629200123456790' },
    );
    expect(span).toMatchObject({
      start_time: '2025-11-20T09:00:00.123456789Z',
      end_time: '2025-11-20T09:00:00.123456790Z',
    });
    const { trace } = (await service.get(`/v1/api/traces/${span.trace_id}`)).json;
    expect(trace.duration_ns).toBe(1);
  });
  it('"nine fractional digits trimmed to the shortest of 0, 3, 6, 9"', async () => {
    const rows: readonly [string, string][] = [
      ['1763629200000000000', '2025-11-20T09:00:00Z'],
      ['1763629200100000000', '2025-11-20T09:00:00.100Z'],
      ['1763629200000001000', '2025-11-20T09:00:00.000001Z'],
      ['1763629200000000001', '2025-11-20T09:00:00.000000001Z'],
    ];
    for (const [nano, text] of rows)
      expect((await send({}, {}, { startTimeUnixNano: nano, endTimeUnixNano: nano })).start_time).toBe(text);
  });
  it('native timestamps read back to the nanosecond, whatever offset they came with', async () => {
    const ids = { trace_id: newTraceId(), span_id: newSpanId() };
    await service.post('/v1/ingest', {
      spans: [
        { ...ids, name: 'n', start_time: '2026-03-01T01:00:00.123456789+02:00', end_time: '2026-02-28T23:00:01Z' },
      ],
    });
    const { spans } = (await service.get(`/v1/api/traces/${ids.trace_id}`)).json;
    expect(spans[0]).toMatchObject({ start_time: '2026-02-28T23:00:00.123456789Z', end_time: '2026-02-28T23:00:01Z' });
  });
  it('"A malformed `traceparent` header never causes a request to be refused"', async () => {
    for (const traceparent of [
      '',
      'x',
      `ff-${newTraceId()}-${newSpanId()}-01`,
      `00-${'0'.repeat(32)}-${newSpanId()}-01`,
    ])
      expect((await service.post('/v1/traces', otlpTraces([otlpSpan()]), { traceparent })).status).toBe(200);
  });
});

describe('"Logs"', () => {
  const sendLog = async (record: object): Promise<Json> => {
    const marker = newTraceId();
    const sent = await service.post('/v1/logs', {
      resourceLogs: [
        {
          resource: { attributes: otlpAttributes({ 'service.name': 'logs', 'svc.project': marker }) },
          scopeLogs: [{ scope: { name: 'my.logger' }, logRecords: [{ timeUnixNano: nowNano(), ...record }] }],
        },
      ],
    });
    expect(sent.json).toEqual({ partialSuccess: { rejectedLogRecords: 0, errorMessage: '' } });
    const { logs } = (await service.get(`/v1/api/logs?project=${marker}`)).json;
    expect(logs).toHaveLength(1);
    return logs[0];
  };
  it('"severity number 1-4 trace, 5-8 debug, 9-12 info, 13-16 warn, 17-20 error, above 20 fatal; none means info"', async () => {
    const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
    for (let number = 1; number <= 24; number += 1)
      expect((await sendLog({ severityNumber: number })).severity).toBe(levels[Math.ceil(number / 4) - 1]);
    expect((await sendLog({ severityNumber: 25 })).severity).toBe('fatal');
    expect((await sendLog({})).severity).toBe('info');
    expect((await sendLog({ severityNumber: 0 })).severity).toBe('info');
    expect((await sendLog({ severityNumber: 'SEVERITY_NUMBER_WARN' })).severity).toBe('warn');
  });
  it('"Message from `body.stringValue`; logger name from the scope name"', async () => {
    const log = await sendLog({ body: { stringValue: 'it happened' } });
    expect(log).toMatchObject({ message: 'it happened', logger: 'my.logger' });
    expect(log.correlation.service_name).toBe('logs');
  });
  it('"A structured log body becomes its JSON text as `message`"', async () => {
    const log = await sendLog({ body: { kvlistValue: { values: [{ key: 'a', value: { intValue: '1' } }] } } });
    expect(JSON.parse(log.message)).toEqual({ a: 1 });
  });
  it('"`traceId` and `spanId` kept when valid", else the record without them', async () => {
    const traceId = newTraceId();
    const spanId = newSpanId();
    expect(await sendLog({ traceId, spanId })).toMatchObject({ trace_id: traceId, span_id: spanId });
    const log = await sendLog({ traceId: '0'.repeat(32), spanId: 'short' });
    expect(log).not.toHaveProperty('trace_id');
    expect(log).not.toHaveProperty('span_id');
  });
  it('reads the time to the nanosecond, and the observed time where there is no other', async () => {
    expect((await sendLog({ timeUnixNano: '1763629200123456789' })).timestamp).toBe('2025-11-20T09:00:00.123456789Z');
    const observed = await sendLog({ timeUnixNano: '0', observedTimeUnixNano: '1763629200000000001' });
    expect(observed.timestamp).toBe('2025-11-20T09:00:00.000000001Z');
  });
});

describe('"Metrics"', () => {
  const time = '1763629200123456789';
  const sendMetric = async (metric: object, rejected = 0): Promise<Json[]> => {
    const project = newTraceId();
    const sent = await service.post('/v1/metrics', {
      resourceMetrics: [
        {
          resource: { attributes: otlpAttributes({ 'svc.project': project }) },
          scopeMetrics: [{ metrics: [{ name: 'm.x', unit: 's', description: 'd', ...metric }] }],
        },
      ],
    });
    expect(sent.status).toBe(200);
    expect(sent.json.partialSuccess.rejectedDataPoints).toBe(rejected);
    return (await service.get(`/v1/api/metrics/m.x/points?project=${project}`)).json.points;
  };
  it('"sums become counters, gauges become gauges"', async () => {
    const points = [{ timeUnixNano: time, asInt: '7', attributes: otlpAttributes({ a: 'b' }) }];
    const [counter] = await sendMetric({ sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: points } });
    expect(counter).toMatchObject({
      type: 'counter',
      value: 7,
      unit: 's',
      description: 'd',
      temporality: 'cumulative',
      attributes: { a: 'b' },
      timestamp: '2025-11-20T09:00:00.123456789Z',
    });
    const [gauge] = await sendMetric({ gauge: { dataPoints: [{ timeUnixNano: time, asDouble: -0.5 }] } });
    expect(gauge).toMatchObject({ type: 'gauge', value: -0.5 });
  });
  it('"histograms are stored by sum and count with bucket boundaries preserved"', async () => {
    const [point] = await sendMetric({
      histogram: {
        aggregationTemporality: 1,
        dataPoints: [
          { timeUnixNano: time, sum: 12.5, count: '3', explicitBounds: [1, 5, 10], bucketCounts: ['0', '2', '1', '0'] },
        ],
      },
    });
    expect(point).toMatchObject({
      type: 'histogram',
      sum: 12.5,
      count: 3,
      bounds: [1, 5, 10],
      bucket_counts: [0, 2, 1, 0],
      temporality: 'delta',
    });
  });
  it('"exemplars are kept"', async () => {
    const traceId = newTraceId();
    const spanId = newSpanId();
    const [point] = await sendMetric({
      sum: {
        dataPoints: [
          { timeUnixNano: time, asInt: 1, exemplars: [{ timeUnixNano: time, asDouble: 3.5, traceId, spanId }] },
        ],
      },
    });
    expect(point.exemplars).toEqual([
      { trace_id: traceId, span_id: spanId, value: 3.5, timestamp: '2025-11-20T09:00:00.123456789Z', attributes: {} },
    ]);
  });
  it('"An exponential histogram becomes a histogram with its explicit boundaries"', async () => {
    const [point] = await sendMetric({
      exponentialHistogram: {
        dataPoints: [
          {
            timeUnixNano: time,
            sum: 9,
            count: '4',
            scale: 0,
            zeroCount: '1',
            positive: { offset: 0, bucketCounts: ['2', '1'] },
          },
        ],
      },
    });
    expect(point).toMatchObject({ type: 'histogram', sum: 9, count: 4 });
    expect(point.bounds.slice(-2)).toEqual([2, 4]);
    expect(point.bucket_counts).toHaveLength(point.bounds.length + 1);
    expect(point.bucket_counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(4);
  });
  it('"a summary point is refused and counted"', async () => {
    expect(await sendMetric({ summary: { dataPoints: [{ timeUnixNano: time, count: '1', sum: 1 }] } }, 1)).toEqual([]);
  });
});

describe('appended rows', () => {
  it('"`gen_ai.provider.name`" is the provider where the specified rows are silent', async () => {
    expect((await send({ 'gen_ai.provider.name': 'openai' })).provider).toBe('openai');
    expect((await send({ 'gen_ai.provider.name': 'openai', 'svc.provider': 'mine' })).provider).toBe('mine');
  });
  it('dotted cache counts, reasoning and messages of the current conventions', async () => {
    const span = await send({
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 50,
      'gen_ai.usage.cache_read.input_tokens': 40,
      'gen_ai.usage.cache_creation.input_tokens': 8,
      'gen_ai.usage.reasoning.output_tokens': 30,
      'gen_ai.input.messages': '[{"role":"user","parts":[]}]',
    });
    expect(span.usage).toMatchObject({
      input_details: { cache_read: 40, cache_write: 8 },
      output_details: { reasoning: 30 },
    });
    expect(JSON.stringify(span.input)).toContain('user');
  });
  it('an aggregate keeps its `usage`, has no `cost`, and says why', async () => {
    for (const attributes of [
      { 'gen_ai.operation.name': 'invoke_agent' },
      { 'gen_ai.operation.name': 'create_agent' },
      { 'gen_ai.operation.name': 'invoke_workflow' },
      { 'ai.operationId': 'ai.generateText' },
      { 'ai.operationId': 'ai.streamText' },
      { 'ai.operationId': 'ai.generateObject' },
      { 'ai.operationId': 'ai.streamObject' },
    ]) {
      const span = await send({
        ...attributes,
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 50,
      });
      expect(span.usage).toMatchObject({ input_tokens: 100, output_tokens: 50 });
      expect(span).not.toHaveProperty('cost');
      expect(span.attributes['svc.cost.skipped']).toBe('aggregate');
    }
  });
  it('the kind rules that are added where the specified ones end in `generic`', async () => {
    const rows: readonly [Record<string, string>, string][] = [
      [{ 'gen_ai.operation.name': 'invoke_workflow' }, 'workflow_run'],
      [{ 'gen_ai.operation.name': 'retrieval' }, 'retrieval'],
      [{ 'gen_ai.operation.name': 'plan' }, 'agent_run'],
      [{ 'gen_ai.operation.name': 'search_memory' }, 'rag_action'],
      [{ 'traceloop.span.kind': 'workflow' }, 'workflow_run'],
      [{ 'traceloop.span.kind': 'task' }, 'workflow_run'],
      [{ 'traceloop.span.kind': 'agent' }, 'agent_run'],
      [{ 'traceloop.span.kind': 'tool' }, 'tool_call'],
      [{ 'llm.request.type': 'chat' }, 'model_generation'],
      [{ 'llm.request.type': 'completion' }, 'model_generation'],
      [{ 'llm.request.type': 'embedding' }, 'rag_embedding'],
      [{ 'mcp.method.name': 'tools/call' }, 'mcp_tool_call'],
      [{ 'ai.operationId': 'ai.toolCall' }, 'tool_call'],
    ];
    for (const [attributes, kind] of rows) expect((await send(attributes)).kind, JSON.stringify(attributes)).toBe(kind);
  });
});

describe('the bounds at their defaults', () => {
  const spans = (count: number) => {
    const traceId = newTraceId();
    return Array.from({ length: count }, (_, n) => ({ traceId, spanId: (n + 1).toString(16).padStart(16, '0') }));
  };
  it('"10,000 signals by default": they are taken, one more is 413 naming both numbers', async () => {
    const taken = spans(10_000);
    expect((await service.post('/v1/traces', otlpTraces(taken))).json.partialSuccess.rejectedSpans).toBe(0);
    const { trace } = (await service.get(`/v1/api/traces/${taken[0]?.traceId}?payloads=none`)).json;
    expect(trace.span_count).toBe(10_000);
    const refused = await service.post('/v1/traces', otlpTraces(spans(10_001)));
    expect([refused.status, refused.json.code]).toEqual([413, 'payload_too_large']);
    expect(refused.json.message).toContain('10000');
    expect(refused.json.message).toContain('33554432');
  });
  it('"32 MiB by default, measured on the bytes received": they are taken, one more is 413', async () => {
    const padded = (bytes: number): string => `{"spans":[]${' '.repeat(bytes - 12)}}`;
    expect((await service.post('/v1/ingest', padded(32 * 1024 * 1024))).status).toBe(200);
    const refused = await service.post('/v1/ingest', padded(32 * 1024 * 1024 + 1));
    expect([refused.status, refused.json.code]).toEqual([413, 'payload_too_large']);
  });
});
