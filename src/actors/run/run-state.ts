import { type Phase, placeOf, RUN_MACHINE_VERSION, type RunEvent, type RunSnapshot } from '../../machines/run.ts';
import { decodeSnapshot, encodeSnapshot, restore, Unloadable } from '../../machines/persisted.ts';
import type { JournalEntry } from '../../model/run.ts';
import type { Changes, RunRecord, StoredRun } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';
import { Damaged, Quarantined } from './quarantined.ts';
import { type Program, type Programs, readProgram, runMigrations } from './program.ts';

/** A run in memory: its row, its snapshot brought to life, and the journal entries that are not yet committed. */
export type RunActor = {
  /** This, `changed` and `pending` are set by the flush alone, which numbers the change. */
  record: RunRecord;
  readonly snapshot: RunSnapshot;
  readonly program: Program;
  readonly nextSeq: number;
  /** Set when the snapshot or a column changed: the row is to be written. */
  changed: boolean;
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

/** A checkpoint is written when a commit passes a multiple of this many entries. */
const CHECKPOINT_ENTRIES = 512;

const isLive = (value: StoredRun | RunActor): value is RunActor => 'snapshot' in value;

/** @throws Unloadable for a snapshot that does not belong to this release's machine */
export const reviveRun = (program: Program, text: string): RunSnapshot =>
  restore(program.machine, RUN_MACHINE_VERSION, decodeSnapshot(text), runMigrations);

/** @throws Quarantined when this release cannot load it; `undefined` when there is no such run */
export const readRun = (turn: Turn, programs: Programs, runId: string): RunActor | undefined => {
  const found = turn.read(runSlot, runId);
  if (found === undefined || isLive(found)) return found;
  const run = bringToLife(turn, programs, found);
  turn.keep(runSlot, runId, run);
  return run;
};

/** @throws Quarantined when it is quarantined, or this release cannot load it */
export const bringToLife = (turn: Turn, programs: Programs, { record, nextSeq }: StoredRun): RunActor => {
  const { runId } = record;
  if (record.fault !== undefined) throw new Quarantined(runId, record.fault);
  if (record.damage !== undefined) throw new Damaged(runId, record.damage);
  try {
    const program = readProgram(turn, programs, record);
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

const inOrder = (pending: Pending): Pending[] => {
  const turns: Pending[] = [];
  for (let turn: Pending | undefined = pending; turn !== undefined; turn = turn.earlier) turns.push(turn);
  return turns.toReversed();
};

/** Makes rows of what a group left of a run. */
const flushRun = (
  before: StoredRun | RunActor | undefined,
  run: StoredRun | RunActor | undefined,
  changes: Changes,
) => {
  if (run === undefined || !isLive(run)) return; // erased, quarantined, or only read
  const { pending } = run;
  if (run.changed) {
    const previous = before?.record;
    const record: RunRecord = {
      ...run.record,
      snapshot: encodeSnapshot(RUN_MACHINE_VERSION, run.snapshot),
      version: (previous?.version ?? 0) + 1,
    };
    run.record = record;
    if (previous === undefined) changes.runsInserted.push(record);
    else changes.runsUpdated.push({ before: previous, after: record });
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
  run.changed = false;
};

/** Runs: as they are stored, or brought to life. */
export const runSlot = storedSlot<string, 'run', RunActor>({
  name: 'run',
  lifetime: 'kept',
  keyOf: byId,
  lookup: (runId) => ({ kind: 'run', runId }),
  flush: flushRun,
});

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
  turn.write(runSlot, run.record.runId, noted);
  return noted;
};

/** True between its start and its end. */
export const isOpen = (run: Pick<RunActor, 'snapshot'>): boolean => {
  const { at } = placeOf(run.snapshot.value);
  return at !== 'created' && at !== 'end';
};

/** True of an open run that somebody paused, or its parent's pause. */
export const isPaused = (run: Pick<RunActor, 'snapshot'>): boolean =>
  isOpen(run) && run.snapshot.context.paused !== undefined;

/** The step and phase where an open run stands; `undefined` before its first step and after its end. */
export const standing = (run: Pick<RunActor, 'snapshot'>) => {
  const place = placeOf(run.snapshot.value);
  return place.at === 'step' ? place : undefined;
};

/** True when the step will be tried again without another decision: what `will_retry` says. */
export const willRetry = (phase: Phase | undefined): boolean =>
  phase === 'queued' || phase === 'held' || phase === 'backoff';
