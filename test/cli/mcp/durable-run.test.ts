import { describe, expect, it } from 'vitest';
import { DaemonError } from '../../../src/cli/daemon-client.ts';
import { durableRunLines } from '../../../src/cli/mcp/durable-run.ts';
import { findRuns, findRunsInput } from '../../../src/cli/mcp/find-runs.ts';
import { getRun, getRunInput } from '../../../src/cli/mcp/get-run.ts';
import { waitEventLines } from '../../../src/cli/mcp/wait-events.ts';
import { aDetail, anAttempt, aRun, aService, aSpan, RUN_ID, RUN_SPAN_ID, TRACE_ID } from './a-service.ts';

const NOW = Date.parse('2026-11-20T09:10:00Z');
const textOf = (run: Parameters<typeof durableRunLines>[0]): string => durableRunLines(run, NOW).join('\n');
const broke = { class: 'retryable', code: 'E_DOWN', message: 'the bank is down' };

describe('how a durable run stands', () => {
  it('names its definition, its status, its step and its trace', () => {
    expect(textOf(aRun({ status: 'running', cursor: 'pay' })).split('\n')[0]).toBe(
      `Durable run ${RUN_ID}: refund version 3; running; at step pay; started 2026-11-20T09:00:00Z; trace ${TRACE_ID}`,
    );
  });

  it('says what it spent, and what it spent with the runs below it', () => {
    const usage = { input_tokens: 90, output_tokens: 10, total_tokens: 100 };
    const spent = (fields: Parameters<typeof aRun>[0]) => textOf(aRun(fields)).split('\n')[0];
    expect(spent({ usage: { ...usage, cost: 0.5 } })).not.toContain('below it');
    const tree = { ...usage, total_tokens: 1100 };
    expect(spent({ usage: { ...usage, cost: 0.5 }, tree_usage: { ...tree, cost: 2.5 } })).toContain(
      '; $0.50; with the runs below it $2.50 and 1,100 tokens; trace ',
    );
    expect(spent({ usage, tree_usage: tree })).toContain('; with the runs below it 1,100 tokens; trace ');
  });

  it.each([
    [
      'an event',
      aRun({
        ...{ status: 'waiting', cursor: 'approve' },
        waits: [
          {
            ...{ event: 'approved', key: 't-1', step_id: 'approve' },
            ...{ since: '2026-11-20T09:00:05Z', deadline_at: '2026-11-20T11:10:00Z' },
          },
        ],
        timers: [{ name: 'wait', step_id: 'approve', due_at: '2026-11-20T11:10:00Z' }],
      }),
      '  event "approved" with key "t-1" at step approve, since 2026-11-20T09:00:05Z, until 2026-11-20T11:10:00Z (in 2h0m)',
    ],
    [
      'an event without a deadline',
      aRun({
        status: 'waiting',
        waits: [{ event: 'approved', key: 't-1', step_id: 'approve', since: '2026-11-20T09:00:05Z' }],
      }),
      '  event "approved" with key "t-1" at step approve, since 2026-11-20T09:00:05Z, without an end',
    ],
    [
      'somebody, as it is paused',
      aRun({ status: 'paused', cursor: 'pay' }),
      '  somebody to resume it: it is paused, and what falls due or comes meanwhile acts then',
    ],
    [
      'somebody, as its definition is paused',
      aRun({ status: 'queued', queued_reason: 'definition_paused' }),
      '  somebody to resume its definition refund, which is paused',
    ],
    [
      'its start',
      aRun({ status: 'scheduled', timers: [{ name: 'start_at', due_at: '2026-11-20T09:11:00Z' }] }),
      '  its start, until 2026-11-20T09:11:00Z (in 1m0s)',
    ],
    [
      'a sleep',
      aRun({ status: 'waiting', timers: [{ name: 'sleep', step_id: 'nap', due_at: '2026-11-20T09:10:30Z' }] }),
      '  a sleep at step nap, until 2026-11-20T09:10:30Z (in 30.0s)',
    ],
    [
      'the next attempt, and why there is one',
      aRun({
        status: 'waiting',
        attempts: [anAttempt('pay', 1, { status: 'failed', error: broke })],
        timers: [{ name: 'backoff', step_id: 'pay', due_at: '2026-11-20T09:11:00Z' }],
      }),
      '  the next attempt at step pay, until 2026-11-20T09:11:00Z (in 1m0s); attempt 1 failed: retryable (E_DOWN): the bank is down',
    ],
    [
      'its children',
      aRun({
        status: 'waiting',
        children: [
          {
            ...{ run_id: 'c-1', definition_id: 'ship', definition_version: 1, step_id: 'fan', visit: 1, index: 0 },
            status: 'running',
          },
          {
            ...{ run_id: 'c-2', definition_id: 'ship', definition_version: 1, step_id: 'fan', visit: 1, index: 1 },
            status: 'succeeded',
          },
        ],
      }),
      '  child run c-1 of step fan: ship version 1, running',
    ],
    [
      'a worker',
      aRun({ status: 'queued', cursor: 'pay', queued_reason: 'no_worker' }),
      '  a worker at step pay (no worker)',
    ],
  ])('says what it waits for, and until when: %s', (_what, run, line) => {
    const lines = textOf(run).split('\n');
    expect(lines.slice(lines.indexOf('Waits for:') + 1)[0]).toBe(line);
    expect(lines.filter((one) => one.startsWith('  ') && !one.includes('visit'))).toEqual([line]);
  });

  it('a run that waits for nothing says nothing of waits', () => {
    const timers = [{ name: 'run_timeout', due_at: '2026-11-20T11:10:00Z' }];
    expect(textOf(aRun({ timers }))).not.toContain('Waits for');
  });

  it('the failing step is the one that failed the run, never an attempt that was retried', () => {
    const text = textOf(
      aRun({
        status: 'failed',
        error: { class: 'fatal', message: 'no such account', step_id: 'pay' },
        attempts: [
          anAttempt('look', 1, { status: 'failed', error: broke }),
          anAttempt('look', 2),
          anAttempt('pay', 1, { status: 'orphaned' }),
          anAttempt('pay', 2, { status: 'failed', error: { class: 'fatal', message: 'no such account' } }),
        ],
      }),
    );
    expect(text).toContain('Run failed at: pay, visit 1, attempt 2\nReason: fatal: no such account\n');
    expect(text).toContain(
      'Attempts that failed and did not fail the run (retried, or handled by on_error):\n' +
        '  look, visit 1, attempt 1: retryable (E_DOWN): the bank is down\n' +
        '  pay, visit 1, attempt 1: orphaned\n',
    );
  });

  it.each(['succeeded', 'cancelled', 'running'] as const)('no step failed a run that is %s', (status) => {
    const attempts = [anAttempt('pay', 1, { status: 'failed', error: broke }), anAttempt('pay', 2)];
    const text = textOf(aRun({ status, attempts }));
    expect(text).toContain('No step failed the run.');
    expect(text).not.toContain('Run failed at');
  });

  it('a child that failed says why, and at which of its steps, whatever became of the run', () => {
    const aChild = (index: number, more: object) => ({
      ...{ run_id: `c-${index}`, definition_id: 'ship', definition_version: 1, step_id: 'fan', visit: 2, index },
      status: 'failed' as const,
      ...more,
    });
    const text = textOf(
      aRun({
        status: 'succeeded',
        children: [
          aChild(0, { error: { class: 'fatal', code: 'lost', message: 'no parcel\nat all', step_id: 'pack' } }),
          aChild(1, { status: 'succeeded' }),
          aChild(2, { error: { class: 'limit', message: 'too old', limit: 'run_timeout_ms' } }),
        ],
      }),
    );
    expect(text).toContain(
      'Child runs that failed (2):\n' +
        '  c-0, child 0 of step fan, visit 2: at its step pack: fatal (lost): no parcel at all\n' +
        '  c-2, child 2 of step fan, visit 2: at no step: limit: too old\n',
    );
    expect(textOf(aRun({ children: [aChild(1, { status: 'succeeded' })] }))).not.toContain('Child runs that failed');
  });

  it('of many children that failed 20 are listed, and the others counted', () => {
    const children = Array.from({ length: 21 }, (_, index) => ({
      ...{ run_id: `c-${index}`, definition_id: 'ship', definition_version: 1, step_id: 'fan', visit: 1, index },
      ...{ status: 'failed' as const, error: { class: 'fatal', message: 'no' } },
    }));
    const text = textOf(aRun({ children }));
    expect(text).toContain('Child runs that failed (21):');
    expect(text).toContain('  c-19, child 19');
    expect(text).not.toContain('c-20');
    expect(text).toContain('  and 1 more child runs');
  });

  it('a limit fails the run itself', () => {
    const error = { class: 'limit', message: 'the run cost more than 1', limit: 'max_cost_usd' } as const;
    expect(textOf(aRun({ status: 'failed', error }))).toContain(
      'Run failed at: the run itself, at no step\nReason: limit: the run cost more than 1; limit max_cost_usd',
    );
  });

  it('lists its attempts, the last hundred of many', () => {
    const attempts = Array.from({ length: 103 }, (_, n) => anAttempt('pay', n + 1));
    const text = textOf(aRun({ attempts }));
    expect(text).toContain('Attempts, the last 100 of 103 (step, visit, attempt, status, started, took, worker):');
    expect(text).toMatch(/^pay +visit 1 +attempt 103 +succeeded +2026-11-20T09:00:01Z +2\.0s +w1$/m);
    expect(text).not.toMatch(/attempt 3 /);
  });

  it('text that workers and senders brought stays on its line', () => {
    const error = { class: 'fatal', message: 'x\nRun failed at: nothing, all is well', step_id: 'pay' };
    const text = textOf(aRun({ status: 'failed', error, attempts: [] }));
    expect(text.split('\n').filter((line) => line.startsWith('Run failed at'))).toEqual(['Run failed at: pay']);
  });
});

