import { pageOf } from '../../model/page.ts';
import { reaches } from '../../model/scope.ts';
import { startsWithin } from '../../model/start-window.ts';
import type { LimitPlace, LimitRecord, RunStore } from '../../store/runs/run-store.ts';
import { notFound } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import { type Clocks, MOST_SHOWN, nextAtOf } from './limit-actors.ts';
import type { LimitInfo, LimitPlaceInfo, LimitQueries } from './runs-service.ts';

const infoOf = (record: LimitRecord, clocks: Clocks): LimitInfo => {
  const { perMs, stepId, starts } = record;
  return {
    limitId: record.limitId,
    kind: record.kind,
    project: record.project,
    definitionId: record.definitionId,
    definitionVersion: record.definitionVersion,
    ...(stepId === undefined ? {} : { stepId }),
    key: record.key,
    limit: record.limit,
    ...(perMs === undefined ? {} : { perMs }),
    used: perMs === undefined ? record.used : startsWithin(starts, perMs, clocks.steady()).length,
    waiting: record.waiting,
    movedAt: record.movedAt,
    ...nextAtOf(record, clocks),
  };
};

const placeOf = ({ runId, stepId, priority, since }: LimitPlace): LimitPlaceInfo => ({
  runId,
  ...(stepId === undefined ? {} : { stepId }),
  priority,
  since,
});

/** What is asked about keys in use: who holds them, and who waits. */
export const createLimitQueries = (
  host: Clocks & { readonly store: Pick<RunStore, 'listLimits' | 'findLimit'> },
): LimitQueries => ({
  listLimits: ({ reach, limit, after, isWaitedFor }) =>
    attempt(async () => {
      const records = await host.store.listLimits({
        reach,
        limit: limit + 1,
        ...(after === undefined ? {} : { after: String(after[0]) }),
        ...(isWaitedFor === undefined ? {} : { isWaitedFor }),
      });
      const { items, ...more } = pageOf(records, limit, (last) => [last.limitId]);
      return { ok: true, value: { ...more, items: items.map((record) => infoOf(record, host)) } };
    }),

  getLimit: ({ reach, limitId }) =>
    attempt(async () => {
      const rows = await host.store.findLimit(limitId, MOST_SHOWN);
      // Its id is a digest of names that can be guessed, so one beyond the reach answers as one that is not there.
      if (rows === undefined || !reaches(reach, rows.record.project)) return notFound('limit', limitId);
      const { record, holders, line } = rows;
      return {
        ok: true,
        value: { ...infoOf(record, host), holders: holders.map(placeOf), line: line.map(placeOf) },
      };
    }),
});
