import {
  attemptStatus,
  isLive,
  LEASE_MACHINE_VERSION,
  type LeaseEvent,
  leaseMachine,
  type LeaseSnapshot,
  refuse,
  type WorkerVerb,
} from '../../machines/lease.ts';
import { restore } from '../../machines/persisted.ts';
import type { UsageDelta } from '../../machines/run.ts';
import { initialSnapshot, step as transition } from '../../machines/transition.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import { render } from '../../model/definition/template.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { hasEnded, type ReportedUsage, type RunStatus, type UnixMs } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import type { Cost } from '../../model/span.ts';
import type { AttemptRecord } from '../../store/runs/run-store.ts';
import type { ActorKind, Turn } from '../kernel/kernel.ts';
import type { Programs } from '../run/program.ts';
import type { RunMessage } from '../run/messages.ts';
import { forbidden, leaseRefused, notFound, runTooLarge } from '../run/run-failures.ts';
import { readDocuments, RUN_CHARACTERS, scopeOf } from '../run/run-documents.ts';
import { leaseKey, readRun, type RunActor, standing, willRetry } from '../run/run-state.ts';
import { spanIdOf, stepSpan } from '../run/run-spans.ts';
import type { HolderCall, LeaseMessage, WatchedLease } from './messages.ts';

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
  readonly unservable: (workerId: string, definitionId: string, version: number) => void;
};

/** A lease in memory: its row, whose state column brought the machine back to life. */
type LeaseActor = { readonly record: AttemptRecord; readonly snapshot: LeaseSnapshot };

const unissued = initialSnapshot(leaseMachine);

const revive = (record: AttemptRecord): LeaseActor => ({
  record,
  snapshot: restore(
    leaseMachine,
    LEASE_MACHINE_VERSION,
    {
      machineVersion: LEASE_MACHINE_VERSION,
      value: record.state,
      context: { delivery: record.delivery, bodyRan: record.bodyRan, expiresAt: record.expiresAt },
    },
    new Map(),
  ),
});

/** Tokens and money of a report. Money is counted where it is known, and stays unknown where none is. */
const countUsage = (
  usage: readonly ReportedUsage[] | undefined,
  price: (usage: ReportedUsage) => Cost | undefined,
): { readonly delta: UsageDelta; readonly cost?: Cost } | undefined => {
  if (usage === undefined || usage.length === 0) return undefined;
  let inputTokens = 0;
  let outputTokens = 0;
  let totalTokens = 0;
  let total: Cost | undefined;
  for (const report of usage) {
    const input = report.inputTokens ?? 0;
    const output = report.outputTokens ?? 0;
    inputTokens += input;
    outputTokens += output;
    totalTokens += report.totalTokens ?? input + output;
    const cost: Cost | undefined =
      report.cost === undefined ? price(report) : { totalCost: report.cost, currency: 'USD', isEstimated: false };
    if (cost === undefined) continue;
    total = {
      ...cost,
      totalCost: (total?.totalCost ?? 0) + cost.totalCost,
      isEstimated: cost.isEstimated || total?.isEstimated === true,
    };
  }
  const delta = { inputTokens, outputTokens, totalTokens };
  return total === undefined
    ? { delta }
    : { delta: { ...delta, cost: total.totalCost }, cost: usage.length === 1 ? total : withoutSplit(total) };
};
/** The split of one report says nothing about the sum of several. */
const withoutSplit = ({ totalCost, currency, isEstimated, priceBookId }: Cost): Cost => ({
  totalCost,
  currency,
  isEstimated,
  ...(priceBookId === undefined ? {} : { priceBookId }),
});

const verbs = {
  started: 'started',
  heartbeat: 'heartbeat',
  complete: 'complete',
  fail: 'fail',
} as const satisfies Record<string, WorkerVerb>;