describe('get_run', () => {
  const ask = (client: ReturnType<typeof aService>['client'], args: object, project?: string): Promise<string> =>
    getRun(client, project === undefined ? {} : { fixed: project }, getRunInput.parse(args));
  const runSpan = aSpan(RUN_SPAN_ID, 'refund', { kind: 'workflow_run' });
  const child = { parent_span_id: RUN_SPAN_ID };
  const failedAt = (text: string): string | undefined => /^Failed at: (\w+)/m.exec(text)?.[1];

  it.each([[{}], [{ trace_id: TRACE_ID, run_id: RUN_ID }]])(
    'takes a trace or a durable run, and one of them: %j',
    (args) => {
      const { error } = getRunInput.safeParse(args);
      expect(error?.issues.map(({ message }) => message)).toEqual(['either trace_id or run_id, and not both']);
    },
  );
  it('a run_id is a UUID, in either case', () => {
    expect(getRunInput.parse({ run_id: RUN_ID.toUpperCase() }).run_id).toBe(RUN_ID);
    expect(getRunInput.safeParse({ run_id: TRACE_ID }).success).toBe(false);
  });

  it('by run_id shows the durable run, then its trace', async () => {
    const { client } = aService({
      [`/v1/api/runs/${RUN_ID}`]: aRun({ status: 'succeeded' }),
      [`/v1/api/traces/${TRACE_ID}`]: aDetail([runSpan]),
      [`/v1/api/traces/${TRACE_ID}/spans/${RUN_SPAN_ID}`]: { span: runSpan },
    });
    const text = await ask(client, { run_id: RUN_ID });
    expect(text.indexOf(`Durable run ${RUN_ID}`)).toBe(0);
    expect(text.indexOf(`Trace ${TRACE_ID}: refund`)).toBeGreaterThan(0);
  });

  it('a trace of a durable run is told with its run; of other runs nothing is asked', async () => {
    const answers = {
      [`/v1/api/runs/${RUN_ID}`]: aRun(),
      [`/v1/api/traces/${TRACE_ID}/spans/${RUN_SPAN_ID}`]: { span: runSpan },
    };
    const own = { correlation: { project: 'default', run_id: RUN_ID } };
    const durable = aService({ ...answers, [`/v1/api/traces/${TRACE_ID}`]: aDetail([runSpan], own) });
    expect(await ask(durable.client, { trace_id: TRACE_ID })).toContain(`Durable run ${RUN_ID}`);
    const other = { correlation: { project: 'default', run_id: 'ci-4711' } };
    const agent = aSpan('1'.repeat(16), 'agent', { kind: 'agent_run' });
    const sent = aService({
      [`/v1/api/traces/${TRACE_ID}`]: aDetail([agent], other),
      [`/v1/api/traces/${TRACE_ID}/spans/${'1'.repeat(16)}`]: { span: agent },
    });
    expect(await ask(sent.client, { trace_id: TRACE_ID })).not.toContain('Durable run');
    expect(sent.asked.map(({ path }) => path).filter((path) => path.startsWith('/v1/api/runs'))).toEqual([]);
  });

  it('a trace is shown where durable runs are off, or the run is kept no longer', async () => {
    const own = { correlation: { project: 'default', run_id: RUN_ID } };
    const answers = {
      [`/v1/api/traces/${TRACE_ID}`]: aDetail([runSpan], own),
      [`/v1/api/traces/${TRACE_ID}/spans/${RUN_SPAN_ID}`]: { span: runSpan },
    };
    const off = new DaemonError('runs_disabled: durable runs are disabled', { code: 'runs_disabled' });
    for (const more of [{}, { [`/v1/api/runs/${RUN_ID}`]: off }])
      expect(await ask(aService({ ...answers, ...more }).client, { trace_id: TRACE_ID })).toMatch(/^Trace /);
  });

  it('a durable run is shown before its trace is stored', async () => {
    const text = await ask(aService({ [`/v1/api/runs/${RUN_ID}`]: aRun() }).client, { run_id: RUN_ID });
    expect(text).toContain('refund version 3; running');
    expect(text).toContain('Its trace is not stored.');
  });

  it('is fenced by the project', async () => {
    const { client } = aService({ [`/v1/api/runs/${RUN_ID}`]: aRun({ project: 'shop' }) });
    await expect(ask(client, { run_id: RUN_ID }, 'default')).rejects.toThrow(/is not of project default/);
  });

  const retried = aSpan('a'.repeat(16), 'look', {
    ...{ ...child, status: 'error', error: { message: 'down for a moment' } },
    ...{ start_time: '2026-11-20T09:00:01Z', end_time: '2026-11-20T09:00:02Z' },
  });
  const fatal = aSpan('b'.repeat(16), 'pay', {
    ...{ ...child, status: 'error', error: { message: 'no such account' } },
    ...{ start_time: '2026-11-20T09:00:03Z', end_time: '2026-11-20T09:00:04Z' },
  });
  const inside = aSpan('c'.repeat(16), 'charge', {
    ...{
      parent_span_id: 'b'.repeat(16),
      kind: 'tool_call',
      status: 'error',
      error: { message: 'account 17 is closed' },
    },
    ...{ start_time: '2026-11-20T09:00:03Z', end_time: '2026-11-20T09:00:04Z' },
  });
  const failedRun = aSpan(RUN_SPAN_ID, 'refund', {
    kind: 'workflow_run',
    status: 'error',
    error: { message: 'no such account' },
  });
  const traceOf = (...spans: Parameters<typeof aDetail>[0]) => ({
    [`/v1/api/traces/${TRACE_ID}`]: aDetail(spans, { correlation: { project: 'default', run_id: RUN_ID } }),
    ...Object.fromEntries(spans.map((span) => [`/v1/api/traces/${TRACE_ID}/spans/${span.span_id}`, { span }])),
  });

  it.each([
    [
      'by what the run says',
      {
        [`/v1/api/runs/${RUN_ID}`]: aRun({
          status: 'failed',
          error: { class: 'fatal', message: 'no such account', step_id: 'pay' },
          attempts: [
            anAttempt('look', 1, { status: 'failed', span_id: retried.span_id }),
            anAttempt('look', 2),
            anAttempt('pay', 1, { status: 'failed', span_id: fatal.span_id }),
          ],
        }),
      },
    ],
    ['by its spans, where the run is kept no longer', {}],
  ])('the failing step of a durable run is the one that failed it, %s', async (_how, run) => {
    const text = await ask(aService({ ...traceOf(failedRun, retried, fatal, inside), ...run }).client, {
      trace_id: TRACE_ID,
    });
    expect(failedAt(text)).toBe('charge');
    expect(text).toContain('Path: refund > pay > charge');
    expect(text).toContain('Failed as well, or retried or handled: look (down for a moment)');
  });

  it('an attempt that was retried is not where a run failed that went well', async () => {
    const text = await ask(aService(traceOf(runSpan, retried)).client, { trace_id: TRACE_ID });
    expect(failedAt(text)).toBeUndefined();
    expect(text).toContain('No step failed the durable run.\nFailed, and retried or handled: look (down for a moment)');
  });

  it('a trace that ended well with a failed span inside says both', async () => {
    const agent = aSpan('1'.repeat(16), 'agent', { kind: 'agent_run' });
    const tool = aSpan('2'.repeat(16), 'search', {
      parent_span_id: '1'.repeat(16),
      kind: 'tool_call',
      status: 'error',
    });
    const text = await ask(aService(traceOf(agent, tool)).client, { trace_id: TRACE_ID });
    expect(failedAt(text)).toBe('search');
    expect(text).toContain('The trace itself ended ok.');
  });

  it('shows the waits, sleeps and backoffs that the run has behind it', async () => {
    const events = [
      {
        name: 'wait.opened',
        time: '2026-11-20T09:00:03Z',
        attributes: {
          step_id: 'approve',
          visit: 1,
          kind: 'event',
          event: 'approved',
          key: 't-1',
          due_at: '2026-11-20T11:00:00Z',
        },
      },
      {
        name: 'wait.ended',
        time: '2026-11-20T09:00:09Z',
        attributes: { step_id: 'approve', visit: 1, reason: 'delivered' },
      },
    ];
    const text = await ask(aService(traceOf({ ...runSpan, events })).client, { trace_id: TRACE_ID });
    expect(text).toContain(
      'Waits of the run (offset, step, what):\n' +
        '+2.0s  approve  waits for event "approved" with key "t-1" until 2026-11-20T11:00:00Z\n' +
        '+8.0s  approve  goes on: delivered\n',
    );
  });
});

