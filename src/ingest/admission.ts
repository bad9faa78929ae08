import { Refusal } from '../model/failure.ts';
import { inBytes } from './limits.ts';

/**
 * Bytes of memory counted for one byte of an inflated body: the body itself, its signals as decoded, and as rows on their
 * way to the writer.
 */
export const MEMORY_PER_BODY_BYTE = 4;

/** Requests inside at one time; small ones weigh more by their number than by their bytes. */
const MAX_REQUESTS = 4096;

/** A request is small while it holds no more than this. */
const SMALL_BYTES = 64 * 1024 * MEMORY_PER_BODY_BYTE;
/** As much more than the room, in parts of it, only small requests may fill, so that they are served while large ones hold all of it. */
const ROOM_FOR_SMALL = 1 / 8;

/** After this many seconds a refused client may find room again: the time of a few commits. */
const RETRY_AFTER_SECONDS = 1;

/** The share of one request in what the process may hold. */
export type Reservation = {
  /**
   * Counts body bytes that have arrived (or were inflated).
   * @throws Refusal `overloaded` when there is no room; what was held before stays held until the release
   */
  readonly hold: (bodyBytes: number) => void;
  /** Notes bytes as received, before they are inflated: what a body may mean depends on them. */
  readonly receive: (wireBytes: number) => void;
  /** Bytes received so far. */
  readonly received: () => number;
  /**
   * Registers how to give way to a request that has brought more; called with the refusal, at most once. Without it, or with
   * `undefined`, what is held stays: a body that has been read is not given up.
   */
  readonly whenEvicted: (giveUp: ((refusal: Refusal) => void) | undefined) => void;
  /** Gives everything back; further calls change nothing. */
  readonly release: () => void;
};

export type Admission = {
  /**
   * Lets a request in. The announced length is compared with the room but takes none of it: a client that announces much and
   * sends little takes nothing from others.
   * @param announcedBytes the content length, where the request has one
   * @throws Refusal `overloaded` when as many requests as may be are inside, or the announced body would not fit now
   */
  readonly enter: (announcedBytes?: number) => Reservation;
  /** The most that may be between arrival and answer. */
  readonly bounds: { readonly maxBytes: number; readonly maxRequests: number };
  readonly heldBytes: () => number;
  readonly requests: () => number;
  /** Resolves when nobody is inside. */
  readonly empty: () => Promise<void>;
};

/**
 * The door's bound on memory: how many bytes and how many requests may be between arrival and answer. A request that is alone
 * is always let in, so that the largest legal body passes whatever the bound is. Where bodies that are still arriving do not
 * all fit, the one that has brought least is refused: otherwise many bodies would each fill a part of the room, and none
 * would end.
 * @param maxInflightBytes memory for bodies and decoded signals, in bytes: `--max-inflight-bytes`
 * @param maxRequests requests inside at one time
 * @see Interface decisions, "5. Ingest policy", back-pressure
 */
export const createAdmission = (maxInflightBytes: number, maxRequests: number = MAX_REQUESTS): Admission => {
  type Held = { bytes: number; giveUp: ((refusal: Refusal) => void) | undefined };
  const inside = new Set<Held>();
  let held = 0;
  let waiters: (() => void)[] = [];

  /** None where it would not hold one of them. */
  const roomForSmall =
    maxInflightBytes * ROOM_FOR_SMALL < SMALL_BYTES ? 0 : Math.floor(maxInflightBytes * ROOM_FOR_SMALL);
  /** What may be held in all, once a request holds so many bytes. */
  const mostWith = (bytes: number): number =>
    bytes <= SMALL_BYTES ? maxInflightBytes + roomForSmall : maxInflightBytes;

  const overloaded = (message: string): Refusal =>
    new Refusal({ code: 'overloaded', message, retryAfterSeconds: RETRY_AFTER_SECONDS });
  const noRoom = (): Refusal =>
    overloaded(
      `the requests in flight hold ${held} of ${inBytes(maxInflightBytes)} (--max-inflight-bytes); send this request again later`,
    );

  /** Takes the room of the request that has brought least, if that is less than the asker will have. */
  const evictBelow = (bytes: number, asker: Held): boolean => {
    let least: Held | undefined;
    for (const other of inside)
      if (other !== asker && other.giveUp !== undefined && other.bytes > 0 && other.bytes < (least?.bytes ?? bytes))
        least = other;
    const giveUp = least?.giveUp;
    if (least === undefined || giveUp === undefined) return false;
    const refusal = noRoom();
    held -= least.bytes;
    least.bytes = 0;
    least.giveUp = undefined;
    giveUp(refusal);
    return true;
  };

  return {
    enter: (announcedBytes = 0) => {
      if (inside.size >= maxRequests)
        throw overloaded(`${inside.size} requests are in flight, the most there may be; send this request again later`);
      const announced = announcedBytes * MEMORY_PER_BODY_BYTE;
      if (held > 0 && held + announced > mostWith(announced)) throw noRoom();
      const mine: Held = { bytes: 0, giveUp: undefined };
      inside.add(mine);
      let received = 0;
      return {
        receive: (wireBytes) => {
          received += wireBytes;
        },
        received: () => received,
        hold: (bodyBytes) => {
          if (!inside.has(mine)) return;
          const more = bodyBytes * MEMORY_PER_BODY_BYTE;
          while (held !== mine.bytes && held + more > mostWith(mine.bytes + more))
            if (!evictBelow(mine.bytes + more, mine)) throw noRoom();
          mine.bytes += more;
          held += more;
        },
        whenEvicted: (giveUp) => {
          mine.giveUp = giveUp;
        },
        release: () => {
          if (!inside.delete(mine)) return;
          held -= mine.bytes;
          if (inside.size > 0) return;
          const released = waiters;
          waiters = [];
          for (const wake of released) wake();
        },
      };
    },
    bounds: { maxBytes: maxInflightBytes, maxRequests },
    heldBytes: () => held,
    requests: () => inside.size,
    empty: () => (inside.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
};
