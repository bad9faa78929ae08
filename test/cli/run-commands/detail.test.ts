import { describe, expect, it } from 'vitest';
import { createMoments } from '../../../src/cli/moments.ts';
import { runText } from '../../../src/cli/run-commands/detail.ts';
import { runTable } from '../../../src/cli/run-commands/list.ts';
import { nextLines } from '../../../src/cli/run-commands/next.ts';
import { anAttempt, aRun, RUN_ID, TRACE_ID } from '../mcp/a-service.ts';

const NOW = Date.parse('2026-11-20T09:10:00Z');
const moments = createMoments(NOW, 'UTC');
const textOf = (run: Parameters<typeof runText>[0]): string => runText(run, moments);
const next = (run: Parameters<typeof nextLines>[0]): string[] => nextLines(run, moments);
/** The lines below a title, up to the next empty one. */
const below = (text: string, title: string): string[] => {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => line.startsWith(title));
  if (from === -1) return [];
  return lines.slice(from + 1, lines.indexOf('', from)).map((line) => line.trim());
};
const broke = { class: 'retryable', code: 'E_DOWN', message: 'the bank is down' };
const aChild = (n: number, status: 'queued' | 'running' | 'succeeded' | 'failed') => ({
  ...{ run_id: `c-${n}`, definition_id: 'ship', definition_version: 1, step_id: 'fan', visit: 1, index: n },
  status,
});

describe('svc runs <id>: what a run is', () => {
  it('names definition, status, step, project, times, cost, key, correlation and trace', () => {
    const run = aRun({
      ...{ status: 'running', cursor: 'pay', idempotency_key: 'order-17', parent_run_id: 'p-1' },
      correlation: { user_id: 'customer-7', tags: ['a', 'b'] },
      usage: { input_tokens: 1200, output_tokens: 300, total_tokens: 1500, cost: 0.00036 },
      cost: { total_cost: 0.00036, currency: 'USD', is_estimated: true },
    });
    const text = textOf(run);
    expect(text.split('\n')[0]).toBe(`Run ${RUN_ID} of refund version 3`);
    expect(below(text, 'Run ')).toEqual([
      'status       running at step pay',
      'project      default',
      'started      2026-11-20 09:00:00 (10 min ago)',
      'updated      2026-11-20 09:00:05 (10 min ago)',
      'parent       run p-1',
      'steps        2 entered',
      'cost         $0.00036; 1,200 in, 300 out tokens',
      'key          order-17',
      'correlation  user_id customer-7; tags a, b',
      `trace        ${TRACE_ID}`,
    ]);
    expect(text).toContain('\nTimes are those of UTC.\n');
  });

  it('an unknown cost is no zero', () => {
    expect(textOf(aRun())).toMatch(/^ {2}cost +none reported$/m);
    const usage = { input_tokens: 5, output_tokens: 6, total_tokens: 11 };
    expect(textOf(aRun({ usage }))).toMatch(/^ {2}cost +5 in, 6 out tokens, not priced$/m);
  });

  it('one that started others shows what all of them cost, beside its own', () => {
    const counts = (tokens: number) => ({ input_tokens: tokens, output_tokens: 0, total_tokens: tokens });
    const text = textOf(
      aRun({ tree_usage: counts(70), tree_cost: { total_cost: 0.5, currency: 'USD', is_estimated: true } }),
    );
    expect(text).toMatch(/^ {2}cost +none reported$/m);
    expect(text).toMatch(/^ {2}with its children +\$0\.50; 70 in, 0 out tokens$/m);
    expect(textOf(aRun())).not.toContain('with its children');
  });

  it('one that has ended says when, after how long, and what came of it', () => {
    const text = textOf(aRun({ status: 'succeeded', ended_at: '2026-11-20T09:01:00Z', output: { paid: true } }));
    expect(text).toMatch(/^ {2}ended +2026-11-20 09:01:00 \(9 min ago\), after 60 s$/m);
    expect(below(text, 'Output')).toEqual(['{"paid":true}']);
    expect(below(text, 'Next')).toEqual([]);
  });
});

