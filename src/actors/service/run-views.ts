import { attemptStatus, isLive } from '../../machines/lease.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import type { Json } from '../../model/json.ts';
import type {
  Attempt,
  ChildRun,
  QueuedReason,
  ReportedUsage,
  Run,
  RunDetail,
  RunSummary,
  UnixMs,
} from '../../model/run.ts';
import type { Cost } from '../../model/span.ts';
import type { AttemptRecord, RunRecord, RunRows } from '../../store/runs/run-store.ts';
import { errorOfChild } from '../run/child-error.ts';
import { NO_OUTPUT, parseDocuments } from '../run/run-documents.ts';
import { summaryOf } from '../run/run-view.ts';
import { spanIdOf } from '../run/run-spans.ts';
import { contextOf } from '../run/stored-context.ts';
import { SHOW_TIMER } from '../run/show-waits.ts';

/** A run with the reason why it is queued, where there is one. */
export const withReason = <T extends RunSummary>(run: T, reasons: ReadonlyMap<string, QueuedReason>): T => {
  const queuedReason = reasons.get(run.runId);
  return queuedReason === undefined ? run : { ...run, queuedReason };
};

export const summaryOfRecord = (record: RunRecord): RunSummary => summaryOf(record, { context: contextOf(record) });

export const attemptOf = (record: AttemptRecord & { readonly output?: string }): Attempt => ({
  leaseId: record.leaseId,
  stepId: record.stepId,
  visit: record.visit,
  attempt: record.attempt,
  status: attemptStatus(record.state),
  workerId: record.workerId,
  offeredAt: record.offeredAt,
  ...(record.startedAt === undefined ? {} : { startedAt: record.startedAt }),
  ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }),
  ...(isLive(record.state) ? { leaseExpiresAt: record.expiresAt } : {}),
  ...(record.output === undefined || record.output === NO_OUTPUT ? {} : { output: JSON.parse(record.output) as Json }),
  ...(record.error === undefined ? {} : { error: JSON.parse(record.error) as StepError }),
  ...(record.usage === undefined ? {} : { usage: JSON.parse(record.usage) as ReportedUsage[] }),
  ...(record.cost === undefined ? {} : { cost: JSON.parse(record.cost) as Cost }),
  spanId: spanIdOf(record.leaseId),
});

export const runOfRows = ({ stored, documents }: RunRows): Run => {
  const { input, output, state } = parseDocuments(documents);
  return { ...summaryOfRecord(stored.record), input, ...(output === undefined ? {} : { output }), state };
};

/** The timeout of a body that runs: kept with its lease, not among the timers of the run, and a timer all the same. */
const timeoutsOf = (attempts: readonly AttemptRecord[]): RunDetail['timers'] =>
  attempts.flatMap(({ state, timeoutAt, stepId }) =>
    isLive(state) && timeoutAt !== undefined ? [{ name: 'timeout', dueAt: timeoutAt, stepId }] : [],
  );

const childOf = (record: RunRecord): ChildRun[] => {
  const { runId, definitionId, definitionVersion, status, parent } = record;
  if (parent === undefined) return [];
  const { stepId, visit, index } = parent;
  const error = errorOfChild(record);
  return [
    {
      runId,
      definitionId,
      definitionVersion,
      status,
      stepId,
      visit,
      index,
      ...(error === undefined ? {} : { error }),
    },
  ];
};

/** @param wallOf what the wall clock will show at a time of the steady one */
export const detailOfRows = (rows: RunRows, wallOf: (steady: UnixMs) => UnixMs): RunDetail => ({
  ...runOfRows(rows),
  attempts: rows.attempts.map(attemptOf),
  timers: [
    ...rows.timers
      // When its trace is sent moves nothing in the run.
      .filter(({ name }) => name !== SHOW_TIMER)
      .map(({ name, dueAt, countdown, stepId }) => ({
        name,
        ...(dueAt === undefined ? {} : { dueAt: countdown === undefined ? dueAt : wallOf(countdown.dueAt) }),
        ...(stepId === undefined ? {} : { stepId }),
      })),
    ...timeoutsOf(rows.attempts),
  ],
  waits: rows.waits.map(({ event, key, stepId, since, deadlineAt }) => ({
    event,
    key,
    stepId,
    since,
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
  })),
  children: rows.children.flatMap(childOf),
});
