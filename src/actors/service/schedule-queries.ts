import { Unloadable } from '../../machines/persisted.ts';
import { pageOf } from '../../model/page.ts';
import type { UnixMs } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import type { ActorRecord, Found, RunStore } from '../../store/runs/run-store.ts';
import { forbidden, notFound } from '../run/run-failures.ts';
import { scheduleActorId, scheduleIdOf } from '../schedule/schedule-name.ts';
import { reviveSchedule, scheduleView } from '../schedule/schedule-state.ts';
import { attempt } from './calls.ts';
import type { ListedSchedule, ScheduleQueries } from './runs-service.ts';

/** What is asked about schedules. */
export const createScheduleQueries = (host: {
  readonly store: Pick<RunStore, 'load' | 'listKeptActors'>;
  readonly now: () => UnixMs;
}): ScheduleQueries => {
  /** One that cannot be loaded is listed with its fault: a list of others is not stopped by it. */
  const listed = (record: ActorRecord): ListedSchedule => {
    try {
      return scheduleView(reviveSchedule(record), host.now());
    } catch (error) {
      if (!(error instanceof Unloadable)) throw error;
      return { id: scheduleIdOf(record.id), project: record.project, fault: record.fault ?? error.message };
    }
  };
  return {
    listSchedules: ({ reach, limit, after }) =>
      attempt(async () => {
        const records = await host.store.listKeptActors({
          type: 'schedule',
          reach,
          limit: limit + 1,
          ...(after === undefined ? {} : { after: String(after[0]) }),
        });
        const { items, ...more } = pageOf(records, limit, (last) => [last.id]);
        return { ok: true, value: { ...more, items: items.map(listed) } };
      }),

    getSchedule: ({ reach, project, id }) =>
      attempt(async () => {
        if (!reaches(reach, project)) return forbidden(project, 'project');
        const lookup = { kind: 'kept_actor', type: 'schedule', id: scheduleActorId(project, id) } as const;
        const [record] = (await host.store.load([lookup])) as [Found['kept_actor']];
        return record === undefined
          ? notFound('schedule', id)
          : { ok: true, value: scheduleView(reviveSchedule(record), host.now()) };
      }),
  };
};
