import type { SignalCapabilities } from '../../signals/capabilities.ts';

/** Longest word that is searched, in bytes of UTF-8. */
export const WORD_BYTES = 1_000;

/** The name of the engine, and what it promises. */
export const clickhouseEngine: { readonly kind: string; readonly capabilities: SignalCapabilities } = {
  kind: 'clickhouse',
  capabilities: {
    deletes: 'deferred',
    idempotency: 'converging',
    atomicity: 'converging',
    fullText: { longestWordBytes: WORD_BYTES },
    order: 'identity',
  },
};
