import type { ActorRow } from '../run-queries.ts';
import { attemptOf, type Row, runOf } from './records.ts';

/** The value of a snapshot, read without its machine; a snapshot that is no JSON shows as the status of its run. */
const valueOf = (row: Row): string => {
  try {
    return JSON.stringify((JSON.parse(row['snapshot'] as string) as { v?: unknown }).v ?? row['status']);
  } catch {
    return JSON.stringify(row['status']);
  }
};

/** A run, as the list of actors shows it. */
export const runActor = (row: Row): ActorRow => {
  const record = runOf(row);
  return {
    type: 'run',
    id: record.runId,
    project: record.project,
    machine: `run:${record.definitionId}@${record.definitionVersion}`,
    value: valueOf(row),
    status: record.fault !== undefined ? 'quarantined' : record.endedAt === undefined ? 'active' : 'done',
    version: record.version,
    updatedAt: record.updatedAt,
  };
};
/** The same of a lease; the row has the project of its run beside its own columns. */
export const leaseActor = (row: Row): ActorRow => {
  const record = attemptOf(row);
  return {
    type: 'lease',
    id: record.leaseId,
    project: row['project'] as string,
    machine: 'lease',
    value: JSON.stringify(record.state),
    status: record.endedAt === undefined ? 'active' : 'done',
    version: record.version,
    updatedAt: record.endedAt ?? record.startedAt ?? record.offeredAt,
  };
};
