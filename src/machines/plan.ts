import { isDeepStrictEqual } from 'node:util';
import type { AnyEventObject, AnyStateMachine, AnyStateNode, MachineContext } from 'xstate';
import type { Effect } from './effect.ts';

/**
 * What xstate does anew at every event, though for a machine without parallel states, history, eventless transitions and
 * children it depends on nothing but the state and the transition: which states are left and entered, hence which actions
 * run in which order, and where that ends. It is worked out once, by xstate itself, and kept here.
 * `usePlans` in `transition.ts` turns it off.
 */

/** As far as plans look into a snapshot of xstate; the version is pinned. */
export type PlannedSnapshot = {
  readonly context: MachineContext;
  readonly machine: AnyStateMachine;
  readonly _nodes: readonly AnyStateNode[];
};
type Taken = { readonly next: PlannedSnapshot; readonly effects: readonly Effect[] };

type Transition = NonNullable<ReturnType<AnyStateNode['transitions']['get']>>[number];
type Args = { readonly context: MachineContext; readonly event: AnyEventObject };
type Evaluated = (args: Args, params: unknown) => unknown;
type Action =
  | { readonly kind: 'effect'; readonly effect: Effect }
  | {
      readonly kind: 'assign';
      readonly assignment: Evaluated | Readonly<Record<string, unknown>>;
      readonly params: unknown;
    };
type Plan = {
  readonly actions: readonly Action[];
  /** A snapshot at the end of it, whose context is replaced; `undefined` for a transition that stays where it is. */
  readonly end: PlannedSnapshot | undefined;
};
type Way = {
  readonly transition: Transition;
  readonly mayTake: ((args: Args) => boolean) | undefined;
  /** `undefined` before the transition was first taken, `false` where xstate goes on taking it. */
  plan: Plan | false | undefined;
};
/** The ways out of a state by type of event, in the order in which they are tried; `undefined` where plans do not fit. */
type Ways = (type: string) => readonly Way[];

type Named = { readonly type: string; readonly params?: unknown };
const named = (reference: unknown): Named | undefined => {
  if (typeof reference === 'string') return { type: reference };
  const { type, params } = (reference ?? {}) as Partial<Named>;
  return typeof reference === 'object' && type !== undefined && typeof params !== 'function'
    ? { type, params }
    : undefined;
};

const pathOf = (leaf: AnyStateNode): AnyStateNode[] => {
  const path: AnyStateNode[] = [];
  for (let node: AnyStateNode | undefined = leaf; node !== undefined; node = node.parent) path.push(node);
  return path;
};

const isBelow = (node: AnyStateNode, ancestor: AnyStateNode): boolean => pathOf(node).indexOf(ancestor) > 0;

const isPlain = (node: AnyStateNode): boolean =>
  (node.type === 'atomic' || node.type === 'compound' || node.type === 'final') &&
  node.always === undefined &&
  node.invoke.length === 0 &&
  node.after.length === 0 &&
  [...node.transitions.keys()].every((type) => !type.includes('*'));

const guardOf = (machine: AnyStateMachine, transition: Transition): Way['mayTake'] | false => {
  if (transition.guard === undefined) return undefined;
  const reference = named(transition.guard);
  const check = reference === undefined ? undefined : machine.implementations.guards[reference.type];
  if (reference === undefined || typeof check !== 'function' || 'check' in check) return false;
  return (args) => Boolean((check as Evaluated)(args, reference.params));
};

const actionOf = (machine: AnyStateMachine, action: unknown): Action | undefined => {
  const reference = named(action);
  if (reference === undefined) return undefined;
  const { type, params } = reference;
  const implementation = machine.implementations.actions[type] as
    | { readonly type?: string; readonly resolve?: unknown; readonly assignment?: unknown }
    | undefined;
  if (implementation?.resolve === undefined) return { kind: 'effect', effect: { type, params } };
  if (implementation.type !== 'xstate.assign') return undefined;
  return { kind: 'assign', assignment: implementation.assignment as never, params };
};

/** The innermost state that a transition neither leaves nor enters. @see SCXML, "getTransitionDomain" */
const domainOf = ({ source, target, reenter }: Transition): AnyStateNode | undefined => {
  const [to] = target ?? [];
  if (to === undefined) return undefined;
  if (!reenter && (to === source || isBelow(to, source))) return source;
  return pathOf(to).find((ancestor) => ancestor !== to && isBelow(source, ancestor));
};

