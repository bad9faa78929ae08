/** Wrong keys that one peer may present in a second before it is refused with 429. */
const AUTH_FAILURES_PER_SECOND = 100;
/** Peers that are remembered within one second; past it, further peers share one count. */
const MAX_PEERS = 10_000;

/** Counts failed attempts of each peer in windows of one second. */
export type FailureLimit = {
  /** Counts one more. @returns false when the peer has had its share of this second */
  readonly allow: (peer: string, nowMs: number) => boolean;
};

/**
 * A bound on failed authentication. Only failures are counted and refused. A valid key always passes, so nobody can lock out
 * others at the same address.
 * @see OWASP API Security Top 10 2023, API4
 */
export const createFailureLimit = (perSecond: number = AUTH_FAILURES_PER_SECOND): FailureLimit => {
  let second = 0;
  let failures = new Map<string, number>();
  return {
    allow: (peer, nowMs) => {
      const now = Math.floor(nowMs / 1000);
      if (now !== second) {
        second = now;
        failures = new Map();
      }
      const counted = failures.has(peer) || failures.size < MAX_PEERS ? peer : 'others';
      const count = (failures.get(counted) ?? 0) + 1;
      failures.set(counted, count);
      return count <= perSecond;
    },
  };
};
