import { formatTimestamp } from '../../../model/time.ts';
import type { Usage } from '../../../model/span.ts';
import { kindOf, statusOf } from './codes.ts';
import {
  type Column,
  CONTEXT,
  INPUT_IS_JSON,
  OUTPUT_IS_JSON,
  type Row,
  type StoredRow,
  type StoredText,
} from './columns.ts';
import { cutRows } from './cut-rows.ts';
import type { JsonBytes } from './json-bytes.ts';

/**
 * Spans as JSON, as the interface spells them. A trace of ten thousand spans is answered out of here: payloads and
 * attributes stand in the file as JSON, and are copied instead of being read and written again. What `http/codec/span.ts` makes of
 * the same spans is the same text to the last byte, which `test/store/sqlite/span-json.test.ts` holds against drawn spans.
 */

/** Times of one kind lie close together: most fall into the second that was spelled last, or are that very time. */
const timeSpeller = () => {
  let lastSeconds = Number.NaN;
  let lastNanos = Number.NaN;
  let date = '';
  let spelled = '';
  return (seconds: number, nanos: number): string => {
    if (seconds === lastSeconds && nanos === lastNanos) return spelled;
    // Before 1970 both are negative, as SQLite divides.
    const fraction = nanos < 0 ? nanos + 1_000_000_000 : nanos;
    const whole = nanos < 0 ? seconds - 1 : seconds;
    if (seconds !== lastSeconds || nanos < 0 !== lastNanos < 0)
      date = new Date(whole * 1000).toISOString().slice(0, -5);
    lastSeconds = seconds;
    lastNanos = nanos;
    if (fraction === 0) spelled = `"${date}Z"`;
    else if (fraction % 1_000_000 === 0) spelled = `"${date}.${padded(fraction / 1_000_000, 3)}Z"`;
    else if (fraction % 1_000 === 0) spelled = `"${date}.${padded(fraction / 1_000, 6)}Z"`;
    else spelled = `"${date}.${padded(fraction, 9)}Z"`;
    return spelled;
  };
};
const padded = (value: number, digits: number): string => String(value).padStart(digits, '0');

