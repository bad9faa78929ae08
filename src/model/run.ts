import type { Delivery } from './definition/definition.ts';
import type { StepError } from './definition/step-error.ts';
import type { Json, JsonObject } from './json.ts';
import { roundSum } from './money.ts';
import type { Cost, Usage } from './span.ts';

/**
 * The durable half, as domain types. Times are whole milliseconds since the Unix epoch: that is the resolution of the
 * service clock. @see Interface decisions, "9. Durable runs"
 */
export type UnixMs = number;

/**
 * `scheduled`: its `start_at` lies ahead. `queued`: a step is runnable and no worker holds it, or the run is held back. `running`: a
 * worker holds a lease. `waiting`: for an event, a sleep, a backoff or children. `paused`: somebody paused it; a worker may still hold a
 * lease. The other three are ends.
 */
export const runStatuses = [
  'scheduled',
  'queued',
  'running',
  'waiting',
  'paused',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export type RunStatus = (typeof runStatuses)[number];

export const openRunStatuses = [
  'scheduled',
  'queued',
  'running',
  'waiting',
  'paused',
] as const satisfies readonly RunStatus[];
export type OpenRunStatus = (typeof openRunStatuses)[number];
/** Those in which something will move the run, and not only somebody. */
export const movingRunStatuses: readonly RunStatus[] = openRunStatuses.filter((status) => status !== 'paused');
/** Those of runs that go on by themselves and may be in a step. */
export const begunRunStatuses = ['queued', 'running', 'waiting'] as const satisfies readonly RunStatus[];
/** Those in which a worker may hold a lease. */
export const leasedRunStatuses = ['running', 'paused'] as const satisfies readonly RunStatus[];

/** True when the run has ended: nothing changes it any more. */
export const hasEnded = (status: RunStatus): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';

/**
 * What an open run waits for: an event, a sleep or its start, the next try, its children, a worker, a worker that fell silent, or a
 * concurrency or rate key.
 */
export const waitedOn = ['event', 'timer', 'backoff', 'children', 'worker', 'orphan', 'key'] as const;
export type WaitingOn = (typeof waitedOn)[number];
export const waitedForBesideWorkers = waitedOn.filter((on) => on !== 'worker');

/**
 * Why a run is held back. `definition_paused`: somebody paused its definition, and it has not begun. `concurrency_key`: as many hold its
 * key as may. `rate`: as many began with its key as may. Keys hold runs back before their first step, and steps at their task.
 * @see `actors/run/admission.ts`, which decides it
 */
export type HeldReason = 'definition_paused' | 'concurrency_key' | 'rate';

/**
 * Why a run is queued. `no_worker`: no live worker holds the definition. `version_missing`: those that hold it lack or
 * refused the version. `workers_busy`: it waits for its turn.
 */
export type QueuedReason = HeldReason | 'no_worker' | 'version_missing' | 'workers_busy';

/** The bounds of a run's priority: higher is offered first. @see Interface decisions, section 13, "Start" */
export const MIN_PRIORITY = -100;
export const MAX_PRIORITY = 100;

/** `byParent`: its parent was paused, and it is resumed with it. */
export type RunPause = { readonly since: UnixMs; readonly byParent: boolean; readonly reason?: string };

/** Why a run failed. */
export type RunError = StepError & { readonly stepId?: string };

/** Tokens and money that the workers of a run reported. `cost` is absent while nothing was priced, never zero for unknown. */
export type RunUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cost?: number;
  /** How many prices `cost` adds up; absent where a release counted that did not know. */
  readonly prices?: number;
};

export const noUsage: RunUsage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** Money is counted where it is known, and stays unknown where none is. */
export const addUsage = (left: RunUsage, right: RunUsage): RunUsage => ({
  inputTokens: left.inputTokens + right.inputTokens,
  outputTokens: left.outputTokens + right.outputTokens,
  totalTokens: left.totalTokens + right.totalTokens,
  ...sumOfPrices(left, right),
});

const sumOfPrices = (left: RunUsage, right: RunUsage): Pick<RunUsage, 'cost' | 'prices'> => {
  if (left.cost === undefined && right.cost === undefined) return {};
  const prices =
    (left.cost === undefined ? 0 : (left.prices ?? NaN)) + (right.cost === undefined ? 0 : (right.prices ?? NaN));
  return { cost: (left.cost ?? 0) + (right.cost ?? 0), ...(Number.isNaN(prices) ? {} : { prices }) };
};

/** The money of a usage as it is shown, in the form of a trace's: a single price as it is, a sum rounded. */
export const moneyOf = ({ cost, prices }: Pick<RunUsage, 'cost' | 'prices'>): number | undefined =>
  cost === undefined || prices === 1 ? cost : roundSum(cost);

/**
 * The same as an answer has it: a run whose calls cost nothing has no figure, as its trace has none.
 * @see Interface specification, "Cost", rule 3
 */
export const shownMoneyOf = (usage: Pick<RunUsage, 'cost' | 'prices'>): number | undefined =>
  moneyOf(usage) === 0 ? undefined : moneyOf(usage);

/**
 * One model call, or several of one model, as a worker reports it. `cost` is money the worker already knows, in USD. `record`: no
 * span of the worker holds it, so the service makes one of it.
 */
export type ReportedUsage = Usage & { readonly model?: string; readonly cost?: number; readonly record?: true };

