import { formatTimestamp } from '../../../model/time.ts';
import type { Usage } from '../../../model/span.ts';
import { kindOf, statusOf } from './codes.ts';
import { cutRows } from './cut-rows.ts';
import type { Statements } from './statements.ts';
import { CONTEXT_COLUMNS } from './project-traces.ts';
import { type Column, CONTEXT, INPUT_IS_JSON, OUTPUT_IS_JSON, type Row } from './wire.ts';

/**
 * Spans as JSON text, as the interface spells them. A trace of ten thousand spans is answered out of here: payloads and
 * attributes stand in the file as JSON, and are copied instead of being read and written again. What `http/codec/span.ts` makes of
 * the same spans is the same text to the last byte, which `test/store/sqlite/span-json.test.ts` holds against drawn spans.
 */

/** Where spans are found: their ids, with the row number of the trace of each, or the one that all of them have. */
export type SpanPlaces = { readonly traces: number | readonly number[]; readonly ids: readonly string[] };
/** What was made of the first places: UTF-8, each span with a comma before it. */
export type SpansPiece = [bytes: Uint8Array, taken: number];

/** A piece ends with the span that brings it to so many characters. */
const PIECE_CHARACTERS = 256 * 1024;
/** What a span weighs without its payloads, its name and its message, in bytes: names of members, ids, times, correlation. */
const ENVELOPE_BYTES = 700;
/** Spans of which an estimate is made. */
const SAMPLED = 64;

/** Seconds and the rest in nanoseconds: as two numbers a time needs no bigint. */
const time = (column: string): string => `${column} / 1000000000, ${column} % 1000000000`;

const SPAN = `s.context, s.span_id, s.parent_span_id, s.name, s.kind, s.status, ${time('s.start_ns')}, ${time('s.end_ns')},
  s.is_event, ${time('s.received_ns')}, s.model, s.provider, s.entity_name, s.input_tokens, s.output_tokens, s.total_tokens,
  s.usage_details, s.total_cost, s.input_cost, s.output_cost, s.currency, s.is_estimated, s.price_book_id, s.error_message,
  s.error_type, s.scope_name`;
const PAYLOADS = `, l.forms, l.input, l.input_attribute, l.output, l.output_attribute, l.attributes, l.events, l.links,
  l.error_stack, l.error_message`;

/** Times of one trace lie close together: most of them fall into the second that was spelled last. */
const timeSpeller = () => {
  let lastSeconds = Number.NaN;
  let spelled = '';
  return (seconds: number, nanos: number): string => {
    // Before 1970 both are negative, as SQLite divides.
    const fraction = nanos < 0 ? nanos + 1_000_000_000 : nanos;
    const whole = nanos < 0 ? seconds - 1 : seconds;
    if (whole !== lastSeconds) {
      lastSeconds = whole;
      spelled = new Date(whole * 1000).toISOString().slice(0, -5);
    }
    if (fraction === 0) return `"${spelled}Z"`;
    const digits = String(fraction).padStart(9, '0');
    if (digits.endsWith('000000')) return `"${spelled}.${digits.slice(0, 3)}Z"`;
    return digits.endsWith('000') ? `"${spelled}.${digits.slice(0, 6)}Z"` : `"${spelled}.${digits}Z"`;
  };
};

const text = (value: Column | undefined): string => JSON.stringify(value);
const member = (name: string, value: Column | undefined): string =>
  value === null || value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
/** An object of members that each begin with a comma. */
const object = (members: string): string => `{${members.slice(1)}}`;

const correlationOf = (project: string, context: Row): string => {
  const tags = context[CONTEXT.tags];
  return object(
    member('project', project) +
      member('environment', context[CONTEXT.environment]) +
      member('service_name', context[CONTEXT.serviceName]) +
      member('service_version', context[CONTEXT.serviceVersion]) +
      member('session_id', context[CONTEXT.sessionId]) +
      member('thread_id', context[CONTEXT.threadId]) +
      member('user_id', context[CONTEXT.userId]) +
      member('request_id', context[CONTEXT.requestId]) +
      member('release', context[CONTEXT.release]) +
      member('run_id', context[CONTEXT.runId]) +
      member('resource_id', context[CONTEXT.resourceId]) +
      member('experiment_id', context[CONTEXT.experimentId]) +
      (tags === null || tags === undefined || tags === '[]' ? '' : `,"tags":${tags as string}`),
  );
};

