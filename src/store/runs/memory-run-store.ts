import { isLive } from '../../machines/lease.ts';
import { reaches } from '../../model/scope.ts';
import { hasEnded, openRunStatuses } from '../../model/run.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type {
  ActorRecord,
  ActorRow,
  AttemptRecord,
  Changes,
  Checkpoint,
  DefinitionRecord,
  Found,
  JournalRow,
  JsonText,
  Lookup,
  OutboxRow,
  ParkedEvent,
  RunRecord,
  RunStore,
  SeenEvent,
  StoredDocuments,
  StoredRun,
  TimerRecord,
  WaitRecord,
  WorkerRecord,
} from './run-store.ts';
import { outboxBatch } from './run-store.ts';

/** All that belongs to one run. */
type RunShelf = {
  record: RunRecord;
  readonly journal: JournalRow[];
  readonly checkpoints: Checkpoint[];
  readonly documents: Map<string, JsonText>;
  /** By step, then by visit. */
  readonly outputs: Map<string, Map<number, JsonText>>;
  readonly timers: Map<string, TimerRecord>;
  wait: WaitRecord | undefined;
  readonly attempts: string[];
  readonly children: string[];
};

const byOrder = (a: { order: number }, b: { order: number }): number => a.order - b.order;
const newestFirst = (a: RunRecord, b: RunRecord): number =>
  b.updatedAt - a.updatedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0);

/**
 * Runs in memory, gone with the process: what a service without a runs file hosts its monitors on, and what simulations
 * run on. Keeps the promises of `RunStore` but the one that outlives the process.
 */
