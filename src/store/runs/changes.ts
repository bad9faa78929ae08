import type { UnixMs } from '../../model/run.ts';
import type { LimitLine, LimitPlace, LimitRecord } from './limits.ts';
import type {
  ActorRecord,
  AttemptRecord,
  Checkpoint,
  DefinitionRecord,
  DocumentName,
  JournalRow,
  JsonText,
  KeptActorType,
  OutboxRow,
  ParkedEvent,
  RunRecord,
  SeenEvent,
  TimerRecord,
  TreeSize,
  WaitRecord,
  WorkerRecord,
} from './records.ts';

/** One change of a run: the row that the store must hold, and the row that follows it. `version` grows by one. */
export type RunUpdate = { readonly before: RunRecord; readonly after: RunRecord };
/** The same of an actor with a row of its own. */
export type ActorUpdate = { readonly before: ActorRecord; readonly after: ActorRecord };

/**
 * Payloads of an ended run with which another begins: state, the last event and outputs as they were when the first one entered a step.
 * They are named, and not given: the store copies the rows itself. Each run owns its rows, so that either may go without the other.
 */
export type TakenOver = {
  readonly runId: string;
  readonly from: string;
  /** The number of that step, by entries. State and event are those of the steps before it. */
  readonly entry: number;
  /** The newest output of each step up to this visit. */
  readonly outputs: readonly (readonly [stepId: string, visit: number])[];
  /** Whether the input is taken over too. */
  readonly input: boolean;
};

/**
 * All that one group of turns decided. Written as one transaction or not at all. Rows are cleared and closed before others
 * are set and opened. So a row that one group sets and clears again must not be in `changes`: `clearTimerRow` and
 * `closeWaitRows` take it out.
 */
export type Changes = {
  readonly runsInserted: RunRecord[];
  /** Where the store holds another version than that of `before`, the complete commit fails. */
  readonly runsUpdated: RunUpdate[];
  /** Replaces what has the same trace. A tree goes with its root. */
  readonly treeSizes: TreeSize[];
  readonly attemptsInserted: AttemptRecord[];
  readonly attemptsUpdated: AttemptRecord[];
  readonly journal: JournalRow[];
  readonly checkpoints: Checkpoint[];
  /** What restarted runs begin with. Written before the documents and outputs below. */
  readonly takenOver: TakenOver[];
  /** Replaces what has the same name. */
  readonly documents: {
    readonly runId: string;
    readonly name: DocumentName;
    readonly body: JsonText;
    /** The number of the step, by entries, in which it is written. Where it is given, what it replaces is kept to be looked back at. */
    readonly entry?: number;
  }[];
  readonly outputs: {
    readonly runId: string;
    readonly stepId: string;
    readonly visit: number;
    readonly body: JsonText;
  }[];
  readonly timersSet: TimerRecord[];
  readonly timersCleared: { readonly runId: string; readonly name: string }[];
  readonly waitsOpened: WaitRecord[];
  /** Runs, each with all its waits. */
  readonly waitsClosed: string[];
  /** Keys come into use, change, and go. */
  readonly limitsInserted: LimitRecord[];
  readonly limitsUpdated: LimitRecord[];
  readonly limitsGone: string[];
  /** Replaces what has the same id. */
  readonly linesSet: LimitLine[];
  readonly linesGone: string[];
  /** Replaces what has the same order. */
  readonly placesSet: LimitPlace[];
  readonly placesGone: number[];
  readonly parked: ParkedEvent[];
  readonly unparked: number[];
  readonly eventsSeen: SeenEvent[];
  readonly definitions: DefinitionRecord[];
  readonly workers: WorkerRecord[];
  /** When workers were last seen; one that is no longer registered stays so. */
  readonly workersSeen: { readonly workerId: string; readonly at: UnixMs }[];
  /** Workers that go, unless they were last seen at `before` or later. */
  readonly workersForgotten: { readonly workerId: string; readonly before: UnixMs }[];
  readonly actorsInserted: ActorRecord[];
  /** Where the store holds another version than that of `before`, the complete commit fails. */
  readonly actorsUpdated: ActorUpdate[];
  /** Their timers go with them. Removed before others are inserted. */
  readonly actorsRemoved: { readonly type: KeptActorType; readonly id: string }[];
  readonly outbox: OutboxRow[];
  /** Rows up to this number were delivered. */
  outboxDelivered: number | undefined;
  /** Runs that go with all that is theirs. */
  readonly erased: string[];
  /** Parked events before this time are gone. */
  parkedBefore: UnixMs | undefined;
  /** Parked events that say a later time than this, stamped while the clock stood wrong, say this one from now on. */
  parkedUntil: UnixMs | undefined;
};

export const noChanges = (): Changes => ({
  runsInserted: [],
  runsUpdated: [],
  treeSizes: [],
  attemptsInserted: [],
  attemptsUpdated: [],
  journal: [],
  checkpoints: [],
  takenOver: [],
  documents: [],
  outputs: [],
  timersSet: [],
  timersCleared: [],
  waitsOpened: [],
  waitsClosed: [],
  limitsInserted: [],
  limitsUpdated: [],
  limitsGone: [],
  linesSet: [],
  linesGone: [],
  placesSet: [],
  placesGone: [],
  parked: [],
  unparked: [],
  eventsSeen: [],
  definitions: [],
  workers: [],
  workersSeen: [],
  workersForgotten: [],
  actorsInserted: [],
  actorsUpdated: [],
  actorsRemoved: [],
  outbox: [],
  outboxDelivered: undefined,
  erased: [],
  parkedBefore: undefined,
  parkedUntil: undefined,
});

const dropAll = <T>(rows: T[], isIt: (row: T) => boolean): void => {
  for (let at = rows.length - 1; at >= 0; at -= 1) if (isIt(rows[at] as T)) rows.splice(at, 1);
};

const dropLast = <T>(rows: T[], isIt: (row: T) => boolean): void => {
  const at = rows.findLastIndex(isIt);
  if (at !== -1) rows.splice(at, 1);
};

/** Clears a timer, be it in the store or among these changes. */
export const clearTimerRow = (changes: Changes, timer: { readonly runId: string; readonly name: string }): void => {
  dropLast(changes.timersSet, ({ runId, name }) => runId === timer.runId && name === timer.name);
  changes.timersCleared.push(timer);
};

/** Closes the waits of a run, be they in the store or among these changes. */
export const closeWaitRows = (changes: Changes, runId: string): void => {
  dropAll(changes.waitsOpened, (wait) => wait.runId === runId);
  changes.waitsClosed.push(runId);
};
