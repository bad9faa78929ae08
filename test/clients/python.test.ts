import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { missingToolchain, PYTHON_OF_VENV } from '../../tools/clients.ts';
import { FAKE_ANSWER, FAKE_MODEL, FAKE_REFUSAL, FAKE_USAGE, FAKE_WRONG_PROMPT } from './fake-model.ts';
import { costOfOneCall, openStage, type Stage, type WireSpan } from './stage.ts';

/**
 * The Python libraries that people instrument agents with: each as it is published, in an environment of its own, set up by the
 * variables that its users set, against the fake model and the daemon. What arrives is asked of the API.
 */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** What a reader of the API sees of a span, in few words. Absent where the span has no such value. */
type Seen = {
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly entity?: string;
  readonly model?: string;
  readonly tokens?: { input: number; output: number; cached: number; reasoning: number };
  readonly cost?: number;
  readonly user?: string;
  readonly session?: string;
  readonly thread?: string;
};

const inUnits = (cost: number): number => Number(cost.toPrecision(9));

const seen = (span: WireSpan): Seen => {
  const { usage, cost, correlation } = span;
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const told = {
    name: span.name.replace(/took [\d.]+s/, 'took a while'),
    kind: span.kind,
    status: span.status,
    entity: span.entity_name,
    model: span.model,
    tokens: usage && {
      input: usage.input_tokens ?? 0,
      output: usage.output_tokens ?? 0,
      cached: usage.input_details?.cache_read ?? 0,
      reasoning: usage.output_details?.reasoning ?? 0,
    },
    cost: cost && inUnits(cost.total_cost),
    user: text(correlation['user_id']),
    session: text(correlation['session_id'])?.replace(/^[\da-f-]{36}$/, 'a conversation'),
    thread: text(correlation['thread_id']),
  };
  return JSON.parse(JSON.stringify(told)) as Seen;
};

const inOrder = (spans: readonly Seen[]): Seen[] => {
  const key = ({ name, kind, status, user }: Seen): string => `${name} ${kind} ${status} ${user}`;
  return spans.toSorted((a, b) => key(a).localeCompare(key(b)));
};

const TOKENS = {
  input: FAKE_USAGE.prompt,
  output: FAKE_USAGE.completion,
  cached: FAKE_USAGE.cached,
  reasoning: FAKE_USAGE.reasoning,
};
/** @param lost what the library leaves out of the counts that the model gave it */
const answered = (name: string, lost: Partial<typeof TOKENS> = {}): Seen => {
  const tokens = { ...TOKENS, ...lost };
  const cost = inUnits(costOfOneCall(tokens.cached));
  return { name, kind: 'model_generation', status: 'ok', model: FAKE_MODEL, tokens, cost };
};
/** A failed call has the model that was asked for, and neither tokens nor cost. */
const refused = (name: string): Seen => ({ name, kind: 'model_generation', status: 'error', model: FAKE_MODEL });
const tool = (name: string, entity: string, status = 'ok'): Seen => ({ name, kind: 'tool_call', status, entity });
const agent = (name: string, entity?: string, status = 'ok'): Seen => ({
  name,
  kind: 'agent_run',
  status,
  ...(entity === undefined ? {} : { entity }),
});
const workflow = (name: string): Seen => ({ name, kind: 'workflow_run', status: 'ok' });

type PythonClient = {
  /** Its folder, and the project that it reports to. */
  readonly name: string;
  readonly title: string;
  readonly settings?: (daemonUrl: string) => Readonly<Record<string, string>>;
  /** Correlation that every span has. */
  readonly person?: Partial<Seen>;
  readonly spans: readonly Seen[];
  /** The failed call is reported without what was asked. */
  readonly losesFailedPrompt?: true;
};

