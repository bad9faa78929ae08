import type { SpanKind } from '../../model/span.ts';

/**
 * How the kind of a span is inferred. The rules of the interface specification come first and in its order; an appended
 * rule is tried only where those end in `generic`.
 * @see Interface specification, "OTLP attribute mapping", span kind inference
 */
export type KindRule = {
  readonly emitter: string;
  readonly key: string;
  readonly specified: boolean;
  /**
   * `value`: the value decides, by `kinds`; an unlisted value of a specified rule ends the specified rules in `generic`.
   * `presence`: any value gives `kind`.
   */
  readonly reads:
    | {
        readonly by: 'value';
        readonly kinds: Readonly<Record<string, SpanKind>>;
        readonly suffixes?: Readonly<Record<string, SpanKind>>;
      }
    | { readonly by: 'presence'; readonly kind: SpanKind };
};

const SPECIFICATION = 'interface specification';

const decides = (key: string, kinds: Record<string, SpanKind>): KindRule => ({
  emitter: SPECIFICATION,
  key,
  specified: true,
  reads: { by: 'value', kinds },
});
const marks = (key: string, kind: SpanKind): KindRule => ({
  emitter: SPECIFICATION,
  key,
  specified: true,
  reads: { by: 'presence', kind },
});
const seen = (
  emitter: string,
  key: string,
  kinds: Record<string, SpanKind>,
  suffixes: Record<string, SpanKind> = {},
): KindRule => ({ emitter, key, specified: false, reads: { by: 'value', kinds, suffixes } });

/** `svc.span.kind` is rule 1 and stands apart: it counts only when it names a known kind, and then it is final. */
export const NAMED_KIND = 'svc.span.kind';

/** Whose value is a call of an MCP tool, which `gen_ai.operation.name` = `execute_tool` does not hide. */
export const MCP_METHOD = 'mcp.method.name';
export const MCP_TOOL_METHOD = 'tools/call';

export const OPERATION = 'gen_ai.operation.name';
export const EXECUTE_TOOL = 'execute_tool';

