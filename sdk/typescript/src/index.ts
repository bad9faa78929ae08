export type { BulkFilter, BulkWork } from './bulk.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  type FollowOptions,
  type StartOptions,
} from './client.ts';
export {
  ConnectionError,
  IncompatibleServer,
  RetryableError,
  RunFailed,
  ServiceError,
  StepFailure,
  StepInterrupted,
} from './errors.ts';
export type { ExportCounters, ExportOptions } from './export-queue.ts';
export type {
  Attempt,
  AttemptStatus,
  AuthorKind,
  Bulk,
  CatchUp,
  CheckedDefinition,
  CheckedDefinitions,
  Cost,
  Definition,
  DefinitionOverview,
  DefinitionRetry,
  DefinitionState,
  DefinitionStep,
  DefinitionSummary,
  DefinitionVersion,
  EventOutcome,
  Firing,
  JournalEntry,
  JournalKind,
  Json,
  JsonObject,
  Lease,
  ListedSchedule,
  CorrelationInput,
  CostInput,
  Overlap,
  Registration,
  ReportedUsage,
  Run,
  RunCorrelation,
  RunDetail,
  RunError,
  RunStatus,
  RunSummary,
  RunUsage,
  Schedule,
  ScheduleStatus,
  ScoreSource,
  Severity,
  SpanKind,
  StartedBulk,
  StepError,
  StoredDefinition,
  StoredDefinitions,
  TaskStep,
  Usage,
  Worker as WorkerInfo,
  Feedback,
  Health,
  ParkedEvent,
  Score,
  Span as StoredSpan,
  TraceDetail,
  TraceSummary,
} from './generated/wire.ts';
export { createInstrumentation } from './instrumentation.ts';
export { bridgeConsole, createLogStream, type LogStream } from './log-bridge.ts';
export type { ContextBridge } from './platform.ts';
export {
  type AspectNoteInput,
  type FeedbackInput,
  type Instrumentation,
  type InstrumentationOptions,
  type MetricInput,
  parseTraceparent,
  type ScoreInput,
  type Span,
  type SpanOptions,
} from './recorder.ts';
export type { RetryPolicy } from './retry.ts';
export type { RunsQuery } from './runs-query.ts';
export type { ScheduleOptions, ScheduleTimes } from './schedules.ts';
export type { Logger } from './serve-lease.ts';
export type { SettingsInput } from './settings.ts';
export type { StepContext } from './step-context.ts';
export { createWorker, type Worker, type WorkerOptions } from './worker.ts';
export {
  defineWorkflow,
  loadDefinition,
  type PriorSteps,
  type StepBody,
  type,
  type Typed,
  type Workflow,
} from './workflow.ts';
