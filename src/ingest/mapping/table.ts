/**
 * The one table that says where a field of a span is read from.
 *
 * Rows are read in order and the first usable value wins. The rows of the interface specification ("OTLP attribute
 * mapping") come first, marked `specified`; the rest is appended for what instrumentations emit today, each with the
 * emitter that it was read from. An attribute without a row is kept all the same: the table lifts values, it drops none.
 */

/** How the value of an attribute is read. A value that cannot be read that way is no match, and the next row is tried. */
export type Shape =
  /** A non-empty string; a number or a boolean becomes its text. */
  | 'text'
  /** Any JSON value. */
  | 'payload'
  /** A non-negative integer: a number, or its decimal digits as text. */
  | 'tokens'
  /** A non-negative finite number, or its text. */
  | 'money'
  /** Strings: an array, a JSON array as text, or a comma list. */
  | 'tags';

/** The fields that attributes feed, with the shape of their values. The order is the index used by the reader. */
export const fieldShapes = {
  model: 'text',
  provider: 'text',
  input: 'payload',
  output: 'payload',
  systemInstructions: 'payload',
  entityName: 'text',
  toolName: 'text',
  inputTokens: 'tokens',
  outputTokens: 'tokens',
  totalTokens: 'tokens',
  cacheRead: 'tokens',
  cacheWrite: 'tokens',
  cacheWrite5m: 'tokens',
  cacheWrite1h: 'tokens',
  inputAudio: 'tokens',
  inputText: 'tokens',
  reasoning: 'tokens',
  outputAudio: 'tokens',
  outputText: 'tokens',
  totalCost: 'money',
  inputCost: 'money',
  outputCost: 'money',
  project: 'text',
  environment: 'text',
  serviceName: 'text',
  serviceVersion: 'text',
  sessionId: 'text',
  threadId: 'text',
  userId: 'text',
  requestId: 'text',
  release: 'text',
  runId: 'text',
  resourceId: 'text',
  experimentId: 'text',
  tags: 'tags',
  errorMessage: 'text',
  errorType: 'text',
  errorStack: 'text',
} as const satisfies Record<string, Shape>;

export type Field = keyof typeof fieldShapes;
export const fields = Object.keys(fieldShapes) as readonly Field[];

/** Emitters whose attribute names are too plain to be read from anyone else. Recognised by the name of the scope. */
export type ScopedEmitter = 'claude_code';

export type Row = {
  readonly field: Field;
  /** Where the row comes from: the specification, or the instrumentation that was seen to emit it. */
  readonly emitter: string;
  /** `span`: the signal's own attributes. `resource`: its resource's. `both`: its own, then its resource's. */
  readonly at: 'span' | 'resource' | 'both';
  /** Attribute names, in order. */
  readonly keys: readonly string[];
  /** Attribute names of the form `<prefix><index>.<rest>`, put together into an array of objects. */
  readonly indexed?: { readonly prefix: string; readonly strip: string };
  /** The attribute holds a JSON object, also as text; the value is the first of these members (a path of names). */
  readonly members?: readonly (readonly string[])[];
  /** The row counts only under a scope of this emitter. */
  readonly only?: ScopedEmitter;
  /** The row is read when the span ends, and only where no other row gave the field: to read it costs more. */
  readonly late?: true;
};

const SPECIFICATION = 'interface specification';

const specified = (field: Field, ...keys: string[]): Row => ({ field, emitter: SPECIFICATION, at: 'span', keys });
const correlates = (field: Field, ...keys: string[]): Row => ({ field, emitter: SPECIFICATION, at: 'both', keys });
const ofResource = (field: Field, ...keys: string[]): Row => ({ field, emitter: SPECIFICATION, at: 'resource', keys });
const seen = (field: Field, emitter: string, ...keys: string[]): Row => ({ field, emitter, at: 'span', keys });
const seenBoth = (field: Field, emitter: string, ...keys: string[]): Row => ({ field, emitter, at: 'both', keys });
const indexed = (field: Field, emitter: string, prefix: string, strip = ''): Row => ({
  field,
  emitter,
  at: 'span',
  keys: [],
  indexed: { prefix, strip },
});
const inside = (field: Field, emitter: string, key: string, ...members: string[][]): Row => ({
  field,
  emitter,
  at: 'span',
  keys: [key],
  members,
});
const lastly = (row: Row): Row => ({ ...row, late: true });
const onlyClaudeCode = (field: Field, ...keys: string[]): Row => ({
  field,
  emitter: 'Claude Code',
  at: 'span',
  keys,
  only: 'claude_code',
});

