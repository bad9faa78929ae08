import type { AspectNote, Feedback, LogRecord, MetricPoint, Score } from '../../model/signal.ts';
import type { Span } from '../../model/span.ts';
import type { UnixNano } from '../../model/time.ts';
import type { Dataset, DatasetItem, Experiment } from './evaluation.ts';
import type { AuditEntry, Page, Paging } from './query.ts';
import type { NewSavedView } from './saved-views.ts';

/** An ingest key under which a unit was written, and when. */
export type WrittenKey = { readonly ingestKey: string; readonly at: UnixNano };

/** All that a store holds, by kind. Everything else (totals, words, facets) follows from these. */
export type Held = {
  /** As they were written: payloads apart from the attributes that they came from. */
  readonly spans: Span;
  readonly logs: LogRecord;
  readonly metrics: MetricPoint;
  readonly scores: Score;
  readonly feedback: Feedback;
  readonly aspect_notes: AspectNote;
  readonly datasets: Dataset;
  readonly dataset_items: DatasetItem & { readonly project: string };
  readonly experiments: Experiment;
  readonly saved_views: NewSavedView;
  readonly audit: AuditEntry;
  /** But for those of moves. */
  readonly ingest_keys: WrittenKey;
};
export type HeldKind = keyof Held;

/** Each kind, in an order in which they can be written: a dataset before its cases. */
export const heldKinds = [
  'spans',
  'logs',
  'metrics',
  'scores',
  'feedback',
  'aspect_notes',
  'datasets',
  'dataset_items',
  'experiments',
  'saved_views',
  'audit',
  'ingest_keys',
] as const satisfies readonly HeldKind[];

/** How ingest keys begin under which a move writes. They are no part of what a store holds. */
export const MOVE_KEYS = 'svc-migrate/';
/** What follows them in the order of keys: the character after the slash. */
export const AFTER_MOVE_KEYS = 'svc-migrate0';

/**
 * How everything that a store holds is read, and how what no sender writes is written. Signals are written as ever, with `write`.
 * Every method rejects with `StoreUnavailable` when the store fails or is away.
 */
export interface Moving {
  count(kind: HeldKind): Promise<number>;
  /**
   * Everything of one kind, of all projects, a page at a time, in an order that writes do not change: while nothing is written, the
   * same question has the same answer. With `maxBytes` a page may end with the row that brings it to about so many bytes.
   */
  scan<K extends HeldKind>(kind: K, paging: Pick<Paging, 'limit' | 'after' | 'maxBytes'>): Promise<Page<Held[K]>>;
  /** Stores entries that are not there by their id and time. */
  restoreAudit(entries: readonly AuditEntry[]): Promise<void>;
  /** Stores keys that are not there. */
  restoreIngestKeys(keys: readonly WrittenKey[]): Promise<void>;
}
