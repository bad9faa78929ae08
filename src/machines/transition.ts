import type { AnyStateMachine, EventObject, SnapshotFrom } from 'xstate';
import { takeByPlan } from './plan.ts';

/** What a machine wants done, as data: the name of the action and its static parameters. Nothing was executed. */
export type Effect = { readonly type: string; readonly params: unknown };

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

/**
 * One pure step of a machine.
 * @param event its type must be of the machine's own alphabet: none is ever made from what a user sent
 * @returns the next snapshot and the effects in the order of their execution
 * @throws UnhandledEvent when the present state has no transition for the event: xstate itself would be silent
 */
export const step = <M extends AnyStateMachine>(
  machine: M,
  snapshot: SnapshotFrom<M>,
  event: Readonly<EventObject>,
): { readonly next: SnapshotFrom<M>; readonly effects: readonly Effect[] } => {
  const take = (): { next: SnapshotFrom<M>; effects: readonly Effect[] } => {
    const effects: Effect[] = [];
    sink = effects;
    return { next: machine.transition(snapshot, event, inertScope as unknown as Scope<M>) as SnapshotFrom<M>, effects };
  };
  const taken = takeByPlan(snapshot, event, take) as { next: SnapshotFrom<M>; effects: readonly Effect[] } | undefined;
  if (taken === undefined || (taken.next === snapshot && taken.effects.length === 0))
    throw new UnhandledEvent(machine.id, event.type, (snapshot as { value?: unknown }).value);
  return taken;
};
