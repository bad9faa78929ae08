/**
 * Fills a running service with sample data, so that every page of the interface has something to show: traces of three
 * agents over a day, sessions and users, failures, a span that still runs, scores, feedback, a trace as an instrumentation of
 * OpenTelemetry sends it, a signal that is refused, a dataset with two experiments to compare, runs that succeeded, failed, have
 * children, wait for a person or for a key, and a schedule. Monitors and SLOs stand in the config of a service: `svc serve --config-file examples/seed.config.json` has some that fit.
 *
 *     npx node examples/seed.ts [--traces 60]      SVC_ENDPOINT, SVC_API_KEY, SVC_PROJECT as for any client
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createClient, createWorker, defineWorkflow, type } from '../sdk/typescript/src/index.ts';
import { invoices, reminders, statements } from './seed-definitions.ts';
import { instrumentedTrace } from './seed-otlp.ts';

const usage = (problem: string): never => {
  console.error(`${problem}\nusage: npx node examples/seed.ts [--traces 60]; SVC_ENDPOINT says where the service is`);
  process.exit(2);
};
const argumentsOf = () => {
  try {
    return parseArgs({ options: { traces: { type: 'string', default: '60' } } }).values;
  } catch (error) {
    return usage((error as Error).message);
  }
};
const traceCount = Number(argumentsOf().traces);
if (!Number.isInteger(traceCount) || traceCount < 1) usage('--traces takes a whole number from 1');
const endpoint = process.env['SVC_ENDPOINT'] ?? 'http://127.0.0.1:4317';
const key = process.env['SVC_API_KEY'] ?? '';
const project = process.env['SVC_PROJECT'];

/** The same numbers each time, so that two people who seed talk about the same pages. */
const createChance = (seed: number) => {
  let state = seed;
  const next = (): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
  return {
    next,
    between: (low: number, high: number): number => low + next() * (high - low),
    pick: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T,
  };
};
const chance = createChance(7);

type NewSpan = Record<string, unknown> & { trace_id: string; span_id: string };
type Batch = { spans: NewSpan[]; scores: object[]; feedback: object[]; logs: object[] };

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
const instant = (ms: number): string => new Date(ms).toISOString();

const questions = [
  ['Where is my parcel? Order 4471.', 'It is in the depot in Lyon and arrives tomorrow before noon.'],
  ['I was charged twice for one month.', 'You are right. I refunded the second charge; it takes two days.'],
  ['Can I change the delivery address?', 'Yes, until it leaves the depot. I changed it to Rue Cler 12.'],
  ['The blender makes a burning smell.', 'Please unplug it. I ordered a replacement; no need to send it back.'],
  ['How do I export my invoices?', 'Under Billing, choose Export. I sent you the last twelve as one file.'],
] as const;
const users = ['ada', 'grace', 'linus', 'margaret', 'dennis', 'barbara'];
const models = [
  { model: 'gpt-4o-mini', provider: 'openai' },
  { model: 'gpt-4o', provider: 'openai' },
  { model: 'claude-sonnet-4-5', provider: 'anthropic' },
] as const;
const faults = [
  { type: 'TimeoutError', message: 'carrier API did not answer within 5 s' },
  { type: 'RateLimitError', message: '429: tokens per minute are used up' },
  { type: 'ValidationError', message: 'amount must be a number, it is "forty"' },
] as const;

const HOUR_MS = 3_600_000;

