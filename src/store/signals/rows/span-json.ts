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

/** A text in one piece. What `+` makes is a tree of its parts, which is walked again in every span that it becomes a part of. */
const inOnePiece = (...parts: readonly string[]): string => parts.join('');

/**
 * Spells a time as a member. Times of one kind lie close together: most fall into the second that was spelled last, or are that very time.
 * @param opening what stands before the time
 */
const timeMember = (opening: string) => {
  let lastSeconds = Number.NaN;
  let lastNanos = Number.NaN;
  let second = '';
  let spelled = '';
  return (seconds: number, nanos: number): string => {
    if (seconds === lastSeconds && nanos === lastNanos) return spelled;
    // Before 1970 both are negative, as SQLite divides.
    const fraction = nanos < 0 ? nanos + 1_000_000_000 : nanos;
    const whole = nanos < 0 ? seconds - 1 : seconds;
    if (seconds !== lastSeconds || nanos < 0 !== lastNanos < 0)
      second = inOnePiece(opening, new Date(whole * 1000).toISOString().slice(0, -5));
    lastSeconds = seconds;
    lastNanos = nanos;
    if (fraction === 0) spelled = `${second}Z"`;
    else if (fraction % 1_000_000 === 0) spelled = second + (MILLISECONDS[fraction / 1_000_000] as string);
    else if (fraction % 1_000 === 0) spelled = `${second}.${padded(fraction / 1_000, 6)}Z"`;
    else spelled = `${second}.${padded(fraction, 9)}Z"`;
    return spelled;
  };
};
const padded = (value: number, digits: number): string => String(value).padStart(digits, '0');
/** How a time ends that has so many milliseconds and nothing beyond them. */
const MILLISECONDS = Array.from({ length: 1_000 }, (_, value) => `.${padded(value, 3)}Z"`);

