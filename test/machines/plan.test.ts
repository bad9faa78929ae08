import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type AnyStateMachine, createMachine, transition as publicTransition } from 'xstate';
import { type LeaseEvent, leaseMachine } from '../../src/machines/lease.ts';
import { compileRun, type RunEvent } from '../../src/machines/run.ts';
import { initialSnapshot, step, UnhandledEvent } from '../../src/machines/transition.ts';
import { parseDefinition } from '../../src/model/definition/parse.ts';

const at = 1000;
const compiled = (steps: readonly object[]): AnyStateMachine => {
  const parsed = parseDefinition(JSON.parse(JSON.stringify({ id: 'flow', version: 1, steps })));
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return compileRun(parsed.value);
};

const everyKind = (): AnyStateMachine =>
  compiled([
    {
      id: 'pay',
      kind: 'task',
      retry: { max_attempts: 3 },
      delivery: 'at_most_once',
      on_error: [
        { class: 'fatal', to: 'ask' },
        { class: 'own', to: 'end' },
      ],
      next: [{ when: 'true', to: 'pay' }, { when: 'true', to: 'ask' }, { to: 'end' }],
    },
    { id: 'ask', kind: 'wait_event', event: 'go', key: 'k', timeout_ms: 5, on_timeout: 'continue' },
    { id: 'ask2', kind: 'wait_event', event: 'go', key: 'k', timeout_ms: 5, on_error: [{ to: 'pay' }] },
    { id: 'nap', kind: 'sleep', sleep_ms: 5 },
    {
      id: 'many',
      next: [{ when: 'true', to: 'bad' }, { when: 'true', to: 'good' }, { to: 'end' }],
      kind: 'child',
      definition: 'other',
      for_each: '${input.items}',
      max_parallel: 2,
      on_error: [{ to: 'nap' }],
    },
    { id: 'bad', kind: 'fail', message: 'no' },
    { id: 'good', kind: 'succeed' },
  ]);

const error = fc
  .constantFrom('retryable', 'timeout', 'fatal', 'rate_limited', 'unservable', 'own', 'orphaned')
  .map((name) => ({
    class: name,
    message: 'm',
  }));
const usage = fc.option(fc.constant({ inputTokens: 1, outputTokens: 2, totalTokens: 3, cost: 0.5 }), {
  nil: undefined,
});
const maybe = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
const defined = (event: object): RunEvent =>
  Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined)) as RunEvent;

const goingOn = fc.oneof(
  fc.constant({ type: 'run.started', at }),
  fc.record({
    type: fc.constant('step.opened'),
    at: fc.constant(at),
    dueAt: maybe([null, 5, 9]),
    key: maybe(['k']),
    total: maybe([0, 1, 3]),
  }),
  fc.record({
    type: fc.constant('step.offered'),
    at: fc.nat(9),
    leaseId: fc.constantFrom('a', 'b'),
    workerId: fc.constant('w'),
  }),
  fc.record({ type: fc.constant('step.completed'), at: fc.constant(at), leaseId: fc.constant('a'), usage }),
  fc.record({
    type: fc.constant('step.failed'),
    at: fc.constant(at),
    error,
    leaseId: fc.constant('a'),
    bodyRan: fc.boolean(),
    retryAt: maybe([at, at + 5]),
    usage,
  }),
  fc.constant({ type: 'step.lapsed', at, leaseId: 'a' }),
  fc.record({
    type: fc.constant('step.orphaned'),
    at: fc.constant(at),
    error,
    leaseId: fc.constant('a'),
    bodyRan: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('route.taken'),
    at: fc.constant(at),
    to: fc.constantFrom('pay', 'ask', 'ask2', 'nap', 'many', 'bad', 'good', 'end'),
  }),
  fc.record({ type: fc.constant('timer.due'), at: fc.constant(at), error: fc.option(error, { nil: undefined }) }),
  fc.record({ type: fc.constant('children.started'), at: fc.constant(at), count: fc.nat(2) }),
  fc.constant({ type: 'event.delivered', at, event: 'go', key: 'k' }),
  fc.record({
    type: fc.constant('child.finished'),
    at: fc.constant(at),
    runId: fc.constant('c'),
    index: fc.nat(3),
    status: fc.constantFrom('succeeded', 'failed'),
    error: fc.option(error, { nil: undefined }),
  }),
);
const ending = fc.oneof(
  fc.constant({ type: 'run.succeeded', at }),
  fc.record({ type: fc.constant('run.failed'), at: fc.constant(at), error }),
  fc.constant({ type: 'run.cancelled', at }),
);
/** Ends are rare, or no walk would get far. */
const runEvents: fc.Arbitrary<RunEvent> = fc
  .oneof({ weight: 60, arbitrary: goingOn }, { weight: 1, arbitrary: ending })
  .map(defined);

