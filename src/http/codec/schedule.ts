import type { ScheduleView } from '../../actors/schedule/messages.ts';
import type { ListedSchedule } from '../../actors/service/runs-service.ts';
import { Refusal } from '../../model/failure.ts';
import type { components } from '../../model/generated/openapi.ts';
import type { Json } from '../../model/json.ts';
import type { UnixMs } from '../../model/run.ts';
import type { GivenSchedule } from '../../model/schedule/parse.ts';
import type { FiringRecord, Timing } from '../../model/schedule/schedule.ts';
import { millisFromUnixNano, parseTimestamp } from '../../model/time.ts';
import { given } from '../lists/listing.ts';
import { instantIfKnown, instantToWire } from './instant.ts';

type Schemas = components['schemas'];

// Fields that hold `undefined` are left out when the answer is written; hence the casts below.

/** @throws Refusal on the member */
const instantOf = (field: 'starts_at' | 'ends_at', text: string | undefined): UnixMs | undefined => {
  if (text === undefined) return undefined;
  const at = parseTimestamp(text);
  if (at !== undefined) return millisFromUnixNano(at);
  throw new Refusal({
    code: 'invalid_body',
    message: `${field} is no RFC 3339 time that can be kept; write it as 2026-11-20T09:00:00Z`,
    field,
  });
};

/** @throws Refusal `invalid_body` on a time that cannot be read */
export const scheduleFromWire = (body: Schemas['ChangedSchedule']): GivenSchedule => ({
  definitionId: body.definition_id,
  ...given({
    input: body.input as Json | undefined,
    correlation: body.correlation,
    priority: body.priority,
    cron: body.cron,
    timezone: body.timezone,
    everyMs: body.every_ms,
    overlap: body.overlap,
    catchUp: body.catch_up,
    catchUpWindowMs: body.catch_up_window_ms,
    jitterMs: body.jitter_ms,
    startsAt: instantOf('starts_at', body.starts_at),
    endsAt: instantOf('ends_at', body.ends_at),
  }),
});

const firingToWire = (one: FiringRecord): Schemas['Firing'] =>
  ({
    nominal_at: instantToWire(one.nominalAt),
    trigger_id: one.triggerId,
    fired_at: one.outcome === 'started' ? instantToWire(one.firedAt) : undefined,
    run_id: one.runId,
    outcome: one.outcome,
    reason: one.outcome === 'skipped' ? one.reason : undefined,
  }) as Schemas['Firing'];

const timingToWire = (timing: Timing) =>
  timing.kind === 'cron' ? { cron: timing.cron, timezone: timing.timezone } : { every_ms: timing.everyMs };

/** A schedule as lists show it: without its input. */
export const listedScheduleToWire = (schedule: ListedSchedule): Schemas['ListedSchedule'] => {
  if ('fault' in schedule) return schedule;
  const [last] = schedule.firings;
  return {
    id: schedule.id,
    project: schedule.project,
    definition_id: schedule.spec.definitionId,
    ...timingToWire(schedule.spec.timing),
    status: schedule.status,
    next_at: instantIfKnown(schedule.nextTimes[0]),
    last_firing: last && firingToWire(last),
    started: schedule.started,
    skipped: schedule.skipped,
  } as Schemas['ListedSchedule'];
};

export const scheduleToWire = (schedule: ScheduleView): Schemas['Schedule'] => {
  const { spec, waiting } = schedule;
  return {
    id: schedule.id,
    project: schedule.project,
    definition_id: spec.definitionId,
    input: spec.input,
    correlation: spec.correlation,
    priority: spec.priority,
    ...timingToWire(spec.timing),
    overlap: spec.overlap,
    catch_up: spec.catchUp,
    catch_up_window_ms: spec.catchUpWindowMs,
    jitter_ms: spec.jitterMs,
    starts_at: instantIfKnown(spec.startsAt),
    ends_at: instantIfKnown(spec.endsAt),
    status: schedule.status,
    created_at: instantToWire(schedule.createdAt),
    updated_at: instantToWire(schedule.updatedAt),
    paused_at: instantIfKnown(schedule.pausedAt),
    next_times: schedule.nextTimes.map(instantToWire),
    firings: schedule.firings.map(firingToWire),
    started: schedule.started,
    skipped: schedule.skipped,
    running: schedule.running,
    waiting: waiting && { nominal_at: instantToWire(waiting.nominalAt), trigger_id: waiting.triggerId },
  } as Schemas['Schedule'];
};
