import { randomBytes } from 'node:crypto';

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

type Value = string | number | readonly string[];
const otlpValue = (value: Value): object =>
  typeof value === 'string'
    ? { stringValue: value }
    : typeof value === 'number'
      ? { intValue: String(value) }
      : { arrayValue: { values: value.map((one) => ({ stringValue: one })) } };
const otlpAttributes = (attributes: Readonly<Record<string, Value>>): object[] =>
  Object.entries(attributes).map(([name, value]) => ({ key: name, value: otlpValue(value) }));

/** A graph of LangChain, as its OpenInference instrumentation exports it: one try of its tool fails, the next does not. */
export const instrumentedTrace = (nowMs: number, project: string | undefined): object => {
  const traceId = hex(16);
  const ids = { graph: hex(8), agent: hex(8), model: hex(8), tool: hex(8), again: hex(8), answer: hex(8) };
  const startMs = nowMs - 300_000;
  const nano = (ms: number): string => `${startMs + ms}000000`;
  const span = (
    id: keyof typeof ids,
    parent: keyof typeof ids | undefined,
    [from, to]: readonly [number, number],
    name: string,
    attributes: Readonly<Record<string, Value>>,
    more: object = {},
  ) => ({
    traceId,
    spanId: ids[id],
    ...(parent === undefined ? {} : { parentSpanId: ids[parent] }),
    name,
    kind: 1,
    startTimeUnixNano: nano(from),
    endTimeUnixNano: nano(to),
    status: { code: 1 },
    attributes: otlpAttributes(attributes),
    ...more,
  });
  const question = 'A dinner for six without nuts';
  const city = '{"query":"dinner for six, no nuts"}';
  const call = (input: number, output: number, messages: Readonly<Record<string, string>>) => ({
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'gpt-4o-mini',
    'llm.provider': 'openai',
    'llm.invocation_parameters': '{"temperature":0.2}',
    'llm.token_count.prompt': input,
    'llm.token_count.completion': output,
    'llm.token_count.total': input + output,
    'llm.input_messages.0.message.role': 'system',
    'llm.input_messages.0.message.content': 'You plan meals. Look recipes up.',
    'llm.input_messages.1.message.role': 'user',
    'llm.input_messages.1.message.content': question,
    'llm.output_messages.0.message.role': 'assistant',
    ...messages,
  });
  const tool = { 'openinference.span.kind': 'TOOL', 'tool.name': 'find_recipe', 'input.value': city };
  const metadata = '{"langgraph_step":2,"langgraph_node":"tools","thread_id":"menu-7"}';
  const failed = [
    {
      name: 'exception',
      timeUnixNano: nano(1_900),
      attributes: otlpAttributes({
        'exception.type': 'TimeoutError',
        'exception.message': 'the recipe index did not answer',
      }),
    },
  ];
  return {
    resourceSpans: [
      {
        resource: {
          attributes: otlpAttributes({
            'service.name': 'menu-agent',
            'service.version': '0.4.1',
            'telemetry.sdk.language': 'python',
            'telemetry.sdk.name': 'opentelemetry',
            ...(project === undefined ? {} : { 'svc.project': project }),
          }),
        },
        scopeSpans: [
          {
            scope: { name: 'openinference.instrumentation.langchain', version: '0.1.50' },
            spans: [
              span('graph', undefined, [0, 4_200], 'LangGraph', {
                'openinference.span.kind': 'CHAIN',
                'session.id': 'menu-7',
                'user.id': 'barbara',
                'tag.tags': ['menus'],
                'input.value': question,
                'output.value': 'Risotto with peas, then pears in wine.',
              }),
              span('agent', 'graph', [10, 4_150], 'planner', { 'openinference.span.kind': 'AGENT' }),
              span(
                'model',
                'agent',
                [30, 900],
                'ChatOpenAI',
                call(410, 24, {
                  'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'find_recipe',
                  'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': city,
                }),
              ),
              span('tool', 'agent', [920, 1_920], 'find_recipe', tool, {
                status: { code: 2, message: 'the recipe index did not answer' },
                events: failed,
              }),
              span('again', 'agent', [2_000, 2_700], 'find_recipe', {
                ...tool,
                metadata,
                'output.value': '["risotto"]',
              }),
              span(
                'answer',
                'agent',
                [2_750, 4_100],
                'ChatOpenAI',
                call(690, 88, {
                  'llm.output_messages.0.message.content': 'Risotto with peas, then pears in wine.',
                }),
              ),
            ],
          },
        ],
      },
    ],
  };
};