const leaseEvents: fc.Arbitrary<LeaseEvent> = fc.oneof(
  fc.record({
    type: fc.constant('lease.offered' as const),
    delivery: fc.constantFrom('at_least_once' as const, 'at_most_once' as const),
    expiresAt: fc.nat(1),
  }),
  fc.record({
    type: fc.constantFrom('lease.started' as const, 'lease.beat' as const),
    expiresAt: fc.nat(1),
  }),
  fc.record({ type: fc.constant('deadline.due' as const), dueAt: fc.nat(1), reclaimAt: fc.nat(1) }),
  fc.record({
    type: fc.constantFrom(
      'lease.completed' as const,
      'lease.failed' as const,
      'lease.refused' as const,
      'lease.given_back' as const,
      'lease.timed_out' as const,
      'lease.cancelled' as const,
    ),
  }),
);

/** What a transition comes to, as it can be compared. */
const outcome = (take: () => readonly [unknown, readonly { type: string; params: unknown }[]]) => {
  const [next, effects] = take();
  return {
    next: JSON.parse(JSON.stringify(next)) as unknown,
    effects: effects.map(({ type, params }) => [type, params]),
  };
};

const walk = (
  machine: AnyStateMachine,
  events: readonly { readonly type: string }[],
  seen: Map<string, number>,
): void => {
  let snapshot = initialSnapshot(machine);
  for (const event of events) {
    const [next, actions] = publicTransition(machine, snapshot as never, event as never);
    const isTaken = next !== snapshot || actions.length > 0;
    if (!isTaken) {
      expect(() => step(machine, snapshot as never, event)).toThrow(UnhandledEvent);
      continue;
    }
    const ours = step(machine, snapshot as never, event);
    expect(outcome(() => [ours.next, ours.effects])).toEqual(outcome(() => [next, actions] as never));
    const name = `${JSON.stringify((snapshot as { value: unknown }).value)} ${event.type}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    snapshot = ours.next as never;
  }
};

describe('a transition by plan', () => {
  it('is the transition that the public transition() takes, the first time and every further time', () => {
    const machine = everyKind();
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(fc.array(runEvents, { minLength: 100, maxLength: 300, size: 'max' }), (events) => {
        walk(machine, [{ type: 'run.started', at } as RunEvent, ...events], seen);
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(fc.array(leaseEvents, { maxLength: 40 }), (events) => {
        walk(leaseMachine, events, seen);
      }),
      { numRuns: 300 },
    );
    // Most of what there is must have been taken, and again: a walk that gets nowhere compares nothing.
    expect([...seen.values()].filter((times) => times > 1).length).toBeGreaterThan(35);
  });

  it('asks xstate for each transition of a run and of a lease once', () => {
    const machine = everyKind();
    const asked = vi.spyOn(machine, 'transition');
    const events: RunEvent[] = [
      { type: 'run.started', at },
      { type: 'step.opened', at },
      { type: 'step.offered', at, leaseId: 'a', workerId: 'w' },
      { type: 'step.completed', at, leaseId: 'a' },
      { type: 'route.taken', at, to: 'pay' },
    ];
    const life = (): void => {
      let snapshot = initialSnapshot(machine);
      for (const event of events) snapshot = step(machine, snapshot as never, event).next as never;
      expect(snapshot).toMatchObject({ value: { active: { pay: 'opening' } }, context: { visits: { pay: 2 } } });
    };
    life();
    expect(asked).toHaveBeenCalledTimes(events.length);
    life();
    life();
    expect(asked).toHaveBeenCalledTimes(events.length);
  });

  it('leaves to xstate what depends on more than state and transition', () => {
    const eventless = createMachine({
      id: 'eventless',
      initial: 'a',
      context: { n: 0 },
      states: { a: { on: { go: 'b' } }, b: { always: { target: 'a' }, exit: 'leave' } },
    });
    const parallel = createMachine({
      id: 'parallel',
      type: 'parallel',
      states: {
        left: { initial: 'a', states: { a: { on: { go: 'b' } }, b: { on: { go: 'a' } } } },
        right: { initial: 'c', states: { c: { on: { go: 'd' } }, d: {} } },
      },
    });
    for (const machine of [eventless, parallel]) {
      let snapshot = initialSnapshot(machine) as never;
      for (let times = 0; times < 4; times += 1) {
        const event = { type: 'go' };
        const theirs = outcome(() => publicTransition(machine as AnyStateMachine, snapshot, event) as never);
        const ours = step(machine as AnyStateMachine, snapshot, event);
        expect(outcome(() => [ours.next, ours.effects])).toEqual(theirs);
        snapshot = ours.next as never;
      }
    }
  });

  it('changes no snapshot that it starts from', () => {
    const machine = everyKind();
    const from = initialSnapshot(machine);
    const text = JSON.stringify(from);
    for (let times = 0; times < 3; times += 1) step(machine, from as never, { type: 'run.started', at } as RunEvent);
    expect(JSON.stringify(from)).toBe(text);
  });
});
