/** Bytes of a lease id; the service makes ids of 36. A longer one is not kept. */
const ID_BYTES = 64;

/**
 * The leases of one worker and when each last had a heartbeat, in memory that two threads share: a body that blocks the thread of all
 * bodies cannot stop another one from reading it.
 */
export type HeldLeases = {
  /** What the other thread is given. */
  readonly memory: SharedArrayBuffer;
  /**
   * Takes a place for a lease, whose last heartbeat is now.
   * @returns what notes a heartbeat, and gives the place back; `undefined` where there is no place
   */
  readonly hold: (leaseId: string) => { readonly beat: () => void; readonly release: () => void } | undefined;
  /** Calls for each lease without a heartbeat for so long. */
  readonly forEachSilent: (silentMs: number, found: (leaseId: string, beat: () => void) => void) => void;
};

/** Nanoseconds of a clock that both threads read: so fine that a place which changed hands never shows the time that it had. */
const now = (): bigint => process.hrtime.bigint();
const FREE = 0n;

/** @param places how many leases there may be at once */
export const createHeldLeases = (places: number): HeldLeases =>
  heldLeasesIn(new SharedArrayBuffer(places * (BigInt64Array.BYTES_PER_ELEMENT + ID_BYTES)));

/** The same leases, in the thread that was given their memory. */
export const heldLeasesIn = (memory: SharedArrayBuffer): HeldLeases => {
  const places = memory.byteLength / (BigInt64Array.BYTES_PER_ELEMENT + ID_BYTES);
  const beatAt = new BigInt64Array(memory, 0, places);
  const ids = Buffer.from(memory, places * BigInt64Array.BYTES_PER_ELEMENT);
  const free = Array.from({ length: places }, (_, place) => places - 1 - place);
  const idAt = (place: number): string =>
    ids.toString('latin1', place * ID_BYTES, (place + 1) * ID_BYTES).replace(/\0+$/, '');

  return {
    memory,
    hold: (leaseId) => {
      if (leaseId.length > ID_BYTES || free.length === 0) return undefined;
      const place = free.pop() as number;
      ids.fill(0, place * ID_BYTES, (place + 1) * ID_BYTES);
      ids.write(leaseId, place * ID_BYTES, 'latin1');
      // Last: a reader that sees a time there finds the id whole.
      Atomics.store(beatAt, place, now());
      return {
        beat: () => {
          Atomics.store(beatAt, place, now());
        },
        release: () => {
          Atomics.store(beatAt, place, FREE);
          free.push(place);
        },
      };
    },
    forEachSilent: (silentMs, found) => {
      const before = now() - BigInt(Math.ceil(silentMs * 1e6));
      for (let place = 0; place < places; place += 1) {
        const at = Atomics.load(beatAt, place);
        if (at === FREE || at > before) continue;
        const leaseId = idAt(place);
        const beat = (): void => {
          Atomics.compareExchange(beatAt, place, at, now());
        };
        // It may have been given back, and taken by another, while its id was read.
        if (Atomics.load(beatAt, place) === at) found(leaseId, beat);
      }
    },
  };
};
