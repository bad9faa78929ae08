import { limitDetailToWire, limitToWire } from '../codec/limit.ts';
import type { PathOf, QueryOf } from '../contract/contract.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { pageBody } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { type RunsDeps, runListingOf, valueOf } from './runs-deps.ts';

/** Concurrency and rate keys in use. @see Interface decisions, section 13, "Concurrency keys" */
export const limitRoutes = (deps: RunsDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/api/limits',
    scope: 'read',
    operationId: 'listLimits',
    surface: 'runs',
    handler: async (request) => {
      const { waiting = false } = request.query as QueryOf<'listLimits'>;
      const { paging, cursorAfter } = runListingOf(request, 'listLimits', deps);
      const page = valueOf(await deps.runs.listLimits({ ...paging, ...(waiting ? { isWaitedFor: true } : {}) }));
      return pageBody('limits', mapLazily(page.items, limitToWire), cursorAfter(page));
    },
  },
  {
    method: 'GET',
    path: '/v1/api/limits/:limit',
    scope: 'read',
    operationId: 'getLimit',
    surface: 'runs',
    handler: async (request) => {
      const { limit: limitId } = request.params as PathOf<'getLimit'>;
      return limitDetailToWire(valueOf(await deps.runs.getLimit({ limitId, reach: request.caller.reach })));
    },
  },
];
