import { setTimeout as sleep } from 'node:timers/promises';
import { createAllowance } from '../../signals/allowance.ts';
import { LONG_TRACES, startLane } from '../../signals/late-totals.ts';
import type { Row } from '../../signals/rows/columns.ts';
import type { Database } from '../connection.ts';
import { unnest } from '../insert.ts';
import { hex } from './statement.ts';
import {
  deleteOf,
  findAndLock,
  type LongTraces,
  sumTrace,
  TRACE_KEY,
  traceKeyText,
  writeSum,
  writeWhole,
} from './totals.ts';

/** How often is looked for totals that another service left behind, and after a failure, in milliseconds. */
const LOOK_MS = 10_000;
/**
 * For so long nobody else adds up a large trace that one has begun with, in seconds. One that takes longer may be added up twice. Others whose
 * totals could not be brought up are tried again after as long.
 */
const TURN_SECONDS = 60;
/** Traces that are brought up together, at the most. */
const TRACES_TOGETHER = 500;

/** Traces in the order of their turns. */
const NEXT = `SELECT project, ${hex('trace_id')}, size FROM late_totals
  WHERE size <= ${LONG_TRACES.atOnce} AND turn <= clock_timestamp() ORDER BY turn LIMIT ${TRACES_TOGETHER}`;
const NEXT_LARGE = `SELECT project, trace_id FROM late_totals
  WHERE size > ${LONG_TRACES.atOnce} AND turn <= clock_timestamp() ORDER BY turn LIMIT 1`;
const NEXT_TURN = `clock_timestamp() + interval '${TURN_SECONDS} s'`;
const CLAIM_LARGE = `UPDATE late_totals SET turn = ${NEXT_TURN}
  WHERE (project, trace_id) IN (${NEXT_LARGE} FOR UPDATE SKIP LOCKED) RETURNING project, ${hex('trace_id')}, stamp, born`;
const END_TURN =
  'UPDATE late_totals SET turn = clock_timestamp() WHERE project = $1 AND trace_id = $2::uuid AND born = $3 RETURNING 1';
/** Of a trace that a service of an earlier release deleted. */
const OF_NO_TRACE =
  ' AND NOT EXISTS (SELECT 1 FROM traces AS t WHERE t.project = r.project AND t.trace_id = r.trace_id)';
type Claimed = readonly [project: number, traceId: string, stamp: bigint, born: bigint];

export type LateTotals = LongTraces & {
  /** Totals were noted as late, and the transaction has committed. @param sizes how much is to be read of each */
  readonly wake: (sizes: readonly number[]) => void;
  /** Begins with no other trace. Resolves when nothing is being written. */
  readonly stop: () => Promise<void>;
};

/**
 * Brings up late totals, those of very many spans beside those of others: one large trace may take minutes, and nobody waits behind it. Of
 * several services each takes traces of its own.
 */
