import type { AnyStateMachine, EventObject, SnapshotFrom } from 'xstate';
import type { Effect } from './effect.ts';
import { takeByPlan } from './plan.ts';

/** A message that its actor cannot take in its present state. A bug in the sender, or a call that came too late. */
export class UnhandledEvent extends Error {
  constructor(machine: string, event: string, value: unknown) {
    super(`machine "${machine}" takes no event "${event}" in state ${JSON.stringify(value)}`);
    this.name = 'UnhandledEvent';
  }
}

let sink: Effect[] = [];

/**
 * The scope that xstate wants beside snapshot and event. The public `transition()` builds one a call, at about four times
 * the cost of the transition itself; our machines spawn and invoke nothing, so one that does nothing serves them all. The
 * signature is xstate's internal one: the version is pinned, and a test holds the results equal to the public function's.
 */
const inertScope = {
  self: { id: 'actor', send: () => {} },
  system: { _sendInspectionEvent: () => {}, _relay: () => {}, _unregister: () => {} },
  id: 'actor',
  sessionId: 'actor',
  logger: () => {},
  defer: () => {},
  stopChild: () => {},
  emit: () => {},
  actionExecutor: (action: Effect) => {
    sink.push(action);
  },
};
type Scope<M extends AnyStateMachine> = Parameters<M['transition']>[2];

/** The snapshot in which an actor of this machine is born. Effects of entering it are not given: our machines have none there. */
export const initialSnapshot = <M extends AnyStateMachine>(machine: M): SnapshotFrom<M> => {
  sink = [];
  return machine.getInitialSnapshot(inertScope as unknown as Scope<M>, undefined) as SnapshotFrom<M>;
};

let followsPlans = true;

/**
 * The one switch of `plan.ts`. With plans off xstate takes every transition: the same snapshots and effects, at more cost.
 * Tests run both ways, and a bench says what plans bring.
 */
export const usePlans = (on: boolean): void => {
  followsPlans = on;
};

export type Step<M extends AnyStateMachine> = {
  readonly next: SnapshotFrom<M>;
  readonly effects: readonly Effect[];
};

/**
 * One pure step of a machine, where its present state takes the event: guards asked, transition made. Asking whether an event
 * is taken and taking it are the same call, so that nothing beside the chart decides.
 * @param event its type must be of the machine's own alphabet: none is ever made from what a user sent
 * @returns the next snapshot and the effects in the order of their execution; `undefined` when the state has no transition
 * for the event, or a guard holds it back
 */
export const take = <M extends AnyStateMachine>(
  machine: M,
  snapshot: SnapshotFrom<M>,
  event: Readonly<EventObject>,
): Step<M> | undefined => {
  const takeByXstate = (): Step<M> => {
    const effects: Effect[] = [];
    sink = effects;
    return { next: machine.transition(snapshot, event, inertScope as unknown as Scope<M>) as SnapshotFrom<M>, effects };
  };
  const taken = followsPlans ? (takeByPlan(snapshot, event, takeByXstate) as Step<M> | undefined) : takeByXstate();
  return taken === undefined || (taken.next === snapshot && taken.effects.length === 0) ? undefined : taken;
};

/**
 * One pure step of a machine for an event that must be taken.
 * @throws UnhandledEvent when the present state does not take the event: xstate itself would be silent
 * @see take
 */
export const step = <M extends AnyStateMachine>(
  machine: M,
  snapshot: SnapshotFrom<M>,
  event: Readonly<EventObject>,
): Step<M> => {
  const taken = take(machine, snapshot, event);
  if (taken === undefined) throw new UnhandledEvent(machine.id, event.type, (snapshot as { value?: unknown }).value);
  return taken;
};
