import { isLive } from '../../machines/lease.ts';
import { decodeSnapshot } from '../../machines/persisted.ts';
import { RUN_MACHINE_VERSION } from '../../machines/run.ts';
import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import { hasEnded } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { RunRecord, RunStore } from '../../store/runs/run-store.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { entryAt, snapshotAt } from '../run/replay.ts';
import { notFound } from '../run/run-failures.ts';
import { type ActorSource, refusedAtSeq } from './actor-directory.ts';
import type { ActorSnapshot } from './runs-service.ts';
import type { StoredRuns } from './stored-runs.ts';
import { Damaged } from '../run/quarantined.ts';

const readable = (record: RunRecord) => {
  try {
    return decodeSnapshot(record.snapshot);
  } catch {
    return undefined; // the actor list names the fault
  }
};

/** Runs and leases: actors that are rows of the store, newest first. */
export const createStoredActors = (host: {
  /** A read met a row of a run that is damaged. */
  readonly damaged: (damage: Damaged) => void;
  readonly store: Pick<RunStore, 'listActors' | 'findAttempt' | 'checkpoint' | 'journal'>;
  readonly storedRuns: StoredRuns;
  /** Messages to an actor that are not answered yet. */
  readonly mailbox: Kernel['mailbox'];
}): readonly ActorSource[] => {
  const { store } = host;
  const { visible, programOf } = host.storedRuns;

  const leaseSnapshot = async (leaseId: string, reach: ProjectReach): Promise<Result<ActorSnapshot>> => {
    // Read first: the reads below may wait for the same commit as these messages, and would find none left.
    const mailbox = host.mailbox({ type: 'lease', id: leaseId });
    const record = await store.findAttempt(leaseId);
    if (record === undefined) return notFound('lease', leaseId);
    const run = await visible(record.runId, reach);
    if (!run.ok) return run;
    return {
      ok: true,
      value: {
        type: 'lease',
        id: leaseId,
        machine: 'lease',
        machineVersion: record.machineVersion,
        runId: record.runId,
        ...(record.heartbeatAt === undefined ? {} : { lastHeartbeatAt: record.heartbeatAt }),
        version: record.version,
        value: record.state,
        context: { delivery: record.delivery, bodyRan: record.bodyRan, expiresAt: record.expiresAt },
        status: isLive(record.state) ? 'active' : 'done',
        updatedAt: record.endedAt ?? record.startedAt ?? record.offeredAt,
        mailbox,
      },
    };
  };

  const noted = (error: unknown): never => {
    if (error instanceof Damaged) host.damaged(error);
    throw error;
  };

  const runSnapshot = async (
    runId: string,
    reach: ProjectReach,
    atSeq: number | undefined,
  ): Promise<Result<ActorSnapshot>> => {
    const mailbox = host.mailbox({ type: 'run', id: runId });
    const found = await visible(runId, reach);
    if (!found.ok) return found;
    const record = found.value;
    const summary = {
      type: 'run',
      id: runId,
      machine: `run:${record.definitionId}@${record.definitionVersion}`,
      version: record.version,
      updatedAt: record.updatedAt,
      mailbox,
    } as const;
    if (atSeq !== undefined) {
      const program = await programOf(record);
      const snapshot = program === undefined ? undefined : await snapshotAt(store, program, runId, atSeq).catch(noted);
      if (snapshot === undefined) return notFound('journal entry', `${atSeq} of run ${runId}`);
      return {
        ok: true,
        value: {
          ...summary,
          machineVersion: RUN_MACHINE_VERSION,
          value: snapshot.value as Json,
          context: JSON.parse(JSON.stringify(snapshot.context)) as Json,
          status: typeof snapshot.value === 'string' && snapshot.value !== 'created' ? 'done' : 'active',
          updatedAt: (await entryAt(store, runId, atSeq))?.at ?? record.updatedAt,
        },
      };
    }
    const { fault } = record;
    const persisted = readable(record);
    return {
      ok: true,
      value: {
        ...summary,
        machineVersion: persisted?.machineVersion ?? 0,
        value: (persisted?.value ?? record.status) as Json,
        context: (persisted?.context ?? {}) as Json,
        status: fault !== undefined ? 'quarantined' : hasEnded(record.status) ? 'done' : 'active',
        ...(fault === undefined ? {} : { fault }),
      },
    };
  };

  const list =
    (type: 'run' | 'lease'): ActorSource['list'] =>
    async ({ reach, status, limit, after }) => {
      const rows = await store.listActors({
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
    };

  return [
    { type: 'run', list: list('run'), get: ({ id, reach, atSeq }) => runSnapshot(id, reach, atSeq) },
    {
      type: 'lease',
      list: list('lease'),
      get: async ({ id, reach, atSeq }) => (atSeq === undefined ? leaseSnapshot(id, reach) : refusedAtSeq),
    },
  ];
};
