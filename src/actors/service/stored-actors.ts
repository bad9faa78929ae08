import { isLive } from '../../machines/lease.ts';
import { decodeSnapshot } from '../../machines/persisted.ts';
import { RUN_MACHINE_VERSION } from '../../machines/run.ts';
import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import { hasEnded } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { AttemptRecord, RunRecord, RunStore } from '../../store/runs/run-store.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { afterEntry, notIssued } from '../lease/lease-past.ts';
import { entriesUpTo, entryAt, snapshotAt } from '../run/replay.ts';
import { notFound } from '../run/run-failures.ts';
import type { ActorSource } from './actor-directory.ts';
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

  const noted = (error: unknown): never => {
    if (error instanceof Damaged) host.damaged(error);
    throw error;
  };

  const leaseSnapshot = async (
    leaseId: string,
    reach: ProjectReach,
    atSeq: number | undefined,
  ): Promise<Result<ActorSnapshot>> => {
    // Read first: the reads below may wait for the same commit as these messages, and would find none left.
    const mailbox = host.mailbox({ type: 'lease', id: leaseId });
    const record = await store.findAttempt(leaseId);
    if (record === undefined) return notFound('lease', leaseId);
    const run = await visible(record.runId, reach);
    if (!run.ok) return run;
    const { runId, machineVersion, version, delivery } = record;
    const summary = { type: 'lease', id: leaseId, machine: 'lease', machineVersion, runId, version, mailbox } as const;
    if (atSeq !== undefined) return leaseAt({ ...summary, record }, atSeq);
    return {
      ok: true,
      value: {
        ...summary,
        ...(record.heartbeatAt === undefined ? {} : { lastHeartbeatAt: record.heartbeatAt }),
        value: record.state,
        context: { delivery, bodyRan: record.bodyRan, expiresAt: record.expiresAt },
        status: isLive(record.state) ? 'active' : 'done',
        updatedAt: record.endedAt ?? record.startedAt ?? record.offeredAt,
      },
    };
  };

  /** A lease has no journal of its own: what is known of its past stands in that of its run. */
  const leaseAt = async (
    {
      record,
      ...summary
    }: Pick<ActorSnapshot, 'type' | 'id' | 'machine' | 'machineVersion' | 'version' | 'mailbox'> & {
      readonly runId: string;
      readonly record: AttemptRecord;
    },
    seq: number,
  ): Promise<Result<ActorSnapshot>> => {
    const { id: leaseId, runId } = summary;
    const entries = await entriesUpTo(store, runId, seq).catch(noted);
    const last = entries.at(-1);
    if (last?.seq !== seq) return notFound('journal entry', `${seq} of run ${runId}`);
    // What ended meanwhile was not read with its end.
    const { state: ended } = (await store.findAttempt(leaseId)) ?? record;
    let past = notIssued;
    for (const entry of entries) past = afterEntry(past, entry, { leaseId, ended });
    return {
      ok: true,
      value: {
        ...summary,
        value: past.state,
        context: { delivery: record.delivery, bodyRan: past.bodyRan },
        status: past.state === 'unissued' || isLive(past.state) ? 'active' : 'done',
        updatedAt: last.at,
      },
    };
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
      get: ({ id, reach, atSeq }) => leaseSnapshot(id, reach, atSeq),
    },
  ];
};
