import type { LimitLine, LimitPlace, LimitRecord } from '../limits.ts';
import type {
  ActorRecord,
  AttemptRecord,
  Checkpoint,
  DefinitionRecord,
  JournalRow,
  JsonText,
  OutboxRow,
  ParkedEvent,
  RunRecord,
  SeenEvent,
  StoredDocuments,
  StoredRun,
  TimerRecord,
  WaitRecord,
  WorkerRecord,
} from '../records.ts';
import type { PastDocuments } from '../lookups.ts';
import { type DefinitionOwner, ownedId } from '../../../model/definition/owner.ts';
import { reaches } from '../../../model/scope.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { MatchingRuns, RunFilter } from '../run-filter.ts';
import { type IsOrphaned, matchesRun } from '../run-conditions.ts';

/** All that belongs to one run. */
export type RunShelf = {
  record: RunRecord;
  readonly journal: JournalRow[];
  readonly checkpoints: Checkpoint[];
  readonly documents: Map<string, JsonText>;
  /** In which step, by entries, a document was written, where that is known. */
  readonly entries: Map<string, number>;
  /** Documents that were replaced, by name, in order. */
  readonly replaced: Map<string, { readonly entry: number; readonly body: JsonText }[]>;
  /** By step, then by visit. */
  readonly outputs: Map<string, Map<number, JsonText>>;
  readonly timers: Map<string, TimerRecord>;
  waits: WaitRecord[];
  readonly attempts: string[];
  readonly children: string[];
};

/** An actor with a row of its own. It has one timer at the most. */
export type ActorShelf = { record: ActorRecord; timer: TimerRecord | undefined };

/** All that the store holds. */
export type Shelves = ReturnType<typeof emptyShelves>;

export const emptyShelves = () => {
  const runs = new Map<string, RunShelf>();
  return {
    runs,
    /** By `pair` of type and id. */
    actors: new Map<string, ActorShelf>(),
    /** Descendants by trace. */
    treeSizes: new Map<string, number>(),
    attempts: new Map<string, AttemptRecord>(),
    /** By `ownedId`, then by version. */
    definitions: new Map<string, Map<number, DefinitionRecord>>(),
    workers: new Map<string, WorkerRecord>(),
    /** Runs by `pair` of project and idempotency key. */
    idempotency: new Map<string, string>(),
    /** By `pair` of project and event id. */
    seen: new Map<string, SeenEvent>(),
    parked: new Map<number, ParkedEvent>(),
    outbox: new Map<number, OutboxRow>(),
    limits: new Map<string, LimitRecord>(),
    lines: new Map<string, LimitLine>(),
    /** By order. */
    places: new Map<number, LimitPlace>(),
  };
};

/** One key of two texts. */
export const pair = (a: string, b: string): string => JSON.stringify([a, b]);

/** What the shelves answer to both halves. */
export const readingOf = ({ runs, actors, attempts, definitions }: Shelves) => {
  const shelfOf = (runId: string): RunShelf => {
    const shelf = runs.get(runId);
    if (shelf === undefined) throw new StoreUnavailable(`the runs store holds no run ${runId}`);
    return shelf;
  };

  const childrenOf = (shelf: RunShelf): RunShelf[] => shelf.children.flatMap((runId) => runs.get(runId) ?? []);

  const all = (): RunShelf[] => [...runs.values()];
  const allTimers = (): TimerRecord[] => [
    ...all().flatMap(({ timers }) => [...timers.values()]),
    ...[...actors.values()].flatMap(({ timer }) => timer ?? []),
  ];
  const familyOf = (shelf: RunShelf): RunShelf[] => [shelf, ...childrenOf(shelf).flatMap(familyOf)];

  const latest = (owner: DefinitionOwner, id: string): DefinitionRecord | undefined => {
    const versions = definitions.get(ownedId(owner, id));
    return versions?.get(Math.max(...versions.keys()));
  };

  const storedRun = (shelf: RunShelf): StoredRun => ({
    record: shelf.record,
    nextSeq: (shelf.journal.at(-1)?.lastSeq ?? -1) + 1,
  });

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

  const isOrphaned: IsOrphaned = ({ runId }) =>
    (runs.get(runId)?.attempts ?? []).some((leaseId) => attempts.get(leaseId)?.state === 'orphaned');
  const matchingRuns = (query: RunFilter, after: string, scan: number): MatchingRuns => {
    const rows = all()
      .map(({ record }) => record)
      .filter(({ runId }) => runId > after)
      .toSorted((a, b) => (a.runId < b.runId ? -1 : 1))
      .slice(0, scan);
    const last = rows.length < scan ? undefined : rows.at(-1);
    return {
      runIds: rows.flatMap((record) =>
        reaches(query.reach, record.project) && matchesRun(record, query, isOrphaned) ? [record.runId] : [],
      ),
      ...(last === undefined ? {} : { upTo: last.runId }),
    };
  };

  const identityOf = ({ runId, project, definitionOwner, definitionId, definitionVersion }: RunRecord) => ({
    runId,
    project,
    definitionOwner,
    definitionId,
    definitionVersion,
  });

  /** The newest output up to a visit, with its visit. */
  const outputUpTo = (shelf: RunShelf, stepId: string, most: number): readonly [number, JsonText] | undefined =>
    [...(shelf.outputs.get(stepId) ?? [])].filter(([visit]) => visit <= most).toSorted(([a], [b]) => b - a)[0];

  /** State and last event as they were when the run entered its step of this number. */
  const documentsBefore = (shelf: RunShelf, entry: number): readonly (readonly [string, JsonText, number])[] =>
    [...shelf.documents].flatMap(([name, body]): (readonly [string, JsonText, number])[] => {
      if (name === 'input' || name === 'output') return [];
      const versions = [...(shelf.replaced.get(name) ?? []), { entry: shelf.entries.get(name) ?? -1, body }];
      const then = versions.findLast((one) => one.entry < entry);
      return then === undefined ? [] : [[name, then.body, then.entry]];
    });

  const pastDocumentsOf = (
    shelf: RunShelf,
    { entry, outputs }: { readonly entry: number; readonly outputs: readonly (readonly [string, number])[] },
  ): PastDocuments => {
    const before = documentsBefore(shelf, entry);
    const event = before.find(([name]) => name === 'event')?.[1];
    return {
      input: shelf.documents.get('input') ?? 'null',
      ...(event === undefined ? {} : { event }),
      state: before.flatMap(([name, body]) =>
        name.startsWith('state/') ? [[name.slice('state/'.length), body] as const] : [],
      ),
      steps: outputs.flatMap(([stepId, visit]) => {
        const output = outputUpTo(shelf, stepId, visit);
        return output === undefined ? [] : [[stepId, output[1]] as const];
      }),
      ...(before.some(([, , written]) => written < 0) ? { ageUnknown: true } : {}),
    };
  };

  return {
    outputUpTo,
    documentsBefore,
    pastDocumentsOf,
    shelfOf,
    childrenOf,
    all,
    allTimers,
    matchingRuns,
    isOrphaned,
    familyOf,
    latest,
    storedRun,
    documentsOf,
    identityOf,
  };
};
