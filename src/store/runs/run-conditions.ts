import type { WaitingOn } from '../../model/run.ts';
import type { RunRecord } from './records.ts';
import type { RunFilter } from './run-filter.ts';
import type { RunListQuery } from './run-queries.ts';

/** What a run that has not ended waits for; absent while a worker holds a lease of it or something holds it back, and where its snapshot cannot be read. */
const waitingOnOf = ({
  status,
  snapshot,
  held,
}: Pick<RunRecord, 'status' | 'snapshot' | 'held'>): WaitingOn | undefined => {
  if (status === 'queued') return held === undefined ? 'worker' : undefined;
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
export const isFiltered = (query: RunListQuery): boolean =>
  Object.entries(query).some(([name, filter]) => !ORDERED.has(name) && filter !== undefined);

/** Whether a run is among those asked for, its project and its place in the list aside. */
export const matchesRun = (record: RunRecord, query: RunFilter): boolean =>
  (query.status === undefined || record.status === query.status) &&
  (query.definitionId === undefined || record.definitionId === query.definitionId) &&
  (query.userId === undefined || record.userId === query.userId) &&
  (query.from === undefined || record.createdAt >= query.from) &&
  (query.to === undefined || record.createdAt < query.to) &&
  (query.parentRunId === undefined || record.parent?.runId === query.parentRunId) &&
  (query.restartedFrom === undefined || record.restartedFrom?.runId === query.restartedFrom) &&
  hasCorrelation(record, query.correlation) &&
  (query.waitingOn === undefined || waitingOnOf(record) === query.waitingOn);
