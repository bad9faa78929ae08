import { newRecordId } from '../../model/ids.ts';
import type { Correlation, Cost } from '../../model/span.ts';
import type { DecodeContext } from '../decoded.ts';
import type { Fields } from './fields.ts';

const CORRELATION = [
  'project',
  'environment',
  'service_name',
  'service_version',
  'session_id',
  'thread_id',
  'user_id',
  'request_id',
  'release',
  'run_id',
  'resource_id',
  'experiment_id',
  'tags',
] as const;

/** The `correlation` object that every signal may have. Without a project it belongs to the caller's default one. */
export const readCorrelation = (fields: Fields, context: DecodeContext): Correlation => {
  const given = fields.object('correlation', CORRELATION);
  const correlation: { -readonly [K in keyof Correlation]: Correlation[K] } = {
    project: given?.word('project') ?? context.defaultProject,
  };
  if (given === undefined) return correlation;
  const set = (key: Exclude<keyof Correlation, 'project' | 'tags'>, name: (typeof CORRELATION)[number]): void => {
    const text = given.word(name);
    if (text !== undefined) correlation[key] = text;
  };
  set('environment', 'environment');
  set('serviceName', 'service_name');
  set('serviceVersion', 'service_version');
  set('sessionId', 'session_id');
  set('threadId', 'thread_id');
  set('userId', 'user_id');
  set('requestId', 'request_id');
  set('release', 'release');
  set('runId', 'run_id');
  set('resourceId', 'resource_id');
  set('experimentId', 'experiment_id');
  const tags = given.words('tags');
  if (tags !== undefined) correlation.tags = tags;
  return correlation;
};

const CURRENCY = /^[A-Z]{3}$/;
const COST = ['total_cost', 'input_cost', 'output_cost', 'currency', 'is_estimated', 'price_book_id'];

/** A cost that the sender carries: kept as received. */
export const readCost = (fields: Fields): Cost | undefined => {
  const given = fields.object('cost', COST);
  if (given === undefined) return undefined;
  const totalCost = given.money('total_cost');
  if (totalCost === undefined) throw given.fault('total_cost', 'is required, as a number');
  const currency = given.word('currency') ?? 'USD';
  if (!CURRENCY.test(currency)) throw given.fault('currency', 'must be an ISO 4217 code of three capital letters');
  const inputCost = given.money('input_cost');
  const outputCost = given.money('output_cost');
  const priceBookId = given.word('price_book_id');
  return {
    totalCost,
    ...(inputCost !== undefined && { inputCost }),
    ...(outputCost !== undefined && { outputCost }),
    currency,
    isEstimated: given.boolean('is_estimated') ?? false,
    ...(priceBookId !== undefined && { priceBookId }),
  };
};

/** The id a sender gave its record; absent or empty makes the service generate one. */
export const readRecordId = (fields: Fields, name: string, { makeRecordId = newRecordId }: DecodeContext): string =>
  fields.word(name) ?? makeRecordId();

/** The trace and span a record is about. */
export const readIds = (fields: Fields): { traceId?: string; spanId?: string } => {
  const traceId = fields.traceId('trace_id');
  const spanId = fields.spanId('span_id');
  return { ...(traceId !== undefined && { traceId }), ...(spanId !== undefined && { spanId }) };
};
