import type { AspectNote, Feedback, LogRecord, MetricPoint, Score, SignalBatch } from '../../../src/model/signal.ts';
import { emptyBatch } from '../../../src/model/signal.ts';
import type { Span } from '../../../src/model/span.ts';
import type { TraceFilter, TraceQuery } from '../../../src/store/signals/query.ts';
import type { WriteUnit } from '../../../src/store/signals/signal-store.ts';

/** A moment in 2026, in nanoseconds, that no double can hold. */
export const T0 = 1_790_000_000_123_456_789n;
export const SECOND = 1_000_000_000n;
const NOWHERE_ELSE = 'default';

export const traceIdOf = (n: number): string => `f${n.toString(16).padStart(31, '0')}`;
export const spanIdOf = (n: number): string => `e${n.toString(16).padStart(15, '0')}`;

let made = 0;

type With<T extends { correlation: { project: string } }> = Partial<Omit<T, 'correlation'>> & {
  correlation?: Partial<T['correlation']>;
};
const correlated = <T extends { correlation: { project: string } }>(base: T, fields: With<T>): T => {
  return { ...base, ...fields, correlation: { ...base.correlation, ...fields.correlation } };
};

export const aSpan = (fields: With<Span> = {}): Span =>
  correlated<Span>(
    {
      traceId: traceIdOf(1),
      spanId: spanIdOf(++made),
      name: 'work',
      kind: 'generic',
      status: 'ok',
      startTime: T0,
      endTime: T0 + SECOND,
      isEvent: false,
      receivedAt: T0 + 2n * SECOND,
      correlation: { project: NOWHERE_ELSE },
      attributes: {},
      events: [],
      links: [],
    },
    fields,
  );

/** The span without its end: it still runs. */
export const running = (span: Span): Span => {
  const { endTime: _end, ...rest } = span;
  return { ...rest, status: 'unset' };
};

export const aLog = (fields: With<LogRecord> = {}): LogRecord =>
  correlated<LogRecord>(
    {
      logId: `log-${++made}`,
      timestamp: T0,
      receivedAt: T0 + SECOND,
      severity: 'info',
      message: 'something happened',
      attributes: {},
      correlation: { project: NOWHERE_ELSE },
    },
    fields,
  );

export const aPoint = (fields: With<MetricPoint> = {}): MetricPoint =>
  correlated<MetricPoint>(
    {
      name: 'requests',
      type: 'counter',
      timestamp: T0,
      receivedAt: T0 + SECOND,
      value: 1,
      attributes: {},
      correlation: { project: NOWHERE_ELSE },
      exemplars: [],
    },
    fields,
  );

export const aScore = (fields: With<Score> = {}): Score =>
  correlated<Score>(
    {
      scoreId: `score-${++made}`,
      traceId: traceIdOf(1),
      scorerId: 'answered',
      value: 1,
      min: 0,
      max: 1,
      source: 'live',
      timestamp: T0,
      receivedAt: T0 + SECOND,
      correlation: { project: NOWHERE_ELSE },
    },
    fields,
  );

export const aFeedback = (fields: With<Feedback> = {}): Feedback =>
  correlated<Feedback>(
    {
      feedbackId: `feedback-${++made}`,
      traceId: traceIdOf(1),
      kind: 'thumbs',
      value: 'up',
      timestamp: T0,
      receivedAt: T0 + SECOND,
      correlation: { project: NOWHERE_ELSE },
    },
    fields,
  );

export const aNote = (fields: With<AspectNote> = {}): AspectNote =>
  correlated<AspectNote>(
    {
      noteId: `note-${++made}`,
      traceId: traceIdOf(1),
      aspect: 'tone',
      text: 'The answer is friendly.',
      timestamp: T0,
      receivedAt: T0 + SECOND,
      correlation: { project: NOWHERE_ELSE },
    },
    fields,
  );

export const aUnit = (signals: Partial<SignalBatch>, ingestKey?: string): WriteUnit => ({
  batch: { ...emptyBatch, ...signals },
  ...(ingestKey === undefined ? {} : { ingestKey }),
});

/** The trace list as the query API asks for it by default. */
export const traces = (fields: TraceFilter & Partial<TraceQuery> = {}): TraceQuery => ({
  projects: [NOWHERE_ELSE],
  limit: 50,
  sort: 'start_time',
  order: 'desc',
  ...fields,
});

export const inDefault = { projects: [NOWHERE_ELSE], limit: 50 } as const;
