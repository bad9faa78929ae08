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
   * Takes a place for a lease whose body begins. Until the first heartbeat is noted, its declaration waits to be sent.
   * @returns what notes a heartbeat, or the declaration, and gives the place back; `undefined` where there is no place
   */
  readonly hold: (leaseId: string) => { readonly beat: () => void; readonly release: () => void } | undefined;
  /**
   * Calls for each lease without a heartbeat for so long, and for each that waits so long to be declared.
   * @param found is given what notes that the lease is spoken for, and whether it is declared with that
   */
  readonly forEachSilent: (
    limits: { readonly beatMs: number; readonly declareMs: number },
    found: (leaseId: string, isDeclared: boolean, note: (isDeclared: boolean) => void) => void,
  ) => void;
};

/** Nanoseconds of a clock that both threads read: so fine that a place which changed hands never shows the time that it had. */
const now = (): bigint => process.hrtime.bigint();
const FREE = 0n;
/** A time below zero is that of a lease which is not declared. */
const timeOf = (isDeclared: boolean): bigint => (isDeclared ? now() : -now());

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
      Atomics.store(beatAt, place, timeOf(false));
      return {
        beat: () => {
          Atomics.store(beatAt, place, timeOf(true));
        },
        release: () => {
          Atomics.store(beatAt, place, FREE);
          free.push(place);
        },
      };
    },
    forEachSilent: ({ beatMs, declareMs }, found) => {
      const before = (ms: number): bigint => now() - BigInt(Math.ceil(ms * 1e6));
      const [beatBefore, declareBefore] = [before(beatMs), before(declareMs)];
      for (let place = 0; place < places; place += 1) {
        const at = Atomics.load(beatAt, place);
        const isDeclared = at > FREE;
        if (at === FREE || (isDeclared ? at > beatBefore : -at > declareBefore)) continue;
        const leaseId = idAt(place);
        let seen = at;
        const note = (declared: boolean): void => {
          const time = timeOf(declared);
          if (Atomics.compareExchange(beatAt, place, seen, time) === seen) seen = time;
        };
        // It may have been given back, and taken by another, while its id was read.
        if (Atomics.load(beatAt, place) === at) found(leaseId, isDeclared, note);
      }
    },
  };
};
