import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createMachine, transition as publicTransition } from 'xstate';
import { drawMachine } from '../../src/machines/mermaid.ts';
import { encodeSnapshot, decodeSnapshot, restore, Unloadable } from '../../src/machines/persisted.ts';
import {
  childrenToStart,
  compileRun,
  RUN_MACHINE_VERSION,
  runConfig,
  type RunContext,
  type RunEvent,
  type RunMachine,
  type RunSnapshot,
  statusOf,
} from '../../src/machines/run.ts';
import { initialSnapshot, step, UnhandledEvent } from '../../src/machines/transition.ts';
import type { Definition } from '../../src/model/definition/definition.ts';
import { parseDefinition } from '../../src/model/definition/parse.ts';
import goldens from './golden-runs.json' with { type: 'json' };

const definitionOf = (steps: readonly object[]): Definition => {
  const parsed = parseDefinition(JSON.parse(JSON.stringify({ id: 'flow', version: 1, steps })));
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed.value;
};

/** One step of each kind that can be stood in. */
const everyKind = definitionOf([
  { id: 'pay', kind: 'task', retry: { max_attempts: 2 }, on_error: [{ class: 'fatal', to: 'ask' }] },
  {
    id: 'ask',
    kind: 'wait_event',
    event: 'approval',
    key: 'k',
    timeout_ms: 1000,
    on_error: [{ class: 'timeout', to: 'nap' }],
  },
  { id: 'nap', kind: 'sleep', sleep_ms: 1000 },
  {
    id: 'kids',
    kind: 'child',
    definition: 'kid',
    for_each: '${input.l}',
    max_parallel: 2,
    next: [{ when: 'input.x == 1', to: 'no' }, { to: 'end' }],
  },
  { id: 'no', kind: 'fail' },
]);
const machine = compileRun(everyKind);

const play = (from: RunSnapshot, events: readonly RunEvent[], on: RunMachine = machine) => {
  let snapshot = from;
  const effects: string[] = [];
  for (const event of events) {
    const moved = step(on, snapshot as never, event);
    snapshot = moved.next;
    effects.push(
      ...moved.effects.map(({ type, params }) => (type === 'journal' ? (params as { kind: string }).kind : type)),
    );
  }
  return { snapshot, effects };
};
const born = initialSnapshot(machine) as unknown as RunSnapshot;
const at = 1000;
const begin: RunEvent[] = [
  { type: 'run.started', at },
  { type: 'step.opened', at },
];
const leased: RunEvent[] = [...begin, { type: 'step.offered', at, leaseId: 'l', workerId: 'w' }];
const failed = (errorClass: string, more: object = {}): RunEvent => ({
  type: 'step.failed',
  at,
  leaseId: 'l',
  bodyRan: true,
  retryAt: at + 10,
  error: { class: errorClass, message: 'm' },
  ...more,
});
const to = (target: string): RunEvent => ({ type: 'route.taken', at, to: target });
const done: RunEvent = { type: 'step.completed', at, leaseId: 'l' };
const atAsk: RunEvent[] = [...leased, done, to('ask')];
const atNap: RunEvent[] = [...atAsk, { type: 'event.delivered', at, event: 'approval', key: 'k' }, to('nap')];
const atKids: RunEvent[] = [...atNap, { type: 'step.opened', at, dueAt: 5 }, { type: 'timer.due', at }, to('kids')];
const child = (status: 'succeeded' | 'failed', index = 0): RunEvent => ({
  type: 'child.finished',
  at,
  runId: `c${index}`,
  index,
  status,
  ...(status === 'failed' ? { error: { class: 'fatal', code: 'child_failed', message: 'm' } } : {}),
});

const scheduled: RunEvent[] = [{ type: 'run.started', at, startAt: at + 50 }];
const held: RunEvent[] = [{ type: 'run.started', at, held: true }];