const GEN_AI = 'OpenTelemetry GenAI';
const OPEN_INFERENCE = 'OpenInference';
const TRACELOOP = 'Traceloop';
const AI_SDK = 'Vercel AI SDK';
const LANGFUSE = 'Langfuse';
const LAMINAR = 'Laminar';
const PYDANTIC_AI = 'pydantic-ai';
const LITELLM = 'LiteLLM';
const CLAUDE_CODE = 'Claude Code';
const CODEX_GEMINI = 'Codex, Gemini CLI';
const LOGFIRE = 'Logfire';

/** LiteLLM writes these objects as Python prints them. */
const CACHED_BY_LITELLM = [['prompt_tokens_details', 'cached_tokens'], ['cache_read_input_tokens']];

/** The rows of the interface specification, "OTLP attribute mapping", word for word and in its order. */
const specifiedRows: readonly Row[] = [
  specified('model', 'gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name', 'svc.model'),
  specified('provider', 'gen_ai.system', 'llm.provider', 'svc.provider'),
  specified('input', 'input.value', 'gen_ai.prompt', 'svc.input'),
  specified('output', 'output.value', 'gen_ai.completion', 'svc.output'),
  specified('entityName', 'gen_ai.agent.name', 'svc.entity.name'),
  specified(
    'inputTokens',
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.token_count.prompt',
    'svc.usage.input_tokens',
  ),
  specified(
    'outputTokens',
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.token_count.completion',
    'svc.usage.output_tokens',
  ),
  specified('totalTokens', 'llm.token_count.total', 'gen_ai.usage.total_tokens'),
  specified(
    'cacheRead',
    'gen_ai.usage.cache_read_input_tokens',
    'llm.token_count.prompt_details.cache_read',
    'svc.usage.cache_read_tokens',
  ),
  specified(
    'cacheWrite',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
    'svc.usage.cache_write_tokens',
  ),
  specified('inputAudio', 'llm.token_count.prompt_details.audio'),
  specified('reasoning', 'llm.token_count.completion_details.reasoning', 'gen_ai.usage.reasoning_tokens'),
  specified('outputAudio', 'llm.token_count.completion_details.audio'),
  correlates('project', 'svc.project'),
  correlates('environment', 'svc.environment'),
  ofResource('environment', 'deployment.environment.name', 'deployment.environment'),
  ofResource('serviceName', 'service.name'),
  ofResource('serviceVersion', 'service.version'),
  correlates('sessionId', 'gen_ai.conversation.id', 'session.id', 'svc.session_id'),
  correlates('threadId', 'svc.thread_id', 'thread.id'),
  correlates('userId', 'user.id', 'enduser.id', 'svc.user_id'),
  correlates('requestId', 'svc.request_id', 'http.request.id'),
  correlates('release', 'svc.release'),
  ofResource('release', 'service.version'),
  correlates('runId', 'svc.run_id'),
  correlates('resourceId', 'svc.resource_id'),
  correlates('experimentId', 'svc.experiment_id'),
  correlates('tags', 'svc.tags'),
  specified('errorMessage', 'exception.message'),
  specified('errorType', 'exception.type'),
  specified('errorStack', 'exception.stacktrace'),
];