const clients: readonly PythonClient[] = [
  {
    name: 'openinference-openai',
    title: 'the OpenAI client under OpenInference',
    person: { user: 'user-oi', session: 'session-oi' },
    // A plain call and a streamed one.
    spans: [answered('ChatCompletion'), answered('ChatCompletion'), refused('ChatCompletion')],
  },
  {
    name: 'openinference-langchain',
    title: 'LangChain under OpenInference',
    person: { user: 'user-lc', session: 'session-lc', thread: 'thread-lc' },
    spans: [
      ...[workflow('RunnableSequence'), workflow('ChatPromptTemplate'), answered('ChatOpenAI')],
      ...[agent('refund-agent'), workflow('model'), answered('ChatOpenAI'), workflow('tools')],
      ...[tool('look_up_order', 'look_up_order'), workflow('model'), answered('ChatOpenAI')],
      refused('ChatOpenAI'),
    ],
  },
  {
    name: 'openinference-llamaindex',
    title: 'LlamaIndex under OpenInference',
    person: { user: 'user-li', session: 'session-li' },
    spans: [answered('OpenAI.chat'), refused('OpenAI.chat')],
  },
  {
    name: 'openinference-agents',
    title: 'the OpenAI Agents SDK under OpenInference',
    person: { user: 'user-oa', session: 'session-oa' },
    spans: [
      ...[workflow('Agent workflow'), agent('Agent workflow'), agent('refund-agent', 'refund-agent')],
      // It reports neither cached nor reasoning tokens, so its calls are priced at the plain input rate.
      ...[workflow('turn'), answered('generation', { cached: 0, reasoning: 0 })],
      tool('look_up_order', 'look_up_order'),
      ...[workflow('turn'), answered('generation', { cached: 0, reasoning: 0 })],
      ...[workflow('Agent workflow'), agent('Agent workflow'), agent('broken', 'broken', 'error')],
      ...[workflow('turn'), refused('generation')],
    ],
  },
  {
    name: 'traceloop',
    title: "Traceloop's SDK",
    settings: () => ({ SVC_PROJECT_NAME: 'traceloop' }),
    person: { user: 'user-tl', session: 'session-tl' },
    spans: [
      { ...workflow('refund.workflow'), entity: 'refund' },
      agent('refund-agent.agent', 'refund-agent'),
      tool('look_up_order.tool', 'look_up_order'),
      { ...answered('openai.chat'), entity: 'refund-agent' },
      refused('openai.chat'),
    ],
  },
  {
    name: 'pydantic-ai',
    title: 'pydantic-ai',
    person: { session: 'a conversation' },
    spans: [
      agent('invoke_agent refund-agent', 'refund-agent'),
      { ...answered('chat gpt-4o-mini'), entity: 'refund-agent' },
      tool('execute_tool look_up_order', 'look_up_order'),
      { ...answered('chat gpt-4o-mini'), entity: 'refund-agent' },
      agent('invoke_agent refund-agent', 'refund-agent', 'error'),
      { ...refused('chat gpt-4o-mini'), entity: 'refund-agent' },
    ],
    losesFailedPrompt: true,
  },
  {
    name: 'logfire',
    title: "Logfire's SDK with another backend",
    spans: [
      { name: 'refund A-17', kind: 'generic', status: 'ok' },
      answered("Chat Completion with 'gpt-4o-mini'"),
      // A streamed call is reported as its request, which knows no tokens, and as its answer, which is the call.
      { name: "Chat Completion with 'gpt-4o-mini'", kind: 'generic', status: 'ok', model: FAKE_MODEL },
      answered("streaming response from 'gpt-4o-mini' took a while"),
      refused("Chat Completion with 'gpt-4o-mini'"),
    ],
  },
  {
    name: 'litellm',
    title: "LiteLLM's own OpenTelemetry callback",
    settings: (daemonUrl) => ({
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      OTEL_EXPORTER: 'otlp_http',
      OTEL_ENDPOINT: daemonUrl,
    }),
    spans: [
      // The `metadata` of a call is reported by its proxy alone; the `user` of one by all.
      { ...answered('litellm_request'), user: 'user-ll' },
      { name: 'raw_gen_ai_request', kind: 'generic', status: 'ok' },
      answered('litellm_request'),
      { name: 'raw_gen_ai_request', kind: 'generic', status: 'ok' },
      refused('litellm_request'),
    ],
  },
];