describe('a run before its first step', () => {
  const due: RunEvent = { type: 'timer.due', at: at + 50 };
  const first = { active: { pay: 'opening' } };

  it('that nothing holds back goes straight to its first step, with the entries that it always had', () => {
    const { snapshot, effects } = play(born, begin.slice(0, 1));
    expect(snapshot.value).toEqual(first);
    expect(effects).toEqual(['run.started', 'cursor.moved', 'open']);
  });

  it('waits for its `start_at` in a state of its own, under a timer, and begins when that is due', () => {
    const { snapshot, effects } = play(born, scheduled);
    expect([snapshot.value, snapshot.context.dueAt]).toEqual(['scheduled', at + 50]);
    expect(effects).toEqual(['run.started', 'run.waiting', 'schedule']);
    const begun = play(snapshot, [due]);
    expect([begun.snapshot.value, begun.snapshot.context.dueAt]).toEqual([first, undefined]);
    expect(begun.effects).toEqual(['unschedule', 'run.resumed', 'cursor.moved', 'open']);
  });

  it('is held back when it is started, or when its `start_at` comes, and begins when it is admitted', () => {
    for (const way of [held, [...scheduled, { ...due, held: true as const }]]) {
      const { snapshot, effects } = play(born, way);
      expect(snapshot.value).toBe('held');
      expect(effects.at(-1)).toBe('run.held');
      const begun = play(snapshot, [{ type: 'run.admitted', at }]);
      expect(begun.snapshot.value).toEqual(first);
      expect(begun.effects).toEqual(['run.admitted', 'cursor.moved', 'open']);
    }
  });

  it.each([
    ['cancelled', { type: 'run.cancelled', at }],
    ['failed', { type: 'run.failed', at, error: { class: 'limit', message: 'm', limit: 'run_timeout_ms' } }],
  ] as const)('ends %s from where it waits', (end, event) => {
    for (const way of [scheduled, held]) {
      const { snapshot, effects } = play(born, [...way, event]);
      expect(snapshot.value).toBe(end);
      expect(effects.slice(-2)).toEqual(['run.finished', 'finish']);
    }
  });
});

describe('a paused run', () => {
  const paused: RunEvent = { type: 'run.paused', at: at + 1, by: 'call', reason: 'why' };
  const unpaused: RunEvent = { type: 'run.unpaused', at: at + 2 };

  it.each([
    ['scheduled', scheduled],
    ['held', held],
    ['queued', begin],
    ['leased', leased],
    ['waiting', [...atAsk, { type: 'step.opened', at, key: 'k', dueAt: 9 }] as RunEvent[]],
  ])('stays where it stood, %s, and is there again when it is resumed', (_, events) => {
    const before = play(born, events).snapshot;
    const { snapshot, effects } = play(before, [paused]);
    expect([snapshot.value, statusOf(snapshot)]).toEqual([before.value, 'paused']);
    expect(snapshot.context.paused).toEqual({ at: at + 1, by: 'call', reason: 'why' });
    expect(effects).toEqual(['run.paused', 'rest']);
    const resumed = play(snapshot, [unpaused]);
    expect(JSON.stringify(resumed.snapshot)).toBe(JSON.stringify(before));
    expect(resumed.effects).toEqual(['run.unpaused', 'goOn']);
  });

  it('that its parent paused and that is then paused by name has been paused since the first of the two', () => {
    const { snapshot } = play(born, [
      ...begin,
      { type: 'run.paused', at: at + 1, by: 'parent' },
      { ...paused, at: at + 5 },
    ]);
    expect(snapshot.context.paused).toEqual({ at: at + 1, by: 'call', reason: 'why' });
  });

  it('remembers which step its leased one led on from, for the step that is opened when it is resumed', () => {
    const { snapshot } = play(born, [...leased, paused, done, to('ask')]);
    expect([snapshot.value, snapshot.context.cameFrom]).toEqual([{ active: { ask: 'opening' } }, 'pay']);
    expect(play(snapshot, [unpaused]).snapshot.context.cameFrom).toBeUndefined();
    expect(play(born, [...leased, done, to('ask')]).snapshot.context).not.toHaveProperty('cameFrom');
  });

  it('is not resumed twice, and an ended one is not paused', () => {
    expect(() => play(born, [...begin, unpaused])).toThrow(UnhandledEvent);
    expect(() => play(born, [...begin, { type: 'run.cancelled', at }, paused])).toThrow(UnhandledEvent);
  });
});

