import { createHash } from 'node:crypto';
import { canonicalJson } from '../../model/canonical-json.ts';
import { SERVICE } from '../../model/definition/owner.ts';
import type { Result } from '../../model/failure.ts';
import type { UnixMs } from '../../model/run.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import type { Found, RunFilter, RunStore } from '../../store/runs/run-store.ts';
import { begunBefore, type BulkActor, bulkView, keyedBulkId, reviveBulk } from '../bulk/bulk-state.ts';
import type { BegunBulk, BulkMessage, BulkSpec, BulkView } from '../bulk/messages.ts';
import type { RestartSlices } from '../bulk/restart-slices.ts';
import { notFound, outOfReach } from '../run/run-failures.ts';
import { attempt, callerOfOwner, callerOfProject, type Calls } from './calls.ts';
import type { BulkCommands, StartBulk, StartedBulk } from './runs-service.ts';

/** Rows that one question of the count looks at. */
const COUNTED_ROWS = 2000;
/** Runs that are named beside the count. */
const SAMPLE = 10;

const covers = (reach: ProjectReach, of: ProjectReach): boolean =>
  reach === 'all' || (of !== 'all' && of.every((project) => reaches(reach, project)));

const keyedBy = (reach: ProjectReach, { key, asked }: NonNullable<StartBulk['idempotency']>) => ({
  bulkId: keyedBulkId(reach, key),
  digest: createHash('sha256').update(canonicalJson(asked)).digest('base64url'),
});

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

  const load = async (bulkId: string): Promise<BulkActor | undefined> => {
    const [record] = (await store.load([{ kind: 'kept_actor', type: 'bulk', id: bulkId }])) as [Found['kept_actor']];
    return record && reviveBulk(record);
  };

  const find = async (bulkId: string, reach: ProjectReach): Promise<Result<BulkView>> => {
    const actor = await load(bulkId);
    if (actor === undefined) return notFound('bulk', bulkId);
    return covers(reach, actor.spec.filter.reach) ? { ok: true, value: bulkView(actor) } : outOfReach('bulk');
  };

  return {
    startBulk: ({ filter: asked, work, dryRun, idempotency }) =>
      attempt(async (): Promise<Result<StartedBulk>> => {
        const keyed = idempotency && keyedBy(asked.reach, idempotency);
        const before = async (): Promise<Result<StartedBulk> | undefined> => {
          const actor = keyed && (await load(keyed.bulkId));
          return actor && begunBefore(actor, keyed.digest);
        };
        const found = await before();
        if (found !== undefined) return found;
        // Runs that start from now on are none of those that were counted.
        const end = host.now() + 1;
        const filter = { ...asked, to: Math.min(asked.to ?? end, end) };
        const { count, sample } = await countOf(filter);
        // None may match because the call that this one repeats was taken while they were counted.
        if (dryRun || count === 0) return (await before()) ?? { ok: true, value: { begun: false, count, sample } };
        const { reach } = filter;
        const [only] = reach === 'all' ? [] : reach;
        const caller = only === undefined ? callerOfOwner(SERVICE) : callerOfProject(only);
        const drawn = host.newId();
        const spec: BulkSpec = {
          work,
          filter,
          ...(keyed === undefined ? {} : { keyed: { digest: keyed.digest, sample, nonce: drawn } }),
        };
        const body: BulkMessage = { kind: 'begin', spec, count };
        const begun = await calls.ask<BegunBulk>(caller, { type: 'bulk', id: keyed?.bulkId ?? drawn, body });
        return begun.ok && begun.value.begun ? { ok: true, value: { ...begun.value, sample } } : begun;
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
