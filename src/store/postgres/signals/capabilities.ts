import type { SignalCapabilities } from '../../signals/capabilities.ts';

/** Longest word that is searched, in bytes of UTF-8. An index entry of PostgreSQL has a bound not far above. */
export const WORD_BYTES = 1_000;

/** The name of the engine, and what it promises. */
export const postgresEngine: { readonly kind: string; readonly capabilities: SignalCapabilities } = {
  kind: 'postgres',
  capabilities: {
    deletes: 'immediate',
    idempotency: 'exact',
    atomicity: 'unit',
    fullText: { longestWordBytes: WORD_BYTES },
    order: 'identity',
  },
};
