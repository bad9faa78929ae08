import type { LeaseState } from '../../../machines/lease.ts';
import type { Delivery } from '../../../model/definition/definition.ts';
import type { HeldReason, RunStatus, RunUsage } from '../../../model/run.ts';
import type { ProjectReach } from '../../../model/scope.ts';
import type { RunPlaces } from '../limits.ts';
import type { ChildResult } from '../lookups.ts';
import type {
  ActorRecord,
  AttemptRecord,
  DefinitionRecord,
  JournalRow,
  KeptActorType,
  ParkedEvent,
  ParkedEventSummary,
  RestartedFrom,
  RunRecord,
  SeenEvent,
  TimerRecord,
  WaitRecord,
  WorkerRecord,
} from '../records.ts';

/** A row as the driver gives it: columns by name, NULL for what is absent. */
export type Row = Readonly<Record<string, string | number | null>>;

const text = (row: Row, column: string): string => row[column] as string;
const number = (row: Row, column: string): number => row[column] as number;
/** One field, or none: a record has no key for what is absent. */
const textAs = <K extends string>(key: K, value: Row[string] | undefined): { readonly [N in K]?: string } =>
  typeof value === 'string' ? ({ [key]: value } as { [N in K]: string }) : {};
const numberAs = <K extends string>(key: K, value: Row[string] | undefined): { readonly [N in K]?: number } =>
  typeof value === 'number' ? ({ [key]: value } as { [N in K]: number }) : {};

/** A column that cannot be read stops no list of others: those who get the record quarantine the run. */
const descendantsAs = (
  value: Row[string] | undefined,
): { readonly descendants?: RunUsage; readonly damage?: string } => {
  if (typeof value !== 'string') return {};
  try {
    return { descendants: JSON.parse(value) as RunUsage };
  } catch {
    return { damage: 'what its descendants spent' };
  }
};

const placesAs = (value: Row[string] | undefined): { readonly places?: RunPlaces; readonly damage?: string } => {
  if (typeof value !== 'string') return {};
  try {
    return { places: JSON.parse(value) as RunPlaces };
  } catch {
    return { damage: 'its keys' };
  }
};

const restartedFromAs = (
  value: Row[string] | undefined,
): { readonly restartedFrom?: RestartedFrom; readonly damage?: string } => {
  if (typeof value !== 'string') return {};
  try {
    return { restartedFrom: JSON.parse(value) as RestartedFrom };
  } catch {
    return { damage: 'the run that it was restarted from' };
  }
};

export const runOf = (row: Row): RunRecord => ({
  runId: text(row, 'run_id'),
  traceId: text(row, 'trace_id'),
  project: text(row, 'project'),
  definitionOwner: text(row, 'definition_owner'),
  definitionId: text(row, 'definition_id'),
  definitionVersion: number(row, 'definition_version'),
  correlation: text(row, 'correlation'),
  ...textAs('userId', row['user_id']),
  ...textAs('idempotencyKey', row['idempotency_key']),
  createdAt: number(row, 'created_at'),
  ...numberAs('startAt', row['start_at']),
  ...numberAs('deadlineAt', row['deadline_at']),
  priority: number(row, 'priority'),
  ...(row['parent_run_id'] === null
    ? {}
    : {
        parent: {
          runId: text(row, 'parent_run_id'),
          stepId: text(row, 'parent_step_id'),
          visit: number(row, 'parent_visit'),
          index: number(row, 'parent_index'),
        },
      }),
  depth: number(row, 'depth'),
  ...restartedFromAs(row['restarted_from']),
  status: text(row, 'status') as RunStatus,
  ...textAs('cursor', row['cursor']),
  snapshot: text(row, 'snapshot'),
  version: number(row, 'version'),
  updatedAt: number(row, 'updated_at'),
  ...numberAs('endedAt', row['ended_at']),
  ...numberAs('queueOrder', row['queue_order']),
  ...placesAs(row['places']),
  ...(row['held'] === null ? {} : { held: text(row, 'held') as HeldReason }),
  ...descendantsAs(row['descendants']),
  ...textAs('fault', row['fault']),
});

