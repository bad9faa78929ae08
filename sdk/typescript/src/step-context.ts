import type { Json, JsonObject, Lease, ReportedUsage, RunCorrelation, Severity } from './generated/wire.ts';
import type { FeedbackInput, ScoreInput, Span, SpanOptions } from './recorder.ts';

/** What the body of a step works with. */
export type StepContext = {
  readonly runId: string;
  readonly project: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly stepId: string;
  /** Entries into this step, this one included. */
  readonly visit: number;
  /** Attempts of this visit, this one included. */
  readonly attempt: number;
  /**
   * The same for every attempt of this visit: hand it on as the idempotency key of whatever the step does to the world,
   * and a second attempt does it no second time.
   */
  readonly stepKey: string;
  /** The state of the run, as it was when the step was leased. */
  readonly state: JsonObject;
  readonly correlation: RunCorrelation;
  /** The details of the last `heartbeat` of the attempt before this one. */
  readonly lastDetails: Json | undefined;
  /** When the run ends by itself, where its definition limits the time. */
  readonly deadlineAt: Date | undefined;
  readonly lease: Lease;

  /**
   * Fires when the work is of no more use: the run was cancelled, another worker has the step, or this worker must stop.
   * Its `reason` is a `StepInterrupted`. Hand it to whatever takes an `AbortSignal`.
   */
  readonly signal: AbortSignal;

  /** Leaves a mark for the next attempt, which finds it as `lastDetails`. At most 64 KiB of JSON; sent within a second. */
  readonly heartbeat: (details: Json) => void;
  /** Merges into the state of the run when the step completes: these top-level keys replace those of the run. */
  readonly patchState: (patch: JsonObject) => void;
  /**
   * Reports the usage of the step. Without this call it is the sum of what the spans of the body carry; with it, this alone. Where the
   * body has recorded no model span, the service makes one of each entry, so that the trace holds tokens and money too; `record: false`
   * in an entry says that another library has recorded it.
   */
  readonly setUsage: (usage: ReportedUsage | readonly ReportedUsage[]) => void;

  /** Runs a function under a span of the step. Spans inside it nest. */
  readonly span: <T>(name: string, options: SpanOptions, body: (span: Span) => T | Promise<T>) => Promise<T>;
  readonly log: (severity: Severity, message: string, attributes?: Readonly<Record<string, unknown>>) => void;
  readonly score: (input: ScoreInput) => void;
  readonly feedback: (input: FeedbackInput) => void;
  /** The step's span as a `traceparent` header, for calls to services that trace. */
  readonly traceparent: string;
};