/** Texts that are spelled once: those of names and models come again and again. They are few, and short. */
const MOST_SPELLED = 1_000;
const LONGEST_SPELLED = 100;
/** `JSON.stringify` of texts, remembered for those that come again. */
const textSpeller = () => {
  const spelled = new Map<string, string>();
  return (text: string): string => {
    if (text.length > LONGEST_SPELLED) return JSON.stringify(text);
    const known = spelled.get(text);
    if (known !== undefined) return known;
    if (spelled.size >= MOST_SPELLED) spelled.clear();
    const json = JSON.stringify(text);
    spelled.set(text, json);
    return json;
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

const readText = (stored: StoredText): string => (typeof stored === 'string' ? stored : stored.toString());

/** A payload as it was written: its JSON, and where it lies. */
type Written = { readonly json: StoredText; readonly from: number; readonly to: number };

/**
 * The attributes with the payloads that were held apart back under their keys, in parts.
 * @see wholeAttributes in model/span.ts
 */
const attributesOf = (
  attributes: string,
  key: string,
  value: Written,
  otherKey: string | null,
  other: Written | undefined,
  spell: (text: string) => string,
): (string | Written)[] => {
  const hasOther = otherKey !== null && other !== undefined;
  const name = `${spell(key)}:`;
  const otherName = hasOther ? `${spell(otherKey)}:` : '';
  const isPlain =
    !ARRAY_INDEX.test(key) &&
    !attributes.includes(name) &&
    (!hasOther || (key !== otherKey && !ARRAY_INDEX.test(otherKey) && !attributes.includes(otherName)));
  if (!isPlain) {
    const whole = Object.assign(Object.create(null), JSON.parse(attributes)) as Record<string, unknown>;
    whole[key] = JSON.parse(readText(value.json));
    if (hasOther) whole[otherKey] = JSON.parse(readText(other.json));
    return [JSON.stringify(whole)];
  }
  const before = attributes === '{}' ? '{' : `${attributes.slice(0, -1)},`;
  return hasOther ? [before + name, value, `,${otherName}`, other, '}'] : [before + name, value, '}'];
};

const eventsOf = (stored: string): string =>
  `[${cutRows(stored)
    .map(
      ([name, at = '', attributes]) =>
        `{"name":${name},"time":"${formatTimestamp(BigInt(at.slice(1, -1)))}","attributes":${attributes}}`,
    )
    .join()}]`;
const linksOf = (stored: string): string =>
  `[${cutRows(stored)
    .map(([traceId, spanId, attributes]) => `{"trace_id":${traceId},"span_id":${spanId},"attributes":${attributes}}`)
    .join()}]`;

/** The member with which the JSON of every span of a trace begins, and a comma before it. */
export const spanHead = (traceId: string): string => `,{"trace_id":${text(traceId)},"span_id":`;

/** Places in the rows of a writer of spans. */
const AT = {
  spanId: 1,
  parentSpanId: 2,
  name: 3,
  kind: 4,
  status: 5,
  start: 6,
  end: 8,
  isEvent: 10,
  received: 11,
  model: 13,
  provider: 14,
  entityName: 15,
  inputTokens: 16,
  outputTokens: 17,
  totalTokens: 18,
  usageDetails: 19,
  totalCost: 20,
  inputCost: 21,
  outputCost: 22,
  currency: 23,
  isEstimated: 24,
  priceBook: 25,
  listedMessage: 26,
  errorType: 27,
  scopeName: 28,
  forms: 29,
  input: 30,
  inputAttribute: 31,
  output: 32,
  outputAttribute: 33,
  attributes: 34,
  events: 35,
  links: 36,
  errorStack: 37,
  errorMessage: 38,
} as const;

/**
 * A writer of spans, one after the other. Each is handed over as a row: first a column of the engine's own, then span_id, parent_span_id, name, kind, status;
 * of start and end each seconds and nanoseconds; is_event; of the receipt the same two; model, provider, entity_name, the three counts of
 * tokens, usage_details, total_cost, input_cost, output_cost, currency, is_estimated, price_book_id, error_message, error_type, scope_name;
 * with payloads those of `span_payloads` after the number, of which input and output may be bytes: JSON among them is copied as it is. No
 * column is a bigint.
 * @returns a function of the head, the correlation as JSON, and the row. It writes a comma and the span
 */
export const spanJsonWriter = (
  payloads: boolean,
  into: JsonBytes,
): ((head: string, correlation: string, row: StoredRow) => void) => {
  const [startTime, endTime, receiptTime] = [timeSpeller(), timeSpeller(), timeSpeller()];
  const spell = textSpeller();
  const held = (row: StoredRow, at: number): string | null => (row[at] as string | null | undefined) ?? null;
  const named = (name: string, value: string | null): string => (value === null ? '' : `${name}${spell(value)}`);
  /** What was not written yet. */
  let json = '';
  const flush = (): void => {
    into.text(json);
    json = '';
  };
  /** Writes a payload as a member. */
  const payload = (name: string, row: StoredRow, at: number, isJson: boolean): Written | undefined => {
    const stored = payloads ? ((row[at] as StoredText | null | undefined) ?? null) : null;
    if (stored === null) return undefined;
    json += name;
    flush();
    const from = into.length;
    const written = isJson ? stored : JSON.stringify(readText(stored));
    if (typeof written === 'string') into.text(written);
    else into.bytes(written);
    return { json: written, from, to: into.length };
  };
  const put = (part: string | Written): void => {
    if (typeof part === 'string') {
      json += part;
      return;
    }
    flush();
    into.again(part.from, part.to);
  };

  return (head, correlation, row) => {
    const parent = held(row, AT.parentSpanId);
    json = `${head}${text(row[AT.spanId] as string)}${named(',"parent_span_id":', parent)},"name":${spell(row[AT.name] as string)}`;
    json += `,"kind":"${kindOf(row[AT.kind])}","status":"${statusOf(row[AT.status])}"`;
    json += `,"start_time":${startTime(row[AT.start] as number, row[AT.start + 1] as number)}`;
    const end = row[AT.end];
    if (end !== null) json += `,"end_time":${endTime(end as number, row[AT.end + 1] as number)}`;
    json += parent === null ? ',"is_root":true' : ',"is_root":false';
    json += row[AT.isEvent] === 1 ? ',"is_event":true' : ',"is_event":false';
    json += `,"received_at":${receiptTime(row[AT.received] as number, row[AT.received + 1] as number)}`;

    const forms = payloads ? Number(row[AT.forms] ?? 0) : 0;
    const input = payload(',"input":', row, AT.input, (forms & INPUT_IS_JSON) !== 0);
    const output = payload(',"output":', row, AT.output, (forms & OUTPUT_IS_JSON) !== 0);

    json += named(',"model":', held(row, AT.model));
    json += named(',"provider":', held(row, AT.provider));
    json += named(',"entity_name":', held(row, AT.entityName));
    const tokens =
      member('input_tokens', row[AT.inputTokens] as Column) +
      member('output_tokens', row[AT.outputTokens] as Column) +
      member('total_tokens', row[AT.totalTokens] as Column);
    const details = held(row, AT.usageDetails);
    if (tokens !== '') json += `,"usage":${object(tokens + (details === null ? '' : detailsOf(details)))}`;
    const total = row[AT.totalCost] ?? null;
    const currency = held(row, AT.currency);
    if (total !== null && currency !== null) {
      json += `,"cost":{"total_cost":${text(total as number)}${member('input_cost', row[AT.inputCost] as Column)}${member('output_cost', row[AT.outputCost] as Column)}`;
      json += `,"currency":${spell(currency)},"is_estimated":${row[AT.isEstimated] === 1}`;
      json += `${named(',"price_book_id":', held(row, AT.priceBook))}}`;
    }
    const message = (payloads ? held(row, AT.errorMessage) : null) ?? held(row, AT.listedMessage);
    if (message !== null)
      json += `,"error":${object(
        member('message', message) +
          member('type', held(row, AT.errorType)) +
          member('stack', payloads ? held(row, AT.errorStack) : null),
      )}`;
    json += `,"correlation":${correlation}`;
    if (payloads) {
      const attributes = held(row, AT.attributes) ?? '{}';
      const inputAttribute = held(row, AT.inputAttribute);
      const outputAttribute = held(row, AT.outputAttribute);
      json += ',"attributes":';
      if (input !== undefined && inputAttribute !== null)
        for (const part of attributesOf(attributes, inputAttribute, input, outputAttribute, output, spell)) put(part);
      else if (output !== undefined && outputAttribute !== null)
        for (const part of attributesOf(attributes, outputAttribute, output, null, undefined, spell)) put(part);
      else json += attributes;
      const events = held(row, AT.events);
      const links = held(row, AT.links);
      json += `,"events":${events === null ? '[]' : eventsOf(events)},"links":${links === null ? '[]' : linksOf(links)}`;
    }
    json += `${named(',"scope_name":', held(row, AT.scopeName))}}`;
    flush();
  };
};
