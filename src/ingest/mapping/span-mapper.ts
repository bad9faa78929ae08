import { Refusal } from '../../model/failure.ts';
import { isSpanId, isTraceId, ZERO_SPAN_ID, ZERO_TRACE_ID } from '../../model/ids.ts';
import type { Json } from '../../model/json.ts';
import type { Feedback, Score } from '../../model/signal.ts';
import {
  type Span,
  type SpanError,
  type SpanEvent,
  type SpanLink,
  type SpanStatus,
  toolKinds,
} from '../../model/span.ts';
import { MAX_UNIX_NANO } from '../../model/time.ts';
import type { DecodeContext, DecodedBatch, SignalRefusal } from '../decoded.ts';
import { EVALUATION_EVENT, type Judgements, judgementsOfParts, scoreOfEvent } from './evaluations.ts';
import { fieldIndex } from './key.ts';
import { AGGREGATE, COST_SKIPPED } from './kind-rules.ts';
import { isOpeningOfStream, LOGFIRE_INSTRUMENTATION, LOGFIRE_SCOPE, nameOfLogfire } from './logfire.ts';
import { messagesOfEvents } from './message-events.ts';
import { readText } from './read-value.ts';
import { createReadings, type Readings } from './readings.ts';
import type { SignalFault } from './refusal.ts';

/** A span as it stands on the wire, beside its attributes. One object, filled again for each span. */
export type SpanDraft = {
  /** Lowercase hex, or empty where the id is missing or has a wrong length (then `traceIdBytes` tells which). */
  traceId: string;
  traceIdBytes: number;
  spanId: string;
  spanIdBytes: number;
  parentSpanId: string;
  parentSpanIdBytes: number;
  name: string;
  /** Nanoseconds since the epoch; zero is absent. */
  startTime: bigint;
  endTime: bigint;
  /** OTLP: 1 is ok, 2 is error, anything else is unset. */
  statusCode: number;
  statusMessage: string;
  events: SpanEvent[];
  links: SpanLink[];
  /** Set where the span cannot be kept for a reason found while reading it. */
  fault: SignalFault | undefined;
};

const NO_EVENTS: readonly SpanEvent[] = Object.freeze([]);
const NO_LINKS: readonly SpanLink[] = Object.freeze([]);
const STATUS_OK = 1;
const STATUS_ERROR = 2;

const idFault = (field: string, hex: string, bytes: number, wanted: number): SignalFault => {
  const rule = `it must be ${wanted} bytes, in JSON ${2 * wanted} hex characters, not all zero`;
  const fault = bytes === 0 ? 'is missing' : hex === '' ? 'is no such id' : 'is all zero';
  return { code: 'invalid_id', message: `${field} ${fault}; ${rule}`, field };
};

const timeFault = (field: string): SignalFault => ({
  code: 'invalid_parameter',
  message: `${field} is after the year 2262; a time is at most ${MAX_UNIX_NANO} nanoseconds since the epoch`,
  field,
});

const tooManyJudgements = (limit: number): Refusal =>
  new Refusal({
    code: 'payload_too_large',
    message: `the request has more than ${limit} signals, the judgements that its spans carry counted; send smaller batches or raise --max-batch-signals`,
  });

const faultOf = (draft: SpanDraft): SignalFault | undefined => {
  if (draft.fault !== undefined) return draft.fault;
  if (draft.traceId === '' || draft.traceId === ZERO_TRACE_ID)
    return idFault('trace_id', draft.traceId, draft.traceIdBytes, 16);
  if (draft.spanId === '' || draft.spanId === ZERO_SPAN_ID)
    return idFault('span_id', draft.spanId, draft.spanIdBytes, 8);
  // A root has an empty parent. The all-zero id is refused wherever it appears.
  if (draft.parentSpanIdBytes !== 0 && (draft.parentSpanId === '' || draft.parentSpanId === ZERO_SPAN_ID))
    return idFault('parent_span_id', draft.parentSpanId, draft.parentSpanIdBytes, 8);
  if (draft.startTime > MAX_UNIX_NANO) return timeFault('start_time');
  if (draft.endTime > MAX_UNIX_NANO) return timeFault('end_time');
  return undefined;
};

