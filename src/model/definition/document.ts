import type { Json } from '../json.ts';

/**
 * A definition as it is registered and stored, in wire spelling. The shape is declared by `spec/definition.schema.json`; these
 * are the types of a document that met it.
 */
export type DefinitionDocument = {
  readonly id: string;
  readonly version: number;
  readonly input_schema?: Json;
  readonly limits?: { readonly max_steps?: number; readonly run_timeout_ms?: number; readonly max_cost_usd?: number };
  readonly defaults?: { readonly retry?: RetryDocument };
  readonly concurrency?: ConcurrencyDocument;
  readonly rate?: RateDocument;
  readonly output?: Json;
  readonly steps: readonly StepDocument[];
};

export type ConcurrencyDocument = {
  readonly key: string;
  readonly limit: number;
  readonly on_limit?: 'queue' | 'reject' | 'cancel_oldest';
};
export type RateDocument = { readonly key: string; readonly limit: number; readonly per_ms: number };

export type RetryDocument = {
  readonly max_attempts?: number;
  readonly backoff_ms?: number;
  readonly multiplier?: number;
  readonly max_backoff_ms?: number;
  readonly jitter?: 'full' | 'none';
};

export type OnwardDocument = {
  readonly id: string;
  readonly next?: string | readonly { readonly when?: string; readonly to: string }[];
  readonly on_error?: readonly { readonly class?: string; readonly code?: string; readonly to: string }[];
};

export type TaskDocument = OnwardDocument & {
  readonly kind: 'task';
  readonly input?: Json;
  readonly delivery?: 'at_least_once' | 'at_most_once';
  readonly timeout_ms?: number;
  readonly retry?: RetryDocument;
  readonly limits?: { readonly max_attempts_total?: number; readonly max_cost_usd?: number };
  readonly concurrency?: ConcurrencyDocument;
  readonly rate?: RateDocument;
};

export type StepDocument =
  | TaskDocument
  | (OnwardDocument & {
      readonly kind: 'wait_event';
      /** Exactly one of `event` and `any` is there. */
      readonly event?: string;
      readonly key?: string;
      readonly any?: readonly { readonly event: string; readonly key?: string; readonly to?: string }[];
      readonly accept_parked?: boolean;
      readonly timeout_ms?: number;
      readonly on_timeout?: 'fail' | 'continue';
    })
  | (OnwardDocument & { readonly kind: 'sleep'; readonly sleep_ms?: number; readonly sleep_until?: string })
  | (OnwardDocument & {
      readonly kind: 'child';
      readonly definition: string;
      readonly for_each?: string | readonly Json[];
      readonly input?: Json;
      readonly max_parallel?: number;
      readonly on_item_error?: 'fail_fast' | 'collect';
    })
  | { readonly id: string; readonly kind: 'succeed'; readonly output?: Json }
  | { readonly id: string; readonly kind: 'fail'; readonly code?: string; readonly message?: string };

export const documentLeadsOn = (step: StepDocument): step is Exclude<StepDocument, { kind: 'succeed' | 'fail' }> =>
  step.kind !== 'succeed' && step.kind !== 'fail';