/** What stands in JSON otherwise than in a text: quotes, backslashes, controls, and halves of pairs that stand alone. */
const IS_ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
/** `JSON.stringify` of a text. Nearly all names and ids stand in JSON as they are. */
const spell = (text: string): string => (IS_ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`);
/** `JSON.stringify` of a number. */
const spellNumber = (value: number): string => (Number.isFinite(value) ? `${value}` : 'null');

/** Members, each with what stands before its value; of a value that is not there nothing. */
const textMember = (opening: string, value: Column | undefined): string =>
  value === null || value === undefined ? '' : opening + spell(value as string);
const numberMember = (opening: string, value: Column | undefined): string =>
  value === null || value === undefined ? '' : opening + spellNumber(value as number);

/** How many texts of a column are kept as they were spelled: a power of two. */
const KEPT = 64;
/**
 * `textMember` of a column whose texts come again and again, as names and models do. A text has one place, which a few of its characters
 * tell, and the next text that comes there takes it. A `Map` would look each text up in a table of all strings first, which takes longer than
 * to spell it.
 */
const recurringMember = (opening: string) => {
  const texts = new Array<string>(KEPT).fill('');
  const members = new Array<string>(KEPT).fill(inOnePiece(opening, '""'));
  return (value: Column): string => {
    if (value === null) return '';
    const text = value as string;
    const { length } = text;
    const place = (length + 7 * text.charCodeAt(length >> 1) + 31 * text.charCodeAt(length - 1)) & (KEPT - 1);
    if (texts[place] === text) return members[place] as string;
    texts[place] = text;
    return (members[place] = inOnePiece(opening, spell(text)));
  };
};
/** More than there are codes of a status. */
const STATUS_CODES = 16;
/** An object of members that each begin with a comma. */
const object = (members: string): string => `{${members.slice(1)}}`;

/**
 * The member of a span that says what it belongs to.
 * @param context the columns of CONTEXT_COLUMNS
 */
export const correlationMember = (project: string, context: Row): string => {
  const tags = context[CONTEXT.tags];
  return inOnePiece(
    ',"correlation":',
    object(
      textMember(',"project":', project) +
        textMember(',"environment":', context[CONTEXT.environment]) +
        textMember(',"service_name":', context[CONTEXT.serviceName]) +
        textMember(',"service_version":', context[CONTEXT.serviceVersion]) +
        textMember(',"session_id":', context[CONTEXT.sessionId]) +
        textMember(',"thread_id":', context[CONTEXT.threadId]) +
        textMember(',"user_id":', context[CONTEXT.userId]) +
        textMember(',"request_id":', context[CONTEXT.requestId]) +
        textMember(',"release":', context[CONTEXT.release]) +
        textMember(',"run_id":', context[CONTEXT.runId]) +
        textMember(',"resource_id":', context[CONTEXT.resourceId]) +
        textMember(',"experiment_id":', context[CONTEXT.experimentId]) +
        (tags === null || tags === undefined || tags === '[]' ? '' : `,"tags":${tags as string}`),
    ),
  );
};

const detailsOf = (stored: string): string => {
  const [input, output] = JSON.parse(stored) as [Usage['inputDetails'] | null, Usage['outputDetails'] | null];
  let json = '';
  if (input !== null && input !== undefined)
    json += `,"input_details":${object(
      numberMember(',"cache_read":', input.cacheRead) +
        numberMember(',"cache_write":', input.cacheWrite) +
        numberMember(',"cache_write_5m":', input.cacheWrite5m) +
        numberMember(',"cache_write_1h":', input.cacheWrite1h) +
        numberMember(',"audio":', input.audio) +
        numberMember(',"text":', input.text),
    )}`;
  if (output !== null && output !== undefined)
    json += `,"output_details":${object(
      numberMember(',"reasoning":', output.reasoning) +
        numberMember(',"audio":', output.audio) +
        numberMember(',"text":', output.text),
    )}`;
  return json;
};

const usageOf = (input: Column, output: Column, total: Column, details: Column): string => {
  let counts = input === null ? '' : `"input_tokens":${spellNumber(input as number)}`;
  if (output !== null) counts += `${counts === '' ? '' : ','}"output_tokens":${spellNumber(output as number)}`;
  if (total !== null) counts += `${counts === '' ? '' : ','}"total_tokens":${spellNumber(total as number)}`;
  if (counts === '') return '';
  return `,"usage":{${counts}${details === null ? '' : detailsOf(details as string)}}`;
};

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
export const spanHead = (traceId: string): string => inOnePiece(',{"trace_id":', spell(traceId), ',"span_id":');

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
 * @returns a function of the head, the member of the correlation, and the row. It writes a comma and the span
 */
export const spanJsonWriter = (
  payloads: boolean,
  into: JsonBytes,
): ((head: string, correlation: string, row: StoredRow) => void) => {
  const [startTime, endTime, receiptTime] = [
    timeMember(',"start_time":"'),
    timeMember(',"end_time":"'),
    timeMember(',"received_at":"'),
  ];
  const name = recurringMember(',"name":');
  const model = recurringMember(',"model":');
  const provider = recurringMember(',"provider":');
  const entityName = recurringMember(',"entity_name":');
  const currencyOf = recurringMember(',"currency":');
  const priceBook = recurringMember(',"price_book_id":');
  const scopeName = recurringMember(',"scope_name":');
  /** Kind and status, by the codes of both. */
  const states: string[] = [];
  const state = (kind: Column, status: Column): string =>
    (states[Number(kind) * STATUS_CODES + Number(status)] ??= inOnePiece(
      `,"kind":"${kindOf(kind)}"`,
      `,"status":"${statusOf(status)}"`,
    ));
  let lastParent: Column = null;
  let lastParentMember = '';
  /** Siblings follow each other. */
  const parentMember = (parent: string): string => {
    if (parent !== lastParent) {
      lastParent = parent;
      lastParentMember = inOnePiece(',"parent_span_id":', spell(parent));
    }
    return lastParentMember;
  };
  const column = (row: StoredRow, at: number): Column => (row[at] as Column | undefined) ?? null;
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
    const parent = column(row, AT.parentSpanId);
    json = head + spell(row[AT.spanId] as string);
    if (parent !== null) json += parentMember(parent as string);
    json += name(column(row, AT.name));
    json += state(column(row, AT.kind), column(row, AT.status));
    json += startTime(row[AT.start] as number, row[AT.start + 1] as number);
    const end = column(row, AT.end);
    if (end !== null) json += endTime(end as number, row[AT.end + 1] as number);
    if (row[AT.isEvent] === 1)
      json += parent === null ? ',"is_root":true,"is_event":true' : ',"is_root":false,"is_event":true';
    else json += parent === null ? ',"is_root":true,"is_event":false' : ',"is_root":false,"is_event":false';
    json += receiptTime(row[AT.received] as number, row[AT.received + 1] as number);

    const forms = payloads ? Number(row[AT.forms] ?? 0) : 0;
    const input = payload(',"input":', row, AT.input, (forms & INPUT_IS_JSON) !== 0);
    const output = payload(',"output":', row, AT.output, (forms & OUTPUT_IS_JSON) !== 0);

    json += model(column(row, AT.model));
    json += provider(column(row, AT.provider));
    json += entityName(column(row, AT.entityName));
    const usage = usageOf(
      column(row, AT.inputTokens),
      column(row, AT.outputTokens),
      column(row, AT.totalTokens),
      column(row, AT.usageDetails),
    );
    if (usage !== '') json += usage;
    const total = column(row, AT.totalCost);
    const currency = column(row, AT.currency);
    if (total !== null && currency !== null) {
      json += `,"cost":{"total_cost":${spellNumber(total as number)}`;
      json += numberMember(',"input_cost":', column(row, AT.inputCost));
      json += numberMember(',"output_cost":', column(row, AT.outputCost));
      json += currencyOf(currency);
      json += row[AT.isEstimated] === 1 ? ',"is_estimated":true' : ',"is_estimated":false';
      json += priceBook(column(row, AT.priceBook));
      json += '}';
    }
    const message = (payloads ? column(row, AT.errorMessage) : null) ?? column(row, AT.listedMessage);
    if (message !== null) {
      json += `,"error":{"message":${spell(message as string)}`;
      json += textMember(',"type":', column(row, AT.errorType));
      json += `${textMember(',"stack":', payloads ? column(row, AT.errorStack) : null)}}`;
    }
    json += correlation;
    if (payloads) {
      const attributes = (column(row, AT.attributes) ?? '{}') as string;
      const inputAttribute = column(row, AT.inputAttribute) as string | null;
      const outputAttribute = column(row, AT.outputAttribute) as string | null;
      json += ',"attributes":';
      if (input !== undefined && inputAttribute !== null)
        for (const part of attributesOf(attributes, inputAttribute, input, outputAttribute, output)) put(part);
      else if (output !== undefined && outputAttribute !== null)
        for (const part of attributesOf(attributes, outputAttribute, output, null, undefined)) put(part);
      else json += attributes;
      const events = column(row, AT.events) as string | null;
      const links = column(row, AT.links) as string | null;
      json += `,"events":${events === null ? '[]' : eventsOf(events)},"links":${links === null ? '[]' : linksOf(links)}`;
    }
    json += scopeName(column(row, AT.scopeName));
    json += '}';
    flush();
  };
};
