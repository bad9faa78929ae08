import { waitingOnOf } from '../../runs/run-conditions.ts';
import type { Row as StoredRow } from '../../runs/rows/records.ts';
import type { RunRecord } from '../../runs/records.ts';
import type { Ask, Bound } from '../connection.ts';
import { type Columns, columns } from '../insert.ts';
import { originalText, storedText } from './stored-text.ts';

/** A value of a row as it is bound. */
export type Value = string | number | null;

export const SHARD: Columns = columns('int4', 'shard');
const text = (names: string): Columns => columns('text', names);
const int = (names: string): Columns => columns('int8', names);

// Columns in the order in which `store/runs/rows/` gives their values; the shard, and what an engine lifts out of them, comes behind.

/** What of a run an update may change. */
export const RUN_PROGRESS: Columns = [
  ...text('status cursor snapshot'),
  ...int('version updated_at ended_at queue_order'),
  ...text('fault descendants held places waiting_on'),
  ...int('place_order'),
];
export const RUN_IN_ORDER: Columns = [
  ...text('run_id trace_id project definition_id'),
  ...int('definition_version'),
  ...text('correlation user_id idempotency_key'),
  ...int('created_at deadline_at'),
  ...text('parent_run_id parent_step_id'),
  ...int('parent_visit parent_index depth'),
  ...text('status cursor snapshot'),
  ...int('version updated_at ended_at queue_order'),
  ...text('fault descendants definition_owner'),
  ...int('start_at priority'),
  ...text('held places restarted_from'),
];
export const RUN: Columns = [
  ...RUN_IN_ORDER,
  ...text('waiting_on session_id restarted_from_run'),
  ...int('place_order'),
  ...SHARD,
];
export const ATTEMPT_PROGRESS: Columns = [
  ...text('state'),
  ...int('body_ran expires_at started_at ended_at timeout_at'),
  ...text('error usage cost details'),
  ...int('machine_version version heartbeat_at'),
];
export const ATTEMPT_IN_ORDER: Columns = [
  ...text('lease_id run_id step_id'),
  ...int('visit attempt'),
  ...text('worker_id delivery'),
  ...int('offered_at'),
  ...ATTEMPT_PROGRESS,
];
export const ATTEMPT: Columns = [...ATTEMPT_IN_ORDER, ...SHARD];
export const JOURNAL: Columns = [...text('run_id'), ...int('first_seq last_seq'), ...text('entries events')];
export const CHECKPOINT: Columns = [...text('run_id'), ...int('seq'), ...text('snapshot')];
export const DOCUMENT: Columns = [...text('run_id name body'), ...int('entry')];
export const OUTPUT: Columns = [...text('run_id step_id'), ...int('visit'), ...text('body')];
export const TIMER_IN_ORDER: Columns = [
  ...text('run_id name'),
  ...int('due_at'),
  ...text('step_id'),
  ...int('steady_due_at set_at runs_ms'),
];
export const TIMER: Columns = [...TIMER_IN_ORDER, ...SHARD];
export const WAIT_IN_ORDER: Columns = [...text('run_id project event key step_id'), ...int('since ord deadline_at')];
export const WAIT: Columns = [...WAIT_IN_ORDER, ...SHARD];
export const PARKED_IN_ORDER: Columns = [
  ...int('ord'),
  ...text('project event key payload'),
  ...int('at'),
  ...text('event_id'),
];
export const PARKED: Columns = [...PARKED_IN_ORDER, ...SHARD];
export const EVENT_SEEN_IN_ORDER: Columns = [...text('project event_id'), ...int('at'), ...text('run_id')];
export const EVENT_SEEN: Columns = [...EVENT_SEEN_IN_ORDER, ...SHARD];
export const DEFINITION: Columns = [
  ...text('id owner'),
  ...int('version'),
  ...text('document hash'),
  ...int('created_at'),
];
export const WORKER: Columns = [
  ...text('worker_id name version project'),
  ...int('concurrency'),
  ...text('definitions'),
  ...int('last_seen_at'),
  ...text('reach owner'),
];
export const OUTBOX_IN_ORDER: Columns = [...int('no'), ...text('run_id span')];
export const OUTBOX: Columns = [...OUTBOX_IN_ORDER, ...SHARD];
export const ACTOR_IN_ORDER: Columns = [
  ...text('type id project document snapshot status'),
  ...int('version created_at updated_at'),
  ...text('fault'),
];
export const ACTOR: Columns = [...ACTOR_IN_ORDER, ...SHARD];
export const TREE: Columns = [...text('trace_id'), ...int('descendants')];
export const LIMIT_PROGRESS: Columns = [
  ...int('definition_version places per_ms machine_version'),
  ...text('state'),
  ...int('version used waiting lines'),
  ...text('starts'),
  ...int('steady_at updated_at due_at moved_at'),
];
export const LIMIT_IN_ORDER: Columns = [
  ...text('limit_id kind project definition_owner definition_id step_id key'),
  ...LIMIT_PROGRESS,
];
export const LIMIT: Columns = [...LIMIT_IN_ORDER, ...SHARD];
export const LINE_IN_ORDER: Columns = [...text('line_id waits_on'), ...int('waiting low ord')];
export const LINE: Columns = [...LINE_IN_ORDER, ...SHARD];
export const PLACE_IN_ORDER: Columns = [
  ...int('ord low'),
  ...text('run_id step_id concurrency_id rate_id line_id'),
  ...int('since'),
];
export const PLACE: Columns = [...PLACE_IN_ORDER, ...SHARD];

/** A row as it is stored. */
export const stored = (row: readonly Value[]): Value[] =>
  row.map((value) => (typeof value === 'string' ? storedText(value) : value));

const textIn = (json: string, name: string): string | null => {
  try {
    const value = (JSON.parse(json) as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
};

/** What lists ask for and stands inside of a run's texts: what it waits for beside a worker, and its place in the line of a key. */
export const liftedProgress = (record: RunRecord): readonly [waitingOn: string | null, placeOrder: number | null] => {
  const waitingOn = waitingOnOf(record, () => false);
  return [
    waitingOn === undefined || waitingOn === 'worker' ? null : waitingOn,
    (record.places?.step ?? record.places?.run)?.order ?? null,
  ];
};
/** The same of what never changes. */
export const liftedIdentity = (
  record: RunRecord,
): readonly [sessionId: string | null, restartedFrom: string | null] => [
  textIn(record.correlation, 'session_id'),
  record.restartedFrom?.runId ?? null,
];

/** Names of columns, each of a table that a statement names by this letter. */
export const of = (columnsOf: Columns, letter: string): readonly string[] =>
  columnsOf.map(([name]) => `${letter}.${name}`);

const nameOf = (column: string): string => column.slice(Math.max(column.lastIndexOf(' '), column.lastIndexOf('.')) + 1);

/**
 * Reads rows by the names of their columns.
 * @param columnsRead `letter.name`, or an expression with `AS name`
 * @param rest what follows the list of columns
 */
export const readRows = async (
  ask: Ask,
  columnsRead: readonly string[],
  rest: string,
  values: readonly Bound[] = [],
): Promise<StoredRow[]> => {
  const names = columnsRead.map(nameOf);
  const rows = await ask<(string | number | bigint | null)[]>(`SELECT ${columnsRead.join(', ')} ${rest}`, values);
  return rows.map((row) => {
    const read: Record<string, Value> = {};
    names.forEach((name, place) => {
      const value = row[place] ?? null;
      read[name] = typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? originalText(value) : value;
    });
    return read;
  });
};
