import type { AnyStateMachine, SnapshotFrom } from 'xstate';
import { isDeepStrictEqual } from 'node:util';

/** A statechart and the version of its snapshots. Its id is the name under which it is shown. */
export type VersionedMachine = { readonly machine: AnyStateMachine; readonly version: number };

/** What is stored of an actor, beside the machine it belongs to. */
export type Persisted = { readonly machineVersion: number; readonly value: unknown; readonly context: unknown };

/** Carries a snapshot from one machine version to the next. Pure, on plain JSON. */
export type Migration = (persisted: Persisted) => Persisted;

/** A stored snapshot that this release cannot bring back to life. Its actor is quarantined, and stays readable. */
export class Unloadable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'Unloadable';
  }
}

/** A snapshot as text. The status is not kept: a final state says it. */
export const encodeSnapshot = (machineVersion: number, snapshot: { value: unknown; context: unknown }): string =>
  JSON.stringify({ m: machineVersion, v: snapshot.value, c: snapshot.context });

/** @throws Unloadable on text that is not a stored snapshot */
export const decodeSnapshot = (text: string): Persisted => {
  let held: { m?: unknown; v?: unknown; c?: unknown } | null;
  try {
    held = JSON.parse(text) as typeof held;
  } catch {
    throw new Unloadable('not a stored snapshot: it is not JSON'); // the parser's own words would quote it
  }
  const { m, v, c } = held ?? {};
  if (typeof m !== 'number' || v === undefined || typeof c !== 'object' || c === null)
    throw new Unloadable('not a stored snapshot: it lacks machine version, value or context');
  return { machineVersion: m, value: v, context: c };
};

/**
 * Brings a stored snapshot to the present version, one migration a version, and back to life.
 * @param migrations by the version they start from
 * @throws Unloadable when the snapshot is of a later version, when a migration is missing or fails, or when the machine has
 * no such state any more. A state that became compound would be entered silently, without its effects: that is refused too
 */
export const restore = <M extends AnyStateMachine>(
  machine: M,
  version: number,
  stored: Persisted,
  migrations: ReadonlyMap<number, Migration>,
): SnapshotFrom<M> => {
  if (stored.machineVersion > version)
    throw new Unloadable(
      `the snapshot is of version ${stored.machineVersion} of machine "${machine.id}", later than ${version}`,
    );
  let persisted = stored;
  try {
    while (persisted.machineVersion < version) {
      const migrate = migrations.get(persisted.machineVersion);
      if (migrate === undefined)
        throw new Error(`no migration leads on from version ${persisted.machineVersion} of machine "${machine.id}"`);
      persisted = migrate(persisted);
    }
    const snapshot = machine.resolveState({
      value: persisted.value as never,
      context: persisted.context,
    }) as SnapshotFrom<M>;
    const { value } = snapshot as unknown as { value: unknown };
    if (!isDeepStrictEqual(value, persisted.value))
      throw new Error(`state ${JSON.stringify(persisted.value)} is now ${JSON.stringify(value)}`);
    return snapshot;
  } catch (cause) {
    throw new Unloadable((cause as Error).message, { cause });
  }
};