export const bringUpLateTotals = ({ ask, transaction }: Database): LateTotals => {
  const allowance = createAllowance(LONG_TRACES.share, LONG_TRACES.mostMs);
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Does work when there is time for it. */
  const paced = async <T>(work: () => Promise<T>): Promise<T> => {
    await sleep(allowance.msUntilLeft(), undefined, { signal });
    const end = allowance.begin();
    try {
      return await work();
    } finally {
      end();
    }
  };

  /** How many traces come by themselves, after some could not be brought up together. */
  let alone = 0;
  /** Traces whose spans are read together. */
  const next = async (): Promise<readonly Row[] | undefined> => {
    const late = await ask<[number, string, number]>(NEXT);
    let room: number = LONG_TRACES.atOnce;
    const fit = late.findIndex(([, , size], place) => (room -= size) < 0 && place > 0);
    const together = late.slice(0, fit === -1 ? late.length : fit);
    const taken = alone > 0 ? together.slice(0, 1) : together;
    alone = Math.max(0, alone - 1);
    return taken.length === 0 ? undefined : taken.map(([project, traceId]): Row => [project, traceId]);
  };
  /** Those are tried again in a minute, each by itself: one that cannot be brought up keeps no other from it. */
  const postpone = async (keys: readonly Row[], error: unknown): Promise<void> => {
    alone = keys.length > 1 ? keys.length : alone;
    const { sql, values } = unnest(TRACE_KEY, keys);
    const postponed = await transaction((within) =>
      within(
        `UPDATE late_totals AS r SET turn = ${NEXT_TURN} FROM ${sql} AS k (project, trace_id)
         WHERE r.project = k.project AND r.trace_id = k.trace_id RETURNING 1`,
        values,
      ),
    );
    if (postponed.length === 0) throw error;
  };
  const bringUpTogether = (keys: readonly Row[]): Promise<void> =>
    paced(() =>
      transaction(async (within) => {
        const locked = await findAndLock(within, keys);
        const found = new Set(locked.map(({ row }) => traceKeyText(row)));
        const gone = keys.filter((row) => !found.has(traceKeyText(row)));
        if (gone.length > 0) await within(...deleteOf('late_totals', gone, OF_NO_TRACE));
        if (locked.length === 0) return;
        const noted = await within<[number, string]>(
          ...deleteOf(
            'late_totals',
            locked.map(({ row }) => row),
            ` RETURNING r.project, ${hex('r.trace_id')}`,
          ),
        );
        // Others were brought up since they were read.
        const isNoted = new Set(noted.map((row) => traceKeyText([...row])));
        await writeWhole(
          within,
          locked.filter(({ row }) => isNoted.has(traceKeyText(row))),
        );
      }),
    );

  const bringUp = async (keys: readonly Row[]): Promise<void> => {
    try {
      await bringUpTogether(keys);
    } catch (error) {
      signal.throwIfAborted();
      await postpone(keys, error);
    }
  };

  const nextLarge = async (): Promise<Claimed | undefined> => {
    // Looking alone writes nothing: an idle service leaves the database alone.
    if ((await ask(NEXT_LARGE)).length === 0) return undefined;
    const [claimed] = await transaction((within) => within<Claimed>(CLAIM_LARGE));
    return claimed;
  };
  /** Adds up the spans of a trace, in pieces of their own, so that nobody waits for its row meanwhile. */
  const bringUpLarge = async ([project, traceId, stamp, born]: Claimed): Promise<void> => {
    const { sum, addPiece } = sumTrace(ask, [project, traceId]);
    while (await paced(addPiece));
    await transaction(async (within) => {
      const [locked] = await findAndLock(within, [[project, traceId]]);
      if (locked === undefined) {
        await within(...deleteOf('late_totals', [[project, traceId]], OF_NO_TRACE));
        return;
      }
      const settled = await within(
        ...deleteOf('late_totals', [[project, traceId]], ` AND r.stamp = ${stamp} RETURNING 1`),
      );
      if (settled.length > 0) return writeSum(within, locked, sum);
      // What changed meanwhile is added up in another turn. Where the note is gone, another has brought the totals up; and where it is another
      // note, that is of a trace which came after this one was deleted.
      const isBehind = (await within(END_TURN, [project, traceId, born])).length > 0;
      if (isBehind && sum.spans() > 0) await writeSum(within, locked, sum);
    });
  };

  const others = startLane({ next: () => paced(next), work: bringUp, signal, lookMs: LOOK_MS });
  const large = startLane({ next: nextLarge, work: bringUpLarge, signal, lookMs: LOOK_MS });

  return {
    allowance,
    mayWait: (isLarge) => (isLarge ? large : others).mayWait(),
    wake: (sizes) => {
      const isLarge = (size: number): boolean => size > LONG_TRACES.atOnce;
      if (sizes.some(isLarge)) large.wake();
      if (!sizes.every(isLarge)) others.wake();
    },
    stop: async () => {
      stopping.abort();
      await Promise.all([others.ended, large.ended]);
    },
  };
};
