/**
 * What engines of the signals store honestly differ in. The contract suite reads it, and so may a caller: nobody asks which engine
 * is behind a store.
 */
export type SignalCapabilities = {
  /**
   * What a delete has done when it answers. Either way no later read finds anything of it.
   * - `immediate`: the bytes are gone, too.
   * - `deferred`: the bytes go later, and the answer says `pending`.
   */
  readonly deletes: 'immediate' | 'deferred';
  /**
   * What of several units with one ingest key, sent at once.
   * - `exact`: one is `written`, the others are `duplicate`.
   * - `converging`: more than one may be `written`. Signals with ids are there once all the same.
   */
  readonly idempotency: 'exact' | 'converging';
  /**
   * What a reader may see of a unit that is being written, or whose write failed.
   * - `unit`: all of it or nothing.
   * - `converging`: a part. Sent again, it is there completely and once.
   */
  readonly atomicity: 'unit' | 'converging';
  /** Words up to this length, in bytes of UTF-8, are found by `q` with the next read. A longer one may not be found. */
  readonly fullText: { readonly longestWordBytes: number };
  /**
   * Which of two traces comes first that are equal in what a list is sorted by. Pages are complete either way.
   * - `arrival`: ascending, the one that was written first.
   * - `identity`: ascending, the one with the smaller trace id.
   */
  readonly order: 'arrival' | 'identity';
};
