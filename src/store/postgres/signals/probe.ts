import { randomBytes } from 'node:crypto';
import { nowUnixNano } from '../../../model/time.ts';
import type { ProbeOutcome, ProbeStep } from '../../signals/probe.ts';
import { kindCode, statusCode } from '../../signals/rows/codes.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { Database } from '../connection.ts';
import { errorCode } from '../driver-error.ts';

/** No project has this number, so no list, total or search of a running service ever comes across the probe. */
const NO_PROJECT = -1;
/** A probe older than this was left by a check that was killed half way. */
const FORGOTTEN_NANOS = 3_600_000_000_000n;
const BUSY = /^(?:55P03|40001|40P01)$/;

/** @see Interface specification, "Deployment check", storage */
export const probeSpan = async ({ ask, transaction }: Database): Promise<ProbeOutcome> => {
  const traceId = randomBytes(16).toString('hex');
  const text = `probe ${traceId}`;
  const spanId = Buffer.from(traceId.slice(0, 16), 'hex');
  const now = nowUnixNano();
  let step: ProbeStep = 'write';
  const find = async (): Promise<string | undefined> =>
    (
      await ask<[string]>('SELECT input FROM span_payloads WHERE project = $1 AND trace_id = $2', [NO_PROJECT, traceId])
    )[0]?.[0];
  try {
    await transaction(async (within) => {
      await within(
        `WITH old AS (DELETE FROM spans WHERE project = $1 AND received_ns < $2 RETURNING trace_id)
         DELETE FROM span_payloads WHERE project = $1 AND trace_id IN (SELECT trace_id FROM old)`,
        [NO_PROJECT, now - FORGOTTEN_NANOS],
      );
      await within(
        `INSERT INTO spans (project, trace_id, span_id, name, kind, status, start_ns, repeats_usage, received_ns, is_event)
         VALUES ($1, $2, $3, 'probe', $4, $5, $6, 0, $6, 0)`,
        [NO_PROJECT, traceId, spanId, kindCode('generic'), statusCode('ok'), now],
      );
      await within('INSERT INTO span_payloads (project, trace_id, span_id, forms, input) VALUES ($1, $2, $3, 0, $4)', [
        ...[NO_PROJECT, traceId, spanId, text],
      ]);
    });
    step = 'read';
    const found = await find();
    step = 'delete';
    await transaction(async (within) => {
      for (const table of ['span_payloads', 'spans'])
        await within(`DELETE FROM ${table} WHERE project = $1 AND trace_id = $2`, [NO_PROJECT, traceId]);
    });
    if (found !== text) return { kind: 'wrong', step: 'read' };
    return (await find()) === undefined ? { kind: 'survived' } : { kind: 'wrong', step: 'delete' };
  } catch (error) {
    const code = errorCode(error instanceof StoreUnavailable ? error.cause : error);
    if (code === undefined) throw error;
    return BUSY.test(code) ? { kind: 'busy', attempts: 3 } : { kind: 'failed', step, code };
  }
};
