import { describe, expect, it } from 'vitest';
import { transition as publicTransition } from 'xstate';
import {
  attemptStatus,
  isLive,
  type LeaseEvent,
  leaseMachine,
  type LeaseSnapshot,
  type LeaseState,
  refuse,
} from '../../src/machines/lease.ts';
import { initialSnapshot, step, UnhandledEvent } from '../../src/machines/transition.ts';
import type { Delivery } from '../../src/model/definition/definition.ts';

const offered = (delivery: Delivery = 'at_least_once'): LeaseSnapshot =>
  after(initialSnapshot(leaseMachine), { type: 'lease.offered', delivery, expiresAt: 5 });
const after = (snapshot: LeaseSnapshot, ...events: LeaseEvent[]): LeaseSnapshot =>
  events.reduce((before, event) => step(leaseMachine, before, event).next, snapshot);
const started: LeaseEvent = { type: 'lease.started', expiresAt: 30 };
const effectsOf = (snapshot: LeaseSnapshot, event: LeaseEvent): string[] =>
  step(leaseMachine, snapshot, event).effects.map(({ type }) => type);

describe('lease, by the table "Lease / attempt"', () => {
  it('runnable step, claim -> offered', () => {
    expect(offered().value).toBe('offered');
    expect(offered().context).toEqual({ delivery: 'at_least_once', bodyRan: false, expiresAt: 5 });
  });
  it('offered, started -> running, and the journal says so once', () => {
    expect(after(offered(), started).value).toBe('running');
    expect(effectsOf(offered(), started)).toEqual(['journal']);
    expect(effectsOf(after(offered(), started), started)).toEqual([]);
  });
  it('running, heartbeat -> running, lease extended', () => {
    const beaten = after(offered(), started, { type: 'lease.beat', expiresAt: 60 });
    expect([beaten.value, beaten.context.expiresAt]).toEqual(['running', 60]);
  });
  it('running, complete -> attempt finished', () => {
    const running = after(offered(), started);
    expect(after(running, { type: 'lease.completed' }).value).toBe('succeeded');
    expect(effectsOf(running, { type: 'lease.completed' })).toEqual(['completeStep', 'recordSpan']);
  });
  it('running, fail -> the step decides', () => {
    expect(effectsOf(after(offered(), started), { type: 'lease.failed' })).toEqual(['failStep', 'recordSpan']);
  });
  it('running, no heartbeat within the ttl -> orphaned; after the reclaim window -> over', () => {
    const orphan = after(offered(), started, { type: 'lease.expired', expiresAt: 35 });
    expect(orphan.value).toBe('orphaned');
    expect(isLive(orphan.value)).toBe(true);
    expect(effectsOf(orphan, { type: 'lease.reclaimed' })).toEqual(['orphanStep', 'recordSpan']);
    expect(attemptStatus(after(orphan, { type: 'lease.reclaimed' }).value)).toBe('orphaned');
  });
  it('orphaned, heartbeat -> running again; complete is taken', () => {
    const orphan = after(offered(), started, { type: 'lease.expired', expiresAt: 35 });
    expect(after(orphan, { type: 'lease.beat', expiresAt: 60 }).value).toBe('running');
    expect(after(orphan, { type: 'lease.completed' }).value).toBe('succeeded');
  });
  it('offered, worker does not hold the definition -> unservable, in both delivery modes', () => {
    for (const delivery of ['at_least_once', 'at_most_once'] as const)
      expect(after(offered(delivery), { type: 'lease.refused' }).value).toBe('unservable');
  });
  it('offered at_most_once takes no complete and no fail; at_least_once takes both', () => {
    for (const type of ['lease.completed', 'lease.failed'] as const) {
      expect(() => after(offered('at_most_once'), { type })).toThrow(UnhandledEvent);
      expect(after(offered(), { type }).status).toBe('done');
    }
  });
  it('any, later call on an ended lease -> none: an event that nobody takes is an error, never silence', () => {
    const ends: LeaseEvent[] = [{ type: 'lease.completed' }, { type: 'lease.lapsed' }, { type: 'lease.cancelled' }];
    for (const end of ends) expect(() => after(offered(), end, started)).toThrow(UnhandledEvent);
  });
});

