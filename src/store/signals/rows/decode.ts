import type { Json, JsonObject } from '../../../model/json.ts';
import { type Correlation, type Cost, type Span, type Usage, wholeAttributes } from '../../../model/span.ts';
import type { StoredSpan, TraceSummary } from '../query.ts';
import { isCancelledCode, kindOf, statusOf } from './codes.ts';
import type { FeedbackCount, ScoreMeanRow } from '../judgements.ts';
import { INPUT_IS_JSON, OUTPUT_IS_JSON, type Row } from './columns.ts';

/** Reads a row from its first column on. Integers may be bigints; `undefined` is what a column of NULL says. */
export const rowReader = (row: Row) => {
  let place = 0;
  const next = () => row[place++] ?? undefined;
  return {
    text: () => next() as string | undefined,
    mustText: () => next() as string,
    number: () => {
      const value = next();
      return value === undefined ? undefined : Number(value);
    },
    mustNumber: () => Number(next()),
    nanos: () => {
      const value = next();
      return value === undefined ? undefined : BigInt(value);
    },
    mustNanos: () => BigInt(next() as bigint | number),
    // The caller names what `encode.ts` wrote there.
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
    json: <T>() => {
      const value = next();
      return value === undefined ? undefined : (JSON.parse(value as string) as T);
    },
    any: next,
  };
};
export type RowReader = ReturnType<typeof rowReader>;

/** Drops what is `undefined`: absent means unknown, and an own key would say otherwise. */
export const present = <T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T => {
  for (const key in fields) if (fields[key] === undefined) delete fields[key];
  return fields as T;
};

const decodeStatus = (code: unknown): Pick<TraceSummary, 'status' | 'isCancelled'> =>
  isCancelledCode(code) ? { status: statusOf(code), isCancelled: true } : { status: statusOf(code) };

/** The counts of feedback of a trace, and how its thumbs point where every part of it was counted so. */
const feedbackOf = (counts: readonly FeedbackCount[]): Pick<TraceSummary, 'feedback' | 'thumbs'> => {
  const [, count, up] = counts.find(([kind]) => kind === 'thumbs') ?? [];
  return {
    feedback: Object.fromEntries(counts),
    ...(count === undefined || up === undefined ? {} : { thumbs: { up, down: count - up } }),
  };
};

export const decodeTrace = (row: Row): TraceSummary => {
  const r = rowReader(row);
  return present<TraceSummary>({
    traceId: r.mustText(),
    project: r.mustText(),
    name: r.mustText(),
    ...decodeStatus(r.any()),
    startTime: r.mustNanos(),
    durationNs: r.nanos(),
    spanCount: r.mustNumber(),
    errorCount: r.mustNumber(),
    totalCost: r.number(),
    currency: r.text(),
    inputTokens: r.number(),
    outputTokens: r.number(),
    totalTokens: r.number(),
    models: r.json<string[]>() ?? [],
    tags: r.json<string[]>() ?? [],
    environment: r.text(),
    serviceName: r.text(),
    serviceVersion: r.text(),
    release: r.text(),
    userId: r.text(),
    sessionId: r.text(),
    threadId: r.text(),
    runId: r.text(),
    experimentId: r.text(),
    scores: (r.json<ScoreMeanRow[]>() ?? []).map(([scorerId, scorerVersion, mean, count]) =>
      present({ scorerId, scorerVersion: scorerVersion ?? undefined, mean, count }),
    ),
    ...feedbackOf(r.json<readonly FeedbackCount[]>() ?? []),
  });
};

const decodePayload = (text: string | undefined, isJson: boolean): Json | undefined => {
  if (text === undefined) return undefined;
  return isJson ? (JSON.parse(text) as Json) : text;
};

/**
 * A span as it was written: payloads apart from the attributes that they came from.
 * @param payloads whether the row carries the columns of the payloads
 */
export const decodeWrittenSpan = (row: Row, payloads: boolean): Span => {
  const r = rowReader(row);
  const traceId = r.mustText();
  const project = r.mustText();
  const spanId = r.mustText();
  const parentSpanId = r.text();
  const name = r.mustText();
  const kind = kindOf(r.any());
  const status = statusOf(r.any());
  const startTime = r.mustNanos();
  const endTime = r.nanos();
  const receivedAt = r.mustNanos();
  const isEvent = r.mustNumber() === 1;
  const model = r.text();
  const provider = r.text();
  const entityName = r.text();
  const inputTokens = r.number();
  const outputTokens = r.number();
  const totalTokens = r.number();
  const details = r.json<[Usage['inputDetails'] | null, Usage['outputDetails'] | null]>();
  const usage =
    inputTokens === undefined && outputTokens === undefined && totalTokens === undefined
      ? undefined
      : present<Usage>({
          inputTokens,
          outputTokens,
          totalTokens,
          inputDetails: details?.[0] ?? undefined,
          outputDetails: details?.[1] ?? undefined,
        });
  const totalCost = r.number();
  const inputCost = r.number();
  const outputCost = r.number();
  const currency = r.text();
  const isEstimated = r.number() === 1;
  const priceBookId = r.text();
  const cost =
    totalCost === undefined || currency === undefined
      ? undefined
      : present<Cost>({ totalCost, inputCost, outputCost, currency, isEstimated, priceBookId });
  const listedMessage = r.text();
  const errorType = r.text();
  const scopeName = r.text();
  const correlation = present<Correlation>({
    project,
    environment: r.text(),
    serviceName: r.text(),
    serviceVersion: r.text(),
    sessionId: r.text(),
    threadId: r.text(),
    userId: r.text(),
    requestId: r.text(),
    release: r.text(),
    runId: r.text(),
    resourceId: r.text(),
    experimentId: r.text(),
    tags: r.json<string[]>(),
  });

  const forms = payloads ? (r.number() ?? 0) : 0;
  const input = payloads ? decodePayload(r.text(), (forms & INPUT_IS_JSON) !== 0) : undefined;
  const inputAttribute = payloads ? r.text() : undefined;
  const output = payloads ? decodePayload(r.text(), (forms & OUTPUT_IS_JSON) !== 0) : undefined;
  const outputAttribute = payloads ? r.text() : undefined;
  const attributes = payloads ? (r.json<JsonObject>() ?? {}) : {};
  const events = payloads ? (r.json<[string, string, JsonObject][]>() ?? []) : [];
  const links = payloads ? (r.json<[string, string, JsonObject][]>() ?? []) : [];
  const stack = payloads ? r.text() : undefined;
  const message = (payloads ? r.text() : undefined) ?? listedMessage;

  return present<Span>({
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    status,
    startTime,
    endTime,
    isEvent,
    receivedAt,
    input,
    inputAttribute,
    output,
    outputAttribute,
    model,
    provider,
    entityName,
    usage,
    cost,
    error: message === undefined ? undefined : present({ message, type: errorType, stack }),
    correlation,
    attributes,
    events: events.map(([eventName, time, eventAttributes]) => ({
      name: eventName,
      time: BigInt(time),
      attributes: eventAttributes,
    })),
    links: links.map(([linkedTrace, linkedSpan, linkAttributes]) => ({
      traceId: linkedTrace,
      spanId: linkedSpan,
      attributes: linkAttributes,
    })),
    scopeName,
  });
};

/** @param payloads whether the row carries the columns of the payloads */
export const decodeSpan = (row: Row, payloads: boolean): StoredSpan => {
  const span = decodeWrittenSpan(row, payloads);
  const { inputAttribute: _input, outputAttribute: _output, ...stored } = span;
  return { ...stored, attributes: wholeAttributes(span) };
};
