import type { AnyMachineSnapshot, AnyStateMachine, EventFromLogic } from 'xstate';
import type { JsonObject } from '../model/json.ts';
import type { UnixMs } from '../model/run.ts';
import type { ProjectReach } from '../model/scope.ts';
import type { VersionedMachine } from './persisted.ts';
import { initialSnapshot, step } from './transition.ts';

/** Where a resident actor stands. */
export type ResidentState = { readonly value: string; readonly version: number; readonly updatedAt: UnixMs };

/**
 * An actor that lives as long as the process and in its memory alone: timer, pipeline, dispatcher, outbox. There is one of
 * each, its type is the id of its machine, and it belongs to no project.
 */
export type ResidentActor = VersionedMachine & {
  readonly state: () => ResidentState;
  /**
   * What tells why it does, or does not, move: counts, ages, rates. Never a payload, nor the name of a project.
   * @param reach names of definitions are left out where they are of projects beyond it; counts are of all
   */
  readonly read: (reach: ProjectReach) => Promise<ResidentSnapshot>;
};
export type ResidentSnapshot = ResidentState & {
  readonly context: JsonObject;
  /** Messages, claims, rows or requests that wait for it. */
  readonly mailbox: number;
};

const valueOf = (snapshot: unknown): string => String((snapshot as AnyMachineSnapshot).value);

/** Steps the machine of a resident actor and counts its changes. */
export const createResident = <M extends AnyStateMachine>(machine: M, now: () => UnixMs) => {
  let snapshot = initialSnapshot(machine);
  let version = 1;
  let updatedAt = now();
  return {
    /** @param at when it came to be so, where that was earlier */
    send: (event: EventFromLogic<M>, at: UnixMs = now()): void => {
      snapshot = step(machine, snapshot, event).next;
      version += 1;
      updatedAt = at;
    },
    state: (): ResidentState => ({ value: valueOf(snapshot), version, updatedAt }),
    value: (): string => valueOf(snapshot),
    context: (): JsonObject => JSON.parse(JSON.stringify((snapshot as AnyMachineSnapshot).context)) as JsonObject,
  };
};
