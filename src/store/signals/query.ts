import type { Page, Position } from '../../model/page.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { FeedbackKind, MetricType, Score, ScoreSource, Severity } from '../../model/signal.ts';
import type { Span, SpanKind, SpanStatus } from '../../model/span.ts';
import type { UnixNano } from '../../model/time.ts';
import type { CountedFacet } from './trace-facets.ts';

export type Order = 'asc' | 'desc';

export type { Page, Position };

/**
 * What every list takes: which projects, how many rows at the most (1 to 1000), and where the previous page ended. With `maxBytes` a
 * page may end before its limit, with the row that brings it to about so many bytes; what follows is after its `next`, as ever.
 */
export type Paging = {
  readonly projects: ProjectReach;
  readonly limit: number;
  readonly after?: Position;
  readonly maxBytes?: number;
};

/** A half-open window: `from` is inside, `to` is not. */
export type Window = { readonly from?: UnixNano; readonly to?: UnixNano };

/** How many records a delete removed; `pending` where it was accepted and happens later. */
export type DeleteOutcome = { readonly deleted: number; readonly pending: boolean };

export const traceSorts = ['start_time', 'duration', 'cost', 'span_count', 'score'] as const;
export type TraceSort = (typeof traceSorts)[number];

/**
 * Filters of the trace list; all given ones hold together. `name`, `userId` and the other single-valued fields compare
 * exactly. `model`, `provider`, `entityName`, `kind` and `tag` hold when at least one span of the trace has the value.
 * Windows are on the start of the trace; costs and durations are inclusive; `scoreBelow` is strict and on the mean of `hasScore`.
 * A positive `minCost` leaves out traces without a cost.
 */
export type TraceFilter = Window & {
  readonly status?: SpanStatus;
  readonly name?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly entityName?: string;
  readonly kind?: SpanKind;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly threadId?: string;
  readonly environment?: string;
  readonly serviceName?: string;
  readonly serviceVersion?: string;
  readonly release?: string;
  readonly tag?: string;
  readonly runId?: string;
  readonly experimentId?: string;
  readonly hasFeedback?: FeedbackKind;
  readonly hasScore?: string;
  readonly scoreBelow?: number;
  readonly minCost?: number;
  readonly maxCost?: number;
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
  readonly hasError?: boolean;
  readonly q?: string;
};

export type TraceQuery = Paging & TraceFilter & { readonly sort: TraceSort; readonly order: Order };

/** How many traces of the list have which values. */
export type FacetQuery = TraceFilter & {
  readonly projects: ProjectReach;
  /** Values of a property that are named, the most frequent ones; the rest is summed up. */
  readonly limit: number;
  /** Traces that are looked at, at the most: those that began last, in about equal parts of the projects. */
  readonly most: number;
};
export type FacetValueCount = { readonly value: string; readonly traces: number };
export type FacetCount = {
  readonly facet: CountedFacet;
  /** Most frequent first, equal ones by their value. */
  readonly values: readonly FacetValueCount[];
  /** Values that are not named, and the sum of their counts: a trace with two of them counts twice. */
  readonly otherValues: number;
  readonly otherCount: number;
  /** Counted traces without any value of the property. */
  readonly without: number;
};
export type FacetReport = {
  /** Counted traces: those that were looked at and meet the filter. */
  readonly traces: number;
  /** False when more traces may meet the filter than were looked at. */
  readonly isComplete: boolean;
  readonly facets: readonly FacetCount[];
};