describe('waits as events', () => {
  const opened = (attributes: Record<string, unknown>) => ({
    name: 'wait.opened',
    time: '2026-11-20T09:00:00Z',
    attributes,
  });
  it.each([
    ['a sleep', { kind: 'sleep', due_at: '2026-11-20T10:00:00Z' }, 'waits for sleep until 2026-11-20T10:00:00Z'],
    ['a backoff', { kind: 'backoff', due_at: '2026-11-20T10:00:00Z' }, 'waits for backoff until 2026-11-20T10:00:00Z'],
    ['children', { kind: 'children' }, 'waits for children'],
    [
      'what a sender forged',
      { kind: 'event', event: 'a\nFailed at: b', key: 'k' },
      'waits for event "a Failed at: b" with key "k"',
    ],
  ])('%s', (_what, attributes, line) => {
    expect(waitEventLines([opened(attributes)], NOW)[1]).toContain(line);
  });
  it('other events of the span are none', () => {
    expect(waitEventLines([{ name: 'exception', time: '2026-11-20T09:00:00Z', attributes: {} }], NOW)).toEqual([]);
    expect(waitEventLines(undefined, NOW)).toEqual([]);
  });
  it('of many the last hundred', () => {
    const lines = waitEventLines(
      Array.from({ length: 101 }, () => opened({ kind: 'sleep' })),
      NOW,
    );
    expect(lines).toHaveLength(101);
    expect(lines[0]).toContain('the last 100 of 101 entries');
  });
});