/** A run without its payloads: what lists answer. */
export type RunSummary = {
  readonly runId: string;
  readonly traceId: string;
  readonly parentRunId?: string;
  /** The ended run that was restarted as this one, and where this one began. */
  readonly restartedFrom?: { readonly runId: string; readonly stepId: string; readonly visit: number };
  readonly project: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly status: RunStatus;
  /** Why the run is quarantined: nothing moves it. */
  readonly fault?: string;
  /** Of a queued run that was read, as of that moment; it is not stored. */
  readonly queuedReason?: QueuedReason;
  /** Set while it is paused. */
  readonly pause?: RunPause;
  /** The step where the run is, while it is open. */
  readonly cursor?: string;
  /** Leases of this visit of that step; absent before the first. Of a list. */
  readonly attempt?: number;
  /** Of a list; absent of a run that has ended, and while a worker holds a lease of it, be the worker silent or not. */
  readonly waitingOn?: WaitingOn;
  /** Of a list: the key of each event that it waits for. */
  readonly waitingKeys?: readonly string[];
  readonly error?: RunError;
  /** As the caller sent it, in wire spelling (`user_id`, ...). */
  readonly correlation: JsonObject;
  readonly idempotencyKey?: string;
  readonly usage: RunUsage;
  readonly cost?: Cost;
  /** Its own and that of all runs below it; absent where it started none. */
  readonly treeUsage?: RunUsage;
  readonly treeCost?: Cost;
  readonly stepCount: number;
  readonly priority: number;
  readonly createdAt: UnixMs;
  readonly updatedAt: UnixMs;
  /** When it was to begin, where its start said so. */
  readonly startAt?: UnixMs;
  readonly endedAt?: UnixMs;
  readonly deadlineAt?: UnixMs;
};

export type Run = RunSummary & { readonly input: Json; readonly output?: Json; readonly state: JsonObject };

const attemptStatuses = [
  'offered',
  'running',
  'succeeded',
  'failed',
  'orphaned',
  'unservable',
  'lapsed',
  'cancelled',
] as const;
export type AttemptStatus = (typeof attemptStatuses)[number];

/** One lease, seen from the run. `attempt` counts the leases of one visit from 1. */
export type Attempt = {
  readonly leaseId: string;
  readonly stepId: string;
  readonly visit: number;
  readonly attempt: number;
  readonly status: AttemptStatus;
  readonly workerId: string;
  readonly offeredAt: UnixMs;
  readonly startedAt?: UnixMs;
  readonly endedAt?: UnixMs;
  /** When its worker last extended the lease, by `started` or a heartbeat. */
  readonly lastHeartbeatAt?: UnixMs;
  /** Only while the lease lives. */
  readonly leaseExpiresAt?: UnixMs;
  readonly output?: Json;
  readonly error?: StepError;
  readonly usage?: readonly ReportedUsage[];
  readonly cost?: Cost;
  readonly spanId: string;
};

/** A timer that is never due has no `dueAt`. */
export type RunTimer = { readonly name: string; readonly dueAt?: UnixMs; readonly stepId?: string };
export type RunWait = {
  readonly event: string;
  readonly key: string;
  readonly stepId: string;
  readonly since: UnixMs;
  readonly deadlineAt?: UnixMs;
};
export type ChildRun = {
  readonly runId: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly status: RunStatus;
  readonly stepId: string;
  readonly visit: number;
  readonly index: number;
  /** Why it failed. */
  readonly error?: RunError;
};

/** The key for which a run waits, or the task that it is at. */
export type WaitingFor = {
  readonly limitId: string;
  readonly key: string;
  /** From 1, among all that wait and need the key. */
  readonly position: number;
  /** Runs that hold it, the longest first; the first of them. */
  readonly holders: readonly string[];
  /** When a rate next has room. */
  readonly nextAt?: UnixMs;
};

export type RunDetail = Run & {
  readonly waitingFor?: WaitingFor;
  readonly attempts: readonly Attempt[];
  readonly timers: readonly RunTimer[];
  readonly waits: readonly RunWait[];
  readonly children: readonly ChildRun[];
};

const journalKinds = [
  'run.started',
  'cursor.moved',
  'step.leased',
  'step.started',
  'step.finished',
  'step.failed',
  'step.orphaned',
  'step.requeued',
  'run.waiting',
  'run.resumed',
  'run.paused',
  'run.unpaused',
  'run.held',
  'run.admitted',
  'event.delivered',
  'child.started',
  'child.finished',
  'run.finished',
] as const;
export type JournalKind = (typeof journalKinds)[number];
const knownKinds: ReadonlySet<string> = new Set(journalKinds);
export const isJournalKind = (kind: string): kind is JournalKind => knownKinds.has(kind);

/** One change of a run. `seq` counts from 0 without a gap, in the order of the commits. */
export type JournalEntry = {
  readonly seq: number;
  readonly kind: JournalKind;
  readonly at: UnixMs;
  readonly stepId?: string;
  readonly visit?: number;
  readonly attempt?: number;
  readonly leaseId?: string;
  readonly workerId?: string;
  readonly data: JsonObject;
};

/** What a claim gives a worker: one attempt, held for a bounded time, with all that its body needs. */
export type Lease = {
  readonly leaseId: string;
  readonly runId: string;
  readonly project: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly stepId: string;
  readonly visit: number;
  readonly attempt: number;
  readonly delivery: Delivery;
  /** Rendered; absent where the step's definition gives none. */
  readonly input?: Json;
  readonly steps: { readonly [stepId: string]: { readonly output?: Json } };
  readonly state: JsonObject;
  readonly correlation: JsonObject;
  /** The same for every attempt of one visit of one step: what a body hands on as its own idempotency key. */
  readonly stepKey: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly leaseExpiresAt: UnixMs;
  /** The deadline of the run, where its definition limits the time. */
  readonly deadlineAt?: UnixMs;
  /** The details of the last heartbeat of the attempt before this one. */
  readonly lastDetails?: Json;
};
