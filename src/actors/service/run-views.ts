import { attemptStatus, isLive } from '../../machines/lease.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import type { Json } from '../../model/json.ts';
import {
  type Attempt,
  type ChildRun,
  hasEnded,
  type QueuedReason,
  type ReportedUsage,
  type Run,
  type RunDetail,
  type RunSummary,
  type UnixMs,
} from '../../model/run.ts';
import type { Cost } from '../../model/span.ts';
import type { AttemptRecord, RunRecord, RunRows } from '../../store/runs/run-store.ts';
import { decodeInTurns } from '../../store/in-turns.ts';
import { waitingOnOf } from '../../store/runs/run-conditions.ts';
import { errorOfChild } from '../run/child-error.ts';
import { type Damaged, parseStored, readable } from '../run/quarantined.ts';
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

type Met = (damage: Damaged) => void;

/** @param met what is damaged, and left out */
export const summaryOfRecord = (record: RunRecord, met?: Met): RunSummary =>
  summaryOf(record, { context: contextOf(record) }, met);

/** The same as a list has it: a run that is read by itself has its attempts and waits, and says it by them. */
export const listedRun = (record: RunRecord, met?: Met): RunSummary => ({
  ...summaryOfRecord(record, met),
  ...(hasEnded(record.status) ? {} : placeOf(record)),
});

/** How often the step was tried at which an open run stands, and what the run waits for. */
const placeOf = (record: RunRecord): Pick<RunSummary, 'attempt' | 'waitingOn' | 'waitingKeys'> => {
  const { attempt, waitKey } = contextOf(record);
  const waitingOn = waitingOnOf(record, () => false);
  return {
    ...(attempt === 0 ? {} : { attempt }),
    ...(waitingOn === undefined ? {} : { waitingOn }),
    ...(waitingOn === 'event' && waitKey !== undefined ? { waitingKeys: [waitKey].flat() } : {}),
  };
};

/** @throws Damaged when what it reported is no JSON any more */
export const attemptOf = (record: AttemptRecord & { readonly output?: string }): Attempt => ({
  ...attemptWithoutReports(record),
  ...reportsOf(record),
});

type Reports = Pick<Attempt, 'output' | 'error' | 'usage' | 'cost'>;
const reportsOf = ({
  runId,
  stepId,
  output,
  error,
  usage,
  cost,
}: AttemptRecord & { readonly output?: string }): Reports => {
  const part = (text: string, what: string): unknown =>
    parseStored<unknown>(runId, text, `${what} of an attempt of step "${stepId}"`);
  return {
    ...(output === undefined || output === NO_OUTPUT ? {} : { output: part(output, 'the output') as Json }),
    ...(error === undefined ? {} : { error: part(error, 'the error') as StepError }),
    ...(usage === undefined ? {} : { usage: part(usage, 'the usage') as ReportedUsage[] }),
    ...(cost === undefined ? {} : { cost: part(cost, 'the cost') as Cost }),
  };
};

const attemptWithoutReports = (record: AttemptRecord): Attempt => ({
  leaseId: record.leaseId,
  stepId: record.stepId,
  visit: record.visit,
  attempt: record.attempt,
  status: attemptStatus(record.state),
  workerId: record.workerId,
  offeredAt: record.offeredAt,
  ...(record.startedAt === undefined ? {} : { startedAt: record.startedAt }),
  ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }),
  ...(record.heartbeatAt === undefined ? {} : { lastHeartbeatAt: record.heartbeatAt }),
  ...(isLive(record.state) ? { leaseExpiresAt: record.expiresAt } : {}),
  spanId: spanIdOf(record.leaseId),
});

/** @param met what is damaged, and left out; the first of it is the fault of the run, where it has none yet */
export const runOfRows = ({ stored, documents }: RunRows, met: Met = () => {}): Run => {
  const { record } = stored;
  let fault = record.fault;
  const noted: Met = (damage) => {
    fault ??= damage.fault;
    met(damage);
  };
  const summary = summaryOfRecord(record, noted);
  const parsed = readable(() => parseDocuments(record.runId, documents), noted);
  const { input, output, state } = parsed ?? { input: null, output: undefined, state: {} };
  return {
    ...summary,
    ...(fault === undefined ? {} : { fault }),
    input,
    ...(output === undefined ? {} : { output }),
    state,
  };
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

/**
 * @param wallOf what the wall clock will show at a time of the steady one
 * @param met what is damaged, and left out
 */
export const detailOfRows = async (
  rows: RunRows,
  wallOf: (steady: UnixMs) => UnixMs,
  met: (damage: Damaged) => void = () => {},
): Promise<RunDetail> => {
  let fault: string | undefined;
  const noted: Met = (damage) => {
    fault ??= damage.fault;
    met(damage);
  };
  const run = runOfRows(rows, noted);
  const attempts = await decodeInTurns(
    rows.attempts,
    (record) => readable(() => attemptOf(record), noted) ?? attemptWithoutReports(record),
  );
  return {
    ...run,
    ...(run.fault === undefined && fault !== undefined ? { fault } : {}),
    attempts,
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
  };
};