const detailsOf = (stored: string): string => {
  const [input, output] = JSON.parse(stored) as [Usage['inputDetails'] | null, Usage['outputDetails'] | null];
  const read = (details: Record<string, number | undefined>, names: readonly (readonly [string, string])[]): string =>
    object(names.map(([wire, held]) => member(wire, details[held])).join(''));
  return (
    (input === null || input === undefined ? '' : `,"input_details":${read(input, INPUT_DETAILS)}`) +
    (output === null || output === undefined ? '' : `,"output_details":${read(output, OUTPUT_DETAILS)}`)
  );
};
const INPUT_DETAILS = [
  ['cache_read', 'cacheRead'],
  ['cache_write', 'cacheWrite'],
  ['cache_write_5m', 'cacheWrite5m'],
  ['cache_write_1h', 'cacheWrite1h'],
  ['audio', 'audio'],
  ['text', 'text'],
] as const;
const OUTPUT_DETAILS = [
  ['reasoning', 'reasoning'],
  ['audio', 'audio'],
  ['text', 'text'],
] as const;

/** A key that reads as an array index stands first in an object, wherever it was added. */
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,9})$/;

/** The attributes with the payloads that were held apart back under their keys. @see wholeAttributes in model/span.ts */
const attributesOf = (
  stored: string | null,
  added: readonly (readonly [key: string | null, value: string | undefined])[],
): string => {
  const attributes = stored ?? '{}';
  const held = added.filter((entry): entry is [string, string] => entry[0] !== null && entry[1] !== undefined);
  if (held.length === 0) return attributes;
  const isPlain = held.every(
    ([key], place) =>
      !ARRAY_INDEX.test(key) &&
      !attributes.includes(`${JSON.stringify(key)}:`) &&
      held.findIndex(([other]) => other === key) === place,
  );
  if (!isPlain) {
    const whole = Object.assign(Object.create(null), JSON.parse(attributes)) as Record<string, unknown>;
    for (const [key, value] of held) whole[key] = JSON.parse(value);
    return JSON.stringify(whole);
  }
  const members = held.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join();
  return attributes === '{}' ? `{${members}}` : `${attributes.slice(0, -1)},${members}}`;
};

const eventsOf = (stored: string | null): string =>
  `[${cutRows(stored ?? '')
    .map(
      ([name, at = '', attributes]) =>
        `{"name":${name},"time":"${formatTimestamp(BigInt(at.slice(1, -1)))}","attributes":${attributes}}`,
    )
    .join()}]`;
const linksOf = (stored: string | null): string =>
  `[${cutRows(stored ?? '')
    .map(([traceId, spanId, attributes]) => `{"trace_id":${traceId},"span_id":${spanId},"attributes":${attributes}}`)
    .join()}]`;

const payloadOf = (stored: string | null, isJson: boolean): string | undefined => {
  if (stored === null) return undefined;
  return isJson ? stored : JSON.stringify(stored);
};

