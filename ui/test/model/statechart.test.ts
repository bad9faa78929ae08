import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { ownMachines } from '../../../src/machines/catalogue.ts';
import { drawMachine } from '../../../src/machines/mermaid.ts';
import { compileRun, RESTARTS_AT } from '../../../src/machines/run.ts';
import { parseDefinition } from '../../../src/model/definition/parse.ts';
import {
  activeStates,
  chartOf,
  chartOfDefinition,
  countsByState,
  openedAtFirst,
  stateText,
  sumsOf,
} from '../../src/model/statechart.ts';

const steps = [
  {
    id: 'ask',
    kind: 'wait_event',
    event: 'approval',
    key: 'k',
    next: [{ when: 'steps.ask.output.ok', to: 'pay' }, { to: 'done' }],
  },
  { id: 'pay', kind: 'task', on_error: [{ class: 'terminal', to: 'done' }], next: 'done' },
  { id: 'done', kind: 'succeed' },
];

const runConfig = (): object => {
  const parsed = parseDefinition({ id: 'refund', version: 2, steps });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed));
  return plain(compileRun(parsed.value).config);
};
const plain = (config: object): object => JSON.parse(JSON.stringify(config)) as object;

const served = [
  ...ownMachines.map(({ machine }) => ({ name: machine.id, config: plain(machine.config) })),
  { name: 'run', config: runConfig() },
];

/** The states as xstate itself sees them. */
type Node = { readonly id: string; readonly states: Readonly<Record<string, Node>> };
const namesBy = (node: Node): readonly string[] =>
  Object.values(node.states).flatMap((state) => [state.id.split('.').slice(1).join('.'), ...namesBy(state)]);

