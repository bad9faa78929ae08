import { CONTEXT_COLUMNS, type Row } from '../../signals/rows/columns.ts';
import { jsonBytes } from '../../signals/rows/json-bytes.ts';
import { correlationMember, spanHead, spanJsonWriter } from '../../signals/rows/span-json.ts';
import type { WrittenSpans } from '../../signals/query.ts';
import { PIECE_BYTES, piecesOf, type SpanPlace } from '../../signals/span-places.ts';
import type { Ask } from '../connection.ts';
import { askKeys, keyType } from './keyed.ts';
import { SPANS } from './tables.ts';
import { CONTEXTS } from './totals.ts';

/** Seconds and the rest in nanoseconds: as two numbers a time needs no bigint. */
const time = (column: string): string => `toFloat64(intDiv(${column}, 1000000000)), toInt32(${column} % 1000000000)`;
const count = (column: string): string => `toFloat64(${column})`;

/** What the writer of spans reads, after a column of our own. */
const SPAN = `0, s.span_id, s.parent_span_id, s.name, s.kind, s.status, ${time('s.start_ns')}, ${time('s.end_ns')}, s.is_event,
  ${time('s.received_ns')}, s.model, s.provider, s.entity_name, ${count('s.input_tokens')}, ${count('s.output_tokens')},
  ${count('s.total_tokens')}, s.usage_details, s.total_cost, s.input_cost, s.output_cost, s.currency, s.is_estimated, s.price_book_id,
  s.error_message, s.error_type, s.scope_name`;
const PAYLOADS = `, s.forms, s.input, s.input_attribute, s.output, s.output_attribute, s.attributes, s.events, s.links, s.error_stack,
  s.long_message`;
const CONTEXT_WIDTH = CONTEXT_COLUMNS.split(',').length;
/** Before them stand trace id, project and the context. */
const HEAD_WIDTH = 2 + CONTEXT_WIDTH;
const SPAN_ID = HEAD_WIDTH + 1;

/** Spans as JSON, some of them at a time, each with a comma before it; the next are read when they are asked for. */
export async function* writtenSpans(ask: Ask, places: readonly SpanPlace<string>[], payloads: boolean): WrittenSpans {
  const json = jsonBytes(PIECE_BYTES);
  const write = spanJsonWriter(payloads, json);
  for (const piece of piecesOf(places)) {
    const some = piece.map(({ project, traceId, spanId }) => [project, traceId, spanId] as const);
    const rows = await askKeys<Row>(
      ask,
      some,
      keyType(SPANS),
      (keys) =>
        `SELECT s.trace_id, s.project, ${CONTEXTS}, ${SPAN}${payloads ? PAYLOADS : ''} FROM spans AS s FINAL
         WHERE (s.project, s.trace_id, s.span_id) IN ${keys}`,
    );
    const held = new Map(rows.map((row) => [JSON.stringify([row[1], row[0], row[SPAN_ID]]), row]));
    for (const key of some) {
      const row = held.get(JSON.stringify(key));
      // Deleted since.
      if (row === undefined) continue;
      const correlation = correlationMember(row[1] as string, row.slice(2, HEAD_WIDTH));
      write(spanHead(row[0] as string), correlation, row.slice(HEAD_WIDTH));
    }
    yield json.take();
  }
}
