import type { Pipeline } from '../../ingest/pipeline.ts';
import type { PriceBook } from '../../ingest/price.ts';
import type { RedactionSettings } from '../../ingest/redact.ts';
import type { UnixNano } from '../../model/time.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';
import type { AuditLog } from '../access/audit-log.ts';
import type { Authenticator } from '../access/auth.ts';

/** What the routes of the query API work with. */
export type QueryDeps = {
  readonly store: SignalStore;
  readonly pipeline: Pick<Pipeline, 'ingestScore' | 'ingestFeedback'>;
  readonly authenticator: Authenticator;
  readonly audit: AuditLog;
  /** The daemon's `--project`. */
  readonly defaultProject: string;
  /** Which ids of models are one, the currency where nothing was priced, and what explains a cost. */
  readonly priceBook: PriceBook;
  /** The settings of redaction, to say by which rule something was redacted; the built-in ones when absent. */
  readonly redaction?: RedactionSettings;
  /** Version of the build. */
  readonly version: string;
  readonly clock: () => UnixNano;
};
