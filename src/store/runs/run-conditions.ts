import { type HeldReason, type RunStatus, runStatuses, type WaitingOn } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { RunRecord } from './records.ts';
import type { RunFilter } from './run-filter.ts';
import type { RunListQuery } from './run-queries.ts';

/** Why a run is held back that waits for a key. */
export const heldByKeys = ['concurrency_key', 'rate'] as const satisfies readonly HeldReason[];
const isHeldByKey = (held: HeldReason): boolean => (heldByKeys as readonly HeldReason[]).includes(held);

/** The statuses of the runs that wait for each thing. */
export const statusesWaitingOn = {
  event: ['waiting'],
  timer: ['waiting', 'scheduled'],
  backoff: ['waiting'],
  children: ['waiting'],
  worker: ['queued'],
  orphan: ['running'],
  key: ['queued'],
} as const satisfies Record<WaitingOn, readonly RunStatus[]>;

/** The statuses of which a list can hold runs. */
export const statusesOf = ({ status, waitingOn }: RunFilter): readonly RunStatus[] => {
  const possible: readonly RunStatus[] = waitingOn === undefined ? runStatuses : statusesWaitingOn[waitingOn];
  return status === undefined ? possible : possible.filter((one) => one === status);
};

/** Whether an engine that keeps what each run waits for in a column finds them by it; leases tell who waits for a worker. */
export const isKeptWait = (waitingOn: WaitingOn): boolean => waitingOn !== 'worker' && waitingOn !== 'orphan';

/** The order of lists, and the place before all others in it. */
export const newestFirst = (a: ListPlace, b: ListPlace): number =>
  b.updatedAt - a.updatedAt || (a.runId < b.runId ? 1 : -1);
export const FIRST_IN_LIST = { updatedAt: Number.MAX_SAFE_INTEGER, runId: '' } as const;
type ListPlace = Pick<RunRecord, 'updatedAt' | 'runId'>;

/** Of runs that an index of a filter found, all of them, those of one page. */
export const pageOfMatching = (
  found: readonly RunRecord[],
  query: RunListQuery,
  isOrphaned: IsOrphaned,
): RunRecord[] => {
  const { after, reach } = query;
  return found
    .filter(
      (record) =>
        isInReach(reach, record.project) &&
        matchesRun(record, query, isOrphaned) &&
        (after === undefined || newestFirst(record, after) > 0),
    )
    .toSorted(newestFirst)
    .slice(0, query.limit);
};
export const isInReach = (reach: ProjectReach, project: string): boolean => reach === 'all' || reach.includes(project);

/** Whether the worker that holds a lease of the run fell silent. Leases have rows of their own. */
export type IsOrphaned = (record: Pick<RunRecord, 'runId'>) => boolean;

/**
 * What a run that has not ended waits for; absent while a worker holds a lease of it or its definition is paused, and where its snapshot
 * cannot be read.
 */
export const waitingOnOf = (
  { runId, status, snapshot, held }: Pick<RunRecord, 'runId' | 'status' | 'snapshot' | 'held'>,
  isOrphaned: IsOrphaned,
): WaitingOn | undefined => {
  if (status === 'queued') return held === undefined ? 'worker' : isHeldByKey(held) ? 'key' : undefined;
  if (status === 'running') return isOrphaned({ runId }) ? 'orphan' : undefined;
  if (status === 'scheduled') return 'timer';
  if (status !== 'waiting') return undefined;
  try {
    const { v, c } = JSON.parse(snapshot) as {
      v: { active: Readonly<Record<string, string>> };
      c: { waitKey?: string; children?: object };
    };
    if (Object.values(v.active).includes('backoff')) return 'backoff';
    if (c.waitKey !== undefined) return 'event';
    return c.children === undefined ? 'timer' : 'children';
  } catch {
    return undefined; // quarantined for this very reason
  }
};

const hasCorrelation = (
  { correlation }: Pick<RunRecord, 'correlation'>,
  wanted: RunListQuery['correlation'],
): boolean => {
  if (wanted === undefined || wanted.length === 0) return true;
  let own: Readonly<Record<string, unknown>>;
  try {
    own = JSON.parse(correlation) as typeof own;
  } catch {
    return false; // a damaged row: a read of the run says so
  }
  return wanted.every(([name, value]) => Object.hasOwn(own, name) && own[name] === value);
};

/** What every list of runs names, by which it is read in order. */
const ORDERED: ReadonlySet<string> = new Set(['reach', 'status', 'after', 'limit'] satisfies (keyof RunListQuery)[]);

/** Whether a list of runs looks at more than their project and status. */
export const isFiltered = (query: RunFilter): boolean =>
  Object.entries(query).some(([name, filter]) => !ORDERED.has(name) && filter !== undefined);

/** Whether a run is among those asked for, its project and its place in the list aside. */
export const matchesRun = (record: RunRecord, query: RunFilter, isOrphaned: IsOrphaned): boolean =>
  (query.status === undefined || record.status === query.status) &&
  (query.definitionId === undefined || record.definitionId === query.definitionId) &&
  (query.userId === undefined || record.userId === query.userId) &&
  (query.from === undefined || record.createdAt >= query.from) &&
  (query.to === undefined || record.createdAt < query.to) &&
  (query.parentRunId === undefined || record.parent?.runId === query.parentRunId) &&
  (query.restartedFrom === undefined || record.restartedFrom?.runId === query.restartedFrom) &&
  hasCorrelation(record, query.correlation) &&
  (query.waitingOn === undefined || waitingOnOf(record, isOrphaned) === query.waitingOn);
