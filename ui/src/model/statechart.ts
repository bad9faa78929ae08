/**
 * A statechart as the interface draws it, read from the configuration that the service serves and that opens in xstate's
 * `createMachine`. Nothing is executed; what is not understood is left out, never guessed.
 */
export type StateKind = 'atomic' | 'compound' | 'parallel' | 'final' | 'history';

export type ChartState = {
  /** The keys from the outside in: `active.pay.queued`. */
  readonly id: string;
  readonly key: string;
  /** Nothing for a state of the outermost level. */
  readonly parent: string | undefined;
  readonly depth: number;
  readonly kind: StateKind;
  readonly isInitial: boolean;
  readonly description: string | undefined;
  /** The kind of the step that it stands for. */
  readonly stepKind: string | undefined;
  readonly entry: readonly string[];
  readonly exit: readonly string[];
};

export type ChartTransition = {
  /** Unique in its chart. */
  readonly id: string;
  /** The state that it leaves; empty for one of the machine itself. */
  readonly from: string;
  /** Nothing where the machine stays where it is. */
  readonly to: string | undefined;
  readonly event: string;
  readonly guard: string | undefined;
  readonly description: string | undefined;
  readonly actions: readonly string[];
};

export type Chart = {
  readonly id: string;
  readonly description: string | undefined;
  readonly states: readonly ChartState[];
  readonly transitions: readonly ChartTransition[];
};

type Json = Readonly<Record<string, unknown>>;
const recordOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const listOf = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

const paramText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** `mayRetry`, or `mayRetry(delivery: at_least_once)`: a guard or an action by its name and its static parameters. */
const namedText = (named: unknown): string => {
  if (typeof named === 'string') return named;
  const { type, params } = recordOf(named);
  const given = Object.entries(recordOf(params)).map(([name, value]) => `${name}: ${paramText(value)}`);
  return `${textOf(type) ?? 'unnamed'}${given.length === 0 ? '' : `(${given.join(', ')})`}`;
};

const kindOf = (node: Json): StateKind => {
  const type = textOf(node['type']);
  if (type === 'final' || type === 'history' || type === 'parallel') return type;
  return Object.keys(recordOf(node['states'])).length > 0 ? 'compound' : 'atomic';
};

type Placed = { readonly id: string; readonly parent: string | undefined; readonly node: Json };

const joined = (parent: string | undefined, key: string): string =>
  parent === undefined || parent === '' ? key : `${parent}.${key}`;

/** What a target of xstate means: `sibling`, `.child`, `#id` or `#id.path`. */
const resolve = (target: string, from: Placed, byName: ReadonlyMap<string, string>): string => {
  if (target.startsWith('#')) {
    const [name = '', ...path] = target.slice(1).split('.');
    return [byName.get(name) ?? name, ...path].filter((key) => key !== '').join('.');
  }
  return target.startsWith('.') ? joined(from.id, target.slice(1)) : joined(from.parent, target);
};

type Event = readonly [event: string, ways: unknown];

const eventsOf = (node: Json): readonly Event[] => [
  ...Object.entries(recordOf(node['on'])),
  ...(node['always'] === undefined ? [] : [['always', node['always']] as const]),
  ...(node['onDone'] === undefined ? [] : [['done', node['onDone']] as const]),
];

/** @param config as `GET /v1/api/machines/{name}` answers */
export const chartOf = (config: unknown): Chart => {
  const root = recordOf(config);
  const placed: Placed[] = [];
  const states: ChartState[] = [];
  const byName = new Map<string, string>();
  const walk = (node: Json, id: string, depth: number): void => {
    const parent = id === '' ? undefined : id;
    const initial = textOf(node['initial']);
    for (const [key, given] of Object.entries(recordOf(node['states']))) {
      const child = recordOf(given);
      const childId = joined(parent, key);
      const name = textOf(child['id']);
      if (name !== undefined) byName.set(name, childId);
      placed.push({ id: childId, parent, node: child });
      states.push({
        id: childId,
        key,
        parent,
        depth,
        kind: kindOf(child),
        isInitial: key === initial,
        description: textOf(child['description']),
        stepKind: textOf(recordOf(child['meta'])['kind']),
        entry: listOf(child['entry']).map(namedText),
        exit: listOf(child['exit']).map(namedText),
      });
      walk(child, childId, depth + 1);
    }
  };
  const id = textOf(root['id']) ?? 'machine';
  byName.set(id, '');
  walk(root, '', 0);
  const known = new Set(states.map((state) => state.id));
  const transitions: ChartTransition[] = [];
  for (const from of [{ id: '', parent: undefined, node: root }, ...placed])
    for (const [event, ways] of eventsOf(from.node))
      for (const way of listOf(ways)) {
        const { target, guard, actions, description } = typeof way === 'string' ? { target: way } : recordOf(way);
        const targets = listOf(target).flatMap((one) => (typeof one === 'string' ? [resolve(one, from, byName)] : []));
        for (const to of targets.length === 0 ? [undefined] : targets)
          transitions.push({
            id: `t${transitions.length}`,
            from: from.id,
            to: to !== undefined && known.has(to) ? to : undefined,
            event,
            guard: guard === undefined ? undefined : namedText(guard),
            description: textOf(description),
            actions: listOf(actions).map(namedText),
          });
      }
  return { id, description: textOf(root['description']), states, transitions };
};

