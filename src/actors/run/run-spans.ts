import { createHash } from 'node:crypto';
import { isSpanId } from '../../model/ids.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import {
  type AttemptStatus,
  moneyOf,
  type ReportedUsage,
  type RunError,
  type RunStatus,
  type RunUsage,
  type UnixMs,
} from '../../model/run.ts';
import type { Correlation, Cost, Span, Usage } from '../../model/span.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import { unixNanoFromMillis } from '../../model/time.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import type { DraftEvent } from './wait-events.ts';
import { readCorrelation } from './run-documents.ts';

/**
 * Ids of a run's trace come from the ids of its parts, so that a span that is sent twice is the same span twice. A UUIDv7
 * without its dashes is a trace id; its last 64 bits, which are random but for the variant, are a span id, never zero.
 */
export const traceIdOf = (runId: string): string => runId.replaceAll('-', '');
export const spanIdOf = (recordId: string): string => recordId.replaceAll('-', '').slice(16);

/** The span of one visit of a step that starts children: they hang under it, and no lease lends it an id. */
export const visitSpanIdOf = (runId: string, stepId: string, visit: number): string => {
  const id = createHash('sha256').update(`${runId}/${stepId}/${visit}`).digest('hex').slice(0, 16);
  return isSpanId(id) ? id : spanIdOf(runId);
};

/** The span of one entry of the usage that an attempt reported. */
const usageSpanIdOf = (leaseId: string, index: number): string => {
  const id = createHash('sha256').update(`${leaseId}/usage/${index}`).digest('hex').slice(0, 16);
  return isSpanId(id) ? id : spanIdOf(leaseId);
};

/** Stands in the outbox for the span of the run as it is when it is sent: `actors/root-spans.ts` builds it from what is stored. */
export const ROOT_SPAN = '"root"';

/** A span as it waits in the outbox: plain JSON. Unredacted, as the specification has it for the runs store. */
export type SpanDraft = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: Span['kind'];
  readonly status: Span['status'];
  readonly startMs: UnixMs;
  readonly endMs?: UnixMs;
  readonly input?: Json;
  readonly output?: Json;
  readonly model?: string;
  readonly usage?: Usage;
  readonly cost?: Cost;
  readonly error?: { readonly message: string; readonly type?: string };
  readonly correlation: JsonObject;
  readonly project: string;
  readonly runId: string;
  readonly attributes: JsonObject;
  readonly events?: readonly DraftEvent[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
};

const base = (record: RunRecord) => ({
  traceId: record.traceId,
  correlation: readCorrelation(record),
  project: record.project,
  runId: record.runId,
});

const failure = (error: StepError): { status: 'error'; error: { message: string; type: string } } => ({
  status: 'error',
  error: { message: error.message, type: error.code ?? error.class },
});

const costAttribute = (usage: RunUsage | undefined): JsonObject => {
  const cost = usage === undefined ? undefined : moneyOf(usage);
  return cost === undefined ? {} : { 'svc.run.cost_usd': cost };
};

/**
 * The span of a run: `unset` while it is open, complete when it has ended. A cancelled run neither succeeded nor failed: its span is
 * `unset` with an end. The span of a child hangs under that of the step that started it.
 * @see Interface decisions, "12. Decided since", "Runs as traces"
 */
export const runSpan = (
  record: RunRecord,
  status: RunStatus,
  end: { readonly at: UnixMs; readonly error?: RunError; readonly usage: RunUsage; readonly output?: Json } | undefined,
  input: Json,
  waited: { readonly events?: readonly DraftEvent[]; readonly waits?: number } = {},
): SpanDraft => ({
  ...base(record),
  spanId: spanIdOf(record.runId),
  ...(record.parent === undefined
    ? {}
    : { parentSpanId: visitSpanIdOf(record.parent.runId, record.parent.stepId, record.parent.visit) }),
  name: record.definitionId,
  kind: 'workflow_run',
  status: end === undefined || status === 'cancelled' ? 'unset' : 'ok',
  startMs: record.createdAt,
  ...(end === undefined ? {} : { endMs: end.at }),
  input,
  ...(end?.output === undefined ? {} : { output: end.output }),
  attributes: {
    'svc.run_id': record.runId,
    'svc.run.definition_id': record.definitionId,
    'svc.run.definition_version': record.definitionVersion,
    'svc.run.status': status,
    ...(end?.error?.limit === undefined ? {} : { 'svc.run.limit': end.error.limit }),
    ...(record.restartedFrom === undefined ? {} : { 'svc.run.restarted_from': record.restartedFrom.runId }),
    ...costAttribute(end?.usage),
    ...(waited.waits === undefined ? {} : { 'svc.run.waits': waited.waits }),
  },
  ...(waited.events === undefined ? {} : { events: waited.events }),
  ...(record.restartedFrom === undefined
    ? {}
    : { links: [{ traceId: record.restartedFrom.traceId, spanId: spanIdOf(record.restartedFrom.runId) }] }),
  ...(end !== undefined && status === 'failed' && end.error !== undefined ? failure(end.error) : {}),
});

/**
 * The span of one attempt, or of one visit of a step that starts children. Tokens sit on the spans that the worker records
 * under it; the priced total is an attribute, so that a trace counts each token once.
 */
