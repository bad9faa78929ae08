import type { Json } from '../../model/json.ts';
import type { UnixMs } from '../../model/run.ts';
import type { RunFilter } from '../../store/runs/run-store.ts';
import type { TimerMessage } from '../timer-message.ts';

/** What is done with each run. A signal carries its event. */
export type BulkAction =
  | { readonly action: 'cancel' | 'pause' | 'resume'; readonly reason?: string }
  /** Each at the step that failed; a run that failed at none refuses. */
  | { readonly action: 'restart' }
  | { readonly action: 'signal'; readonly event: string; readonly payload: Json };

/** What an action on many runs was made of. */
export type BulkSpec = {
  readonly work: BulkAction;
  /** Of runs that were there when it was asked for: its `to` is no later. */
  readonly filter: RunFilter;
  /** Where it was asked for under an idempotency key. */
  readonly keyed?: KeyedBulk;
};

/** What a call that is sent again is compared with, and answered. */
export type KeyedBulk = {
  /** Of the call. */
  readonly digest: string;
  readonly sample: readonly string[];
  /** Drawn for this action alone: the one before it under the same key has the same id. */
  readonly nonce: string;
};
/** The action that a call began, or that one before it began under the same key. */
export type BegunBulk = {
  readonly bulkId: string;
  readonly begun: boolean;
  readonly count: number;
  readonly sample: readonly string[];
};

export type BulkMessage =
  | { readonly kind: 'begin'; readonly spec: BulkSpec; readonly count: number }
  | { readonly kind: 'stop' }
  | TimerMessage
  /** What became of the runs that were to be restarted beyond `from`, up to and with `upTo`; without it, these were the last. */
  | {
      readonly kind: 'restarted';
      readonly from: string;
      readonly done: number;
      readonly refused: number;
      readonly upTo?: string;
    }
  /** To itself, for each run of a slice. */
  | { readonly kind: 'apply'; readonly runId: string; readonly slice: BulkSlice };

/** What became of the runs of one slice, while its turn lasts. */
export type BulkSlice = { readonly replies: (() => unknown)[]; refused: number };

export type BulkStatus = 'running' | 'done' | 'stopped';
/** An action on many runs as callers see it. */
export type BulkView = {
  readonly bulkId: string;
  readonly action: BulkAction['action'];
  readonly status: BulkStatus;
  readonly count: number;
  readonly done: number;
  readonly refused: number;
  readonly startedAt: UnixMs;
  readonly endedAt?: UnixMs;
};
