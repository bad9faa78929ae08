import { describe, expect, it } from 'vitest';
import { parsePython } from '../../../src/ingest/mapping/read-value.ts';
import { mapped } from '../factories.ts';

describe('Interface decisions, "Names of tools"', () => {
  const agent = { 'gen_ai.agent.name': 'refund-agent' };

  it.each([
    ['gen_ai.operation.name', 'execute_tool', 'tool_call'],
    ['gen_ai.tool.type', 'function', 'client_tool_call'],
    ['gen_ai.tool.type', 'extension', 'provider_tool_call'],
    ['mcp.method.name', 'tools/call', 'mcp_tool_call'],
  ])('a span that %s=%s makes a %s is named by its tool, also beside the name of its agent', (key, value, kind) => {
    const span = mapped({ ...agent, [key]: value, 'gen_ai.tool.name': 'pay' });
    expect(span).toMatchObject({ kind, entityName: 'pay' });
  });

  it('takes the first of the listed names, in their order', () => {
    const names = [
      'gen_ai.tool.name',
      'tool.name',
      'tool_name',
      'mcp.tool.name',
      'ai.toolCall.name',
      'traceloop.entity.name',
    ];
    for (const [at, first] of names.entries()) {
      const attributes = Object.fromEntries(names.slice(at).map((name) => [name, `by ${name}`]));
      expect(mapped({ ...agent, 'svc.span.kind': 'tool_call', ...attributes }).entityName).toBe(`by ${first}`);
    }
  });

  it('a tool without a name of its own, and every other kind, is named as specified', () => {
    expect(mapped({ ...agent, 'svc.span.kind': 'tool_call' }).entityName).toBe('refund-agent');
    expect(mapped({ ...agent, 'svc.span.kind': 'agent_run', 'gen_ai.tool.name': 'pay' }).entityName).toBe(
      'refund-agent',
    );
  });
});

describe('The model of a call that failed', () => {
  const call = { 'openinference.span.kind': 'LLM' };

  it('is the one that was asked for, by the parameters or by the request itself', () => {
    expect(mapped({ ...call, 'llm.invocation_parameters': '{"model":"gpt-4o-mini"}' }).model).toBe('gpt-4o-mini');
    expect(mapped({ ...call, 'llm.invocation_parameters': '{"model_name":"m"}' }).model).toBe('m');
    const ofResource = { 'llm.invocation_parameters': '{"model":"of the resource"}' };
    expect(mapped(call, ofResource).model).toBe('of the resource');
    expect(mapped({ ...call, 'llm.invocation_parameters': null }, ofResource).model).toBeUndefined();
    expect(mapped({ ...call, 'input.value': '{"model":"gpt-4o-mini","messages":[]}' }).model).toBe('gpt-4o-mini');
  });

  it('comes last: a name that the span gives wins', () => {
    const span = mapped({ ...call, 'llm.invocation_parameters': '{"model":"asked"}', 'llm.model_name': 'answered' });
    expect(span.model).toBe('answered');
  });

  it('is not looked for in what is no model call, nor in a text that is no object', () => {
    expect(mapped({ 'openinference.span.kind': 'CHAIN', 'input.value': '{"model":"m"}' }).model).toBeUndefined();
    expect(mapped({ ...call, 'input.value': 'model' }).model).toBeUndefined();
    expect(mapped({ ...call, 'input.value': '["model"]' }).model).toBeUndefined();
  });
});

describe('People in a metadata attribute of JSON', () => {
  it('are the user, session and thread where no attribute of their own names them', () => {
    const metadata = '{"user_id":"u","session_id":"s","thread_id":"t","plan":"gold"}';
    expect(mapped({ metadata }).correlation).toMatchObject({ userId: 'u', sessionId: 's', threadId: 't' });
    expect(mapped({ metadata, 'user.id': 'own', 'session.id': 'own' }).correlation).toMatchObject({
      userId: 'own',
      sessionId: 'own',
      threadId: 't',
    });
  });

  it('NUL and lone surrogates that JSON spells out are replaced, as everywhere', () => {
    expect(mapped({ metadata: '{"user_id":"a\\u0000b\\ud800"}' }).correlation.userId).toBe('a\ufffdb\ufffd');
  });

  it('gen_ai.user is the user', () => {
    expect(mapped({ 'gen_ai.user': 'u' }).correlation.userId).toBe('u');
  });
});

