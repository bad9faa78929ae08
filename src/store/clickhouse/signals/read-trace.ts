import type { ProjectReach } from '../../../model/scope.ts';
import type { StoredSpan, TraceDetail, TraceSummary } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeSpan, decodeTrace } from '../../signals/rows/decode.ts';
import { groupSpans } from '../../signals/rows/held-spans.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { joiningOf, SUMMARY } from '../../signals/rows/joined-trace.ts';
import { isSpanId, isTraceId } from '../../signals/storable.ts';
import { waterfall, type WaterfallReader } from '../../signals/waterfall.ts';
import { binding } from '../binding.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { summaryColumns } from './read-traces.ts';
import { CONTEXTS, HOT, withTimes } from './totals.ts';

/** What `decodeSpan` reads. */
const ANSWERED = `s.trace_id, s.project, s.span_id, s.parent_span_id, s.name, s.kind, s.status, s.start_ns, s.end_ns, s.received_ns,
  s.is_event, s.model, s.provider, s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens, s.usage_details, s.total_cost,
  s.input_cost, s.output_cost, s.currency, s.is_estimated, s.price_book_id, s.error_message, s.error_type, s.scope_name, ${CONTEXTS}`;
const PAYLOADS = `, s.forms, s.input, s.input_attribute, s.output, s.output_attribute, s.attributes, s.events, s.links, s.error_stack,
  s.long_message`;
/** Columns of the spans `s` as `decodeSpan` reads them. */
export const spanColumns = (payloads: boolean): string => `${ANSWERED}${payloads ? PAYLOADS : ''}`;

const inAnswer: WaterfallReader<Row> = {
  id: (row) => row[2] as string,
  parent: (row) => row[3] as string | null,
  start: (row) => BigInt(row[7] as string),
};

type FoundTrace = { readonly trace: TraceSummary; readonly projects: readonly string[] };

/** The summary of a trace, one for the parts that it has in several projects, and these projects. */
export const findSummary = async (ask: Ask, traceId: string, reach: ProjectReach): Promise<FoundTrace | undefined> => {
  if (!isTraceId(traceId)) return undefined;
  const to = binding();
  const own = `trace_id = ${to.bind(traceId, 'String')}`;
  const parts = await ask<Row>(
    `SELECT ${summaryColumns('t')} FROM traces AS t FINAL WHERE t.${own} AND ${inReach(reach, to, 't.')} ORDER BY t.project`,
    to.params,
  );
  const [first] = parts;
  if (first === undefined) return undefined;
  const projects = parts.map((row) => row[SUMMARY.project] as string);
  if (parts.length === 1) return { trace: decodeTrace(first), projects };

  const joining = joiningOf(parts);
  const asked = binding();
  const spans = await ask<Row>(
    `SELECT s.project, s.trace_id, ${HOT}, ${CONTEXTS} FROM spans AS s FINAL
     WHERE s.project IN ${asked.bind(projects, 'Array(String)')} AND s.trace_id = ${asked.bind(traceId, 'String')}`,
    asked.params,
  );
  const held = groupSpans(spans.map(withTimes), ([project]) => project);
  for (const [part, project] of projects.entries()) {
    const own = held.get(project);
    if (own !== undefined) joining.add(part, own.spans, own.contexts);
  }
  return { trace: decodeTrace(joining.joined()), projects };
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
  const { bind, params } = binding();
  const rows = await ask<Row>(
    `SELECT ${spanColumns(payloads)} FROM spans AS s FINAL
     WHERE s.project IN ${bind(found.projects, 'Array(String)')} AND s.trace_id = ${bind(traceId, 'String')}`,
    params,
  );
  return {
    trace: found.trace,
    spans: await decodeInTurns(waterfall(rows, inAnswer), (row) => decodeSpan(row, payloads)),
  };
};

/** Projects in reach that hold a part of a trace. */
export const projectsOfTrace = async (ask: Ask, traceId: string, reach: ProjectReach): Promise<readonly string[]> => {
  if (!isTraceId(traceId)) return [];
  const to = binding();
  const found = await ask<[string]>(
    `SELECT project FROM traces FINAL WHERE trace_id = ${to.bind(traceId, 'String')} AND ${inReach(reach, to)} ORDER BY project`,
    to.params,
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
  const to = binding();
  const [row] = await ask<Row>(
    `SELECT ${spanColumns(true)} FROM spans AS s FINAL WHERE s.trace_id = ${to.bind(traceId, 'String')}
       AND s.span_id = ${to.bind(spanId, 'String')} AND ${inReach(reach, to, 's.')} ORDER BY s.received_ns DESC, s.project DESC LIMIT 1`,
    to.params,
  );
  return row && decodeSpan(row, true);
};
