import { randomBytes } from 'node:crypto';
import type Database from 'better-sqlite3';
import { nowUnixNano } from '../../../model/time.ts';
import type { ProbeOutcome, ProbeStep } from '../../signals/probe.ts';
import { driverCode, isLocked } from '../driver-error.ts';
import { transactionsOf } from '../transaction.ts';
import { kindCode, statusCode } from '../../signals/rows/codes.ts';

const ATTEMPTS = 3;
/** Longest wait for the write lock in one attempt: the service holds it for milliseconds. */
const ATTEMPT_MS = 1_000;
/** No project has this number, so no list, total or search of a running service ever comes across the probe. */
const NO_PROJECT = -1;

/** A probe older than this was left by a check that was killed half way. */
const FORGOTTEN_NANOS = 3_600_000_000_000n;

/**
 * Writes a span with its payload, reads it back and deletes it, each durably, over a connection of its own. The service may
 * run on the file meanwhile: the probe asks for the write lock like any writer, its rows have negative numbers, which the
 * service never gives, and belong to no project.
 * @param db a connection that writes; its lock wait is changed
 * @see Interface specification, "Deployment check", storage
 */
export const probeSpan = (db: Database.Database): ProbeOutcome => {
  const bytes = randomBytes(14);
  const number = -1 - bytes.readUIntBE(0, 6);
  const spanId = bytes.toString('hex', 6);
  const text = `probe ${spanId}`;
  const now = nowUnixNano();
  let step: ProbeStep = 'write';
  let attempts = 0;

  /** Commits the work under the write lock, which is asked for three times. */
  const commit = (work: () => void): void => {
    for (attempts = 1; ; attempts += 1)
      try {
        return transactionsOf(db).run(work);
      } catch (error) {
        if (attempts >= ATTEMPTS || !isLocked(driverCode(error))) throw error;
      }
  };
  const remove = (which: string, ...values: bigint[]): void => {
    db.prepare(`DELETE FROM span_payloads WHERE span IN (SELECT span FROM spans WHERE ${which})`).run(...values);
    db.prepare(`DELETE FROM spans WHERE ${which}`).run(...values);
  };
  const find = (): string | undefined =>
    db
      .prepare<[number, string], string>(
        'SELECT p.input FROM spans AS s JOIN span_payloads AS p USING (span) WHERE s.trace = ? AND s.span_id = ?',
      )
      .pluck()
      .get(number, spanId);

  try {
    db.pragma(`busy_timeout = ${ATTEMPT_MS}`);
    commit(() => {
      remove('span < 0 AND received_ns < ?', now - FORGOTTEN_NANOS);
      db.prepare(
        `INSERT INTO spans (span, trace, context, span_id, name, kind, status, start_ns, repeats_usage, project, received_ns, is_event)
         VALUES (?, ?, 0, ?, 'probe', ?, ?, ?, 0, ?, ?, 0)`,
      ).run(number, number, spanId, kindCode('generic'), statusCode('ok'), now, NO_PROJECT, now);
      db.prepare('INSERT INTO span_payloads (span, forms, input) VALUES (?, 0, ?)').run(number, text);
    });
    step = 'read';
    const found = find();
    step = 'delete';
    commit(() => remove('span = ?', BigInt(number)));
    if (found !== text) return { kind: 'wrong', step: 'read' };
    return find() === undefined ? { kind: 'survived' } : { kind: 'wrong', step: 'delete' };
  } catch (error) {
    const code = driverCode(error);
    if (code === undefined) throw error;
    return isLocked(code) ? { kind: 'busy', attempts } : { kind: 'failed', step, code };
  }
};