/** A reader of the rows of `SPAN` and `PAYLOADS`; it remembers what spans of one trace have in common. */
const spanWriter = (statements: Statements, payloads: boolean) => {
  const spell = timeSpeller();
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
    const entry = {
      head: `,{"trace_id":${text(found[0])},"span_id":`,
      project: found[1],
      contexts: new Map<number, string>(),
    };
    traces.set(trace, entry);
    return entry;
  };

  /** @returns a comma and the span, or nothing when its trace was deleted meanwhile */
  return (trace: number, row: Row): string => {
    const of = traceOf(trace);
    if (of === undefined) return '';
    let place = 0;
    const next = (): Column => row[place++] ?? null;
    const number = (): number => next() as number;
    const maybe = (): string | null => next() as string | null;
    const at = (): string | undefined => {
      const seconds = next();
      const nanos = next();
      return seconds === null ? undefined : spell(seconds as number, nanos as number);
    };

    const context = number();
    let correlation = of.contexts.get(context);
    if (correlation === undefined) {
      correlation = correlationOf(of.project, findContext.get(trace, context) ?? []);
      of.contexts.set(context, correlation);
    }
    let json = of.head + text(next());
    const parent = next();
    json += `${member('parent_span_id', parent)},"name":${text(next())},"kind":"${kindOf(next())}","status":"${statusOf(next())}"`;
    json += `,"start_time":${at() ?? ''}`;
    const end = at();
    if (end !== undefined) json += `,"end_time":${end}`;
    json += `,"is_root":${parent === null},"is_event":${number() === 1},"received_at":${at() ?? ''}`;
    const described = member('model', next()) + member('provider', next()) + member('entity_name', next());
    const tokens = member('input_tokens', next()) + member('output_tokens', next()) + member('total_tokens', next());
    const details = maybe();
    const total = next();
    const costs = member('input_cost', next()) + member('output_cost', next());
    const currency = maybe();
    const isEstimated = number() === 1;
    const priceBook = next();
    const listedMessage = maybe();
    const errorType = next();
    const scopeName = next();
    const forms = payloads ? Number(next() ?? 0) : 0;
    const input = payloads ? payloadOf(maybe(), (forms & INPUT_IS_JSON) !== 0) : undefined;
    const inputAttribute = payloads ? maybe() : null;
    const output = payloads ? payloadOf(maybe(), (forms & OUTPUT_IS_JSON) !== 0) : undefined;
    const outputAttribute = payloads ? maybe() : null;
    const attributes = payloads ? maybe() : null;
    const events = payloads ? maybe() : null;
    const links = payloads ? maybe() : null;
    const stack = payloads ? next() : null;
    const message = (payloads ? maybe() : null) ?? listedMessage;

    if (input !== undefined) json += `,"input":${input}`;
    if (output !== undefined) json += `,"output":${output}`;
    json += described;
    if (tokens !== '') json += `,"usage":${object(tokens + (details === null ? '' : detailsOf(details)))}`;
    if (total !== null && currency !== null)
      json += `,"cost":${object(
        `${member('total_cost', total)}${costs},"currency":${text(currency)},"is_estimated":${isEstimated}${member('price_book_id', priceBook)}`,
      )}`;
    if (message !== null)
      json += `,"error":${object(member('message', message) + member('type', errorType) + member('stack', stack))}`;
    json += `,"correlation":${correlation}`;
    if (payloads)
      json += `,"attributes":${attributesOf(attributes, [
        [inputAttribute, input],
        [outputAttribute, output],
      ])},"events":${eventsOf(events)},"links":${linksOf(links)}`;
    return `${json}${member('scope_name', scopeName)}}`;
  };
};

const encoder = new TextEncoder();

/**
 * Writes spans, as many of the places as make a piece. A span that was deleted since the places were read is left out; one that was
 * sent again is written as it is now.
 */
export const writeSpans = (statements: Statements, places: SpanPlaces, payloads: boolean): SpansPiece => {
  const find = statements.raw<Row>(
    `SELECT ${SPAN}${payloads ? PAYLOADS : ''} FROM spans AS s ${payloads ? 'LEFT JOIN span_payloads AS l ON l.span = s.span' : ''}
     WHERE s.trace = ? AND s.span_id = ?`,
  );
  const write = spanWriter(statements, payloads);
  let json = '';
  let taken = 0;
  for (const id of places.ids) {
    const trace = typeof places.traces === 'number' ? places.traces : (places.traces[taken] ?? 0);
    const row = find.get(trace, id);
    taken += 1;
    if (row !== undefined) json += write(trace, row);
    if (json.length >= PIECE_CHARACTERS) break;
  }
  return [encoder.encode(json), taken];
};

/**
 * What spans will weigh as JSON, in bytes, out of some of them: sizes stand in the heads of rows, so no payload is read.
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
  const step = Math.max(1, Math.floor(spans.length / SAMPLED));
  const sampled = spans.filter((_, place) => place % step === 0);
  const size = (column: string, times = '1'): string => `coalesce(octet_length(${column}), 0) * (${times})`;
  const held = [
    size('s.name'),
    size('s.error_message'),
    ...(payloads
      ? [
          size('l.input', '1 + (l.input_attribute IS NOT NULL)'),
          size('l.output', '1 + (l.output_attribute IS NOT NULL)'),
          ...['l.attributes', 'l.events', 'l.links', 'l.error_stack', 'l.error_message'].map((column) => size(column)),
        ]
      : []),
  ];
  const measure = statements.pluck<number>(
    `SELECT ${held.join(' + ')} FROM spans AS s ${payloads ? 'LEFT JOIN span_payloads AS l ON l.span = s.span' : ''} WHERE s.span = ?`,
  );
  let bytes = 0;
  for (const span of sampled) bytes += measure.get(span) ?? 0;
  return Math.ceil(count * (ENVELOPE_BYTES + bytes / sampled.length));
};