/** Totals of one trace in one project, recomputed from its spans whenever one arrives. @see "Trace summary and detail" */
export type TraceSummary = {
  readonly traceId: string;
  readonly project: string;
  /** The name of the root span, else of the earliest span. */
  readonly name: string;
  /** `error` when the root failed, or, while no root has arrived, when any span failed; else the root's own status. */
  readonly status: SpanStatus;
  /** It is the trace of a durable run that was cancelled: no success, and no failure. Its status is `unset`. */
  readonly isCancelled?: true;
  readonly startTime: UnixNano;
  /** From the earliest start to the latest end; absent while nothing has ended. */
  readonly durationNs?: bigint;
  readonly spanCount: number;
  readonly errorCount: number;
  /** Absent when no span of the trace was priced. */
  readonly totalCost?: number;
  readonly currency?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly models: readonly string[];
  readonly environment?: string;
  readonly serviceName?: string;
  readonly serviceVersion?: string;
  readonly release?: string;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly threadId?: string;
  readonly runId?: string;
  readonly experimentId?: string;
  readonly tags: readonly string[];
  readonly scores: readonly ScoreMean[];
  /** Judgements by kind; a kind with none is absent. */
  readonly feedback: Readonly<Partial<Record<FeedbackKind, number>>>;
  /** How its thumbs point; absent where it has none, and where its totals were stored before that was counted. */
  readonly thumbs?: { readonly up: number; readonly down: number };
};

export type ScoreMean = {
  readonly scorerId: string;
  readonly scorerVersion?: string;
  readonly mean: number;
  readonly count: number;
};

/** A stored span; without `input`, `output`, `attributes`, `events` and `links` where the reader asked for no payloads. */
export type StoredSpan = Omit<Span, 'inputAttribute' | 'outputAttribute'>;

export type TraceDetail = {
  readonly trace: TraceSummary;
  /** In waterfall order: a parent before its children, siblings by start, then by span id; orphans by start at the top level. */
  readonly spans: readonly StoredSpan[];
};

/**
 * Spans on their way to a client: UTF-8 of JSON, some of them at a time, each with a comma before it, spelled as the interface
 * spells them. The next are read when they are asked for, so that a client which reads slowly holds little. A span deleted meanwhile
 * is left out, one that was sent again comes as it is then. Each piece lies in a buffer of its own, which belongs to the caller.
 */
export type WrittenSpans = AsyncIterable<Uint8Array>;

/** A trace of any size, to be answered. */
export type TraceReading = {
  readonly trace: TraceSummary;
  /** Projects in reach that hold a part of it. */
  readonly projects: readonly string[];
  /** In waterfall order. */
  readonly spans: WrittenSpans;
};
export type SpansReading = { readonly spans: WrittenSpans; readonly next?: Position };
/** Is given what an answer will weigh, in bytes, before more of it than its first piece is read; what it throws ends the reading. */
export type Expect = (bytes: number) => void;

export type SpanQuery = Paging &
  Window & {
    readonly order: Order;
    readonly traceId?: string;
    /** Spans of that trace alone, by their ids. */
    readonly spanIds?: readonly string[];
    readonly kind?: SpanKind;
    readonly status?: SpanStatus;
    readonly name?: string;
    readonly model?: string;
    readonly provider?: string;
    readonly entityName?: string;
    readonly sessionId?: string;
    readonly userId?: string;
    readonly environment?: string;
    readonly serviceName?: string;
    readonly payloads: boolean;
  };

export type LogQuery = Paging &
  Window & {
    readonly order: Order;
    readonly traceId?: string;
    readonly spanId?: string;
    /** At least this severe. */
    readonly minSeverity?: Severity;
    readonly severity?: Severity;
    readonly logger?: string;
    readonly serviceName?: string;
    readonly environment?: string;
    readonly sessionId?: string;
    readonly userId?: string;
  };

export type MetricName = {
  readonly name: string;
  readonly type: MetricType;
  readonly unit?: string;
  readonly points: number;
  readonly lastSeen: UnixNano;
};
export type MetricPointQuery = Paging &
  Window & { readonly name: string; readonly order: Order; readonly serviceName?: string };

/** Newest first, always. */
export type ScoreQuery = Paging &
  Window & {
    readonly scorerId?: string;
    readonly source?: ScoreSource;
    readonly traceId?: string;
    readonly experimentId?: string;
    readonly minValue?: number;
    readonly maxValue?: number;
  };
export type StoredScore = Score;

