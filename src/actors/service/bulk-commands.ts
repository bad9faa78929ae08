import { SERVICE } from '../../model/definition/owner.ts';
import type { Result } from '../../model/failure.ts';
import type { UnixMs } from '../../model/run.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import type { Found, RunFilter, RunStore } from '../../store/runs/run-store.ts';
import { bulkView, reviveBulk } from '../bulk/bulk-state.ts';
import type { BulkMessage, BulkView } from '../bulk/messages.ts';
import type { RestartSlices } from '../bulk/restart-slices.ts';
import { notFound, outOfReach } from '../run/run-failures.ts';
import { attempt, callerOfOwner, callerOfProject, type Calls } from './calls.ts';
import type { BulkCommands, StartedBulk } from './runs-service.ts';

/** Rows that one question of the count looks at. */
const COUNTED_ROWS = 2000;
/** Runs that are named beside the count. */
const SAMPLE = 10;

const covers = (reach: ProjectReach, of: ProjectReach): boolean =>
  reach === 'all' || (of !== 'all' && of.every((project) => reaches(reach, project)));

/** Actions on many runs. @see Interface decisions, section 13, "Many at once" */
export const createBulkCommands = (host: {
  readonly calls: Pick<Calls, 'ask' | 'askAlways'>;
  readonly store: Pick<RunStore, 'load' | 'matchingRuns'>;
  readonly restartSlices: Pick<RestartSlices, 'halt'>;
  readonly now: () => UnixMs;
  readonly newId: () => string;
}): BulkCommands => {
  const { store, calls } = host;

  const countOf = async (filter: RunFilter): Promise<{ count: number; sample: readonly string[] }> => {
    let count = 0;
    const sample: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const { runIds, upTo } = await store.matchingRuns(filter, after, COUNTED_ROWS);
      count += runIds.length;
      sample.push(...runIds.slice(0, SAMPLE - sample.length));
      after = upTo;
    }
    return { count, sample };
  };

  const find = async (bulkId: string, reach: ProjectReach): Promise<Result<BulkView>> => {
    const [record] = (await store.load([{ kind: 'kept_actor', type: 'bulk', id: bulkId }])) as [Found['kept_actor']];
    if (record === undefined) return notFound('bulk', bulkId);
    const actor = reviveBulk(record);
    return covers(reach, actor.spec.filter.reach) ? { ok: true, value: bulkView(actor) } : outOfReach('bulk');
  };

  return {
    startBulk: ({ filter: asked, work, dryRun }) =>
      attempt(async (): Promise<Result<StartedBulk>> => {
        // Runs that start from now on are none of those that were counted.
        const before = host.now() + 1;
        const filter = { ...asked, to: Math.min(asked.to ?? before, before) };
        const { count, sample } = await countOf(filter);
        if (dryRun || count === 0) return { ok: true, value: { count, sample } };
        const { reach } = filter;
        const [only] = reach === 'all' ? [] : reach;
        const caller = only === undefined ? callerOfOwner(SERVICE) : callerOfProject(only);
        const body: BulkMessage = { kind: 'begin', spec: { work, filter }, count };
        const begun = await calls.ask<BulkView>(caller, { type: 'bulk', id: host.newId(), body });
        return begun.ok ? { ok: true, value: { bulkId: begun.value.bulkId, count, sample } } : begun;
      }),

    getBulk: ({ bulkId, reach }) => attempt(() => find(bulkId, reach)),

    stopBulk: ({ bulkId, reach }) =>
      attempt(async () => {
        const found = await find(bulkId, reach);
        if (!found.ok) return found;
        const body: BulkMessage = { kind: 'stop' };
        return host.restartSlices.halt(bulkId, () => calls.askAlways<BulkView>({ type: 'bulk', id: bulkId, body }));
      }),
  };
};