/** One conversation of the support agent: retrieval, model, tools, model. */
const supportTrace = (batch: Batch, startMs: number, isFailing: boolean, isRunning = false): void => {
  const trace_id = hex(16);
  const [question, answer] = chance.pick(questions);
  const user_id = chance.pick(users);
  const { model, provider } = chance.pick(models);
  const correlation = {
    user_id,
    session_id: `chat-${user_id}-${Math.floor(startMs / (6 * HOUR_MS))}`,
    environment: chance.next() < 0.8 ? 'production' : 'staging',
    service_name: 'support-agent',
    service_version: chance.next() < 0.5 ? '2.3.0' : '2.4.0',
    tags: ['support'],
    ...(project === undefined ? {} : { project }),
  };
  let atMs = startMs;
  const spend = (ms: number): number => (atMs += ms);
  const span = (parent: string | undefined, fields: Record<string, unknown>, ms: number): string => {
    const span_id = hex(8);
    const from = atMs;
    batch.spans.push({
      trace_id,
      span_id,
      ...(parent === undefined ? {} : { parent_span_id: parent }),
      status: 'ok',
      start_time: instant(from),
      end_time: instant(spend(ms)),
      correlation,
      ...fields,
    });
    return span_id;
  };
  const root = hex(8);
  spend(4);
  span(
    root,
    { name: 'check input', kind: 'guardrail', input: question, output: { allowed: true } },
    chance.between(8, 30),
  );
  span(
    root,
    {
      name: 'search help centre',
      kind: 'retrieval',
      input: question,
      output: [
        { id: 'kb-17', score: 0.83 },
        { id: 'kb-4', score: 0.71 },
      ],
    },
    chance.between(60, 220),
  );
  const system = {
    role: 'system',
    content: 'You are the support agent of a web shop. Look things up before you answer.',
  };
  const input = Math.floor(chance.between(700, 2600));
  span(
    root,
    {
      name: `chat ${model}`,
      kind: 'model_generation',
      model,
      provider,
      input: [system, { role: 'user', content: question }],
      output: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ function: { name: 'find_order', arguments: '{"user":"' + user_id + '"}' } }],
        },
      ],
      usage: {
        input_tokens: input,
        output_tokens: Math.floor(chance.between(20, 90)),
        input_details: { cache_read: Math.floor(input * 0.6) },
      },
    },
    chance.between(500, 1900),
  );
  const toolId = hex(8);
  const toolFrom = atMs;
  const error = isFailing ? chance.pick(faults) : undefined;
  spend(3);
  span(
    toolId,
    {
      name: 'GET /orders',
      kind: 'http_request',
      ...(error === undefined ? {} : { status: 'error', error }),
      attributes: {
        'http.request.method': 'GET',
        'url.path': '/orders',
        'http.response.status_code': error === undefined ? 200 : 504,
      },
    },
    error === undefined ? chance.between(40, 300) : 5000,
  );
  batch.spans.push({
    trace_id,
    span_id: toolId,
    parent_span_id: root,
    name: 'find_order',
    kind: 'tool_call',
    status: error === undefined ? 'ok' : 'error',
    start_time: instant(toolFrom),
    end_time: instant(spend(2)),
    input: { user: user_id },
    ...(error === undefined ? { output: { order: 4471, state: 'in depot' } } : { error }),
    correlation,
  });
  if (isRunning) {
    batch.spans.push(
      {
        trace_id,
        span_id: root,
        name: 'answer_ticket',
        kind: 'agent_run',
        status: 'unset',
        start_time: instant(startMs),
        input: question,
        correlation,
      },
      {
        trace_id,
        span_id: hex(8),
        parent_span_id: root,
        name: `chat ${model}`,
        kind: 'model_generation',
        model,
        provider,
        status: 'unset',
        start_time: instant(atMs),
        correlation,
      },
    );
    return;
  }
  const usage = { input_tokens: input + 400, output_tokens: Math.floor(chance.between(40, 260)) };
  if (error === undefined)
    span(
      root,
      {
        name: `chat ${model}`,
        kind: 'model_generation',
        model,
        provider,
        input: [
          system,
          { role: 'user', content: question },
          { role: 'tool', name: 'find_order', content: '{"order":4471,"state":"in depot"}' },
        ],
        output: [{ role: 'assistant', content: answer }],
        usage,
      },
      chance.between(600, 2600),
    );
  batch.spans.push({
    trace_id,
    span_id: root,
    name: 'answer_ticket',
    kind: 'agent_run',
    status: error === undefined ? 'ok' : 'error',
    ...(error === undefined
      ? { output: answer }
      : { error: { message: `find_order failed: ${error.message}`, type: 'AgentError' } }),
    start_time: instant(startMs),
    end_time: instant(spend(5)),
    input: question,
    entity_name: 'support-agent',
    correlation,
  });
  batch.logs.push({
    trace_id,
    severity: error === undefined ? 'info' : 'error',
    message: error === undefined ? 'ticket answered' : error.message,
    timestamp: instant(atMs),
    correlation,
  });
  const scorer = { trace_id, source: 'offline', min: 0, max: 1, timestamp: instant(atMs), correlation };
  batch.scores.push(
    {
      ...scorer,
      scorer_id: 'helpfulness',
      scorer_version: '2',
      value: error === undefined ? Number(chance.between(0.55, 1).toFixed(2)) : 0.1,
      reason: 'Read against the help centre article.',
    },
    { ...scorer, scorer_id: 'groundedness', scorer_version: '1', value: Number(chance.between(0.4, 1).toFixed(2)) },
  );
  if (chance.next() < 0.4)
    batch.feedback.push({
      trace_id,
      kind: 'thumbs',
      value: error === undefined && chance.next() < 0.8 ? 'up' : 'down',
      author_kind: 'end_user',
      timestamp: instant(atMs + 60_000),
      correlation,
    });
};

