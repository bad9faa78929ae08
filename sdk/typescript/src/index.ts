export {
  type Client,
  type ClientOptions,
  createClient,
  type FollowOptions,
  type RunsQuery,
  type StartOptions,
} from './client.ts';
export { ConnectionError, RetryableError, RunFailed, ServiceError, StepFailure, StepInterrupted } from './errors.ts';
export type { ExportCounters, ExportOptions } from './export-queue.ts';
export type {
  Attempt,
  AttemptStatus,
  AuthorKind,
  CheckedDefinition,
  CheckedDefinitions,
  Cost,
  Definition,
  DefinitionOverview,
  DefinitionRetry,
  DefinitionStep,
  DefinitionSummary,
  DefinitionVersion,
  EventOutcome,
  JournalEntry,
  JournalKind,
  Json,
  JsonObject,
  Lease,
  NewCorrelation,
  NewCost,
  Registration,
  ReportedUsage,
  Run,
  RunCorrelation,
  RunDetail,
  RunError,
  RunStatus,
  RunSummary,
  RunUsage,
  ScoreSource,
  Severity,
  SpanKind,
  StepError,
  StoredDefinition,
  StoredDefinitions,
  TaskStep,
  Usage,
  Worker as WorkerInfo,
} from './generated/wire.ts';
export {
  createInstrumentation,
  type FeedbackInput,
  type Instrumentation,
  type InstrumentationOptions,
  parseTraceparent,
  type ScoreInput,
  type Span,
  type SpanOptions,
} from './instrumentation.ts';
export type { RetryPolicy } from './retry.ts';
export type { Logger } from './serve-lease.ts';
export type { SettingsInput } from './settings.ts';
export type { StepContext } from './step-context.ts';
export { createWorker, type Worker, type WorkerOptions } from './worker.ts';
export { defineWorkflow, type PriorSteps, type StepBody, type, type Typed, type Workflow } from './workflow.ts';
