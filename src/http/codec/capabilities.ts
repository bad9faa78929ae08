import type { components } from '../../model/generated/openapi.ts';
import type { SignalCapabilities } from '../../store/signals/capabilities.ts';

/** What the signal store promises, as the health document and `svc config` show it. */
export const capabilitiesToWire = ({
  deletes,
  idempotency,
  atomicity,
  fullText,
  order,
}: SignalCapabilities): components['schemas']['StorageCapabilities'] => ({
  deletes,
  idempotency,
  atomicity,
  longest_word_bytes: fullText.longestWordBytes,
  order,
});
