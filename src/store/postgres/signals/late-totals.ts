import { setTimeout as sleep } from 'node:timers/promises';
import { createAllowance } from '../../signals/allowance.ts';
import { type Lane, LONG_TRACES, startLane } from '../../signals/late-totals.ts';
import type { Database } from '../connection.ts';
import { hex } from './statement.ts';
import { type LockedTrace, type LongTraces, sumTrace, writeSum } from './totals.ts';

/** How often is looked for totals that another service left behind, and after a failure, in milliseconds. */
const LOOK_MS = 10_000;
/** For so long nobody else adds up a trace that one has begun with, in seconds. One that takes longer may be added up twice. */
const TURN_SECONDS = 60;

type Claimed = readonly [project: number, traceId: string, stamp: bigint];

const CLAIM = `UPDATE late_totals SET turn = clock_timestamp() + interval '${TURN_SECONDS} s' WHERE (project, trace_id) IN (
    SELECT project, trace_id FROM late_totals WHERE is_large = $1 AND turn <= clock_timestamp() ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED
  ) RETURNING project, ${hex('trace_id')}, stamp`;
const LOCK = `SELECT project, ${hex('trace_id')}, start_ns, span_count, facets FROM traces
  WHERE project = $1 AND trace_id = $2::uuid FOR UPDATE`;
const OF_TRACE = 'late_totals WHERE project = $1 AND trace_id = $2::uuid';

export type LateTotals = LongTraces & {
  /** Totals were noted as late, and the transaction has committed. */
  readonly wake: () => void;
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

  const claim = async (isLarge: number): Promise<Claimed | undefined> => {
    const [[isAny] = [false]] = await ask<[boolean]>(
      'SELECT EXISTS (SELECT 1 FROM late_totals WHERE is_large = $1 AND turn <= clock_timestamp())',
      [isLarge],
    );
    // Looking alone writes nothing: an idle service leaves the database alone.
    if (!isAny) return undefined;
    const [claimed] = await transaction((within) => within<Claimed>(CLAIM, [isLarge]));
    return claimed;
  };

  /** Adds up the spans of a trace, in pieces of their own, so that nobody waits for its row meanwhile. */
  const addUp = async ([project, traceId, stamp]: Claimed): Promise<void> => {
    const { sum, addPiece } = sumTrace(ask, [project, traceId]);
    for (let hasMore = true; hasMore; ) {
      await sleep(allowance.msUntilLeft(), undefined, { signal });
      const end = allowance.begin();
      try {
        hasMore = await addPiece();
      } finally {
        end();
      }
    }
    signal.throwIfAborted();
    await transaction(async (within) => {
      const [found] = await within<[number, string, bigint, number, string]>(LOCK, [project, traceId]);
      if (found === undefined) return; // deleted, and so is the note
      const isSettled =
        (await within(`DELETE FROM ${OF_TRACE} AND stamp = $3 RETURNING 1`, [project, traceId, stamp])).length > 0;
      // What changed meanwhile is added up in another turn. Where the note is gone, another has brought the totals up.
      const isBehind =
        !isSettled &&
        (
          await within(
            `UPDATE late_totals SET turn = clock_timestamp() WHERE project = $1 AND trace_id = $2::uuid RETURNING 1`,
            [project, traceId],
          )
        ).length > 0;
      if (!isSettled && (!isBehind || sum.spans() === 0)) return;
      const [, , startNs, spanCount, facets] = found;
      const locked: LockedTrace = { row: [project, traceId], startNs, spanCount, facets };
      await writeSum(within, locked, sum);
    });
  };

  const [others, large] = [0, 1].map((isLarge) =>
    startLane({ next: () => claim(isLarge), work: addUp, signal, lookMs: LOOK_MS }),
  ) as [Lane, Lane];

  return {
    allowance,
    mayWait: (isLarge) => (isLarge ? large : others).mayWait(),
    wake: () => {
      for (const { wake } of [others, large]) wake();
    },
    stop: async () => {
      stopping.abort();
      await Promise.all([others.ended, large.ended]);
    },
  };
};
