import { BULK_MACHINE_VERSION, bulkMachine, bulkMigrations, type BulkSnapshot } from '../../machines/bulk.ts';
import { decodeSnapshot, encodeSnapshot, restore, Unloadable } from '../../machines/persisted.ts';
import type { ActorRecord, RunFilter } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { storedSlot } from '../runs-kernel.ts';
import type { BulkSpec, BulkStatus, BulkView } from './messages.ts';

/** An action on many runs in memory: its row, what it was made of, and its snapshot brought to life. */
export type BulkActor = { record: ActorRecord; readonly spec: BulkSpec; readonly snapshot: BulkSnapshot };

const isLive = (value: ActorRecord | BulkActor): value is BulkActor => 'spec' in value;

export const bulkSlot = storedSlot<string, 'kept_actor', BulkActor>({
  name: 'bulk',
  lifetime: 'kept',
  keyOf: byId,
  lookup: (id) => ({ kind: 'kept_actor', type: 'bulk', id }),
  flush: (before, after, changes) => {
    const previous = before === undefined ? undefined : isLive(before) ? before.record : before;
    if (after === undefined) {
      if (previous !== undefined) changes.actorsRemoved.push({ type: 'bulk', id: previous.id });
      return;
    }
    if (!isLive(after)) {
      if (previous !== undefined && previous !== after) changes.actorsUpdated.push({ before: previous, after });
      return;
    }
    after.record = {
      ...after.record,
      snapshot: encodeSnapshot(BULK_MACHINE_VERSION, after.snapshot),
      version: (previous?.version ?? 0) + 1,
    };
    if (previous === undefined) changes.actorsInserted.push(after.record);
    else changes.actorsUpdated.push({ before: previous, after: after.record });
  },
});

/** The runs of one slice. */
export const matchingRunsSlot = storedSlot({
  name: 'matching_runs',
  lifetime: 'group',
  keyOf: ({
    bulkId,
    after,
  }: {
    readonly bulkId: string;
    readonly query: RunFilter;
    readonly after: string;
    readonly scan: number;
  }) => `${bulkId}/${after}`,
  lookup: ({ query, after, scan }) => ({ kind: 'matching_runs', query, after, scan }),
});

/** @throws Unloadable when this release cannot load it; the message holds no part of the row */
export const reviveBulk = (value: ActorRecord | BulkActor): BulkActor => {
  if (isLive(value)) return value;
  if (value.fault !== undefined) throw new Unloadable(`bulk ${value.id} is quarantined: ${value.fault}`);
  let spec: BulkSpec;
  try {
    spec = JSON.parse(value.document) as BulkSpec;
  } catch {
    throw new Unloadable(`bulk ${value.id} cannot be read: the row is damaged`);
  }
  const snapshot = restore(bulkMachine, BULK_MACHINE_VERSION, decodeSnapshot(value.snapshot), bulkMigrations);
  return { record: value, spec, snapshot };
};

export const bulkView = ({ record, spec, snapshot }: BulkActor): BulkView => {
  const { count, done, refused, startedAt, endedAt } = snapshot.context;
  return {
    bulkId: record.id,
    action: spec.work.action,
    status: snapshot.value as BulkStatus,
    count,
    done,
    refused,
    startedAt,
    ...(endedAt === undefined ? {} : { endedAt }),
  };
};