describe('svc runs <id>: what it waits for and what happens next', () => {
  const since = '2026-11-20T09:00:05Z';
  const approval = { event: 'approved', key: 't-1', step_id: 'approve', since };

  it('an event: by which name and key, until when, and how to give it', () => {
    const run = aRun({
      status: 'waiting',
      waits: [{ ...approval, deadline_at: '2026-11-20T11:10:00Z' }],
      timers: [{ name: 'wait', step_id: 'approve', due_at: '2026-11-20T11:10:00Z' }],
    });
    expect(below(textOf(run), 'Waits for')).toEqual([
      'event "approved" with key "t-1" at step approve, since 2026-11-20 09:00:05 (10 min ago), until 2026-11-20 11:10:00 (in 2 h)',
    ]);
    expect(next(run)).toEqual([
      `on event "approved" the run goes on; to give it: svc runs signal ${RUN_ID} approved`,
      '2026-11-20 11:10:00 (in 2 h): the wait for event "approved" times out',
    ]);
  });

  it('an event without a deadline waits without an end; a name that a shell would read is not offered to be copied', () => {
    const run = aRun({ status: 'waiting', waits: [{ ...approval, event: 'a; rm -rf ~' }] });
    expect(below(textOf(run), 'Waits for')[0]).toMatch(/, without an end$/);
    expect(next(run)).toEqual([
      `on event "a; rm -rf ~" the run goes on; to give it: svc runs signal ${RUN_ID} <event>`,
    ]);
  });

  it('a sleep, until it is over', () => {
    const timers = [{ name: 'sleep', step_id: 'nap', due_at: '2026-11-20T09:14:00Z' }];
    const run = aRun({ status: 'waiting', timers });
    expect(below(textOf(run), 'Waits for')).toEqual(['a sleep at step nap, until 2026-11-20 09:14:00 (in 4 min)']);
    expect(next(run)).toEqual(['2026-11-20 09:14:00 (in 4 min): step nap has slept, and the run goes on']);
  });

  it('the next attempt, and why there is one', () => {
    const run = aRun({
      status: 'waiting',
      attempts: [anAttempt('pay', 1, { status: 'failed', error: broke })],
      timers: [{ name: 'backoff', step_id: 'pay', due_at: '2026-11-20T09:11:00Z' }],
    });
    expect(below(textOf(run), 'Waits for')).toEqual([
      'the next attempt at step pay, until 2026-11-20 09:11:00 (in 60 s); attempt 1 failed: retryable (E_DOWN): the bank is down',
    ]);
    expect(next(run)).toEqual(['2026-11-20 09:11:00 (in 60 s): attempt 2 of step pay is due']);
  });

  it('its children, of which those count that are open', () => {
    const run = aRun({
      status: 'waiting',
      children: [aChild(0, 'running'), aChild(1, 'succeeded'), aChild(2, 'queued')],
    });
    expect(below(textOf(run), 'Waits for')).toEqual([
      'child run c-0 of step fan: ship@1, running',
      'child run c-2 of step fan: ship@1, queued',
    ]);
    expect(next(run)).toEqual(['when the last of its 2 open child runs has ended, the run goes on']);
  });

  it.each([
    ['no_worker', 'nothing, until a worker starts that serves refund version 3: none is live'],
    [
      'version_missing',
      'nothing, until a worker starts that serves refund version 3: those that are live hold other versions, or refused it',
    ],
    ['workers_busy', 'the next free worker that serves refund version 3 takes step pay'],
  ] as const)('a worker, and why there is none: %s', (queued_reason, line) => {
    const run = aRun({ status: 'queued', cursor: 'pay', queued_reason });
    expect(below(textOf(run), 'Waits for')).toHaveLength(1);
    expect(next(run)).toEqual([line]);
  });

  it('a body that runs: its worker, its lease, its timeout and that of the run, in the order of their times', () => {
    const run = aRun({
      attempts: [anAttempt('pay', 1, { status: 'running', lease_expires_at: '2026-11-20T09:10:30Z' })],
      timers: [
        { name: 'run_timeout', due_at: '2026-11-20T10:00:00Z' },
        { name: 'timeout', step_id: 'pay', due_at: '2026-11-20T09:12:00Z' },
      ],
    });
    expect(next(run)).toEqual([
      'worker w1 reports how step pay ended',
      '2026-11-20 09:10:30 (in 30 s): without a heartbeat of it the lease of step pay expires',
      '2026-11-20 09:12:00 (in 2 min): step pay times out, unless its worker reports before',
      '2026-11-20 10:00:00 (in 50 min): the run fails with limit run_timeout_ms, unless it has ended before',
    ]);
  });
});

