import { emptyBatch, type Feedback, type LogRecord, type Score, type SignalBatch } from '../../src/model/signal.ts';
import type { Span } from '../../src/model/span.ts';
import { parseTimestamp } from '../../src/model/time.ts';

const at = (text: string): bigint => {
  const nanos = parseTimestamp(text);
  if (nanos === undefined) throw new Error(`${text} is not a time`);
  return nanos;
};

export const noon = at('2026-11-20T12:00:00Z');

/** The n-th trace id: different in its low bits, never all zero. */
export const traceId = (n: number): string => (n + 1).toString(16).padStart(32, '0');
export const spanId = (n: number): string => (n + 1).toString(16).padStart(16, '0');

export const aSpan = (given: Partial<Span> & { project?: string } = {}): Span => {
  const { project = 'default', ...rest } = given;
  return {
    traceId: traceId(0),
    spanId: spanId(0),
    name: 'a span',
    kind: 'generic',
    status: 'ok',
    startTime: noon,
    endTime: noon + 1_000_000n,
    isEvent: false,
    receivedAt: noon,
    correlation: { project },
    attributes: {},
    events: [],
    links: [],
    ...rest,
  };
};

export const aLog = (given: Partial<LogRecord> & { project?: string } = {}): LogRecord => {
  const { project = 'default', ...rest } = given;
  return {
    logId: 'log-1',
    timestamp: noon,
    receivedAt: noon,
    severity: 'info',
    message: 'a message',
    attributes: {},
    correlation: { project },
    ...rest,
  };
};

export const aScore = (given: Partial<Score> & { project?: string } = {}): Score => {
  const { project = 'default', ...rest } = given;
  return {
    scoreId: 'score-1',
    traceId: traceId(0),
    scorerId: 'answered',
    value: 1,
    min: 0,
    max: 1,
    source: 'live',
    timestamp: noon,
    receivedAt: noon,
    correlation: { project },
    ...rest,
  };
};

export const aFeedback = (given: Partial<Feedback> & { project?: string } = {}): Feedback => {
  const { project = 'default', ...rest } = given;
  return {
    feedbackId: 'feedback-1',
    traceId: traceId(0),
    kind: 'thumbs',
    value: 'up',
    timestamp: noon,
    receivedAt: noon,
    correlation: { project },
    ...rest,
  };
};

export const aBatch = (given: Partial<SignalBatch> = {}): SignalBatch => ({ ...emptyBatch, ...given });