describe('refusals, in the specified order', () => {
  const live = { delivery: 'at_least_once', bodyRan: true } as const;
  const call = { verb: 'complete', isHolder: true, runHasEnded: false, unservable: false } as const;
  const rows: [string, LeaseState, Parameters<typeof refuse>[1], Parameters<typeof refuse>[2], string | undefined][] = [
    ['its own end landed, the run has ended too', 'succeeded', live, { ...call, runHasEnded: true }, 'already_applied'],
    ['its own fail landed', 'failed', live, call, 'already_applied'],
    ['its own unservable landed', 'unservable', live, call, 'already_applied'],
    ['a stranger after the end', 'succeeded', live, { ...call, isHolder: false }, 'fenced'],
    [
      'a stranger after the end of the run',
      'succeeded',
      live,
      { ...call, isHolder: false, runHasEnded: true },
      'run_terminal',
    ],
    ['the run ended under it', 'cancelled', live, { ...call, runHasEnded: true }, 'run_terminal'],
    ['it lapsed', 'lapsed', live, call, 'fenced'],
    ['it was reclaimed', 'reclaimed', live, call, 'fenced'],
    ['it ran out of time', 'timed_out', live, call, 'fenced'],
    ['a stranger while it lives', 'running', live, { ...call, isHolder: false }, 'fenced'],
    ['at_most_once was never started', 'offered', { delivery: 'at_most_once', bodyRan: false }, call, 'not_started'],
    [
      'at_most_once, never started, unservable',
      'offered',
      { delivery: 'at_most_once', bodyRan: false },
      { ...call, verb: 'fail', unservable: true },
      undefined,
    ],
    [
      'at_most_once, never started, heartbeat',
      'offered',
      { delivery: 'at_most_once', bodyRan: false },
      { ...call, verb: 'heartbeat' },
      undefined,
    ],
    ['at_least_once was never started', 'offered', { delivery: 'at_least_once', bodyRan: false }, call, undefined],
    ['it runs', 'running', live, call, undefined],
    ['it is an orphan', 'orphaned', live, call, undefined],
  ];
  it.each(rows)('%s', (_, state, context, request, expected) => {
    expect(refuse(state, context, request)).toBe(expected);
  });
});

describe('the cached scope', () => {
  it('gives what the public transition() gives, from every state for every event', () => {
    const events: LeaseEvent[] = [
      started,
      { type: 'lease.beat', expiresAt: 50 },
      { type: 'lease.completed' },
      { type: 'lease.failed' },
      { type: 'lease.refused' },
      { type: 'lease.lapsed' },
      { type: 'lease.expired', expiresAt: 40 },
      { type: 'lease.reclaimed' },
      { type: 'lease.timed_out' },
      { type: 'lease.cancelled' },
    ];
    const reached = [offered(), offered('at_most_once')];
    const seen = new Set(reached.map((snapshot) => JSON.stringify([snapshot.value, snapshot.context])));
    for (const snapshot of reached)
      for (const event of events) {
        const [next, actions] = publicTransition(leaseMachine, snapshot, event);
        const isSilent = next === snapshot && actions.length === 0;
        if (isSilent) {
          expect(() => step(leaseMachine, snapshot, event)).toThrow(UnhandledEvent);
          continue;
        }
        const ours = step(leaseMachine, snapshot, event);
        expect(JSON.stringify(ours.next)).toBe(JSON.stringify(next));
        expect(ours.effects.map(({ type, params }) => [type, params])).toEqual(
          actions.map(({ type, params }) => [type, params]),
        );
        const key = JSON.stringify([next.value, next.context]);
        if (!seen.has(key)) {
          seen.add(key);
          reached.push(next);
        }
      }
    expect(new Set(reached.map(({ value }) => value)).size).toBe(10);
  });
});