describe('run, compiled from a definition', () => {
  it.each([
    ['fatal', 'card_expired', 'both'],
    ['retryable', 'card_expired', 'code'],
    ['fatal', 'other', 'class'],
    ['anything', 'other', 'rest'],
  ])('on_error: the first line that takes %s/%s wins, %s', (errorClass, code, place) => {
    const places = ['both', 'code', 'class', 'rest'];
    const flow = definitionOf([
      {
        id: 'pay',
        kind: 'task',
        retry: { max_attempts: 1 },
        on_error: [
          { class: 'fatal', code: 'card_expired', to: 'both' },
          { code: 'card_expired', to: 'code' },
          { class: 'fatal', to: 'class' },
          { to: 'rest' },
        ],
      },
      ...places.map((id) => ({ id, kind: 'sleep', sleep_ms: 1, next: 'end' })),
    ]);
    const compiled = compileRun(flow);
    const from = initialSnapshot(compiled) as unknown as RunSnapshot;
    const error = { class: errorClass, code, message: 'm' };
    const { snapshot } = play(from, [...leased, failed(errorClass, { error })], compiled);
    expect(snapshot.value).toEqual({ active: { [place]: 'opening' } });
  });

  it('starts at its first step, which opens', () => {
    const { snapshot, effects } = play(born, [{ type: 'run.started', at }]);
    expect(snapshot.value).toEqual({ active: { pay: 'opening' } });
    expect(effects).toEqual(['run.started', 'cursor.moved', 'open']);
    expect(snapshot.context).toMatchObject({ stepCount: 1, visits: { pay: 1 } });
  });

  const restart = { step: 'nap', visits: { pay: 2, nap: 1 }, error: { class: 'fatal', message: 'm', stepId: 'pay' } };

  it('a restarted run begins at its step, with the visits and the error from before it', () => {
    const { snapshot, effects } = play(born, [{ type: 'run.started', at, restart }]);
    expect(snapshot.value).toEqual({ active: { nap: 'opening' } });
    expect(effects).toEqual(['run.started', 'cursor.moved', 'open']);
    expect(snapshot.context).toMatchObject({ stepCount: 1, visits: { pay: 2, nap: 2 }, error: restart.error });
  });

  it('a restarted run that is held back begins at its step once it is admitted', () => {
    const held = play(born, [{ type: 'run.started', at, held: true, restart }]);
    expect(held.snapshot.value).toBe('held');
    expect(held.effects).toEqual(['run.started', 'run.held']);
    const { snapshot } = play(held.snapshot, [{ type: 'run.admitted', at, restartAt: 'nap' }]);
    expect(snapshot.value).toEqual({ active: { nap: 'opening' } });
    expect(snapshot.context).toMatchObject({ stepCount: 1, visits: { pay: 2, nap: 2 }, error: restart.error });
  });

  const places: [string, RunEvent[], unknown, string][] = [
    ['an opened task is queued', begin, { active: { pay: 'queued' } }, 'queued'],
    ['an offered task is leased', leased, { active: { pay: 'leased' } }, 'running'],
    [
      'a retryable failure within the budget backs off',
      [...leased, failed('retryable')],
      { active: { pay: 'backoff' } },
      'waiting',
    ],
    [
      'a due retry is queued again',
      [...leased, failed('retryable'), { type: 'timer.due', at }],
      { active: { pay: 'queued' } },
      'queued',
    ],
    [
      'a retry due at once is queued at once',
      [...leased, failed('retryable', { retryAt: at })],
      { active: { pay: 'queued' } },
      'queued',
    ],
    ['a rate limit backs off', [...leased, failed('rate_limited')], { active: { pay: 'backoff' } }, 'waiting'],
    ['an unservable attempt is requeued', [...leased, failed('unservable')], { active: { pay: 'queued' } }, 'queued'],
    [
      'a lapsed offer is requeued',
      [...leased, { type: 'step.lapsed', at, leaseId: 'l' }],
      { active: { pay: 'queued' } },
      'queued',
    ],
    [
      'a fatal failure goes where on_error says',
      [...leased, failed('fatal')],
      { active: { ask: 'opening' } },
      'waiting',
    ],
    ['a failure that on_error does not take fails the run', [...leased, failed('other')], 'failed', 'failed'],
    [
      'an event delivered at opening is routed',
      [...atAsk, { type: 'event.delivered', at, event: 'approval', key: 'k' }],
      { active: { ask: 'routing' } },
      'waiting',
    ],
    [
      'an open wait waits',
      [...atAsk, { type: 'step.opened', at, key: 'k', dueAt: 9 }],
      { active: { ask: 'waiting' } },
      'waiting',
    ],
    [
      'a wait past its deadline fails the step',
      [
        ...atAsk,
        { type: 'step.opened', at, key: 'k', dueAt: 9 },
        { type: 'timer.due', at, error: { class: 'timeout', message: 'm' } },
      ],
      { active: { nap: 'opening' } },
      'waiting',
    ],
    ['a sleep waits', [...atNap, { type: 'step.opened', at, dueAt: 5 }], { active: { nap: 'waiting' } }, 'waiting'],
    [
      'children are waited for',
      [...atKids, { type: 'step.opened', at, total: 3 }],
      { active: { kids: 'waiting' } },
      'waiting',
    ],
    [
      'no children are waited for by nobody',
      [...atKids, { type: 'step.opened', at, total: 0 }],
      { active: { kids: 'routing' } },
      'waiting',
    ],
    [
      'the last child ends the step',
      [...atKids, { type: 'step.opened', at, total: 1 }, child('succeeded')],
      { active: { kids: 'routing' } },
      'waiting',
    ],
    [
      'a failed child fails the step',
      [...atKids, { type: 'step.opened', at, total: 3 }, child('failed')],
      'failed',
      'failed',
    ],
    [
      'the end is made before it is reached',
      [...atKids, { type: 'step.opened', at, total: 0 }, to('end')],
      { active: { kids: 'ending' } },
      'waiting',
    ],
    [
      'a run succeeds',
      [...atKids, { type: 'step.opened', at, total: 0 }, to('end'), { type: 'run.succeeded', at }],
      'succeeded',
      'succeeded',
    ],
    [
      'a limit ends the run',
      [...leased, { type: 'run.failed', at, error: { class: 'limit', limit: 'max_steps', message: 'm' } }],
      'failed',
      'failed',
    ],
    ['a cancel ends the run', [...leased, { type: 'run.cancelled', at }], 'cancelled', 'cancelled'],
  ];
  it.each(places)('%s', (_, events, value, status) => {
    const { snapshot } = play(born, events);
    expect(snapshot.value).toEqual(value);
    expect(statusOf(snapshot)).toBe(status);
  });

  const childrenOf = ({ context }: { context: RunContext }) => {
    if (context.children === undefined) throw new Error('no children');
    return context.children;
  };
  const started = (count: number): RunEvent => ({ type: 'children.started', at, count });

  it('wants no more children than max_parallel at once', () => {
    const opened = play(born, [...atKids, { type: 'step.opened', at, total: 4 }]);
    expect(opened.effects).toContain('startChildren');
    expect(childrenOf(opened.snapshot)).toEqual({ total: 4, started: 0, finished: 0 });
    expect(childrenToStart(childrenOf(opened.snapshot), 2)).toBe(2);
    const { snapshot } = play(opened.snapshot, [started(2)]);
    expect(childrenOf(snapshot)).toEqual({ total: 4, started: 2, finished: 0 });
    expect(childrenToStart(childrenOf(snapshot), 2)).toBe(0);
    const next = play(snapshot, [child('succeeded')]);
    expect(childrenOf(next.snapshot)).toEqual({ total: 4, started: 2, finished: 1 });
    expect(childrenToStart(childrenOf(next.snapshot), 2)).toBe(1);
    expect(next.effects).toEqual(['child.finished', 'startChildren']);
    // The last ones are not more than there are.
    const last = play(next.snapshot, [started(1), child('succeeded'), started(1), child('succeeded')]);
    expect(childrenToStart(childrenOf(last.snapshot), 2)).toBe(0);
  });

  it('where errors of items are collected, a failed child counts as ended, and the last one ends the step well', () => {
    const collecting = compileRun(
      definitionOf([
        { id: 'kids', kind: 'child', definition: 'kid', for_each: '${input.l}', on_item_error: 'collect' },
        { id: 'no', kind: 'fail' },
      ]),
    );
    const opened = play(
      initialSnapshot(collecting),
      [{ type: 'run.started', at }, { type: 'step.opened', at, total: 2 }, started(2)],
      collecting,
    );
    const first = play(opened.snapshot, [child('failed')], collecting);
    expect(first.snapshot.value).toEqual({ active: { kids: 'waiting' } });
    expect(childrenOf(first.snapshot)).toEqual({ total: 2, started: 2, finished: 1 });
    expect(first.effects).toEqual(['child.finished', 'startChildren']);
    const last = play(first.snapshot, [child('failed', 1)], collecting);
    expect(last.snapshot.value).toEqual({ active: { kids: 'routing' } });
    expect(last.effects).not.toContain('step.failed');
    expect(last.snapshot.context.error).toBeUndefined();
  });

  it('what the host could not start of its children is due at once, and is started when that comes', () => {
    const opened = (count: number) =>
      play(born, [...atKids, { type: 'step.opened', at, total: 4 }, started(count)]).snapshot.context;
    expect(opened(2)).toMatchObject({ children: { started: 2 } });
    expect(opened(2).dueAt).toBeUndefined();
    expect(opened(1)).toMatchObject({ children: { started: 1 }, dueAt: at });
    expect(opened(0)).toMatchObject({ children: { started: 0 }, dueAt: at });

    const { snapshot } = play(born, [...atKids, { type: 'step.opened', at, total: 4 }, started(1)]);
    const later = play(snapshot, [child('succeeded'), started(0)]);
    expect(later.snapshot.context).toMatchObject({ children: { total: 4, started: 1, finished: 1 }, dueAt: at });
    const due = play(later.snapshot, [
      { type: 'timer.due', at: at + 5 },
      { type: 'children.started', at: at + 5, count: 1 },
    ]);
    expect(due.effects).toEqual(['startChildren', 'unschedule', 'schedule']);
    expect(due.snapshot.context).toMatchObject({ children: { started: 2 }, dueAt: at + 5 });
    const all = play(due.snapshot, [
      { type: 'timer.due', at: at + 6 },
      { type: 'children.started', at: at + 6, count: 1 },
    ]);
    expect(all.snapshot.context).toMatchObject({ children: { started: 3, finished: 1 } });
    expect(all.snapshot.context.dueAt).toBeUndefined();
    // It leaves no timer behind, however it ends.
    expect(play(due.snapshot, [{ type: 'run.cancelled', at }]).snapshot.context.dueAt).toBeUndefined();
  });

  it('spends the budget on retryable failures and timeouts alone', () => {
    const again: RunEvent[] = [
      { type: 'timer.due', at },
      { type: 'step.offered', at, leaseId: 'l', workerId: 'w' },
    ];
    const spared = play(born, [
      ...leased,
      failed('rate_limited'),
      ...again,
      failed('rate_limited'),
      ...again,
      failed('retryable'),
      ...again,
    ]);
    expect(spared.snapshot.context).toMatchObject({ attempt: 4, failures: 1 });
    expect(play(spared.snapshot, [failed('timeout')]).snapshot.value).toBe('failed');
  });

  it('remembers no payload, and stays small', () => {
    const { snapshot } = play(born, atKids);
    expect(encodeSnapshot(RUN_MACHINE_VERSION, snapshot).length).toBeLessThan(400);
  });

  it('takes no event that it does not know in its state', () => {
    expect(() => play(born, [done])).toThrow(UnhandledEvent);
    expect(() => play(born, [...begin, { type: 'run.cancelled', at }, { type: 'run.cancelled', at }])).toThrow(
      UnhandledEvent,
    );
  });

  it('a step that leads to itself is entered again', () => {
    const loop = definitionOf([
      { id: 'one', kind: 'task', next: [{ when: 'visits.one < 3', to: 'one' }, { to: 'end' }] },
    ]);
    const on = compileRun(loop);
    const { snapshot, effects } = play(initialSnapshot(on), [...leased, done, to('one')], on);
    expect(snapshot.context).toMatchObject({ stepCount: 2, visits: { one: 2 }, attempt: 0 });
    expect(effects.slice(-2)).toEqual(['cursor.moved', 'open']);
  });

  it('is JSON that opens in createMachine', () => {
    const config = JSON.parse(JSON.stringify(machine.config)) as object;
    expect(config).toEqual(runConfig(everyKind));
    expect(Object.keys(createMachine(config as never).states['active']?.states ?? {})).toEqual([
      'pay',
      'ask',
      'nap',
      'kids',
      'no',
    ]);
  });

  it('draws as a state diagram', () => {
    const picture = drawMachine('run', runConfig(everyKind));
    expect(picture.startsWith('stateDiagram-v2\n')).toBe(true);
    // One arrow for a restart, not one for each step.
    expect(picture.match(/created --> .*restartsAt.*/g)).toEqual([
      'created --> active: run.started [restartsAt any step]',
    ]);
    expect(picture).toContain('active_o_pay_o_queued --> active_o_pay_o_leased: step.offered');
    expect(picture).toContain('active_o_pay_o_leased --> active_o_ask: step.failed [matchesError fatal]');
    expect(picture).toContain('created --> scheduled: run.started [beginsLater]');
    expect(picture).toContain('held --> active_o_pay: run.admitted');
    for (const state of ['scheduled', 'held', 'active'])
      expect(picture).toContain(`${state} --> ${state}: run.paused\n`);
  });
});

