import { Refusal } from '../../model/failure.ts';
import { formatTimestamp } from '../../model/time.ts';
import type { RefusalLog } from '../answer/refusal-log.ts';
import type { Route } from '../route.ts';

/**
 * What the doors of ingest refused of late, and calls on leases: a sender whose signals do not arrive, or a worker that reports too late,
 * is understood without its logs.
 */
export const refusalRoutes = (refusals: Pick<RefusalLog, 'list'>): Route[] => [
  {
    method: 'GET',
    path: '/v1/api/refusals',
    scope: 'admin',
    operationId: 'listRefusals',
    surface: 'query',
    neverRefused: true,
    handler: (request) => {
      if (request.caller.reach !== 'all')
        throw new Refusal({
          code: 'forbidden',
          message: 'refusals are counted over the whole service: this needs an admin key that reaches every project',
        });
      const { since, groups, forgotten } = refusals.list();
      return {
        since: formatTimestamp(since),
        refusals: groups.map(({ firstAt, lastAt, ...group }) => ({
          ...group,
          first_at: formatTimestamp(firstAt),
          last_at: formatTimestamp(lastAt),
        })),
        forgotten,
      };
    },
  },
];
