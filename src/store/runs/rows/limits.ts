import type { LimitState } from '../../../machines/limit.ts';
import { decodeStarts, encodeStarts } from '../../../model/start-window.ts';
import type { LimitKind, LimitLine, LimitPlace, LimitRecord, Rank } from '../limits.ts';
import type { Row } from './records.ts';

// Keys in use, as rows with columns.

type Columns = readonly (string | number | null)[];

/** A priority as a column, so that all of an index goes upwards. */
export const lowOf = ({ priority }: Rank): number => 0 - priority;

const progressOf = (record: LimitRecord): Columns => [
  record.definitionVersion,
  record.limit,
  record.perMs ?? null,
  record.machineVersion,
  record.state,
  record.version,
  record.used,
  record.waiting,
  record.lines,
  encodeStarts(record.starts, record.steadyAt),
  record.steadyAt,
  record.updatedAt,
  record.dueAt ?? null,
  record.movedAt,
];
export const limitRow = (record: LimitRecord): Columns => [
  record.limitId,
  record.kind,
  record.project,
  record.definitionOwner,
  record.definitionId,
  record.stepId ?? null,
  record.key,
  ...progressOf(record),
];
export const limitProgressRow = (record: LimitRecord): Columns => [...progressOf(record), record.limitId];
export const lineRow = ({ lineId, waitsOn, waiting, lead }: LimitLine): Columns => [
  lineId,
  waitsOn,
  waiting,
  lowOf(lead),
  lead.order,
];
export const placeRow = (place: LimitPlace): Columns => [
  place.order,
  lowOf(place),
  place.runId,
  place.stepId ?? null,
  place.concurrencyId ?? null,
  place.rateId ?? null,
  place.lineId ?? null,
  place.since,
];

export const limitOf = (row: Row): LimitRecord => {
  const steadyAt = row['steady_at'] as number;
  return {
    limitId: row['limit_id'] as string,
    kind: row['kind'] as LimitKind,
    project: row['project'] as string,
    definitionOwner: row['definition_owner'] as string,
    definitionId: row['definition_id'] as string,
    definitionVersion: row['definition_version'] as number,
    ...(row['step_id'] === null ? {} : { stepId: row['step_id'] as string }),
    key: row['key'] as string,
    limit: row['places'] as number,
    ...(row['per_ms'] === null ? {} : { perMs: row['per_ms'] as number }),
    machineVersion: row['machine_version'] as number,
    state: row['state'] as LimitState,
    version: row['version'] as number,
    used: row['used'] as number,
    waiting: row['waiting'] as number,
    lines: row['lines'] as number,
    starts: decodeStarts(row['starts'] as string, steadyAt, row['places'] as number),
    steadyAt,
    updatedAt: row['updated_at'] as number,
    ...(row['due_at'] === null ? {} : { dueAt: row['due_at'] as number }),
    movedAt: row['moved_at'] as number,
  };
};
const rankOf = (row: Row): Rank => ({ priority: 0 - (row['low'] as number), order: row['ord'] as number });
export const lineOf = (row: Row): LimitLine => ({
  lineId: row['line_id'] as string,
  waitsOn: row['waits_on'] as string,
  waiting: row['waiting'] as number,
  lead: rankOf(row),
});
export const placeOf = (row: Row): LimitPlace => ({
  ...rankOf(row),
  runId: row['run_id'] as string,
  ...(row['step_id'] === null ? {} : { stepId: row['step_id'] as string }),
  ...(row['concurrency_id'] === null ? {} : { concurrencyId: row['concurrency_id'] as string }),
  ...(row['rate_id'] === null ? {} : { rateId: row['rate_id'] as string }),
  ...(row['line_id'] === null ? {} : { lineId: row['line_id'] as string }),
  since: row['since'] as number,
});