describe('snapshots', () => {
  const all = [
    [],
    begin,
    leased,
    [...leased, failed('retryable')],
    [...leased, done],
    atAsk,
    [...atAsk, { type: 'step.opened', at, key: 'k', dueAt: 9 }],
    [...atNap, { type: 'step.opened', at, dueAt: null }],
    [...atKids, { type: 'step.opened', at, total: 2 }, { type: 'children.started', at, count: 2 }],
  ] as RunEvent[][];
  const beforeSteps = [scheduled, held];
  const pause: RunEvent = { type: 'run.paused', at, by: 'call', reason: 'why' };
  const pausedRuns = [
    [...scheduled, pause],
    [...leased, pause, done, to('ask')],
  ];
  const revive = (text: string): RunSnapshot => restore(machine, RUN_MACHINE_VERSION, decodeSnapshot(text), new Map());

  it('come through JSON as they were, and go on from there', () => {
    for (const events of [...all, ...beforeSteps, ...pausedRuns]) {
      const { snapshot } = play(born, events);
      const text = encodeSnapshot(RUN_MACHINE_VERSION, snapshot);
      const revived = revive(text);
      expect(encodeSnapshot(RUN_MACHINE_VERSION, revived)).toBe(text);
      if (events.length === 0) continue;
      const cancel: RunEvent = { type: 'run.cancelled', at };
      expect(play(revived, [cancel]).effects).toEqual(play(snapshot, [cancel]).effects);
    }
  });

  it('transition as with the public transition(), actions included', () => {
    const due: RunEvent = { type: 'timer.due', at };
    const admitted: RunEvent = { type: 'run.admitted', at };
    for (const events of [
      ...all,
      [...scheduled, due],
      [...scheduled, { ...due, held: true as const }, admitted],
      ...pausedRuns,
    ]) {
      let snapshot = born;
      for (const event of events) {
        const [next, actions] = publicTransition(machine, snapshot as never, event as never);
        const ours = step(machine, snapshot as never, event);
        expect(JSON.stringify(ours.next)).toBe(JSON.stringify(next));
        expect(ours.effects.map(({ type, params }) => [type, params])).toEqual(
          actions.map(({ type, params }) => [type, params]),
        );
        snapshot = ours.next;
      }
    }
  });

  it('of version 1 are loaded as they were written', () => {
    // Releases since count waits in the same version: a snapshot without the number says that it is not known.
    for (const written of [goldens.version1, goldens.version1CountingWaits]) {
      for (const [name, text] of Object.entries(written)) {
        const revived = revive(JSON.stringify(text));
        expect(JSON.parse(encodeSnapshot(1, revived)), name).toEqual(text);
      }
      expect(Object.keys(written).length).toBe(all.length);
    }
  });

  it('of every state are among the golden ones', () => {
    const written = (histories: readonly RunEvent[][]) =>
      histories.map((events) => JSON.parse(encodeSnapshot(1, play(born, events).snapshot)) as unknown);
    expect(written(all)).toEqual(Object.values(goldens.version1CountingWaits));
    expect(written(beforeSteps)).toEqual(Object.values(goldens.version1BeforeSteps));
    expect(written(pausedRuns)).toEqual(Object.values(goldens.version1Paused));
    for (const text of [...Object.values(goldens.version1BeforeSteps), ...Object.values(goldens.version1Paused)])
      expect(JSON.parse(encodeSnapshot(1, revive(JSON.stringify(text))))).toEqual(text);
  });

  /** Tasks with keys and limits of their own, and a wait for any of several. */
  const teamFlow = definitionOf([
    {
      id: 'charge',
      kind: 'task',
      concurrency: { key: 'k', limit: 1 },
      rate: { key: 'p', limit: 1, per_ms: 1000 },
      limits: { max_attempts_total: 9 },
      retry: { max_attempts: 2 },
    },
    {
      id: 'either',
      kind: 'wait_event',
      any: [
        { event: 'yes', key: 'k' },
        { event: 'no', key: 'k', to: 'charge' },
      ],
    },
  ]);
  const teamMachine = compileRun(teamFlow);
  const asking: RunEvent[] = [...begin];
  const admitted: RunEvent[] = [...asking, { type: 'step.admitted', at }];
  const offered: RunEvent[] = [...admitted, { type: 'step.offered', at, leaseId: 'l', workerId: 'w' }];
  const atEither: RunEvent[] = [
    ...offered,
    done,
    to('either'),
    { type: 'step.opened', at, key: ['k', 'k'], dueAt: null },
  ];
  const teamRuns = {
    step_held: [...asking, { type: 'step.held', at }],
    step_admitted: admitted,
    step_held_again: [...admitted, { type: 'step.held', at }],
    step_backoff_counted: [...offered, failed('retryable')],
    wait_any: atEither,
    wait_any_paused_with_a_way: [
      ...atEither,
      pause,
      { type: 'event.delivered', at, event: 'no', key: 'k', to: 'charge' },
    ],
    restarted_at_either: [{ type: 'run.started', at, restart: { step: 'either', visits: { charge: 2, either: 1 } } }],
  } satisfies { [name: string]: RunEvent[] };

  it('of tasks with keys, waits for any and restarts are among the golden ones, and are loaded as they were written', () => {
    const written = Object.entries(teamRuns).map(([name, events]) => [
      name,
      JSON.parse(
        encodeSnapshot(1, play(initialSnapshot(teamMachine) as never, events, teamMachine).snapshot),
      ) as unknown,
    ]);
    expect(Object.fromEntries(written)).toEqual(goldens.version1OfTeams);
    for (const [name, text] of Object.entries(goldens.version1OfTeams)) {
      const revived = restore(teamMachine, RUN_MACHINE_VERSION, decodeSnapshot(JSON.stringify(text)), new Map());
      expect(JSON.parse(encodeSnapshot(1, revived)), name).toEqual(text);
      const cancel: RunEvent = { type: 'run.cancelled', at };
      expect(play(revived, [cancel], teamMachine).snapshot.value, name).toBe('cancelled');
    }
  });

  it('the compiler makes the same machine of the same definition', () => {
    const hashOf = (definition: Definition): string =>
      createHash('sha256')
        .update(JSON.stringify(runConfig(definition)))
        .digest('hex');
    expect(hashOf(everyKind)).toBe(goldens.configHash);
    expect(hashOf(teamFlow)).toBe(goldens.configHashOfTeams);
  });

  it('of a later version, of a state that is gone, or of no shape at all are refused, never guessed', () => {
    expect(() => revive('{"m":2,"v":"succeeded","c":{}}')).toThrow(Unloadable);
    expect(() => revive('{"m":0,"v":"succeeded","c":{}}')).toThrow(Unloadable);
    expect(() => revive('{"m":1,"v":{"active":{"gone":"queued"}},"c":{}}')).toThrow(Unloadable);
    expect(() => revive('{"m":1,"v":{"active":"pay"},"c":{}}')).toThrow(Unloadable);
    expect(() => revive('{"m":1}')).toThrow(Unloadable);
    expect(() => revive('not json')).toThrow(Unloadable);
  });

  it('are migrated one version at a time', () => {
    const stored = { machineVersion: 1, value: 'created', context: { n: 1 } };
    const bump = (persisted: { machineVersion: number; value: unknown; context: unknown }) => ({
      ...persisted,
      machineVersion: persisted.machineVersion + 1,
      context: { n: (persisted.context as { n: number }).n * 10 },
    });
    const revived = restore(
      machine,
      3,
      stored,
      new Map([
        [1, bump],
        [2, bump],
      ]),
    ) as unknown as { context: unknown };
    expect(revived.context).toEqual({ n: 100 });
    expect(() => restore(machine, 3, stored, new Map([[1, bump]]))).toThrow(Unloadable);
  });
});

