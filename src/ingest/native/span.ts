import type { Result } from '../../model/failure.ts';
import { type Span, type SpanError, spanKinds, type SpanStatus, spanStatuses, type Usage } from '../../model/span.ts';
import type { DecodeContext } from '../decoded.ts';
import { newJsonObject } from '../json-object.ts';
import { FieldFault, Fields, keepRest, resultOf } from './fields.ts';
import { readCorrelation, readCost } from './shared.ts';

/** `is_root`, `received_at` and `duration_ns` are of the read shape: a span may be sent back as it was read. */
const SPAN = [
  'trace_id',
  'span_id',
  'parent_span_id',
  'name',
  'kind',
  'status',
  'start_time',
  'end_time',
  'is_root',
  'is_event',
  'received_at',
  'duration_ns',
  'input',
  'output',
  'model',
  'provider',
  'entity_name',
  'usage',
  'cost',
  'error',
  'correlation',
  'attributes',
  'events',
  'links',
  'scope_name',
];
const USAGE = ['input_tokens', 'output_tokens', 'total_tokens', 'input_details', 'output_details'];
const INPUT_DETAILS = ['cache_read', 'cache_write', 'cache_write_5m', 'cache_write_1h', 'audio', 'text'];
const OUTPUT_DETAILS = ['reasoning', 'audio', 'text'];

type Counts<T> = { -readonly [K in keyof T]: T[K] };

const compact = <T extends object>(object: Counts<T>): T | undefined =>
  Object.keys(object).length === 0 ? undefined : object;

const readUsage = (fields: Fields): Usage | undefined => {
  const given = fields.object('usage', USAGE);
  if (given === undefined) return undefined;
  const inputTokens = given.count('input_tokens');
  const outputTokens = given.count('output_tokens');
  const totalTokens = given.count('total_tokens');
  const input = given.object('input_details', INPUT_DETAILS);
  const output = given.object('output_details', OUTPUT_DETAILS);
  const inputDetails: Counts<NonNullable<Usage['inputDetails']>> = {};
  const outputDetails: Counts<NonNullable<Usage['outputDetails']>> = {};
  const take = <K extends string>(
    from: Fields | undefined,
    name: string,
    into: { [key in K]?: number },
    key: K,
  ): void => {
    const count = from?.count(name);
    if (count !== undefined) into[key] = count;
  };
  take(input, 'cache_read', inputDetails, 'cacheRead');
  take(input, 'cache_write', inputDetails, 'cacheWrite');
  take(input, 'cache_write_5m', inputDetails, 'cacheWrite5m');
  take(input, 'cache_write_1h', inputDetails, 'cacheWrite1h');
  take(input, 'audio', inputDetails, 'audio');
  take(input, 'text', inputDetails, 'text');
  take(output, 'reasoning', outputDetails, 'reasoning');
  take(output, 'audio', outputDetails, 'audio');
  take(output, 'text', outputDetails, 'text');
  // Zero and unknown differ: without one of the three main counts there is no usage.
  if (inputTokens === undefined && outputTokens === undefined && totalTokens === undefined) return undefined;
  const ofInput = compact(inputDetails);
  const ofOutput = compact(outputDetails);
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
    ...(ofInput !== undefined && { inputDetails: ofInput }),
    ...(ofOutput !== undefined && { outputDetails: ofOutput }),
  };
};

const readError = (fields: Fields, status: SpanStatus): SpanError | undefined => {
  const given = fields.object('error', ['message', 'type', 'stack']);
  if (given === undefined) return status === 'error' ? { message: 'unspecified error' } : undefined;
  const type = given.word('type');
  const stack = given.word('stack');
  return {
    message: given.word('message') ?? 'unspecified error',
    ...(type !== undefined && { type }),
    ...(stack !== undefined && { stack }),
  };
};

const readSpan = (record: unknown, context: DecodeContext): Span => {
  const rest = newJsonObject();
  const fields = new Fields(record, SPAN, rest);
  const traceId = fields.traceId('trace_id');
  if (traceId === undefined)
    throw new FieldFault('trace_id', 'trace_id is required: 32 lowercase hex characters, not all zero', 'invalid_id');
  const spanId = fields.spanId('span_id');
  if (spanId === undefined)
    throw new FieldFault('span_id', 'span_id is required: 16 lowercase hex characters, not all zero', 'invalid_id');
  const parentSpanId = fields.spanId('parent_span_id');
  const isEvent = fields.boolean('is_event') ?? false;
  const givenEnd = fields.time('end_time');
  const startTime = fields.time('start_time') ?? givenEnd ?? context.receivedAt;
  // A point in time has ended when it began; without this it would count as still running.
  const endTime = givenEnd ?? (isEvent ? startTime : undefined);
  const givenStatus = fields.oneOf('status', spanStatuses) ?? (fields.has('error') ? 'error' : 'unset');
  const status = givenStatus === 'unset' && endTime !== undefined ? 'ok' : givenStatus;
  const error = readError(fields, status);
  const input = fields.json('input');
  const output = fields.json('output');
  const model = fields.word('model');
  const provider = fields.word('provider');
  const entityName = fields.word('entity_name');
  const usage = readUsage(fields);
  const cost = readCost(fields);
  const scopeName = fields.word('scope_name');
  const name = fields.text('name') ?? '';
  const kind = fields.oneOf('kind', spanKinds) ?? 'generic';
  const correlation = readCorrelation(fields, context);
  const events = fields.objects('events', ['name', 'time', 'attributes']).map((event) => ({
    name: event.text('name') ?? '',
    time: event.time('time') ?? startTime,
    attributes: event.map('attributes'),
  }));
  const links = fields.objects('links', ['trace_id', 'span_id', 'attributes']).map((link) => {
    const linked = { traceId: link.traceId('trace_id'), spanId: link.spanId('span_id') };
    if (linked.traceId === undefined) throw link.fault('trace_id', 'is required');
    if (linked.spanId === undefined) throw link.fault('span_id', 'is required');
    return { traceId: linked.traceId, spanId: linked.spanId, attributes: link.map('attributes') };
  });
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind,
    status,
    startTime,
    ...(endTime !== undefined && { endTime }),
    isEvent,
    receivedAt: context.receivedAt,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(entityName !== undefined && { entityName }),
    ...(usage !== undefined && { usage }),
    ...(cost !== undefined && { cost }),
    ...(error !== undefined && { error }),
    correlation,
    attributes: keepRest(fields.map('attributes'), rest),
    events,
    links,
    ...(scopeName !== undefined && { scopeName }),
  };
};

/**
 * Reads one native span. A field that the Span table does not have is kept in the attribute map under its own name.
 * @returns the span, or the one field at fault and why
 * @see Interface specification, "Span"; Interface decisions, "4. Signals, native names"
 */
export const decodeNativeSpan = (record: unknown, context: DecodeContext): Result<Span> =>
  resultOf(() => readSpan(record, context));
