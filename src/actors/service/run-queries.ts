import type { Attempt, UnixMs } from '../../model/run.ts';
import { pageOf } from '../../model/page.ts';
import { reaches } from '../../model/scope.ts';
import { journalWeight } from '../../store/runs/journal-up-to.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import type { Damaged } from '../run/quarantined.ts';
import { entriesOf } from '../run/replay.ts';
import { notFound, overloaded, outOfReach } from '../run/run-failures.ts';
import type { LiveWorkers } from '../workers/live-workers.ts';
import { attempt } from './calls.ts';
import { createWaitingFor } from './limit-actors.ts';
import { ENDS_AWAITED, type Followers } from './follow-journal.ts';
import { attemptOf, detailOfRows, listedRun, withReason } from './run-views.ts';
import type { Reading } from './reading.ts';
import type { RunQueries } from './runs-service.ts';
import { causeOf } from './step-cause.ts';
import { type StoredRuns, within } from './stored-runs.ts';

/** Most runs that are counted of one thing that runs wait for: by an index alone, and where each row is looked at. */
const MOST_COUNTED = 10_000;
const MOST_LOOKED_AT = 1_000;

/** What is asked about runs. */
export const createRunQueries = (host: {
  readonly store: Pick<
    RunStore,
    'findRun' | 'listRuns' | 'countWaiting' | 'journal' | 'journalBefore' | 'findAttempt' | 'whereWaits'
  >;
  readonly storedRuns: StoredRuns;
  /** What the wall clock will show at a time of the steady one. */
  readonly wallOf: (steady: UnixMs) => UnixMs;
  readonly steady: () => UnixMs;
  readonly liveWorkers: Pick<LiveWorkers, 'queuedReasons'>;
  /** A read met a row of a run that is damaged. */
  readonly damaged: (damage: Damaged) => void;
  readonly reading: Reading;
  readonly followers: Pick<Followers, 'follow' | 'mayAwaitEnd' | 'untilEnded'>;
}): RunQueries => {
  const { store, reading } = host;
  const { recordOf, visible, programOf } = host.storedRuns;
  const waitingFor = createWaitingFor(host);
  return {
    getRun: ({ runId, reach, waitMs = 0 }, signal) =>
      attempt(async () => {
        if (waitMs > 0) {
          if (!host.followers.mayAwaitEnd()) return overloaded(ENDS_AWAITED, ENDS_AWAITED);
          await host.followers.untilEnded(runId, waitMs, signal, async () => {
            const run = await visible(runId, reach);
            return run.ok ? run.value.status : undefined;
          });
        }
        const rows = await store.findRun(runId);
        if (rows === undefined) return notFound('run', runId);
        const { record } = rows.stored;
        if (!reaches(reach, record.project)) return outOfReach('run');
        const reasons = await host.liveWorkers.queuedReasons([record]);
        const waiting = await waitingFor(record);
        const detail = withReason(await detailOfRows(rows, host.wallOf, host.damaged), reasons);
        return { ok: true, value: { ...detail, ...(waiting === undefined ? {} : { waitingFor: waiting }) } };
      }),

    listRuns: (query) =>
      attempt(async () => {
        const reach = within(query.project, query.reach);
        if (!reach.ok) return reach;
        const {
          status,
          definitionId,
          userId,
          parentRunId,
          restartedFrom,
          waitingOn,
          correlation,
          from,
          to,
          limit,
          after,
        } = query;
        const records = await store.listRuns({
          reach: reach.value,
          limit: limit + 1,
          ...(status === undefined ? {} : { status }),
          ...(definitionId === undefined ? {} : { definitionId }),
          ...(userId === undefined ? {} : { userId }),
          ...(parentRunId === undefined ? {} : { parentRunId }),
          ...(restartedFrom === undefined ? {} : { restartedFrom }),
          ...(waitingOn === undefined ? {} : { waitingOn }),
          ...(correlation === undefined ? {} : { correlation }),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
          ...(after === undefined ? {} : { after: { updatedAt: Number(after[0]), runId: String(after[1]) } }),
        });
        const reasons = await host.liveWorkers.queuedReasons(records);
        const runs = records.map((record) => withReason(listedRun(record, host.damaged), reasons));
        return {
          ok: true,
          value: pageOf(runs, limit, (last) => [last.updatedAt, last.runId]),
        };
      }),

    countWaitingRuns: (query) =>
      attempt(async () => {
        const { reach: _, status: __, ...others } = query;
        const isFiltered = Object.values(others).some((value) => value !== undefined);
        return { ok: true, value: await store.countWaiting(query, isFiltered ? MOST_LOOKED_AT : MOST_COUNTED) };
      }),

    projectOfRun: async (runId) => (await recordOf(runId))?.project,

    journal: ({ runId, reach, after, limit, maxBytes }) =>
      reading(async () => {
        const run = await visible(runId, reach);
        if (!run.ok) return run;
        const rows = await store.journal(runId, after, limit, maxBytes);
        const events = rows
          .flatMap(entriesOf)
          .filter(({ seq }) => seq > after)
          .slice(0, limit);
        // Rows that ended for their weight, and entries that are left of the limit: the rest follows.
        const weight = rows.reduce((sum, row) => sum + journalWeight(row), 0);
        const isCut = maxBytes !== undefined && weight >= maxBytes && events.length < limit;
        const { project } = run.value;
        return {
          ok: true,
          value: { project, events, nextAfter: events.at(-1)?.seq ?? after, ...(isCut ? { isCut } : {}) },
        };
      }),

    followJournal: ({ runId, reach, after }, signal) =>
      reading(async () => {
        const run = await visible(runId, reach);
        if (!run.ok) return run;
        const { project } = run.value;
        return { ok: true, value: { project, pages: host.followers.follow(runId, after, signal) } };
      }),

    stepCause: ({ runId, reach, stepId, visit, attempt: number }) =>
      reading(async () => {
        const run = await visible(runId, reach);
        if (!run.ok) return run;
        const program = await programOf(run.value);
        if (program !== undefined && !program.compiled.steps.has(stepId)) return notFound('step', stepId);
        const cause = await causeOf(
          store,
          runId,
          (entry) =>
            entry.stepId === stepId &&
            (visit === undefined || entry.visit === visit) &&
            (number === undefined || entry.attempt === number),
        );
        if (cause === undefined) return { ok: true, value: { chain: [] } };
        const { leased, chain } = cause;
        const record = leased.leaseId === undefined ? undefined : await store.findAttempt(leased.leaseId);
        const of: Attempt | undefined = record === undefined ? undefined : attemptOf(record);
        return { ok: true, value: { chain, ...(of === undefined ? {} : { attempt: of }) } };
      }),
  };
};
