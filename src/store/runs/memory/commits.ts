import { isLive } from '../../../machines/lease.ts';
import { ownedId, SERVICE } from '../../../model/definition/owner.ts';
import { hasEnded, type OpenRunStatus } from '../../../model/run.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { Changes, TakenOver } from '../changes.ts';
import type { ChildResult, Found, Lookup } from '../lookups.ts';
import { outboxBatch } from '../outbox-batch.ts';
import {
  actorTimerNames,
  carriedOverNames,
  type DefinitionRecord,
  dueTimeOf,
  type JsonText,
  type TimerRecord,
} from '../records.ts';
import type { DueTimer, RunCommits } from '../run-commits.ts';
import { memoryLimits } from './limits.ts';
import { type ActorShelf, pair, readingOf, type RunShelf, type Shelves } from './shelves.ts';

const isCarriedOver = ({ name }: { readonly name: string }): boolean =>
  (carriedOverNames as readonly string[]).includes(name);
const isDue = (timer: TimerRecord, wall: number, steady: number): timer is DueTimer =>
  timer.dueAt !== undefined && dueTimeOf(timer) <= (timer.countdown === undefined ? wall : steady);
const byOrder = (a: { order: number }, b: { order: number }): number => a.order - b.order;
const highest = (numbers: Iterable<number>): number => {
  let found = 0;
  for (const number of numbers) if (number > found) found = number;
  return found;
};

