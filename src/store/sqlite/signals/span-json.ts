import { CONTEXT_COLUMNS, type Row, type StoredRow } from '../../signals/rows/columns.ts';
import { jsonBytes, type JsonBytes } from '../../signals/rows/json-bytes.ts';
import { correlationMember, spanHead, spanJsonWriter } from '../../signals/rows/span-json.ts';
import { idAt, somePlaces, type SpanPlaces } from './places.ts';
import { payloadReaderOf } from './read-payloads.ts';
import type { Statements } from './statements.ts';

/** What was made of the first places: UTF-8, each span with a comma before it. */
export type SpansPiece = [bytes: Uint8Array, taken: number];

/** A piece ends with the span that brings it to so many bytes. */
const PIECE_BYTES = 256 * 1024;
/** What few spans are larger than as JSON, in bytes, and room for the span with which a piece ends. */
const SPAN_BYTES = { withPayloads: 16 * 1024, without: 2 * 1024 } as const;
const LAST_SPAN_BYTES = 64 * 1024;
/** What a span weighs without its payloads, its name and its message, in bytes: names of members, ids, times, correlation. */
const ENVELOPE_BYTES = 700;
/** Places that a piece reads at the most: their rows are read at once, which takes a sixth less than one by one. */
const PIECE_PLACES = 512;
/** Spans of which an estimate is made. */
const SAMPLED = 64;

/** Seconds and the rest in nanoseconds: as two numbers a time needs no bigint. */
const time = (column: string): string => `${column} / 1000000000, ${column} % 1000000000`;

const SPAN = `s.context, s.span_id, s.parent_span_id, s.name, s.kind, s.status, ${time('s.start_ns')}, ${time('s.end_ns')},
  s.is_event, ${time('s.received_ns')}, s.model, s.provider, s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens,
  s.usage_details, s.total_cost, s.input_cost, s.output_cost, s.currency, s.is_estimated, s.price_book_id, s.error_message,
  s.error_type, s.scope_name`;

/** A row of `SPAN`, the trace, and last the number of the span, which is `null` where there is none. */
type FoundRow = [...Row, trace: number | null, span: number | null];
const FOUND = `SELECT ${SPAN}, s.trace, s.span`;

/** A reader of the rows of `SPAN`, with the payloads behind them; it remembers what spans of one trace have in common. */
const spanWriter = (statements: Statements, payloads: boolean, into: JsonBytes) => {
  const write = spanJsonWriter(payloads, into);
  const findTrace = statements.raw<[traceId: string, project: string]>(
    'SELECT t.trace_id, p.name FROM traces AS t JOIN projects AS p ON p.project = t.project WHERE t.trace = ?',
  );
  const findContext = statements.raw<Row>(
    `SELECT ${CONTEXT_COLUMNS} FROM trace_contexts WHERE trace = ? AND context = ?`,
  );
  const traces = new Map<
    number,
    { readonly head: string; readonly project: string; readonly contexts: Map<number, string> }
  >();
  const traceOf = (trace: number) => {
    const known = traces.get(trace);
    if (known !== undefined) return known;
    const found = findTrace.get(trace);
    if (found === undefined) return undefined;
    const entry = { head: spanHead(found[0]), project: found[1], contexts: new Map<number, string>() };
    traces.set(trace, entry);
    return entry;
  };

  /** Writes a comma and the span, or nothing when its trace was deleted meanwhile. */
  return (trace: number, row: StoredRow): void => {
    const of = traceOf(trace);
    if (of === undefined) return;
    const context = Number(row[0]);
    let correlation = of.contexts.get(context);
    if (correlation === undefined) {
      correlation = correlationMember(of.project, findContext.get(trace, context) ?? []);
      of.contexts.set(context, correlation);
    }
    write(of.head, correlation, row);
  };
};

/**
 * Writes spans, as many of the places as make a piece. A span that was deleted since the places were read is left out; one that was
 * sent again is written as it is now.
 */
export const writeSpans = (statements: Statements, places: SpanPlaces, payloads: boolean): SpansPiece => {
  const asked = somePlaces(places, 0, PIECE_PLACES);
  const count = asked.spans.length;
  // One statement finds all rows in the order of their places, and has an empty one where none is left: asked one by one, rows take
  // longer to be found than to be read, and by their ids three times as long as by their numbers.
  const rows = statements
    .raw<FoundRow>(`${FOUND} FROM json_each(?) AS j LEFT JOIN spans AS s ON s.span = j.value`)
    .all(`[${asked.spans.join()}]`);
  const sentAgain = statements.raw<FoundRow>(`${FOUND} FROM spans AS s WHERE s.trace = ? AND s.span_id = ?`);
  const reader = payloads ? payloadReaderOf(statements) : undefined;
  const room = count * (payloads ? SPAN_BYTES.withPayloads : SPAN_BYTES.without);
  const json = jsonBytes(Math.min(room, PIECE_BYTES + LAST_SPAN_BYTES));
  const write = spanWriter(statements, payloads, json);
  for (let place = 0; place < count; place++) {
    let row: StoredRow | undefined = rows[place];
    if (row?.at(-1) === null) row = sentAgain.get(...idAt(asked, place));
    if (row === undefined) continue;
    const span = row.pop() as number;
    const trace = row.pop() as number;
    if (reader !== undefined) row.push(...(reader.findStored(span) ?? []));
    write(trace, row);
    if (json.length >= PIECE_BYTES) return [json.take(), place + 1];
  }
  return [json.take(), count];
};

/** Tells what a span will weigh as JSON, in bytes: sizes stand in the heads of rows and in the indexes of blocks, so no payload is read. */
export const spanWeigher = (statements: Statements, payloads: boolean): ((span: number) => number) => {
  const reader = payloads ? payloadReaderOf(statements) : undefined;
  const measure = statements.pluck<number>(
    'SELECT octet_length(name) + coalesce(octet_length(error_message), 0) FROM spans WHERE span = ?',
  );
  return (span) => ENVELOPE_BYTES + (measure.get(span) ?? 0) + (reader?.weigh(span) ?? 0);
};

/**
 * What spans will weigh as JSON, in bytes, out of some of them.
 * @param spans row numbers of spans
 * @param count how many there are of their kind
 */
export const estimateBytes = (
  statements: Statements,
  spans: readonly number[],
  count: number,
  payloads: boolean,
): number => {
  if (spans.length === 0) return 0;
  const weigh = spanWeigher(statements, payloads);
  const step = Math.max(1, Math.floor(spans.length / SAMPLED));
  const sampled = spans.filter((_, place) => place % step === 0);
  const bytes = sampled.reduce((sum, span) => sum + weigh(span), 0);
  return Math.ceil((count * bytes) / sampled.length);
};