export const kindRules: readonly KindRule[] = [
  decides('openinference.span.kind', {
    LLM: 'model_generation',
    CHAIN: 'workflow_run',
    TOOL: 'tool_call',
    AGENT: 'agent_run',
    RETRIEVER: 'retrieval',
    EMBEDDING: 'rag_embedding',
    RERANKER: 'rag_action',
    GUARDRAIL: 'guardrail',
    EVALUATOR: 'scorer_run',
  }),
  decides(OPERATION, {
    chat: 'model_generation',
    text_completion: 'model_generation',
    generate_content: 'model_generation',
    embeddings: 'rag_embedding',
    [EXECUTE_TOOL]: 'tool_call',
    invoke_agent: 'agent_run',
    create_agent: 'agent_run',
  }),
  marks('gen_ai.system', 'model_generation'),
  marks('llm.model_name', 'model_generation'),
  marks('llm.provider', 'model_generation'),
  marks('mcp.tool.name', 'mcp_tool_call'),
  marks('http.request.method', 'http_request'),
  marks('http.method', 'http_request'),

  seen('OpenTelemetry MCP', MCP_METHOD, { [MCP_TOOL_METHOD]: 'mcp_tool_call' }),
  // A prompt template is one step of a chain: LangChain's instrumentation called it CHAIN before it had this name.
  seen('OpenInference', 'openinference.span.kind', { PROMPT: 'workflow_run' }),
  seen(
    'OpenTelemetry GenAI',
    OPERATION,
    { invoke_workflow: 'workflow_run', retrieval: 'retrieval', plan: 'agent_run' },
    { _memory: 'rag_action' },
  ),
  // One turn of an agent's loop, by the AI SDK 7 and Mastra; its model calls are spans of their own.
  seen('Vercel AI SDK, Mastra', OPERATION, {
    agent_step: 'agent_run',
    rerank: 'rag_action',
    model_generation: 'model_generation',
    model_step: 'generic',
    model_chunk: 'generic',
  }),
  seen('Traceloop', 'traceloop.span.kind', {
    workflow: 'workflow_run',
    task: 'workflow_run',
    agent: 'agent_run',
    tool: 'tool_call',
  }),
  seen('Traceloop', 'llm.request.type', {
    chat: 'model_generation',
    completion: 'model_generation',
    embedding: 'rag_embedding',
    rerank: 'rag_action',
  }),
  seen('Vercel AI SDK', 'ai.operationId', {
    'ai.generateText': 'workflow_run',
    'ai.streamText': 'workflow_run',
    'ai.generateObject': 'workflow_run',
    'ai.streamObject': 'workflow_run',
    'ai.generateText.doGenerate': 'model_generation',
    'ai.streamText.doStream': 'model_generation',
    'ai.generateObject.doGenerate': 'model_generation',
    'ai.streamObject.doStream': 'model_generation',
    'ai.toolCall': 'tool_call',
    'ai.embed': 'rag_embedding',
    'ai.embed.doEmbed': 'rag_embedding',
    'ai.embedMany': 'rag_embedding',
    'ai.embedMany.doEmbed': 'rag_embedding',
  }),
  seen('Langfuse', 'langfuse.observation.type', {
    generation: 'model_generation',
    agent: 'agent_run',
    tool: 'tool_call',
    chain: 'workflow_run',
    retriever: 'retrieval',
    embedding: 'rag_embedding',
    evaluator: 'scorer_run',
    guardrail: 'guardrail',
  }),
  // MLflow writes every attribute as JSON text, so its words arrive in quotes; the reader takes them off.
  seen('MLflow', 'mlflow.spanType', {
    LLM: 'model_generation',
    CHAT_MODEL: 'model_generation',
    CHAIN: 'workflow_run',
    WORKFLOW: 'workflow_run',
    TASK: 'workflow_run',
    AGENT: 'agent_run',
    TOOL: 'tool_call',
    RETRIEVER: 'retrieval',
    EMBEDDING: 'rag_embedding',
    RERANKER: 'rag_action',
    MEMORY: 'rag_action',
    GUARDRAIL: 'guardrail',
    EVALUATOR: 'scorer_run',
  }),
  seen('LangSmith', 'langsmith.span.kind', {
    llm: 'model_generation',
    chain: 'workflow_run',
    prompt: 'workflow_run',
    tool: 'tool_call',
    retriever: 'retrieval',
    embedding: 'rag_embedding',
  }),
  seen('Laminar', 'lmnr.span.type', {
    LLM: 'model_generation',
    CACHED: 'model_generation',
    PIPELINE: 'workflow_run',
    TOOL: 'tool_call',
    EVALUATOR: 'scorer_run',
  }),
  seen('Claude Code', 'span.type', {
    interaction: 'agent_run',
    llm_request: 'model_generation',
    tool: 'tool_call',
  }),
  seen('OpenTelemetry GenAI', 'gen_ai.tool.type', {
    function: 'client_tool_call',
    extension: 'provider_tool_call',
    datastore: 'retrieval',
  }),
];

/** Kinds known by the span's name alone, where no attribute gives one. */
export const kindsByName: Readonly<Record<string, SpanKind>> = {
  'claude_code.interaction': 'agent_run',
  'claude_code.llm_request': 'model_generation',
  'claude_code.tool': 'tool_call',
};

/**
 * Operations whose spans repeat the usage of the spans below them. Such an aggregate keeps its usage and is not priced,
 * so that each token is paid for once.
 */
export const aggregates: Readonly<Record<string, readonly string[]>> = {
  // `ai.embed` and `ai.embedMany` repeat the usage of their `.doEmbed`, just as `ai.generateText` does.
  'ai.operationId': [
    'ai.generateText',
    'ai.streamText',
    'ai.generateObject',
    'ai.streamObject',
    'ai.embed',
    'ai.embedMany',
  ],
  [OPERATION]: ['invoke_agent', 'create_agent', 'invoke_workflow'],
};

/** Attributes under this prefix are sums over the spans below (pydantic-ai). */
export const AGGREGATED_USAGE = 'gen_ai.aggregated_usage.';

export const COST_SKIPPED = 'svc.cost.skipped';
export const AGGREGATE = 'aggregate';
