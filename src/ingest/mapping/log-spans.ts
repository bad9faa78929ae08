import { hash } from 'node:crypto';
import type { Json, JsonObject } from '../../model/json.ts';
import type { LogRecord } from '../../model/signal.ts';
import type { Cost, Span, Usage } from '../../model/span.ts';
import { readText } from './read-value.ts';

/**
 * Coding agents that report a model call as a log record: there alone are its tokens, so a span is made beside the record.
 * @see Attributes in the wild, hazard (c)
 */
type Emitter = {
  readonly provider: string;
  /** The event's name, with and without the product in front. */
  readonly isModelCall: (event: string, message: string) => boolean;
  /** Attributes that say which calls belong together, the closest first. */
  readonly groupedBy: readonly string[];
  /** The agent's own spans carry the tokens whenever it traces, which a span id on the record shows. */
  readonly tracesItself: boolean;
};

const emitters: readonly Emitter[] = [
  {
    provider: 'anthropic',
    isModelCall: (event, message) => event === 'claude_code.api_request' || message === 'claude_code.api_request',
    groupedBy: ['prompt.id', 'session.id'],
    tracesItself: true,
  },
  {
    provider: 'openai',
    isModelCall: (event) => event === 'codex.sse_event',
    groupedBy: ['conversation.id', 'session.id'],
    tracesItself: false,
  },
  {
    provider: 'gcp.gemini',
    isModelCall: (event) => event === 'gemini_cli.api_response',
    groupedBy: ['prompt_id', 'session.id'],
    tracesItself: false,
  },
];

/** What of a call tells it from any other, as far as the record says. */
const IDENTITY = ['event.sequence', 'request_id', 'prompt_id', 'response_id', 'event.timestamp'];
const LONGEST_CALL_MS = 86_400_000;

const textOf = (attributes: JsonObject, name: string): string | undefined => {
  const value: Json | undefined = attributes[name];
  return value === undefined ? undefined : readText(value);
};

const durationOf = (attributes: JsonObject): bigint => {
  const milliseconds = Number(textOf(attributes, 'duration_ms') ?? 0);
  if (!(milliseconds > 0 && milliseconds <= LONGEST_CALL_MS)) return 0n;
  return BigInt(Math.round(milliseconds * 1e6));
};

/** Hex of the given length from what identifies a thing; never all zero. */
const idOf = (length: 16 | 32, parts: readonly string[]): string => {
  const hex = hash('sha256', parts.join('\u0000'), 'hex').slice(0, length);
  return /^0+$/.test(hex) ? `${'0'.repeat(length - 1)}1` : hex;
};

export type CallReadings = {
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly usage: Usage | undefined;
  readonly cost: Cost | undefined;
};

/**
 * The model span that a log record describes, if it describes one. Its ids follow from the record, so that the same record sent again
 * replaces its span: the trace of the record, where it names one, else one made from the prompt or session.
 * @param eventName the record's event name
 */
export const spanOfLog = (
  log: LogRecord,
  eventName: string,
  scopeName: string,
  readings: CallReadings,
): Span | undefined => {
  const emitter = emitters.find((known) => known.isModelCall(eventName, log.message));
  if (emitter === undefined || readings.usage === undefined) return undefined;
  if (emitter.tracesItself && log.spanId !== undefined) return undefined;
  const { attributes } = log;
  const group = emitter.groupedBy.map((name) => textOf(attributes, name)).find((text) => text !== undefined);
  const model = readings.model ?? textOf(attributes, 'model');
  const call = [
    log.timestamp.toString(),
    JSON.stringify(readings.usage),
    ...IDENTITY.map((name) => textOf(attributes, name) ?? ''),
  ];
  const traceId = log.traceId ?? idOf(32, group === undefined ? [eventName, ...call] : ['group', group]);
  return {
    traceId,
    spanId: idOf(16, [traceId, eventName, ...call]),
    ...(log.traceId !== undefined && log.spanId !== undefined && { parentSpanId: log.spanId }),
    name: model === undefined ? eventName : `chat ${model}`,
    kind: 'model_generation',
    status: 'ok',
    startTime: log.timestamp - durationOf(attributes),
    endTime: log.timestamp,
    isEvent: false,
    receivedAt: log.receivedAt,
    ...(model !== undefined && { model }),
    provider: readings.provider ?? emitter.provider,
    usage: readings.usage,
    ...(readings.cost !== undefined && { cost: readings.cost }),
    correlation: log.correlation,
    attributes,
    events: [],
    links: [],
    ...(scopeName !== '' && { scopeName }),
  };
};