describe('svc runs <id>: what failed', () => {
  it('names the attempt that failed the run, never one that was retried', () => {
    const text = textOf(
      aRun({
        status: 'failed',
        error: { class: 'fatal', message: 'no such account', step_id: 'pay' },
        attempts: [
          anAttempt('look', 1, { status: 'failed', error: broke }),
          anAttempt('look', 2),
          anAttempt('pay', 1, { status: 'failed', error: { class: 'fatal', message: 'no such account' } }),
        ],
      }),
    );
    expect(below(text, 'Failed at')).toEqual(['step pay, visit 1, attempt 1', 'fatal: no such account']);
    expect(below(text, 'Attempts (3)')[1]).toMatch(
      /^look +1 +1 +failed +2026-11-20 09:00:01 +2\.0 s +w1 +retryable \(E_DOWN\): the bank is down$/,
    );
  });

  it('a limit fails the run itself', () => {
    const error = { class: 'limit', message: 'the run cost more than 1', limit: 'max_cost_usd' } as const;
    expect(below(textOf(aRun({ status: 'failed', error })), 'Failed at')).toEqual([
      'the run itself, at no step',
      'limit: the run cost more than 1',
      'limit max_cost_usd',
    ]);
  });

  it('shows the errors of children that failed, five of them', () => {
    const failed = (n: number) => ({
      ...aChild(n, 'failed'),
      error: { class: 'fatal', message: 'no stock', step_id: 'pick' },
    });
    const lines = (many: number): string[] => {
      const children = [aChild(0, 'succeeded'), ...Array.from({ length: many }, (_, n) => failed(n + 1))];
      return below(textOf(aRun({ children })), `Children (${many + 1})`);
    };
    expect(lines(1).slice(0, 2)).toEqual(['1 succeeded, 1 failed', 'run c-1 failed at step pick: fatal: no stock']);
    expect(lines(5)[6]).toMatch(/^RUN +DEFINITION/);
    expect(lines(6).slice(5, 7)).toEqual(['run c-5 failed at step pick: fatal: no stock', 'and 1 more failed']);
  });

  it('lists the last twenty attempts and counts the others', () => {
    const attempts = Array.from({ length: 21 }, (_, n) => anAttempt('pay', n + 1));
    expect(below(textOf(aRun({ attempts })), 'Attempts (21)')[0]).toBe('the last 20 of 21; --json has all');
    expect(below(textOf(aRun({ attempts: attempts.slice(1) })), 'Attempts (20)')[0]).toMatch(/^STEP +VISIT/);
  });
});

describe('text that workers and senders brought', () => {
  const hostile = 'x\u001b[2J\u202e\nFailed at';
  it('stays on its line, and no terminal obeys it', () => {
    const run = aRun({
      ...{ run_id: hostile, definition_id: hostile, project: hostile, cursor: hostile, idempotency_key: hostile },
      ...{ trace_id: hostile, parent_run_id: hostile, correlation: { user_id: hostile }, output: hostile },
      status: 'failed',
      error: { class: hostile, code: hostile, message: hostile, step_id: hostile },
      attempts: [anAttempt(hostile, 1, { status: 'running', worker_id: hostile, error: broke })],
      waits: [{ event: hostile, key: hostile, step_id: hostile, since: hostile }],
      timers: [{ name: hostile, step_id: hostile, due_at: hostile }],
      children: [
        {
          ...{ ...aChild(0, 'failed'), run_id: hostile, definition_id: hostile, step_id: hostile },
          error: { class: hostile, message: hostile, step_id: hostile },
        },
      ],
    });
    for (const text of [textOf(run), runTable([run], moments, true)]) {
      expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
      expect(text.split('\n').filter((line) => line.startsWith('Failed at')).length).toBeLessThan(2);
    }
  });
});
