import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectToDaemon, type DaemonClient } from '../../src/cli/daemon-client.ts';
import { findRuns, findRunsInput } from '../../src/cli/mcp/find-runs.ts';
import { count, counted, money, percent } from '../../src/cli/format.ts';
import { runStats, runStatsInput } from '../../src/cli/mcp/run-stats.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import {
  createCorpus,
  type CorpusSpan,
  type CorpusTrace,
  costOf,
  isInBook,
  keysOf,
  tokensOf,
} from './numbers-corpus.ts';

// One generated corpus in a real service. What each surface says of it is compared with a plain recomputation, which shares no code
// with the service: the trace list, the summary, the report of costs, MCP, monitors and objectives tell the same numbers.

const corpus = createCorpus({ seed: 20261122, traces: 300, now: Date.now() });
const callGroupings = ['model', 'provider', 'entity_name'] as const;
const traceGroupings = ['environment', 'status', 'session_id', 'user_id', 'service_name', 'name'] as const;
type Grouping = (typeof callGroupings)[number] | (typeof traceGroupings)[number];

const folder = temporaryFolder();
let daemon: Daemon;
let client: DaemonClient;
/** From when on everything that these tests count was stored. */
let completeAt: number;

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads answers freely, and fails where they are not as it says
type Free = any;
const get = (path: string, query: Readonly<Record<string, string>> = {}): Promise<Free> =>
  client.get(`/v1/api/${path}`, query);
