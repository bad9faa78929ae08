import { type CallGrouping, callGroupings } from '../../signals/call-groups.ts';
import { STATUS_ERROR, TRACE_CANCELLED } from '../../signals/rows/codes.ts';
import { CALL_CLASS } from '../../signals/rows/call-rows.ts';
import type { FiguresRow } from '../../signals/rows/reports.ts';
import { CALLS } from './schema.ts';

// What a report adds up of calls and traces, read of any stretch of time: by the report itself, and by the writer for a whole hour.

export const NANOS_PER_HOUR = 3_600_000_000_000n;

/** The column of `hours` that holds the calls of each grouping. */
export const callColumns = {
  model: 'by_model',
  provider: 'by_provider',
  entity_name: 'by_entity_name',
} as const satisfies Record<CallGrouping, string>;
export const CALL_COLUMNS = callGroupings.map((grouping) => callColumns[grouping]).join(', ');

// Tokens that a span only repeats are its children's. A span that ended before it began, because a clock was set in between, took no
// time. `total` does not overflow.
const CALL_DURATION = 'max(0, r.end_ns - r.start_ns)';
export const CALL_FIGURES = `count(*), sum(r.status = ${STATUS_ERROR}), sum(r.total_cost),
  total(r.input_tokens * (1 - r.repeats_usage)), total(r.output_tokens * (1 - r.repeats_usage)),
  count(r.end_ns), total(${CALL_DURATION}), max(0, max(r.end_ns - r.start_ns))`;

/** Calls of a stretch of time, by all that reports group them by. */
export const CALLS_OF_STRETCH = `SELECT r.provider, r.entity_name, r.model, ${CALL_CLASS}, ${CALL_FIGURES}
  FROM spans AS r INDEXED BY spans_calls WHERE ${CALLS('r')} AND r.project = ? AND r.start_ns >= ? AND r.start_ns < ? GROUP BY 1, 2, 3, 4`;

export type CallsOfStretch = [
  provider: string | null,
  entityName: string | null,
  model: string | null,
  is: number,
  ...figures: FiguresRow,
];

/** What a summary reads of the traces of a stretch of time. `traces_by_start` holds it all. */
export const TRACES_OF_STRETCH = `SELECT r.status, r.duration_ns, r.total_cost, r.input_tokens, r.output_tokens
  FROM traces AS r INDEXED BY traces_by_start WHERE r.project = ? AND r.start_ns >= ? AND r.start_ns < ?`;
/** The numbers of the facets that they have. */
export const FACETS_OF_STRETCH = `SELECT r.facets
  FROM traces AS r INDEXED BY traces_by_start WHERE r.project = ? AND r.start_ns >= ? AND r.start_ns < ?`;
export type TraceOfStretch = [
  status: number,
  duration: number | null,
  cost: number | null,
  input: number | null,
  output: number | null,
];
export const traceFigures = ([status, duration, cost, input, output]: TraceOfStretch) => ({
  isFailed: status === STATUS_ERROR,
  isCancelled: status === TRACE_CANCELLED,
  durationNs: duration,
  totalCost: cost,
  inputTokens: input ?? 0,
  outputTokens: output ?? 0,
});
