import { randomBytes } from 'node:crypto';
import { nowUnixNano } from '../../../model/time.ts';
import type { ProbeOutcome, ProbeStep } from '../../signals/probe.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { Database, Written } from '../connection.ts';
import { errorCode } from '../driver-error.ts';
import { removeRows } from './erase.ts';
import { NO_PROJECT } from './reach.ts';
import { SPANS } from './tables.ts';
import { createVersions } from './versions.ts';

const PROBE: Written = {
  table: SPANS.table,
  columns: [
    ...(['project', 'trace_id', 'span_id', 'name', 'input'] as const).map(
      (name) => [name, name === 'input' ? 'Nullable(String)' : 'String'] as const,
    ),
    ['version', 'UInt64'],
  ],
};

/** @see Interface specification, "Deployment check", storage */
export const probeSpan = async (database: Database): Promise<ProbeOutcome> => {
  const traceId = randomBytes(16).toString('hex');
  const spanId = traceId.slice(0, 16);
  const text = `probe ${traceId}`;
  const params = { project: NO_PROJECT, trace: traceId };
  const own = 'r.project = {project:String} AND r.trace_id = {trace:String}';
  const find = async (): Promise<string | undefined> =>
    (await database.ask<[string]>(`SELECT r.input FROM spans AS r FINAL WHERE ${own}`, params))[0]?.[0];
  let step: ProbeStep = 'write';
  try {
    await database.insert(PROBE, [[NO_PROJECT, traceId, spanId, 'probe', text, createVersions(nowUnixNano).take()]]);
    step = 'read';
    const found = await find();
    step = 'delete';
    await removeRows(database, SPANS, own, params);
    if (found !== text) return { kind: 'wrong', step: 'read' };
    return (await find()) === undefined ? { kind: 'survived' } : { kind: 'wrong', step: 'delete' };
  } catch (error) {
    const code = errorCode(error instanceof StoreUnavailable ? error.cause : error);
    if (code === undefined) throw error;
    return { kind: 'failed', step, code };
  }
};
