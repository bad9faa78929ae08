import type { PathOf } from '../contract/contract.ts';
import { auditedProjects } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { type RunsDeps, valueOf } from './runs-deps.ts';

const noteOf = (inFlight: number): string => {
  const parked = 'Parked events are not reached by erasure; they expire within 24 hours.';
  if (inFlight === 0) return parked;
  const left =
    inFlight === 1 ? '1 unfinished run was left unchanged' : `${inFlight} unfinished runs were left unchanged`;
  return `${left}: cancel them or let them end, then erase again. ${parked}`;
};

/** Erasure of a person. @see Interface specification, "Query API: durable runs and events" */
export const subjectRoutes = ({ runs, traces }: RunsDeps): Route[] => [
  {
    method: 'DELETE',
    path: '/v1/api/subjects/:user_id',
    scope: 'admin',
    operationId: 'eraseSubject',
    surface: 'runs',
    audit: 'erase_subject',
    handler: async (request) => {
      const { user_id: userId } = request.params as PathOf<'eraseSubject'>;
      const { reach } = request.caller;
      request.audit.projects = auditedProjects(reach);
      const erased = await runs.eraseSubject({ userId, reach }, (traceIds) => traces.deleteTraces(traceIds, reach));
      const { runsErased, runsInFlight, traces: ofTraces } = valueOf(erased);
      const views = await traces.deleteViewsOfUser(userId, reach);
      return {
        runs_erased: runsErased,
        runs_in_flight: runsInFlight,
        traces_erased: ofTraces.deleted,
        views_erased: views.deleted,
        deletes_pending: ofTraces.pending || views.pending,
        note: noteOf(runsInFlight),
      };
    },
  },
];
