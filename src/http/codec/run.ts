import type { EventOutcome, ParkedEventInfo, StalledRun } from '../../actors/service/runs-service.ts';
import type { components } from '../../model/generated/openapi.ts';
import type { JsonObject } from '../../model/json.ts';
import {
  type Attempt,
  type JournalEntry,
  shownMoneyOf,
  type ReportedUsage,
  type Run,
  type RunDetail,
  type RunError,
  type RunSummary,
  type RunUsage,
  type WaitingFor,
} from '../../model/run.ts';
import { instantIfKnown, instantToWire } from './instant.ts';
import { costToWire } from './money.ts';

type Schemas = components['schemas'];

// Fields that hold `undefined` are left out when the answer is written; hence the casts below.

const errorToWire = (error: RunError): Schemas['RunError'] =>
  ({
    class: error.class,
    code: error.code,
    message: error.message,
    step_id: error.stepId,
    limit: error.limit,
  }) as Schemas['RunError'];

const usageToWire = (usage: RunUsage): Schemas['RunUsage'] =>
  ({
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    cost: shownMoneyOf(usage),
  }) as Schemas['RunUsage'];

/** A run as lists show it. @see Interface decisions, "9. Durable runs", "Run" */
export const runSummaryToWire = (run: RunSummary): Schemas['RunSummary'] =>
  ({
    run_id: run.runId,
    trace_id: run.traceId,
    parent_run_id: run.parentRunId,
    restarted_from: run.restartedFrom && {
      run_id: run.restartedFrom.runId,
      step_id: run.restartedFrom.stepId,
      visit: run.restartedFrom.visit,
    },
    project: run.project,
    definition_id: run.definitionId,
    definition_version: run.definitionVersion,
    status: run.status,
    fault: run.fault,
    queued_reason: run.queuedReason,
    pause: run.pause && {
      since: instantToWire(run.pause.since),
      by_parent: run.pause.byParent,
      reason: run.pause.reason,
    },
    cursor: run.cursor,
    attempt: run.attempt,
    waiting_on: run.waitingOn,
    waiting_keys: run.waitingKeys,
    error: run.error === undefined ? undefined : errorToWire(run.error),
    correlation: run.correlation,
    idempotency_key: run.idempotencyKey,
    usage: usageToWire(run.usage),
    cost: run.cost === undefined ? undefined : costToWire(run.cost),
    tree_usage: run.treeUsage === undefined ? undefined : usageToWire(run.treeUsage),
    tree_cost: run.treeCost === undefined ? undefined : costToWire(run.treeCost),
    step_count: run.stepCount,
    priority: run.priority,
    created_at: instantToWire(run.createdAt),
    updated_at: instantToWire(run.updatedAt),
    start_at: instantIfKnown(run.startAt),
    ended_at: instantIfKnown(run.endedAt),
    deadline_at: instantIfKnown(run.deadlineAt),
  }) as Schemas['RunSummary'];

/** A run with its payloads. */
/** A run whose step is open for longer than is usual. */
export const stalledRunToWire = (run: StalledRun): Schemas['StalledRun'] => ({
  ...runSummaryToWire(run),
  entered_at: instantToWire(run.enteredAt),
  usual_ms: run.usualMs,
  visits: run.visits,
});

export const runToWire = (run: Run): Schemas['Run'] => ({
  ...runSummaryToWire(run),
  input: run.input,
  output: run.output,
  state: run.state,
});

const reportToWire = (usage: ReportedUsage): Schemas['ReportedUsage'] =>
  ({
    model: usage.model,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    input_details: usage.inputDetails && {
      cache_read: usage.inputDetails.cacheRead,
      cache_write: usage.inputDetails.cacheWrite,
      cache_write_5m: usage.inputDetails.cacheWrite5m,
      cache_write_1h: usage.inputDetails.cacheWrite1h,
      audio: usage.inputDetails.audio,
      text: usage.inputDetails.text,
    },
    output_details: usage.outputDetails && {
      reasoning: usage.outputDetails.reasoning,
      audio: usage.outputDetails.audio,
      text: usage.outputDetails.text,
    },
    cost: usage.cost,
    record: usage.record,
  }) as Schemas['ReportedUsage'];

