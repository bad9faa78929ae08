import { type Phase, placeOf, RUN_MACHINE_VERSION, type RunEvent, type RunSnapshot } from '../../machines/run.ts';
import { decodeSnapshot, encodeSnapshot, restore, Unloadable } from '../../machines/persisted.ts';
import type { ExpressionScope } from '../../model/definition/expression-scope.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import type { JournalEntry, Run, RunSummary } from '../../model/run.ts';
import { formatTimestamp, unixNanoFromMillis } from '../../model/time.ts';
import type { Changes, DefinitionRecord, RunRecord, StoredDocuments, StoredRun } from '../../store/runs/run-store.ts';
import type { Turn } from '../kernel/kernel.ts';
import { type Program, type Programs, runMigrations } from './program.ts';

/** A run that this release cannot load. It is set aside: nothing moves it, and it stays readable. */
export class Quarantined extends Error {
  readonly runId: string;
  /** Why, in words for whoever looks at the actor. */
  readonly fault: string;
  constructor(runId: string, fault: string, options?: { cause?: unknown }) {
    super(`run ${runId} is set aside: ${fault}`, options);
    this.name = 'Quarantined';
    this.runId = runId;
    this.fault = fault;
  }
}

/** A run in memory: its row, its snapshot brought to life, and the journal entries that are not yet committed. */
export type RunActor = {
  /** Mutable only by the flush that numbers the change. */
  record: RunRecord;
  readonly snapshot: RunSnapshot;
  readonly program: Program;
  readonly nextSeq: number;
  /** Set when the snapshot or a column changed: the row is to be written. */
  readonly changed: boolean;
  pending: Pending | undefined;
};
/**
 * Journal entries of this group, and the machine events behind them with the number of entries of each. What earlier turns
 * of the group added is linked, not copied: a group may take thousands of turns of one run.
 */
type Pending = {
  readonly earlier: Pending | undefined;
  readonly firstSeq: number;
  readonly entries: readonly JournalEntry[];
  readonly events: readonly (readonly [event: RunEvent | null, entries: number])[];
};

/** The payloads of a run, parsed. Read when an expression or a worker needs them. */
export type RunDocuments = {
  readonly input: Json;
  readonly output?: Json;
  readonly event?: JsonObject;
  readonly state: JsonObject;
  readonly steps: { readonly [stepId: string]: { readonly output?: Json } };
  /** Characters of all that was written, replaced values included: what bounds memory and leases. */
  readonly characters: number;
};

export const runKey = (runId: string): string => `run/${runId}`;
export const leaseKey = (leaseId: string): string => `lease/${leaseId}`;
export const documentsKey = (runId: string): string => `documents/${runId}`;

/** A checkpoint is written when a commit passes a multiple of this many entries. */
const CHECKPOINT_ENTRIES = 512;

const isLive = (value: StoredRun | RunActor): value is RunActor => 'snapshot' in value;

/** @throws Unloadable for a snapshot that does not belong to this release's machine */
export const reviveRun = (program: Program, text: string): RunSnapshot =>
  restore(program.machine, RUN_MACHINE_VERSION, decodeSnapshot(text), runMigrations);

export const readProgram = (turn: Turn, programs: Programs, id: string, version: number): Program => {
  const record = turn.read(`definition/${id}@${version}`, { kind: 'definition', id, version });
  if (record === undefined) throw new Unloadable(`definition ${id} version ${version} is not in the store`);
  return programs(record);
};

/** A definition by its highest stored version, as this group left it. */
export const readLatest = (turn: Turn, id: string): DefinitionRecord | undefined =>
  turn.read(`latest/${id}`, { kind: 'latest', id });

/** @throws Quarantined when this release cannot load it; `undefined` when there is no such run */
export const readRun = (turn: Turn, programs: Programs, runId: string): RunActor | undefined => {
  const key = runKey(runId);
  const found: StoredRun | RunActor | undefined = turn.read(key, { kind: 'run', runId });
  if (found === undefined || isLive(found)) return found;
  const run = bringToLife(turn, programs, found);
  turn.keep(key, run);
  return run;
};

