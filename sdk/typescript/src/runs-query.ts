import type { operations, RunStatus } from './generated/wire.ts';

type ListQuery = NonNullable<operations['listRuns']['parameters']['query']>;
type WaitingOn = NonNullable<ListQuery['waiting_on']>;
type CorrelationName = keyof ListQuery extends infer Name
  ? Name extends `correlation.${infer Member}`
    ? Member
    : never
  : never;

export type RunsQuery = {
  readonly project?: string;
  readonly status?: RunStatus;
  readonly definitionId?: string;
  readonly userId?: string;
  readonly sessionId?: string;
  /** Children of this run. */
  readonly parentRunId?: string;
  /** Runs that were restarted from this one. */
  readonly restartedFrom?: string;
  /** What the run waits for; `worker` are queued runs, `timer` sleeps, `backoff` runs whose step is tried again later. */
  readonly waitingOn?: WaitingOn;
  /** Other members of the correlation, by their names: `{ request_id: 'r-1' }`. */
  readonly correlation?: Readonly<Partial<Record<CorrelationName, string>>>;
  /** RFC 3339, or relative: `-1h`. */
  readonly from?: string;
  readonly to?: string;
  readonly limit?: number;
  readonly cursor?: string;
};