const run = async ({ name, settings }: PythonClient): Promise<readonly WireSpan[]> => {
  const folder = join(import.meta.dirname, 'python', name);
  const command = join(folder, PYTHON_OF_VENV);
  if (!existsSync(command)) throw new Error(`${name} is not installed: npm test installs it`);
  const { code, printed } = await stage.run({
    folder,
    command,
    args: ['client.py'],
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: stage.daemon.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_RESOURCE_ATTRIBUTES: `svc.project=${name}`,
      ...settings?.(stage.daemon.url),
    },
  });
  expect(code, printed).toBe(0);
  return stage.spansOf(name);
};

/** Each client runs once; a client that cannot run on this machine is skipped, and says why. */
const runs = new Map<string, Promise<readonly WireSpan[]>>();
const arrived = (client: PythonClient, { skip }: TestContext): Promise<readonly WireSpan[]> => {
  const missing = missingToolchain('python');
  skip(missing !== undefined, missing);
  const spans = runs.get(client.name) ?? run(client);
  runs.set(client.name, spans);
  return spans;
};

const callsOf = ({ spans }: PythonClient): readonly Seen[] =>
  spans.filter(({ kind, status }) => kind === 'model_generation' && status === 'ok');

describe.each(clients)('$title', (client) => {
  it('has names, kinds, models, tokens, costs and people in every span, and no call twice', async (context) => {
    const expected = client.spans.map((span) => ({ ...client.person, ...span }));
    expect(inOrder((await arrived(client, context)).map(seen))).toEqual(inOrder(expected));
  });

  it('has what was asked and answered, and why a call failed, where people read it', async (context) => {
    const calls = (await arrived(client, context)).filter(({ kind }) => kind === 'model_generation');
    const answers = calls.filter(({ status }) => status === 'ok');
    for (const { input } of answers) expect(JSON.stringify(input)).toContain('Refund order A-17');
    expect(JSON.stringify(answers.map(({ output }) => output))).toContain(FAKE_ANSWER);
    const [failed] = calls.filter(({ status }) => status === 'error');
    expect(failed?.error?.message).toContain(FAKE_REFUSAL);
    if (client.losesFailedPrompt) expect(failed).not.toHaveProperty('input');
    else expect(JSON.stringify(failed?.input)).toContain(FAKE_WRONG_PROMPT);
  });

  it('is one group by model, with the tokens and the money of its calls, and its people are found', async (context) => {
    await arrived(client, context);
    const calls = callsOf(client);
    const spent = calls.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
    const { groups } = await stage.read<{ groups: readonly Record<string, number>[] }>(
      `/v1/api/analytics/cost?group_by=model&project=${client.name}&from=2026-01-01T00:00:00Z`,
    );
    expect(groups).toEqual([
      expect.objectContaining({
        key: FAKE_MODEL,
        input_tokens: calls.length * FAKE_USAGE.prompt,
        output_tokens: calls.length * FAKE_USAGE.completion,
      }),
    ]);
    expect(groups[0]?.['total_cost']).toBeCloseTo(spent, 12);
    const costOfTraces = (await stage.tracesOf(client.name)).map(({ cost }) => cost?.total_cost ?? 0);
    expect(costOfTraces.reduce((sum, cost) => sum + cost, 0)).toBeCloseTo(spent, 12);

    const { users } = await stage.read<{ users: readonly { user_id: string }[] }>(
      `/v1/api/users?project=${client.name}`,
    );
    const people = new Set([client.person?.user, ...client.spans.map(({ user }) => user)]);
    expect(users.map(({ user_id }) => user_id)).toEqual([...people].filter((user) => user !== undefined));
  });
});
