import type Database from 'better-sqlite3';
import { LONG_TRACES } from '../../signals/late-totals.ts';
import type { TraceSum } from './sum-trace.ts';

export type LateTraces = {
  /** Notes that the totals of a trace are behind its spans. */
  readonly put: (trace: number, isLarge: boolean) => void;
  /** Whether traces of that size may be late: then each that follows waits behind them. */
  readonly mayWait: (isLarge: boolean) => boolean;
  /** Whether any may be late. */
  readonly mayBeAny: () => boolean;
  /** The totals of a trace were brought up in this commit: what was read of it before is out of date. */
  readonly drop: (trace: number) => void;
  /** A trace is gone. */
  readonly remove: (trace: number) => void;
  /** Adds up the next piece of a trace that is not large, and of one that is. */
  readonly advance: () => void;
  /** Notes that an answer waits for the totals of traces, which come in commits of their own. @returns the number of this list */
  readonly putAwaited: (traces: readonly number[]) => number;
  /** These traces of a list are brought up. */
  readonly removeAwaited: (list: number, traces: readonly number[]) => void;
  /** No answer waits for those of any list until now: they are late as others are. */
  readonly giveUpAwaited: () => void;
  /** After a rollback: reads anew what the file says. */
  readonly forget: () => void;
};

/** One large trace may take minutes. Others do not wait behind it. */
type Lane = {
  readonly table: string;
  readonly put: Database.Statement<[number]>;
  readonly remove: Database.Statement<[number]>;
  readonly next: Database.Statement<[number], number | null>;
  mayWait: boolean;
  /** The one whose turn it was last: traces that are touched all the time must not keep others from theirs. */
  last: number;
  underWay: { readonly sum: TraceSum; isTouched: boolean } | undefined;
};

/**
 * Traces whose totals are behind, and are added up piece by piece, in turns, over as many commits as that takes.
 * @param end is given what a trace adds up to, and whether its spans changed meanwhile: then it is added up once more
 */
export const lateTracesOf = (
  db: Database.Database,
  sumTrace: (trace: number) => TraceSum,
  end: (sum: TraceSum, isTouched: boolean) => void,
): LateTraces => {
  const laneOf = (table: string): Lane => {
    const next = db.prepare<[number], number | null>(`SELECT min(trace) FROM ${table} WHERE trace > ?`).pluck();
    return {
      table,
      put: db.prepare(`INSERT INTO ${table} (trace) VALUES (?) ON CONFLICT DO NOTHING`),
      remove: db.prepare(`DELETE FROM ${table} WHERE trace = ?`),
      next,
      mayWait: next.get(0) !== null,
      last: 0,
      underWay: undefined,
    };
  };
  const others = laneOf('late_totals');
  const large = laneOf('late_totals_large');
  const lanes = [others, large];
  const putAwaited = db.prepare<[number, string]>(
    'INSERT INTO awaited_totals (list, trace) SELECT ?, value FROM json_each(?)',
  );
  const removeAwaited = db.prepare<[number, string]>(
    'DELETE FROM awaited_totals WHERE list = ? AND trace IN (SELECT value FROM json_each(?))',
  );
  let nextList = (db.prepare<[], number | null>('SELECT max(list) FROM awaited_totals').pluck().get() ?? 0) + 1;
  /** Those of a large trace may take minutes, so they go where others do not wait for them. */
  const adopt = lanes.map((lane) => ({
    lane,
    awaited: db.prepare<[number]>(
      `INSERT INTO ${lane.table} (trace) SELECT DISTINCT trace FROM awaited_totals JOIN traces USING (trace)
       WHERE list < ? AND span_count ${lane === large ? '>' : '<='} ${LONG_TRACES.atOnce} ON CONFLICT DO NOTHING`,
    ),
  }));
  const clearAwaited = db.prepare<[number]>('DELETE FROM awaited_totals WHERE list < ?');
  /** Lists below this one are given up: the process that made them ended, or failed to bring them up. */
  let givenUpBelow = nextList;
  let mayHaveGivenUp = nextList > 1;
  const adoptAwaited = (): void => {
    mayHaveGivenUp = false;
    for (const { lane, awaited } of adopt) if (awaited.run(givenUpBelow).changes > 0) lane.mayWait = true;
    clearAwaited.run(givenUpBelow);
  };

  const advance = (lane: Lane): void => {
    if (!lane.mayWait) return;
    if (lane.underWay === undefined) {
      const trace = lane.next.get(lane.last) ?? lane.next.get(0) ?? undefined;
      lane.mayWait = trace !== undefined;
      if (trace === undefined) return;
      lane.last = trace;
      lane.underWay = { sum: sumTrace(trace), isTouched: false };
    }
    if (lane.underWay.sum.addPiece()) return;
    const { sum, isTouched } = lane.underWay;
    lane.underWay = undefined;
    if (!isTouched) lane.remove.run(sum.trace);
    end(sum, isTouched);
  };

  const drop = (trace: number): void => {
    for (const lane of lanes) if (lane.underWay?.sum.trace === trace) lane.underWay = undefined;
  };
  return {
    put: (trace, isLarge) => {
      const lane = isLarge ? large : others;
      lane.put.run(trace);
      lane.mayWait = true;
      for (const { underWay } of lanes) if (underWay?.sum.trace === trace) underWay.isTouched = true;
    },
    mayWait: (isLarge) => (isLarge ? large : others).mayWait,
    mayBeAny: () => mayHaveGivenUp || others.mayWait || large.mayWait,
    drop,
    remove: (trace) => {
      for (const { mayWait, remove } of lanes) if (mayWait) remove.run(trace);
      drop(trace);
    },
    advance: () => {
      if (mayHaveGivenUp) adoptAwaited();
      lanes.forEach(advance);
    },
    putAwaited: (traces) => {
      putAwaited.run(nextList, JSON.stringify(traces));
      const touched = new Set(traces);
      for (const { underWay } of lanes)
        if (underWay !== undefined && touched.has(underWay.sum.trace)) underWay.isTouched = true;
      return nextList++;
    },
    removeAwaited: (list, traces) => void removeAwaited.run(list, JSON.stringify(traces)),
    giveUpAwaited: () => {
      givenUpBelow = nextList;
      mayHaveGivenUp = true;
    },
    forget: () => {
      mayHaveGivenUp = true; // what was taken over is not
      for (const lane of lanes) {
        lane.mayWait = true;
        lane.underWay = undefined;
      }
    },
  };
};