export const stepSpan = (
  record: RunRecord,
  step: {
    readonly spanId: string;
    readonly stepId: string;
    readonly visit: number;
    readonly attempt?: number;
    readonly leaseId?: string;
    readonly workerId?: string;
    readonly status: AttemptStatus;
    readonly startedAt: UnixMs;
    readonly endedAt: UnixMs;
    readonly input?: Json;
    readonly output?: Json;
    readonly error?: StepError;
    readonly cost?: Cost;
  },
): SpanDraft => ({
  ...base(record),
  spanId: step.spanId,
  parentSpanId: spanIdOf(record.runId),
  name: step.stepId,
  kind: 'generic',
  status: 'ok',
  startMs: step.startedAt,
  endMs: step.endedAt,
  ...(step.input === undefined ? {} : { input: step.input }),
  ...(step.output === undefined ? {} : { output: step.output }),
  attributes: {
    'svc.run_id': record.runId,
    'svc.step.id': step.stepId,
    'svc.step.visit': step.visit,
    'svc.step.status': step.status,
    ...(step.attempt === undefined ? {} : { 'svc.step.attempt': step.attempt }),
    ...(step.leaseId === undefined ? {} : { 'svc.step.lease_id': step.leaseId }),
    ...(step.workerId === undefined ? {} : { 'svc.step.worker_id': step.workerId }),
    ...(step.cost === undefined
      ? {}
      : { 'svc.step.total_cost': step.cost.totalCost, 'svc.step.currency': step.cost.currency }),
  },
  ...(step.error !== undefined && (step.status === 'failed' || step.status === 'orphaned') ? failure(step.error) : {}),
});

/**
 * The span of usage that no span of the worker holds: a model call somewhere within the attempt, with the price that the run was
 * charged.
 * @param index its place among the entries of the report
 * @see Interface decisions, "12. Decided since", "Usage that no span holds"
 */
export const usageSpan = (
  record: RunRecord,
  attempt: {
    readonly leaseId: string;
    readonly stepId: string;
    readonly startedAt: UnixMs;
    readonly endedAt: UnixMs;
  },
  index: number,
  { model, cost: _charged, record: _recorded, ...counts }: ReportedUsage,
  cost: Cost | undefined,
): SpanDraft => {
  const isCounted =
    counts.inputTokens !== undefined || counts.outputTokens !== undefined || counts.totalTokens !== undefined;
  return {
    ...base(record),
    spanId: usageSpanIdOf(attempt.leaseId, index),
    parentSpanId: spanIdOf(attempt.leaseId),
    name: model ?? attempt.stepId,
    kind: 'model_generation',
    status: 'ok',
    startMs: attempt.startedAt,
    endMs: attempt.endedAt,
    ...(model === undefined ? {} : { model }),
    ...(isCounted ? { usage: counts } : {}),
    ...(cost === undefined ? {} : { cost }),
    attributes: {
      'svc.run_id': record.runId,
      'svc.step.id': attempt.stepId,
      'svc.step.lease_id': attempt.leaseId,
      'svc.usage.reported': true,
    },
  };
};

const correlationKeys = {
  environment: 'environment',
  service_name: 'serviceName',
  service_version: 'serviceVersion',
  session_id: 'sessionId',
  thread_id: 'threadId',
  user_id: 'userId',
  request_id: 'requestId',
  release: 'release',
  resource_id: 'resourceId',
  experiment_id: 'experimentId',
} as const satisfies Record<string, keyof Correlation>;

const correlationOf = (draft: SpanDraft): Correlation => {
  const correlation: Record<string, unknown> = { project: draft.project, runId: draft.runId };
  for (const [wire, name] of Object.entries(correlationKeys)) {
    const value = draft.correlation[wire];
    if (typeof value === 'string') correlation[name] = value;
  }
  const { tags } = draft.correlation;
  if (Array.isArray(tags)) correlation['tags'] = tags.filter((tag) => typeof tag === 'string');
  return correlation as Correlation;
};

/** The span that goes into the pipeline, where it is redacted, hashed and stored like any other. */
export const spanOfDraft = (draft: SpanDraft, receivedAt: UnixMs): Span => ({
  traceId: draft.traceId,
  spanId: draft.spanId,
  ...(draft.parentSpanId === undefined ? {} : { parentSpanId: draft.parentSpanId }),
  name: draft.name,
  kind: draft.kind,
  status: draft.status,
  startTime: unixNanoFromMillis(draft.startMs),
  ...(draft.endMs === undefined ? {} : { endTime: unixNanoFromMillis(draft.endMs) }),
  isEvent: false,
  receivedAt: unixNanoFromMillis(receivedAt),
  ...(draft.input === undefined ? {} : { input: draft.input }),
  ...(draft.output === undefined ? {} : { output: draft.output }),
  ...(draft.model === undefined ? {} : { model: draft.model }),
  ...(draft.usage === undefined ? {} : { usage: draft.usage }),
  ...(draft.cost === undefined ? {} : { cost: draft.cost }),
  ...(draft.error === undefined ? {} : { error: draft.error }),
  correlation: correlationOf(draft),
  attributes: draft.attributes,
  events: (draft.events ?? []).map(({ name, at, attributes }) => ({ name, time: unixNanoFromMillis(at), attributes })),
  links: (draft.links ?? []).map((link) => ({ ...link, attributes: {} })),
  scopeName: 'svc.runs',
});
