import type { FeedbackCount, Judgements, ScoreMeanRow } from '../judgements.ts';
import {
  type SpanFigures,
  sharedFields,
  sumTotals,
  type TraceContext,
  type TraceTotals,
  totalTrace,
} from '../trace-totals.ts';
import { isCancelledCode, kindOf, statusCode, statusOf } from './codes.ts';
import { CONTEXT, type Column, type Row, SPAN } from './columns.ts';

const numberOf = (value: Column | undefined): number | null =>
  value === null || value === undefined ? null : Number(value);
const textOf = (value: Column | undefined): string | null => (value as string | null | undefined) ?? null;

/** Integers of the row may be numbers or bigints. */
const figuresOf = (row: Row): SpanFigures => ({
  spanId: row[SPAN.spanId] as string,
  parentSpanId: textOf(row[SPAN.parentSpanId]),
  name: row[SPAN.name] as string,
  kind: kindOf(row[SPAN.kind]),
  status: statusOf(row[SPAN.status]),
  isCancelled: isCancelledCode(row[SPAN.status]),
  startTime: row[SPAN.start] as bigint,
  endTime: row[SPAN.end] as bigint | null,
  model: textOf(row[SPAN.model]),
  provider: textOf(row[SPAN.provider]),
  entityName: textOf(row[SPAN.entityName]),
  inputTokens: numberOf(row[SPAN.inputTokens]),
  outputTokens: numberOf(row[SPAN.outputTokens]),
  totalTokens: numberOf(row[SPAN.totalTokens]),
  totalCost: row[SPAN.totalCost] as number | null,
  currency: textOf(row[SPAN.currency]),
  repeatsUsage: Number(row[SPAN.repeatsUsage]) !== 0,
  context: Number(row[SPAN.context]),
});

const contextOf = (row: Row): TraceContext => {
  const tags = textOf(row[CONTEXT.tags]);
  return {
    environment: textOf(row[CONTEXT.environment]),
    serviceName: textOf(row[CONTEXT.serviceName]),
    serviceVersion: textOf(row[CONTEXT.serviceVersion]),
    release: textOf(row[CONTEXT.release]),
    userId: textOf(row[CONTEXT.userId]),
    sessionId: textOf(row[CONTEXT.sessionId]),
    threadId: textOf(row[CONTEXT.threadId]),
    runId: textOf(row[CONTEXT.runId]),
    experimentId: textOf(row[CONTEXT.experimentId]),
    tags: tags === null ? [] : (JSON.parse(tags) as string[]),
  };
};

/** Totals of a trace from rows of its spans and contexts. */
export const totalRows = (
  spans: readonly Row[],
  contexts: ReadonlyMap<number, Row>,
  judged: Pick<Judgements, 'latestMeans' | 'feedback'>,
): TraceTotals => totalTrace(spans.map(figuresOf), (context) => contextOf(contexts.get(context) as Row), judged);

/** Adds up the totals of a trace whose spans are read in pieces. */
export type RowsSum = {
  /**
   * @param row what totals read of a span, in the places of `SPAN`; it comes after those with a smaller span id
   * @param context its columns
   */
  readonly add: (row: Row, context: Row) => void;
  /** How many were added. */
  readonly spans: () => number;
  /** @throws Error where no span was added */
  readonly totals: (judged: Pick<Judgements, 'latestMeans' | 'feedback'>) => TraceTotals;
};

/** Contexts that differ in what totals do not read are one: a trace may have as many request ids as spans. */
export const sumRows = (): RowsSum => {
  const sum = sumTotals();
  const contexts: TraceContext[] = [];
  const places = new Map<string, number>();
  let spans = 0;
  let last: { readonly context: Row; readonly place: number } | undefined;
  const placeOf = (row: Row): number => {
    if (last?.context === row) return last.place;
    const context = contextOf(row);
    const text = JSON.stringify(context);
    let place = places.get(text);
    if (place === undefined) {
      place = contexts.push(context) - 1;
      places.set(text, place);
    }
    last = { context: row, place };
    return place;
  };
  return {
    add: (row, context) => {
      spans++;
      sum.add({ ...figuresOf(row), context: placeOf(context) });
    },
    spans: () => spans,
    totals: (judged) => sum.totals((place) => contexts[place] as TraceContext, judged),
  };
};

const listOrNull = (list: readonly unknown[]): string | null => (list.length === 0 ? null : JSON.stringify(list));

const columnOf = {
  environment: 'environment',
  serviceName: 'service_name',
  serviceVersion: 'service_version',
  release: 'release',
  userId: 'user_id',
  sessionId: 'session_id',
  threadId: 'thread_id',
  runId: 'run_id',
  experimentId: 'experiment_id',
} as const satisfies Record<(typeof sharedFields)[number][0], string>;

/** The columns of `traces` that hold totals, in the order of `totalColumns`. */
export const TOTAL_COLUMNS: readonly string[] = [
  ...['start_ns', 'duration_ns', 'name', 'status', 'span_count', 'error_count', 'total_cost', 'currency'],
  ...['input_tokens', 'output_tokens', 'total_tokens', 'models', 'tags'],
  ...sharedFields.map(([field]) => columnOf[field]),
  ...['scores', 'feedback'],
];

/** The last two of `TOTAL_COLUMNS`. */
export const judgedColumns = (judged: Pick<Judgements, 'scores' | 'feedback'>): [scores: Column, feedback: Column] => [
  listOrNull(judged.scores),
  listOrNull(judged.feedback),
];

const listIn = (text: Column | undefined): readonly unknown[] =>
  typeof text === 'string' ? (JSON.parse(text) as readonly unknown[]) : [];
/** How many scores and judgements of feedback stored totals count. */
export const judgedCount = (scores: Column | undefined, feedback: Column | undefined): number => {
  const means = listIn(scores) as readonly ScoreMeanRow[];
  const counts = listIn(feedback) as readonly FeedbackCount[];
  return means.reduce((sum, [, , , count]) => sum + count, 0) + counts.reduce((sum, [, count]) => sum + count, 0);
};

/** The largest number that a column of 64 bits holds. Spans may claim more tokens together. */
const MOST_OF_64_BITS = Number(2n ** 63n - 1024n);
/** Totals as an engine takes them whose columns hold integers of 64 bits, and nothing else. */
export const within64Bits = (totals: TraceTotals): TraceTotals => {
  const bounded = (tokens: number | null): number | null =>
    tokens === null ? null : Math.min(tokens, MOST_OF_64_BITS);
  return {
    ...totals,
    inputTokens: bounded(totals.inputTokens),
    outputTokens: bounded(totals.outputTokens),
    totalTokens: bounded(totals.totalTokens),
  };
};

export const totalColumns = (totals: TraceTotals, judged: Pick<Judgements, 'scores' | 'feedback'>): Column[] => [
  totals.startTime,
  totals.durationNs,
  totals.name,
  statusCode(totals.status, totals.isCancelled),
  totals.spanCount,
  totals.errorCount,
  totals.totalCost,
  totals.currency,
  totals.inputTokens,
  totals.outputTokens,
  totals.totalTokens,
  listOrNull(totals.models),
  listOrNull(totals.tags),
  ...totals.shared,
  ...judgedColumns(judged),
];
