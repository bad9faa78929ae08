import type { LimitState } from '../../machines/limit.ts';
import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { UnixMs } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';

/** What is counted under a key: runs or steps that hold it, or those that began. */
export type LimitKind = 'concurrency' | 'rate';

/**
 * One key in use. What its machine holds are columns, so that row and snapshot cannot disagree.
 * @see `machines/limit.ts`
 */
export type LimitRecord = {
  readonly limitId: string;
  readonly kind: LimitKind;
  readonly project: string;
  readonly definitionOwner: DefinitionOwner;
  readonly definitionId: string;
  /** Of the definition that set the limit: the newest that was seen in use. */
  readonly definitionVersion: number;
  /** The task whose key it is; absent for a key of the run itself. */
  readonly stepId?: string;
  readonly key: string;
  readonly limit: number;
  /** Of a rate. */
  readonly perMs?: number;
  readonly machineVersion: number;
  readonly state: LimitState;
  /** From 1, one more with each change. */
  readonly version: number;
  readonly used: number;
  readonly waiting: number;
  readonly lines: number;
  /** Of a rate: the starts that counted at `steadyAt`, by the steady clock. @see `model/start-window.ts` */
  readonly starts: readonly UnixMs[];
  /** When the row was written, by the steady clock of the process that wrote it or resumed on it. */
  readonly steadyAt: UnixMs;
  /** The same by the wall clock. */
  readonly updatedAt: UnixMs;
  /** When its actor is to be sent a message, by the steady clock: there is a place, or starts leave the window. */
  readonly dueAt?: UnixMs;
  /** When a place was last taken or freed, by the wall clock. */
  readonly movedAt: UnixMs;
};

/** Where somebody stands in a line: higher priority first, then the smaller order. */
export type Rank = { readonly priority: number; readonly order: number };
export const byRank = (a: Rank, b: Rank): number => b.priority - a.priority || a.order - b.order;

/** Runs that need the very same keys wait in one line. It waits for a place of one of them at a time. */
export type LimitLine = {
  readonly lineId: string;
  /** The key for a place of which it waits now. */
  readonly waitsOn: string;
  readonly waiting: number;
  /** Nobody in it has a better rank; its first may have left. */
  readonly lead: Rank;
};

/** A run, or a step of one, that holds a key or waits for its keys. Named by its order: no two places ever have the same. */
export type LimitPlace = Rank & {
  readonly runId: string;
  /** Absent for a place of the run itself. */
  readonly stepId?: string;
  readonly concurrencyId?: string;
  readonly rateId?: string;
  /** Set while it waits. */
  readonly lineId?: string;
  /** Since when it waits or holds, by the wall clock. */
  readonly since: UnixMs;
};

/** What a run remembers of a place, to give it back. */
export type HeldPlace = {
  readonly order: number;
  readonly concurrencyId?: string;
  readonly rateId?: string;
  /** Set while it waits. */
  readonly lineId?: string;
  /** Of a step under a rate: the start that it took, by the steady clock. */
  readonly startedAt?: UnixMs;
};
/** The places of a run: of itself, and of the step that it is at. */
export type RunPlaces = { readonly run?: HeldPlace; readonly step?: HeldPlace };

/** The best of those who wait for a place of one key, over all its lines; and the lines whose lead has left, as they truly begin. */
export type LimitFront = { readonly places: readonly LimitPlace[]; readonly lines: readonly LimitLine[] };

export type DueLimit = { readonly limitId: string; readonly project: string; readonly dueAt: UnixMs };

export type LimitListQuery = {
  readonly reach: ProjectReach;
  /** Only those for which somebody waits. */
  readonly isWaitedFor?: true;
  /** By id, ascending. */
  readonly after?: string;
  readonly limit: number;
};
/** A key with the first of those who hold it, the longest first, and the first in line. */
export type LimitRows = {
  readonly record: LimitRecord;
  readonly holders: readonly LimitPlace[];
  readonly line: readonly LimitPlace[];
};
/** Where somebody stands who waits. */
export type WaitingPlace = {
  /** The key for a place of which its line waits. */
  readonly record: LimitRecord;
  /** From 1. */
  readonly position: number;
  readonly holders: readonly LimitPlace[];
};
