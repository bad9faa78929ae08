import {
  attemptStatus,
  isLive,
  LEASE_MACHINE_VERSION,
  type LeaseEvent,
  leaseMachine,
  type LeaseStep,
  takeCall,
  type WorkerEvent,
} from '../../machines/lease.ts';
import type { Effect } from '../../machines/effect.ts';
import { visitOf } from '../../machines/run.ts';
import { initialSnapshot, step, take } from '../../machines/transition.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import { render } from '../../model/definition/template.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { hasEnded, type ReportedUsage, type RunStatus, type UnixMs } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import type { Cost } from '../../model/span.ts';
import type { AttemptRecord } from '../../store/runs/run-store.ts';
import type { ActorKind, Turn } from '../runs-kernel.ts';
import type { Programs } from '../run/program.ts';
import type { RunMessage } from '../run/messages.ts';
import { leaseRefused, notFound, runTooLarge, outOfReach } from '../run/run-failures.ts';
import { readDocuments, RUN_CHARACTERS, scopeOf } from '../run/run-documents.ts';
import { readRun, type RunActor, standing, willRetry } from '../run/run-state.ts';
import { type SpanDraft, spanIdOf, stepSpan, usageSpan } from '../run/run-spans.ts';
import { type LeaseActor, leaseSlot, readLease } from './lease-state.ts';
import type { LeaseMessage, WatchedLease, WorkerCall } from './messages.ts';
import { countUsage, type PricedUsage } from './usage.ts';
import type { PinnedDefinition } from '../run/program.ts';

export type LeaseHost = {
  readonly programs: Programs;
  readonly leaseTtlMs: number;
  readonly reclaimWindowMs: number;
  readonly nextOutboxNo: () => number;
  readonly outboxed: () => void;
  /** Prices one report; absent when it cannot be priced. */
  readonly price: (usage: ReportedUsage) => Cost | undefined;
  /** A lease lives, or lives on. Called after the commit. */
  readonly watch: (lease: WatchedLease) => void;
  readonly unwatch: (leaseId: string) => void;
  /** The worker does not hold this definition version. */
  readonly unservable: (workerId: string, pinned: PinnedDefinition) => void;
};

const unissued = initialSnapshot(leaseMachine);

/** A worker's call as the machine takes it. */
const eventOf = (body: WorkerCall, expiresAt: UnixMs): WorkerEvent => {
  switch (body.kind) {
    case 'started':
      return { type: 'lease.started', expiresAt };
    case 'heartbeat':
      return { type: 'lease.beat', expiresAt };
    case 'complete':
      return { type: 'lease.completed' };
    case 'fail':
      return { type: body.error.class === 'unservable' ? 'lease.refused' : 'lease.failed' };
    default:
      return body satisfies never;
  }
};

/** Why the attempt failed, where the machine says it and no worker does. */
const errorOf = (effects: readonly Effect[]): StepError | undefined => {
  for (const { params } of effects)
    if (typeof params === 'object' && params !== null && 'error' in params) return params.error as StepError;
  return undefined;
};