/** What instrumentations emit beyond the specified rows. Never tried before one of those. */
const appendedRows: readonly Row[] = [
  seen('model', OPEN_INFERENCE, 'llm.request.model_name', 'llm.response.model_name', 'embedding.model_name'),
  seen('model', OPEN_INFERENCE, 'reranker.model_name'),
  seen('model', AI_SDK, 'ai.model.id', 'ai.response.model', 'aisdk.model.id'),
  seen('model', LANGFUSE, 'langfuse.observation.model.name'),
  onlyClaudeCode('model', 'model'),
  // A call that failed has no answer to read a model from, so its instrumentation leaves out `llm.model_name`.
  lastly(inside('model', OPEN_INFERENCE, 'llm.invocation_parameters', ['model'], ['model_name'])),
  lastly(inside('model', OPEN_INFERENCE, 'input.value', ['model'])),

  seen('provider', GEN_AI, 'gen_ai.provider.name'),
  seen('provider', OPEN_INFERENCE, 'llm.system'),
  seen('provider', AI_SDK, 'ai.model.provider'),

  seen('systemInstructions', GEN_AI, 'gen_ai.system_instructions'),
  seen('input', GEN_AI, 'gen_ai.input.messages'),
  indexed('input', OPEN_INFERENCE, 'llm.input_messages.', 'message.'),
  indexed('input', TRACELOOP, 'gen_ai.prompt.'),
  seen('input', OPEN_INFERENCE, 'llm.prompts'),
  seen('input', LITELLM, 'llm.openai.messages'),
  seen('input', TRACELOOP, 'traceloop.entity.input'),
  seen('input', AI_SDK, 'ai.prompt.messages', 'ai.prompt', 'ai.toolCall.args'),
  seen('input', GEN_AI, 'gen_ai.tool.call.arguments'),
  seen('input', 'CrewAI', 'gen_ai.tool.args'),
  seen('input', PYDANTIC_AI, 'tool_arguments'),
  seen('input', 'Traceloop MCP', 'mcp.request.argument'),
  seen('input', LANGFUSE, 'langfuse.observation.input', 'langfuse.trace.input'),
  seen('input', 'MLflow', 'mlflow.spanInputs'),
  seen('input', 'Genkit', 'genkit:input'),
  seen('input', 'Google ADK', 'gcp.vertex.agent.llm_request', 'gcp.vertex.agent.tool_call_args'),
  seen('input', PYDANTIC_AI, 'pydantic_ai.all_messages', 'all_messages_events'),
  seen('input', GEN_AI, 'gen_ai.retrieval.query.text'),
  seen('input', 'LiveKit Agents', 'lk.user_input', 'lk.user_transcript', 'lk.chat_ctx'),
  seen('input', 'LiveKit Agents', 'lk.function_tool.arguments', 'lk.input_text'),

  seen('output', GEN_AI, 'gen_ai.output.messages'),
  indexed('output', OPEN_INFERENCE, 'llm.output_messages.', 'message.'),
  indexed('output', TRACELOOP, 'gen_ai.completion.'),
  seen('output', OPEN_INFERENCE, 'llm.choices'),
  seen('output', LITELLM, 'llm.openai.choices'),
  seen('output', TRACELOOP, 'traceloop.entity.output'),
  seen('output', AI_SDK, 'ai.response.text', 'ai.response.object', 'ai.response.toolCalls'),
  seen('output', AI_SDK, 'ai.result.text', 'ai.result.object', 'ai.result.toolCalls', 'ai.toolCall.result'),
  seen('output', GEN_AI, 'gen_ai.tool.call.result'),
  seen('output', PYDANTIC_AI, 'tool_response', 'final_result'),
  seen('output', 'Traceloop MCP', 'mcp.response.value'),
  seen('output', LANGFUSE, 'langfuse.observation.output', 'langfuse.trace.output'),
  seen('output', 'MLflow', 'mlflow.spanOutputs'),
  seen('output', 'Genkit', 'genkit:output'),
  seen('output', 'Google ADK', 'gcp.vertex.agent.llm_response', 'gcp.vertex.agent.tool_response'),
  indexed('output', OPEN_INFERENCE, 'retrieval.documents.', 'document.'),
  seen('output', GEN_AI, 'gen_ai.retrieval.documents'),
  indexed('output', OPEN_INFERENCE, 'reranker.output_documents.', 'document.'),
  seen('output', 'LiveKit Agents', 'lk.response.text', 'lk.response.function_calls', 'lk.function_tool.output'),

  seen('entityName', GEN_AI, 'gen_ai.tool.name', 'gen_ai.workflow.name'),
  seen('entityName', TRACELOOP, 'traceloop.entity.name'),
  seen('entityName', OPEN_INFERENCE, 'agent.name', 'tool.name'),
  seen('entityName', CLAUDE_CODE, 'tool_name'),
  seen('entityName', AI_SDK, 'ai.toolCall.name', 'ai.telemetry.functionId'),
  seen('entityName', GEN_AI, 'gen_ai.data_source.id'),
  seen('entityName', OPEN_INFERENCE, 'graph.node.name'),
  seen('entityName', 'Genkit', 'genkit:name'),

  // A tool is named by its tool, also where the agent that called it stands beside it. Read for tool spans alone.
  seen('toolName', GEN_AI, 'gen_ai.tool.name'),
  seen('toolName', OPEN_INFERENCE, 'tool.name'),
  seen('toolName', CLAUDE_CODE, 'tool_name'),
  seen('toolName', 'MCP instrumentations', 'mcp.tool.name'),
  seen('toolName', AI_SDK, 'ai.toolCall.name'),
  seen('toolName', TRACELOOP, 'traceloop.entity.name'),

  seen('inputTokens', AI_SDK, 'ai.usage.inputTokens', 'ai.usage.promptTokens'),
  seen('inputTokens', TRACELOOP, 'llm.usage.prompt_tokens'),
  inside('inputTokens', LANGFUSE, 'langfuse.observation.usage_details', ['input'], ['input_tokens'], ['prompt_tokens']),
  inside('inputTokens', 'MLflow', 'mlflow.chat.tokenUsage', ['input_tokens']),
  onlyClaudeCode('inputTokens', 'input_tokens'),
  seen('inputTokens', CODEX_GEMINI, 'input_token_count'),
  // An embedding call has one count only, and all of it is input.
  seen('inputTokens', AI_SDK, 'ai.usage.tokens'),
  seen('outputTokens', AI_SDK, 'ai.usage.outputTokens', 'ai.usage.completionTokens'),
  seen('outputTokens', TRACELOOP, 'llm.usage.completion_tokens'),
  inside(
    'outputTokens',
    LANGFUSE,
    'langfuse.observation.usage_details',
    ['output'],
    ['output_tokens'],
    ['completion_tokens'],
  ),
  inside('outputTokens', 'MLflow', 'mlflow.chat.tokenUsage', ['output_tokens']),
  onlyClaudeCode('outputTokens', 'output_tokens'),
  seen('outputTokens', CODEX_GEMINI, 'output_token_count'),
  seen('totalTokens', TRACELOOP, 'llm.usage.total_tokens'),
  seen('totalTokens', AI_SDK, 'ai.usage.totalTokens', 'ai.usage.tokens'),
  seen('totalTokens', CODEX_GEMINI, 'total_token_count'),
  inside('totalTokens', LANGFUSE, 'langfuse.observation.usage_details', ['total'], ['total_tokens']),
  inside('totalTokens', 'MLflow', 'mlflow.chat.tokenUsage', ['total_tokens']),

  seen('cacheRead', GEN_AI, 'gen_ai.usage.cache_read.input_tokens'),
  seen('cacheRead', PYDANTIC_AI, 'gen_ai.usage.details.cache_read_tokens'),
  seen('cacheRead', 'OpenLIT', 'gen_ai.usage.cache_read_tokens'),
  seen('cacheRead', LAMINAR, 'gen_ai.usage.cached_tokens'),
  seen('cacheRead', 'Sentry', 'gen_ai.usage.input_tokens.cached'),
  seen('cacheRead', 'DeepSeek', 'gen_ai.usage.prompt_cache_hit_tokens'),
  seen('cacheRead', AI_SDK, 'ai.usage.cachedInputTokens', 'ai.usage.inputTokenDetails.cacheReadTokens'),
  seen('cacheRead', CLAUDE_CODE, 'cache_read_tokens'),
  seen('cacheRead', CODEX_GEMINI, 'cached_token_count', 'cached_content_token_count'),
  inside(
    'cacheRead',
    LANGFUSE,
    'langfuse.observation.usage_details',
    ['input_cached_tokens'],
    ['cache_read_input_tokens'],
  ),

  inside(
    'cacheRead',
    LOGFIRE,
    'gen_ai.usage.raw',
    ['prompt_tokens_details', 'cached_tokens'],
    ['input_tokens_details', 'cached_tokens'],
    ['cache_read_input_tokens'],
    ['cached_content_token_count'],
  ),
  inside('cacheRead', LITELLM, 'llm.openai.usage', ...CACHED_BY_LITELLM),
  inside('cacheRead', LITELLM, 'metadata.usage_object', ...CACHED_BY_LITELLM),

  seen('cacheWrite', GEN_AI, 'gen_ai.usage.cache_write.input_tokens', 'gen_ai.usage.cache_creation.input_tokens'),
  seen(
    'cacheWrite5m',
    LAMINAR,
    'gen_ai.usage.cache_creation.input_tokens.ephemeral_5m',
    'gen_ai.usage.cache_creation.ephemeral_5m_input_tokens',
  ),
  seen(
    'cacheWrite1h',
    LAMINAR,
    'gen_ai.usage.cache_creation.input_tokens.ephemeral_1h',
    'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens',
  ),
  seen('cacheWrite', PYDANTIC_AI, 'gen_ai.usage.details.cache_write_tokens'),
  seen('cacheWrite', 'Strands Agents', 'gen_ai.usage.cache_write_input_tokens'),
  seen('cacheWrite', 'OpenLIT', 'gen_ai.usage.cache_write_tokens'),
  seen('cacheWrite', 'Sentry', 'gen_ai.usage.input_tokens.cache_write'),
  seen('cacheWrite', AI_SDK, 'ai.usage.inputTokenDetails.cacheWriteTokens'),
  seen('cacheWrite', CLAUDE_CODE, 'cache_creation_tokens'),
  inside('cacheWrite', LANGFUSE, 'langfuse.observation.usage_details', ['cache_creation_input_tokens']),
  inside('cacheWrite', LOGFIRE, 'gen_ai.usage.raw', ['cache_creation_input_tokens']),
  inside('cacheWrite', LITELLM, 'llm.openai.usage', ['cache_creation_input_tokens']),
  inside('cacheWrite', LITELLM, 'metadata.usage_object', ['cache_creation_input_tokens']),
  inside(
    'cacheWrite',
    AI_SDK,
    'ai.response.providerMetadata',
    ['anthropic', 'usage', 'cache_creation_input_tokens'],
    ['anthropic', 'cacheCreationInputTokens'],
  ),
  inside('cacheWrite5m', AI_SDK, 'ai.response.providerMetadata', [
    'anthropic',
    'usage',
    'cache_creation',
    'ephemeral_5m_input_tokens',
  ]),
  inside('cacheWrite1h', AI_SDK, 'ai.response.providerMetadata', [
    'anthropic',
    'usage',
    'cache_creation',
    'ephemeral_1h_input_tokens',
  ]),

  seen('inputAudio', GEN_AI, 'gen_ai.usage.audio.input_tokens'),
  seen('inputAudio', LAMINAR, 'gen_ai.usage.audio_input_tokens'),
  seen('outputAudio', GEN_AI, 'gen_ai.usage.audio.output_tokens'),
  seen('inputText', GEN_AI, 'gen_ai.usage.text.input_tokens'),
  seen('outputText', GEN_AI, 'gen_ai.usage.text.output_tokens'),

  seen('reasoning', GEN_AI, 'gen_ai.usage.reasoning.output_tokens'),
  seen('reasoning', PYDANTIC_AI, 'gen_ai.usage.details.reasoning_tokens'),
  seen('reasoning', AI_SDK, 'ai.usage.reasoningTokens', 'ai.usage.outputTokenDetails.reasoningTokens'),
  seen('reasoning', LAMINAR, 'gen_ai.usage.reasoning_output_tokens'),
  seen('reasoning', CODEX_GEMINI, 'reasoning_token_count', 'thoughts_token_count'),
  inside('reasoning', LANGFUSE, 'langfuse.observation.usage_details', ['output_reasoning_tokens']),
  inside(
    'reasoning',
    LOGFIRE,
    'gen_ai.usage.raw',
    ['completion_tokens_details', 'reasoning_tokens'],
    ['output_tokens_details', 'reasoning_tokens'],
    ['thoughts_token_count'],
  ),
  inside('reasoning', LITELLM, 'llm.openai.usage', ['completion_tokens_details', 'reasoning_tokens']),
  inside('reasoning', LITELLM, 'metadata.usage_object', ['completion_tokens_details', 'reasoning_tokens']),

  seen('totalCost', OPEN_INFERENCE, 'llm.cost.total'),
  seen('totalCost', 'OpenLIT', 'gen_ai.usage.cost'),
  seen('totalCost', LITELLM, 'gen_ai.cost.total_cost', 'litellm.cost.total'),
  seen('totalCost', PYDANTIC_AI, 'operation.cost'),
  inside('totalCost', LANGFUSE, 'langfuse.observation.cost_details', ['total']),
  seen('totalCost', CLAUDE_CODE, 'cost_usd'),
  seen('inputCost', OPEN_INFERENCE, 'llm.cost.prompt'),
  seen('inputCost', LAMINAR, 'gen_ai.usage.input_cost'),
  inside('inputCost', LANGFUSE, 'langfuse.observation.cost_details', ['input']),
  seen('outputCost', OPEN_INFERENCE, 'llm.cost.completion'),
  seen('outputCost', LAMINAR, 'gen_ai.usage.output_cost'),
  inside('outputCost', LANGFUSE, 'langfuse.observation.cost_details', ['output']),

  seenBoth('environment', LANGFUSE, 'langfuse.environment'),
  seenBoth('release', LANGFUSE, 'langfuse.release'),
  seenBoth('release', GEN_AI, 'gen_ai.agent.version'),

  seenBoth('sessionId', AI_SDK, 'ai.telemetry.metadata.sessionId'),
  seenBoth('sessionId', LANGFUSE, 'langfuse.session.id'),
  seenBoth('sessionId', TRACELOOP, 'traceloop.association.properties.session_id'),
  seenBoth('sessionId', LAMINAR, 'lmnr.association.properties.session_id'),
  seenBoth('sessionId', 'Codex', 'conversation.id'),
  seenBoth('sessionId', 'OpenTelemetry MCP', 'mcp.session.id'),
  inside('sessionId', OPEN_INFERENCE, 'metadata', ['session_id']),
  inside('threadId', OPEN_INFERENCE, 'metadata', ['thread_id']),
  seenBoth('userId', GEN_AI, 'gen_ai.user', 'gen_ai.request.user'),
  seenBoth('userId', LANGFUSE, 'langfuse.user.id'),
  seenBoth('userId', AI_SDK, 'ai.telemetry.metadata.userId'),
  seenBoth('userId', TRACELOOP, 'llm.user', 'traceloop.association.properties.user_id'),
  seenBoth('userId', LAMINAR, 'lmnr.association.properties.user_id'),
  inside('userId', OPEN_INFERENCE, 'metadata', ['user_id']),
  seenBoth('tags', OPEN_INFERENCE, 'tag.tags'),
  seenBoth('tags', LANGFUSE, 'langfuse.trace.tags'),
  seenBoth('tags', AI_SDK, 'ai.telemetry.metadata.tags'),
  seenBoth('tags', LAMINAR, 'lmnr.association.properties.tags'),
  seenBoth('tags', 'LangSmith', 'langsmith.span.tags'),

  seen('errorType', GEN_AI, 'error.type'),
  seen('errorType', 'OpenTelemetry RPC', 'rpc.response.status_code'),
];

/** Every row, in the order in which they are read. */
export const rows: readonly Row[] = [...specifiedRows, ...appendedRows];

export const isSpecified = (row: Row): boolean => row.emitter === SPECIFICATION;