/** A link that names no trace (the conventions allow one with attributes alone) has nothing to lead to, and is left out. */
export const isUsableLink = (traceId: string, spanId: string): boolean => isTraceId(traceId) && isSpanId(spanId);

const exceptionOf = (events: readonly SpanEvent[]): SpanEvent | undefined =>
  events.findLast((event) => event.name === 'exception');

const eventText = (event: SpanEvent | undefined, name: string): string | undefined => {
  const value = event?.attributes[name];
  return value === undefined ? undefined : readText(value);
};

const errorOf = (draft: SpanDraft, readings: Readings): SpanError => {
  const exception = exceptionOf(draft.events);
  const specifiedType = readings.isSpecified(fieldIndex.errorType) ? readings.text(fieldIndex.errorType) : undefined;
  const type = specifiedType ?? eventText(exception, 'exception.type') ?? readings.text(fieldIndex.errorType);
  const stack = readings.text(fieldIndex.errorStack) ?? eventText(exception, 'exception.stacktrace');
  const message =
    draft.statusMessage !== ''
      ? draft.statusMessage
      : (readings.text(fieldIndex.errorMessage) ?? eventText(exception, 'exception.message') ?? 'unspecified error');
  return { message, ...(type !== undefined && { type }), ...(stack !== undefined && { stack }) };
};

const statusOf = (draft: SpanDraft): SpanStatus => {
  if (draft.statusCode === STATUS_OK) return 'ok';
  if (draft.statusCode === STATUS_ERROR) return 'error';
  return draft.endTime === 0n ? 'unset' : 'ok';
};

/** Turns spans read from the wire into spans of the model, and gathers them with what was refused. */
export type SpanMapper = {
  readonly readings: Readings;
  readonly draft: SpanDraft;
  /** Clears the draft and the readings for the next span. */
  begin(): void;
  /** Ends the span in the draft: it is kept, or refused and counted. */
  end(scopeName: string): void;
  decoded(): DecodedBatch;
};

const emptyDraft = (): SpanDraft => ({
  traceId: '',
  traceIdBytes: 0,
  spanId: '',
  spanIdBytes: 0,
  parentSpanId: '',
  parentSpanIdBytes: 0,
  name: '',
  startTime: 0n,
  endTime: 0n,
  statusCode: 0,
  statusMessage: '',
  events: [],
  links: [],
  fault: undefined,
});

/**
 * Applies the attribute mapping to spans.
 * @see Interface specification, "OTLP attribute mapping"; "States and transitions", "Span status"
 */
