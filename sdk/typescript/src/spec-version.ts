import { IncompatibleServer } from './errors.ts';
import { SPEC_VERSION } from './generated/wire.ts';
import type { AnswerOf } from './operation.ts';
import type { Transport } from './transport.ts';

/** A service that does not say its version so soon, is asked again later. */
const ANSWER_MS = 5000;
/** And no sooner than this. */
const ASK_AGAIN_MS = 10_000;

const majorOf = (version: unknown): number | undefined => {
  const [, major] = (typeof version === 'string' && /^(\d+)(?:\.|$)/.exec(version)) || [];
  return major === undefined ? undefined : Number(major);
};

/** Whether the service speaks a data model that this library understands. Another minor is fine; what cannot be read is unknown. */
export const isUnderstood = (specVersion: unknown): boolean => {
  const major = majorOf(specVersion);
  return major === undefined || major === majorOf(SPEC_VERSION);
};

export type VersionCheck = {
  /**
   * Asks the service once which data model it has. Without an answer nothing is known, and a later call asks again.
   * @throws IncompatibleServer, from then on always, when it is another major
   */
  readonly pass: (signal?: AbortSignal) => Promise<void>;
};

/** @see "Versioning" of the specification: `spec_version` of the health document, which needs no key */
export const createVersionCheck = (http: Pick<Transport, 'call'>): VersionCheck => {
  let known: { readonly incompatible?: IncompatibleServer } | undefined;
  let asking: Promise<void> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;

  const ask = async (signal: AbortSignal | undefined): Promise<void> => {
    try {
      const { spec_version: specVersion } = await http.call<AnswerOf<'getHealth'>>({
        method: 'GET',
        path: '/healthz',
        timeoutMs: ANSWER_MS,
        signal,
      });
      known = isUnderstood(specVersion) ? {} : { incompatible: new IncompatibleServer(specVersion, SPEC_VERSION) };
    } catch {
      // Away, or something that does not know the path: what is called next says so better.
    }
  };

  return {
    pass: async (signal) => {
      if (known === undefined && (asking !== undefined || performance.now() - askedAt >= ASK_AGAIN_MS)) {
        asking ??= ask(signal).finally(() => {
          asking = undefined;
          askedAt = performance.now();
        });
        await asking;
      }
      if (known?.incompatible !== undefined) throw known.incompatible;
    },
  };
};
