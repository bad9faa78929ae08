import type { Json } from '../../model/json.ts';
import type { Result } from '../../model/failure.ts';
import type { JournalEntry, Run, RunStatus, UnixMs } from '../../model/run.ts';
import type { Runnable, RunRecord } from '../../store/runs/run-store.ts';
import type { CarriedOver } from '../carried-over.ts';
import type { Program, Programs } from './program.ts';

/** What a turn wrote of a run. */
export type RunChange = {
  /** Where the run is now. */
  readonly status: RunStatus;
  /** What it added to the journal, in order. */
  readonly entries: readonly JournalEntry[];
  /** The run as it is now; absent where its payloads were not in memory. */
  readonly run?: () => Run;
};

/** What runs need of the service that hosts them. */
export type RunHost = {
  readonly programs: Programs;
  readonly checkInput: (program: Program, input: Json) => Result<Json | undefined>;
  /** Whether the definition of a run is paused. */
  readonly isDefinitionPaused: (run: Pick<RunRecord, 'definitionOwner' | 'definitionId'>) => boolean;
  /** Most runs below one root. */
  readonly maxDescendants: number;
  /** The place in time of a run that joins the queue now: none that joined before has a later one. */
  readonly queueTime: () => number;
  /** The next number of the outbox; ever larger. */
  readonly nextOutboxNo: () => number;
  /** The next number that orders waits and parked events; ever larger. */
  readonly nextOrder: () => number;
  /** An order that was given away earlier stands in a row again. */
  readonly orderIsBack: (order: number) => void;
  /** A key was committed whose actor is due then, by the steady clock. */
  readonly limitDue: (limitId: string, project: string, dueAt: UnixMs) => void;
  /** Whether the last commit left no such key. `false` where that is not known. */
  readonly isUnused: (limitId: string) => boolean;
  /** A run became runnable in this group. */
  readonly ready: (entry: Runnable) => void;
  /** Entries were committed for this run. */
  readonly journalled: (runId: string, change: RunChange) => void;
  /** A run was quarantined. */
  readonly quarantined: (runId: string, fault: string) => void;
  /** Rows were committed to the outbox. */
  readonly outboxed: () => void;
  /** Timers were committed that carry work over to the next commits. */
  readonly carriedOver: Pick<CarriedOver, 'add' | 'addFirst'>;
};