/** The states that a machine is in, from the outside in: `{ active: { pay: 'queued' } }` is active, active.pay, active.pay.queued. */
export const activeStates = (value: unknown, parent?: string): readonly string[] => {
  if (typeof value === 'string') return [joined(parent, value)];
  return Object.entries(recordOf(value)).flatMap(([key, inner]) => [
    joined(parent, key),
    ...activeStates(inner, joined(parent, key)),
  ]);
};

/** `active › pay › queued`, as people read it. */
export const stateText = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return Object.entries(recordOf(value))
    .map(([key, inner]) => {
      const text = stateText(inner);
      return text === '' ? key : `${key} › ${text}`;
    })
    .join(', ');
};

/** The state and all around it. */
export const withAncestors = (id: string): readonly string[] => {
  const keys = id.split('.');
  return keys.map((_, index) => keys.slice(0, index + 1).join('.'));
};

/** What a chart opens at first: level by level, as long as a reader sees the picture at once. */
const SEEN_AT_ONCE = 20;

/** @returns the states that are drawn with what is inside them */
export const openedAtFirst = ({ states }: Chart): ReadonlySet<string> => {
  const opened = new Set<string>();
  let shown = states.filter(({ depth }) => depth === 0).length;
  const deepest = Math.max(0, ...states.map(({ depth }) => depth));
  for (let depth = 0; depth <= deepest; depth += 1) {
    const level = states.filter((state) => state.depth === depth && state.kind === 'compound');
    const inside = states.filter((state) => state.depth === depth + 1).length;
    // One state alone, such as `active` of a run, is opened in any case: closed, it says nothing.
    if (level.length > 1 && shown + inside > SEEN_AT_ONCE) break;
    for (const { id } of level) opened.add(id);
    shown += inside;
  }
  return opened;
};

/** Adds up what is inside each state: a closed state shows the sum. */
export const sumsOf = (chart: Chart, counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>();
  for (const [state, count] of counts) for (const id of withAncestors(state)) sums.set(id, (sums.get(id) ?? 0) + count);
  return new Map(chart.states.map(({ id }) => [id, sums.get(id) ?? 0]));
};

/** The target that ends a run well without a step of its own. */
const END = 'end';

/** The picture of a definition that is not stored, step by step: the service compiles none that it does not keep. */
export const chartOfDefinition = (definition: unknown): Chart => {
  const { id, steps: given } = recordOf(definition);
  const steps = listOf(given).map(recordOf);
  const keyOf = (step: Json, index: number): string => textOf(step['id']) ?? `step ${index + 1}`;
  const keys = steps.map(keyOf);
  const known = new Set([...keys, END]);
  const states = steps.map((step, index): ChartState => {
    const stepKind = textOf(step['kind']);
    const key = keyOf(step, index);
    return {
      id: key,
      key,
      parent: undefined,
      depth: 0,
      kind: stepKind === 'succeed' || stepKind === 'fail' ? 'final' : 'atomic',
      isInitial: index === 0,
      description: textOf(step['description']),
      stepKind,
      entry: [],
      exit: [],
    };
  });
  const transitions = steps.flatMap((step, index) => {
    const stepKind = textOf(step['kind']);
    const from = keyOf(step, index);
    const way = (to: unknown, event: string, guard: string | undefined): ChartTransition[] =>
      typeof to === 'string' && known.has(to)
        ? [{ id: '', from, to, event, guard, description: undefined, actions: [] }]
        : [];
    const branches = listOf(step['next']).flatMap((branch) =>
      typeof branch === 'string'
        ? way(branch, 'next', undefined)
        : way(recordOf(branch)['to'], 'next', textOf(recordOf(branch)['when'])),
    );
    const errors = listOf(step['on_error']).flatMap((given) => {
      const { to, class: errorClass, code } = recordOf(given);
      return way(to, 'error', [textOf(errorClass), textOf(code)].filter((part) => part !== undefined).join(' '));
    });
    // Without `next` a step leads on to the following one; the last one ends the run.
    const following = index === steps.length - 1 ? END : keys[index + 1];
    const lines = listOf(step['any']);
    const isNeverRead =
      stepKind === 'succeed' ||
      stepKind === 'fail' ||
      (lines.length > 0 &&
        lines.every((line) => recordOf(line)['to'] !== undefined) &&
        !(step['timeout_ms'] !== undefined && step['on_timeout'] === 'continue'));
    const onward =
      step['next'] === undefined && stepKind !== undefined && textOf(step['id']) !== undefined && !isNeverRead
        ? way(following, 'next', undefined)
        : [];
    const events = lines.flatMap((given) => {
      const { to, event } = recordOf(given);
      return way(to, textOf(event) ?? 'event', undefined);
    });
    return [...onward, ...branches, ...events, ...errors];
  });
  if (transitions.some(({ to }) => to === END) && !keys.includes(END))
    states.push({
      id: END,
      key: END,
      parent: undefined,
      depth: 0,
      kind: 'final',
      isInitial: false,
      description: 'The run ends well.',
      stepKind: undefined,
      entry: [],
      exit: [],
    });
  return {
    id: textOf(id) ?? 'definition',
    description: undefined,
    // A name twice is a fault that the service names; the picture has it once.
    states: states.filter((state, index) => index >= keys.length || keys.indexOf(state.key) === index),
    transitions: transitions.map((transition, index) => ({ ...transition, id: `t${index}` })),
  };
};

type ListedActor = { readonly machine: string; readonly value: unknown };

/** How many of the actors are in each innermost state of a machine. */
export const countsByState = (actors: readonly ListedActor[], machine: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const actor of actors) {
    const state = actor.machine === machine ? activeStates(actor.value).at(-1) : undefined;
    if (state !== undefined) counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
};
