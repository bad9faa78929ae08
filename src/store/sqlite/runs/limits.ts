import type Database from 'better-sqlite3';
import type { ProjectReach } from '../../../model/scope.ts';
import {
  byRank,
  type DueLimit,
  type LimitFront,
  type LimitLine,
  type LimitListQuery,
  type LimitPlace,
  type LimitRecord,
  type LimitRows,
  type WaitingPlace,
} from '../../runs/limits.ts';
import { limitOf, lineOf, lowOf, placeOf } from '../../runs/rows/limits.ts';
import type { Row } from '../../runs/rows/records.ts';

// Keys in use: what the kernel asks of them, and what people ask.

/** What of a row of `limit_key` changes, in the order of `limitProgressRow`. */
export const UPDATE_LIMIT = `UPDATE limit_key SET definition_version = ?, places = ?, per_ms = ?, machine_version = ?, state = ?,
  version = ?, used = ?, waiting = ?, lines = ?, starts = ?, steady_at = ?, updated_at = ?, due_at = ?, moved_at = ?
  WHERE limit_id = ?`;

/** Each reads an index in its order; `test/store/sqlite/runs.test.ts` holds them to it. */
export const LIMIT_READS = {
  line: 'SELECT * FROM limit_place INDEXED BY limit_place_line WHERE line_id = ? ORDER BY low, ord',
  parked:
    'SELECT * FROM limit_line INDEXED BY limit_line_parked WHERE waits_on = ? AND (low, ord) > (?, ?) ORDER BY low, ord LIMIT ?',
  holders:
    'SELECT * FROM limit_place INDEXED BY limit_place_holder WHERE concurrency_id = ? AND line_id IS NULL ORDER BY ord LIMIT ?',
  due: `SELECT limit_id, project, due_at FROM limit_key INDEXED BY limit_due
        WHERE due_at IS NOT NULL AND due_at <= ? AND (due_at, limit_id) > (?, ?) ORDER BY due_at, limit_id LIMIT ?`,
  /** Those in the line of this key alone, then those in lines for this and another. */
  before:
    'SELECT count(*) AS n FROM limit_place INDEXED BY limit_place_line WHERE line_id = ? AND (low, ord) <= (?, ?)',
  beforeByConcurrency: `SELECT count(*) AS n FROM limit_place INDEXED BY limit_place_both_concurrency
        WHERE concurrency_id = ? AND rate_id IS NOT NULL AND line_id IS NOT NULL AND (low, ord) <= (?, ?)`,
  beforeByRate: `SELECT count(*) AS n FROM limit_place INDEXED BY limit_place_both_rate
        WHERE rate_id = ? AND concurrency_id IS NOT NULL AND line_id IS NOT NULL AND (low, ord) <= (?, ?)`,
  waitingByConcurrency: `SELECT * FROM limit_place INDEXED BY limit_place_both_concurrency
        WHERE concurrency_id = ? AND rate_id IS NOT NULL AND line_id IS NOT NULL ORDER BY low, ord LIMIT ?`,
  waitingByRate: `SELECT * FROM limit_place INDEXED BY limit_place_both_rate
        WHERE rate_id = ? AND concurrency_id IS NOT NULL AND line_id IS NOT NULL ORDER BY low, ord LIMIT ?`,
  waitedFor: `SELECT * FROM limit_key INDEXED BY limit_waited_for WHERE waiting > 0 AND limit_id > ? ORDER BY limit_id LIMIT ?`,
  /** The projects as JSON. */
  waitedForIn: `SELECT * FROM limit_key INDEXED BY limit_waited_for
        WHERE waiting > 0 AND limit_id > ? AND project IN (SELECT value FROM json_each(?)) ORDER BY limit_id LIMIT ?`,
  stalled: `SELECT * FROM limit_key INDEXED BY limit_waited WHERE waiting > 0 AND moved_at < ? AND kind = 'concurrency' AND NOT EXISTS (
          SELECT 1 FROM limit_place INDEXED BY limit_place_holder JOIN run USING (run_id)
          WHERE concurrency_id = limit_key.limit_id AND line_id IS NULL AND (run.updated_at >= ? OR run.status = 'running') AND run.fault IS NULL)
        ORDER BY moved_at, limit_id LIMIT ?`,
} as const;

type Value = string | number;

/** Lines looked at together. */
const LINES = 32;