describe('a task with keys', () => {
  const keyed = compileRun(
    definitionOf([
      {
        id: 'pay',
        kind: 'task',
        concurrency: { key: 'k', limit: 1 },
        rate: { key: 'k', limit: 1, per_ms: 1 },
        retry: { max_attempts: 3 },
        on_error: [{ class: 'limit', to: 'pay' }],
      },
    ]),
  );
  const opened: RunEvent[] = [
    { type: 'run.started', at },
    { type: 'step.opened', at },
  ];
  const out: RunEvent[] = [
    ...opened,
    { type: 'step.admitted', at },
    { type: 'step.offered', at, leaseId: 'l', workerId: 'w' },
  ];
  const bornKeyed = initialSnapshot(keyed) as unknown as RunSnapshot;
  const effectsAfter = (before: readonly RunEvent[], event: RunEvent) => {
    const snapshot = before.reduce(
      (from, one) => step(keyed, from as never, one).next as unknown as RunSnapshot,
      bornKeyed,
    );
    const { next, effects } = step(keyed, snapshot as never, event);
    const { value } = next as unknown as { value: { active?: { pay: string } } };
    return [value.active?.pay, effects.some(({ type }) => type === 'freePlace')];
  };
  const failed = (errorClass: string, retryAt = at + 9): RunEvent => ({
    type: 'step.failed',
    at,
    leaseId: 'l',
    error: { class: errorClass, message: 'm' },
    bodyRan: true,
    retryAt,
  });

  it('asks before each attempt, and gives its place back at the end of each, but not for one that goes back to the queue', () => {
    expect(effectsAfter(opened.slice(0, 1), { type: 'step.opened', at })).toEqual(['asking', false]);
    expect(effectsAfter(opened, { type: 'step.held', at })).toEqual(['held', false]);
    expect(effectsAfter([...opened, { type: 'step.held', at }], { type: 'step.admitted', at })).toEqual([
      'queued',
      false,
    ]);
    expect(effectsAfter(out.slice(0, 3), { type: 'step.held', at })).toEqual(['held', false]);
    expect(effectsAfter(out, { type: 'step.completed', at, leaseId: 'l' })).toEqual(['routing', true]);
    expect(effectsAfter(out, failed('retryable'))).toEqual(['backoff', true]);
    expect(effectsAfter(out, failed('retryable', at))).toEqual(['asking', true]);
    expect(effectsAfter(out, failed('rate_limited'))).toEqual(['backoff', true]);
    expect(effectsAfter(out, failed('fatal'))).toEqual([undefined, true]);
    expect(effectsAfter(out, failed('unservable'))).toEqual(['queued', false]);
    expect(effectsAfter(out, { type: 'step.lapsed', at, leaseId: 'l' })).toEqual(['queued', false]);
    const orphaned = { type: 'step.orphaned', at, leaseId: 'l', bodyRan: true } as const;
    expect(effectsAfter(out, { ...orphaned, error: { class: 'orphaned', message: 'm' } })).toEqual(['asking', true]);
    expect(effectsAfter([...out, failed('retryable')], { type: 'timer.due', at })).toEqual(['asking', false]);
  });

  it('that is refused fails, and on_error may take that', () => {
    const refused = { ...failed('limit'), leaseId: undefined };
    expect(effectsAfter(opened, JSON.parse(JSON.stringify(refused)) as RunEvent)).toEqual(['opening', false]);
  });

  it('a task without keys has none of that', () => {
    const plain = definitionOf([{ id: 'pay', kind: 'task' }]);
    expect(JSON.stringify(runConfig(plain))).not.toMatch(/asking|freePlace|askPlace/);
  });
});
