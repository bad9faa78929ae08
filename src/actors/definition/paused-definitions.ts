import {
  DEFINITION_MACHINE_VERSION,
  definitionMachine,
  definitionMigrations,
  type DefinitionSnapshot,
} from '../../machines/definition.ts';
import { decodeSnapshot, restore, Unloadable } from '../../machines/persisted.ts';
import { initialSnapshot, step } from '../../machines/transition.ts';
import { ownedId } from '../../model/definition/owner.ts';
import type { UnixMs } from '../../model/run.ts';
import type { ActorRecord, Found, RunStore } from '../../store/runs/run-store.ts';
import type { PinnedDefinition } from '../run/program.ts';

/** Since when a definition is paused, and why. */
export type DefinitionPause = { readonly since: UnixMs; readonly reason?: string };

/** Rows that one read brings. */
const SLICE = 500;

/** A row that cannot be read counts as paused: what somebody stopped does not go on because its row is damaged, and a resume mends it. */
export const snapshotOf = (record: ActorRecord): DefinitionSnapshot => {
  try {
    return restore(
      definitionMachine,
      DEFINITION_MACHINE_VERSION,
      decodeSnapshot(record.snapshot),
      definitionMigrations,
    );
  } catch (error) {
    if (!(error instanceof Unloadable)) throw error;
    const paused = { type: 'definition.paused', at: record.updatedAt } as const;
    return step(definitionMachine, initialSnapshot(definitionMachine), paused).next;
  }
};

export const pauseOf = ({ context }: DefinitionSnapshot): DefinitionPause | undefined =>
  context.pausedAt === undefined
    ? undefined
    : { since: context.pausedAt, ...(context.reason === undefined ? {} : { reason: context.reason }) };

/**
 * The definitions that are paused, in memory: there are few, and each start and each offer asks. It follows the turn that changes it, as
 * the dispatcher's queues do, and is read again when a commit failed.
 * @param host.changed called for each definition that is paused or resumed, by `ownedId`
 */
export const createPausedDefinitions = (host: {
  readonly store: Pick<RunStore, 'load'>;
  readonly changed: (definition: string) => void;
}) => {
  const paused = new Map<string, DefinitionPause>();
  const set = (definition: string, pause: DefinitionPause | undefined): void => {
    if (pause === undefined) paused.delete(definition);
    else paused.set(definition, pause);
    host.changed(definition);
  };
  return {
    set,
    /** By `ownedId`. */
    find: (definition: string): DefinitionPause | undefined => paused.get(definition),
    holds: ({ definitionOwner, definitionId }: Omit<PinnedDefinition, 'definitionVersion'>): boolean =>
      paused.size > 0 && paused.has(ownedId(definitionOwner, definitionId)),
    /** Reads them from the store. @returns those that are paused no more, by `ownedId` */
    reload: async (): Promise<readonly string[]> => {
      const found = new Map<string, DefinitionPause>();
      for (let after = ''; ; ) {
        const lookup = {
          kind: 'kept_actors',
          type: 'definition',
          which: { changedAfter: Number.MIN_SAFE_INTEGER },
          after,
          limit: SLICE,
        } as const;
        const [records] = (await host.store.load([lookup])) as [Found['kept_actors']];
        for (const record of records) {
          const pause = pauseOf(snapshotOf(record));
          if (pause !== undefined) found.set(record.id, pause);
        }
        const last = records.at(-1);
        if (last === undefined) break;
        after = last.id;
      }
      const resumed = [...paused.keys()].filter((definition) => !found.has(definition));
      for (const definition of resumed) set(definition, undefined);
      for (const [definition, pause] of found) set(definition, pause);
      return resumed;
    },
  };
};
export type PausedDefinitions = ReturnType<typeof createPausedDefinitions>;
