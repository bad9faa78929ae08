import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { transition as publicTransition } from 'xstate';
import {
  attemptStatus,
  isLive,
  LEASE_MACHINE_VERSION,
  type LeaseEvent,
  leaseMachine,
  leaseMigrations,
  type LeaseSnapshot,
  type LeaseState,
  takeCall,
  type WorkerEvent,
} from '../../src/machines/lease.ts';
import { initialSnapshot, step, take, UnhandledEvent } from '../../src/machines/transition.ts';
import { restore, Unloadable } from '../../src/machines/persisted.ts';
import type { Delivery } from '../../src/model/definition/definition.ts';
import goldens from './golden-leases.json' with { type: 'json' };

const offered = (delivery: Delivery = 'at_least_once'): LeaseSnapshot =>
  after(initialSnapshot(leaseMachine), { type: 'lease.offered', delivery, expiresAt: 5 });
const after = (snapshot: LeaseSnapshot, ...events: LeaseEvent[]): LeaseSnapshot =>
  events.reduce((before, event) => step(leaseMachine, before, event).next, snapshot);
const started: LeaseEvent = { type: 'lease.started', expiresAt: 30 };
/** The deadline as the snapshot has it is reached. */
const due = ({ context }: LeaseSnapshot): LeaseEvent => ({
  type: 'deadline.due',
  dueAt: context.expiresAt,
  reclaimAt: 35,
});
const untilDue = (snapshot: LeaseSnapshot): LeaseSnapshot => after(snapshot, due(snapshot));
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
    const running = after(offered(), started);
    expect(effectsOf(running, due(running))).toEqual(['journal']);
    const orphan = untilDue(running);
    expect([orphan.value, orphan.context.expiresAt]).toEqual(['orphaned', 35]);
    expect(isLive(orphan.value)).toBe(true);
    expect(effectsOf(orphan, due(orphan))).toEqual(['orphanStep', 'recordSpan']);
    expect(untilDue(orphan).value).toBe('reclaimed');
    expect(attemptStatus(untilDue(orphan).value)).toBe('orphaned');
  });
  it('orphaned, heartbeat -> running again; complete is taken', () => {
    const orphan = untilDue(after(offered(), started));
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
  it('offered, not started in time or given back by its claimer -> lapsed, and the step is queued again', () => {
    for (const event of [due(offered()), { type: 'lease.given_back' } as const]) {
      expect(after(offered(), event).value).toBe('lapsed');
      expect(effectsOf(offered(), event)).toEqual(['requeueStep', 'recordSpan']);
    }
  });
  it('a deadline that was extended meanwhile changes nothing, in no state', () => {
    const running = after(offered(), started);
    for (const snapshot of [offered(), running, untilDue(running)]) {
      const { expiresAt } = snapshot.context;
      for (const dueAt of [expiresAt - 1, expiresAt + 1]) {
        const event: LeaseEvent = { type: 'deadline.due', dueAt, reclaimAt: 35 };
        expect(take(leaseMachine, snapshot, event)).toBeUndefined();
      }
    }
  });
  it('only an offer is given back: a body that was declared running goes on', () => {
    const running = after(offered(), started);
    for (const snapshot of [running, untilDue(running)])
      expect(take(leaseMachine, snapshot, { type: 'lease.given_back' })).toBeUndefined();
  });
  it('only a body that was declared running runs out of time', () => {
    const running = after(offered(), started);
    expect(take(leaseMachine, offered(), { type: 'lease.timed_out' })).toBeUndefined();
    for (const snapshot of [running, untilDue(running)])
      expect(after(snapshot, { type: 'lease.timed_out' }).value).toBe('timed_out');
  });
  it('any, later call on an ended lease -> none: an event that nobody takes is an error, never silence', () => {
    const ends: LeaseEvent[] = [{ type: 'lease.completed' }, { type: 'lease.given_back' }, { type: 'lease.cancelled' }];
    for (const end of ends) expect(() => after(offered(), end, started)).toThrow(UnhandledEvent);
  });
});

type Held = Pick<LeaseSnapshot['context'], 'delivery' | 'bodyRan'>;
type Call = { readonly event: WorkerEvent; readonly isHolder: boolean; readonly runHasEnded: boolean };
const leaseIn = (value: LeaseState, held: Held): LeaseSnapshot =>
  leaseMachine.resolveState({ value, context: { ...held, expiresAt: 30 } });
const refusalOf = (snapshot: LeaseSnapshot, { event, ...caller }: Call): string | undefined => {
  const answer = takeCall(snapshot, event, caller);
  return 'refusal' in answer ? answer.refusal : undefined;
};

