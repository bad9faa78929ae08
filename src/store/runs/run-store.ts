import type { RunCommits } from './run-commits.ts';
import type { RunQueries } from './run-queries.ts';

export * from './changes.ts';
export * from './outbox-batch.ts';
export * from './limits.ts';
export type * from './lookups.ts';
export type * from './records.ts';
export type * from './run-commits.ts';
export type * from './run-filter.ts';
export type * from './run-queries.ts';

/**
 * Where durable runs live: what a commit needs, and what is asked. Every method rejects with `StoreUnavailable` when the store
 * fails, is away or is closed.
 */
export interface RunStore extends RunCommits, RunQueries {
  /** The name of the storage kind in the health document. */
  readonly kind: string;

  /** One trivial read of the store. */
  ping(): Promise<void>;
  /** Waits for what was asked, then releases the store. */
  close(): Promise<void>;
}
