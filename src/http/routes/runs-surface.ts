import { Refusal } from '../../model/failure.ts';
import { actorRoutes } from './actors.ts';
import { bulkRoutes } from './bulk.ts';
import { definitionRoutes } from './definitions.ts';
import type { StreamTiming } from '../answer/event-stream.ts';
import type { Route } from '../route.ts';
import { limitRoutes } from './limits.ts';
import { runRoutes } from './runs.ts';
import type { RunsDeps } from './runs-deps.ts';
import { scheduleRoutes } from './schedules.ts';
import { subjectRoutes } from './subjects.ts';
import { workerRoutes } from './workers.ts';

/** The same route while durable runs are disabled. Without a valid key: 401 or 403. With one: 503 `runs_disabled`. */
const disabled = ({ method, path, scope, operationId, surface, body }: Route): Route => ({
  method,
  path,
  scope,
  operationId,
  surface,
  // Nobody reads it: what is in it does not matter.
  ...(body === undefined ? {} : { body: 'raw' }),
  handler: () => {
    throw new Refusal({
      code: 'runs_disabled',
      message: 'durable runs are disabled on this service (--runs-data off)',
    });
  },
});

/**
 * Every route of durable runs, and what shows actors and machines.
 * @param enabled false for `--runs-data off`: all but actors and machines answer 503 `runs_disabled`
 */
export const runsSurface = (deps: RunsDeps, enabled: boolean, timing?: StreamTiming): Route[] => {
  const doors = [
    ...runRoutes(deps, timing),
    ...workerRoutes(deps),
    ...definitionRoutes(deps),
    ...bulkRoutes(deps),
    ...limitRoutes(deps),
    ...scheduleRoutes(deps),
    ...subjectRoutes(deps),
  ];
  if (!enabled) return [...doors.map(disabled), ...actorRoutes(deps)];
  return [...doors, ...actorRoutes(deps)].map((route) => ({ ...route, atOwner: true }));
};
