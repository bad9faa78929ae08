import type { SignalCapabilities } from '../../signals/capabilities.ts';

/** FTS5 cuts longer words off: FTS5_MAX_TOKEN_SIZE in its source. */
const FTS5_WORD_BYTES = 32_768;

/** The name of the engine, and what it promises. */
export const sqliteEngine: { readonly kind: string; readonly capabilities: SignalCapabilities } = {
  kind: 'sqlite',
  capabilities: {
    deletes: 'immediate',
    idempotency: 'exact',
    atomicity: 'unit',
    fullText: { longestWordBytes: FTS5_WORD_BYTES },
    order: 'arrival',
  },
};
