import { reaches } from '../../../model/scope.ts';
import type { Changes } from '../changes.ts';
import {
  byRank,
  type DueLimit,
  type LimitFront,
  type LimitListQuery,
  type LimitPlace,
  type LimitRecord,
  type LimitRows,
  type WaitingPlace,
} from '../limits.ts';
import type { Shelves } from './shelves.ts';

const byOrder = (a: LimitPlace, b: LimitPlace): number => a.order - b.order;
const byId = (a: LimitRecord, b: LimitRecord): number => (a.limitId < b.limitId ? -1 : 1);

/** Keys in use, in memory. */
export const memoryLimits = ({ runs, limits, lines, places }: Shelves) => {
  const holders = (limitId: string, limit: number): LimitPlace[] =>
    [...places.values()]
      .filter(({ lineId, concurrencyId }) => lineId === undefined && concurrencyId === limitId)
      .toSorted(byOrder)
      .slice(0, limit);
  const waiting = (limitId: string): LimitPlace[] =>
    [...places.values()]
      .filter(
        ({ lineId, concurrencyId, rateId }) =>
          lineId !== undefined && (concurrencyId === limitId || rateId === limitId),
      )
      .toSorted(byRank);

  return {
    write: (changes: Changes): void => {
      for (const limitId of changes.limitsGone) limits.delete(limitId);
      for (const record of [...changes.limitsInserted, ...changes.limitsUpdated]) limits.set(record.limitId, record);
      for (const lineId of changes.linesGone) lines.delete(lineId);
      for (const line of changes.linesSet) lines.set(line.lineId, line);
      for (const order of changes.placesGone) places.delete(order);
      for (const place of changes.placesSet) places.set(place.order, place);
    },
    front: (limitId: string, limit: number): LimitFront => {
      const parked = [...lines.values()].filter(({ waitsOn }) => waitsOn === limitId);
      const first = parked.flatMap((line) => {
        const standing = [...places.values()].filter(({ lineId }) => lineId === line.lineId).toSorted(byRank);
        const [lead] = standing;
        return lead === undefined
          ? []
          : [
              {
                line: { ...line, lead: { priority: lead.priority, order: lead.order } },
                standing: standing.slice(0, limit),
              },
            ];
      });
      return {
        places: first
          .flatMap(({ standing }) => standing)
          .toSorted(byRank)
          .slice(0, limit),
        lines: first.flatMap(({ line }) => {
          const { lead } = lines.get(line.lineId) ?? line;
          return byRank(lead, line.lead) === 0 ? [] : [line];
        }),
      };
    },
    holders,
    due: (steady: number, after: DueLimit | undefined, limit: number): DueLimit[] =>
      [...limits.values()]
        .flatMap(({ limitId, project, dueAt }) =>
          dueAt !== undefined && dueAt <= steady ? [{ limitId, project, dueAt }] : [],
        )
        .filter(
          (one) =>
            after === undefined ||
            one.dueAt > after.dueAt ||
            (one.dueAt === after.dueAt && one.limitId > after.limitId),
        )
        .toSorted((a, b) => a.dueAt - b.dueAt || (a.limitId < b.limitId ? -1 : 1))
        .slice(0, limit),
    /** The steady clock of a new process begins at its wall clock. */
    resume: (restartedAt: number): void => {
      for (const record of limits.values()) {
        const wroteAt = Math.min(record.updatedAt, restartedAt);
        const by = wroteAt - record.steadyAt;
        limits.set(record.limitId, {
          ...record,
          starts: record.starts.map((start) => start + by),
          steadyAt: wroteAt,
          updatedAt: wroteAt,
          ...(record.dueAt === undefined ? {} : { dueAt: record.dueAt + by }),
        });
      }
    },

    list: ({ reach, isWaitedFor, after, limit }: LimitListQuery): LimitRecord[] =>
      [...limits.values()]
        .filter(
          ({ project, limitId, waiting: count }) =>
            reaches(reach, project) &&
            (after === undefined || limitId > after) &&
            (isWaitedFor === undefined || count > 0),
        )
        .toSorted(byId)
        .slice(0, limit),
    find: (limitId: string, shown: number): LimitRows | undefined => {
      const record = limits.get(limitId);
      return record && { record, holders: holders(limitId, shown), line: waiting(limitId).slice(0, shown) };
    },
    whereWaits: (order: number, shown: number): WaitingPlace | undefined => {
      const place = places.get(order);
      const line = place?.lineId === undefined ? undefined : lines.get(place.lineId);
      const record = line === undefined ? undefined : limits.get(line.waitsOn);
      if (record === undefined) return undefined;
      const position = waiting(record.limitId).findIndex((one) => one.order === order) + 1;
      return { record, position, holders: holders(record.limitId, shown) };
    },
    stalled: (movedBefore: number, limit: number): LimitRecord[] =>
      [...limits.values()]
        .filter(({ kind, waiting: count, movedAt }) => kind === 'concurrency' && count > 0 && movedAt < movedBefore)
        .filter(({ limitId }) =>
          holders(limitId, places.size).every(({ runId }) => {
            const record = runs.get(runId)?.record;
            if (record === undefined || record.fault !== undefined) return true;
            return record.updatedAt < movedBefore && record.status !== 'running';
          }),
        )
        .toSorted((a, b) => a.movedAt - b.movedAt || byId(a, b))
        .slice(0, limit),
  };
};
