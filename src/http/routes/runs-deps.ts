import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { RunningRuns } from '../../actors/start.ts';
import type { Page, Position } from '../../model/page.ts';
import { Refusal, type Result } from '../../model/failure.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { UnixNano } from '../../model/time.ts';
import type { Window } from '../../store/signals/query.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';
import { listingOf, projectsOf } from '../lists/listing.ts';
import type { RefusalLog } from '../answer/refusal-log.ts';
import type { StreamRegistry } from '../answer/streams.ts';

/** What the routes of durable runs are built from. */
export type RunsDeps = {
  readonly runs: RunningRuns;
  /** Where the traces of runs are. */
  readonly traces: Pick<SignalStore, 'deleteTraces' | 'deleteViewsOfUser'>;
  readonly streams: StreamRegistry;
  /** Where refused calls on leases are counted. */
  readonly refusals?: Pick<RefusalLog, 'note'>;
  readonly defaultProject: string;
  readonly clock: () => UnixNano;
  readonly requestTimeoutSeconds: number;
  readonly log: Logger;
};

/** Most of the request timeout that a call may be held. @see Interface specification, "Worker protocol" */
const HOLD_SHARE = 0.8;
/** @see Interface specification, "Limits", claim hold */
const MAX_HOLD_MS = 60_000;

/** How long a call may be held at most. */
export const holdMsOf = ({ requestTimeoutSeconds }: Pick<RunsDeps, 'requestTimeoutSeconds'>): number =>
  Math.min(MAX_HOLD_MS, requestTimeoutSeconds * 1000 * HOLD_SHARE);

/** The value of a call. @throws Refusal with the failure */
export const valueOf = <T>(result: Result<T>): T => {
  if (result.ok) return result.value;
  throw new Refusal(result.failure);
};

/** What the lists of the durable half take from their request. */
export type RunListing = {
  readonly paging: { readonly reach: ProjectReach; readonly limit: number; readonly after?: Position };
  readonly window: Window;
  readonly cursorAfter: (page: Page<unknown>) => string | undefined;
};

/**
 * The projects of a list of what may belong to a project or to the service: without the parameter, all that the key reaches.
 * @see Interface decisions, section 12, "`project` on lists"
 */
export const allInReach: typeof projectsOf = (caller, asked, defaultProject) =>
  asked === undefined ? caller.reach : projectsOf(caller, asked, defaultProject);

/**
 * @param projects which projects the list answers for
 * @throws Refusal `forbidden` on `project`, `invalid_parameter` on `cursor` or `from`
 */
export const runListingOf = (
  request: FastifyRequest,
  operation: string,
  { defaultProject, clock }: Pick<RunsDeps, 'defaultProject' | 'clock'>,
  projects: typeof projectsOf = projectsOf,
): RunListing => {
  const { paging, window, cursorAfter } = listingOf(request, operation, defaultProject, clock, projects);
  return {
    paging: {
      reach: paging.projects,
      limit: paging.limit,
      ...(paging.after === undefined ? {} : { after: paging.after }),
    },
    window,
    cursorAfter,
  };
};
