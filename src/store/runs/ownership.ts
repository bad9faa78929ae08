import type { UnixMs } from '../../model/run.ts';

/** A shard that was taken: the number of this ownership, and what the clock of the owner before showed last. */
export type TakenShard = { readonly epoch: number; readonly latestAt: UnixMs };

/** Who owns a shard, as the database says it. */
export type ShardOwner = {
  readonly shard: number;
  readonly owner: string;
  /** Where other services reach it. */
  readonly address: string;
  /** How long it still owns it, in milliseconds; 0 or less where nobody does. */
  readonly leftMs: number;
};

/** What the services on one database know of each other. */
export type Sharing = {
  /** How many shards the runs are cut into. */
  readonly shards: number;
  /** The services that were seen lately, this one among them, and where each is reached. */
  readonly services: readonly { readonly owner: string; readonly address: string }[];
  /** Every shard that was ever owned. */
  readonly owners: readonly ShardOwner[];
};

/**
 * Which of several services runs the kernel of a shard. Time is that of the database alone. Every method rejects with `StoreUnavailable`
 * when the store is away; whether a call took effect is then unknown.
 */
export interface Ownership {
  /**
   * Takes a shard that nobody else owns, for so long, once what is being committed in it has ended.
   * @returns nothing where another owns it, or the runs are not cut into as many shards any more as they were when they were opened
   */
  take(shard: number, owner: string, address: string, forMs: number): Promise<TakenShard | undefined>;
  /** Owns it for so long from now. Waits for no commit. @returns false where another took it since */
  renew(shard: number, epoch: number, latestAt: UnixMs, forMs: number): Promise<boolean>;
  /** Gives it back, so that another need not wait. @param latestAt what the clock of the owner shows */
  release(shard: number, epoch: number, latestAt: UnixMs): Promise<void>;
  /** Every shard that was ever owned. */
  owners(): Promise<readonly ShardOwner[]>;
  /** Shows the others that this service is there, for so long, and says what there is. */
  meet(owner: string, address: string, forMs: number): Promise<Sharing>;
  /** This service is there no more. */
  leave(owner: string): Promise<void>;
  /** A secret that only the services on one database know. A request that presents it comes from another of them. */
  secret(): Promise<string>;
  /** What the clock of the database shows. */
  now(): Promise<UnixMs>;
}
