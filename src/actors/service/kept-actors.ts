import { decodeSnapshot } from '../../machines/persisted.ts';
import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import type { ActorRecord, Found, KeptActorType, RunStore } from '../../store/runs/run-store.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { notFound, outOfReach } from '../run/run-failures.ts';
import { type ActorSource, refusedAtSeq } from './actor-directory.ts';
import type { ActorSnapshot } from './runs-service.ts';

const persistedOf = ({ snapshot }: ActorRecord) => {
  try {
    return decodeSnapshot(snapshot);
  } catch {
    return undefined; // the fault of the actor says so
  }
};

/** Actors with a row of their own, newest id first. */
export const createKeptActors = (
  type: KeptActorType,
  host: { readonly store: Pick<RunStore, 'load' | 'listActors'>; readonly mailbox: Kernel['mailbox'] },
): ActorSource => {
  const snapshotOf = async (id: string, reach: ProjectReach): Promise<Result<ActorSnapshot>> => {
    // Read first: the read below may wait for the same commit as these messages, and would find none left.
    const mailbox = host.mailbox({ type, id });
    const [record] = (await host.store.load([{ kind: 'kept_actor', type, id }])) as [Found['kept_actor']];
    if (record === undefined) return notFound(type, id);
    if (!reaches(reach, record.project)) return outOfReach(type);
    const { version, updatedAt, fault } = record;
    const persisted = persistedOf(record);
    return {
      ok: true,
      value: {
        type,
        id,
        machine: type,
        machineVersion: persisted?.machineVersion ?? 0,
        version,
        value: (persisted?.value ?? null) as Json,
        context: (persisted?.context ?? {}) as Json,
        status: fault === undefined ? record.status : 'quarantined',
        updatedAt,
        mailbox,
        ...(fault === undefined ? {} : { fault }),
      },
    };
  };
  return {
    type,
    list: async ({ reach, status, limit, after }) => {
      const rows = await host.store.listActors({
        reach,
        type,
        limit,
        ...(status === undefined ? {} : { status }),
        ...(after === undefined ? {} : { before: after }),
      });
      return rows.map((row) => {
        const { project: _, ...summary } = row;
        return { ...summary, value: JSON.parse(row.value) as Json };
      });
    },
    get: async ({ id, reach, atSeq }) => (atSeq === undefined ? snapshotOf(id, reach) : refusedAtSeq),
  };
};
