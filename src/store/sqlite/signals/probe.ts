import { randomBytes } from 'node:crypto';
import type Database from 'better-sqlite3';
import { nowUnixNano } from '../../../model/time.ts';
import type { ProbeOutcome, ProbeStep } from '../../signals/probe.ts';
import { driverCode, isLocked } from '../driver-error.ts';
import { transactionsOf } from '../transaction.ts';
import { kindCode, statusCode } from '../../signals/rows/codes.ts';
import { recordOf } from './payload-block.ts';
import { payloadReaderOf } from './read-payloads.ts';
import { statementsOf } from './statements.ts';
import { blockTablesOf } from './write-payloads.ts';

const ATTEMPTS = 3;
/** Longest wait for the write lock in one attempt: the service holds it for milliseconds. */
const ATTEMPT_MS = 1_000;
/** No project has this number, so no list, total or search of a running service ever comes across the probe. */
const NO_PROJECT = -1;

/** A probe older than this was left by a check that was killed half way. */
const FORGOTTEN_NANOS = 3_600_000_000_000n;

/** Numbers of parts that a probe has to itself. */
const MOST_PARTS = 8;
/** Random text of so many bytes, which no compression makes short: a block of it has several parts. */
const TEXT_BYTES = 3_000;

/**
 * Writes spans with their payloads, reads them back and deletes them, each durably, over a connection of its own: one whose payload has a
 * row of its own, and one whose payload stands in a block. The service may run on the file meanwhile: the probe asks for the write lock like
 * any writer, its rows have negative numbers, which the service never gives, and belong to no project.
 * @param db a connection that writes; its lock wait is changed
 * @see Interface specification, "Deployment check", storage
 */
export const probeSpan = (db: Database.Database): ProbeOutcome => {
  const bytes = randomBytes(14);
  const trace = -2 - bytes.readUIntBE(0, 6);
  const spanId = bytes.toString('hex', 6);
  const text = `probe ${randomBytes(TEXT_BYTES / 2).toString('hex')}`;
  const inRow = trace;
  const inBlock = trace + 1;
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
  const insert = (span: number): void => {
    db.prepare(
      `INSERT INTO spans (span, trace, context, span_id, name, kind, status, start_ns, repeats_usage, project, received_ns, is_event)
       VALUES (?, ?, 0, ?, 'probe', ?, ?, ?, 0, ?, ?, 0)`,
    ).run(span, trace, `${spanId}${span - trace}`, kindCode('generic'), statusCode('ok'), now, NO_PROJECT, now);
  };
  const found = (): (string | null | undefined)[] => {
    const payloads = payloadReaderOf(statementsOf(db));
    return db
      .prepare<[number], number>('SELECT span FROM spans WHERE trace = ? ORDER BY span')
      .pluck()
      .all(trace)
      .map((span) => payloads.findTexts(span)?.[1]);
  };

  try {
    db.pragma(`busy_timeout = ${ATTEMPT_MS}`);
    // The file of an older build gets its blocks when a service starts on it.
    const blocks = payloadReaderOf(statementsOf(db)).hasBlocks() ? blockTablesOf(db) : undefined;
    const remove = (which: string, ...values: (number | bigint)[]): void => {
      const spans = `SELECT span FROM spans WHERE ${which}`;
      db.prepare(`DELETE FROM span_payloads WHERE span IN (${spans})`).run(...values);
      if (blocks !== undefined)
        for (const [block, firstPart, parts] of db
          .prepare<unknown[], [number, number, number]>(
            `SELECT block, first_part, parts FROM payload_blocks WHERE block IN (${spans})`,
          )
          .raw()
          .all(...values))
          blocks.remove({ block, firstPart, parts });
      db.prepare(`DELETE FROM spans WHERE ${which}`).run(...values);
    };
    commit(() => {
      remove('span < 0 AND received_ns < ?', now - FORGOTTEN_NANOS);
      insert(inRow);
      db.prepare('INSERT INTO span_payloads (span, forms, input) VALUES (?, 0, ?)').run(inRow, text);
      if (blocks === undefined) return;
      insert(inBlock);
      blocks.insert(inBlock, [recordOf([inBlock, 0, text, ...Array<null>(8).fill(null)])], MOST_PARTS * inBlock);
    });
    step = 'read';
    const read = found();
    step = 'delete';
    commit(() => remove('trace = ?', trace));
    if (read.length !== (blocks === undefined ? 1 : 2) || read.some((input) => input !== text))
      return { kind: 'wrong', step: 'read' };
    return found().length === 0 ? { kind: 'survived' } : { kind: 'wrong', step: 'delete' };
  } catch (error) {
    const code = driverCode(error);
    if (code === undefined) throw error;
    return isLocked(code) ? { kind: 'busy', attempts } : { kind: 'failed', step, code };
  }
};
