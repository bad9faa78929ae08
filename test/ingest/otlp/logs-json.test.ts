import { describe, expect, it } from 'vitest';
import { decodeOtlpJson } from '../../../src/ingest/otlp/json.ts';
import { Refusal } from '../../../src/model/failure.ts';
import { aContext, RECEIVED_AT } from '../factories.ts';
import { A_SPAN_ID, A_TRACE_ID, attributesOf } from './request-codec.ts';

const decode = (
  records: readonly unknown[],
  scopeName = 'my.logger',
  resource: Record<string, unknown> = {},
  changes = {},
) =>
  decodeOtlpJson(
    'logs',
    Buffer.from(
      JSON.stringify({
        resourceLogs: [
          {
            resource: { attributes: attributesOf(resource) },
            scopeLogs: [{ scope: { name: scopeName }, logRecords: records }],
          },
        ],
      }),
    ),
    aContext(changes),
  );
const first = (record: unknown) => decode([record]).batch.logs[0];
const messageOfRefusal = (body: Uint8Array): string => {
  try {
    decodeOtlpJson('logs', body, aContext());
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  return 'not refused';
};

describe('OTLP logs', () => {
  const severities = [
    ['trace', 1, 4],
    ['debug', 5, 8],
    ['info', 9, 12],
    ['warn', 13, 16],
    ['error', 17, 20],
    ['fatal', 21, 24],
  ] as const;
  for (const [name, low, high] of severities)
    it(`severity number ${low}-${high} is ${name}`, () => {
      expect(first({ severityNumber: low })?.severity).toBe(name);
      expect(first({ severityNumber: high })?.severity).toBe(name);
    });
  it('"none means info", and above 24 still fatal', () => {
    expect(first({})?.severity).toBe('info');
    expect(first({ severityNumber: 0 })?.severity).toBe('info');
    expect(first({ severityNumber: 99 })?.severity).toBe('fatal');
    expect(first({ severityNumber: 'SEVERITY_NUMBER_WARN2' })?.severity).toBe('warn');
    expect(first({ severityNumber: 'SEVERITY_NUMBER_FATAL4' })?.severity).toBe('fatal');
  });

  it('"Message from body.stringValue; logger name from the scope name; traceId and spanId kept when valid"', () => {
    const record = {
      timeUnixNano: '1700000000000000001',
      body: { stringValue: 'hello' },
      traceId: A_TRACE_ID,
      spanId: A_SPAN_ID,
      attributes: attributesOf({ a: 1, 'input.value': 'kept', 'session.id': 's' }),
    };
    expect(decode([record], 'my.logger', { 'service.name': 'shop' }).batch.logs).toEqual([
      {
        logId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        timestamp: 1_700_000_000_000_000_001n,
        receivedAt: RECEIVED_AT,
        severity: 'info',
        message: 'hello',
        logger: 'my.logger',
        traceId: A_TRACE_ID,
        spanId: A_SPAN_ID,
        attributes: { 'service.name': 'shop', a: 1, 'input.value': 'kept', 'session.id': 's' },
        correlation: { project: 'the-default', serviceName: 'shop', sessionId: 's' },
      },
    ]);
  });
  it('invalid ids are left out, and the record is kept', () => {
    const log = first({ body: { stringValue: 'x' }, traceId: '0'.repeat(32), spanId: 'nonsense' });
    expect(log).not.toHaveProperty('traceId');
    expect(log).not.toHaveProperty('spanId');
  });
  it('"A structured log body becomes its JSON text as message"', () => {
    const body = { kvlistValue: { values: attributesOf({ a: [1, true], b: 'c' }) } };
    expect(first({ body })?.message).toBe('{"a":[1,true],"b":"c"}');
    expect(first({ body: { intValue: '5' } })?.message).toBe('5');
    expect(first({ eventName: 'an.event' })).toMatchObject({
      message: 'an.event',
      attributes: { 'event.name': 'an.event' },
    });
  });
  it('the time is the observed one, then that of arrival, where it is missing', () => {
    expect(first({ timeUnixNano: '0', observedTimeUnixNano: '7' })?.timestamp).toBe(7n);
    expect(first({})?.timestamp).toBe(RECEIVED_AT);
  });
  it('one bad record never fails its batch', () => {
    const { batch, refusals } = decode([
      { timeUnixNano: 'soon' },
      5,
      { attributes: 'x' },
      { body: { stringValue: 'ok' } },
    ]);
    expect(batch.logs.map((log) => log.message)).toEqual(['ok']);
    expect(refusals).toMatchObject([
      { signal: 'logs', index: 0, field: 'timeUnixNano' },
      { signal: 'logs', index: 1 },
      { signal: 'logs', index: 2, field: 'attributes' },
    ]);
  });
  it('a protobuf body is refused as body is not valid JSON, naming the variable to set', () => {
    const message = messageOfRefusal(Buffer.from([0x0a, 0x12, 0x12, 0x10]));
    expect(message).toMatch(/^body is not valid JSON/);
    expect(message).toContain('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/json');
  });
  it('a wrong resource or scope refuses the request', () => {
    for (const body of ['[]', '{"resourceLogs":5}', '{"resourceLogs":[{"scopeLogs":[5]}]}'])
      expect(messageOfRefusal(Buffer.from(body)), body).toMatch(/^body is not an OTLP/);
  });
  it('10,000 records are taken, 10,001 refused', () => {
    const many = (count: number) => Array.from({ length: count }, () => ({}));
    expect(decode(many(10_000)).batch.logs).toHaveLength(10_000);
    expect(() => decode(many(10_001))).toThrow(/10001.*10000/);
  });
  it('an evaluation event becomes a score beside the record', () => {
    const record = {
      eventName: 'gen_ai.evaluation.result',
      traceId: A_TRACE_ID,
      attributes: attributesOf({ 'gen_ai.evaluation.name': 'tone', 'gen_ai.evaluation.score.value': 1 }),
    };
    const { batch } = decode([record]);
    expect(batch.scores).toMatchObject([{ scorerId: 'tone', value: 1, traceId: A_TRACE_ID }]);
    expect(batch.logs).toHaveLength(1);
  });
});

describe('token data of coding agents is only in logs: a model span is made beside the record', () => {
  const claude = {
    timeUnixNano: '1700000010000000000',
    body: { stringValue: 'claude_code.api_request' },
    attributes: attributesOf({
      'event.name': 'api_request',
      'event.sequence': 3,
      'session.id': 'session-1',
      'prompt.id': 'prompt-1',
      'user.id': 'u',
      model: 'claude-sonnet-4-5',
      input_tokens: '10',
      output_tokens: '20',
      cache_read_tokens: '300',
      cache_creation_tokens: '40',
      cost_usd: '0.0125',
      duration_ms: '2500',
    }),
  };
  const scope = 'com.anthropic.claude_code.events';

  it('Claude Code: model, usage, carried cost, session, time', () => {
    const { spans, logs } = decode([claude], scope).batch;
    expect(logs).toHaveLength(1);
    expect(spans).toMatchObject([
      {
        name: 'chat claude-sonnet-4-5',
        kind: 'model_generation',
        status: 'ok',
        startTime: 1_700_000_007_500_000_000n,
        endTime: 1_700_000_010_000_000_000n,
        model: 'claude-sonnet-4-5',
        provider: 'anthropic',
        usage: { inputTokens: 10, outputTokens: 20, inputDetails: { cacheRead: 300, cacheWrite: 40, text: 10 } },
        cost: { totalCost: 0.0125, currency: 'USD', isEstimated: false },
        correlation: { sessionId: 'session-1', userId: 'u' },
      },
    ]);
  });
  it('the same record sent again is the same span; another record of the prompt joins its trace', () => {
    const other = { ...claude, timeUnixNano: '1700000020000000000' };
    const [a] = decode([claude], scope).batch.spans;
    const [again, b] = decode([claude, other], scope).batch.spans;
    expect(again?.spanId).toBe(a?.spanId);
    expect(b?.traceId).toBe(a?.traceId);
    expect(b?.spanId).not.toBe(a?.spanId);
    expect(a?.traceId).toMatch(/^[0-9a-f]{32}$/);
  });
  it('Claude Code that traces carries the tokens on its own span: none is made', () => {
    expect(decode([{ ...claude, traceId: A_TRACE_ID, spanId: A_SPAN_ID }], scope).batch.spans).toEqual([]);
  });
  it('Codex: response.completed with its token counts', () => {
    const codex = {
      timeUnixNano: '1700000010000000000',
      traceId: A_TRACE_ID,
      spanId: A_SPAN_ID,
      attributes: attributesOf({
        'event.name': 'codex.sse_event',
        'event.kind': 'response.completed',
        'conversation.id': 'c',
        model: 'gpt-5-codex',
        input_token_count: 100,
        output_token_count: 50,
        cached_token_count: 80,
        reasoning_token_count: 30,
      }),
    };
    const withoutTokens = {
      ...codex,
      attributes: attributesOf({ 'event.name': 'codex.sse_event', model: 'gpt-5-codex' }),
    };
    expect(decode([codex, withoutTokens], 'codex').batch.spans).toMatchObject([
      {
        traceId: A_TRACE_ID,
        parentSpanId: A_SPAN_ID,
        model: 'gpt-5-codex',
        provider: 'openai',
        usage: {
          inputTokens: 100,
          outputTokens: 50,
          inputDetails: { cacheRead: 80 },
          outputDetails: { reasoning: 30 },
        },
        correlation: { sessionId: 'c' },
      },
    ]);
  });
  it('Gemini CLI: gemini_cli.api_response', () => {
    const gemini = {
      attributes: attributesOf({
        'event.name': 'gemini_cli.api_response',
        model: 'gemini-2.5-pro',
        input_token_count: 7,
        output_token_count: 5,
        thoughts_token_count: 2,
        cached_content_token_count: 1,
        total_token_count: 14,
        'session.id': 's',
      }),
    };
    expect(decode([gemini], 'gemini-cli').batch.spans).toMatchObject([
      {
        model: 'gemini-2.5-pro',
        provider: 'gcp.gemini',
        usage: {
          inputTokens: 7,
          outputTokens: 5,
          totalTokens: 14,
          inputDetails: { cacheRead: 1 },
          outputDetails: { reasoning: 2 },
        },
      },
    ]);
  });
  it('any other record makes none', () => {
    expect(decode([{ attributes: attributesOf({ input_token_count: 5, model: 'm' }) }]).batch.spans).toEqual([]);
  });
});
