import type { ProjectReach } from '../../../model/scope.ts';
import type { StoredSpan, TraceDetail, TraceSummary } from '../../signals/query.ts';
import { CONTEXT_COLUMNS, type Row } from '../../signals/rows/columns.ts';
import { decodeSpan, decodeTrace } from '../../signals/rows/decode.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { joiningOf, SUMMARY } from '../../signals/rows/joined-trace.ts';
import { waterfall, type WaterfallReader } from '../../signals/waterfall.ts';
import { isSpanId, isTraceId } from '../../signals/storable.ts';
import { groupSpans } from '../../signals/rows/held-spans.ts';
import { int4Array } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { summaryColumns } from './read-traces.ts';
import { HOT } from './span-rows.ts';
import { hex } from './statement.ts';

const CONTEXTS = CONTEXT_COLUMNS.replaceAll(/(\w+)/g, 's.$1');
/** What `decodeSpan` reads. */
const ANSWERED = `${hex('s.trace_id')}, p.name, encode(s.span_id, 'hex'), encode(s.parent_span_id, 'hex'), s.name, s.kind, s.status,
  s.start_ns, s.end_ns, s.received_ns, s.is_event, s.model, s.provider, s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens,
  s.usage_details, s.total_cost, s.input_cost, s.output_cost, s.currency, s.is_estimated, s.price_book_id, s.error_message,
  s.error_type, s.scope_name, ${CONTEXTS}`;
const PAYLOADS = `, l.forms, l.input, l.input_attribute, l.output, l.output_attribute, l.attributes, l.events, l.links,
  l.error_stack, l.error_message`;

const inAnswer: WaterfallReader<Row> = {
  id: (row) => row[2] as string,
  parent: (row) => row[3] as string | null,
  start: (row) => row[7] as bigint,
};

/** Columns of the spans `s` as `decodeSpan` reads them, and what they are joined with. */
export const spanColumns = (payloads: boolean): { readonly columns: string; readonly joins: string } => ({
  columns: `${ANSWERED}${payloads ? PAYLOADS : ''}`,
  joins: `JOIN projects AS p ON p.project = s.project
    ${payloads ? 'LEFT JOIN span_payloads AS l ON l.project = s.project AND l.trace_id = s.trace_id AND l.span_id = s.span_id' : ''}`,
});

type FoundTrace = {
  readonly trace: TraceSummary;
  readonly projects: readonly string[];
  readonly numbers: readonly number[];
};

/** The summary of a trace, one for the parts that it has in several projects, and these projects. */
export const findSummary = async (ask: Ask, traceId: string, reach: ProjectReach): Promise<FoundTrace | undefined> => {
  if (!isTraceId(traceId)) return undefined;
  const [reached, values] = inReach(reach, 2);
  const parts = await ask<[number, ...Row]>(
    `SELECT t.project, ${summaryColumns('t')} FROM traces AS t JOIN projects AS p ON p.project = t.project
     WHERE t.trace_id = $1 AND ${reached} ORDER BY p.name`,
    [traceId, ...values],
  );
  const [first] = parts;
  if (first === undefined) return undefined;
  const summaries = parts.map(([, ...row]): Row => row);
  const projects = summaries.map((row) => row[SUMMARY.project] as string);
  const numbers = parts.map(([project]) => project);
  if (parts.length === 1) return { trace: decodeTrace(first.slice(1)), projects, numbers };

  const joining = joiningOf(summaries);
  const held = groupSpans(
    await ask<Row>(
      `SELECT s.project, ${hex('s.trace_id')}, ${HOT}, ${CONTEXTS} FROM spans AS s
       WHERE s.project = ANY ($1::int4[]) AND s.trace_id = $2::uuid`,
      [int4Array(numbers), traceId],
    ),
    ([project]) => project,
  );
  for (const [part, [project]] of parts.entries()) {
    const own = held.get(project);
    if (own !== undefined) joining.add(part, own.spans, own.contexts);
  }
  return { trace: decodeTrace(joining.joined()), projects, numbers };
};

/** A trace with its spans in waterfall order, from every project in reach. */
export const findTrace = async (
  ask: Ask,
  traceId: string,
  reach: ProjectReach,
  payloads: boolean,
): Promise<TraceDetail | undefined> => {
  const found = await findSummary(ask, traceId, reach);
  if (found === undefined) return undefined;
  const { columns, joins } = spanColumns(payloads);
  const rows = await ask<Row>(
    `SELECT ${columns} FROM spans AS s ${joins} WHERE s.project = ANY ($1::int4[]) AND s.trace_id = $2::uuid`,
    [int4Array(found.numbers), traceId],
  );
  return {
    trace: found.trace,
    spans: await decodeInTurns(waterfall(rows, inAnswer), (row) => decodeSpan(row, payloads)),
  };
};

/** Projects in reach that hold a part of a trace. */
export const projectsOfTrace = async (ask: Ask, traceId: string, reach: ProjectReach): Promise<readonly string[]> => {
  if (!isTraceId(traceId)) return [];
  const [reached, values] = inReach(reach, 2);
  const found = await ask<[string]>(
    `SELECT p.name FROM traces AS t JOIN projects AS p ON p.project = t.project WHERE t.trace_id = $1 AND ${reached} ORDER BY p.name`,
    [traceId, ...values],
  );
  return found.map(([project]) => project);
};

/** One complete span. The same ids in two projects: the one that arrived last. */
export const findSpan = async (
  ask: Ask,
  traceId: string,
  spanId: string,
  reach: ProjectReach,
): Promise<StoredSpan | undefined> => {
  if (!isTraceId(traceId) || !isSpanId(spanId)) return undefined;
  const [reached, values] = inReach(reach, 3);
  const { columns, joins } = spanColumns(true);
  const [row] = await ask<Row>(
    `SELECT ${columns} FROM traces AS t JOIN spans AS s ON s.project = t.project AND s.trace_id = t.trace_id AND s.span_id = $2 ${joins}
     WHERE t.trace_id = $1 AND ${reached} ORDER BY s.received_ns DESC, s.project DESC LIMIT 1`,
    [traceId, Buffer.from(spanId, 'hex'), ...values],
  );
  return row && decodeSpan(row, true);
};
