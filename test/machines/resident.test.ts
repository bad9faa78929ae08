import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { ownMachines } from '../../src/machines/catalogue.ts';
import { dispatcherMachine } from '../../src/machines/dispatcher.ts';
import { drawMachine, stateNames } from '../../src/machines/mermaid.ts';
import { outboxMachine } from '../../src/machines/outbox.ts';
import { pipelineMachine } from '../../src/machines/pipeline.ts';
import { createResident } from '../../src/machines/resident.ts';
import { timerMachine } from '../../src/machines/timer.ts';
import { initialSnapshot, step, UnhandledEvent } from '../../src/machines/transition.ts';

const fault = { at: 5, code: 'store_unavailable' } as const;
const events: Readonly<Record<string, object>> = {
  'turn.began': {},
  'turn.ended': { turn: { at: 1, durationMs: 2, timers: 3, leases: 4, rows: 5 } },
  'turn.failed': { fault, retryAt: 9 },
};

/** Each state, each event: where it leads. What is not named here is refused. */
const tables: readonly (readonly [AnyStateMachine, Readonly<Record<string, Readonly<Record<string, string>>>>])[] = [
  [timerMachine, { idle: { 'turn.began': 'firing' }, firing: { 'turn.ended': 'idle', 'turn.failed': 'idle' } }],
  [
    dispatcherMachine,
    {
      idle: { 'claims.waiting': 'waiting', 'offers.made': 'matching' },
      waiting: { 'claims.none': 'idle', 'offers.made': 'matching' },
      matching: { 'claims.none': 'idle', 'claims.waiting': 'waiting' },
    },
  ],
  [
    outboxMachine,
    {
      idle: { 'rows.written': 'gathering', 'turn.began': 'sending' },
      gathering: { 'turn.began': 'sending' },
      sending: { 'turn.ended': 'idle', 'turn.failed': 'backing_off' },
      backing_off: { 'turn.began': 'sending' },
    },
  ],
  [
    pipelineMachine,
    {
      idle: { 'request.entered': 'accepting', 'request.refused': 'full', 'drain.began': 'draining' },
      accepting: { 'request.refused': 'full', 'requests.none': 'idle', 'drain.began': 'draining' },
      full: { 'request.entered': 'accepting', 'requests.none': 'idle', 'drain.began': 'draining' },
      draining: { 'drain.ended': 'closed' },
      closed: {},
    },
  ],
];

describe.each(tables.map(([machine, table]) => [machine.id, machine, table] as const))(
  'the %s',
  (_id, machine, table) => {
    const alphabet = [...new Set(Object.values(table).flatMap((ways) => Object.keys(ways)))];
    const cells = Object.entries(table).flatMap(([from, ways]) =>
      alphabet.map((type) => [from, type, ways[type]] as const),
    );

    it('has these states and no other', () => expect(stateNames(machine.config)).toEqual(Object.keys(table)));

    it.each(cells)('in %s, %s leads to %s', (from, type, to) => {
      const snapshot = machine.resolveState({ value: from, context: initialSnapshot(machine).context });
      const take = () => step(machine, snapshot, { type, ...events[type] }).next as unknown as { value: string };
      if (to === undefined) expect(take).toThrow(UnhandledEvent);
      else expect(take().value).toBe(to);
    });
  },
);

describe('the machines of the service', () => {
  it('have names of their own, by which they are listed, and draw themselves', () => {
    const names = ownMachines.map(({ machine }) => machine.id);
    expect(names).toEqual([
      'bulk',
      'definition',
      'dispatcher',
      'lease',
      'limit',
      'monitor',
      'outbox',
      'pipeline',
      'schedule',
      'slo',
      'timer',
    ]);
    for (const { machine } of ownMachines) {
      const drawn = drawMachine(machine.id, machine.config);
      for (const state of stateNames(machine.config)) expect(drawn).toContain(`state "${state}" as ${state}`);
    }
  });
});

describe('a resident actor', () => {
  it('counts its changes and says when the last was, or that it was earlier', () => {
    let now = 100;
    const actor = createResident(dispatcherMachine, () => now);
    expect(actor.state()).toEqual({ value: 'idle', version: 1, updatedAt: 100 });
    now = 200;
    actor.send({ type: 'claims.waiting' });
    expect(actor.state()).toEqual({ value: 'waiting', version: 2, updatedAt: 200 });
    now = 300;
    actor.send({ type: 'claims.none' }, 250);
    expect(actor.state()).toEqual({ value: 'idle', version: 3, updatedAt: 250 });
  });

  it('the outbox counts failures in a row, and forgets them and the next try when a turn ends well', () => {
    const outbox = createResident(outboxMachine, () => 0);
    const turn = { at: 1, durationMs: 2, rows: 3 };
    outbox.send({ type: 'turn.began' });
    outbox.send({ type: 'turn.failed', fault, retryAt: 10 });
    expect(outbox.context()).toEqual({ failures: 1, lastFault: fault, retryAt: 10 });
    outbox.send({ type: 'turn.began' });
    expect(outbox.context()).toEqual({ failures: 1, lastFault: fault });
    outbox.send({ type: 'turn.failed', fault, retryAt: 20 });
    expect(outbox.context()).toMatchObject({ failures: 2, retryAt: 20 });
    outbox.send({ type: 'turn.began' });
    outbox.send({ type: 'turn.ended', turn });
    expect(outbox.context()).toEqual({ failures: 0, lastFault: fault, lastTurn: turn });
  });
});