export const createSpanMapper = (context: DecodeContext): SpanMapper => {
  const readings = createReadings();
  const draft = emptyDraft();
  const spans: Span[] = [];
  const scores: Score[] = [];
  const feedback: Feedback[] = [];
  const refusals: SignalRefusal[] = [];
  let index = 0;

  /** A small body may carry hundreds of thousands of judgements: they are counted as they are made. */
  const countJudgement = (): void => {
    if (spans.length + scores.length + feedback.length >= context.maxSignals)
      throw tooManyJudgements(context.maxSignals);
  };
  const judgements: Judgements = {
    score: (score) => {
      countJudgement();
      scores.push(score);
    },
    feedback: (one) => {
      countJudgement();
      feedback.push(one);
    },
  };
  const judge = (span: Pick<Span, 'traceId' | 'spanId' | 'correlation'>, at: bigint): void => {
    const target = {
      traceId: span.traceId,
      spanId: span.spanId,
      receivedAt: context.receivedAt,
      correlation: span.correlation,
    };
    for (const event of draft.events) {
      if (event.name !== EVALUATION_EVENT) continue;
      const score = scoreOfEvent(event.attributes, { ...target, timestamp: event.time === 0n ? at : event.time });
      if (score !== undefined) judgements.score(score);
    }
    const parts = readings.evaluationParts();
    if (parts.length > 0) judgementsOfParts(parts, { ...target, timestamp: at }, judgements);
  };

  return {
    readings,
    draft,
    begin: () => {
      draft.traceId = '';
      draft.traceIdBytes = 0;
      draft.spanId = '';
      draft.spanIdBytes = 0;
      draft.parentSpanId = '';
      draft.parentSpanIdBytes = 0;
      draft.name = '';
      draft.startTime = 0n;
      draft.endTime = 0n;
      draft.statusCode = 0;
      draft.statusMessage = '';
      if (draft.events.length > 0) draft.events = [];
      if (draft.links.length > 0) draft.links = [];
      draft.fault = undefined;
      readings.begin();
    },
    end: (scopeName) => {
      const fault = faultOf(draft);
      if (fault !== undefined) {
        refusals.push({ batch: 0, signal: 'spans', index: index++, ...fault });
        return;
      }
      index++;
      const { links, name } = draft;
      const status = statusOf(draft);
      const input = readings.payload(fieldIndex.input);
      const output = readings.payload(fieldIndex.output);
      const usage = readings.usage();
      const aggregate = usage !== undefined && readings.isAggregate();
      if (aggregate) readings.addAttribute(COST_SKIPPED, AGGREGATE);
      const cost = aggregate ? undefined : readings.carriedCost();
      const kind = readings.kind(name);
      const isCall = kind === 'model_generation' || kind === 'rag_embedding';
      const model = isCall ? readings.lateText(fieldIndex.model) : readings.text(fieldIndex.model);
      const provider = readings.provider();
      const toolName = toolKinds.has(kind) ? readings.text(fieldIndex.toolName) : undefined;
      const entityName = toolName ?? readings.text(fieldIndex.entityName);
      const correlation = readings.correlation(context.defaultProject);
      const { own: attributes, shared } = readings.attributes();
      // A span without a start began, for all we know, when it ended or when it came.
      const startTime =
        draft.startTime !== 0n ? draft.startTime : draft.endTime !== 0n ? draft.endTime : context.receivedAt;
      const events = draft.events.some((event) => event.time === 0n)
        ? draft.events.map((event) => (event.time === 0n ? { ...event, time: startTime } : event))
        : draft.events;
      const span: { -readonly [K in keyof Span]: Span[K] } = {
        traceId: draft.traceId,
        spanId: draft.spanId,
        name,
        kind,
        status,
        startTime,
        isEvent: false,
        receivedAt: context.receivedAt,
        correlation,
        attributes,
        events: events.length === 0 ? NO_EVENTS : events,
        links: links.length === 0 ? NO_LINKS : links,
      };
      if (shared !== undefined) span.sharedAttributes = shared;
      if (draft.parentSpanId !== '') span.parentSpanId = draft.parentSpanId;
      if (draft.endTime !== 0n) span.endTime = draft.endTime;
      let inputValue: Json | undefined = input?.value;
      let outputValue: Json | undefined = output?.value;
      if (events.length > 0 && (inputValue === undefined || outputValue === undefined)) {
        const messages = messagesOfEvents(events);
        inputValue ??= messages.input;
        outputValue ??= messages.output;
      }
      if (inputValue !== undefined) span.input = inputValue;
      if (input?.attribute !== undefined) span.inputAttribute = input.attribute;
      if (outputValue !== undefined) span.output = outputValue;
      if (output?.attribute !== undefined) span.outputAttribute = output.attribute;
      if (model !== undefined) span.model = model;
      if (provider !== undefined) span.provider = provider;
      if (entityName !== undefined) span.entityName = entityName;
      if (usage !== undefined) span.usage = usage;
      if (cost !== undefined) span.cost = cost;
      if (status === 'error') span.error = errorOf(draft, readings);
      if (scopeName === LOGFIRE_SCOPE || scopeName.startsWith(LOGFIRE_INSTRUMENTATION)) {
        span.name = nameOfLogfire(name, span);
        const facts = { kind, status, hasUsage: usage !== undefined, hasOutput: outputValue !== undefined };
        // Instrumentations alone split a call in two (`logfire.openai`); what a user writes by hand is taken as it is.
        if (scopeName !== LOGFIRE_SCOPE && isOpeningOfStream(facts, span)) span.kind = 'generic';
      }
      if (scopeName !== '') span.scopeName = scopeName;
      spans.push(span);
      judge(span, draft.endTime !== 0n ? draft.endTime : startTime);
    },
    decoded: () => ({
      batch: { spans, logs: [], metrics: [], scores, feedback, aspectNotes: [] },
      refusals,
    }),
  };
};
