import { describe, expect, it } from 'vitest';
import { spanKinds } from '../../../src/model/span.ts';
import { mapped } from '../factories.ts';

const kindOf = (attributes: Record<string, unknown>, name = 'a span') => mapped(attributes, {}, { name }).kind;

describe('span kind inference, in the order of the specification', () => {
  for (const kind of spanKinds)
    it(`(1) svc.span.kind when it names a known kind: ${kind}`, () => {
      expect(kindOf({ 'openinference.span.kind': 'LLM', 'gen_ai.operation.name': 'chat', 'svc.span.kind': kind })).toBe(
        kind,
      );
    });

  it('(1) svc.span.kind that names no known kind leaves the next rules to decide', () => {
    expect(kindOf({ 'svc.span.kind': 'nonsense', 'openinference.span.kind': 'TOOL' })).toBe('tool_call');
  });

  const openInference = {
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
  for (const [value, kind] of Object.entries(openInference))
    it(`(2) openinference.span.kind = ${value} is ${kind}, before gen_ai.operation.name`, () => {
      expect(kindOf({ 'gen_ai.operation.name': 'chat', 'openinference.span.kind': value })).toBe(kind);
    });

  const operations = {
    chat: 'model_generation',
    text_completion: 'model_generation',
    generate_content: 'model_generation',
    embeddings: 'rag_embedding',
    execute_tool: 'tool_call',
    invoke_agent: 'agent_run',
    create_agent: 'agent_run',
  };
  for (const [value, kind] of Object.entries(operations))
    it(`(3) gen_ai.operation.name = ${value} is ${kind}, before the presence of attributes`, () => {
      expect(kindOf({ 'http.method': 'GET', 'mcp.tool.name': 't', 'gen_ai.operation.name': value })).toBe(kind);
    });

  for (const key of ['gen_ai.system', 'llm.model_name', 'llm.provider'])
    it(`(4) ${key} present is model_generation, before mcp.tool.name and http.method`, () => {
      expect(kindOf({ 'http.method': 'GET', 'mcp.tool.name': 't', [key]: 'x' })).toBe('model_generation');
    });
  it('(4) mcp.tool.name present is mcp_tool_call, before http.method', () => {
    expect(kindOf({ 'http.method': 'GET', 'mcp.tool.name': 't' })).toBe('mcp_tool_call');
  });
  for (const key of ['http.request.method', 'http.method'])
    it(`(4) ${key} present is http_request`, () => {
      expect(kindOf({ [key]: 'GET' })).toBe('http_request');
    });
  it('anything else is generic', () => {
    expect(kindOf({ 'a.b': 'c' })).toBe('generic');
    expect(kindOf({})).toBe('generic');
  });
  it('"An unrecognised value falls to generic, never a rejection"', () => {
    expect(kindOf({ 'openinference.span.kind': 'NEW' })).toBe('generic');
    expect(kindOf({ 'gen_ai.operation.name': 'something_new' })).toBe('generic');
    expect(kindOf({ 'openinference.span.kind': 5, 'svc.span.kind': ['x'] })).toBe('generic');
  });
});

describe('appended kind rules, tried where the specified ones end in generic', () => {
  const rules: [string, string, string][] = [
    ['openinference.span.kind', 'PROMPT', 'workflow_run'],
    ['gen_ai.operation.name', 'invoke_workflow', 'workflow_run'],
    ['gen_ai.operation.name', 'retrieval', 'retrieval'],
    ['gen_ai.operation.name', 'plan', 'agent_run'],
    ['gen_ai.operation.name', 'agent_step', 'agent_run'],
    ['gen_ai.operation.name', 'rerank', 'rag_action'],
    ['gen_ai.operation.name', 'search_memory', 'rag_action'],
    ['gen_ai.operation.name', 'create_memory', 'rag_action'],
    ['traceloop.span.kind', 'workflow', 'workflow_run'],
    ['traceloop.span.kind', 'task', 'workflow_run'],
    ['traceloop.span.kind', 'agent', 'agent_run'],
    ['traceloop.span.kind', 'tool', 'tool_call'],
    ['llm.request.type', 'chat', 'model_generation'],
    ['llm.request.type', 'completion', 'model_generation'],
    ['llm.request.type', 'embedding', 'rag_embedding'],
    ['llm.request.type', 'rerank', 'rag_action'],
    ['ai.operationId', 'ai.generateText', 'workflow_run'],
    ['ai.operationId', 'ai.generateText.doGenerate', 'model_generation'],
    ['ai.operationId', 'ai.streamText.doStream', 'model_generation'],
    ['ai.operationId', 'ai.toolCall', 'tool_call'],
    ['ai.operationId', 'ai.embed', 'rag_embedding'],
    ['ai.operationId', 'ai.embedMany.doEmbed', 'rag_embedding'],
    ['langfuse.observation.type', 'generation', 'model_generation'],
    ['langfuse.observation.type', 'retriever', 'retrieval'],
    ['mlflow.spanType', 'CHAT_MODEL', 'model_generation'],
    ['mlflow.spanType', '"TOOL"', 'tool_call'],
    ['langsmith.span.kind', 'llm', 'model_generation'],
    ['lmnr.span.type', 'LLM', 'model_generation'],
    ['span.type', 'llm_request', 'model_generation'],
    ['gen_ai.tool.type', 'function', 'client_tool_call'],
    ['gen_ai.tool.type', 'extension', 'provider_tool_call'],
    ['gen_ai.tool.type', 'datastore', 'retrieval'],
    ['mcp.method.name', 'tools/call', 'mcp_tool_call'],
  ];
  for (const [key, value, kind] of rules) {
    it(`${key} = ${value} is ${kind}`, () => {
      expect(kindOf({ [key]: value })).toBe(kind);
    });
    if (key !== 'openinference.span.kind')
      it(`${key} = ${value} changes nothing where the specification names a kind`, () => {
        expect(kindOf({ [key]: value, 'openinference.span.kind': 'GUARDRAIL' })).toBe('guardrail');
      });
  }

  it('an MCP call is mcp_tool_call also when gen_ai.operation.name = execute_tool', () => {
    expect(kindOf({ 'gen_ai.operation.name': 'execute_tool', 'mcp.method.name': 'tools/call' })).toBe('mcp_tool_call');
    expect(kindOf({ 'gen_ai.operation.name': 'execute_tool', 'mcp.method.name': 'tools/list' })).toBe('tool_call');
    expect(kindOf({ 'gen_ai.operation.name': 'chat', 'mcp.method.name': 'tools/call' })).toBe('model_generation');
    expect(kindOf({ 'openinference.span.kind': 'TOOL', 'mcp.method.name': 'tools/call' })).toBe('tool_call');
  });

  it('gen_ai.provider.name alone says nothing; with an operation or a model it is a model call', () => {
    expect(kindOf({ 'gen_ai.provider.name': 'openai' })).toBe('generic');
    expect(kindOf({ 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'm' })).toBe('model_generation');
    expect(kindOf({ 'gen_ai.provider.name': 'openai', 'gen_ai.operation.name': 'respond' })).toBe('model_generation');
  });

  it('names of Claude Code tell a kind, where no attribute does', () => {
    expect(kindOf({}, 'claude_code.llm_request')).toBe('model_generation');
    expect(kindOf({}, 'claude_code.interaction')).toBe('agent_run');
    expect(kindOf({}, 'claude_code.tool')).toBe('tool_call');
    expect(kindOf({}, 'constructor')).toBe('generic');
  });
});

describe('span status', () => {
  const status = (code: number | undefined, end?: string) =>
    mapped({}, {}, { ...(code !== undefined && { status: { code } }), endTimeUnixNano: end ?? '1700000001000000002' })
      .status;

  it('"OTLP status code 1 becomes ok; 2 becomes error"', () => {
    expect(status(1)).toBe('ok');
    expect(status(1, '0')).toBe('ok');
    expect(status(2)).toBe('error');
    expect(status(2, '0')).toBe('error');
  });
  it('"Unset with an end time is recorded ok. Unset with no end time stays unset"', () => {
    expect(status(0)).toBe('ok');
    expect(status(undefined)).toBe('ok');
    expect(status(0, '0')).toBe('unset');
    expect(status(undefined, '0')).toBe('unset');
  });
  it('an unknown code counts as unset', () => {
    expect(status(7)).toBe('ok');
    expect(status(7, '0')).toBe('unset');
  });
  it('"endTimeUnixNano of 0 or absent means the span has not finished"', () => {
    expect(mapped({}, {}, { endTimeUnixNano: '0' })).not.toHaveProperty('endTime');
    expect(mapped({}, {}, { endTimeUnixNano: '0' }).startTime).toBe(1_700_000_000_000_000_001n);
  });
});

describe('error spans', () => {
  const exception = {
    events: [
      {
        name: 'exception',
        timeUnixNano: '1',
        attributes: [
          { key: 'exception.message', value: { stringValue: 'from the event' } },
          { key: 'exception.type', value: { stringValue: 'EventError' } },
          { key: 'exception.stacktrace', value: { stringValue: 'at event' } },
        ],
      },
    ],
  };
  const attributes = {
    'exception.message': 'from the attribute',
    'exception.type': 'AttributeError',
    'exception.stacktrace': 'at attribute',
  };

  it('message from status.message, then exception.message; kind from exception.type; stack from exception.stacktrace', () => {
    expect(mapped(attributes, {}, { ...exception, status: { code: 2, message: 'from the status' } }).error).toEqual({
      message: 'from the status',
      type: 'AttributeError',
      stack: 'at attribute',
    });
    expect(mapped(attributes, {}, { ...exception, status: { code: 2 } }).error?.message).toBe('from the attribute');
  });
  it('then from the exception event of the span', () => {
    expect(mapped({}, {}, { ...exception, status: { code: 2 } }).error).toEqual({
      message: 'from the event',
      type: 'EventError',
      stack: 'at event',
    });
  });
  it('"else the literal unspecified error"', () => {
    expect(mapped({}, {}, { status: { code: 2 } }).error).toEqual({ message: 'unspecified error' });
    expect(mapped({ 'exception.message': '' }, {}, { status: { code: 2, message: '' } }).error?.message).toBe(
      'unspecified error',
    );
  });
  it('error.type and rpc.response.status_code tell the type where no exception does', () => {
    expect(mapped({ 'error.type': 'tool_error' }, {}, { status: { code: 2 } }).error?.type).toBe('tool_error');
    expect(mapped({ 'rpc.response.status_code': 'X' }, {}, { status: { code: 2 } }).error?.type).toBe('X');
    expect(mapped({ 'error.type': 'no' }, {}, { ...exception, status: { code: 2 } }).error?.type).toBe('EventError');
  });
  it('a span that did not fail has no error, whatever exceptions it survived', () => {
    expect(mapped(attributes, {}, exception)).not.toHaveProperty('error');
  });
});
