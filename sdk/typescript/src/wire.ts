/**
 * What goes over the wire, in wire spelling: `snake_case`, RFC 3339 times. An answer may hold more than is written here.
 * @see Interface decisions, "9. Durable runs"
 */

/** Any JSON value, as data. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export type RunStatus = 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';

export type Correlation = {
  readonly environment?: string;
  readonly service_name?: string;
  readonly service_version?: string;
  readonly session_id?: string;
  readonly thread_id?: string;
  readonly user_id?: string;
  readonly request_id?: string;
  readonly release?: string;
  readonly resource_id?: string;
  readonly experiment_id?: string;
  readonly tags?: readonly string[];
};

export type WireError = { readonly class: string; readonly code?: string; readonly message: string };
export type RunError = WireError & { readonly step_id?: string; readonly limit?: string };

/** Tokens of model calls. A count that is not known is absent, never zero. */
export type Usage = {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
  readonly input_details?: {
    readonly cache_read?: number;
    readonly cache_write?: number;
    readonly cache_write_5m?: number;
    readonly cache_write_1h?: number;
    readonly audio?: number;
    readonly text?: number;
  };
  readonly output_details?: { readonly reasoning?: number; readonly audio?: number; readonly text?: number };
};

/** Usage of one model, as a step reports it. `cost` is money that is already known, in USD. */
export type ReportedUsage = Usage & { readonly model?: string; readonly cost?: number };

export type Cost = {
  readonly total_cost: number;
  readonly input_cost?: number;
  readonly output_cost?: number;
  readonly currency?: string;
  readonly is_estimated?: boolean;
};

export type Run = {
  readonly run_id: string;
  readonly trace_id: string;
  readonly parent_run_id?: string;
  readonly project: string;
  readonly definition_id: string;
  readonly definition_version: number;
  readonly status: RunStatus;
  readonly cursor?: string;
  readonly input?: Json;
  readonly output?: Json;
  readonly state?: JsonObject;
  readonly error?: RunError;
  readonly correlation?: Correlation;
  readonly idempotency_key?: string;
  readonly usage?: Usage & { readonly cost?: number };
  readonly cost?: Cost;
  readonly step_count?: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly ended_at?: string;
  readonly deadline_at?: string;
};

export type Attempt = {
  readonly lease_id: string;
  readonly step_id: string;
  readonly visit: number;
  readonly attempt: number;
  readonly status: 'offered' | 'running' | 'succeeded' | 'failed' | 'orphaned' | 'unservable' | 'lapsed' | 'cancelled';
  readonly worker_id: string;
  readonly offered_at: string;
  readonly started_at?: string;
  readonly ended_at?: string;
  readonly lease_expires_at?: string;
  readonly output?: Json;
  readonly error?: WireError;
  readonly usage?: ReportedUsage | readonly ReportedUsage[];
  readonly cost?: Cost;
  readonly span_id: string;
};

export type RunDetail = Run & {
  readonly attempts: readonly Attempt[];
  readonly timers: readonly { readonly name: string; readonly due_at?: string; readonly step_id?: string }[];
  readonly waits: readonly {
    readonly event: string;
    readonly key: string;
    readonly step_id: string;
    readonly since: string;
    readonly deadline_at?: string;
  }[];
  readonly children: readonly JsonObject[];
};

export type JournalKind =
  | 'run.started'
  | 'cursor.moved'
  | 'step.leased'
  | 'step.started'
  | 'step.finished'
  | 'step.failed'
  | 'step.orphaned'
  | 'step.requeued'
  | 'run.waiting'
  | 'run.resumed'
  | 'event.delivered'
  | 'child.started'
  | 'child.finished'
  | 'run.finished';

/** One change of a run. `seq` counts from 0 without a gap. */
export type JournalEntry = {
  readonly seq: number;
  readonly kind: JournalKind;
  readonly at: string;
  readonly step_id?: string;
  readonly visit?: number;
  readonly attempt?: number;
  readonly lease_id?: string;
  readonly worker_id?: string;
  readonly data: JsonObject;
};