/** What the kernel asks of keys while it decides. */
export const limitLookupsOf = (db: Database.Database) => {
  const prepare = (sql: string) => db.prepare<Value[], Row>(sql);
  const limit = prepare('SELECT * FROM limit_key WHERE limit_id = ?');
  const ids = db.prepare<Value[], string>('SELECT limit_id FROM limit_key LIMIT ?').pluck();
  const line = prepare('SELECT * FROM limit_line WHERE line_id = ?');
  const place = prepare('SELECT * FROM limit_place WHERE ord = ?');
  const inLine = prepare(LIMIT_READS.line);
  const parked = prepare(LIMIT_READS.parked);
  const holders = prepare(LIMIT_READS.holders);
  const due = prepare(LIMIT_READS.due);
  const countOn = db.prepare(
    `UPDATE limit_key SET due_at = due_at + min(updated_at, @at) - steady_at, steady_at = min(updated_at, @at),
       updated_at = min(updated_at, @at)
     WHERE due_at IS NOT NULL OR starts <> ''`,
  );

  const map = <T>(row: Row | undefined, decode: (row: Row) => T): T | undefined =>
    row === undefined ? undefined : decode(row);
  const firstInLine = (lineId: string, most: number): LimitPlace[] => {
    const places: LimitPlace[] = [];
    for (const row of inLine.iterate(lineId)) if (places.push(placeOf(row)) >= most) break;
    return places;
  };

  return {
    limit: (limitId: string): LimitRecord | undefined => map(limit.get(limitId), limitOf),
    ids: (most: number): string[] => ids.all(most),
    line: (lineId: string): LimitLine | undefined => map(line.get(lineId), lineOf),
    place: (order: number): LimitPlace | undefined => map(place.get(order), placeOf),
    holders: (limitId: string, most: number): LimitPlace[] => holders.all(limitId, most).map(placeOf),
    due: (steady: number, after: DueLimit | undefined, most: number): DueLimit[] =>
      due.all(steady, after?.dueAt ?? Number.MIN_SAFE_INTEGER, after?.limitId ?? '', most).map((row) => ({
        limitId: row['limit_id'] as string,
        project: row['project'] as string,
        dueAt: row['due_at'] as number,
      })),
    /** The first run of a line never stands before the line's `lead`. So a line whose lead comes after all runs that were found adds none. */
    front: (limitId: string, most: number): LimitFront => {
      const lines: LimitLine[] = [];
      let places: LimitPlace[] = [];
      let after: readonly [low: number, order: number] = [Number.MIN_SAFE_INTEGER, 0];
      for (;;) {
        const begun = parked.all(limitId, ...after, LINES).map(lineOf);
        for (const one of begun) {
          const last = places[most - 1];
          if (last !== undefined && byRank(last, one.lead) < 0) return { places, lines };
          after = [lowOf(one.lead), one.lead.order];
          const first = firstInLine(one.lineId, most);
          const [lead] = first;
          if (lead === undefined) continue;
          if (byRank(lead, one.lead) !== 0)
            lines.push({ ...one, lead: { priority: lead.priority, order: lead.order } });
          places = [...places, ...first].toSorted(byRank).slice(0, most);
        }
        if (begun.length < LINES) return { places, lines };
      }
    },
    highestOrder: (): number =>
      (db.prepare<[], Row>('SELECT coalesce(max(ord), 0) AS ord FROM limit_place').get()?.['ord'] ?? 0) as number,
    /** The steady clock of a new process begins at its wall clock: what was written before moves with it. */
    countOn: (restartedAt: number): void => void countOn.run({ at: restartedAt }),
  };
};

/** What people ask of keys. */
export const limitQueriesOf = (all: (sql: string, ...values: Value[]) => Row[]) => {
  const holders = (limitId: string, shown: number): LimitPlace[] =>
    all(LIMIT_READS.holders, limitId, shown).map(placeOf);
  const count = (sql: string, ...values: Value[]): number => all(sql, ...values)[0]?.['n'] as number;
  const record = (limitId: string): LimitRecord | undefined => {
    const [row] = all('SELECT * FROM limit_key WHERE limit_id = ?', limitId);
    return row === undefined ? undefined : limitOf(row);
  };
  const inProject = (project: string, after: string, limit: number): LimitRecord[] =>
    all(
      'SELECT * FROM limit_key INDEXED BY limit_project WHERE project = ? AND limit_id > ? ORDER BY limit_id LIMIT ?',
      project,
      after,
      limit,
    ).map(limitOf);

  return {
    listLimits: ({ reach, isWaitedFor, after = '', limit }: LimitListQuery): LimitRecord[] => {
      if (isWaitedFor === true)
        return (
          reach === 'all'
            ? all(LIMIT_READS.waitedFor, after, limit)
            : all(LIMIT_READS.waitedForIn, after, JSON.stringify(reach), limit)
        ).map(limitOf);
      return reach === 'all'
        ? all('SELECT * FROM limit_key WHERE limit_id > ? ORDER BY limit_id LIMIT ?', after, limit).map(limitOf)
        : (reach satisfies Exclude<ProjectReach, 'all'>)
            .flatMap((project) => inProject(project, after, limit))
            .toSorted((a, b) => (a.limitId < b.limitId ? -1 : 1))
            .slice(0, limit);
    },
    findLimit: (limitId: string, shown: number): LimitRows | undefined => {
      const found = record(limitId);
      if (found === undefined) return undefined;
      const both = found.kind === 'rate' ? LIMIT_READS.waitingByRate : LIMIT_READS.waitingByConcurrency;
      const line = [...all(`${LIMIT_READS.line} LIMIT ?`, limitId, shown), ...all(both, limitId, shown)]
        .map(placeOf)
        .toSorted(byRank)
        .slice(0, shown);
      return { record: found, holders: holders(limitId, shown), line };
    },
    whereWaits: (order: number, shown: number): WaitingPlace | undefined => {
      const [row] = all('SELECT * FROM limit_place WHERE ord = ? AND line_id IS NOT NULL', order);
      if (row === undefined) return undefined;
      const place = placeOf(row);
      const [line] = all('SELECT * FROM limit_line WHERE line_id = ?', place.lineId ?? '');
      const found = line === undefined ? undefined : record(lineOf(line).waitsOn);
      if (found === undefined) return undefined;
      const { limitId, kind } = found;
      const both = kind === 'rate' ? LIMIT_READS.beforeByRate : LIMIT_READS.beforeByConcurrency;
      const low = lowOf(place);
      return {
        record: found,
        position: count(LIMIT_READS.before, limitId, low, order) + count(both, limitId, low, order),
        holders: holders(limitId, shown),
      };
    },
    stalledLimits: (movedBefore: number, limit: number): LimitRecord[] =>
      all(LIMIT_READS.stalled, movedBefore, movedBefore, limit).map(limitOf),
  };
};