/** A research agent: a planner, sub-agents that run beside each other, a model nobody has a price of. */
const researchTrace = (batch: Batch, startMs: number): void => {
  const trace_id = hex(16);
  const correlation = {
    user_id: 'margaret',
    service_name: 'research-agent',
    environment: 'production',
    ...(project === undefined ? {} : { project }),
  };
  const root = hex(8);
  const put = (
    span_id: string,
    parent: string | undefined,
    from: number,
    to: number,
    fields: Record<string, unknown>,
  ): void => {
    batch.spans.push({
      trace_id,
      span_id,
      ...(parent === undefined ? {} : { parent_span_id: parent }),
      status: 'ok',
      start_time: instant(startMs + from),
      end_time: instant(startMs + to),
      correlation,
      ...fields,
    });
  };
  put(hex(8), root, 20, 1400, {
    name: 'plan',
    kind: 'model_generation',
    model: 'house-model-70b',
    input: [{ role: 'user', content: 'What changed in the market for heat pumps in 2026?' }],
    output: [{ role: 'assistant', content: 'Three questions: prices, subsidies, makers.' }],
    usage: { input_tokens: 900, output_tokens: 140 },
  });
  for (const [at, topic] of ['prices', 'subsidies', 'makers'].entries()) {
    const agent = hex(8);
    const from = 1500 + at * 120;
    const to = from + 6000 + at * 1500;
    for (let step = 0; step < 6; step += 1)
      put(hex(8), agent, from + 50 + step * 900, from + 800 + step * 900, {
        name: step % 2 === 0 ? `search: ${topic}` : 'read page',
        kind: step % 2 === 0 ? 'mcp_tool_call' : 'http_request',
        input: { query: `${topic} 2026 heat pump`, page: step },
        output: 'Sources agree that sales grew again after a weak year.',
      });
    put(hex(8), agent, from + 5500, to - 40, {
      name: 'summarise',
      kind: 'model_generation',
      model: 'claude-sonnet-4-5',
      provider: 'anthropic',
      input: [{ role: 'user', content: `Summarise what was found on ${topic}.` }],
      output: [
        {
          role: 'assistant',
          content: `On ${topic}: growth of about a tenth, with large differences between countries.`,
        },
      ],
      usage: { input_tokens: 5200, output_tokens: 420 },
    });
    put(agent, root, from, to, { name: `researcher: ${topic}`, kind: 'agent_run', entity_name: 'researcher' });
  }
  put(root, undefined, 0, 11_800, {
    name: 'research_question',
    kind: 'agent_run',
    input: 'What changed in the market for heat pumps in 2026?',
    output: 'Sales grew by about a tenth; subsidies were cut in three countries.',
    entity_name: 'research-agent',
  });
};

const post = async (path: string, body: object): Promise<void> => {
  const response = await fetch(new URL(path, endpoint), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === '' ? {} : { authorization: `Bearer ${key}` }) },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { rejected?: number; errors?: unknown; message?: string };
  if (!response.ok || (answer.rejected ?? 0) > 0) throw new Error(`${path}: ${JSON.stringify(answer)}`);
};

/** A sender that makes ids of its own kind: the door refuses its span and says so, on the page of refusals. */
const seedRefusal = async (): Promise<void> => {
  const span = { trace_id: 'ticket-4471', span_id: '1', name: 'answer_ticket', start_time: instant(Date.now()) };
  await post('/v1/ingest', { spans: [span] }).catch(() => undefined);
};