export const createLeaseActors = (host: LeaseHost): ActorKind => {
  const read = (turn: Turn, leaseId: string): LeaseActor | undefined => {
    const key = leaseKey(leaseId);
    const found = turn.read(key, { kind: 'lease', leaseId }) as AttemptRecord | LeaseActor | undefined;
    if (found === undefined || 'snapshot' in found) return found;
    const actor = revive(found);
    turn.keep(key, actor);
    return actor;
  };

  const tellRun = (turn: Turn, runId: string, message: RunMessage): void => {
    turn.tell({ type: 'run', id: runId }, message);
  };

  const inputOf = (turn: Turn, run: RunActor, stepId: string): Json | undefined => {
    const template = run.program.compiled.steps.get(stepId)?.input;
    if (template === undefined) return undefined;
    const rendered = render(template, scopeOf(run, readDocuments(turn, run)));
    return rendered.ok ? rendered.value : undefined;
  };

  const recordSpan = (
    turn: Turn,
    run: RunActor,
    record: AttemptRecord,
    result: { readonly output?: Json; readonly error?: StepError; readonly cost?: Cost },
  ): void => {
    const input = inputOf(turn, run, record.stepId);
    const span = stepSpan(run.record, {
      spanId: spanIdOf(record.leaseId),
      stepId: record.stepId,
      visit: record.visit,
      attempt: record.attempt,
      leaseId: record.leaseId,
      workerId: record.workerId,
      status: attemptStatus(record.state),
      startedAt: record.startedAt ?? record.offeredAt,
      endedAt: turn.at,
      ...(input === undefined ? {} : { input }),
      ...result,
    });
    turn.rows.outbox.push({ no: host.nextOutboxNo(), runId: record.runId, span: JSON.stringify(span) });
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
  };

  const apply = (turn: Turn, actor: LeaseActor, run: RunActor, event: LeaseEvent, given: Given): LeaseActor => {
    const { next, effects } = transition(leaseMachine, actor.snapshot, event);
    const state = next.value;
    const live = isLive(state);
    const counted = countUsage(given.usage, host.price);
    const { leaseId, runId } = actor.record;
    const startsNow = next.context.bodyRan && !actor.snapshot.context.bodyRan;
    const record: AttemptRecord = {
      ...actor.record,
      state,
      bodyRan: next.context.bodyRan,
      expiresAt: next.context.expiresAt,
      ...(startsNow ? { startedAt: turn.at } : {}),
      ...(given.timeoutAt === undefined ? {} : { timeoutAt: given.timeoutAt }),
      ...(live ? {} : { endedAt: turn.at }),
      ...(given.error === undefined ? {} : { error: JSON.stringify(given.error) }),
      ...(given.usage === undefined ? {} : { usage: JSON.stringify(given.usage) }),
      ...(counted?.cost === undefined ? {} : { cost: JSON.stringify(counted.cost) }),
      ...(given.details === undefined ? {} : { details: JSON.stringify(given.details) }),
    };
    const after: LeaseActor = { record, snapshot: next };
    turn.write(leaseKey(leaseId), after);
    if (!live) turn.forget(leaseKey(leaseId));
    turn.after(() => {
      if (!live) host.unwatch(leaseId);
      else
        host.watch({
          leaseId,
          workerId: record.workerId,
          expiresAt: record.expiresAt,
          expiresInMs: record.expiresAt - turn.at,
          ...(record.timeoutAt === undefined
            ? {}
            : { timeoutAt: record.timeoutAt, ...(startsNow ? { timeoutInMs: record.timeoutAt - turn.at } : {}) }),
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
          tellRun(turn, runId, {
            kind: 'failed',
            leaseId,
            error: given.error ?? { class: 'fatal', message: 'no reason was given' },
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
          recordSpan(turn, run, record, {
            ...(given.output === undefined ? {} : { output: given.output }),
            ...(given.error === undefined ? {} : { error: given.error }),
            ...(counted?.cost === undefined ? {} : { cost: counted.cost }),
          });
          break;
        case 'acknowledge':
          break;
        default:
          throw new Error(`the lease machine wants "${effect.type}", which nobody does`);
      }
    return after;
  };

  const offered = (turn: Turn, leaseId: string, body: LeaseMessage & { kind: 'offered' }): void => {
    const event: LeaseEvent = { type: 'lease.offered', delivery: body.delivery, expiresAt: body.lapsesAt };
    const { next } = transition(leaseMachine, unissued, event);
    const record: AttemptRecord = {
      leaseId,
      runId: body.runId,
      stepId: body.stepId,
      visit: body.visit,
      attempt: body.attempt,
      workerId: body.workerId,
      delivery: body.delivery,
      offeredAt: turn.at,
      state: next.value,
      bodyRan: false,
      expiresAt: body.lapsesAt,
    };
    turn.write(leaseKey(leaseId), { record, snapshot: next } satisfies LeaseActor);
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
      willRetry: willRetry(place?.phase) && place?.step === stepId && run.snapshot.context.visits[stepId] === visit,
    };
  };

  const call = (turn: Turn, leaseId: string, body: Extract<LeaseMessage, HolderCall>): unknown => {
    const actor = read(turn, leaseId);
    if (actor === undefined) return notFound('lease', leaseId);
    const { record, snapshot } = actor;
    const run = readRun(turn, host.programs, record.runId);
    if (run === undefined) return notFound('lease', leaseId);
    if (!reaches(body.reach, run.record.project)) return forbidden(run.record.project);
    const unservable = body.kind === 'fail' && body.error.class === 'unservable';
    const refusal = refuse(snapshot.value, snapshot.context, {
      verb: verbs[body.kind],
      isHolder: body.workerId === record.workerId,
      runHasEnded: hasEnded(run.record.status),
      unservable,
    });
    if (refusal !== undefined) return leaseRefused(refusal);
    const expiresAt = turn.at + host.leaseTtlMs;
    switch (body.kind) {
      case 'started': {
        const step = run.program.compiled.steps.get(record.stepId)?.step;
        const timeoutMs = step?.kind === 'task' ? step.timeoutMs : undefined;
        apply(
          turn,
          actor,
          run,
          { type: 'lease.started', expiresAt },
          timeoutMs === undefined || record.timeoutAt !== undefined ? {} : { timeoutAt: turn.at + timeoutMs },
        );
        return { ok: true, value: { runStatus: run.record.status, leaseExpiresAt: expiresAt } };
      }
      case 'heartbeat': {
        const after = apply(
          turn,
          actor,
          run,
          { type: 'lease.beat', expiresAt },
          body.details === undefined ? {} : { details: body.details },
        );
        return { ok: true, value: { leaseExpiresAt: after.record.expiresAt } };
      }
      case 'complete': {
        const { characters } = readDocuments(turn, run);
        if (characters > RUN_CHARACTERS && (body.output !== undefined || body.statePatch !== undefined))
          return runTooLarge(characters, RUN_CHARACTERS);
        apply(turn, actor, run, { type: 'lease.completed' }, body);
        return () => {
          const { willRetry: _, ...seen } = seenRun(turn, record);
          return { ok: true, value: seen };
        };
      }
      case 'fail':
        if (unservable) {
          const { definitionId, definitionVersion } = run.record;
          turn.atEnd(() => {
            host.unservable(record.workerId, definitionId, definitionVersion);
          });
        }
        apply(turn, actor, run, { type: unservable ? 'lease.refused' : 'lease.failed' }, body);
        return () => ({ ok: true, value: seenRun(turn, record) });
      default:
        return body satisfies never;
    }
  };

  const onDeadline = (turn: Turn, actor: LeaseActor, run: RunActor, body: LeaseMessage): void => {
    const { record, snapshot } = actor;
    const { value: state } = snapshot;
    if (!isLive(state)) return;
    switch (body.kind) {
      case 'expire':
        if (record.expiresAt !== body.expiresAt) return;
        if (state === 'offered') apply(turn, actor, run, { type: 'lease.lapsed' }, {});
        else if (state === 'running')
          apply(turn, actor, run, { type: 'lease.expired', expiresAt: turn.at + host.reclaimWindowMs }, {});
        else
          apply(
            turn,
            actor,
            run,
            { type: 'lease.reclaimed' },
            {
              error: { class: 'orphaned', message: 'the worker fell silent and its lease was reclaimed' },
            },
          );
        return;
      case 'timeout':
        if (record.timeoutAt !== body.timeoutAt || state === 'offered') return;
        apply(
          turn,
          actor,
          run,
          { type: 'lease.timed_out' },
          {
            error: { class: 'timeout', message: 'the body ran longer than timeout_ms of its step' },
          },
        );
        return;
      case 'give_back':
        if (state === 'offered') apply(turn, actor, run, { type: 'lease.lapsed' }, {});
        return;
      default:
        return;
    }
  };

  return {
    type: 'lease',
    flush: (_key, before, after, changes) => {
      const actor = after as LeaseActor;
      const previous = before as LeaseActor | AttemptRecord | undefined;
      if (previous === undefined) changes.attemptsInserted.push(actor.record);
      else changes.attemptsUpdated.push(actor.record);
    },
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
        case 'cancel': {
          const actor = read(turn, leaseId);
          if (actor === undefined || !isLive(actor.snapshot.value)) return undefined;
          const run = readRun(turn, host.programs, actor.record.runId);
          if (run !== undefined) apply(turn, actor, run, { type: 'lease.cancelled' }, {});
          return undefined;
        }
        default: {
          const actor = read(turn, leaseId);
          const run = actor === undefined ? undefined : readRun(turn, host.programs, actor.record.runId);
          if (actor === undefined || run === undefined) {
            turn.after(() => {
              host.unwatch(leaseId);
            });
            return undefined;
          }
          return onDeadline(turn, actor, run, body);
        }
      }
    },
  };
};
