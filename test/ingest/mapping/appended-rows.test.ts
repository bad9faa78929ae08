import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/model/span.ts';
import { mapped } from '../factories.ts';

/**
 * The names that instrumentations emit today, by field and in order, copied by hand from the collected list. Each is read
 * after every row of the specification.
 */
type Appended = {
  field: string;
  specified?: string;
  keys: string[];
  read: (span: Span) => unknown;
  values?: (index: number) => unknown;
  with?: Record<string, unknown>;
  scope?: string;
};

const tokens = (index: number) => 100 + index;
const money = (index: number) => 0.5 + index;
const someUsage = { 'gen_ai.usage.total_tokens': 1 };

const fields: Appended[] = [
  {
    field: 'provider',
    specified: 'svc.provider',
    keys: ['gen_ai.provider.name', 'llm.system', 'ai.model.provider'],
    read: (span) => span.provider,
  },
  {
    field: 'model',
    specified: 'svc.model',
    keys: [
      'llm.request.model_name',
      'llm.response.model_name',
      'embedding.model_name',
      'reranker.model_name',
      'ai.model.id',
      'ai.response.model',
      'aisdk.model.id',
      'langfuse.observation.model.name',
    ],
    read: (span) => span.model,
  },
  {
    field: 'input',
    specified: 'svc.input',
    keys: [
      'gen_ai.input.messages',
      'llm.prompts',
      'traceloop.entity.input',
      'ai.prompt.messages',
      'ai.prompt',
      'ai.toolCall.args',
      'gen_ai.tool.call.arguments',
      'gen_ai.tool.args',
      'tool_arguments',
      'mcp.request.argument',
      'langfuse.observation.input',
      'langfuse.trace.input',
      'mlflow.spanInputs',
      'genkit:input',
      'gcp.vertex.agent.llm_request',
      'gcp.vertex.agent.tool_call_args',
      'pydantic_ai.all_messages',
      'all_messages_events',
      'gen_ai.retrieval.query.text',
      'lk.user_input',
    ],
    read: (span) => span.input,
  },
  {
    field: 'output',
    specified: 'svc.output',
    keys: [
      'gen_ai.output.messages',
      'llm.choices',
      'traceloop.entity.output',
      'ai.response.text',
      'ai.response.object',
      'ai.response.toolCalls',
      'ai.result.text',
      'ai.toolCall.result',
      'gen_ai.tool.call.result',
      'tool_response',
      'final_result',
      'mcp.response.value',
      'langfuse.observation.output',
      'langfuse.trace.output',
      'mlflow.spanOutputs',
      'genkit:output',
      'gcp.vertex.agent.llm_response',
      'gcp.vertex.agent.tool_response',
      'gen_ai.retrieval.documents',
      'lk.response.text',
    ],
    read: (span) => span.output,
  },
  {
    field: 'entity_name',
    specified: 'svc.entity.name',
    keys: [
      'gen_ai.tool.name',
      'gen_ai.workflow.name',
      'traceloop.entity.name',
      'agent.name',
      'tool.name',
      'tool_name',
      'ai.toolCall.name',
      'ai.telemetry.functionId',
      'gen_ai.data_source.id',
      'graph.node.name',
      'genkit:name',
    ],
    read: (span) => span.entityName,
  },
  {
    field: 'input tokens',
    specified: 'svc.usage.input_tokens',
    keys: ['ai.usage.inputTokens', 'ai.usage.promptTokens', 'llm.usage.prompt_tokens', 'input_token_count'],
    read: (span) => span.usage?.inputTokens,
    values: tokens,
  },
  {
    field: 'output tokens',
    specified: 'svc.usage.output_tokens',
    keys: ['ai.usage.outputTokens', 'ai.usage.completionTokens', 'output_token_count'],
    read: (span) => span.usage?.outputTokens,
    values: tokens,
  },
  {
    field: 'total tokens',
    specified: 'gen_ai.usage.total_tokens',
    keys: ['llm.usage.total_tokens', 'ai.usage.totalTokens', 'ai.usage.tokens', 'total_token_count'],
    read: (span) => span.usage?.totalTokens,
    values: tokens,
  },
  {
    field: 'cache_read',
    specified: 'svc.usage.cache_read_tokens',
    keys: [
      'gen_ai.usage.cache_read.input_tokens',
      'gen_ai.usage.details.cache_read_tokens',
      'gen_ai.usage.cache_read_tokens',
      'gen_ai.usage.cached_tokens',
      'gen_ai.usage.input_tokens.cached',
      'gen_ai.usage.prompt_cache_hit_tokens',
      'ai.usage.cachedInputTokens',
      'ai.usage.inputTokenDetails.cacheReadTokens',
      'cache_read_tokens',
      'cached_token_count',
      'cached_content_token_count',
    ],
    read: (span) => span.usage?.inputDetails?.cacheRead,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'cache_write',
    specified: 'svc.usage.cache_write_tokens',
    keys: [
      'gen_ai.usage.cache_write.input_tokens',
      'gen_ai.usage.cache_creation.input_tokens',
      'gen_ai.usage.details.cache_write_tokens',
      'gen_ai.usage.cache_write_input_tokens',
      'gen_ai.usage.cache_write_tokens',
      'gen_ai.usage.input_tokens.cache_write',
      'ai.usage.inputTokenDetails.cacheWriteTokens',
      'cache_creation_tokens',
    ],
    read: (span) => span.usage?.inputDetails?.cacheWrite,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'cache_write_5m',
    keys: ['gen_ai.usage.cache_creation.input_tokens.ephemeral_5m'],
    read: (span) => span.usage?.inputDetails?.cacheWrite5m,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'cache_write_1h',
    keys: ['gen_ai.usage.cache_creation.input_tokens.ephemeral_1h'],
    read: (span) => span.usage?.inputDetails?.cacheWrite1h,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'audio input',
    specified: 'llm.token_count.prompt_details.audio',
    keys: ['gen_ai.usage.audio.input_tokens', 'gen_ai.usage.audio_input_tokens'],
    read: (span) => span.usage?.inputDetails?.audio,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'audio output',
    specified: 'llm.token_count.completion_details.audio',
    keys: ['gen_ai.usage.audio.output_tokens'],
    read: (span) => span.usage?.outputDetails?.audio,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'text input',
    keys: ['gen_ai.usage.text.input_tokens'],
    read: (span) => span.usage?.inputDetails?.text,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'text output',
    keys: ['gen_ai.usage.text.output_tokens'],
    read: (span) => span.usage?.outputDetails?.text,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'reasoning',
    specified: 'gen_ai.usage.reasoning_tokens',
    keys: [
      'gen_ai.usage.reasoning.output_tokens',
      'gen_ai.usage.details.reasoning_tokens',
      'ai.usage.reasoningTokens',
      'ai.usage.outputTokenDetails.reasoningTokens',
      'gen_ai.usage.reasoning_output_tokens',
      'reasoning_token_count',
      'thoughts_token_count',
    ],
    read: (span) => span.usage?.outputDetails?.reasoning,
    values: tokens,
    with: someUsage,
  },
  {
    field: 'carried cost',
    keys: [
      'llm.cost.total',
      'gen_ai.usage.cost',
      'gen_ai.cost.total_cost',
      'litellm.cost.total',
      'operation.cost',
      'cost_usd',
    ],
    read: (span) => span.cost?.totalCost,
    values: money,
  },
  {
    field: 'carried input cost',
    keys: ['llm.cost.prompt', 'gen_ai.usage.input_cost'],
    read: (span) => span.cost?.inputCost,
    values: money,
  },
  {
    field: 'carried output cost',
    keys: ['llm.cost.completion', 'gen_ai.usage.output_cost'],
    read: (span) => span.cost?.outputCost,
    values: money,
  },
  {
    field: 'session',
    specified: 'svc.session_id',
    keys: [
      'ai.telemetry.metadata.sessionId',
      'langfuse.session.id',
      'traceloop.association.properties.session_id',
      'lmnr.association.properties.session_id',
      'conversation.id',
      'mcp.session.id',
    ],
    read: (span) => span.correlation.sessionId,
  },
  {
    field: 'user',
    specified: 'svc.user_id',
    keys: [
      'langfuse.user.id',
      'ai.telemetry.metadata.userId',
      'llm.user',
      'traceloop.association.properties.user_id',
      'lmnr.association.properties.user_id',
    ],
    read: (span) => span.correlation.userId,
  },
  {
    field: 'tags',
    specified: 'svc.tags',
    keys: [
      'tag.tags',
      'langfuse.trace.tags',
      'ai.telemetry.metadata.tags',
      'lmnr.association.properties.tags',
      'langsmith.span.tags',
    ],
    read: (span) => span.correlation.tags,
    values: (index) => [`tag-${index}`],
  },
  {
    field: 'release',
    specified: 'svc.release',
    keys: ['langfuse.release', 'gen_ai.agent.version'],
    read: (span) => span.correlation.release,
  },
  {
    field: 'environment',
    specified: 'svc.environment',
    keys: ['langfuse.environment'],
    read: (span) => span.correlation.environment,
  },
  {
    field: 'model, of Claude Code only',
    specified: 'svc.model',
    keys: ['model'],
    read: (span) => span.model,
    scope: 'com.anthropic.claude_code.tracing',
  },
  {
    field: 'input tokens, of Claude Code only',
    specified: 'svc.usage.input_tokens',
    keys: ['input_tokens'],
    read: (span) => span.usage?.inputTokens,
    values: tokens,
    scope: 'com.anthropic.claude_code.tracing',
  },
  {
    field: 'output tokens, of Claude Code only',
    specified: 'svc.usage.output_tokens',
    keys: ['output_tokens'],
    read: (span) => span.usage?.outputTokens,
    values: tokens,
    scope: 'com.anthropic.claude_code.tracing',
  },
];