export const attemptToWire = (attempt: Attempt): Schemas['Attempt'] =>
  ({
    lease_id: attempt.leaseId,
    step_id: attempt.stepId,
    visit: attempt.visit,
    attempt: attempt.attempt,
    status: attempt.status,
    worker_id: attempt.workerId,
    offered_at: instantToWire(attempt.offeredAt),
    started_at: instantIfKnown(attempt.startedAt),
    last_heartbeat_at: instantIfKnown(attempt.lastHeartbeatAt),
    ended_at: instantIfKnown(attempt.endedAt),
    lease_expires_at: instantIfKnown(attempt.leaseExpiresAt),
    output: attempt.output,
    error: attempt.error && { class: attempt.error.class, code: attempt.error.code, message: attempt.error.message },
    usage: attempt.usage?.map(reportToWire),
    cost: attempt.cost === undefined ? undefined : costToWire(attempt.cost),
    span_id: attempt.spanId,
  }) as Schemas['Attempt'];

/** A run with every persisted attempt, its unfired timers, open waits and children. */
const waitingForToWire = (waiting: WaitingFor): Schemas['WaitingFor'] =>
  ({
    limit_id: waiting.limitId,
    key: waiting.key,
    position: waiting.position,
    holders: [...waiting.holders],
    next_at: instantIfKnown(waiting.nextAt),
  }) as Schemas['WaitingFor'];

/** A run, but for its attempts. */
export const runDetailToWire = (run: RunDetail): Omit<Schemas['RunDetail'], 'attempts'> =>
  ({
    ...runToWire(run),
    waiting_for: run.waitingFor === undefined ? undefined : waitingForToWire(run.waitingFor),
    timers: run.timers.map((timer) => ({
      name: timer.name,
      due_at: instantIfKnown(timer.dueAt),
      step_id: timer.stepId,
    })),
    waits: run.waits.map((wait) => ({
      event: wait.event,
      key: wait.key,
      step_id: wait.stepId,
      since: instantToWire(wait.since),
      deadline_at: instantIfKnown(wait.deadlineAt),
    })),
    children: run.children.map((child) => ({
      run_id: child.runId,
      definition_id: child.definitionId,
      definition_version: child.definitionVersion,
      status: child.status,
      step_id: child.stepId,
      visit: child.visit,
      index: child.index,
      error: child.error === undefined ? undefined : errorToWire(child.error),
    })),
  }) as Omit<Schemas['RunDetail'], 'attempts'>;

/** Times in the data of an entry; the journal holds them as the machines count, in milliseconds. */
const TIMES = ['due_at', 'retry_at', 'start_at'] as const;

const journalDataToWire = (data: JsonObject): JsonObject => {
  let wire = data;
  for (const name of TIMES) {
    const at = data[name];
    if (typeof at === 'number') wire = { ...wire, [name]: instantToWire(at) };
  }
  return wire;
};

export const journalEntryToWire = (entry: JournalEntry): Schemas['JournalEntry'] =>
  ({
    seq: entry.seq,
    kind: entry.kind,
    at: instantToWire(entry.at),
    step_id: entry.stepId,
    visit: entry.visit,
    attempt: entry.attempt,
    lease_id: entry.leaseId,
    worker_id: entry.workerId,
    data: journalDataToWire(entry.data),
  }) as Schemas['JournalEntry'];

export const parkedEventToWire = (event: ParkedEventInfo): Schemas['ParkedEvent'] =>
  ({
    event: event.event,
    key: event.key,
    project: event.project,
    event_id: event.eventId,
    parked_at: instantToWire(event.parkedAt),
    expires_at: instantToWire(event.expiresAt),
    payload_bytes: event.payloadBytes,
  }) as Schemas['ParkedEvent'];

export const outcomeToWire = ({ outcome, runId }: EventOutcome): Schemas['EventOutcome'] =>
  ({ outcome, run_id: runId }) as Schemas['EventOutcome'];