export type EventOutcome = { readonly outcome: 'delivered' | 'parked' | 'duplicate'; readonly run_id?: string };

export type Registration = {
  readonly worker_id: string;
  readonly lease_ttl_ms: number;
  readonly heartbeat_ms: number;
  readonly definitions: readonly {
    readonly id: string;
    readonly version: number;
    readonly stored: 'created' | 'unchanged';
  }[];
};

/** What the prior steps of the run gave, by step id. */
export type PriorSteps = { readonly [stepId: string]: { readonly output?: Json } | undefined };

export type Lease = {
  readonly lease_id: string;
  readonly run_id: string;
  readonly project: string;
  readonly definition_id: string;
  readonly definition_version: number;
  readonly step_id: string;
  readonly visit: number;
  readonly attempt: number;
  readonly delivery: 'at_least_once' | 'at_most_once';
  readonly input?: Json;
  readonly steps: PriorSteps;
  readonly state: JsonObject;
  readonly correlation: Correlation;
  readonly step_key: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly lease_expires_at: string;
  readonly deadline_at?: string;
  readonly last_details?: Json;
};

export type RetryDocument = {
  readonly max_attempts?: number;
  readonly backoff_ms?: number;
  readonly multiplier?: number;
  readonly max_backoff_ms?: number;
  readonly jitter?: 'full' | 'none';
};

type Onward = {
  readonly id: string;
  /** Absent: the following step. A step id, `end`, or branches read in order. */
  readonly next?: string | readonly { readonly when?: string; readonly to: string }[];
  readonly on_error?: readonly { readonly class?: string; readonly code?: string; readonly to: string }[];
};

export type TaskDocument = Onward & {
  readonly kind: 'task';
  readonly input?: Json;
  readonly delivery?: 'at_least_once' | 'at_most_once';
  readonly timeout_ms?: number;
  readonly retry?: RetryDocument;
};

export type StepDocument =
  | TaskDocument
  | (Onward & {
      readonly kind: 'wait_event';
      readonly event: string;
      readonly key?: string;
      readonly accept_parked?: boolean;
      readonly timeout_ms?: number;
      readonly on_timeout?: 'fail' | 'continue';
    })
  | (Onward & { readonly kind: 'sleep'; readonly sleep_ms?: number; readonly sleep_until?: string })
  | (Onward & {
      readonly kind: 'child';
      readonly definition: string;
      readonly for_each?: string | readonly Json[];
      readonly input?: Json;
      readonly max_parallel?: number;
    })
  | { readonly id: string; readonly kind: 'succeed'; readonly output?: Json }
  | { readonly id: string; readonly kind: 'fail'; readonly code?: string; readonly message?: string };

/** A workflow definition, as it is registered. */
export type DefinitionDocument = {
  readonly id: string;
  readonly version: number;
  readonly input_schema?: Json;
  readonly limits?: { readonly max_steps?: number; readonly run_timeout_ms?: number; readonly max_cost_usd?: number };
  readonly defaults?: { readonly retry?: RetryDocument };
  readonly output?: Json;
  readonly steps: readonly StepDocument[];
};

export type DefinitionOverview = {
  readonly id: string;
  readonly versions: readonly {
    readonly version: number;
    readonly created_at: string;
    readonly open_runs: number;
    readonly workers: number;
  }[];
  readonly latest: DefinitionDocument;
};

export type WorkerInfo = {
  readonly worker_id: string;
  readonly name?: string;
  readonly version?: string;
  readonly project?: string;
  readonly definitions: readonly { readonly id: string; readonly version: number }[];
  readonly last_seen_at: string;
  readonly leases: number;
};

export type SpanKind =
  | 'model_generation'
  | 'workflow_run'
  | 'tool_call'
  | 'agent_run'
  | 'retrieval'
  | 'rag_embedding'
  | 'rag_action'
  | 'guardrail'
  | 'scorer_run'
  | 'mcp_tool_call'
  | 'http_request'
  | 'generic'
  | 'client_tool_call'
  | 'provider_tool_call';

export type Severity = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