/** Works a plan out from what xstate made of the transition. `undefined` where it has more to it than a plan can say. */
const planOf = (transition: Transition, from: readonly AnyStateNode[], end: PlannedSnapshot): Plan | undefined => {
  const { machine } = end;
  const stays = transition.target === undefined || transition.target.length === 0;
  const domain = stays ? undefined : domainOf(transition);
  if (!stays && (domain === undefined || !end._nodes.every(isPlain))) return undefined;
  const within = (nodes: readonly AnyStateNode[]): AnyStateNode[] =>
    domain === undefined ? [] : nodes.filter((node) => isBelow(node, domain)).toSorted((a, b) => a.order - b.order);
  const actions = [
    ...within(from)
      .toReversed()
      .flatMap(({ exit }) => exit),
    ...transition.actions,
    ...within(end._nodes).flatMap(({ entry }) => entry),
  ].map((action) => actionOf(machine, action));
  if (actions.includes(undefined)) return undefined;
  return { actions: actions as Action[], end: stays ? undefined : end };
};

const assigned = (
  { assignment, params }: Action & { readonly kind: 'assign' },
  args: Args,
): Readonly<Record<string, unknown>> => {
  if (typeof assignment === 'function') return assignment(args, params) as Readonly<Record<string, unknown>>;
  const update: Record<string, unknown> = {};
  for (const key in assignment) {
    const value = assignment[key];
    update[key] = typeof value === 'function' ? (value as Evaluated)(args, params) : value;
  }
  return update;
};

const follow = ({ actions, end }: Plan, snapshot: PlannedSnapshot, event: AnyEventObject): Taken => {
  const effects: Effect[] = [];
  let { context } = snapshot;
  for (const action of actions)
    if (action.kind === 'effect') effects.push(action.effect);
    else context = { ...context, ...assigned(action, { context, event }) };
  if (end !== undefined) return { next: { ...end, context }, effects };
  return { next: context === snapshot.context ? snapshot : { ...snapshot, context }, effects };
};

const isSame = (one: Taken, other: Taken): boolean =>
  isDeepStrictEqual(one.next.context, other.next.context) &&
  // By identity: a comparison in depth would walk through the machine of every node.
  one.next._nodes.length === other.next._nodes.length &&
  one.next._nodes.every((node) => other.next._nodes.includes(node)) &&
  isDeepStrictEqual(
    one.effects.map(({ type, params }) => [type, params]),
    other.effects.map(({ type, params }) => [type, params]),
  );

const waysOf = (leaf: AnyStateNode): Ways | undefined => {
  const path = pathOf(leaf);
  if (!path.every(isPlain)) return undefined;
  const byType = new Map<string, readonly Way[]>();
  for (const type of new Set(path.flatMap((node) => [...node.transitions.keys()]))) {
    const ways: Way[] = [];
    for (const transition of path.flatMap((node) => node.transitions.get(type) ?? [])) {
      const mayTake = guardOf(leaf.machine, transition);
      if (mayTake === false) return undefined;
      ways.push({ transition, mayTake, plan: undefined });
    }
    byType.set(type, ways);
  }
  const none: readonly Way[] = [];
  return (type) => byType.get(type) ?? none;
};

const waysByLeaf = new WeakMap<AnyStateNode, Ways | false>();

/**
 * Takes an event by plan, and makes the plan where this is the first time.
 * @param take how xstate takes it
 * @returns `undefined` when the state has no way out for the event
 */
export const takeByPlan = (snapshot: PlannedSnapshot, event: AnyEventObject, take: () => Taken): Taken | undefined => {
  const [leaf, ...others] = snapshot._nodes.filter(({ type }) => type === 'atomic' || type === 'final');
  if (leaf === undefined || others.length > 0 || event.type.startsWith('xstate.')) return take();
  let ways = waysByLeaf.get(leaf);
  if (ways === undefined) {
    ways = waysOf(leaf) ?? false;
    waysByLeaf.set(leaf, ways);
  }
  if (ways === false) return take();
  const args: Args = { context: snapshot.context, event };
  const way = ways(event.type).find(({ mayTake }) => mayTake === undefined || mayTake(args));
  if (way === undefined) return undefined;
  if (way.plan === false) return take();
  if (way.plan !== undefined) return follow(way.plan, snapshot, event);
  const taken = take();
  const plan = planOf(way.transition, snapshot._nodes, taken.next);
  // The plan must say what xstate has just done, to the letter.
  way.plan = plan !== undefined && isSame(follow(plan, snapshot, event), taken) ? plan : false;
  return taken;
};
