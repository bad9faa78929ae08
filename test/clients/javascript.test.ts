import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAKE_ANSWER, FAKE_USAGE } from './fake-model.ts';
import { costOfOneCall, expectPricedCall, one, openStage, type Stage, type WireSpan } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Runs one client, as it is published, in its own folder and process, against this daemon and the fake model. */
const runClient = async (client: string, settings: Record<string, string> = {}): Promise<string> => {
  const folder = join(import.meta.dirname, client);
  if (!existsSync(join(folder, 'node_modules'))) throw new Error(`${client} is not installed: npm test installs it`);
  // Every client run gets a project of its own through the resource, so that runs do not see each other's traces.
  const project = `${client}-${Object.values(settings).join('-') || 'default'}`;
  const { code, printed } = await stage.run({
    folder,
    command: process.execPath,
    args: ['client.mjs'],
    settings: {
      ...settings,
      SVC_URL: stage.daemon.url,
      OTEL_RESOURCE_ATTRIBUTES: `svc.project=${project}`,
      // What a script does not set up itself would look for a collector at the default port until it gives up.
      ...(client === 'opentelemetry' ? {} : { OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' }),
    },
  });
  expect(code, printed).toBe(0);
  return project;
};

const { read, tracesOf, spansOf }: Pick<Stage, 'read' | 'tracesOf' | 'spansOf'> = {
  read: (path) => stage.read(path),
  tracesOf: (project) => stage.tracesOf(project),
  spansOf: (project) => stage.spansOf(project),
};

describe.each([
  { OTLP_ENCODING: 'protobuf', OTLP_COMPRESSION: 'none' },
  { OTLP_ENCODING: 'protobuf', OTLP_COMPRESSION: 'gzip' },
  { OTLP_ENCODING: 'json', OTLP_COMPRESSION: 'none' },
  { OTLP_ENCODING: 'json', OTLP_COMPRESSION: 'gzip' },
])('the OpenTelemetry JS SDK, $OTLP_ENCODING traces, compression $OTLP_COMPRESSION', (settings) => {
  let project: string;
  beforeAll(async () => {
    project = await runClient('opentelemetry', settings);
  });

  it('arrives as one trace: root, a priced model call, a failed tool', async () => {
    const trace = one(await tracesOf(project), 'traces');
    expect(trace.name).toBe('handle refund');
    expect(trace.cost?.total_cost).toBeCloseTo(costOfOneCall(), 12);
    const spans = await spansOf(project);
    expect(spans[0]?.name).toBe('handle refund');
    // The two below it may begin in the same microsecond, so their order is not the client's to say.
    expect(spans.map((span) => span.name).toSorted()).toEqual(['chat gpt-4o-mini', 'handle refund', 'pay']);
    const named = (name: string): WireSpan =>
      one(
        spans.filter((span) => span.name === name),
        name,
      );
    const [root, chat, pay] = [named('handle refund'), named('chat gpt-4o-mini'), named('pay')];
    expectPricedCall(chat);
    expect(JSON.stringify(chat.input)).toContain('Refund order A-17');
    expect(JSON.stringify(chat.output)).toContain(FAKE_ANSWER);
    expect(pay).toMatchObject({ kind: 'tool_call', status: 'error', parent_span_id: root.span_id });
    expect(pay.error).toMatchObject({ message: 'card declined', type: 'TypeError' });
    expect(pay.error?.stack).toContain('TypeError: card declined');
  });

  it('keeps session, user, tags, service and environment', async () => {
    const [root] = await spansOf(project);
    expect(root?.correlation).toMatchObject({
      project,
      session_id: 'conversation-1',
      user_id: 'user-1',
      tags: ['gold', 'eu'],
      service_name: 'refund-bot',
      service_version: '1.4.0',
      environment: 'staging',
    });
  });

  it('keeps its logs, with severity, logger and the trace they belong to', async () => {
    const trace = one(await tracesOf(project), 'traces');
    const { logs } = await read<{ logs: readonly Record<string, unknown>[] }>(
      `/v1/api/logs?project=${project}&trace_id=${trace.trace_id}`,
    );
    expect(logs).toHaveLength(2);
    expect(logs).toContainEqual(
      expect.objectContaining({ severity: 'error', message: 'card declined', logger: 'refund-bot.pay' }),
    );
    const structured = logs.find((log) => log['severity'] === 'info');
    expect(JSON.parse(structured?.['message'] as string)).toEqual({ order: 'A-17', steps: ['check', 'pay'] });
  });

  it('keeps its metrics: sums become counters, gauges become gauges, histograms keep their bounds', async () => {
    const { metrics } = await read<{ metrics: readonly { name: string; type: string }[] }>(
      `/v1/api/metrics?project=${project}`,
    );
    expect(metrics).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'refunds', type: 'counter' }),
        expect.objectContaining({ name: 'queue_depth', type: 'gauge' }),
        expect.objectContaining({ name: 'refund_amount', type: 'histogram' }),
      ]),
    );
    const { points } = await read<{ points: readonly { bounds: number[]; bucket_counts: number[] }[] }>(
      `/v1/api/metrics/refund_amount/points?project=${project}`,
    );
    const point = one(points, 'points');
    expect(point).toMatchObject({ sum: 42.5, count: 1, unit: 'USD' });
    expect(point.bucket_counts).toHaveLength(point.bounds.length + 1);
  });
});

