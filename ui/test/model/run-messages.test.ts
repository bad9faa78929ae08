import { describe, expect, it } from 'vitest';
import type { components } from '../../src/api/types.ts';
import { leaseMessagesOf, type Message, messagesOf, sequenceAt } from '../../src/model/run-messages.ts';

type Entry = components['schemas']['JournalEntry'];
const AT = '2026-11-20T09:00:00Z';
type NewEntry = Omit<Entry, 'seq' | 'at' | 'data'> & { data?: Entry['data'] };
const journal = (...entries: readonly NewEntry[]): Entry[] =>
  entries.map((entry, seq) => ({ seq, at: AT, data: {}, ...entry }));
const arrows = (messages: readonly Message[]): string[] =>
  messages.map(({ seq, from, to, text, isBad }) => `${seq} ${from}>${to} ${text}${isBad === true ? ' !' : ''}`);

const pay = { step_id: 'pay', visit: 1, attempt: 1, lease_id: 'l1' } as const;

describe('the messages of a run', () => {
  it('are told by its journal: caller, key, lease, child, event, and what it notes of itself', () => {
    const entries = journal(
      { kind: 'run.started', data: { definition_id: 'refund', definition_version: 2 } },
      { kind: 'run.held', data: { reason: 'concurrency_key', key: 'ada', limit_id: 'k' } },
      { kind: 'run.admitted' },
      { kind: 'cursor.moved', step_id: 'pay', visit: 1 },
      { kind: 'step.leased', ...pay, worker_id: 'w' },
      { kind: 'step.started', ...pay },
      { kind: 'step.failed', ...pay, data: { will_retry: true, error: { class: 'retryable', message: 'busy' } } },
      { kind: 'step.requeued', step_id: 'pay', data: { reason: 'retry' } },
      { kind: 'step.leased', ...pay, attempt: 2, lease_id: 'l2', worker_id: 'w' },
      { kind: 'step.orphaned', ...pay, attempt: 2, lease_id: 'l2' },
      { kind: 'run.waiting', step_id: 'ask', data: { reason: 'event', event: 'approval', key: 'o-1' } },
      { kind: 'event.delivered', data: { event: 'approval', key: 'o-1' } },
      { kind: 'child.started', step_id: 'each', data: { run_id: 'r2', index: 0 } },
      { kind: 'child.finished', data: { run_id: 'r2', index: 0, status: 'failed', error: { message: 'no' } } },
      { kind: 'run.waiting', step_id: 'nap', data: { reason: 'sleep' } },
      { kind: 'run.resumed', data: { reason: 'timer' } },
      { kind: 'run.finished', data: { status: 'succeeded' } },
    );
    expect(arrows(messagesOf(entries))).toEqual([
      '0 outside>run starts refund@2',
      '1 run>keys needs ada',
      '2 keys>run room for ada',
      '4 run>leases offers pay to w',
      '5 leases>run started pay',
      '6 leases>run failed pay: busy !',
      '7 run>run queued again: retry',
      '8 run>leases offers pay, attempt 2 to w',
      '9 leases>run silent at pay, attempt 2 !',
      '10 run>run waits for approval o-1',
      '11 outside>run event approval o-1',
      '12 run>children starts child 0',
      '13 children>run child 0 failed: no !',
      '14 run>run sleeps',
      '15 run>run timer due',
      '16 run>outside succeeded',
    ]);
    expect(messagesOf(entries)[1]?.other).toEqual({ kind: 'limit', id: 'k' });
  });

  it('of one lease are between it, its worker and its run', () => {
    const other = { ...pay, attempt: 2, lease_id: 'l2' } as const;
    const failed = (name: string) => ({ will_retry: false, error: { class: name, message: 'no' } });
    const told = (...entries: readonly NewEntry[]): string[] => arrows(leaseMessagesOf(journal(...entries), 'l1'));
    expect(
      told(
        { kind: 'step.leased', ...pay, worker_id: 'w' },
        { kind: 'step.started', ...pay },
        { kind: 'step.leased', ...other, worker_id: 'v' },
        { kind: 'step.finished', ...pay },
        { kind: 'run.finished', lease_id: 'l1', data: { status: 'succeeded' } },
      ),
    ).toEqual([
      '0 run>lease needs pay',
      '0 lease>worker offered to w',
      '1 worker>lease started',
      '3 worker>lease complete',
      '3 lease>run finished pay',
    ]);
    expect(
      told({ kind: 'step.orphaned', ...pay }, { kind: 'step.requeued', ...pay, data: { reason: 'orphaned' } }),
    ).toEqual(['0 lease>lease no heartbeat in time !', '1 lease>run gives the step back: orphaned']);
    expect(
      told(
        { kind: 'step.failed', ...pay, data: failed('fatal') },
        { kind: 'step.requeued', ...pay, data: { reason: 'retry' } },
      ),
    ).toEqual(['0 worker>lease fail: no !', '0 lease>run failed pay: no !']);
    expect(told({ kind: 'step.failed', ...pay, data: failed('timeout') })[0]).toBe(
      '0 lease>lease ran longer than its step allows !',
    );
    expect(told({ kind: 'step.failed', ...pay, data: failed('orphaned') })[0]).toBe(
      '0 lease>lease its worker stayed silent !',
    );
  });

  it('of a child go from and to its parent', () => {
    const entries = journal(
      { kind: 'run.started', data: { definition_id: 'one', definition_version: 1, parent_run_id: 'r0' } },
      { kind: 'run.paused', data: { by: 'parent' } },
      { kind: 'run.unpaused' },
      { kind: 'run.finished', data: { status: 'cancelled' } },
    );
    expect(arrows(messagesOf(entries))).toEqual([
      '0 parent>run starts one@1',
      '1 parent>run pauses it',
      '2 parent>run resumes it',
      '3 run>parent cancelled',
    ]);
    expect(messagesOf(entries)[0]?.other).toEqual({ kind: 'run', id: 'r0' });
  });
});

describe('a sequence diagram', () => {
  const messages = messagesOf(
    journal(
      { kind: 'run.started', data: { definition_id: 'refund', definition_version: 2 } },
      { kind: 'cursor.moved', step_id: 'pay' },
      { kind: 'step.leased', ...pay },
      { kind: 'step.started', ...pay },
      { kind: 'step.finished', ...pay },
    ),
  );
  const drawnAt = (seq: number | undefined, most?: number) => {
    const { drawn, before, after } = sequenceAt(messages, seq, most);
    return [drawn.map((message) => message.seq), before, after];
  };

  it('draws what was said up to the moment of the slider, and the last of it where there is too much', () => {
    expect(drawnAt(undefined)).toEqual([[0, 2, 3, 4], 0, 0]);
    expect(drawnAt(3)).toEqual([[0, 2, 3], 0, 1]);
    // The entry before it is no message.
    expect(drawnAt(1)).toEqual([[0], 0, 3]);
    expect(drawnAt(4, 4)).toEqual([[0, 2, 3, 4], 0, 0]);
    expect(drawnAt(4, 3)).toEqual([[2, 3, 4], 1, 0]);
    expect(drawnAt(-1)).toEqual([[], 0, 4]);
  });

  it('has a column for each party that says something at any moment, so that columns stay where they are', () => {
    expect(sequenceAt(messages, 0).columns).toEqual(['outside', 'run', 'leases']);
    expect(sequenceAt([], undefined).columns).toEqual(['run']);
  });
});
