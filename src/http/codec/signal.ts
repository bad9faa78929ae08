import type { components } from '../../model/generated/openapi.ts';
import type { AspectNote, LogRecord, MetricPoint } from '../../model/signal.ts';
import { formatTimestamp } from '../../model/time.ts';
import type { MetricName } from '../../store/signals/query.ts';
import { correlationToWire } from './correlation.ts';

type Schemas = components['schemas'];

/** @see Interface decisions, "4. Signals, native names", Log */
export const logToWire = (log: LogRecord): Schemas['LogRecord'] =>
  ({
    log_id: log.logId,
    timestamp: formatTimestamp(log.timestamp),
    received_at: formatTimestamp(log.receivedAt),
    severity: log.severity,
    message: log.message,
    logger: log.logger,
    trace_id: log.traceId,
    span_id: log.spanId,
    attributes: log.attributes,
    correlation: correlationToWire(log.correlation),
  }) as Schemas['LogRecord'];

export const metricNameToWire = (metric: MetricName): Schemas['MetricName'] =>
  ({
    name: metric.name,
    type: metric.type,
    unit: metric.unit,
    points: metric.points,
    last_seen: formatTimestamp(metric.lastSeen),
  }) as Schemas['MetricName'];

/** @see Interface decisions, "4. Signals, native names", Metric point */
export const metricPointToWire = (point: MetricPoint): Schemas['MetricPoint'] =>
  ({
    name: point.name,
    type: point.type,
    unit: point.unit,
    description: point.description,
    timestamp: formatTimestamp(point.timestamp),
    received_at: formatTimestamp(point.receivedAt),
    value: point.value,
    sum: point.sum,
    count: point.count,
    bounds: point.bounds,
    bucket_counts: point.bucketCounts,
    temporality: point.temporality,
    attributes: point.attributes,
    correlation: correlationToWire(point.correlation),
    exemplars: point.exemplars.map((exemplar) => ({
      trace_id: exemplar.traceId,
      span_id: exemplar.spanId,
      value: exemplar.value,
      timestamp: formatTimestamp(exemplar.timestamp),
      attributes: exemplar.attributes,
    })),
  }) as Schemas['MetricPoint'];

/** @see Interface decisions, "4. Signals, native names", Aspect note */
export const aspectNoteToWire = (note: AspectNote): Schemas['AspectNote'] =>
  ({
    note_id: note.noteId,
    trace_id: note.traceId,
    span_id: note.spanId,
    aspect: note.aspect,
    text: note.text,
    model: note.model,
    timestamp: formatTimestamp(note.timestamp),
    received_at: formatTimestamp(note.receivedAt),
    correlation: correlationToWire(note.correlation),
  }) as Schemas['AspectNote'];