describe('Messages beside a serialised constructor', () => {
  const constructor = '{"messages": [[{"lc": 1, "type": "constructor", "kwargs": {"content": "hello"}}]]}';

  it('are read before it, and the constructor stays an attribute', () => {
    const span = mapped({
      'input.value': constructor,
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': 'hello',
    });
    expect(span.input).toEqual([{ role: 'user', content: 'hello' }]);
    expect(span.attributes['input.value']).toBe(constructor);
  });

  it('an ordinary text comes before the messages, as specified', () => {
    const span = mapped({ 'input.value': 'hello', 'llm.input_messages.0.message.content': 'other' });
    expect(span.input).toBe('hello');
  });

  it('a constructor without messages is kept as it came', () => {
    expect(mapped({ 'input.value': constructor }).input).toBe(constructor);
  });
});

describe('Objects as Python prints them', () => {
  it('cost one pass, also where a quote never closes', () => {
    // A quarter of a second would be thousands of passes; the bound on what is parsed is 64 Ki characters.
    const open = `{${"'\\\\".repeat(20_000)}`;
    expect(parsePython(open)).toBeUndefined();
    expect(parsePython(`{${'"'.repeat(60_000)}`)).toBeUndefined();
    expect(parsePython(`[${'[],'.repeat(4_094)}[]]`)).toHaveLength(4_095);
    expect(parsePython(`[${'[],'.repeat(4_095)}{}]`)).toBeUndefined();
    expect(parsePython(`[${"'',".repeat(4_094)}None]`)).toHaveLength(4_095);
    expect(parsePython(`[${"'',".repeat(4_095)}None]`)).toBeUndefined();
    expect(parsePython(`['${'\\n'.repeat(4_094)}']`)).toEqual(['\n'.repeat(4_094)]);
    expect(parsePython(`['${'\\n'.repeat(4_096)}']`)).toBeUndefined();
  });

  it('are kept as values, so that their members can be redacted', () => {
    const span = mapped({
      'llm.openai.messages': `[{'role': 'user', 'api_key': 'sk-2'}]`,
      'metadata.requester_metadata': `{'user_id': 'u'}`,
    });
    expect(span.input).toEqual([{ role: 'user', api_key: 'sk-2' }]);
    expect(span.attributes['metadata.requester_metadata']).toEqual({ user_id: 'u' });
  });

  it.each([
    [`{'a': 1, 'b': None, 'c': True, 'd': False}`, { a: 1, b: null, c: true, d: false }],
    [`{'quoted': 'it\\'s', "other": "say 'None'"}`, { quoted: "it's", other: "say 'None'" }],
    [`[{'text': 'a "b" c', 'n': -1.5e3}]`, [{ text: 'a "b" c', n: -1500 }]],
    [`{'x': '\\xe9\\n'}`, { x: 'é\n' }],
    [`{'path': 'C:\\\\x41 \\\\'}`, { path: 'C:\\x41 \\' }],
    [`{'n': 1e3, 'm': -2.5}`, { n: 1000, m: -2.5 }],
    ['{}', {}],
  ])('%s', (text, value) => {
    expect(parsePython(text)).toEqual(value);
  });

  it.each([`{'a': object()}`, `{'a': 'open}`, `{'a': Decimal('1')}`, `{'a': '\\UFFFFFFFF'}`, '', 'x'.repeat(65_537)])(
    'anything else is no object: %.20s',
    (text) => {
      expect(parsePython(text)).toBeUndefined();
    },
  );

  it('give cached and reasoning tokens where no attribute does', () => {
    const text = `{'prompt_tokens_details': {'cached_tokens': 400, 'audio': None}, 'completion_tokens_details': {'reasoning_tokens': 10}}`;
    for (const key of ['metadata.usage_object', 'llm.openai.usage'])
      expect(mapped({ 'gen_ai.usage.input_tokens': 1000, [key]: text }).usage).toEqual({
        inputTokens: 1000,
        inputDetails: { cacheRead: 400 },
        outputDetails: { reasoning: 10 },
      });
  });

  it('give no usage of their own: the call that they belong to has reported it', () => {
    expect(mapped({ 'llm.openai.usage': `{'prompt_tokens': 5}` }).usage).toBeUndefined();
  });
});
