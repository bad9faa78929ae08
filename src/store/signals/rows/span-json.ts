import { formatTimestamp } from '../../../model/time.ts';
import type { Usage } from '../../../model/span.ts';
import { kindOf, statusOf } from './codes.ts';
import { type Column, CONTEXT, INPUT_IS_JSON, OUTPUT_IS_JSON, type Row } from './columns.ts';
import { cutRows } from './cut-rows.ts';

/**
 * Spans as JSON text, as the interface spells them. A trace of ten thousand spans is answered out of here: payloads and
 * attributes stand in the file as JSON, and are copied instead of being read and written again. What `http/codec/span.ts` makes of
 * the same spans is the same text to the last byte, which `test/store/sqlite/span-json.test.ts` holds against drawn spans.
 */

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

/** @param context the columns of CONTEXT_COLUMNS */
export const correlationJson = (project: string, context: Row): string => {
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

/** The member with which the JSON of every span of a trace begins, and a comma before it. */
export const spanHead = (traceId: string): string => `,{"trace_id":${text(traceId)},"span_id":`;

/**
 * A writer of spans, one after the other. Each is handed over as a row: first a column of the engine's own, then span_id, parent_span_id, name, kind, status;
 * of start and end each seconds and nanoseconds; is_event; of the receipt the same two; model, provider, entity_name, the three counts of
 * tokens, usage_details, total_cost, input_cost, output_cost, currency, is_estimated, price_book_id, error_message, error_type, scope_name;
 * with payloads those of `span_payloads` after the number. No column is a bigint.
 * @returns a function of the head, the correlation as JSON, and the row. It gives a comma and the span
 */
export const spanJsonWriter = (payloads: boolean): ((head: string, correlation: string, row: Row) => string) => {
  const spell = timeSpeller();
  return (head, correlation, row) => {
    let place = 1;
    const next = (): Column => row[place++] ?? null;
    const number = (): number => next() as number;
    const maybe = (): string | null => next() as string | null;
    const at = (): string | undefined => {
      const seconds = next();
      const nanos = next();
      return seconds === null ? undefined : spell(seconds as number, nanos as number);
    };

    let json = head + text(next());
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