/** What a commit needs, in memory. `soon` answers later, in the order of the calls, as a store does that is elsewhere. */
export const memoryCommits = (shelves: Shelves, soon: <T>(work: () => T) => Promise<T>): RunCommits => {
  const { runs, actors, treeSizes, attempts, definitions, workers, idempotency, seen, parked, outbox } = shelves;
  const {
    outputUpTo,
    documentsBefore,
    pastDocumentsOf,
    shelfOf,
    childrenOf,
    all,
    allTimers,
    matchingRuns,
    latest,
    storedRun,
    documentsOf,
    identityOf,
  } = readingOf(shelves);

  const actorOf = (type: string, id: string): ActorShelf => {
    const shelf = actors.get(pair(type, id));
    if (shelf === undefined) throw new StoreUnavailable(`the runs store holds no ${type} ${id}`);
    return shelf;
  };

  const keys = memoryLimits(shelves);

  const erase = (runId: string): void => {
    const shelf = runs.get(runId);
    if (shelf === undefined) return;
    runs.delete(runId);
    const { record } = shelf;
    for (const leaseId of shelf.attempts) attempts.delete(leaseId);
    if (record.idempotencyKey !== undefined) idempotency.delete(pair(record.project, record.idempotencyKey));
    for (const [no, row] of outbox) if (row.runId === runId) outbox.delete(no);
    for (const [key, event] of seen) if (event.runId === runId) seen.delete(key);
    if (record.parent === undefined) treeSizes.delete(record.traceId);
    else {
      const siblings = runs.get(record.parent.runId)?.children;
      if (siblings !== undefined) siblings.splice(siblings.indexOf(runId), 1);
    }
  };

  /** Everything that can be refused is refused before the first change: a commit happens completely or not at all. */
  const check = (changes: Changes): void => {
    const versions = new Map<string, number>();
    for (const { before, after } of changes.runsUpdated) {
      const stored = versions.get(before.runId) ?? runs.get(before.runId)?.record.version;
      versions.set(before.runId, after.version);
      if (stored !== before.version)
        throw new StoreUnavailable(
          `run ${before.runId} is at version ${stored} in the store, not at ${before.version}: another process writes to it`,
        );
    }
    const removed = new Set(changes.actorsRemoved.map(({ type, id }) => pair(type, id)));
    for (const { before } of changes.actorsUpdated) {
      const stored = actors.get(pair(before.type, before.id))?.record.version;
      if (stored !== before.version)
        throw new StoreUnavailable(
          `${before.type} ${before.id} is at version ${stored} in the store, not at ${before.version}: another process writes to it`,
        );
    }
    const lasts = new Map<string, number>();
    for (const { runId, firstSeq, lastSeq } of changes.journal) {
      const last = lasts.get(runId) ?? runs.get(runId)?.journal.at(-1)?.lastSeq ?? -1;
      lasts.set(runId, lastSeq);
      if (firstSeq !== last + 1 || lastSeq < firstSeq)
        throw new StoreUnavailable(`the journal of run ${runId} would have a gap at ${last + 1}`);
    }
    const taken =
      changes.runsInserted.find(({ runId }) => runs.has(runId))?.runId ??
      changes.attemptsInserted.find(({ leaseId }) => attempts.has(leaseId))?.leaseId ??
      changes.actorsInserted.find(({ type, id }) => actors.has(pair(type, id)) && !removed.has(pair(type, id)))?.id ??
      changes.definitions.find(({ owner, id, version }) => definitions.get(ownedId(owner, id))?.has(version))?.id ??
      changes.outbox.find(({ no }) => outbox.has(no))?.no ??
      changes.parked.find(({ order }) => parked.has(order))?.order;
    for (const { order, runId } of changes.placesSet) {
      const holder = shelves.places.get(order)?.runId ?? runId;
      if (holder !== runId)
        throw new StoreUnavailable(`place ${order} is that of run ${holder} in the store, not of ${runId}`);
    }
    if (taken !== undefined) throw new StoreUnavailable(`the runs store holds ${taken} already`);
    for (const { project, idempotencyKey } of changes.runsInserted)
      if (idempotencyKey !== undefined && idempotency.has(pair(project, idempotencyKey)))
        throw new StoreUnavailable(`an idempotency key of project ${project} is used twice`);
  };

  /** What a document of this name holds is about to be replaced in a later step. */
  const keepReplaced = ({ documents, entries, replaced }: RunShelf, name: string, entry: number): void => {
    const body = documents.get(name);
    const written = entries.get(name) ?? -1;
    if (body !== undefined && written < entry)
      replaced.set(name, [...(replaced.get(name) ?? []), { entry: written, body }]);
    entries.set(name, entry);
  };

  const takeOver = ({ runId, from, entry, outputs, input }: TakenOver): void => {
    const source = shelfOf(from);
    const shelf = shelfOf(runId);
    const given = source.documents.get('input');
    if (input && given !== undefined) shelf.documents.set('input', given);
    for (const [name, body] of documentsBefore(source, entry)) {
      shelf.documents.set(name, body);
      shelf.entries.set(name, 0);
    }
    for (const [stepId, most] of outputs) {
      const output = outputUpTo(source, stepId, most);
      if (output !== undefined) shelf.outputs.set(stepId, new Map([output]));
    }
  };

  const write = (changes: Changes): void => {
    check(changes);
    for (const record of changes.runsInserted) {
      runs.set(record.runId, {
        record,
        journal: [],
        checkpoints: [],
        documents: new Map(),
        entries: new Map(),
        replaced: new Map(),
        outputs: new Map(),
        timers: new Map(),
        waits: [],
        attempts: [],
        children: [],
      });
      if (record.idempotencyKey !== undefined)
        idempotency.set(pair(record.project, record.idempotencyKey), record.runId);
    }
    for (const { runId, parent } of changes.runsInserted)
      if (parent !== undefined) shelfOf(parent.runId).children.push(runId);
    for (const { after } of changes.runsUpdated) shelfOf(after.runId).record = after;
    for (const { type, id } of changes.actorsRemoved) actors.delete(pair(type, id));
    for (const record of changes.actorsInserted) actors.set(pair(record.type, record.id), { record, timer: undefined });
    for (const { after } of changes.actorsUpdated) actorOf(after.type, after.id).record = after;
    for (const { traceId, descendants } of changes.treeSizes) treeSizes.set(traceId, descendants);
    for (const record of changes.attemptsInserted) {
      attempts.set(record.leaseId, record);
      shelfOf(record.runId).attempts.push(record.leaseId);
    }
    for (const record of changes.attemptsUpdated) attempts.set(record.leaseId, record);
    for (const row of changes.journal) shelfOf(row.runId).journal.push(row);
    for (const row of changes.checkpoints) shelfOf(row.runId).checkpoints.push(row);
    for (const taken of changes.takenOver) takeOver(taken);
    for (const { runId, name, body, entry } of changes.documents) {
      const shelf = shelfOf(runId);
      if (entry !== undefined) keepReplaced(shelf, name, entry);
      shelf.documents.set(name, body);
    }
    for (const { runId, stepId, visit, body } of changes.outputs) {
      const { outputs } = shelfOf(runId);
      const visits = outputs.get(stepId) ?? new Map<number, JsonText>();
      outputs.set(stepId, visits.set(visit, body));
    }
    for (const { runId, name } of changes.timersCleared) {
      const actor = actors.get(pair(name, runId));
      if (actor === undefined) runs.get(runId)?.timers.delete(name);
      else actor.timer = undefined;
    }
    for (const timer of changes.timersSet)
      if (actorTimerNames.includes(timer.name)) actorOf(timer.name, timer.runId).timer = timer;
      else shelfOf(timer.runId).timers.set(timer.name, timer);
    for (const runId of changes.waitsClosed) shelfOf(runId).waits = [];
    for (const wait of changes.waitsOpened) shelfOf(wait.runId).waits.push(wait);
    keys.write(changes);
    for (const event of changes.parked) {
      parked.set(event.order, event);
    }
    for (const order of changes.unparked) parked.delete(order);
    for (const event of changes.eventsSeen) seen.set(pair(event.project, event.eventId), event);
    for (const record of changes.definitions) {
      const key = ownedId(record.owner, record.id);
      const versions = definitions.get(key) ?? new Map<number, DefinitionRecord>();
      definitions.set(key, versions.set(record.version, record));
    }
    for (const worker of changes.workers) workers.set(worker.workerId, worker);
    for (const { workerId, at } of changes.workersSeen) {
      const worker = workers.get(workerId);
      if (worker !== undefined) workers.set(workerId, { ...worker, lastSeenAt: at });
    }
    for (const { workerId, before } of changes.workersForgotten)
      if ((workers.get(workerId)?.lastSeenAt ?? before) < before) workers.delete(workerId);
    for (const row of changes.outbox) {
      outbox.set(row.no, row);
    }
    if (changes.outboxDelivered !== undefined)
      for (const no of outbox.keys()) if (no <= changes.outboxDelivered) outbox.delete(no);
    for (const runId of changes.erased) erase(runId);
    const { parkedUntil } = changes;
    if (parkedUntil !== undefined) {
      for (const [order, event] of parked) if (event.at > parkedUntil) parked.set(order, { ...event, at: parkedUntil });
      for (const [key, event] of seen)
        if (event.runId === undefined && event.at > parkedUntil) seen.set(key, { ...event, at: parkedUntil });
    }
    if (changes.parkedBefore !== undefined) {
      for (const [order, event] of parked) if (event.at < changes.parkedBefore) parked.delete(order);
      for (const [key, event] of seen)
        if (event.runId === undefined && event.at < changes.parkedBefore) seen.delete(key);
    }
  };

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
      case 'documents_at': {
        const shelf = runs.get(lookup.runId);
        return shelf === undefined ? undefined : pastDocumentsOf(shelf, lookup);
      }
      case 'definition':
        return definitions.get(ownedId(lookup.owner, lookup.id))?.get(lookup.version);
      case 'latest':
        return latest(lookup.owner, lookup.id) ?? latest(SERVICE, lookup.id);
      case 'worker':
        return workers.get(lookup.workerId);
      case 'idempotency':
        return idempotency.get(pair(lookup.project, lookup.key));
      case 'event_id':
        return seen.get(pair(lookup.project, lookup.eventId));
      case 'event_mailbox': {
        const isOf = (one: { project: string; event: string; key: string }): boolean =>
          one.project === lookup.project && one.event === lookup.event && one.key === lookup.key;
        const waits = [...runs.values()].flatMap(({ waits: open, record }) =>
          record.fault === undefined ? open.filter(isOf) : [],
        );
        const events = [...parked.values()].filter((event) => isOf(event) && event.at > lookup.parkedAfter);
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
            record.definitionOwner === lookup.definitionOwner &&
            record.definitionId === lookup.definitionId &&
            record.queueOrder !== undefined &&
            (record.queueOrder > lookup.after.order ||
              (record.queueOrder === lookup.after.order && record.runId > lookup.after.runId))
              ? [{ ...identityOf(record), order: record.queueOrder }]
              : [],
          )
          .toSorted((a, b) => a.order - b.order || (a.runId < b.runId ? -1 : 1))
          .slice(0, lookup.limit);
      case 'held_runs':
        return [...runs.values()]
          .flatMap(({ record }) =>
            record.definitionOwner === lookup.definitionOwner &&
            record.definitionId === lookup.definitionId &&
            record.held === lookup.held &&
            record.fault === undefined &&
            record.runId > lookup.after
              ? [record.runId]
              : [],
          )
          .toSorted()
          .slice(0, lookup.limit);
      case 'held_definitions':
        return [
          ...new Set(
            [...runs.values()].flatMap(({ record }) =>
              record.held === lookup.held ? [ownedId(record.definitionOwner, record.definitionId)] : [],
            ),
          ),
        ].toSorted();
      case 'quarantined':
        return [...runs.values()]
          .flatMap(({ record }) => (record.fault !== undefined && record.runId > lookup.after ? [record.runId] : []))
          .toSorted()
          .slice(0, lookup.limit);
      case 'carried_over': {
        const { wall, steady, after, limit } = lookup;
        const place = ({ runId, name }: { runId: string; name: string }): string => `${runId} ${name}`;
        return all()
          .flatMap(({ timers, record: { project, traceId } }) =>
            [...timers.values()].flatMap((timer) =>
              isCarriedOver(timer) && isDue(timer, wall, steady)
                ? [{ runId: timer.runId, name: timer.name, dueAt: timer.dueAt, project, traceId }]
                : [],
            ),
          )
          .filter((timer) => after === undefined || place(timer) > place(after))
          .toSorted((a, b) => (place(a) < place(b) ? -1 : 1))
          .slice(0, limit);
      }
      case 'kept_actor':
        return actors.get(pair(lookup.type, lookup.id))?.record;
      case 'kept_actors':
        return [...actors.values()]
          .flatMap(({ record }) => (record.type === lookup.type && record.id > lookup.after ? [record] : []))
          .filter(({ fault, updatedAt }) =>
            lookup.which === 'quarantined' ? fault !== undefined : updatedAt > lookup.which.changedAfter,
          )
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
          .slice(0, lookup.limit);
      case 'matching_runs':
        return matchingRuns(lookup.query, lookup.after, lookup.scan);
      case 'tree_size':
        return { traceId: lookup.traceId, descendants: treeSizes.get(lookup.traceId) ?? 0 };
      case 'limit':
        return shelves.limits.get(lookup.limitId);
      case 'limit_ids':
        return [...shelves.limits.keys()].slice(0, lookup.limit);
      case 'limit_line':
        return shelves.lines.get(lookup.lineId);
      case 'limit_place':
        return shelves.places.get(lookup.order);
      case 'limit_front':
        return keys.front(lookup.limitId, lookup.limit);
      case 'limit_holders':
        return keys.holders(lookup.limitId, lookup.limit);
      case 'limits_due':
        return keys.due(lookup.steady, lookup.after, lookup.limit);
      case 'open_children': {
        const shelf = runs.get(lookup.runId);
        return shelf === undefined
          ? []
          : childrenOf(shelf).flatMap(({ record }) => (hasEnded(record.status) ? [] : [record.runId]));
      }
      case 'child_results': {
        const shelf = runs.get(lookup.runId);
        if (shelf === undefined) return [];
        return childrenOf(shelf).flatMap((child) => {
          const { runId, status, snapshot, parent } = child.record;
          if (parent?.stepId !== lookup.stepId || parent.visit !== lookup.visit) return [];
          const output = child.documents.get('output');
          const result: ChildResult = {
            index: parent.index,
            runId,
            status,
            ...(output === undefined ? {} : { output }),
            ...(status === 'failed' ? { snapshot } : {}),
          };
          return [result];
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

  return {
    load: (lookups) => soon(() => lookups.map(find)),
    commit: (changes) => soon(() => write(changes)),
    resume: (leasesUntil, restartedAt) =>
      soon(() => {
        const live = [...attempts.values()].filter(({ state }) => isLive(state));
        for (const record of live) attempts.set(record.leaseId, { ...record, expiresAt: leasesUntil });
        if (restartedAt !== undefined) {
          keys.resume(restartedAt);
          const countedOn = (timer: TimerRecord): TimerRecord => {
            if (timer.countdown === undefined) return timer;
            const { ms } = timer.countdown;
            const setAt = Math.min(timer.countdown.setAt, restartedAt);
            return { ...timer, countdown: { dueAt: setAt + ms, setAt, ms } };
          };
          for (const { timers } of all()) for (const [name, timer] of timers) timers.set(name, countedOn(timer));
          for (const shelf of actors.values()) if (shelf.timer !== undefined) shelf.timer = countedOn(shelf.timer);
        }
        const openIn = (status: OpenRunStatus): number => all().filter(({ record }) => record.status === status).length;
        return {
          openRuns: {
            scheduled: openIn('scheduled'),
            queued: openIn('queued'),
            running: openIn('running'),
            waiting: openIn('waiting'),
            paused: openIn('paused'),
          },
          liveLeases: live.map(({ leaseId, workerId, startedAt, timeoutAt }) => ({
            leaseId,
            workerId,
            expiresAt: leasesUntil,
            ...(startedAt === undefined ? {} : { startedAt }),
            ...(timeoutAt === undefined ? {} : { timeoutAt }),
          })),
          highest: {
            outboxNo: highest(outbox.keys()),
            order: highest([
              ...shelves.places.keys(),
              ...parked.keys(),
              ...all().flatMap(({ waits }) => waits.map(({ order }) => order)),
            ]),
            queueOrders: [
              ...Map.groupBy(
                all().flatMap(({ record: { priority, queueOrder } }) =>
                  queueOrder === undefined ? [] : [{ priority, queueOrder }],
                ),
                ({ priority }) => priority,
              ),
            ]
              .map(([priority, places]) => ({
                priority,
                queueOrder: places.map(({ queueOrder }) => queueOrder).reduce((a, b) => Math.max(a, b)),
              }))
              .toSorted((a, b) => a.priority - b.priority),
          },
        };
      }),
    dueTimers: (wall, limit, steady) =>
      soon(() =>
        allTimers()
          .filter((timer): timer is DueTimer => isDue(timer, wall, steady) && !isCarriedOver(timer))
          .toSorted((a, b) => dueTimeOf(a) - dueTimeOf(b) || (a.runId < b.runId ? -1 : 1))
          .slice(0, limit),
      ),
    readOutbox: (after, limit, characters) =>
      soon(() => {
        const rows = [...outbox.values()].filter(({ no }) => no > after).toSorted((a, b) => a.no - b.no);
        return outboxBatch(rows, limit, characters);
      }),
  };
};