describe('appended rows of the attribute mapping', () => {
  for (const row of fields) {
    const valueAt = row.values ?? ((index: number) => `value-${index}`);
    row.keys.forEach((key, index) => {
      it(`${row.field} is read from ${key}${index === 0 ? '' : `, after ${row.keys[index - 1]}`}`, () => {
        const later = row.keys.map((name, at) => [name, valueAt(at)] as const).slice(index);
        const span = mapped({ ...row.with, ...Object.fromEntries(later.reverse()) }, {}, {}, row.scope);
        expect(row.read(span)).toEqual(valueAt(index));
      });
    });
    const { specified } = row;
    if (specified !== undefined)
      it(`${row.field}: ${specified}, the last row of the specification, is read before all appended ones`, () => {
        const appended = Object.fromEntries(row.keys.map((name, at) => [name, valueAt(at)]));
        const span = mapped({ ...appended, ...row.with, [specified]: valueAt(99) }, {}, {}, row.scope);
        expect(row.read(span)).toEqual(valueAt(99));
      });
    if (row.scope !== undefined)
      it(`${row.field}: nobody else's attribute of that name is read`, () => {
        const span = mapped(Object.fromEntries(row.keys.map((name, at) => [name, valueAt(at)])), {}, {}, 'other');
        expect(row.read(span)).toBeUndefined();
      });
  }

  it('old values of gen_ai.system are normalised; others stay as they are', () => {
    const pairs = {
      'az.ai.inference': 'azure.ai.inference',
      'az.ai.openai': 'azure.ai.openai',
      vertex_ai: 'gcp.vertex_ai',
      gemini: 'gcp.gemini',
      xai: 'x_ai',
      openai: 'openai',
    };
    for (const [sent, kept] of Object.entries(pairs)) expect(mapped({ 'gen_ai.system': sent }).provider).toBe(kept);
  });

  it('the one count of an embedding call of the AI SDK is its input, and its total', () => {
    expect(mapped({ 'ai.usage.tokens': 9 }).usage).toEqual({ inputTokens: 9, totalTokens: 9 });
  });

  it('usage objects in JSON text are read: Langfuse', () => {
    const details = JSON.stringify({
      input: 10,
      output: 4,
      total: 14,
      input_cached_tokens: 3,
      output_reasoning_tokens: 2,
    });
    expect(mapped({ 'langfuse.observation.usage_details': details }).usage).toEqual({
      inputTokens: 10,
      outputTokens: 4,
      totalTokens: 14,
      inputDetails: { cacheRead: 3 },
      outputDetails: { reasoning: 2 },
    });
  });

  it('usage objects are read from structured values too, and broken ones are passed over: MLflow', () => {
    const usage = { input_tokens: 10, output_tokens: 4, total_tokens: 14 };
    const kept = { inputTokens: 10, outputTokens: 4, totalTokens: 14 };
    expect(mapped({ 'mlflow.chat.tokenUsage': JSON.stringify(usage) }).usage).toEqual(kept);
    expect(mapped({ 'mlflow.chat.tokenUsage': usage }).usage).toEqual(kept);
    expect(mapped({ 'mlflow.chat.tokenUsage': '{"input_tokens":' }).usage).toBeUndefined();
    expect(mapped({ 'mlflow.chat.tokenUsage': '[10]' }).usage).toBeUndefined();
  });

  it('ai.response.providerMetadata tells the five-minute and one-hour cache writes of Anthropic', () => {
    const metadata = JSON.stringify({
      anthropic: {
        usage: {
          cache_creation_input_tokens: 30,
          cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
        },
      },
    });
    const span = mapped({ 'ai.usage.inputTokens': 100, 'ai.response.providerMetadata': metadata });
    expect(span.usage?.inputDetails).toEqual({ cacheWrite: 30, cacheWrite5m: 20, cacheWrite1h: 10 });
  });

  it('langfuse.observation.cost_details is a carried cost', () => {
    const details = JSON.stringify({ input: 0.25, output: 0.5, total: 0.75 });
    expect(mapped({ 'langfuse.observation.cost_details': details }).cost).toEqual({
      totalCost: 0.75,
      inputCost: 0.25,
      outputCost: 0.5,
      currency: 'USD',
      isEstimated: false,
    });
  });

  it('a cost carried only in its two halves is their sum', () => {
    expect(mapped({ 'llm.cost.prompt': 0.25, 'llm.cost.completion': 0.5 }).cost?.totalCost).toBe(0.75);
  });

  it('Claude Code counts cached tokens apart: all of its input is plain text', () => {
    const counts = { input_tokens: 10, cache_read_tokens: 7, cache_creation_tokens: 5, output_tokens: 3 };
    expect(mapped(counts, {}, {}, 'com.anthropic.claude_code.tracing').usage).toEqual({
      inputTokens: 10,
      outputTokens: 3,
      inputDetails: { cacheRead: 7, cacheWrite: 5, text: 10 },
    });
  });

  it('a comma list has at most 1,024 tags; a longer text is none', () => {
    const tagsOf = (count: number) =>
      mapped({ 'svc.tags': Array.from({ length: count }, (_, n) => `t${n}`).join() }).correlation.tags;
    expect(tagsOf(1_024)).toHaveLength(1_024);
    expect(tagsOf(1_025)).toBeUndefined();
  });

  it('tags come as an array, as JSON text, or as a comma list', () => {
    for (const tags of [['a', 'b'], '["a","b"]', 'a, b'])
      expect(mapped({ 'langsmith.span.tags': tags }).correlation.tags).toEqual(['a', 'b']);
  });

  it('prompt names, first-token times, finish reasons and metadata have no field, and are kept', () => {
    const attributes = {
      'gen_ai.prompt.name': 'p',
      'gen_ai.response.time_to_first_chunk': 0.5,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.id': 'r',
      metadata: '{"a":1}',
      'langsmith.metadata.a': 'b',
      'gen_ai.usage.image.input_tokens': 4,
    };
    expect(mapped(attributes).attributes).toEqual(attributes);
    expect(mapped(attributes).input).toBeUndefined();
  });
});

