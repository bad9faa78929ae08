import { DEFINITION_MACHINE_VERSION, type DefinitionEvent, definitionMachine } from '../../machines/definition.ts';
import { encodeSnapshot } from '../../machines/persisted.ts';
import { initialSnapshot, take } from '../../machines/transition.ts';
import { ownerAndId, projectOfOwner } from '../../model/definition/owner.ts';
import type { Result } from '../../model/failure.ts';
import type { ActorRecord } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { latestDefinitionSlot } from '../run/program.ts';
import { notFound } from '../run/run-failures.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';
import type { DefinitionState } from '../service/runs-service.ts';
import { type DefinitionPause, type PausedDefinitions, pauseOf, snapshotOf } from './paused-definitions.ts';

/** The rows of definitions that were paused once, by `ownedId`. */
const definitionActorSlot = storedSlot({
  name: 'definition_actor',
  lifetime: 'group',
  keyOf: byId,
  lookup: (id: string) => ({ kind: 'kept_actor', type: 'definition', id }),
  flush: (before, after, changes) => {
    if (after === undefined) return;
    if (before === undefined) changes.actorsInserted.push(after);
    else changes.actorsUpdated.push({ before, after });
  },
});

export type PauseDefinition = {
  readonly kind: 'pause' | 'resume';
  readonly reason?: string;
};

/**
 * Pauses or resumes a definition, in all its versions. Who owns it decides who may.
 * @see Interface decisions, section 13, "Pause", and section 12, "Definitions have an owner"
 */
export const pauseDefinition = (
  host: { readonly paused: Pick<PausedDefinitions, 'set'>; readonly resumed: (definition: string) => void },
  turn: Turn,
  definition: string,
  { kind, reason }: PauseDefinition,
): Result<DefinitionState> => {
  const { definitionOwner: owner, definitionId: id } = ownerAndId(definition);
  const latest = turn.read(latestDefinitionSlot, { owner, id });
  if (latest === undefined) return notFound('definition', id);
  if (latest.owner !== owner)
    return {
      ok: false,
      failure: {
        code: 'forbidden',
        message: `definition ${id} belongs to the service: a key of all projects pauses and resumes it`,
      },
    };
  const answer = (pause: DefinitionPause | undefined): Result<DefinitionState> => ({
    ok: true,
    value: { owner, id, ...(pause === undefined ? {} : { pause }) },
  });
  const record = turn.read(definitionActorSlot, definition);
  const before = record === undefined ? initialSnapshot(definitionMachine) : snapshotOf(record);
  const event: DefinitionEvent =
    kind === 'pause'
      ? { type: 'definition.paused', at: turn.at, ...(reason === undefined ? {} : { reason }) }
      : { type: 'definition.resumed', at: turn.at };
  const taken = take(definitionMachine, before, event);
  if (taken === undefined) return answer(pauseOf(before));
  const next: ActorRecord = {
    type: 'definition',
    id: definition,
    project: owner,
    document: record?.document ?? JSON.stringify({ id, ...projectOfOwner(owner) }),
    snapshot: encodeSnapshot(DEFINITION_MACHINE_VERSION, taken.next),
    status: 'active',
    version: (record?.version ?? 0) + 1,
    createdAt: record?.createdAt ?? turn.at,
    updatedAt: turn.at,
  };
  turn.write(definitionActorSlot, definition, next);
  const pause = pauseOf(taken.next);
  turn.atEnd(() => {
    host.paused.set(definition, pause);
  });
  if (pause === undefined)
    turn.after(() => {
      host.resumed(definition);
    });
  return answer(pause);
};
