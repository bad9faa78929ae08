import type { RunStatus, UnixMs, WaitingOn } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';

/** Which runs a list holds. */
export type RunFilter = {
  readonly reach: ProjectReach;
  readonly status?: RunStatus;
  readonly definitionId?: string;
  readonly userId?: string;
  readonly from?: UnixMs;
  readonly to?: UnixMs;
  readonly parentRunId?: string;
  readonly restartedFrom?: string;
  readonly waitingOn?: WaitingOn;
  /** Members of the correlation that must have these values, in wire spelling. */
  readonly correlation?: readonly (readonly [name: string, value: string])[];
};

/** How many runs wait for one thing, as far as they were counted: `isCapped` where there are more than were looked at. */
export type WaitingCount = {
  readonly waitingOn: Exclude<WaitingOn, 'worker'>;
  readonly count: number;
  readonly isCapped: boolean;
};

/** Runs that were found, and the last one that was looked at; without it, there are no more. */
export type MatchingRuns = { readonly runIds: readonly string[]; readonly upTo?: string };