export const attemptOf = (row: Row): AttemptRecord => ({
  leaseId: text(row, 'lease_id'),
  runId: text(row, 'run_id'),
  stepId: text(row, 'step_id'),
  visit: number(row, 'visit'),
  attempt: number(row, 'attempt'),
  workerId: text(row, 'worker_id'),
  delivery: text(row, 'delivery') as Delivery,
  offeredAt: number(row, 'offered_at'),
  machineVersion: number(row, 'machine_version'),
  version: number(row, 'version'),
  state: text(row, 'state') as LeaseState,
  bodyRan: row['body_ran'] === 1,
  expiresAt: number(row, 'expires_at'),
  ...numberAs('startedAt', row['started_at']),
  ...numberAs('endedAt', row['ended_at']),
  ...numberAs('timeoutAt', row['timeout_at']),
  ...numberAs('heartbeatAt', row['heartbeat_at']),
  ...textAs('error', row['error']),
  ...textAs('usage', row['usage']),
  ...textAs('cost', row['cost']),
  ...textAs('details', row['details']),
});

export const journalOf = (row: Row): JournalRow => ({
  runId: text(row, 'run_id'),
  firstSeq: number(row, 'first_seq'),
  lastSeq: number(row, 'last_seq'),
  entries: text(row, 'entries'),
  events: text(row, 'events'),
});

export const childResultOf = (row: Row): ChildResult => ({
  index: number(row, 'parent_index'),
  runId: text(row, 'run_id'),
  status: text(row, 'status') as RunStatus,
  ...textAs('output', row['body']),
  ...textAs('snapshot', row['snapshot']),
});

export const timerOf = (row: Row): TimerRecord => ({
  runId: text(row, 'run_id'),
  name: text(row, 'name'),
  ...numberAs('dueAt', row['due_at']),
  ...textAs('stepId', row['step_id']),
  ...(row['steady_due_at'] === null
    ? {}
    : {
        countdown: {
          dueAt: number(row, 'steady_due_at'),
          setAt: number(row, 'set_at'),
          ms: number(row, 'runs_ms'),
        },
      }),
});

export const waitOf = (row: Row): WaitRecord => ({
  runId: text(row, 'run_id'),
  project: text(row, 'project'),
  event: text(row, 'event'),
  key: text(row, 'key'),
  stepId: text(row, 'step_id'),
  since: number(row, 'since'),
  order: number(row, 'ord'),
  ...numberAs('deadlineAt', row['deadline_at']),
});

export const parkedOf = (row: Row): ParkedEvent => ({
  order: number(row, 'ord'),
  project: text(row, 'project'),
  event: text(row, 'event'),
  key: text(row, 'key'),
  payload: text(row, 'payload'),
  at: number(row, 'at'),
  ...textAs('eventId', row['event_id']),
});

export const parkedSummaryOf = (row: Row): ParkedEventSummary => ({
  order: number(row, 'ord'),
  project: text(row, 'project'),
  event: text(row, 'event'),
  key: text(row, 'key'),
  at: number(row, 'at'),
  payloadBytes: number(row, 'payload_bytes'),
  ...textAs('eventId', row['event_id']),
});

export const seenOf = (row: Row): SeenEvent => ({
  project: text(row, 'project'),
  eventId: text(row, 'event_id'),
  at: number(row, 'at'),
  ...textAs('runId', row['run_id']),
});

export const definitionOf = (row: Row): DefinitionRecord => ({
  owner: text(row, 'owner'),
  id: text(row, 'id'),
  version: number(row, 'version'),
  document: text(row, 'document'),
  hash: text(row, 'hash'),
  createdAt: number(row, 'created_at'),
});

export const actorOf = (row: Row): ActorRecord => ({
  type: text(row, 'type') as KeptActorType,
  id: text(row, 'id'),
  project: text(row, 'project'),
  document: text(row, 'document'),
  snapshot: text(row, 'snapshot'),
  status: text(row, 'status') as ActorRecord['status'],
  version: number(row, 'version'),
  createdAt: number(row, 'created_at'),
  updatedAt: number(row, 'updated_at'),
  ...textAs('fault', row['fault']),
});

export const workerOf = (row: Row): WorkerRecord => ({
  workerId: text(row, 'worker_id'),
  ...textAs('name', row['name']),
  ...textAs('version', row['version']),
  ...textAs('project', row['project']),
  ...numberAs('concurrency', row['concurrency']),
  owner: text(row, 'owner'),
  definitions: JSON.parse(text(row, 'definitions')) as WorkerRecord['definitions'],
  lastSeenAt: number(row, 'last_seen_at'),
  ...(typeof row['reach'] === 'string' ? { registeredBy: JSON.parse(row['reach']) as ProjectReach } : {}),
});