export const createLeaseActors = (host: LeaseHost): ActorKind => {
  const tellRun = (turn: Turn, runId: string, message: RunMessage): void => {
    turn.tell({ type: 'run', id: runId }, message);
  };

  const inputOf = (turn: Turn, run: RunActor, stepId: string): Json | undefined => {
    const template = run.program.compiled.steps.get(stepId)?.input;
    if (template === undefined) return undefined;
    const rendered = render(template, scopeOf(run, readDocuments(turn, run)));
    return rendered.ok ? rendered.value : undefined;
  };

  const addOutbox = (turn: Turn, runId: string, span: SpanDraft): void => {
    turn.rows.outbox.push({ no: host.nextOutboxNo(), runId, span: JSON.stringify(span) });
  };

  /** The span of the attempt, and those of the usage that no span of the worker holds. */
  const recordSpans = (
    turn: Turn,
    run: RunActor,
    record: AttemptRecord,
    result: { readonly output?: Json; readonly error?: StepError; readonly cost?: Cost },
    reported: readonly PricedUsage[],
  ): void => {
    const { runId, leaseId, stepId } = record;
    const input = inputOf(turn, run, stepId);
    const startedAt = record.startedAt ?? record.offeredAt;
    const span = stepSpan(run.record, {
      spanId: spanIdOf(leaseId),
      stepId,
      visit: record.visit,
      attempt: record.attempt,
      leaseId,
      workerId: record.workerId,
      status: attemptStatus(record.state),
      startedAt,
      endedAt: turn.at,
      ...(input === undefined ? {} : { input }),
      ...result,
    });
    addOutbox(turn, runId, span);
    const attempt = { leaseId, stepId, startedAt, endedAt: turn.at };
    for (const [index, { usage, cost }] of reported.entries())
      if (usage.record === true) addOutbox(turn, runId, usageSpan(run.record, attempt, index, usage, cost));
    turn.after(host.outboxed);
  };

  /** What comes with an event beside what the machine decides on. */
  type Given = {
    readonly error?: StepError;
    readonly output?: Json;
    readonly statePatch?: JsonObject;
    readonly usage?: readonly ReportedUsage[];
    readonly retryAfterMs?: number;
    readonly details?: Json;
    readonly timeoutAt?: UnixMs;
    /** When the body began, where that was before it was declared. */
    readonly startedAt?: UnixMs;
    /** Of a call that says that the worker is there: counted where it extends the lease. */
    readonly heartbeatAt?: UnixMs;
  };

  /** Makes rows and messages of what the machine decided. */
  const apply = (turn: Turn, actor: LeaseActor, run: RunActor, taken: LeaseStep, given: Given): AttemptRecord => {
    const { next, effects } = taken;
    const state = next.value;
    const error = given.error ?? errorOf(effects);
    const live = isLive(state);
    const counted = countUsage(given.usage, host.price);
    const { leaseId, runId } = actor.record;
    const extended = effects.every(({ type }) => type !== 'acknowledge');
    const startsNow = next.context.bodyRan && !actor.snapshot.context.bodyRan;
    const record: AttemptRecord = {
      ...actor.record,
      machineVersion: LEASE_MACHINE_VERSION,
      version: actor.record.version + 1,
      state,
      bodyRan: next.context.bodyRan,
      expiresAt: next.context.expiresAt,
      ...(startsNow ? { startedAt: given.startedAt ?? turn.at } : {}),
      ...(given.timeoutAt === undefined ? {} : { timeoutAt: given.timeoutAt }),
      ...(given.heartbeatAt === undefined || !extended ? {} : { heartbeatAt: given.heartbeatAt }),
      ...(live ? {} : { endedAt: turn.at }),
      ...(error === undefined ? {} : { error: JSON.stringify(error) }),
      ...(given.usage === undefined ? {} : { usage: JSON.stringify(given.usage) }),
      ...(counted?.cost === undefined ? {} : { cost: JSON.stringify(counted.cost) }),
      ...(given.details === undefined ? {} : { details: JSON.stringify(given.details) }),
    };
    turn.write(leaseSlot, leaseId, { record, snapshot: next });
    if (!live) turn.forget(leaseSlot, leaseId);
    turn.after(() => {
      if (!live) host.unwatch(leaseId);
      else
        host.watch({
          leaseId,
          workerId: record.workerId,
          expiresAt: record.expiresAt,
          // An answer that extends nothing (a heartbeat before `started`) does not extend the watch either.
          ...(extended ? { expiresInMs: record.expiresAt - turn.at } : {}),
          ...(startsNow && record.timeoutAt !== undefined ? { timeoutInMs: record.timeoutAt - turn.at } : {}),
        });
    });
    const usage = counted === undefined ? {} : { usage: counted.delta };
    for (const effect of effects)
      switch (effect.type) {
        case 'journal':
          tellRun(turn, runId, {
            kind: 'note',
            entry: {
              kind: (effect.params as { kind: 'step.started' | 'step.orphaned' }).kind,
              at: turn.at,
              stepId: record.stepId,
              visit: record.visit,
              attempt: record.attempt,
              leaseId,
              workerId: record.workerId,
              data: {},
            },
          });
          break;
        case 'completeStep':
          tellRun(turn, runId, {
            kind: 'completed',
            leaseId,
            ...usage,
            ...(given.output === undefined ? {} : { output: given.output }),
            ...(given.statePatch === undefined ? {} : { statePatch: given.statePatch }),
          });
          break;
        case 'failStep':
          if (error === undefined) throw new Error(`the attempt of lease ${leaseId} failed without a reason`);
          tellRun(turn, runId, {
            kind: 'failed',
            leaseId,
            error,
            bodyRan: next.context.bodyRan,
            ...usage,
            ...(given.retryAfterMs === undefined ? {} : { retryAfterMs: given.retryAfterMs }),
          });
          break;
        case 'requeueStep':
          tellRun(turn, runId, { kind: 'lapsed', leaseId });
          break;
        case 'orphanStep':
          tellRun(turn, runId, { kind: 'orphaned', leaseId, bodyRan: next.context.bodyRan });
          break;
        case 'recordSpan':
          recordSpans(
            turn,
            run,
            record,
            {
              ...(given.output === undefined ? {} : { output: given.output }),
              ...(error === undefined ? {} : { error }),
              ...(counted?.cost === undefined ? {} : { cost: counted.cost }),
            },
            counted?.entries ?? [],
          );
          break;
        case 'acknowledge':
          break;
        default:
          throw new Error(`the lease machine wants "${effect.type}", which nobody does`);
      }
    return record;
  };

  const offered = (turn: Turn, leaseId: string, body: LeaseMessage & { kind: 'offered' }): void => {
    const event: LeaseEvent = { type: 'lease.offered', delivery: body.delivery, expiresAt: body.lapsesAt };
    const { next } = step(leaseMachine, unissued, event);
    const record: AttemptRecord = {
      leaseId,
      runId: body.runId,
      stepId: body.stepId,
      visit: body.visit,
      attempt: body.attempt,
      workerId: body.workerId,
      delivery: body.delivery,
      offeredAt: turn.at,
      machineVersion: LEASE_MACHINE_VERSION,
      version: 1,
      state: next.value,
      bodyRan: false,
      expiresAt: body.lapsesAt,
    };
    turn.write(leaseSlot, leaseId, { record, snapshot: next });
    turn.after(() => {
      host.watch({ leaseId, workerId: body.workerId, expiresAt: body.lapsesAt, expiresInMs: body.lapsesAt - turn.at });
    });
  };

  /** The run as the caller of a lease sees it when the turn is over. */
  const seenRun = (
    turn: Turn,
    { runId, stepId, visit }: AttemptRecord,
  ): { runStatus: RunStatus; nextStep?: string; willRetry: boolean } => {
    const run = readRun(turn, host.programs, runId);
    if (run === undefined) throw new Error(`run ${runId} went away in the middle of a turn`);
    const place = standing(run);
    return {
      runStatus: run.record.status,
      ...(place === undefined ? {} : { nextStep: place.step }),
      willRetry: willRetry(place?.phase) && place?.step === stepId && visitOf(run.snapshot.context, stepId) === visit,
    };
  };

  const call = (turn: Turn, leaseId: string, body: WorkerCall): unknown => {
    const actor = readLease(turn, leaseId);
    if (actor === undefined) return notFound('lease', leaseId);
    const { record } = actor;
    const run = readRun(turn, host.programs, record.runId);
    if (run === undefined) return notFound('lease', leaseId);
    if (!reaches(body.reach, run.record.project)) return outOfReach('run');
    const event = eventOf(body, turn.at + host.leaseTtlMs);
    const answer = takeCall(actor.snapshot, event, {
      isHolder: body.workerId === record.workerId,
      runHasEnded: hasEnded(run.record.status),
    });
    if ('refusal' in answer) return leaseRefused(answer.refusal);
    const { taken } = answer;
    switch (body.kind) {
      case 'started': {
        const task = run.program.compiled.steps.get(record.stepId)?.step;
        const timeoutMs = task?.kind === 'task' ? task.timeoutMs : undefined;
        const limitsTime = timeoutMs !== undefined && record.timeoutAt === undefined;
        const { expiresAt } = apply(turn, actor, run, taken, {
          heartbeatAt: turn.at,
          ...(limitsTime ? { timeoutAt: turn.at + timeoutMs } : {}),
          ...(body.isReported === true ? { startedAt: record.offeredAt } : {}),
        });
        return { ok: true, value: { runStatus: run.record.status, leaseExpiresAt: expiresAt } };
      }
      case 'heartbeat': {
        const given = { heartbeatAt: turn.at, ...(body.details === undefined ? {} : { details: body.details }) };
        return { ok: true, value: { leaseExpiresAt: apply(turn, actor, run, taken, given).expiresAt } };
      }
      case 'complete': {
        const { characters } = readDocuments(turn, run);
        if (characters > RUN_CHARACTERS && (body.output !== undefined || body.statePatch !== undefined))
          return runTooLarge(characters, RUN_CHARACTERS);
        apply(turn, actor, run, taken, body);
        return () => {
          const { willRetry: _, ...seen } = seenRun(turn, record);
          return { ok: true, value: seen };
        };
      }
      case 'fail':
        if (event.type === 'lease.refused') {
          const pinned = run.record;
          turn.atEnd(() => {
            host.unservable(record.workerId, pinned);
          });
        }
        apply(turn, actor, run, taken, body);
        return () => ({ ok: true, value: seenRun(turn, record) });
      default:
        return body satisfies never;
    }
  };

  /** Takes the events that no worker sends. One that comes too late changes nothing. */
  const settle = (turn: Turn, leaseId: string, event: LeaseEvent): void => {
    const actor = readLease(turn, leaseId);
    const run = actor === undefined ? undefined : readRun(turn, host.programs, actor.record.runId);
    if (actor === undefined || run === undefined) {
      turn.after(() => {
        host.unwatch(leaseId);
      });
      return;
    }
    const taken = take(leaseMachine, actor.snapshot, event);
    if (taken !== undefined) apply(turn, actor, run, taken, {});
  };

  return {
    type: 'lease',
    receive: (turn, leaseId, message) => {
      const body = message as LeaseMessage;
      switch (body.kind) {
        case 'offered':
          return offered(turn, leaseId, body);
        case 'started':
        case 'heartbeat':
        case 'complete':
        case 'fail':
          return call(turn, leaseId, body);
        case 'deadline':
          return settle(turn, leaseId, {
            type: 'deadline.due',
            dueAt: body.dueAt,
            reclaimAt: turn.at + host.reclaimWindowMs,
          });
        case 'timeout':
          return settle(turn, leaseId, { type: 'lease.timed_out' });
        case 'give_back':
          return settle(turn, leaseId, { type: 'lease.given_back' });
        case 'cancel':
          return settle(turn, leaseId, { type: 'lease.cancelled' });
        default:
          return body satisfies never;
      }
    },
  };
};