describe.each([{ OTLP_ENCODING: 'protobuf' }, { OTLP_ENCODING: 'json' }])(
  'the OpenAI client under OpenInference, $OTLP_ENCODING',
  (settings) => {
    it('arrives with model, tokens, cost, prompt, completion, session and user', async () => {
      const project = await runClient('openinference', settings);
      const span = one(await spansOf(project), 'spans');
      expectPricedCall(span);
      expect(String(span.input)).toContain('Refund order A-17');
      expect(String(span.output)).toContain(FAKE_ANSWER);
      expect(span.correlation).toMatchObject({ session_id: 'session-oi', user_id: 'user-oi' });
      expect(span.attributes['llm.output_messages.0.message.content']).toBe(FAKE_ANSWER);
    });
  },
);

describe("the OpenAI client under Traceloop's SDK", () => {
  it('arrives as workflow, tool and priced model call with the associated user and session', async () => {
    const project = await runClient('traceloop');
    const spans = await spansOf(project);
    const workflow = one(
      spans.filter((span) => span.kind === 'workflow_run'),
      'workflow spans',
    );
    const tool = one(
      spans.filter((span) => span.kind === 'tool_call'),
      'tool spans',
    );
    const call = one(
      spans.filter((span) => span.kind === 'model_generation'),
      'model spans',
    );
    expect(workflow.entity_name).toBe('refund');
    expect(tool.entity_name).toBe('look_up_order');
    expect(JSON.stringify(tool.output)).toContain('A-17');
    // This SDK reports no cached tokens, so its calls are priced at the plain input rate.
    expectPricedCall(call, 0);
    expect(JSON.stringify(call.input)).toContain('Refund order A-17');
    expect(JSON.stringify(call.output)).toContain(FAKE_ANSWER);
    expect(call.correlation).toMatchObject({ user_id: 'user-tl', session_id: 'session-tl' });
  });
});

describe.each([{ OTLP_ENCODING: 'protobuf' }, { OTLP_ENCODING: 'json' }])('the AI SDK, $OTLP_ENCODING', (settings) => {
  it('prices each model call once, although its agent span repeats the tokens', async () => {
    const project = await runClient('ai-sdk', settings);
    const spans = await spansOf(project);
    const calls = spans.filter((span) => span.kind === 'model_generation');
    expect(calls).toHaveLength(3);
    for (const call of calls) expectPricedCall(call);
    expect(JSON.stringify(calls.map((call) => call.output))).toContain(FAKE_ANSWER);

    const agents = spans.filter((span) => span.kind === 'agent_run' && span.name.startsWith('invoke_agent'));
    expect(agents).toHaveLength(2);
    for (const agent of agents) {
      expect(agent.usage?.input_tokens).toBeGreaterThanOrEqual(FAKE_USAGE.prompt);
      expect(agent).not.toHaveProperty('cost');
      expect(agent.attributes['svc.cost.skipped']).toBe('aggregate');
    }
    const tool = one(
      spans.filter((span) => span.kind === 'tool_call'),
      'tool spans',
    );
    expect(tool.entity_name).toBe('look_up_order');
    expect(JSON.stringify(tool.input)).toContain('A-17');
    expect(JSON.stringify(tool.output)).toContain('42');

    const total = (await tracesOf(project)).reduce((sum, trace) => sum + (trace.cost?.total_cost ?? 0), 0);
    expect(total).toBeCloseTo(3 * costOfOneCall(), 12);
  });
});

describe("LangChain JS under OpenInference's instrumentation", () => {
  it('arrives as a chain with a priced model call below it, in its session', async () => {
    const project = await runClient('langchain');
    const spans = await spansOf(project);
    const chain = one(
      spans.filter((span) => span.parent_span_id === undefined),
      'roots',
    );
    expect(chain.kind).toBe('workflow_run');
    expect(JSON.stringify(chain.output)).toContain(FAKE_ANSWER);
    const call = one(
      spans.filter((span) => span.kind === 'model_generation'),
      'model spans',
    );
    expect(call.model).toBe('gpt-4o-mini');
    expect(call.usage).toMatchObject({ input_tokens: FAKE_USAGE.prompt, output_tokens: FAKE_USAGE.completion });
    expect(call.cost?.total_cost).toBeGreaterThan(0);
    expect(JSON.stringify(call.input)).toContain('Refund order A-17');
    expect(call.correlation).toMatchObject({ session_id: 'session-lc' });
  });
});