describe('a chart', () => {
  it.each(served)('of $name has the states that xstate has', ({ config }) => {
    const machine = createMachine(config as Parameters<typeof createMachine>[0]);
    expect(chartOf(config).states.map(({ id }) => id)).toEqual(namesBy(machine.root as unknown as Node));
  });

  it.each(served)('of $name leads where xstate leads', ({ config }) => {
    const machine = createMachine(config as Parameters<typeof createMachine>[0]);
    const { states, transitions } = chartOf(config);
    for (const from of ['', ...states.map(({ id }) => id)]) {
      const node = from === '' ? machine.root : machine.getStateNodeById(`${machine.id}.${from}`);
      const expected = [...node.transitions].flatMap(([event, ways]) =>
        ways.map(({ target }) => `${event} ${target?.[0]?.id.split('.').slice(1).join('.') ?? ''}`),
      );
      const drawn = transitions.filter((one) => one.from === from).map(({ event, to }) => `${event} ${to ?? ''}`);
      expect(drawn.toSorted()).toEqual(expected.toSorted());
    }
  });

  it.each(served)(
    'of $name is in the Mermaid text of the service, each state and each transition that moves or says what it changes',
    ({ name, config }) => {
      const { states, transitions } = chartOf(config);
      const drawn = drawMachine(name, config);
      for (const { key } of states) expect(drawn).toContain(`state "${key}" as`);
      const said = transitions.filter(({ to, description }) => to !== undefined || description !== undefined);
      // An ended run restarts at any step: the text has one arrow for all of them.
      const arrows = said.map(({ id, from, event, guard }) =>
        guard?.startsWith(RESTARTS_AT) === true ? `${from} ${event}` : id,
      );
      expect(
        drawn.split('\n').filter((line) => / --> [^[]/.test(line) && !line.trimStart().startsWith('[*]')),
      ).toHaveLength(new Set(arrows).size);
    },
  );

  it('names the step kinds, guards and actions of a run', () => {
    const { states, transitions } = chartOf(runConfig());
    expect(states.find(({ id }) => id === 'active.ask')?.stepKind).toBe('wait_event');
    expect(states.find(({ id }) => id === 'active.ask')?.isInitial).toBe(true);
    const route = transitions.find(({ from, to }) => from === 'active.ask.routing' && to === 'active.pay');
    expect(route?.guard).toBe('goesTo(to: pay)');
  });

  it('of nonsense is empty', () => {
    for (const config of [null, [], 'x', { states: 5 }, { states: { a: null } }])
      expect(chartOf(config).transitions).toEqual([]);
  });

  it('is opened so far that it can be seen at once: a run shows its steps, not their phases', () => {
    expect([...openedAtFirst(chartOf(runConfig()))]).toEqual(['active']);
  });
});

describe('a place', () => {
  it('is the state and all around it', () => {
    expect(activeStates({ active: { pay: 'queued' } })).toEqual(['active', 'active.pay', 'active.pay.queued']);
    expect(activeStates('done')).toEqual(['done']);
    expect(activeStates(null)).toEqual([]);
    expect(stateText({ active: { pay: 'queued' } })).toBe('active › pay › queued');
  });

  it('is counted by its innermost state, for actors of the machine alone', () => {
    const at = (value: unknown, machine = 'run:refund@2') => ({ machine, value });
    const actors = [
      at({ active: { pay: 'queued' } }),
      at({ active: { pay: 'queued' } }),
      at('failed'),
      at('failed', 'lease'),
      at(null),
    ];
    expect([...countsByState(actors, 'run:refund@2')]).toEqual([
      ['active.pay.queued', 2],
      ['failed', 1],
    ]);
  });

  it('counts for what is around it, too', () => {
    const sums = sumsOf(
      chartOf(runConfig()),
      new Map([
        ['active.pay.queued', 2],
        ['active.pay.leased', 1],
        ['succeeded', 5],
      ]),
    );
    expect(sums.get('active')).toBe(3);
    expect(sums.get('active.pay')).toBe(3);
    expect(sums.get('active.ask')).toBe(0);
    expect(sums.get('succeeded')).toBe(5);
  });
});

describe('the chart of a definition that is not stored', () => {
  it('has its steps, and the ways between them', () => {
    const { states, transitions } = chartOfDefinition({ id: 'refund', steps });
    expect(states.map(({ id, kind }) => `${id} ${kind}`)).toEqual(['ask atomic', 'pay atomic', 'done final']);
    expect(transitions.map(({ from, event, guard, to }) => [from, event, guard, to])).toEqual([
      ['ask', 'next', 'steps.ask.output.ok', 'pay'],
      ['ask', 'next', undefined, 'done'],
      ['pay', 'next', undefined, 'done'],
      ['pay', 'error', 'terminal', 'done'],
    ]);
  });

  it('leads on to the following step where nothing else is said, and after the last one to the end', () => {
    const { transitions } = chartOfDefinition({
      steps: [
        { id: 'a', kind: 'task' },
        { id: 'b', kind: 'wait_event', any: [{ event: 'yes', to: 'c' }] },
        { id: 'c', kind: 'wait_event', any: [{ event: 'yes', to: 'a' }, { event: 'no' }] },
        { id: 'd', kind: 'fail' },
        { id: 'e', kind: 'task' },
      ],
    });
    expect(transitions.map(({ from, event, to }) => [from, event, to])).toEqual([
      ['a', 'next', 'b'],
      ['b', 'yes', 'c'],
      ['c', 'next', 'd'],
      ['c', 'yes', 'a'],
      ['e', 'next', 'end'],
    ]);
  });

  it('draws what can be drawn of one with faults: a name twice once, a way to nowhere not at all', () => {
    const { states, transitions } = chartOfDefinition({
      steps: [{ id: 'a', next: 'nowhere' }, { id: 'a', next: 'end' }, { kind: 'task' }, 7],
    });
    expect(states.map(({ id }) => id)).toEqual(['a', 'step 3', 'step 4', 'end']);
    expect(transitions).toHaveLength(1);
  });

  it.each([undefined, null, 3, {}, { steps: 'x' }])('of %s is nearly empty', (definition) => {
    expect(chartOfDefinition(definition).transitions).toEqual([]);
  });
});
