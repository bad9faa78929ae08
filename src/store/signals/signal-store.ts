import type { ProbeOutcome } from './probe.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { AspectNote, Feedback, LogRecord, MetricPoint, SignalBatch } from '../../model/signal.ts';
import type { UnixNano } from '../../model/time.ts';
import type { SignalCapabilities } from './capabilities.ts';
import type { EvaluationStore } from './evaluation.ts';
import type { Moving } from './moving.ts';
import type {
  AnalyticsQuery,
  AuditEntry,
  AuditQuery,
  CostReport,
  DeleteOutcome,
  Expect,
  FacetQuery,
  FacetReport,
  LogQuery,
  MetricName,
  MetricPointQuery,
  Page,
  Paging,
  ProjectSummary,
  RollUp,
  RollUpQuery,
  ScoreQuery,
  SpanQuery,
  SpansReading,
  StoredScore,
  StoredSpan,
  SummaryQuery,
  SummaryReport,
  TraceDetail,
  TraceReading,
  TraceQuery,
  TraceSummary,
} from './query.ts';
import type { SavedViewStore } from './saved-views.ts';
import type { Sharing } from './sharing.ts';
import type { WatchStore } from './watch.ts';

/** Signals that are stored together or not at all. With a key, a unit that was written before is not written again. */
export type WriteUnit = { readonly ingestKey?: string; readonly batch: SignalBatch };
export type WriteOutcome = 'written' | 'duplicate';

/**
 * Where signals live. Every method rejects with `StoreUnavailable` when the store fails or is away; the caller may try
 * again, and an outcome that was not answered is unknown, not "not stored".
 *
 * Identity: a span is one row per project, trace and span id, and the last write wins; scores, feedback and notes are one
 * row per project and id. Trace totals are the same whatever the order, the repeats or the batching of the writes.
 * A resolved write is durable (fsynced) and is seen by every later read. What engines may differ in is in `capabilities`.
 */
export interface SignalStore extends EvaluationStore, SavedViewStore, WatchStore {
  /** The name of the storage kind in the health document. */
  readonly kind: string;
  readonly capabilities: SignalCapabilities;
  /** What services settle that share the store; absent where one service has it to itself. */
  readonly sharing?: Sharing;
  /** How all that it holds goes to another store. */
  readonly moving: Moving;

  /** Concurrent writes may share one transaction. @see SignalCapabilities.atomicity */
  write(unit: WriteUnit): Promise<WriteOutcome>;
  /** Whether a unit was written under this key, for a caller that may write nothing now. */
  isWritten(ingestKey: string): Promise<boolean>;

  listTraces(query: TraceQuery): Promise<Page<TraceSummary>>;
  /** Each of `countedFacets`, in that order. */
  countFacets(query: FacetQuery): Promise<FacetReport>;
  /** The parts of one trace that the reach allows, joined; a trace sent under several projects has one part in each. */
  findTrace(traceId: string, reach: ProjectReach, payloads: boolean): Promise<TraceDetail | undefined>;
  /** The same trace as JSON in pieces, however large it is. */
  readTrace(traceId: string, reach: ProjectReach, payloads: boolean, expect: Expect): Promise<TraceReading | undefined>;
  /** Projects in reach that hold a part of the trace; empty when it is not stored. */
  projectsOfTrace(traceId: string, reach: ProjectReach): Promise<readonly string[]>;
  findSpan(traceId: string, spanId: string, reach: ProjectReach): Promise<StoredSpan | undefined>;
  listSpans(query: SpanQuery): Promise<Page<StoredSpan>>;
  /** The same page as JSON in pieces, however large its spans are. */
  readSpans(query: SpanQuery, expect: Expect): Promise<SpansReading>;
  /** Removes spans, logs, scores, feedback and notes of these traces, with their index entries and bytes. */
  deleteTraces(traceIds: readonly string[], reach: ProjectReach): Promise<DeleteOutcome>;

  listLogs(query: LogQuery): Promise<Page<LogRecord>>;
  /** By name, ascending. */
  listMetricNames(query: Paging): Promise<Page<MetricName>>;
  listMetricPoints(query: MetricPointQuery): Promise<Page<MetricPoint>>;
  listScores(query: ScoreQuery): Promise<Page<StoredScore>>;
  /** Judgements on one trace or on its spans, oldest first. */
  listFeedback(traceId: string, paging: Paging): Promise<Page<Feedback>>;
  listAspectNotes(query: Paging & { readonly traceId?: string; readonly aspect?: string }): Promise<Page<AspectNote>>;

  listRollUps(query: RollUpQuery): Promise<Page<RollUp>>;
  /** Projects that hold signals, by name. */
  listProjects(paging: Paging): Promise<Page<ProjectSummary>>;

  costReport(query: AnalyticsQuery): Promise<CostReport>;
  summaryReport(query: SummaryQuery): Promise<SummaryReport>;

  appendAudit(entries: readonly AuditEntry[]): Promise<void>;
  listAudit(query: AuditQuery): Promise<Page<AuditEntry>>;

  /**
   * Removes up to `limit` of the project's oldest traces and as many of its other signals that started before the boundary.
   * @returns how many rows went; fewer than `limit` of each kind are left when it is zero
   */
  trim(project: string, before: UnixNano, limit: number): Promise<number>;
  /** Removes audit rows and ingest keys older than their boundaries. */
  trimRecords(auditBefore: UnixNano, ingestKeysBefore: UnixNano): Promise<void>;

  /** One trivial read of the store. Rejects as well while writes are known to fail, which it finds out by a trivial write. */
  ping(): Promise<void>;
  /** Writes a span that no list, total or search ever comes across, reads it back and deletes it. */
  probe(): Promise<ProbeOutcome>;
  /** Commits what was accepted, then closes the store. Writes after it are refused. */
  close(): Promise<void>;
}

/** All that is asked of signals, and of nothing beside them. */
export type SignalReads = Pick<
  SignalStore,
  | 'listTraces'
  | 'countFacets'
  | 'findTrace'
  | 'readTrace'
  | 'projectsOfTrace'
  | 'findSpan'
  | 'listSpans'
  | 'readSpans'
  | 'listLogs'
  | 'listMetricNames'
  | 'listMetricPoints'
  | 'listScores'
  | 'listFeedback'
  | 'listAspectNotes'
  | 'listRollUps'
  | 'listProjects'
  | 'costReport'
  | 'summaryReport'
  | keyof WatchStore
>;
