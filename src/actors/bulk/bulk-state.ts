import { createHash } from 'node:crypto';
import { BULK_MACHINE_VERSION, bulkMachine, bulkMigrations, type BulkSnapshot } from '../../machines/bulk.ts';
import { decodeSnapshot, encodeSnapshot, restore, Unloadable } from '../../machines/persisted.ts';
import type { Result } from '../../model/failure.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { ActorRecord, RunFilter } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { storedSlot } from '../runs-kernel.ts';
import type { BegunBulk, BulkSpec, BulkStatus, BulkView } from './messages.ts';

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

const ID_BYTES = 16;

/**
 * The id of the action under an idempotency key, so that the key is found where the action is, for as long as it is kept.
 * @param reach the projects of its runs: keys are unique among the actions on the same ones
 */
export const keyedBulkId = (reach: ProjectReach, key: string): string =>
  createHash('sha256')
    .update(JSON.stringify([reach === 'all' ? reach : reach.toSorted(), key]))
    .digest()
    .subarray(0, ID_BYTES)
    .toString('base64url');

/** Begins the keys under which its runs take it once: no other action has it, not even one with the same id. */
export const keyPrefixOf = ({ record, spec }: Pick<BulkActor, 'record' | 'spec'>): string =>
  `bulk/${spec.keyed?.nonce ?? record.id}/`;

/** What a call is answered whose key has an action. */
export const begunBefore = ({ record, spec, snapshot }: BulkActor, digest: string): Result<BegunBulk> => {
  const { keyed } = spec;
  if (keyed?.digest === digest) {
    const { count } = snapshot.context;
    return { ok: true, value: { bulkId: record.id, begun: false, count, sample: keyed.sample } };
  }
  const message = `this key began action ${record.id} with another body: send that body again, or use another key`;
  return { ok: false, failure: { code: 'conflict', message, field: 'idempotency_key' } };
};