describe('messages', () => {
  it('indexed keys llm.input_messages.N.message.* become an array, in the order of their indexes', () => {
    const span = mapped({
      'llm.input_messages.10.message.content': 'eleventh',
      'llm.input_messages.2.message.role': 'user',
      'llm.input_messages.2.message.content': 'third',
      'llm.output_messages.0.message.content': 'answer',
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'f',
    });
    expect(span.input).toEqual([{ role: 'user', content: 'third' }, { content: 'eleventh' }]);
    expect(span.output).toEqual([{ content: 'answer', 'tool_calls.0.tool_call.function.name': 'f' }]);
    expect(span.inputAttribute).toBeUndefined();
    expect(span.attributes['llm.input_messages.2.message.content']).toBe('third');
  });

  it('indexed keys gen_ai.prompt.N.* and gen_ai.completion.N.* become arrays; gen_ai.prompt.name is none of them', () => {
    const span = mapped({
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'q',
      'gen_ai.prompt.name': 'greeting',
      'gen_ai.completion.0.content': 'a',
    });
    expect(span.input).toEqual([{ role: 'user', content: 'q' }]);
    expect(span.output).toEqual([{ content: 'a' }]);
  });

  it('documents are output: retrieval.documents.N.* and reranker.output_documents.N.*', () => {
    expect(mapped({ 'retrieval.documents.0.document.content': 'd' }).output).toEqual([{ content: 'd' }]);
    expect(mapped({ 'reranker.output_documents.0.document.score': 0.5 }).output).toEqual([{ score: 0.5 }]);
  });

  it('a whole attribute of an earlier row goes before indexed keys, and one of a later row after them', () => {
    expect(mapped({ 'llm.input_messages.0.message.content': 'x', 'input.value': 'v' }).input).toBe('v');
    const span = mapped({ 'llm.input_messages.0.message.content': 'x', 'ai.prompt': 'later' });
    expect(span.input).toEqual([{ content: 'x' }]);
    expect(span.attributes['ai.prompt']).toBe('later');
  });

  it('hostile indexes build neither holes nor prototypes', () => {
    const span = mapped({ 'gen_ai.prompt.999999.content': 'far', 'gen_ai.prompt.0.__proto__': 'p' });
    expect(JSON.stringify(span.input)).toBe('[{"__proto__":"p"},{"content":"far"}]');
  });

  it('gen_ai.system_instructions stand in front of gen_ai.input.messages, as text', () => {
    const messages = '[{"role":"user","parts":[]}]';
    const instructions = '[{"type":"text","content":"be brief"}]';
    const span = mapped({ 'gen_ai.input.messages': messages, 'gen_ai.system_instructions': instructions });
    expect(JSON.parse(span.input as string)).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'be brief' }] },
      { role: 'user', parts: [] },
    ]);
    expect(span.attributes).toEqual({ 'gen_ai.input.messages': messages, 'gen_ai.system_instructions': instructions });
  });

  it('gen_ai.system_instructions stand in front of structured messages, as structure', () => {
    const span = mapped({ 'gen_ai.input.messages': [{ role: 'user' }], 'gen_ai.system_instructions': 'be brief' });
    expect(span.input).toEqual([{ role: 'system', parts: [{ type: 'text', content: 'be brief' }] }, { role: 'user' }]);
  });

  const events = (list: { name: string; attributes: Record<string, unknown> }[]) => ({
    events: list.map(({ name, attributes }) => ({
      name,
      timeUnixNano: '1700000000000000001',
      attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: String(value) } })),
    })),
  });

  it('input and output are read from message events of the span', () => {
    const span = mapped(
      {},
      {},
      events([
        { name: 'gen_ai.system.message', attributes: { 'gen_ai.system': 'openai', content: 's' } },
        { name: 'gen_ai.user.message', attributes: { content: 'u' } },
        { name: 'gen_ai.assistant.message', attributes: { content: 'a' } },
        { name: 'gen_ai.tool.message', attributes: { content: 't', id: 'call_1' } },
        { name: 'gen_ai.choice', attributes: { index: 0, message: 'm' } },
      ]),
    );
    expect(span.input).toEqual([
      { role: 'system', content: 's' },
      { role: 'user', content: 'u' },
      { role: 'assistant', content: 'a' },
      { role: 'tool', content: 't', id: 'call_1' },
    ]);
    expect(span.output).toEqual([{ index: '0', message: 'm' }]);
    expect(span.events).toHaveLength(5);
  });

  it('input and output are read from content events and operation details', () => {
    const content = events([
      { name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': 'p' } },
      { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': 'c' } },
    ]);
    expect(mapped({}, {}, content)).toMatchObject({ input: 'p', output: 'c' });
    const details = events([
      {
        name: 'gen_ai.client.inference.operation.details',
        attributes: { 'gen_ai.input.messages': 'i', 'gen_ai.output.messages': 'o' },
      },
    ]);
    expect(mapped({}, {}, details)).toMatchObject({ input: 'i', output: 'o' });
    expect(mapped({ 'input.value': 'attribute' }, {}, content).input).toBe('attribute');
  });
});

