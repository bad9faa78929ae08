import type { Clock } from '../actors/kernel/clock.ts';
import type { Ownership } from '../store/runs/ownership.ts';
import type { RunQueries } from '../store/runs/run-queries.ts';
import type { RunStore } from '../store/runs/run-store.ts';

/** The runs of a database, as this half needs them. */
export type SharedStore = {
  /** Into how many shards they are cut. */
  readonly shards: number;
  readonly shardOfProject: (project: string) => number;
  readonly findShard: (kind: 'run' | 'lease' | 'bulk', id: string) => Promise<number | undefined>;
  readonly queries: RunQueries;
  /** What a kernel asks, as of the last commit. */
  readonly load: RunStore['load'];
  readonly ownership: Ownership;
  readonly own: (owned: { readonly shard: number; readonly epoch: number }, fenced?: () => void) => RunStore;
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** How the durable half is started on a store. */
export type StartShare = {
  readonly clock: Clock;
  /** Off for one that only reads. */
  readonly ticks: boolean;
  /**
   * Whether the runs are certainly still this service's: what it writes beside their database, which no fence guards, must not come later
   * than what their next owner writes.
   */
  readonly isHeld?: () => boolean;
  /** The shard of the kernel. */
  readonly shard?: number;
};
