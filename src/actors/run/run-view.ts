import type { Pause, RunSnapshot } from '../../machines/run.ts';
import { addUsage, type Run, type RunPause, type RunSummary, type RunUsage, shownMoneyOf } from '../../model/run.ts';
import type { Cost } from '../../model/span.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import { Damaged, readable } from './quarantined.ts';
import { readCorrelation, type RunDocuments } from './run-documents.ts';
import type { RunActor } from './run-state.ts';

/** A run as lists show it. @param met what is damaged, and left out */
export const summaryOf = (
  record: RunRecord,
  snapshot: { readonly context: RunSnapshot['context'] },
  met: (damage: Damaged) => void = () => {},
): RunSummary => {
  const { usage, error, stepCount, paused } = snapshot.context;
  if (record.damage !== undefined && record.fault === undefined) met(new Damaged(record.runId, record.damage));
  return {
    runId: record.runId,
    traceId: record.traceId,
    ...(record.parent === undefined ? {} : { parentRunId: record.parent.runId }),
    ...restartedFromOf(record),
    project: record.project,
    definitionId: record.definitionId,
    definitionVersion: record.definitionVersion,
    status: record.status,
    ...(record.cursor === undefined ? {} : { cursor: record.cursor }),
    ...(record.status === 'failed' && error !== undefined ? { error } : {}),
    correlation: readable(() => readCorrelation(record), met) ?? {},
    ...(record.fault === undefined ? {} : { fault: record.fault }),
    ...(record.idempotencyKey === undefined ? {} : { idempotencyKey: record.idempotencyKey }),
    usage,
    ...costOf(usage),
    ...treeOf(usage, record.descendants),
    stepCount,
    priority: record.priority,
    ...(record.status === 'paused' && paused !== undefined ? { pause: pauseOf(paused) } : {}),
    ...(record.held === undefined || record.status !== 'queued' ? {} : { queuedReason: record.held }),
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    ...(record.startAt === undefined ? {} : { startAt: record.startAt }),
    ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }),
    ...(record.deadlineAt === undefined ? {} : { deadlineAt: record.deadlineAt }),
  };
};
/** What everybody may know of the run before this one. */
const restartedFromOf = ({ restartedFrom }: RunRecord): Pick<RunSummary, 'restartedFrom'> => {
  if (restartedFrom === undefined) return {};
  const { runId, stepId, visit } = restartedFrom;
  return { restartedFrom: { runId, stepId, visit } };
};

const pauseOf = ({ at, by, reason }: Pause): RunPause => ({
  since: at,
  byParent: by === 'parent',
  ...(reason === undefined ? {} : { reason }),
});
/** The money of a usage, which may add up estimates and reported prices. */
const costOf = (usage: RunUsage): { readonly cost?: Cost } => {
  const totalCost = shownMoneyOf(usage);
  return totalCost === undefined ? {} : { cost: { totalCost, currency: RUN_CURRENCY, isEstimated: true } };
};
const treeOf = (
  own: RunUsage,
  descendants: RunUsage | undefined,
): { readonly treeUsage?: RunUsage; readonly treeCost?: Cost } => {
  if (descendants === undefined) return {};
  const treeUsage = addUsage(own, descendants);
  const { cost: treeCost } = costOf(treeUsage);
  return { treeUsage, ...(treeCost === undefined ? {} : { treeCost }) };
};
/** `max_cost_usd` compares in it, and so the cost of a run is counted in it. */
const RUN_CURRENCY = 'USD';

export const viewOf = (run: RunActor, documents: RunDocuments): Run => ({
  ...summaryOf(run.record, run.snapshot),
  input: documents.input,
  ...(documents.output === undefined ? {} : { output: documents.output }),
  state: documents.state,
});