const post = async (path: string, body: object): Promise<Free> => {
  const response = await fetch(`${daemon.url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Free;
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
};

const monitorOf = (project: string, watch: string) => ({
  ...{ id: `${project}-${watch}`, project, watch, compare: 'above', threshold: 1e9 },
  ...{ window_seconds: 86_400, min_samples: 1 },
});

/** What the body of a run's step reports, and no span of its own holds: two calls, one of them of a model without a price. */
const usageOf = (
  n: number,
): readonly { model: string; input_tokens: number; output_tokens: number; cost?: number; record: true }[] => [
  // One run cost nothing: it has no figure, as its trace has none.
  { model: 'gpt-4.1', input_tokens: 1000 + n, output_tokens: 10 * n, record: true, ...(n === 3 ? { cost: 0 } : {}) },
  { model: 'own-7b', input_tokens: 7, output_tokens: n, record: true },
];
/** The runs that end by their worker; the others are cancelled before they report anything. */
const reporting = [0, 1, 3, 4, 6, 7];

/** Three durable runs of each end, in a project of their own. */
const endDurableRuns = async (): Promise<void> => {
  const who = { worker_id: 'w', project: 'workflows' };
  const definition = { id: 'flow', version: 1, steps: [{ id: 'one', kind: 'task' }] };
  await post('api/workers/register', { ...who, definitions: [definition] });
  for (let n = 0; n < 9; n += 1) {
    const { run_id: runId } = await post('api/runs', { project: 'workflows', definition_id: 'flow', input: {} });
    const { leases } = await post('api/steps/claim', { worker_id: 'w', max: 1, wait_ms: 10_000 });
    const lease = `api/steps/${leases[0].lease_id}`;
    await post(`${lease}/started`, { worker_id: 'w' });
    if (n % 3 === 0) await post(`${lease}/complete`, { worker_id: 'w', output: n, usage: usageOf(n) });
    else if (n % 3 === 1)
      await post(`${lease}/fail`, {
        worker_id: 'w',
        error: { class: 'fatal', message: 'it broke' },
        usage: usageOf(n),
      });
    else await post(`api/runs/${runId}/cancel`, {});
  }
};

beforeAll(async () => {
  const file = join(folder.path, 'config.json');
  const watches = ['error_rate', 'latency_p95', 'cost', 'trace_count'];
  writeFileSync(
    file,
    JSON.stringify({
      monitor_interval_seconds: 1,
      monitors: ['default', 'workflows'].flatMap((project) => watches.map((watch) => monitorOf(project, watch))),
      slos: ['default', 'workflows'].map((project) => ({ id: project, project, objective: 0.9, window_days: 1 })),
    }),
  );
  daemon = await startDaemon(folder.path, ['--config-file', file]);
  const connected = connectToDaemon({ environment: {}, endpoint: daemon.url });
  if (typeof connected === 'string') throw new Error(connected);
  client = connected;
  const spans = corpus.flatMap((trace) => trace.spans);
  for (let at = 0; at < spans.length; at += 500) {
    const { errors } = await post('ingest', { spans: spans.slice(at, at + 500) });
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
  }
  await endDurableRuns();
  await eventually('nine traces that have ended', async () => {
    const traces = await listed({ project: 'workflows' });
    return traces.filter(isOver).length === 9;
  });
  completeAt = Date.now();
});
afterAll(async () => {
  await daemon.stop();
  folder.remove();
});

const isOver = ({ duration_ns: duration }: Free): boolean => duration !== null;

const listed = async (query: Readonly<Record<string, string>>): Promise<Free[]> => {
  const traces: Free[] = [];
  for (let cursor: string | undefined, page = 0; page < 100; page += 1) {
    const answer = await get('traces', { limit: '50', ...query, ...(cursor === undefined ? {} : { cursor }) });
    traces.push(...answer.traces);
    cursor = answer.next_cursor as string | undefined;
    if (cursor === undefined) return traces;
  }
  throw new Error('the list does not end');
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
/** A sum of what is known; `undefined` where nothing is. */
const sumOfKnown = (costs: readonly (number | undefined)[]): number | undefined => {
  const known = costs.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : sum(known);
};
const near = (value: number | undefined): unknown => (value === undefined ? undefined : expect.closeTo(value, 9));

/** By nearest rank, in milliseconds. */
const latencyOf = (durations: readonly number[]) => {
  if (durations.length === 0) return undefined;
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number): number | undefined => sorted[Math.ceil(share * sorted.length) - 1];
  return {
    mean: near(sum(sorted) / sorted.length),
    max: near(sorted.at(-1)),
    ...{ p50: near(at(0.5)), p90: near(at(0.9)), p95: near(at(0.95)), p99: near(at(0.99)) },
  };
};

const rootOf = ({ spans }: CorpusTrace): CorpusSpan | undefined =>
  spans.find(({ parent_span_id: parent }) => parent === undefined);
const statusOf = (span: CorpusSpan): string =>
  span.status === 'unset' && span.end_time !== undefined ? 'ok' : span.status;
const isFailed = (trace: CorpusTrace): boolean => rootOf(trace)?.status === 'error';
const millis = (text: string): number => Date.parse(text);
const durationOf = ({ spans }: CorpusTrace): number | undefined => {
  const ends = spans.flatMap(({ end_time: end }) => (end === undefined ? [] : [millis(end)]));
  return ends.length === 0 ? undefined : Math.max(...ends) - Math.min(...spans.map((s) => millis(s.start_time)));
};
const durationsOf = (traces: readonly CorpusTrace[]): number[] => traces.flatMap((trace) => durationOf(trace) ?? []);

/** What spans add up to, wherever they are counted. */
const spent = (spans: readonly CorpusSpan[]) => ({
  cost: sumOfKnown(spans.map(costOf)),
  input: sum(spans.map((span) => tokensOf(span).input)),
  output: sum(spans.map((span) => tokensOf(span).output)),
});
const spansOf = (traces: readonly CorpusTrace[]): CorpusSpan[] => traces.flatMap(({ spans }) => [...spans]);
const figuresOf = (traces: readonly CorpusTrace[], spans: readonly CorpusSpan[] = spansOf(traces)) => ({
  traces: traces.length,
  failed: traces.filter(isFailed).length,
  ...spent(spans),
});

const isOfCalls = (grouping: Grouping): grouping is (typeof callGroupings)[number] =>
  callGroupings.some((one) => one === grouping);
const traceKeyOf = (trace: CorpusTrace, grouping: (typeof traceGroupings)[number]): string | undefined => {
  const root = rootOf(trace);
  if (root === undefined) return undefined;
  if (grouping === 'status') return statusOf(root);
  return grouping === 'name' ? root.name : root.correlation[grouping];
};

/** The groups of a summary: calls' groups hold the traces that have such a span, and what those spans alone used. */
const groupsBy = (grouping: Grouping): Map<string | undefined, { traces: CorpusTrace[]; spans: CorpusSpan[] }> => {
  const groups = new Map<string | undefined, { traces: CorpusTrace[]; spans: CorpusSpan[] }>();
  const groupAt = (key: string | undefined) => {
    const group = groups.get(key) ?? { traces: [], spans: [] };
    groups.set(key, group);
    return group;
  };
  for (const trace of corpus) {
    if (!isOfCalls(grouping)) {
      const group = groupAt(traceKeyOf(trace, grouping));
      group.traces.push(trace);
      group.spans.push(...trace.spans);
      continue;
    }
    for (const span of trace.spans) {
      const key = keysOf(span)[grouping];
      if (key === undefined) continue;
      const group = groupAt(key);
      if (!group.traces.includes(trace)) group.traces.push(trace);
      group.spans.push(span);
    }
  }
  return groups;
};

describe('the trace list', () => {
  it('tells of each trace what its spans add up to', async () => {
    const byId = new Map((await listed({ project: 'default' })).map((trace) => [trace.trace_id, trace]));
    expect(byId.size).toBe(corpus.length);
    for (const trace of corpus) {
      const root = rootOf(trace);
      const { cost, input, output } = spent(trace.spans);
      const duration = durationOf(trace);
      expect(byId.get(trace.traceId)).toMatchObject({
        name: root?.name,
        status: root === undefined ? undefined : statusOf(root),
        span_count: trace.spans.length,
        error_count: trace.spans.filter(({ status }) => status === 'error').length,
        duration_ns: duration === undefined ? null : duration * 1e6,
        models: [...new Set(trace.spans.flatMap(({ model }) => model ?? []))].sort(),
        ...(cost === undefined ? {} : { cost: { total_cost: near(cost), currency: 'USD' } }),
        ...(input + output === 0 ? {} : { usage: { input_tokens: input, output_tokens: output } }),
      });
      if (cost === undefined) expect(byId.get(trace.traceId)).not.toHaveProperty('cost');
    }
  });

  it.each([
    ['status=error', { status: 'error' }, (trace: CorpusTrace) => isFailed(trace)],
    ['has_error', { has_error: 'true' }, (trace: CorpusTrace) => trace.spans.some(({ status }) => status === 'error')],
    ['user_id', { user_id: 'ada' }, (trace: CorpusTrace) => rootOf(trace)?.correlation.user_id === 'ada'],
    [
      'model',
      { model: 'gpt-4o-mini-2024-07-18' },
      (trace: CorpusTrace) => trace.spans.some(({ model }) => model === 'gpt-4o-mini-2024-07-18'),
    ],
    ['min_cost', { min_cost: '0.005' }, (trace: CorpusTrace) => (spent(trace.spans).cost ?? 0) >= 0.005],
  ] as const)('finds by %s the traces that are so, and no other', async (_name, query, holds) => {
    const wanted = corpus.filter(holds).map(({ traceId }) => traceId);
    expect(wanted.length).toBeGreaterThan(0);
    const found = await listed({ project: 'default', ...query });
    expect(found).toHaveLength(wanted.length);
    expect(new Set(found.map((one) => one.trace_id))).toEqual(new Set(wanted));
  });
});

describe('the summary', () => {
  it('adds up to what all traces of the window do', async () => {
    const { cost, ...all } = figuresOf(corpus);
    expect(await get('analytics/summary', { project: 'default' })).toMatchObject({
      trace_count: all.traces,
      error_count: all.failed,
      error_rate: near(all.failed / all.traces),
      cancelled_count: 0,
      total_cost: near(cost),
      input_tokens: all.input,
      output_tokens: all.output,
      currency: 'USD',
      latency: latencyOf(durationsOf(corpus)),
    });
  });

  it.each([...callGroupings, ...traceGroupings])('by %s, each group has its own figures', async (grouping) => {
    const { groups } = await get('analytics/summary', { project: 'default', group_by: grouping });
    const expected = groupsBy(grouping);
    expect(new Set(groups.map(({ key }: Free) => key))).toEqual(new Set(expected.keys()));
    for (const group of groups) {
      const { traces = [], spans = [] } = expected.get(group.key) ?? {};
      const { cost, ...own } = figuresOf(traces, spans);
      expect(group, String(group.key)).toMatchObject({
        trace_count: own.traces,
        error_count: own.failed,
        input_tokens: own.input,
        output_tokens: own.output,
        ...(cost === undefined ? {} : { total_cost: near(cost) }),
        ...(durationsOf(traces).length === 0 ? {} : { latency: latencyOf(durationsOf(traces)) }),
      });
      if (cost === undefined) expect(group).not.toHaveProperty('total_cost');
    }
  });
});

describe('the report of costs', () => {
  /** Calls that have a cost, and calls of a model of the book that have ended or failed. */
  const isCounted = (span: CorpusSpan): boolean =>
    costOf(span) !== undefined ||
    (span.kind === 'model_generation' && isInBook(span) && (span.end_time !== undefined || span.status === 'error'));

  it.each(callGroupings)('by %s, each group of calls has its own count, failures and cost', async (grouping) => {
    const { groups, total_cost: total } = await get('analytics/cost', { project: 'default', group_by: grouping });
    const calls = Map.groupBy(spansOf(corpus).filter(isCounted), (span) => keysOf(span)[grouping]);
    expect(total).toEqual(near(spent(spansOf(corpus)).cost));
    expect(new Set(groups.map(({ key }: Free) => key))).toEqual(new Set(calls.keys()));
    for (const group of groups) {
      const own = calls.get(group.key) ?? [];
      const { cost, input, output } = spent(own);
      expect(group, String(group.key)).toMatchObject({
        count: own.length,
        error_count: own.filter(({ status }) => status === 'error').length,
        input_tokens: input,
        output_tokens: output,
        ...(cost === undefined ? {} : { total_cost: near(cost) }),
      });
      if (cost === undefined) expect(group).not.toHaveProperty('total_cost');
    }
  });

  it.each(traceGroupings)('by %s, each group of traces has its own count, failures and cost', async (grouping) => {
    const { groups, total_cost: total } = await get('analytics/cost', { project: 'default', group_by: grouping });
    expect(total).toEqual(near(spent(spansOf(corpus)).cost));
    const expected = groupsBy(grouping);
    expect(new Set(groups.map(({ key }: Free) => key))).toEqual(new Set(expected.keys()));
    for (const group of groups) {
      const { cost, ...own } = figuresOf(expected.get(group.key)?.traces ?? []);
      expect(group, String(group.key)).toMatchObject({ count: own.traces, error_count: own.failed });
      expect(group.total_cost).toEqual(near(cost));
    }
  });
});

describe('MCP', () => {
  const ask = (args: object): Promise<string> => runStats(client, {}, runStatsInput({}).parse(args));
  const spentText = ({ cost, input, output }: ReturnType<typeof spent>): string[] => [
    cost === undefined ? 'no cost' : money(Number(cost.toPrecision(12))),
    `${count(input)} in, ${count(output)} out tokens`,
  ];
  const tracesText = (traces: number, failed: number): string[] => [
    counted(traces, 'trace'),
    `${count(failed)} failed (${percent(failed / traces)})`,
  ];

  it('run_stats tells the totals of the summary', async () => {
    const all = figuresOf(corpus);
    expect(await ask({ project: 'default' })).toContain(
      [...tracesText(all.traces, all.failed), ...spentText(all)].join(', '),
    );
  });

  it.each([
    ['model', 'model'],
    ['name', 'name'],
    ['status', 'status'],
    ['environment', 'environment'],
    ['user', 'user_id'],
  ] as const)('run_stats by %s has one line a group, with its own cost and tokens', async (groupBy, grouping) => {
    const lines = (await ask({ project: 'default', group_by: groupBy })).split('\n').slice(3);
    const groups = groupsBy(grouping);
    expect(lines.filter((line) => !line.startsWith('by ') && !line.startsWith('  '))).toHaveLength(groups.size);
    for (const [key, { traces, spans }] of groups) {
      const own = figuresOf(traces, spans);
      const cells = [key ?? `(no ${groupBy})`, ...tracesText(own.traces, own.failed), ...spentText(own)];
      const line = lines.find((one) => one.split(/ {2,}/)[0] === cells[0]);
      expect(line?.split(/ {2,}/).slice(0, cells.length)).toEqual(cells);
    }
  });

  it('find_runs with status error lists every trace with a failed span', async () => {
    const text = await findRuns(
      client,
      {},
      findRunsInput({}).parse({ project: 'default', status: 'error', limit: 100 }),
    );
    const found = text.split('\n').flatMap((line) => /^[0-9a-f]{32}/.exec(line)?.[0] ?? []);
    const wanted = corpus.filter(({ spans }) => spans.some(({ status }) => status === 'error'));
    expect(wanted.length).toBeLessThan(100);
    expect(found.sort()).toEqual(wanted.map(({ traceId }) => traceId).sort());
  });
});

/** A reading of a round that began when everything was stored: an earlier one may count as many runs, and other ones. */
const readAfterAll = (ones: readonly Free[], id: string): Free =>
  ones.find((one) => one.id === id && Date.parse(one.evaluated_at) > completeAt);

const readingOf = async (id: string): Promise<Free> =>
  eventually(`a reading of ${id}`, async () =>
    readAfterAll((await get('monitors', { project: id.split('-')[0] ?? '' })).monitors, id),
  );

const objectiveOf = async (id: string): Promise<Free> =>
  eventually(`a reading of the objective ${id}`, async () =>
    readAfterAll((await get('slos', { project: id })).slos, id),
  );

describe('monitors and objectives', () => {
  it('read what the summary says', async () => {
    const all = figuresOf(corpus);
    const durations = durationsOf(corpus);
    const p95 = durations.toSorted((a, b) => a - b)[Math.ceil(0.95 * durations.length) - 1];
    const [samples, failed] = [all.traces, all.failed / all.traces];
    expect(await readingOf('default-error_rate')).toMatchObject({ samples, value: near(failed) });
    expect(await readingOf('default-cost')).toMatchObject({ samples, value: near(all.cost) });
    expect(await readingOf('default-trace_count')).toMatchObject({ samples, value: all.traces });
    expect(await readingOf('default-latency_p95')).toMatchObject({ samples: durations.length, value: near(p95) });
    expect(await objectiveOf('default')).toMatchObject({ samples, success_rate: near(1 - failed) });
  });
});

describe('durable runs: three succeeded, three failed, three cancelled', () => {
  it('a cancelled one is counted, and is in no rate, wherever one looks', async () => {
    expect(await get('analytics/summary', { project: 'workflows' })).toMatchObject({
      ...{ trace_count: 9, error_count: 3, cancelled_count: 3, error_rate: 0.5 },
    });
    const traces = await listed({ project: 'workflows' });
    expect(traces.filter(({ cancelled }) => cancelled === true).map(({ status }) => status)).toEqual(
      Array.from({ length: 3 }, () => 'unset'),
    );
    expect(await runStats(client, {}, runStatsInput({}).parse({ project: 'workflows' }))).toContain(
      '9 traces, 3 failed (50.0%), 3 cancelled',
    );
    expect(await readingOf('workflows-error_rate')).toMatchObject({ samples: 6, value: 0.5 });
    expect(await readingOf('workflows-trace_count')).toMatchObject({ samples: 9, value: 9 });
    expect(await objectiveOf('workflows')).toMatchObject({ samples: 6, success_rate: 0.5 });
  });

  it('its numbers are those of its trace, and of the project', async () => {
    const { runs } = await get('runs', { project: 'workflows', limit: '20' });
    expect(runs).toHaveLength(9);
    for (const run of runs) {
      const { trace } = await get(`traces/${run.trace_id}`);
      expect(trace.usage?.total_tokens ?? 0).toBe(run.usage.total_tokens);
      expect(trace.cost?.total_cost).toBe(run.cost?.total_cost);
    }
    const used = reporting.flatMap(usageOf);
    const input = sum(used.map((one) => one.input_tokens));
    const output = sum(used.map((one) => one.output_tokens));
    const cost = sum(reporting.map((n) => (n === 3 ? 0 : ((1000 + n) * 2 + 10 * n * 8) / 1e6)));
    expect(sum(runs.map((run: Free) => run.usage.total_tokens))).toBe(input + output);
    expect(await get('analytics/summary', { project: 'workflows' })).toMatchObject({
      ...{ input_tokens: input, output_tokens: output, total_cost: near(cost) },
    });
    const { groups } = await get('analytics/cost', { project: 'workflows', group_by: 'model' });
    expect(groups).toMatchObject([{ key: 'gpt-4.1', count: reporting.length, total_cost: near(cost) }]);
    expect(await readingOf('workflows-cost')).toMatchObject({ samples: 9, value: near(cost) });
  });
});
