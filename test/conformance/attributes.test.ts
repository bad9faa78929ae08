import { describe, expect, it } from 'vitest';
import {
  aDaemon,
  type Json,
  newTraceId,
  newWord,
  nowNano,
  otlpAttributes,
  otlpSpan,
  otlpTraces,
  roundTrip,
} from './client.ts';

// "Attributes in the wild": what today's instrumentations emit beside the names of the specified table.

const service = await aDaemon();
const send = (attributes: Record<string, unknown>, more?: object): Promise<Json> =>
  roundTrip(service, attributes, {}, more);
const at = (span: Json, path: string): unknown =>
  path.split('.').reduce<Json>((value, key) => (value === undefined ? undefined : value[key]), span);
const event = (name: string, attributes: Record<string, unknown>) => ({
  name,
  timeUnixNano: nowNano(),
  attributes: otlpAttributes(attributes),
});

/** By field: the names in their order, so that the earlier one of two that arrive together is read. */
const rows: Readonly<Record<string, string>> = {
  provider: 'gen_ai.provider.name llm.system ai.model.provider',
  model:
    'llm.request.model_name llm.response.model_name embedding.model_name reranker.model_name ai.model.id ai.response.model aisdk.model.id langfuse.observation.model.name',
  input:
    'gen_ai.input.messages llm.input_messages.0.message.content gen_ai.prompt.0.content llm.prompts traceloop.entity.input ai.prompt.messages ai.prompt ai.toolCall.args gen_ai.tool.call.arguments gen_ai.tool.args tool_arguments mcp.request.argument langfuse.observation.input langfuse.trace.input mlflow.spanInputs genkit:input gcp.vertex.agent.llm_request gcp.vertex.agent.tool_call_args pydantic_ai.all_messages all_messages_events gen_ai.retrieval.query.text',
  output:
    'gen_ai.output.messages llm.output_messages.0.message.content gen_ai.completion.0.content llm.choices traceloop.entity.output ai.response.text ai.response.object ai.response.toolCalls ai.result.text ai.toolCall.result gen_ai.tool.call.result tool_response final_result mcp.response.value langfuse.observation.output langfuse.trace.output mlflow.spanOutputs genkit:output gcp.vertex.agent.llm_response gcp.vertex.agent.tool_response retrieval.documents.0.document.content gen_ai.retrieval.documents reranker.output_documents.0.document.content',
  entity_name:
    'gen_ai.tool.name gen_ai.workflow.name traceloop.entity.name agent.name tool.name tool_name ai.toolCall.name ai.telemetry.functionId gen_ai.data_source.id graph.node.name genkit:name',
  'usage.input_tokens': 'ai.usage.inputTokens ai.usage.promptTokens input_token_count',
  'usage.output_tokens': 'ai.usage.outputTokens ai.usage.completionTokens output_token_count',
  'usage.total_tokens': 'llm.usage.total_tokens ai.usage.totalTokens ai.usage.tokens total_token_count',
  'usage.input_details.cache_read':
    'gen_ai.usage.cache_read.input_tokens gen_ai.usage.details.cache_read_tokens gen_ai.usage.cache_read_tokens gen_ai.usage.cached_tokens gen_ai.usage.input_tokens.cached gen_ai.usage.prompt_cache_hit_tokens ai.usage.cachedInputTokens ai.usage.inputTokenDetails.cacheReadTokens cache_read_tokens cached_token_count cached_content_token_count',
  'usage.input_details.cache_write':
    'gen_ai.usage.cache_write.input_tokens gen_ai.usage.cache_creation.input_tokens gen_ai.usage.details.cache_write_tokens gen_ai.usage.cache_write_input_tokens gen_ai.usage.cache_write_tokens gen_ai.usage.input_tokens.cache_write ai.usage.inputTokenDetails.cacheWriteTokens cache_creation_tokens',
  'usage.input_details.audio': 'gen_ai.usage.audio.input_tokens gen_ai.usage.audio_input_tokens',
  'usage.output_details.audio': 'gen_ai.usage.audio.output_tokens',
  'usage.output_details.reasoning':
    'gen_ai.usage.reasoning.output_tokens gen_ai.usage.details.reasoning_tokens ai.usage.reasoningTokens ai.usage.outputTokenDetails.reasoningTokens reasoning_token_count thoughts_token_count',
  'cost.total_cost': 'llm.cost.total gen_ai.usage.cost gen_ai.cost.total_cost litellm.cost.total operation.cost',
  'correlation.session_id':
    'ai.telemetry.metadata.sessionId langfuse.session.id traceloop.association.properties.session_id lmnr.association.properties.session_id conversation.id mcp.session.id',
  'correlation.user_id':
    'langfuse.user.id ai.telemetry.metadata.userId llm.user traceloop.association.properties.user_id lmnr.association.properties.user_id',
  'correlation.tags':
    'tag.tags langfuse.trace.tags ai.telemetry.metadata.tags lmnr.association.properties.tags langsmith.span.tags',
  'correlation.release': 'langfuse.release',
  'correlation.environment': 'langfuse.environment',
};