/** The id of the dataset of an earlier seed, which is filled again; a project has one of a name. */
const datasetNamed = async (name: string): Promise<string | undefined> => {
  const address = new URL('/v1/api/datasets?limit=1000', endpoint);
  if (project !== undefined) address.searchParams.set('project', project);
  const response = await fetch(address, key === '' ? {} : { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`${address.pathname}: ${await response.text()}`);
  const { datasets } = (await response.json()) as { datasets: { dataset_id: string; name: string }[] };
  return datasets.find((dataset) => dataset.name === name)?.dataset_id;
};

const CASES = 40;

/** Two versions of the agent on the same cases: the newer is less helpful, and of its tone too little was judged to say. */
const seedExperiments = async (): Promise<void> => {
  const own = project === undefined ? {} : { project };
  const dataset = (await datasetNamed('tickets')) ?? `tickets-${hex(2)}`;
  await post('/v1/api/datasets', {
    dataset_id: dataset,
    name: 'tickets',
    description: 'Questions of customers',
    ...own,
  });
  const cases = Array.from({ length: CASES }, (_, at) => {
    const [question, answer] = chance.pick(questions);
    return { question: `${question} (customer ${at + 1})`, answer };
  });
  for (const [at, { question, answer }] of cases.slice(0, 12).entries())
    await post(
      `/v1/api/datasets/${dataset}/items${project === undefined ? '' : `?project=${encodeURIComponent(project)}`}`,
      {
        item_id: `case-${at + 1}`,
        input: { question },
        expected: answer,
      },
    );
  for (const [version, low, extra] of [
    ['2.3.0', 0.72, ''],
    ['2.4.0', 0.5, ' Is there anything else I can do for you today?'],
  ] as const) {
    const experiment_id = `${dataset}-${version}`;
    await post('/v1/api/experiments', {
      experiment_id,
      name: `support-agent ${version}`,
      dataset_id: dataset,
      service_version: version,
      ...own,
    });
    const tried: Batch = { spans: [], scores: [], feedback: [], logs: [] };
    for (const [at, { question, answer }] of cases.entries()) {
      const trace_id = hex(16);
      const startMs = Date.now() - 3 * HOUR_MS + at * 20_000;
      const correlation = { experiment_id, service_name: 'support-agent', service_version: version, ...own };
      tried.spans.push({
        trace_id,
        span_id: hex(8),
        name: 'answer_ticket',
        kind: 'agent_run',
        status: 'ok',
        start_time: instant(startMs),
        end_time: instant(startMs + chance.between(900, 4000)),
        input: { question },
        output: answer + extra,
        correlation,
      });
      const score = (scorer_id: string, value: number, reason: string) =>
        tried.scores.push({
          trace_id,
          scorer_id,
          scorer_version: '1',
          value: Number(value.toFixed(2)),
          min: 0,
          max: 1,
          reason,
          source: 'experiment',
          experiment_id,
          timestamp: instant(startMs + 5000),
          correlation,
        });
      score('helpfulness', chance.between(low, low + 0.25), extra === '' ? 'Answers at once.' : 'Ends in a phrase.');
      score('groundedness', chance.between(0.7, 0.95), 'Read against the help centre article.');
      if (at < 12) score('tone', chance.between(0.6, 0.9), 'Friendly.');
    }
    await post('/v1/ingest', tried);
  }
};

const seedKeysAndSchedule = async (): Promise<void> => {
  const own = project === undefined ? {} : { correlation: { project } };
  await post('/v1/api/definitions', { definitions: [invoices, reminders, ...statements] });
  for (let time = 0; time < 3; time += 1)
    await post('/v1/api/runs', { definition_id: reminders.id, input: { customer: 'initech' }, ...own });
  await post('/v1/api/runs', {
    definition_id: 'seed-statement',
    input: { customer: 'acme', pages: [1, 2, 3] },
    ...own,
  });
  for (const month of ['2026-09', '2026-10', '2026-11'])
    await post('/v1/api/runs', { definition_id: invoices.id, input: { customer: 'acme', month }, ...own });
  const id = `nightly-${hex(2)}`;
  const input = { customer: 'globex', month: 'last' };
  await post('/v1/api/schedules', { id, definition_id: invoices.id, input, cron: '30 2 * * *', ...own });
  // The run of the first firing stays open, so that the second is skipped, and says why.
  for (let firing = 0; firing < 2; firing += 1) await post(`/v1/api/schedules/${id}/trigger`, {});
};

/** Saved views, and a board of them. */
const seedBoard = async (): Promise<void> => {
  const own = project === undefined ? {} : { project };
  const views = [
    { view_id: 'seed-failed', name: 'Failed traces', path: '/traces?status=error' },
    { view_id: 'seed-tickets', name: 'Answered tickets', path: '/traces?name=answer_ticket' },
    { view_id: 'seed-cost', name: 'Cost by model', path: '/cost?group_by=model' },
  ];
  for (const view of views) await post('/v1/api/views', { ...view, ...own });
  const ids = views.map(({ view_id }) => view_id);
  await post('/v1/api/views', { view_id: 'seed-board', name: 'Support', views: ids, ...own });
};

type Ticket = { readonly id: string; readonly amount: number };

/** A refund that a person approves; the payment is tried again where the bank is away. */
const refund = defineWorkflow({
  definition: {
    id: 'seed-refund',
    version: 1,
    steps: [
      {
        id: 'triage',
        kind: 'task',
        input: { ticket: '${input.ticket}' },
        next: [{ when: 'input.ticket.amount <= 100', to: 'pay' }, { to: 'approval' }],
      },
      {
        id: 'approval',
        kind: 'wait_event',
        event: 'approval',
        key: '${input.ticket.id}',
        timeout_ms: 86_400_000,
        next: 'pay',
      },
      {
        id: 'pay',
        kind: 'task',
        input: { ticket: '${input.ticket}' },
        retry: { max_attempts: 3, backoff_ms: 400 },
        next: 'tell',
      },
      { id: 'tell', kind: 'task', input: { payment: '${steps.pay.output}' } },
    ],
  },
  input: type<{ ticket: Ticket }>(),
  bodies: {
    triage: async (context, { ticket }: { ticket: Ticket }) =>
      context.span(
        'judge the complaint',
        { kind: 'model_generation', model: 'gpt-4o-mini', provider: 'openai', input: `Ticket ${ticket.id}` },
        async (span) => {
          span.setUsage({ input_tokens: 640, output_tokens: 40 });
          return { urgency: ticket.amount > 100 ? 'high' : 'low' };
        },
      ),
    pay: async (_context, { ticket }: { ticket: Ticket }) => {
      if (ticket.id.endsWith('lost')) throw new Error('the bank does not know this account');
      return { payment: `p-${ticket.id}`, amount: ticket.amount };
    },
    tell: async () => ({ sent: true }),
  },
});

const seedRuns = async (): Promise<void> => {
  const client = createClient();
  const worker = createWorker({
    workflows: [refund],
    name: 'seed',
    concurrency: 4,
    stopOnSignals: false,
    graceMs: 1000,
  });
  const serving = worker.run();
  await client.storeDefinitions([refund.definition]);
  const start = async (id: string, amount: number): Promise<string> =>
    (
      await client.start(
        refund,
        { ticket: { id, amount } },
        { correlation: { user_id: chance.pick(users), session_id: 'refunds' } },
      )
    ).run_id;
  const ended = [];
  for (let at = 0; at < 6; at += 1) ended.push(await start(`t-${at}-${hex(2)}`, 20 + at));
  for (let at = 0; at < 2; at += 1) ended.push(await start(`t-${at}-${hex(2)}-lost`, 30));
  for (let at = 0; at < 3; at += 1) await start(`t-${at}-${hex(2)}-large`, 400 + at);
  const cancelled = await start(`t-${hex(2)}-cancelled`, 900);
  for (const runId of ended) await client.wait(runId).catch(() => undefined); // some are meant to fail
  await client.cancel(cancelled, 'the customer withdrew');
  await worker.stop();
  await serving;
  // Nobody serves these: they are queued, and the list says why.
  for (let at = 0; at < 2; at += 1) await start(`t-${at}-${hex(2)}`, 10);
  client.close();
};

const nowMs = Date.now();
const batch: Batch = { spans: [], scores: [], feedback: [], logs: [] };
for (let at = 0; at < traceCount; at += 1) {
  const startMs =
    nowMs - 60_000 - Math.floor((at / traceCount) * 24 * HOUR_MS) - Math.floor(chance.between(0, 600_000));
  if (at % 10 === 3) researchTrace(batch, startMs);
  else supportTrace(batch, startMs, at % 7 === 2);
}
supportTrace(batch, nowMs - 4_000, false, true);
await post('/v1/ingest', batch);
console.log(`${traceCount + 1} traces, ${batch.spans.length} spans`);
/** A key that lacks a scope, or a service without durable runs, leaves a part of it out. */
const orSay = async (what: string, seed: () => Promise<void>): Promise<void> =>
  seed().catch((error: unknown) =>
    console.log(`no ${what}: ${error instanceof Error ? error.message : String(error)}`),
  );
await orSay('instrumented trace', () => post('/v1/traces', instrumentedTrace(nowMs, project)));
await seedRefusal();
await orSay('experiments', seedExperiments);
await orSay('board', seedBoard);
await orSay('runs', seedRuns);
await orSay('keys, children and schedule', seedKeysAndSchedule);
console.log(`look at ${endpoint}`);