/** @throws Quarantined when it is set aside, or this release cannot load it */
export const bringToLife = (turn: Turn, programs: Programs, { record, nextSeq }: StoredRun): RunActor => {
  const { runId } = record;
  if (record.fault !== undefined) throw new Quarantined(runId, record.fault);
  try {
    const program = readProgram(turn, programs, record.definitionId, record.definitionVersion);
    return {
      record,
      snapshot: reviveRun(program, record.snapshot),
      program,
      nextSeq,
      changed: false,
      pending: undefined,
    };
  } catch (cause) {
    if (cause instanceof Unloadable) throw new Quarantined(runId, cause.message, { cause });
    throw cause;
  }
};

const isParsed = (value: StoredDocuments | RunDocuments): value is RunDocuments => !Array.isArray(value.state);

export const parseDocuments = (stored: StoredDocuments): RunDocuments => ({
  input: JSON.parse(stored.input) as Json,
  ...(stored.output === undefined ? {} : { output: JSON.parse(stored.output) as Json }),
  ...(stored.event === undefined ? {} : { event: JSON.parse(stored.event) as JsonObject }),
  state: parsedMap(stored.state, (body) => body),
  steps: parsedMap(stored.steps, (output) => ({ output })),
  characters:
    stored.input.length +
    (stored.output?.length ?? 0) +
    (stored.event?.length ?? 0) +
    charactersOf(stored.state) +
    charactersOf(stored.steps),
});

const charactersOf = (rows: readonly (readonly [string, string])[]): number =>
  rows.reduce((sum, [key, body]) => sum + key.length + body.length, 0);

/**
 * Input, state and outputs of one run together. Every lease carries them all, so they are bounded: a run that holds more
 * takes no further output and no state patch.
 */
export const RUN_CHARACTERS = 32 * 1024 * 1024;

/** About how many bytes memory holds under a key. */
export const weighRunMemory = (key: string, value: unknown): number =>
  key.startsWith('documents/') && typeof value === 'object' && value !== null && 'characters' in value
    ? 2 * (value as RunDocuments).characters
    : 0;

/** Stands where a visit ended without an output after one that had one: no JSON text is empty. */
export const NO_OUTPUT = '';

/** Keys come from outside, so the object has no prototype to be mistaken for. */
const parsedMap = <T>(
  rows: readonly (readonly [string, string])[],
  wrap: (body: Json) => T,
): { readonly [key: string]: T } => {
  const map: Record<string, T> = Object.create(null);
  for (const [key, body] of rows) if (body !== NO_OUTPUT) map[key] = wrap(JSON.parse(body) as Json);
  return map;
};

export const readDocuments = (turn: Turn, run: RunActor): RunDocuments => {
  const { runId } = run.record;
  const key = documentsKey(runId);
  const steps = Object.keys(run.snapshot.context.visits);
  const found: StoredDocuments | RunDocuments | undefined = turn.read(key, { kind: 'documents', runId, steps });
  if (found === undefined) throw new Error(`run ${runId} has no documents`);
  if (isParsed(found)) return found;
  const documents = parseDocuments(found);
  turn.keep(key, documents);
  return documents;
};

/** What templates and conditions of this run read. @see `model/definition/expression-scope.ts` */
export const scopeOf = (run: RunActor, documents: RunDocuments, item?: Json): ExpressionScope => {
  const { record, snapshot } = run;
  const { error, visits } = snapshot.context;
  return {
    input: documents.input,
    state: documents.state,
    steps: documents.steps,
    run: {
      run_id: record.runId,
      definition_id: record.definitionId,
      definition_version: record.definitionVersion,
      created_at: formatTimestamp(unixNanoFromMillis(record.createdAt)),
      project: record.project,
    },
    correlation: JSON.parse(record.correlation) as JsonObject,
    visits,
    ...(item === undefined ? {} : { item }),
    ...(documents.event === undefined ? {} : { event: documents.event }),
    ...(error === undefined
      ? {}
      : {
          error: {
            class: error.class,
            message: error.message,
            ...(error.code === undefined ? {} : { code: error.code }),
            ...(error.stepId === undefined ? {} : { step_id: error.stepId }),
          },
        }),
  };
};

