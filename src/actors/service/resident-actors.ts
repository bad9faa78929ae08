import type { ResidentActor, ResidentState } from '../../machines/resident.ts';
import { notFound } from '../run/run-failures.ts';
import { type ActorSource, refusedAtSeq } from './actor-directory.ts';
import type { ActorSummary } from './runs-service.ts';

/** The id of every resident actor: there is one of its type. */
const RESIDENT_ID = 'main';

const summaryOf = (type: string, { value, version, updatedAt }: ResidentState): ActorSummary => ({
  type,
  id: RESIDENT_ID,
  machine: type,
  value,
  status: value === 'closed' ? 'done' : 'active',
  version,
  updatedAt,
});

/** Timer, pipeline, dispatcher and outbox in the list of actors. They belong to no project, so every key may see them. */
export const createResidentActors = (residents: readonly ResidentActor[]): readonly ActorSource[] =>
  residents.map(({ machine, version: machineVersion, state, read }) => {
    const type = machine.id;
    return {
      type,
      list: async ({ status, after }) => {
        const summary = summaryOf(type, state());
        return after === undefined && (status === undefined || status === summary.status) ? [summary] : [];
      },
      get: async ({ id, reach, atSeq }) => {
        if (id !== RESIDENT_ID) return notFound('actor', `${type}/${id}`);
        if (atSeq !== undefined) return refusedAtSeq;
        const snapshot = await read(reach);
        const { context, mailbox } = snapshot;
        return { ok: true, value: { ...summaryOf(type, snapshot), machineVersion, context, mailbox } };
      },
    };
  });
