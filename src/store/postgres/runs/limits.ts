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
import { int8Array, textArray } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { storedText } from './stored-text.ts';
import { LIMIT_IN_ORDER, LINE_IN_ORDER, of, PLACE_IN_ORDER, readRows } from './tables.ts';

// Keys in use: what the kernel asks of them, and what people ask.

const LIMITS = of(LIMIT_IN_ORDER, 'r');
const LINES = of(LINE_IN_ORDER, 'r');
const PLACES = of(PLACE_IN_ORDER, 'r');

/** Lines looked at together. */
const LINES_AT_ONCE = 32;

const holdersOf = async (ask: Ask, limitId: string, most: number): Promise<LimitPlace[]> =>
  (
    await readRows(
      ask,
      PLACES,
      'FROM limit_place AS r WHERE concurrency_id = $1 AND line_id IS NULL ORDER BY ord LIMIT $2',
      [storedText(limitId), most],
    )
  ).map(placeOf);

const inLine = async (ask: Ask, lineId: string, most: number): Promise<LimitPlace[]> =>
  (
    await readRows(ask, PLACES, 'FROM limit_place AS r WHERE line_id = $1 ORDER BY low, ord LIMIT $2', [
      storedText(lineId),
      most,
    ])
  ).map(placeOf);

/** What the kernel of a shard asks of keys while it decides. */
export const limitLookups = (ask: Ask, shard: number) => {
  const inOrderOf = <K, T>(wanted: readonly K[], found: readonly T[], keyOf: (one: T) => K): (T | undefined)[] => {
    const byKey = new Map(found.map((one) => [keyOf(one), one]));
    return wanted.map((key) => byKey.get(key));
  };
  return {
    limits: async (ids: readonly string[]): Promise<(LimitRecord | undefined)[]> =>
      inOrderOf(
        ids,
        (
          await readRows(ask, LIMITS, 'FROM limit_key AS r WHERE limit_id = ANY($1::text[])', [
            textArray(ids.map(storedText)),
          ])
        ).map(limitOf),
        ({ limitId }) => limitId,
      ),
    ids: async (most: number): Promise<string[]> =>
      (await readRows(ask, ['limit_id'], 'FROM limit_key WHERE shard = $1 LIMIT $2', [shard, most])).map((row) =>
        String(row['limit_id']),
      ),
    lines: async (ids: readonly string[]): Promise<(LimitLine | undefined)[]> =>
      inOrderOf(
        ids,
        (
          await readRows(ask, LINES, 'FROM limit_line AS r WHERE line_id = ANY($1::text[])', [
            textArray(ids.map(storedText)),
          ])
        ).map(lineOf),
        ({ lineId }) => lineId,
      ),
    places: async (orders: readonly number[]): Promise<(LimitPlace | undefined)[]> =>
      inOrderOf(
        orders,
        (
          await readRows(ask, PLACES, 'FROM limit_place AS r WHERE shard = $1 AND ord = ANY($2::int8[])', [
            shard,
            int8Array(orders),
          ])
        ).map(placeOf),
        ({ order }) => order,
      ),
    holders: (limitId: string, most: number): Promise<LimitPlace[]> => holdersOf(ask, limitId, most),
    due: async (steady: number, after: DueLimit | undefined, most: number): Promise<DueLimit[]> =>
      (
        await readRows(
          ask,
          ['limit_id', 'project', 'due_at'],
          `FROM limit_key WHERE shard = $1 AND due_at IS NOT NULL AND due_at <= $2 AND (due_at, limit_id) > ($3, $4)
           ORDER BY due_at, limit_id LIMIT $5`,
          [shard, steady, after?.dueAt ?? Number.MIN_SAFE_INTEGER, storedText(after?.limitId ?? ''), most],
        )
      ).map((row) => ({
        limitId: row['limit_id'] as string,
        project: row['project'] as string,
        dueAt: row['due_at'] as number,
      })),
    /** The first run of a line never stands before the line's `lead`. So a line whose lead comes after all runs that were found adds none. */
    front: async (limitId: string, most: number): Promise<LimitFront> => {
      const lines: LimitLine[] = [];
      let places: LimitPlace[] = [];
      let after: readonly [low: number, order: number] = [Number.MIN_SAFE_INTEGER, 0];
      for (;;) {
        const begun = (
          await readRows(
            ask,
            LINES,
            'FROM limit_line AS r WHERE waits_on = $1 AND (low, ord) > ($2, $3) ORDER BY low, ord LIMIT $4',
            [storedText(limitId), ...after, LINES_AT_ONCE],
          )
        ).map(lineOf);
        for (const one of begun) {
          const last = places[most - 1];
          if (last !== undefined && byRank(last, one.lead) < 0) return { places, lines };
          after = [lowOf(one.lead), one.lead.order];
          const first = await inLine(ask, one.lineId, most);
          const [lead] = first;
          if (lead === undefined) continue;
          if (byRank(lead, one.lead) !== 0)
            lines.push({ ...one, lead: { priority: lead.priority, order: lead.order } });
          places = [...places, ...first].toSorted(byRank).slice(0, most);
        }
        if (begun.length < LINES_AT_ONCE) return { places, lines };
      }
    },
  };
};

