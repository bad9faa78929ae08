import { type Place, placeOf, type RunEvent, START_TIMER, statusOf, visitOf } from '../../machines/run.ts';
import type { JsonObject } from '../../model/json.ts';
import { type HeldReason, type JournalEntry, type JournalKind, moneyOf } from '../../model/run.ts';
import type { LimitRecord } from '../../store/runs/run-store.ts';
import { errorData } from './error-data.ts';
import { stepAt } from './program.ts';
import { willRetry } from './run-state.ts';
import type { Moment } from './steps/step-host.ts';
import { hostOf } from './steps/step-hosts.ts';
import type { Work } from './work.ts';

/** The journal entry that the machine asked for. @see Interface specification, "Journal" */
export const journalEntryOf = (work: Work, kind: JournalKind, moment: Moment): Omit<JournalEntry, 'seq' | 'at'> => {
  const { event, from, before } = moment;
  const isOfNext = kind === 'cursor.moved' || kind === 'run.waiting' || kind === 'step.leased';
  const place = isOfNext ? placeOf(work.snapshot.value) : from;
  const of = isOfNext ? work.snapshot.context : before;
  const leaseId = 'leaseId' in event ? event.leaseId : undefined;
  return {
    kind,
    ...(place.at === 'step' && kind !== 'run.finished' ? { stepId: place.step, visit: visitOf(of, place.step) } : {}),
    // The lease that led here; a step that was just entered has no attempt of its own yet.
    ...(leaseId === undefined ? {} : { leaseId, ...(of.attempt === 0 ? {} : { attempt: of.attempt }) }),
    ...(event.type === 'step.offered' ? { workerId: event.workerId } : {}),
    data: dataOf(work, kind, event, from),
  };
};

const dataOf = (work: Work, kind: JournalKind, event: RunEvent, from: Place): JsonObject => {
  const { context } = work.snapshot;
  const to = placeOf(work.snapshot.value);
  switch (kind) {
    case 'run.started':
      return {
        definition_id: work.record.definitionId,
        definition_version: work.record.definitionVersion,
        ...(work.record.parent === undefined ? {} : { parent_run_id: work.record.parent.runId }),
        ...restartData(work),
        ...(event.type === 'run.started' && event.startAt !== undefined ? { start_at: event.startAt } : {}),
      };
    case 'run.held':
      return work.heldBy === undefined ? { reason: 'paused' } : heldData(work.heldBy, work.heldOn);
    case 'cursor.moved':
      return from.at === 'step' ? { from: from.step } : {};
    case 'step.finished':
      return usageData(event);
    case 'step.failed': {
      const error = 'error' in event ? event.error : undefined;
      const retries = to.at === 'step' && willRetry(to.phase);
      return {
        ...(error === undefined ? {} : { error: errorData(error) }),
        will_retry: retries,
        ...(retries && typeof context.dueAt === 'number' ? { retry_at: context.dueAt } : {}),
        ...usageData(event),
      };
    }
    case 'step.requeued':
      return { reason: requeueReason(event) };
    case 'run.waiting':
      return { ...waitData(work, to), ...(typeof context.dueAt === 'number' ? { due_at: context.dueAt } : {}) };
    case 'run.resumed':
      return {
        reason: event.type === 'timer.due' ? 'timer' : event.type === 'child.finished' ? 'children' : 'event',
      };
    case 'run.paused':
      return event.type === 'run.paused'
        ? { ...reasonData(event), ...(event.by === 'parent' ? { by: 'parent' } : {}) }
        : {};
    case 'run.unpaused':
      return event.type === 'run.unpaused' ? reasonData(event) : {};
    case 'event.delivered':
      return event.type === 'event.delivered' ? { event: event.event, key: event.key } : {};
    case 'child.finished':
      return event.type === 'child.finished'
        ? {
            run_id: event.runId,
            index: event.index,
            status: event.status,
            ...(event.cause === undefined ? {} : { error: errorData(event.cause) }),
          }
        : {};
    case 'run.finished':
      return {
        status: statusOf(work.snapshot),
        ...(to.at === 'end' && to.status === 'failed' && context.error !== undefined
          ? { error: errorData(context.error) }
          : {}),
        ...(event.type === 'run.cancelled' && event.reason !== undefined ? { reason: event.reason } : {}),
      };
    default:
      return {};
  }
};

/** Why something is held back, and for which key. */
export const heldData = (reason: HeldReason, on: Pick<LimitRecord, 'limitId' | 'key'> | undefined): JsonObject => ({
  reason,
  ...(on === undefined ? {} : { key: on.key, limit_id: on.limitId }),
});

const waitData = (work: Work, place: Place): JsonObject => {
  if (place.at === 'scheduled') return { reason: START_TIMER };
  const compiled = stepAt(work.program, place);
  const wait = compiled === undefined ? undefined : hostOf(compiled).wait;
  if (compiled === undefined || wait === undefined) throw new Error(`run ${work.runId} waits where no step waits`);
  return { reason: wait.reason, ...wait.details?.(compiled.step, work.snapshot.context) };
};

const reasonData = ({ reason }: { readonly reason?: string }): JsonObject => (reason === undefined ? {} : { reason });

const restartData = ({ record }: Work): JsonObject => {
  const { restartedFrom } = record;
  if (restartedFrom === undefined) return {};
  const { runId, stepId, visit } = restartedFrom;
  return { restarted_from: { run_id: runId, step_id: stepId, visit } };
};

const usageData = (event: RunEvent): JsonObject => {
  const usage = 'usage' in event ? event.usage : undefined;
  if (usage === undefined) return {};
  return {
    usage: {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      total_tokens: usage.totalTokens,
      ...(usage.cost === undefined ? {} : { cost: moneyOf(usage) ?? usage.cost }),
    },
  };
};

const requeueReason = (event: RunEvent): string => {
  if (event.type === 'step.lapsed') return 'lapsed';
  if (event.type === 'step.orphaned') return 'orphaned';
  return event.type === 'step.failed' && event.error.class === 'unservable' ? 'unservable' : 'retry';
};