/** A run as lists show it. @param currency of the price book */
export const summaryOf = (record: RunRecord, snapshot: { readonly context: RunSnapshot['context'] }): RunSummary => {
  const { usage, error, stepCount } = snapshot.context;
  return {
    runId: record.runId,
    traceId: record.traceId,
    ...(record.parent === undefined ? {} : { parentRunId: record.parent.runId }),
    project: record.project,
    definitionId: record.definitionId,
    definitionVersion: record.definitionVersion,
    status: record.status,
    ...(record.cursor === undefined ? {} : { cursor: record.cursor }),
    ...(record.status === 'failed' && error !== undefined ? { error } : {}),
    correlation: JSON.parse(record.correlation) as JsonObject,
    ...(record.idempotencyKey === undefined ? {} : { idempotencyKey: record.idempotencyKey }),
    usage,
    ...(usage.cost === undefined ? {} : { cost: { totalCost: usage.cost, currency: RUN_CURRENCY, isEstimated: true } }),
    stepCount,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }),
    ...(record.deadlineAt === undefined ? {} : { deadlineAt: record.deadlineAt }),
  };
};
/** `max_cost_usd` compares in it, and so the cost of a run is counted in it. */
const RUN_CURRENCY = 'USD';

export const viewOf = (run: RunActor, documents: RunDocuments): Run => ({
  ...summaryOf(run.record, run.snapshot),
  input: documents.input,
  ...(documents.output === undefined ? {} : { output: documents.output }),
  state: documents.state,
});

const inOrder = (pending: Pending): Pending[] => {
  const turns: Pending[] = [];
  for (let turn: Pending | undefined = pending; turn !== undefined; turn = turn.earlier) turns.push(turn);
  return turns.toReversed();
};

/** Makes rows of what a group left of a run. */
export const flushRun = (_key: string, before: unknown, after: unknown, changes: Changes): void => {
  if (typeof after !== 'object' || after === null || !isLive(after as RunActor)) return; // erased, set aside, or only read
  const run = after as RunActor;
  const { pending } = run;
  if (run.changed) {
    const previous = (before as StoredRun | RunActor | undefined)?.record;
    const record: RunRecord = {
      ...run.record,
      snapshot: encodeSnapshot(RUN_MACHINE_VERSION, run.snapshot),
      version: (previous?.version ?? 0) + 1,
    };
    run.record = record;
    if (previous === undefined) changes.runsInserted.push(record);
    else {
      // Taken back from being set aside: the fault goes with the same columns as the place in the queue.
      const takenBack = previous.fault !== undefined;
      changes.runsUpdated.push({
        record,
        queueOrderChanged: takenBack || previous.queueOrder !== record.queueOrder,
      });
    }
  }
  if (pending !== undefined) {
    changes.journal.push({
      runId: run.record.runId,
      firstSeq: pending.firstSeq,
      lastSeq: run.nextSeq - 1,
      entries: JSON.stringify(inOrder(pending).flatMap(({ entries }) => entries)),
      events: JSON.stringify(inOrder(pending).flatMap(({ events }) => events)),
    });
    if (Math.floor(run.nextSeq / CHECKPOINT_ENTRIES) > Math.floor(pending.firstSeq / CHECKPOINT_ENTRIES))
      changes.checkpoints.push({
        runId: run.record.runId,
        seq: run.nextSeq - 1,
        snapshot: encodeSnapshot(RUN_MACHINE_VERSION, run.snapshot),
      });
    run.pending = undefined;
  }
  (run as { changed: boolean }).changed = false;
};

/** Notes journal entries that no machine event of the run made: its lease was started, or went silent. */
export const noteEntry = (turn: Turn, run: RunActor, entry: Omit<JournalEntry, 'seq'>): RunActor => {
  const noted: RunActor = {
    ...run,
    nextSeq: run.nextSeq + 1,
    pending: {
      earlier: run.pending,
      firstSeq: run.pending?.firstSeq ?? run.nextSeq,
      entries: [{ seq: run.nextSeq, ...entry }],
      events: [[null, 1]],
    },
  };
  turn.write(runKey(run.record.runId), noted);
  return noted;
};

/** The step and phase where an open run stands; `undefined` before its start and after its end. */
export const standing = (run: RunActor) => {
  const place = placeOf(run.snapshot.value);
  return place.at === 'step' ? place : undefined;
};

/** True when the step will be tried again without another decision: what `will_retry` says. */
export const willRetry = (phase: Phase | undefined): boolean => phase === 'queued' || phase === 'backoff';