describe('aggregates repeat the usage of their children and are not priced', () => {
  const usage = { 'gen_ai.usage.input_tokens': 5, 'gen_ai.usage.output_tokens': 2, 'gen_ai.request.model': 'm' };

  for (const operation of ['ai.generateText', 'ai.streamText', 'ai.generateObject', 'ai.streamObject'])
    it(`ai.operationId of ${operation}`, () => {
      const span = mapped({ ...usage, 'ai.operationId': operation, 'operation.cost': 0.5 });
      expect(span.attributes['svc.cost.skipped']).toBe('aggregate');
      expect(span.usage).toEqual({ inputTokens: 5, outputTokens: 2 });
      expect(span.cost).toBeUndefined();
    });

  for (const operation of ['invoke_agent', 'create_agent', 'invoke_workflow'])
    it(`gen_ai.operation.name of ${operation}`, () => {
      expect(mapped({ ...usage, 'gen_ai.operation.name': operation }).attributes['svc.cost.skipped']).toBe('aggregate');
    });

  it('gen_ai.aggregated_usage.*', () => {
    const span = mapped({ ...usage, 'gen_ai.aggregated_usage.input_tokens': 5 });
    expect(span.attributes['svc.cost.skipped']).toBe('aggregate');
  });

  it('a model call is none, nor is an aggregate without usage', () => {
    for (const attributes of [
      { ...usage, 'gen_ai.operation.name': 'chat' },
      { ...usage, 'ai.operationId': 'ai.generateText.doGenerate' },
      { 'gen_ai.operation.name': 'invoke_agent' },
    ])
      expect(mapped(attributes).attributes).not.toHaveProperty(['svc.cost.skipped']);
  });
});
