import { isLive } from '../../../machines/lease.ts';
import { ownedId, SERVICE } from '../../../model/definition/owner.ts';
import {
  begunRunStatuses,
  hasEnded,
  movingRunStatuses,
  type RunStatus,
  waitedForBesideWorkers,
} from '../../../model/run.ts';
import { reaches } from '../../../model/scope.ts';
import { journalUpTo } from '../journal-up-to.ts';
import { type ActorRecord, dueTimeOf, type KeptActorType, type RunRecord } from '../records.ts';
import { matchesRun } from '../run-conditions.ts';
import { keptActorRow } from '../kept-actor-row.ts';
import type { ActorRow, RunQueries } from '../run-queries.ts';
import { memoryLimits } from './limits.ts';
import { readingOf, type RunShelf, type Shelves } from './shelves.ts';

const newestFirst = (a: RunRecord, b: RunRecord): number =>
  b.updatedAt - a.updatedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0);

/** The queries, in memory. `soon` answers later, in the order of the calls, like a store on another thread. */
export const memoryQueries = (shelves: Shelves, soon: <T>(work: () => T) => Promise<T>): RunQueries => {
  const { runs, actors, attempts, definitions, workers, parked, outbox } = shelves;
  const { childrenOf, all, allTimers, matchingRuns, isOrphaned, familyOf, storedRun, documentsOf, identityOf } =
    readingOf(shelves);

  const keys = memoryLimits(shelves);
  /** Whether something else than the run itself will move it on: the end of its definition's pause, or the line of a key. */
  const isHeld = ({ runId, held, places }: RunRecord): boolean => {
    if (held === undefined || held === 'definition_paused') return held !== undefined;
    const place = shelves.places.get((places?.step ?? places?.run)?.order ?? 0);
    return place?.runId === runId && place.lineId !== undefined;
  };
  const keptActors = (type: KeptActorType): ActorRecord[] =>
    [...actors.values()].flatMap(({ record }) => (record.type === type ? [record] : []));

  const actorRows = (type: ActorRow['type']): ActorRow[] =>
    type !== 'run' && type !== 'lease'
      ? keptActors(type).map(keptActorRow)
      : type === 'run'
        ? all().map(({ record }) => ({
            type,
            id: record.runId,
            project: record.project,
            machine: `run:${record.definitionId}@${record.definitionVersion}`,
            value: JSON.stringify((JSON.parse(record.snapshot) as { v: unknown }).v),
            status: record.fault !== undefined ? 'quarantined' : hasEnded(record.status) ? 'done' : 'active',
            version: record.version,
            updatedAt: record.updatedAt,
          }))
        : [...attempts.values()].map((record) => ({
            type,
            id: record.leaseId,
            project: runs.get(record.runId)?.record.project ?? '',
            machine: 'lease',
            value: JSON.stringify(record.state),
            status: isLive(record.state) ? 'active' : 'done',
            version: record.version,
            updatedAt: record.endedAt ?? record.startedAt ?? record.offeredAt,
          }));

  return {
    findRun: (runId) =>
      soon(() => {
        const shelf = runs.get(runId);
        if (shelf === undefined) return undefined;
        return {
          stored: storedRun(shelf),
          documents: documentsOf(shelf, [...shelf.outputs.keys()]),
          attempts: shelf.attempts.flatMap((leaseId) => {
            const record = attempts.get(leaseId);
            if (record === undefined) return [];
            const output =
              record.state === 'succeeded' ? shelf.outputs.get(record.stepId)?.get(record.visit) : undefined;
            return [{ ...record, ...(output === undefined ? {} : { output }) }];
          }),
          timers: [...shelf.timers.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
          waits: shelf.waits.toSorted((a, b) => a.order - b.order),
          children: childrenOf(shelf).map(({ record }) => record),
        };
      }),
    listRuns: (query) =>
      soon(() =>
        all()
          .map(({ record }) => record)
          .filter((record) => reaches(query.reach, record.project) && matchesRun(record, query, isOrphaned))
          .toSorted(newestFirst)
          .filter(
            (record) =>
              query.after === undefined ||
              record.updatedAt < query.after.updatedAt ||
              (record.updatedAt === query.after.updatedAt && record.runId < query.after.runId),
          )
          .slice(0, query.limit),
      ),
    openRuns: (reach, limit) =>
      soon(() =>
        all()
          .map(({ record }) => record)
          .filter(
            ({ project, status }) =>
              reaches(reach, project) && (begunRunStatuses as readonly RunStatus[]).includes(status),
          )
          .toSorted((a, b) => -newestFirst(a, b))
          .slice(0, limit),
      ),
    countWaiting: (query, most) =>
      soon(() =>
        waitedForBesideWorkers.map((waitingOn) => {
          const waiting = all()
            .map(({ record }) => record)
            .filter(
              (record) =>
                reaches(query.reach, record.project) && matchesRun(record, { reach: 'all', waitingOn }, isOrphaned),
            )
            .toSorted(newestFirst);
          const perProject = [...Map.groupBy(waiting, ({ project }) => project).values()];
          return {
            waitingOn,
            count: perProject
              .flatMap((records) => records.slice(0, most))
              .filter((record) => matchesRun(record, query, isOrphaned)).length,
            isCapped: perProject.some((records) => records.length > most),
          };
        }),
      ),
    matchingRuns: (query, after, scan) => soon(() => matchingRuns(query, after, scan)),
    journal: (runId, after, limit, maxBytes) =>
      soon(() =>
        journalUpTo(
          (runs.get(runId)?.journal ?? []).filter(({ lastSeq }) => lastSeq > after).slice(0, limit),
          maxBytes,
        ),
      ),
    journalBefore: (runId, seq, limit) =>
      soon(() =>
        (runs.get(runId)?.journal ?? [])
          .filter(({ firstSeq }) => firstSeq <= seq)
          .toReversed()
          .slice(0, limit),
      ),
    checkpoint: (runId, seq) =>
      soon(() => runs.get(runId)?.checkpoints.findLast((checkpoint) => checkpoint.seq <= seq)),
    findAttempt: (leaseId) => soon(() => attempts.get(leaseId)),
    listDefinitions: ({ reach, after, limit }) =>
      soon(() =>
        [...definitions.values()]
          .flatMap((versions) => versions.get(Math.max(...versions.keys())) ?? [])
          .filter(
            ({ owner, id }) =>
              (owner === SERVICE || reaches(reach, owner)) &&
              (after === undefined || id > after.id || (id === after.id && owner > after.owner)),
          )
          .toSorted((a, b) => (a.id < b.id || (a.id === b.id && a.owner < b.owner) ? -1 : 1))
          .slice(0, limit),
      ),
    definitionVersions: (owner, id, reach) =>
      soon(() =>
        [...(definitions.get(ownedId(owner, id))?.values() ?? [])]
          .toSorted((a, b) => a.version - b.version)
          .map((record) => ({
            ...record,
            openRuns: all().filter(
              ({ record: run }) =>
                run.definitionOwner === owner &&
                run.definitionId === id &&
                run.definitionVersion === record.version &&
                reaches(reach, run.project) &&
                !hasEnded(run.status),
            ).length,
          })),
      ),
    listWorkers: ({ reach, after, limit }) =>
      soon(() =>
        [...workers.values()]
          .filter(
            ({ workerId, project }) =>
              (project === undefined || reaches(reach, project)) && (after === undefined || workerId > after),
          )
          .toSorted((a, b) => (a.workerId < b.workerId ? -1 : 1))
          .slice(0, limit),
      ),
    silentWorkers: (before, limit) =>
      soon(() =>
        [...workers.values()]
          .filter(({ lastSeenAt }) => lastSeenAt < before)
          .toSorted((a, b) => a.lastSeenAt - b.lastSeenAt || (a.workerId < b.workerId ? -1 : 1))
          .slice(0, limit)
          .map(({ workerId }) => workerId),
      ),
    listLiveLeases: (reach, after, limit) =>
      soon(() =>
        [...attempts.values()]
          .filter(({ state, leaseId }) => isLive(state) && (after === undefined || leaseId > after))
          .flatMap((record) => {
            const run = runs.get(record.runId)?.record;
            return run !== undefined && reaches(reach, run.project) ? [{ ...record, ...identityOf(run) }] : [];
          })
          .toSorted((a, b) => (a.leaseId < b.leaseId ? -1 : 1))
          .slice(0, limit),
      ),
    leasesHeld: (reach) =>
      soon(() => {
        const held = new Map<string, number>();
        for (const { state, runId, workerId } of attempts.values()) {
          const run = runs.get(runId)?.record;
          if (isLive(state) && run !== undefined && reaches(reach, run.project))
            held.set(workerId, (held.get(workerId) ?? 0) + 1);
        }
        return held;
      }),
    listActors: (query) =>
      soon(() =>
        actorRows(query.type)
          .filter(
            (row) =>
              reaches(query.reach, row.project) &&
              (query.status === undefined || row.status === query.status) &&
              (query.before === undefined || row.id < query.before),
          )
          .toSorted((a, b) => (a.id < b.id ? 1 : -1))
          .slice(0, query.limit),
      ),
    listKeptActors: ({ type, reach, after, limit }) =>
      soon(() =>
        keptActors(type)
          .filter(({ project, id }) => reaches(reach, project) && (after === undefined || id > after))
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
          .slice(0, limit),
      ),
    listParkedEvents: ({ reach, parkedAfter, before, limit }) =>
      soon(() =>
        [...parked.values()]
          .filter(
            ({ project, at, order }) =>
              reaches(reach, project) && at > parkedAfter && (before === undefined || order < before),
          )
          .toSorted((a, b) => b.order - a.order)
          .slice(0, limit)
          .map(({ payload, ...event }) => ({ ...event, payloadBytes: Buffer.byteLength(payload) })),
      ),
    subjectRuns: (userId, reach, limit) =>
      soon(() => {
        const theirs = all().filter(({ record }) => record.userId === userId && reaches(reach, record.project));
        const roots = theirs.filter(({ record }) => record.parent === undefined);
        const isFinished = (shelf: RunShelf): boolean => familyOf(shelf).every(({ record }) => hasEnded(record.status));
        return {
          finished: roots
            .filter(isFinished)
            .slice(0, limit)
            .flatMap(familyOf)
            .map(({ record }) => ({ runId: record.runId, traceId: record.traceId })),
          inFlight: theirs.filter(({ record }) => !hasEnded(record.status)).length,
        };
      }),
    finishedRuns: (project, before, limit) =>
      soon(() =>
        all()
          .filter(
            (shelf) =>
              shelf.record.parent === undefined &&
              shelf.record.project === project &&
              shelf.record.endedAt !== undefined &&
              shelf.record.endedAt < before &&
              familyOf(shelf).every(({ record }) => hasEnded(record.status)),
          )
          .toSorted((a, b) => (a.record.endedAt ?? 0) - (b.record.endedAt ?? 0))
          .slice(0, limit)
          .flatMap(familyOf)
          .map(({ record }) => record.runId),
      ),
    stuckRuns: (limit) =>
      soon(() =>
        all()
          .filter(
            (shelf) =>
              (movingRunStatuses as readonly string[]).includes(shelf.record.status) &&
              shelf.record.fault === undefined &&
              shelf.record.queueOrder === undefined &&
              !isHeld(shelf.record) &&
              shelf.waits.length === 0 &&
              ![...shelf.timers.values()].some(({ name }) => name !== 'run_timeout') &&
              !shelf.attempts.some((leaseId) => isLive(attempts.get(leaseId)?.state ?? 'cancelled')) &&
              !childrenOf(shelf).some(({ record }) => !hasEnded(record.status)),
          )
          .slice(0, limit)
          .map(({ record }) => ({
            runId: record.runId,
            project: record.project,
            ...(record.cursor === undefined ? {} : { cursor: record.cursor }),
          })),
      ),
    runShapes: (project, from, to, limit) =>
      soon(() =>
        all()
          .filter(
            ({ record }) =>
              record.project === project &&
              record.endedAt !== undefined &&
              record.endedAt >= from &&
              record.endedAt < to,
          )
          .toSorted((a, b) => (b.record.endedAt ?? 0) - (a.record.endedAt ?? 0))
          .slice(0, limit)
          .map((shelf) => {
            const tries = new Map<string, number>();
            for (const leaseId of shelf.attempts) {
              const stepId = attempts.get(leaseId)?.stepId ?? '';
              tries.set(stepId, (tries.get(stepId) ?? 0) + 1);
            }
            const { runId, definitionOwner, definitionId, definitionVersion, snapshot } = shelf.record;
            return {
              runId,
              definitionOwner,
              definitionId,
              definitionVersion,
              snapshot,
              maxStepAttempts: Math.max(0, ...tries.values()),
            };
          }),
      ),
    listLimits: (query) => soon(() => keys.list(query)),
    findLimit: (limitId, shown) => soon(() => keys.find(limitId, shown)),
    whereWaits: (order, shown) => soon(() => keys.whereWaits(order, shown)),
    stalledLimits: (movedBefore, limit) => soon(() => keys.stalled(movedBefore, limit)),
    backlog: (wall, steady) =>
      soon(() => {
        const timers = allTimers().filter(({ dueAt }) => dueAt !== undefined);
        const nextMs = timers.map((timer) => dueTimeOf(timer) - (timer.countdown === undefined ? wall : steady));
        return {
          overdueTimers: nextMs.filter((ms) => ms <= 0).length,
          ...(nextMs.length === 0 ? {} : { nextTimerAt: wall + nextMs.reduce((a, b) => Math.min(a, b)) }),
          outboxRows: outbox.size,
        };
      }),
    queuedRuns: (reach, limit) =>
      soon(() => {
        const queued = Map.groupBy(
          all().flatMap(({ record }) =>
            record.queueOrder !== undefined && reaches(reach, record.project) ? [record] : [],
          ),
          ({ definitionOwner, definitionId }) => ownedId(definitionOwner, definitionId),
        );
        return [...queued]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .flatMap(([, [first, ...others]]) =>
            first === undefined
              ? []
              : [
                  {
                    definitionOwner: first.definitionOwner,
                    definitionId: first.definitionId,
                    runs: 1 + others.length,
                  },
                ],
          )
          .slice(0, limit);
      }),
    counts: () =>
      soon(() => ({
        definitionVersions: [...definitions.values()].reduce((sum, versions) => sum + versions.size, 0),
        openRuns: all().filter(({ record }) => !hasEnded(record.status)).length,
        quarantined: all().filter(({ record }) => record.fault !== undefined).length,
      })),
  };
};
