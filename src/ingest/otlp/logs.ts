import { newRecordId } from '../../model/ids.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import type { LogRecord, Score, Severity } from '../../model/signal.ts';
import type { Span } from '../../model/span.ts';
import { MAX_UNIX_NANO, type UnixNano } from '../../model/time.ts';
import type { DecodeContext, DecodedBatch, SignalRefusal } from '../decoded.ts';
import { EVALUATION_EVENT, scoreOfEvent } from '../mapping/evaluations.ts';
import { fieldIndex } from '../mapping/key.ts';
import { spanOfLog } from '../mapping/log-spans.ts';
import { createReadings } from '../mapping/readings.ts';
import { SharedCount, tooManySignals } from './bounds.ts';
import { readGroups } from './groups.ts';
import { anyValueOf, asObject, eachAttribute, idsOf, member, textAt, WrongType } from './tree.ts';
import { enumOf, timeOf } from './wire-json.ts';

const SEVERITY_NAMES: Readonly<Record<string, number>> = Object.fromEntries(
  ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'].flatMap((name, group) =>
    [1, 2, 3, 4].map((step) => [`SEVERITY_NUMBER_${name}${step === 1 ? '' : step}`, group * 4 + step]),
  ),
);

/** @see Interface specification, "OTLP attribute mapping", Logs: 1-4 trace … 17-20 error, above 20 fatal; none means info */
export const severityOf = (severityNumber: number): Severity => {
  if (severityNumber < 1) return 'info';
  if (severityNumber <= 4) return 'trace';
  if (severityNumber <= 8) return 'debug';
  if (severityNumber <= 12) return 'info';
  if (severityNumber <= 16) return 'warn';
  if (severityNumber <= 20) return 'error';
  return 'fatal';
};

const timeAt = (record: JsonObject, name: string): UnixNano => {
  const value = member(record, name);
  if (value === undefined) return 0n;
  const time = typeof value === 'string' || typeof value === 'number' ? timeOf(value) : undefined;
  if (time === undefined || time > MAX_UNIX_NANO) throw new WrongType(name);
  return time;
};

const messageOf = (body: Json, eventName: string): string => {
  if (typeof body === 'string') return body;
  return body === null ? eventName : JSON.stringify(body);
};

/**
 * Decodes an OTLP logs request. A record that reports a model call (coding agents) or an evaluation also makes a span or
 * a score.
 * @see Interface specification, "OTLP attribute mapping", Logs
 */
export const decodeLogs = (request: JsonObject, context: DecodeContext): DecodedBatch => {
  const groups = readGroups(
    request,
    { signal: 'logs', resources: 'resourceLogs', scopes: 'scopeLogs', records: 'logRecords' },
    context.maxSignals,
  );
  const found = groups.reduce((sum, group) => sum + group.records.length, 0);
  if (found > context.maxSignals) throw tooManySignals(found, context.maxSignals);
  const sharedCount = new SharedCount();
  for (const { records, shared } of groups) sharedCount.add(records.length, shared);
  const readings = createReadings();
  const logs: LogRecord[] = [];
  const spans: Span[] = [];
  const scores: Score[] = [];
  const refusals: SignalRefusal[] = [];
  let index = 0;

  const readRecord = (item: Json, scopeName: string): void => {
    const record = asObject(item, 'logRecords');
    readings.begin();
    eachAttribute(record, 'attributes', readings.attribute);
    const attributes = readings.wholeAttributes();
    const named = textAt(record, 'eventName');
    if (named !== undefined && named !== '' && attributes['event.name'] === undefined) attributes['event.name'] = named;
    const attributeName = attributes['event.name'];
    const eventName = named ?? (typeof attributeName === 'string' ? attributeName : '');
    const ids = idsOf(record);
    const time = timeAt(record, 'timeUnixNano');
    const observed = timeAt(record, 'observedTimeUnixNano');
    const log: LogRecord = {
      logId: newRecordId(),
      timestamp: time !== 0n ? time : observed !== 0n ? observed : context.receivedAt,
      receivedAt: context.receivedAt,
      severity: severityOf(enumOf(member(record, 'severityNumber'), SEVERITY_NAMES)),
      message: messageOf(anyValueOf(member(record, 'body')), eventName),
      ...(scopeName !== '' && { logger: scopeName }),
      ...ids,
      attributes,
      correlation: readings.correlation(context.defaultProject),
    };
    logs.push(log);
    const span = spanOfLog(log, eventName, scopeName, {
      model: readings.text(fieldIndex.model),
      provider: readings.provider(),
      usage: readings.usage(),
      cost: readings.carriedCost(),
    });
    if (span !== undefined) spans.push(span);
    if (eventName === EVALUATION_EVENT) {
      const score = scoreOfEvent(attributes, { ...ids, ...pick(log) });
      if (score !== undefined) scores.push(score);
    }
  };

  for (const group of groups) {
    group.use(readings);
    for (const item of group.records) {
      try {
        readRecord(item, group.scopeName);
      } catch (error) {
        if (!(error instanceof WrongType)) throw error;
        refusals.push({
          batch: 0,
          signal: 'logs',
          index,
          code: 'invalid_body',
          message: error.message,
          field: error.field,
        });
      }
      index++;
    }
  }
  return {
    batch: { spans, logs, metrics: [], scores, feedback: [], aspectNotes: [] },
    refusals,
    sharedBytes: sharedCount.bytes,
  };
};

const pick = ({ timestamp, receivedAt, correlation }: LogRecord) => ({ timestamp, receivedAt, correlation });