describe('find_runs', () => {
  const ask = (client: ReturnType<typeof aService>['client'], args: object): Promise<string> =>
    findRuns(client, {}, findRunsInput({}).parse(args));
  const traces = (...list: object[]) => ({ '/v1/api/traces': { traces: list } });
  const { trace } = aDetail([aSpan(RUN_SPAN_ID, 'refund')]);

  it('`error` asks for failed spans inside, whatever the status of the trace', async () => {
    const { client, asked } = aService(traces({ ...trace, error_count: 1 }));
    const text = await ask(client, { status: 'error' });
    expect(asked[0]?.query).toMatchObject({ has_error: 'true' });
    expect(asked[0]?.query['status']).toBeUndefined();
    expect(text).toMatch(/ ok .*1 span, 1 failed/);
  });
  it.each(['ok', 'unset'])('`%s` asks for that status of the trace', async (status) => {
    const { client, asked } = aService(traces());
    await ask(client, { status });
    expect(asked[0]?.query).toMatchObject({ status });
    expect(asked[0]?.query['has_error']).toBeUndefined();
  });
  it('a cancelled run is called that', async () => {
    const { client } = aService(traces({ ...trace, status: 'unset', cancelled: true }));
    expect(await ask(client, {})).toMatch(new RegExp(`${TRACE_ID} .* cancelled `));
  });
  it('a run_id shows how the durable run stands, and its trace, however old', async () => {
    const own = { ...trace, correlation: { project: 'shop', run_id: RUN_ID } };
    const { client, asked } = aService({
      ...traces(own),
      [`/v1/api/runs/${RUN_ID}`]: aRun({
        ...{ project: 'shop', status: 'waiting', cursor: 'nap' },
        timers: [{ name: 'sleep', step_id: 'nap', due_at: '2026-11-20T10:00:00Z' }],
      }),
    });
    const text = await ask(client, { run_id: RUN_ID });
    expect(text).toMatch(/^Durable run \S+: refund version 3; waiting; at step nap;/);
    expect(text).toContain('a sleep at step nap, until 2026-11-20T10:00:00Z');
    expect(text).toContain(`1 trace of all time, project shop`);
    expect(text).toContain(`durable run ${RUN_ID}`);
    expect(asked.at(-1)?.query).toMatchObject({ run_id: RUN_ID, project: 'shop' });
    expect(asked.at(-1)?.query['from']).toBeUndefined();
  });
  it('a run_id of a sender finds its traces; no durable run is asked for', async () => {
    const { client, asked } = aService(traces({ ...trace, correlation: { project: 'default', run_id: 'ci-1' } }));
    expect(await ask(client, { run_id: 'ci-1', from: '-1h' })).toContain('run ci-1');
    expect(asked.map(({ path }) => path)).toEqual(['/v1/api/traces']);
    expect(asked[0]?.query).toMatchObject({ run_id: 'ci-1', from: '-1h' });
  });
});
