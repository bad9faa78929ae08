import { CONTEXT_COLUMNS, type Row } from '../../signals/rows/columns.ts';
import { jsonBytes } from '../../signals/rows/json-bytes.ts';
import { correlationMember, spanHead, spanJsonWriter } from '../../signals/rows/span-json.ts';
import type { WrittenSpans } from '../../signals/query.ts';
import { ENVELOPE_BYTES, PIECE_BYTES, piecesOf, type SpanPlace } from '../../signals/span-places.ts';
import type { Ask } from '../connection.ts';
import { type Columns, unnest } from '../insert.ts';
import { TRACE_KEY } from './read-search.ts';
import { hex } from './statement.ts';

export const SPAN_KEY: Columns = [...TRACE_KEY, ['span_id', 'hex']];

/** The weight of the span `s`, with payloads those in `l` too: what texts weigh is known without reading them. */
export const weightOf = (payloads: boolean): string => {
  const size = (column: string): string => `coalesce(octet_length(${column}), 0)`;
  const held = [size('s.name'), size('s.error_message')];
  if (payloads)
    held.push(
      `${size('l.input')} * (1 + (l.input_attribute IS NOT NULL)::int4)`,
      `${size('l.output')} * (1 + (l.output_attribute IS NOT NULL)::int4)`,
      ...['attributes', 'events', 'links', 'error_stack', 'error_message'].map((column) => size(`l.${column}`)),
    );
  return `(${ENVELOPE_BYTES} + ${held.join(' + ')})::float8`;
};

/** Seconds and the rest in nanoseconds: as two numbers a time needs no bigint. */
const time = (column: string): string => `(${column} / 1000000000)::float8, (${column} % 1000000000)::int4`;
const count = (column: string): string => `${column}::float8`;

/** What the writer of spans reads, after a column of our own. */
const SPAN = `k.place, encode(s.span_id, 'hex'), encode(s.parent_span_id, 'hex'), s.name, s.kind, s.status, ${time('s.start_ns')},
  ${time('s.end_ns')}, s.is_event, ${time('s.received_ns')}, s.model, s.provider, s.entity_name, ${count('s.input_tokens')},
  ${count('s.output_tokens')}, ${count('s.total_tokens')}, s.usage_details, s.total_cost, s.input_cost, s.output_cost, s.currency,
  s.is_estimated, s.price_book_id, s.error_message, s.error_type, s.scope_name`;
const PAYLOADS = `l.forms, l.input, l.input_attribute, l.output, l.output_attribute, l.attributes, l.events, l.links, l.error_stack,
  l.error_message`;
const CONTEXTS = CONTEXT_COLUMNS.replaceAll(/(\w+)/g, 's.$1');
const CONTEXT_WIDTH = CONTEXT_COLUMNS.split(',').length;
/** Before them stand trace id, project and the context. */
const HEAD_WIDTH = 2 + CONTEXT_WIDTH;

/** Spans as JSON, some of them at a time, each with a comma before it; the next are read when they are asked for. */
export async function* writtenSpans(ask: Ask, places: readonly SpanPlace<number>[], payloads: boolean): WrittenSpans {
  const json = jsonBytes(PIECE_BYTES);
  const write = spanJsonWriter(payloads, json);
  for (const piece of piecesOf(places)) {
    const some = piece.map(({ project, traceId, spanId }) => [project, traceId, spanId] as Row);
    const { sql, values } = unnest(SPAN_KEY, some);
    const rows = await ask<Row>(
      `SELECT ${hex('s.trace_id')}, p.name, ${CONTEXTS}, ${SPAN}${payloads ? `, ${PAYLOADS}` : ''}
       FROM ${sql} WITH ORDINALITY AS k (project, trace_id, span_id, place) JOIN projects AS p ON p.project = k.project
       JOIN spans AS s ON s.project = k.project AND s.trace_id = k.trace_id AND s.span_id = k.span_id
       ${payloads ? 'LEFT JOIN span_payloads AS l ON l.project = s.project AND l.trace_id = s.trace_id AND l.span_id = s.span_id' : ''}
       ORDER BY k.place`,
      values,
    );
    for (const row of rows) {
      const [traceId, project] = row;
      const correlation = correlationMember(project as string, row.slice(2, HEAD_WIDTH));
      write(spanHead(traceId as string), correlation, row.slice(HEAD_WIDTH));
    }
    yield json.take();
  }
}
