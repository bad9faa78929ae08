import type { ProjectReach } from '../../../model/scope.ts';
import type { TraceDetail } from '../../signals/query.ts';
import { CONTEXT_COLUMNS, type Row } from '../../signals/rows/columns.ts';
import { decodeSpan, decodeTrace } from '../../signals/rows/decode.ts';
import { joiningOf } from '../../signals/rows/joined-trace.ts';
import { waterfall, type WaterfallReader } from '../../signals/waterfall.ts';
import type { Ask } from '../connection.ts';
import { isTraceId } from './keys.ts';
import { inReach } from './reach.ts';
import { groupSpans, HOT } from './span-rows.ts';

const hex = (column: string): string => `replace(${column}::text, '-', '')`;

/** What `decodeTrace` reads. */
const SUMMARY_COLUMNS = `${hex('t.trace_id')}, p.name, t.name, t.status, t.start_ns, t.duration_ns, t.span_count, t.error_count,
  t.total_cost, t.currency, t.input_tokens, t.output_tokens, t.total_tokens, t.models, t.tags, t.environment, t.service_name,
  t.service_version, t.release, t.user_id, t.session_id, t.thread_id, t.run_id, t.experiment_id, t.scores, t.feedback`;

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

/** A trace with its spans in waterfall order, from every project in reach. */
export const findTrace = async (
  ask: Ask,
  traceId: string,
  reach: ProjectReach,
  payloads: boolean,
): Promise<TraceDetail | undefined> => {
  if (!isTraceId(traceId)) return undefined;
  const [reached, values] = inReach(reach, 2);
  const of = `JOIN projects AS p ON p.project = s.project WHERE s.trace_id = $1 AND ${reached}`;
  const parts = await ask<[number, ...Row]>(
    `SELECT t.project, ${SUMMARY_COLUMNS} FROM traces AS t JOIN projects AS p ON p.project = t.project
     WHERE t.trace_id = $1 AND ${reached} ORDER BY p.name`,
    [traceId, ...values],
  );
  const [first] = parts;
  if (first === undefined) return undefined;
  const rows = await ask<Row>(
    `SELECT ${ANSWERED}${payloads ? PAYLOADS : ''} FROM spans AS s
     ${payloads ? 'LEFT JOIN span_payloads AS l ON l.project = s.project AND l.trace_id = s.trace_id AND l.span_id = s.span_id' : ''} ${of}`,
    [traceId, ...values],
  );
  const spans = waterfall(rows, inAnswer).map((row) => decodeSpan(row, payloads));
  if (parts.length === 1) return { trace: decodeTrace(first.slice(1)), spans };

  const summaries = parts.map(([, ...row]): Row => row);
  const joining = joiningOf(summaries);
  const held = groupSpans(
    await ask<Row>(`SELECT s.project, ${hex('s.trace_id')}, ${HOT}, ${CONTEXTS} FROM spans AS s ${of}`, [
      traceId,
      ...values,
    ]),
    ([project]) => project,
  );
  for (const [part, [project]] of parts.entries()) {
    const own = held.get(project);
    if (own !== undefined) joining.add(part, own.spans, own.contexts);
  }
  return { trace: decodeTrace(joining.joined()), spans };
};
