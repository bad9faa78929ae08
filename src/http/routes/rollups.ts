import { projectToWire, rollUpToWire } from '../codec/report.ts';
import type { QueryOf } from '../contract/contract.ts';
import { readCursor, writeCursor } from '../lists/cursor.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { given, listingOf, pageBody } from '../lists/listing.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

/** Sessions, users and projects. @see Interface decisions, "4. Signals, native names", Reads */
export const rollUpRoutes = ({ store, defaultProject, clock }: QueryDeps): Route[] => {
  const rollUpRoute = (of: 'session' | 'user', operationId: 'listSessions' | 'listUsers'): Route => ({
    method: 'GET',
    path: `/v1/api/${of}s`,
    scope: 'read',
    operationId,
    surface: 'query',
    handler: async (request) => {
      const { paging, window, cursorAfter } = listingOf(request, operationId, defaultProject, clock);
      const { sort, order } = request.query as QueryOf<'listSessions' | 'listUsers'>;
      const page = await store.listRollUps({ ...paging, ...window, of, ...given({ sort, order }) });
      return pageBody(
        `${of}s`,
        mapLazily(page.items, (rollUp) => rollUpToWire(rollUp, `${of}_id`)),
        cursorAfter(page),
      );
    },
  });

  return [
    rollUpRoute('session', 'listSessions'),
    rollUpRoute('user', 'listUsers'),
    {
      method: 'GET',
      path: '/v1/api/projects',
      scope: 'read',
      operationId: 'listProjects',
      surface: 'query',
      handler: async (request) => {
        const query = request.query as QueryOf<'listProjects'>;
        const { reach: projects } = request.caller;
        const binding = { operation: 'listProjects', projects, query };
        const now = clock();
        const page = await store.listProjects({
          projects,
          limit: query.limit ?? 50,
          ...(query.cursor === undefined ? {} : { after: readCursor(binding, query.cursor).position }),
        });
        const next = page.next === undefined ? undefined : writeCursor(binding, { position: page.next, now });
        return pageBody('projects', mapLazily(page.items, projectToWire), next);
      },
    },
  ];
};