describe('refusals, in the specified order', () => {
  const live = { delivery: 'at_least_once', bodyRan: true } as const;
  const call: Call = { event: { type: 'lease.completed' }, isHolder: true, runHasEnded: false };
  const rows: [string, LeaseState, Held, Call, string | undefined][] = [
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
      { ...call, event: { type: 'lease.refused' } },
      undefined,
    ],
    [
      'at_most_once, never started, heartbeat',
      'offered',
      { delivery: 'at_most_once', bodyRan: false },
      { ...call, event: { type: 'lease.beat', expiresAt: 60 } },
      undefined,
    ],
    ['at_least_once was never started', 'offered', { delivery: 'at_least_once', bodyRan: false }, call, undefined],
    ['it runs', 'running', live, call, undefined],
    ['it is an orphan', 'orphaned', live, call, undefined],
  ];
  it.each(rows)('%s', (_, state, context, request, expected) => {
    expect(refusalOf(leaseIn(state, context), request)).toBe(expected);
  });

  const workerEvents: WorkerEvent[] = [
    { type: 'lease.started', expiresAt: 60 },
    { type: 'lease.beat', expiresAt: 60 },
    { type: 'lease.completed' },
    { type: 'lease.failed' },
    { type: 'lease.refused' },
  ];
  const states = Object.keys(leaseMachine.states) as LeaseState[];
  const held: Held[] = (['at_least_once', 'at_most_once'] as const).flatMap((delivery) =>
    [false, true].map((bodyRan) => ({ delivery, bodyRan })),
  );

  it('the holder’s call while the run goes on is refused exactly where the chart does not take it', () => {
    for (const state of states)
      for (const context of held)
        for (const event of workerEvents) {
          const snapshot = leaseIn(state, context);
          const [next, actions] = publicTransition(leaseMachine, snapshot, event);
          const isTaken = next !== snapshot || actions.length > 0;
          expect([state, context, event.type, refusalOf(snapshot, { ...call, event }) === undefined]).toEqual([
            state,
            context,
            event.type,
            isTaken,
          ]);
        }
  });

  it('the one thing that a live lease refuses its holder is a report of a body never declared running', () => {
    const refused = states
      .filter(isLive)
      .flatMap((state) =>
        held.flatMap((context) =>
          workerEvents
            .filter((event) => refusalOf(leaseIn(state, context), { ...call, event }) === 'not_started')
            .map(({ type }) => `${state} ${context.delivery} ${context.bodyRan} ${type}`),
        ),
      );
    expect(refused).toEqual(['offered at_most_once false lease.completed', 'offered at_most_once false lease.failed']);
  });

  it('already_applied is answered in the states to which a worker’s complete or fail leads, and in no other', () => {
    const reached = new Set(
      states.filter(isLive).flatMap((state) =>
        workerEvents
          .map((event) => publicTransition(leaseMachine, leaseIn(state, live), event)[0])
          .filter(({ status }) => status === 'done')
          .map(({ value }) => value),
      ),
    );
    const answered = states.filter((state) => refusalOf(leaseIn(state, live), call) === 'already_applied');
    expect(new Set(answered)).toEqual(reached);
    expect(reached.size).toBe(3);
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
      { type: 'lease.given_back' },
      ...[5, 30, 40, 50].map((dueAt) => ({ type: 'deadline.due' as const, dueAt, reclaimAt: 40 })),
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

describe('snapshots of leases', () => {
  const reached = (delivery: Delivery): LeaseSnapshot[] => {
    const running = after(offered(delivery), started);
    const orphan = untilDue(running);
    return [
      offered(delivery),
      running,
      orphan,
      after(running, { type: 'lease.completed' }),
      after(running, { type: 'lease.failed' }),
      after(offered(delivery), { type: 'lease.refused' }),
      after(orphan, { type: 'lease.timed_out' }),
      untilDue(offered(delivery)),
      untilDue(orphan),
      after(offered(delivery), { type: 'lease.cancelled' }),
    ];
  };
  const all = [...reached('at_least_once'), ...reached('at_most_once')];
  const persisted = ({ value, context }: LeaseSnapshot) => ({ value: value as string, context: { ...context } });
  const revive = (machineVersion: number, { value, context }: { value: string; context: object }): LeaseSnapshot =>
    restore(leaseMachine, LEASE_MACHINE_VERSION, { machineVersion, value, context }, leaseMigrations);

  it('of version 1 are loaded as they were written', () => {
    expect(goldens.version1.length).toBeGreaterThan(0);
    for (const golden of goldens.version1) expect(persisted(revive(1, golden))).toEqual(golden);
  });

  it('of every state are among the golden ones', () => {
    expect(all.map(persisted)).toEqual(goldens.version1);
    const states = Object.keys(leaseMachine.states).filter((state) => state !== 'unissued');
    expect(new Set(goldens.version1.map(({ value }) => value))).toEqual(new Set(states));
  });

  it('come back to life as they were, and go on from there', () => {
    for (const snapshot of all) {
      const revived = revive(LEASE_MACHINE_VERSION, JSON.parse(JSON.stringify(persisted(snapshot))));
      for (const event of [started, due(snapshot), { type: 'lease.cancelled' }] as const)
        expect(take(leaseMachine, revived, event)?.effects).toEqual(take(leaseMachine, snapshot, event)?.effects);
    }
  });

  it('of a later version, or of a state that is gone, are refused, never guessed', () => {
    const [first] = all.map(persisted);
    if (first === undefined) throw new Error('no snapshot');
    expect(() => revive(LEASE_MACHINE_VERSION + 1, first)).toThrow(Unloadable);
    expect(() => revive(0, first)).toThrow(Unloadable);
    expect(() => revive(LEASE_MACHINE_VERSION, { ...first, value: 'gone' })).toThrow(Unloadable);
  });

  it('belong to this chart: what changes it is weighed against its version', () => {
    const hash = createHash('sha256').update(JSON.stringify(leaseMachine.config)).digest('hex');
    expect(hash).toBe(goldens.configHash);
  });
});