/** Traces rolled up by one identity. */
export type RollUp = {
  readonly id: string;
  readonly project: string;
  readonly traceCount: number;
  readonly errorCount: number;
  readonly totalCost?: number;
  readonly currency?: string;
  readonly firstSeen: UnixNano;
  readonly lastSeen: UnixNano;
};
export type RollUpSort = 'last_seen' | 'first_seen' | 'trace_count' | 'error_count' | 'cost';
/**
 * The one seen last first, where no order is named: such a page is walked from the newest trace back. Every other order adds up all traces
 * of the window first. Of those that are equal in it, descending orders have the one seen last first and ascending ones last; those without a
 * cost come last in both.
 */
export type RollUpQuery = Paging &
  Window & { readonly of: 'session' | 'user'; readonly sort?: RollUpSort; readonly order?: Order };

export type ProjectSummary = {
  readonly project: string;
  readonly traceCount: number;
  readonly firstSeen?: UnixNano;
  readonly lastSeen?: UnixNano;
};

export const costGroupings = [
  'model',
  'provider',
  'entity_name',
  'environment',
  'status',
  'session_id',
  'user_id',
  'service_name',
  'name',
] as const;
export type CostGrouping = (typeof costGroupings)[number];

export type AnalyticsQuery = {
  readonly projects: ProjectReach;
  readonly from: UnixNano;
  readonly to: UnixNano;
  readonly groupBy: CostGrouping;
  /** Ids of the price book's entries: ids of models that name the same entry are one group. */
  readonly bookModels: readonly string[];
  /** Width of one point of the series, in seconds. */
  readonly bucketSeconds?: number;
};

/** Milliseconds. */
export type Latency = { readonly mean: number; readonly max: number };
export type Percentiles = Latency & {
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
};

/** The calls of a group by one id of a model, as they were sent. */
export type ModelShare = { readonly model: string; readonly count: number; readonly totalCost?: number };

/** `count` is model calls for `model`, `provider` and `entity_name` (reads spans), runs for the others (reads traces). */
export type CostGroup = {
  /** Absent for what has no value of the grouping field. */
  readonly key?: string;
  readonly count: number;
  readonly errorCount: number;
  readonly totalCost?: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly latency?: Latency;
  /** By model only, and only where an id beneath differs from the key; the largest cost first, at most 100. */
  readonly models?: readonly ModelShare[];
};
export type CostPoint = {
  readonly time: UnixNano;
  readonly key?: string;
  readonly count: number;
  readonly totalCost?: number;
};
export type CostReport = {
  readonly currency?: string;
  readonly totalCost?: number;
  /** Largest cost first, at most 100. */
  readonly groups: readonly CostGroup[];
  /** At most 5000 points; only with `bucketSeconds`. */
  readonly series?: readonly CostPoint[];
};

export type SummaryGroup = {
  readonly key?: string;
  readonly traceCount: number;
  readonly errorCount: number;
  /** Cancelled runs among the traces: they neither succeeded nor failed, and are in no rate. */
  readonly cancelledCount: number;
  readonly totalCost?: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly latency?: Percentiles;
  /** As in a `CostGroup`. */
  readonly models?: readonly ModelShare[];
};
export type SummaryReport = SummaryGroup & { readonly currency?: string; readonly groups: readonly SummaryGroup[] };
/**
 * Counts traces in every grouping; `groups` is empty without `groupBy`. By `model`, `provider` and `entity_name` a trace counts in
 * each group that a span of it is in, while cost and tokens are those of the group's own calls that began in the window.
 */
export type SummaryQuery = Omit<AnalyticsQuery, 'groupBy' | 'bucketSeconds'> & { readonly groupBy?: CostGrouping };

/** One read of stored payloads, as kept for audit. @see Interface decisions, "3. Keys and scopes" */
export type AuditEntry = {
  readonly auditId: string;
  readonly at: UnixNano;
  readonly operation: string;
  readonly project: string;
  readonly subject?: string;
  readonly keyFingerprint?: string;
  readonly remoteAddress: string;
  readonly resource: string;
  readonly outcome: 'allowed' | 'refused';
};
/** Newest first. */
export type AuditQuery = Paging & Window & { readonly operation?: string; readonly subject?: string };
