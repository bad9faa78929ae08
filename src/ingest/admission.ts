import { Refusal } from '../model/failure.ts';
import { inBytes } from './limits.ts';

/**
 * Bytes of memory counted for one byte of an inflated body: the body itself, and its signals as decoded, which take about
 * twice that while they wait for the commit.
 */
export const MEMORY_PER_BODY_BYTE = 3;

/** Requests inside at one time; small ones weigh more by their number than by their bytes. */
const MAX_REQUESTS = 4096;

/** After this many seconds a refused client may find room again: the time of a few commits. */
const RETRY_AFTER_SECONDS = 1;

/** The share of one request in what the process may hold. */
export type Reservation = {
  /**
   * Counts body bytes that have arrived (or were inflated).
   * @throws Refusal `overloaded` when there is no room; what was held before stays held until the release
   */
  readonly hold: (bodyBytes: number) => void;
  /** Gives everything back; further calls change nothing. */
  readonly release: () => void;
};

export type Admission = {
  /**
   * Lets a request in. What it announces is looked at, not held: a client that announces much and sends little takes
   * nothing from others.
   * @param announcedBytes the content length, where the request has one
   * @throws Refusal `overloaded` when as many requests as may be are inside, or the announced body would not fit now
   */
  readonly enter: (announcedBytes?: number) => Reservation;
  readonly heldBytes: () => number;
  readonly requests: () => number;
  /** Resolves when nobody is inside. */
  readonly empty: () => Promise<void>;
};

/**
 * The door's bound on memory: how many bytes and how many requests may be between arrival and answer. A request that is
 * alone is always let in, so that the largest legal body passes whatever the bound is.
 * @param maxInflightBytes memory for bodies and decoded signals, in bytes: `--max-inflight-bytes`
 * @param maxRequests requests inside at one time
 * @see Interface decisions, "5. Ingest policy", back-pressure
 */
export const createAdmission = (maxInflightBytes: number, maxRequests: number = MAX_REQUESTS): Admission => {
  let held = 0;
  let requests = 0;
  let waiters: (() => void)[] = [];

  const overloaded = (message: string): Refusal =>
    new Refusal({ code: 'overloaded', message, retryAfterSeconds: RETRY_AFTER_SECONDS });
  const noRoom = (): Refusal =>
    overloaded(
      `the requests in flight hold ${held} of ${inBytes(maxInflightBytes)} (--max-inflight-bytes); send this request again later`,
    );

  return {
    enter: (announcedBytes = 0) => {
      if (requests >= maxRequests)
        throw overloaded(`${requests} requests are in flight, the most there may be; send this request again later`);
      if (held > 0 && held + announcedBytes * MEMORY_PER_BODY_BYTE > maxInflightBytes) throw noRoom();
      requests += 1;
      let mine = 0;
      let inside = true;
      return {
        hold: (bodyBytes) => {
          if (!inside) return;
          const more = bodyBytes * MEMORY_PER_BODY_BYTE;
          const alone = held === mine;
          if (!alone && held + more > maxInflightBytes) throw noRoom();
          mine += more;
          held += more;
        },
        release: () => {
          if (!inside) return;
          inside = false;
          held -= mine;
          requests -= 1;
          if (requests > 0) return;
          const released = waiters;
          waiters = [];
          for (const wake of released) wake();
        },
      };
    },
    heldBytes: () => held,
    requests: () => requests,
    empty: () => (requests === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
};