/** What people ask of keys. */
export const limitQueries = (ask: Ask) => {
  const find = async (limitId: string): Promise<LimitRecord | undefined> => {
    const [row] = await readRows(ask, LIMITS, 'FROM limit_key AS r WHERE limit_id = $1', [storedText(limitId)]);
    return row === undefined ? undefined : limitOf(row);
  };
  const bothOf = ({ kind }: LimitRecord): readonly [own: string, other: string] =>
    kind === 'rate' ? ['rate_id', 'concurrency_id'] : ['concurrency_id', 'rate_id'];

  return {
    listLimits: async ({ reach, isWaitedFor, after = '', limit }: LimitListQuery): Promise<LimitRecord[]> =>
      (
        await readRows(
          ask,
          LIMITS,
          `FROM limit_key AS r WHERE limit_id > $1 ${isWaitedFor === true ? 'AND waiting > 0' : ''}
           ${reach === 'all' ? '' : 'AND project = ANY($3::text[])'} ORDER BY limit_id LIMIT $2`,
          [storedText(after), limit, ...(reach === 'all' ? [] : [textArray(reach.map(storedText))])],
        )
      ).map(limitOf),
    findLimit: async (limitId: string, shown: number): Promise<LimitRows | undefined> => {
      const found = await find(limitId);
      if (found === undefined) return undefined;
      const [own, other] = bothOf(found);
      const both = await readRows(
        ask,
        PLACES,
        `FROM limit_place AS r WHERE ${own} = $1 AND ${other} IS NOT NULL AND line_id IS NOT NULL ORDER BY low, ord LIMIT $2`,
        [storedText(limitId), shown],
      );
      const line = [...(await inLine(ask, limitId, shown)), ...both.map(placeOf)].toSorted(byRank).slice(0, shown);
      return { record: found, holders: await holdersOf(ask, limitId, shown), line };
    },
    /** Places are numbered within a shard, and few runs wait, so the caller picks its own run from the answer. */
    whereWaits: async (order: number, shown: number): Promise<WaitingPlace | undefined> => {
      const [row] = await readRows(
        ask,
        [...PLACES, 'l.waits_on'],
        'FROM limit_place AS r JOIN limit_line AS l USING (line_id) WHERE r.ord = $1 LIMIT 1',
        [order],
      );
      if (row === undefined) return undefined;
      const place = placeOf(row);
      const found = await find(String(row['waits_on']));
      if (found === undefined) return undefined;
      const [own, other] = bothOf(found);
      const [counted] = await readRows(
        ask,
        [
          `((SELECT count(*) FROM limit_place WHERE line_id = $1 AND (low, ord) <= ($2, $3))
            + (SELECT count(*) FROM limit_place WHERE ${own} = $1 AND ${other} IS NOT NULL AND line_id IS NOT NULL
                 AND (low, ord) <= ($2, $3))) AS n`,
        ],
        '',
        [storedText(found.limitId), lowOf(place), order],
      );
      return {
        record: found,
        position: Number(counted?.['n']),
        holders: await holdersOf(ask, found.limitId, shown),
      };
    },
    stalledLimits: async (movedBefore: number, limit: number): Promise<LimitRecord[]> =>
      (
        await readRows(
          ask,
          LIMITS,
          `FROM limit_key AS r WHERE waiting > 0 AND moved_at < $1 AND kind = 'concurrency' AND NOT EXISTS (
             SELECT 1 FROM limit_place JOIN run USING (run_id)
             WHERE concurrency_id = r.limit_id AND line_id IS NULL AND (run.updated_at >= $1 OR run.status = 'running') AND run.fault IS NULL)
           ORDER BY moved_at, limit_id LIMIT $2`,
          [movedBefore, limit],
        )
      ).map(limitOf),
  };
};