export const createMemoryRunStore = (): RunStore => {
  const runs = new Map<string, RunShelf>();
  const attempts = new Map<string, AttemptRecord>();
  const definitions = new Map<string, Map<number, DefinitionRecord>>();
  const workers = new Map<string, WorkerRecord>();
  const idempotency = new Map<string, string>();
  const seen = new Map<string, SeenEvent>();
  const parked = new Map<number, ParkedEvent>();
  const outbox = new Map<number, OutboxRow>();
  const actors = new Map<string, ActorRecord>();
  let nextOutboxNo = 1;
  let nextOrder = 1;
  let closed = false;

  const pair = (a: string, b: string): string => JSON.stringify([a, b]);
  const shelfOf = (runId: string): RunShelf => {
    const shelf = runs.get(runId);
    if (shelf === undefined) throw new StoreUnavailable(`the runs store holds no run ${runId}`);
    return shelf;
  };

  const erase = (runId: string): void => {
    const shelf = runs.get(runId);
    if (shelf === undefined) return;
    runs.delete(runId);
    const { record } = shelf;
    for (const leaseId of shelf.attempts) attempts.delete(leaseId);
    if (record.idempotencyKey !== undefined) idempotency.delete(pair(record.project, record.idempotencyKey));
    for (const [no, row] of outbox) if (row.runId === runId) outbox.delete(no);
    for (const [key, event] of seen) if (event.runId === runId) seen.delete(key);
    if (record.parent !== undefined) {
      const siblings = runs.get(record.parent.runId)?.children;
      if (siblings !== undefined) siblings.splice(siblings.indexOf(runId), 1);
    }
  };

  /** Everything that can be refused is refused before the first change: a commit happens whole or not at all. */
  const check = (changes: Changes): void => {
    const versions = new Map<string, number>();
    for (const { record } of changes.runsUpdated) {
      const stored = versions.get(record.runId) ?? runs.get(record.runId)?.record.version;
      versions.set(record.runId, record.version);
      if (stored !== record.version - 1)
        throw new StoreUnavailable(
          `run ${record.runId} is at version ${stored} in the store, not at ${record.version - 1}: another process writes to it`,
        );
    }
    const lasts = new Map<string, number>();
    for (const { runId, firstSeq, lastSeq } of changes.journal) {
      const last = lasts.get(runId) ?? runs.get(runId)?.journal.at(-1)?.lastSeq ?? -1;
      lasts.set(runId, lastSeq);
      if (firstSeq !== last + 1 || lastSeq < firstSeq)
        throw new StoreUnavailable(`the journal of run ${runId} would have a gap at ${last + 1}`);
    }
    for (const { project, idempotencyKey } of changes.runsInserted)
      if (idempotencyKey !== undefined && idempotency.has(pair(project, idempotencyKey)))
        throw new StoreUnavailable(`an idempotency key of project ${project} is used twice`);
  };

  const write = (changes: Changes): void => {
    check(changes);
    for (const record of changes.runsInserted) {
      runs.set(record.runId, {
        record,
        journal: [],
        checkpoints: [],
        documents: new Map(),
        outputs: new Map(),
        timers: new Map(),
        wait: undefined,
        attempts: [],
        children: [],
      });
      if (record.idempotencyKey !== undefined)
        idempotency.set(pair(record.project, record.idempotencyKey), record.runId);
    }
    for (const { runId, parent } of changes.runsInserted)
      if (parent !== undefined) shelfOf(parent.runId).children.push(runId);
    for (const { record } of changes.runsUpdated) shelfOf(record.runId).record = record;
    for (const record of changes.attemptsInserted) {
      attempts.set(record.leaseId, record);
      shelfOf(record.runId).attempts.push(record.leaseId);
    }
    for (const record of changes.attemptsUpdated) attempts.set(record.leaseId, record);
    for (const row of changes.journal) shelfOf(row.runId).journal.push(row);
    for (const row of changes.checkpoints) shelfOf(row.runId).checkpoints.push(row);
    for (const { runId, name, body } of changes.documents) shelfOf(runId).documents.set(name, body);
    for (const { runId, stepId, visit, body } of changes.outputs) {
      const { outputs } = shelfOf(runId);
      const visits = outputs.get(stepId) ?? new Map<number, JsonText>();
      outputs.set(stepId, visits.set(visit, body));
    }
    for (const { runId, name } of changes.timersCleared) runs.get(runId)?.timers.delete(name);
    for (const timer of changes.timersSet) shelfOf(timer.runId).timers.set(timer.name, timer);
    for (const runId of changes.waitsClosed) shelfOf(runId).wait = undefined;
    for (const wait of changes.waitsOpened) {
      shelfOf(wait.runId).wait = wait;
      nextOrder = Math.max(nextOrder, wait.order + 1);
    }
    for (const event of changes.parked) {
      parked.set(event.order, event);
      nextOrder = Math.max(nextOrder, event.order + 1);
    }
    for (const order of changes.unparked) parked.delete(order);
    for (const event of changes.eventsSeen) seen.set(pair(event.project, event.eventId), event);
    for (const record of changes.definitions) {
      const versions = definitions.get(record.id) ?? new Map<number, DefinitionRecord>();
      definitions.set(record.id, versions.set(record.version, record));
    }
    for (const worker of changes.workers) workers.set(worker.workerId, worker);
    for (const { workerId, at } of changes.workersSeen) {
      const worker = workers.get(workerId);
      if (worker !== undefined) workers.set(workerId, { ...worker, lastSeenAt: Math.max(worker.lastSeenAt, at) });
    }
    for (const { workerId, before } of changes.workersForgotten)
      if ((workers.get(workerId)?.lastSeenAt ?? before) < before) workers.delete(workerId);
    for (const row of changes.outbox) {
      outbox.set(row.no, row);
      nextOutboxNo = Math.max(nextOutboxNo, row.no + 1);
    }
    if (changes.outboxDelivered !== undefined)
      for (const no of outbox.keys()) if (no <= changes.outboxDelivered) outbox.delete(no);
    for (const actor of changes.actors) actors.set(pair(actor.type, actor.id), actor);
    for (const runId of changes.erased) erase(runId);
    if (changes.parkedBefore !== undefined) {
      for (const [order, event] of parked) if (event.at < changes.parkedBefore) parked.delete(order);
      for (const [key, event] of seen)
        if (event.runId === undefined && event.at < changes.parkedBefore) seen.delete(key);
    }
  };

  const latest = (id: string): DefinitionRecord | undefined => {
    const versions = definitions.get(id);
    return versions?.get(Math.max(...versions.keys()));
  };

  const storedRun = (shelf: RunShelf): StoredRun => ({
    record: shelf.record,
    nextSeq: (shelf.journal.at(-1)?.lastSeq ?? -1) + 1,
  });

  const lastEntryAt = ({ journal }: RunShelf): number =>
    (JSON.parse(journal.at(-1)?.entries ?? '[]') as readonly { at: number }[]).at(-1)?.at ?? 0;

  const newestOutput = (shelf: RunShelf, stepId: string): JsonText | undefined => {
    const visits = shelf.outputs.get(stepId);
    return visits === undefined || visits.size === 0 ? undefined : visits.get(Math.max(...visits.keys()));
  };

  const documentsOf = (shelf: RunShelf, steps: readonly string[]): StoredDocuments => {
    const output = shelf.documents.get('output');
    const event = shelf.documents.get('event');
    return {
      input: shelf.documents.get('input') ?? 'null',
      ...(output === undefined ? {} : { output }),
      ...(event === undefined ? {} : { event }),
      state: [...shelf.documents]
        .filter(([name]) => name.startsWith('state/'))
        .map(([name, body]) => [name.slice('state/'.length), body] as const),
      steps: steps.flatMap((stepId) => {
        const body = newestOutput(shelf, stepId);
        return body === undefined ? [] : [[stepId, body] as const];
      }),
    };
  };

  const childrenOf = (shelf: RunShelf): RunShelf[] => shelf.children.flatMap((runId) => runs.get(runId) ?? []);

  const find = (lookup: Lookup): Found[Lookup['kind']] => {
    switch (lookup.kind) {
      case 'run': {
        const shelf = runs.get(lookup.runId);
        return shelf === undefined ? undefined : storedRun(shelf);
      }
      case 'lease':
        return attempts.get(lookup.leaseId);
      case 'documents': {
        const shelf = runs.get(lookup.runId);
        return shelf === undefined ? undefined : documentsOf(shelf, lookup.steps);
      }
      case 'definition':
        return definitions.get(lookup.id)?.get(lookup.version);
      case 'latest':
        return latest(lookup.id);
      case 'worker':
        return workers.get(lookup.workerId);
      case 'idempotency':
        return idempotency.get(pair(lookup.project, lookup.key));
      case 'event_id':
        return seen.get(pair(lookup.project, lookup.eventId));
      case 'meeting': {
        const meets = (one: { project: string; event: string; key: string }): boolean =>
          one.project === lookup.project && one.event === lookup.event && one.key === lookup.key;
        const waits = [...runs.values()].flatMap(({ wait, record }) =>
          wait !== undefined && meets(wait) && record.fault === undefined ? [wait] : [],
        );
        const events = [...parked.values()].filter((event) => meets(event) && event.at > lookup.parkedAfter);
        return {
          waits: waits.toSorted(byOrder).slice(0, lookup.limit),
          moreWaits: waits.length > lookup.limit,
          parked: events.toSorted(byOrder).slice(0, lookup.limit),
          moreParked: events.length > lookup.limit,
        };
      }
      case 'runnable':
        return [...runs.values()]
          .flatMap(({ record }) =>
            record.definitionId === lookup.definitionId &&
            record.queueOrder !== undefined &&
            record.queueOrder > lookup.after
              ? [{ ...identityOf(record), order: record.queueOrder }]
              : [],
          )
          .toSorted((a, b) => a.order - b.order || (a.runId < b.runId ? -1 : 1))
          .slice(0, lookup.limit);
      case 'set_aside':
        return [...runs.values()]
          .flatMap(({ record }) => (record.fault !== undefined && record.runId > lookup.after ? [record.runId] : []))
          .toSorted()
          .slice(0, lookup.limit);
      case 'open_children': {
        const shelf = runs.get(lookup.runId);
        return shelf === undefined
          ? []
          : childrenOf(shelf).flatMap(({ record }) => (hasEnded(record.status) ? [] : [record.runId]));
      }
      case 'child_outputs': {
        const shelf = runs.get(lookup.runId);
        if (shelf === undefined) return [];
        return childrenOf(shelf).flatMap((child) => {
          const { parent } = child.record;
          return parent?.stepId === lookup.stepId && parent.visit === lookup.visit
            ? [[parent.index, child.documents.get('output')] as const]
            : [];
        });
      }
      case 'attempt_before':
        return runs
          .get(lookup.runId)
          ?.attempts.map((leaseId) => attempts.get(leaseId))
          .find(
            (record) =>
              record?.stepId === lookup.stepId &&
              record.visit === lookup.visit &&
              record.attempt === lookup.attempt - 1,
          );
      default:
        return lookup satisfies never;
    }
  };

  const identityOf = ({ runId, project, definitionId, definitionVersion }: RunRecord) => ({
    runId,
    project,
    definitionId,
    definitionVersion,
  });

  const guard = (): void => {
    if (closed) throw new StoreUnavailable('the runs store is closed');
  };
  /** Answers like a store that is elsewhere: later, and never with what it still works on. */
  const soon = async <T>(work: () => T): Promise<T> => {
    guard();
    await Promise.resolve();
    return work();
  };

  const all = (): RunShelf[] => [...runs.values()];
  const familyOf = (shelf: RunShelf): RunShelf[] => [shelf, ...childrenOf(shelf).flatMap(familyOf)];

  const actorRows = (type: 'run' | 'lease'): ActorRow[] =>
    type === 'run'
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
          version: 1,
          updatedAt: record.endedAt ?? record.startedAt ?? record.offeredAt,
        }));

  return {
    kind: 'memory',
    load: (lookups) => soon(() => lookups.map(find)),
    commit: (changes) => soon(() => write(changes)),
    resume: (leasesUntil) =>
      soon(() => {
        const live = [...attempts.values()].filter(({ state }) => isLive(state));
        for (const record of live)
          attempts.set(record.leaseId, { ...record, expiresAt: Math.max(record.expiresAt, leasesUntil) });
        return {
          liveLeases: live.map(({ leaseId, workerId, expiresAt, timeoutAt }) => ({
            leaseId,
            workerId,
            expiresAt: Math.max(expiresAt, leasesUntil),
            ...(timeoutAt === undefined ? {} : { timeoutAt }),
          })),
          nextOutboxNo,
          nextOrder,
          latestAt: Math.max(
            0,
            ...all().map(({ record }) => record.updatedAt),
            // What a lease tells of itself is an entry of its run, and changes nothing else of it.
            ...live.map(({ runId }) => lastEntryAt(shelfOf(runId))),
            ...[...parked.values()].map(({ at }) => at),
            ...[...workers.values()].map(({ lastSeenAt }) => lastSeenAt),
          ),
        };
      }),
    dueTimers: (now, limit) =>
      soon(() =>
        all()
          .flatMap(({ timers }) =>
            [...timers.values()].flatMap((timer) =>
              timer.dueAt !== undefined && timer.dueAt <= now ? [{ ...timer, dueAt: timer.dueAt }] : [],
            ),
          )
          .toSorted((a, b) => a.dueAt - b.dueAt || (a.runId < b.runId ? -1 : 1))
          .slice(0, limit),
      ),
    readOutbox: (after, limit, characters) =>
      soon(() => {
        const rows = [...outbox.values()].filter(({ no }) => no > after).toSorted((a, b) => a.no - b.no);
        return outboxBatch(rows, limit, characters);
      }),
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
          waits: shelf.wait === undefined ? [] : [shelf.wait],
          children: childrenOf(shelf).map(({ record }) => record),
        };
      }),
    listRuns: (query) =>
      soon(() =>
        all()
          .map(({ record }) => record)
          .filter(
            (record) =>
              reaches(query.reach, record.project) &&
              (query.status === undefined || record.status === query.status) &&
              (query.definitionId === undefined || record.definitionId === query.definitionId) &&
              (query.userId === undefined || record.userId === query.userId) &&
              (query.from === undefined || record.createdAt >= query.from) &&
              (query.to === undefined || record.createdAt < query.to),
          )
          .toSorted(newestFirst)
          .filter(
            (record) =>
              query.after === undefined ||
              record.updatedAt < query.after.updatedAt ||
              (record.updatedAt === query.after.updatedAt && record.runId < query.after.runId),
          )
          .slice(0, query.limit),
      ),
    journal: (runId, after, limit) =>
      soon(() => (runs.get(runId)?.journal ?? []).filter(({ lastSeq }) => lastSeq > after).slice(0, limit)),
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
    listDefinitions: (after, limit) =>
      soon(() =>
        [...definitions.keys()]
          .filter((id) => after === undefined || id > after)
          .toSorted()
          .slice(0, limit)
          .flatMap((id) => latest(id) ?? []),
      ),
    definitionVersions: (id) =>
      soon(() =>
        [...(definitions.get(id)?.values() ?? [])]
          .toSorted((a, b) => a.version - b.version)
          .map((record) => ({
            ...record,
            openRuns: all().filter(
              ({ record: run }) =>
                run.definitionId === id && run.definitionVersion === record.version && !hasEnded(run.status),
            ).length,
            workers: [...workers.values()].filter((worker) =>
              worker.definitions.some((held) => held.id === id && held.version === record.version),
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
              (openRunStatuses as readonly string[]).includes(shelf.record.status) &&
              shelf.record.fault === undefined &&
              shelf.record.queueOrder === undefined &&
              shelf.wait === undefined &&
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
            const { runId, definitionId, definitionVersion, snapshot } = shelf.record;
            return {
              runId,
              definitionId,
              definitionVersion,
              snapshot,
              maxStepAttempts: Math.max(0, ...tries.values()),
            };
          }),
      ),
    counts: () =>
      soon(() => ({
        definitionVersions: [...definitions.values()].reduce((sum, versions) => sum + versions.size, 0),
        openRuns: all().filter(({ record }) => !hasEnded(record.status)).length,
        quarantined: all().filter(({ record }) => record.fault !== undefined).length,
      })),
    ping: () => soon(() => {}),
    close: () => {
      closed = true;
      return Promise.resolve();
    },
  };
};