describe('"Append, in this order, after the specified rows"', () => {
  for (const [field, list] of Object.entries(rows)) {
    const names = list.split(' ');
    const isNumber = field.startsWith('usage') || field.startsWith('cost');
    const valueOf = (name: string): unknown => {
      if (field === 'correlation.tags') return [`tag of ${name}`];
      return isNumber ? 100 + names.indexOf(name) : `value of ${name}`;
    };
    it(`\`${field}\` is read from each of its ${names.length} names, the earlier before the next`, async () => {
      for (const [index, name] of names.entries()) {
        const next = names[index + 1];
        const span = await send({
          ...(field.includes('details') && { 'llm.token_count.total': 9000 }),
          ...(next !== undefined && { [next]: valueOf(next) }),
          [name]: valueOf(name),
        });
        const read = JSON.stringify(at(span, field));
        expect([name, read]).toEqual([
          name,
          expect.stringContaining(JSON.stringify(valueOf(name)).replaceAll(/^[["]+|[\]"]+$/g, '')),
        ]);
      }
    });
  }
  it('specified rows win over all of them', async () => {
    const span = await send({
      'gen_ai.provider.name': 'appended',
      'svc.provider': 'specified',
      'ai.model.id': 'appended',
      'svc.model': 'specified',
      'gen_ai.input.messages': 'appended',
      'svc.input': 'specified',
      'gen_ai.output.messages': 'appended',
      'svc.output': 'specified',
      'gen_ai.tool.name': 'appended',
      'svc.entity.name': 'specified',
      'langfuse.user.id': 'appended',
      'svc.user_id': 'specified',
    });
    expect([span.provider, span.model, span.input, span.output, span.entity_name, span.correlation.user_id]).toEqual(
      Array.from({ length: 6 }, () => 'specified'),
    );
  });
});

describe('forms of their own', () => {
  it('counts and costs of Langfuse and MLflow, which are JSON in a string', async () => {
    const langfuse = await send({
      'langfuse.observation.usage_details': '{"input":100,"output":5,"cache_read_input_tokens":20}',
      'langfuse.observation.cost_details': '{"input":1,"output":2,"total":3}',
    });
    expect(langfuse.usage).toEqual({ input_tokens: 100, output_tokens: 5, input_details: { cache_read: 20 } });
    expect(langfuse.cost).toMatchObject({ total_cost: 3, input_cost: 1, output_cost: 2 });
    const mlflow = await send({ 'mlflow.chat.tokenUsage': '{"input_tokens":10,"output_tokens":5,"total_tokens":15}' });
    expect(mlflow.usage).toEqual({ input_tokens: 10, output_tokens: 5, total_tokens: 15 });
  });
  it('`input_tokens` of Claude Code is exclusive of the cache, and of no other emitter', async () => {
    const attributes = {
      model: 'claude-sonnet-4-5',
      input_tokens: 100,
      output_tokens: 10,
      cache_read_tokens: 50,
      cache_creation_tokens: 20,
    };
    const span = otlpSpan(attributes);
    const body = otlpTraces([span]);
    body.resourceSpans[0].scopeSpans[0].scope.name = 'com.anthropic.claude_code.tracing';
    await service.post('/v1/traces', body);
    const read = (await service.get(`/v1/api/traces/${span.traceId}`)).json.spans[0];
    // 100 × 3 + 50 × 0.3 + 20 × 3.75 + 10 × 15
    expect(read.cost.total_cost).toBeCloseTo(0.00054, 12);
    const other = await send(attributes);
    for (const name of ['model', 'usage', 'cost']) expect(other).not.toHaveProperty(name);
  });
  it('"input/output from span events"', async () => {
    const chat = await send(
      {},
      { events: [event('gen_ai.user.message', { content: 'hi there' }), event('gen_ai.choice', { message: 'yo' })] },
    );
    expect([JSON.stringify(chat.input), JSON.stringify(chat.output)]).toEqual([
      expect.stringContaining('hi there'),
      expect.stringContaining('yo'),
    ]);
    const content = await send(
      {},
      {
        events: [
          event('gen_ai.content.prompt', { 'gen_ai.prompt': 'p' }),
          event('gen_ai.content.completion', { 'gen_ai.completion': 'c' }),
        ],
      },
    );
    expect([content.input, content.output]).toEqual(['p', 'c']);
  });
  it('"exception **span events**" give an error its message, kind and stack', async () => {
    const exception = event('exception', {
      'exception.type': 'E',
      'exception.message': 'm',
      'exception.stacktrace': 's',
    });
    expect((await send({ 'error.type': 'T' }, { status: { code: 2 }, events: [exception] })).error).toEqual({
      message: 'm',
      type: 'E',
      stack: 's',
    });
    expect((await send({ 'error.type': 'T' }, { status: { code: 2 } })).error).toEqual({
      message: 'unspecified error',
      type: 'T',
    });
    expect(await send({}, { events: [exception] })).not.toHaveProperty('error');
  });
  it('"event `gen_ai.evaluation.result`" becomes a score, once, however often it is sent', async () => {
    const span = otlpSpan(
      {},
      {
        events: [
          event('gen_ai.evaluation.result', {
            'gen_ai.evaluation.name': 'relevance',
            'gen_ai.evaluation.score.value': 0.8,
            'gen_ai.evaluation.score.label': 'fine',
            'gen_ai.evaluation.explanation': 'why',
          }),
        ],
      },
    );
    for (let sent = 0; sent < 2; sent += 1) await service.post('/v1/traces', otlpTraces([span]));
    const { scores } = (await service.get(`/v1/api/scores?trace_id=${span.traceId}`)).json;
    expect(scores).toHaveLength(1);
    expect(scores[0]).toMatchObject({
      span_id: span.spanId,
      scorer_id: 'relevance',
      value: 0.8,
      label: 'fine',
      reason: 'why',
    });
  });
  it('"Token data of Codex and Gemini CLI is only in **logs**; Claude Code cost is in logs …: make model spans from these records"', async () => {
    const records: readonly [string, Record<string, unknown>, object][] = [
      [
        'codex_otel',
        {
          'event.name': 'codex.sse_event',
          'event.kind': 'response.completed',
          model: 'gpt-5',
          input_token_count: 100,
          output_token_count: 10,
          cached_token_count: 20,
        },
        // 80 × 1.25 + 20 × 0.125 + 10 × 10
        { kind: 'model_generation', model: 'gpt-5', cost: { total_cost: expect.closeTo(0.0002025, 12) } },
      ],
      [
        'gemini-cli',
        {
          'event.name': 'gemini_cli.api_response',
          model: 'gemini-2.5-pro',
          input_token_count: 100,
          output_token_count: 10,
          total_token_count: 110,
        },
        // 100 × 1.25 + 10 × 10
        { kind: 'model_generation', model: 'gemini-2.5-pro', cost: { total_cost: expect.closeTo(0.000225, 12) } },
      ],
      [
        'com.anthropic.claude_code.events',
        {
          'event.name': 'api_request',
          model: 'claude-sonnet-4-5',
          input_tokens: '100',
          output_tokens: '10',
          cost_usd: '0.01',
        },
        { kind: 'model_generation', model: 'claude-sonnet-4-5', cost: { total_cost: 0.01 } },
      ],
    ];
    for (const [scope, attributes, span] of records) {
      const project = newWord('p');
      const resource = { attributes: otlpAttributes({ 'svc.project': project }) };
      // Claude Code names the event whole in the body, and without its product in the attribute.
      const body = { stringValue: `claude_code.${String(attributes['event.name'])}` };
      const logRecords = [{ timeUnixNano: nowNano(), body, attributes: otlpAttributes(attributes) }];
      const sent = await service.post('/v1/logs', {
        resourceLogs: [{ resource, scopeLogs: [{ scope: { name: scope }, logRecords }] }],
      });
      expect(sent.json.partialSuccess.rejectedLogRecords).toBe(0);
      const { spans } = (await service.get(`/v1/api/spans?project=${project}`)).json;
      expect(spans).toHaveLength(1);
      expect(spans[0]).toMatchObject(span);
      expect((await service.get(`/v1/api/logs?project=${project}`)).json.logs).toHaveLength(1);
    }
  });
});

it('"Kind rules to add", where the specified ones end in `generic`', async () => {
  const kinds: readonly [Record<string, unknown>, string][] = [
    [{ 'ai.operationId': 'ai.generateText.doGenerate' }, 'model_generation'],
    [{ 'ai.operationId': 'ai.streamText.doStream' }, 'model_generation'],
    [{ 'ai.operationId': 'ai.embed.doEmbed' }, 'rag_embedding'],
    [{ 'ai.operationId': 'ai.toolCall' }, 'tool_call'],
    [{ 'langfuse.observation.type': 'generation' }, 'model_generation'],
    [{ 'langfuse.observation.type': 'tool' }, 'tool_call'],
    [{ 'langfuse.observation.type': 'agent' }, 'agent_run'],
    [{ 'langfuse.observation.type': 'retriever' }, 'retrieval'],
    [{ 'langfuse.observation.type': 'guardrail' }, 'guardrail'],
    [{ 'langfuse.observation.type': 'evaluator' }, 'scorer_run'],
    [{ 'mlflow.spanType': 'CHAT_MODEL' }, 'model_generation'],
    [{ 'mlflow.spanType': 'TOOL' }, 'tool_call'],
    [{ 'langsmith.span.kind': 'llm' }, 'model_generation'],
    [{ 'langsmith.span.kind': 'chain' }, 'workflow_run'],
    [{ 'lmnr.span.type': 'LLM' }, 'model_generation'],
    [{ 'gen_ai.provider.name': 'openai' }, 'generic'],
    [{ 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'm' }, 'model_generation'],
    [{ 'langsmith.span.kind': 'tool', 'http.method': 'GET' }, 'http_request'],
    [{ 'traceloop.span.kind': 'agent', 'gen_ai.system': 'x' }, 'model_generation'],
  ];
  for (const [attributes, kind] of kinds)
    expect([attributes, (await send(attributes)).kind]).toEqual([attributes, kind]);
  expect((await send({}, { name: newTraceId() })).kind).toBe('generic');
});
