export type ProbeStep = 'write' | 'read' | 'delete';

/** What became of a span that was written, read back and deleted to see whether a store can. */
export type ProbeOutcome =
  | { readonly kind: 'survived' }
  /** Somebody held the write lock at every attempt; nothing is known. */
  | { readonly kind: 'busy'; readonly attempts: number }
  /** The engine failed. */
  | { readonly kind: 'failed'; readonly step: ProbeStep; readonly code: string }
  /** The engine did not fail, but what was read is not what was written, or was still there after its deletion. */
  | { readonly kind: 'wrong'; readonly step: ProbeStep };
