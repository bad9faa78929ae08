import { randomInt } from 'node:crypto';

/** Gives versions, each larger than all before and than those that were seen. */
export type Versions = {
  /** @param count versions to take, one after the other; the first is answered */
  readonly take: (count?: number) => bigint;
  /** Says that a row has this version: what is written from now on replaces it. */
  readonly reach: (version: bigint) => void;
};

/** The lowest bits tell services apart that write in the same moment; a row that removes another has the version after it. */
const OWN_BITS = 10n;
const OWN = 2 ** (Number(OWN_BITS) - 1);

/** @param clock nanoseconds since the epoch */
export const createVersions = (clock: () => bigint): Versions => {
  const own = BigInt(randomInt(OWN)) << 1n;
  let last = 0n;
  return {
    take: (count = 1) => {
      const now = clock() >> OWN_BITS;
      const first = now > last ? now : last + 1n;
      last = first + BigInt(count) - 1n;
      return (first << OWN_BITS) | own;
    },
    reach: (version) => {
      const seen = version >> OWN_BITS;
      if (seen > last) last = seen;
    },
  };
};
/** How far apart versions are that were taken together. */
export const VERSION_STEP = 1n << OWN_BITS;
