import type { Feedback, LogRecord, MetricPoint, Score } from '../../src/model/signal.ts';
import type { StoredSpan, TraceSummary } from '../../src/store/signals/query.ts';
import { NOW } from './service.ts';

export const TRACE = '5b8efff798038103d269b633813fc60c';
export const SPAN = 'eee19b7ec3c1b174';

export const aSpan = (given: Partial<StoredSpan> = {}): StoredSpan => ({
  traceId: TRACE,
  spanId: SPAN,
  name: 'chat',
  kind: 'model_generation',
  status: 'ok',
  startTime: NOW,
  endTime: NOW + 1_500_000_000n,
  isEvent: false,
  receivedAt: NOW,
  correlation: { project: 'default' },
  attributes: {},
  events: [],
  links: [],
  ...given,
});

export const aTrace = (given: Partial<TraceSummary> = {}): TraceSummary => ({
  traceId: TRACE,
  project: 'default',
  name: 'answer ticket',
  status: 'ok',
  startTime: NOW,
  spanCount: 1,
  errorCount: 0,
  models: [],
  tags: [],
  scores: [],
  feedback: {},
  ...given,
});

export const aScore = (given: Partial<Score> = {}): Score => ({
  scoreId: 's-1',
  traceId: TRACE,
  scorerId: 'answered',
  value: 1,
  min: 0,
  max: 1,
  source: 'live',
  timestamp: NOW,
  receivedAt: NOW,
  correlation: { project: 'default' },
  ...given,
});

export const aFeedback = (given: Partial<Feedback> = {}): Feedback => ({
  feedbackId: 'f-1',
  traceId: TRACE,
  kind: 'thumbs',
  value: 'up',
  timestamp: NOW,
  receivedAt: NOW,
  correlation: { project: 'default' },
  ...given,
});

export const aLog = (given: Partial<LogRecord> = {}): LogRecord => ({
  logId: 'l-1',
  timestamp: NOW,
  receivedAt: NOW,
  severity: 'info',
  message: 'called the tool',
  attributes: {},
  correlation: { project: 'default' },
  ...given,
});

export const aPoint = (given: Partial<MetricPoint> = {}): MetricPoint => ({
  name: 'tokens',
  type: 'counter',
  timestamp: NOW,
  receivedAt: NOW,
  value: 3,
  attributes: {},
  correlation: { project: 'default' },
  exemplars: [],
  ...given,
});
