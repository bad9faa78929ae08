import type { JsonObject } from './generated/wire.ts';
import type { BodyOf } from './operation.ts';
import type { RunsQuery } from './runs-query.ts';

/** Which runs: those that match all that is given, and one member at least is. */
export type BulkFilter = Omit<RunsQuery, 'limit' | 'cursor'>;

/** What is done with each run. */
export type BulkWork =
  | { readonly action: 'cancel' | 'pause' | 'resume'; readonly reason?: string }
  /** Each at the step that failed. */
  | { readonly action: 'restart' }
  | {
      readonly action: 'signal';
      readonly event: string;
      /** Absent: `{}`. */
      readonly payload?: JsonObject;
    };

/**
 * The body of an action on many runs, in wire spelling.
 * @param project where the filter names none. An empty filter stays empty, which the service refuses: it would mean every run.
 */
export const bulkBody = (
  work: BulkWork,
  filter: BulkFilter,
  {
    dryRun,
    project,
    idempotencyKey,
  }: { readonly dryRun: boolean; readonly project: string | undefined; readonly idempotencyKey?: string },
): BodyOf<'startBulk'> => {
  const written = {
    project: filter.project ?? (Object.keys(filter).length === 0 ? undefined : project),
    status: filter.status,
    definition_id: filter.definitionId,
    user_id: filter.userId,
    session_id: filter.sessionId,
    parent_run_id: filter.parentRunId,
    restarted_from: filter.restartedFrom,
    waiting_on: filter.waitingOn,
    correlation: filter.correlation,
    from: filter.from,
    to: filter.to,
  };
  // A member that is `undefined` is not written.
  return {
    ...work,
    filter: written as BodyOf<'startBulk'>['filter'],
    dry_run: dryRun,
    idempotency_key: idempotencyKey,
  };
};
