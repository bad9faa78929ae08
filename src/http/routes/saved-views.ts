import { newRecordId } from '../../model/ids.ts';
import { Refusal } from '../../model/failure.ts';
import { MOST_PATH_CHARACTERS, parseSavedPath } from '../../model/saved-path.ts';
import { MOST_SAVED_VIEWS, type NewSavedView } from '../../store/signals/saved-views.ts';
import { savedViewToWire } from '../codec/saved-view.ts';
import { apiOperations, type BodyOf, type PathOf, type QueryOf } from '../contract/contract.ts';
import { listingOf } from '../lists/listing.ts';
import { listed } from '../lists/read-on.ts';
import type { Route } from '../route.ts';
import { lookupReach, projectToWrite } from './evaluation-scope.ts';
import type { QueryDeps } from './query-deps.ts';

/** Named links into the interface and boards made of them, kept for all who read the project. */
export const savedViewRoutes = ({ store, defaultProject, clock }: QueryDeps): Route[] => {
  const refuse = (field: string, message: string): never => {
    throw new Refusal({ code: 'invalid_parameter', message, field });
  };

  const contentOf = (body: BodyOf<'saveView'>): Pick<NewSavedView, 'shows' | 'userId'> => {
    if ((body.path === undefined) === (body.views === undefined))
      return refuse('path', 'a saved view has either a `path` or, as a board, `views`');
    if (body.views !== undefined) return { shows: { kind: 'board', views: [...new Set(body.views)] } };
    const saved = parseSavedPath(body.path ?? '', apiOperations().get('getPage')?.pages ?? []);
    if (saved === undefined)
      return refuse(
        'path',
        `\`path\` must be a path of the interface, as /traces?status=error, of at most ${MOST_PATH_CHARACTERS} characters`,
      );
    const { path, userId } = saved;
    return { shows: { kind: 'page', path }, ...(userId === undefined ? {} : { userId }) };
  };

  return [
    {
      method: 'GET',
      path: '/v1/api/views',
      scope: 'read',
      operationId: 'listViews',
      surface: 'query',
      handler: async (request) => {
        const listing = listingOf(request, 'listViews', defaultProject, clock);
        return listed(request, 'views', listing, (paging) => store.listViews(paging), savedViewToWire);
      },
    },
    {
      method: 'POST',
      path: '/v1/api/views',
      scope: 'write',
      operationId: 'saveView',
      surface: 'query',
      body: 'json',
      handler: async (request, reply) => {
        const body = request.body as BodyOf<'saveView'>;
        const project = projectToWrite(request.caller, body.project, defaultProject);
        const stored = await store.putView({
          viewId: body.view_id === undefined || body.view_id === '' ? newRecordId() : body.view_id,
          name: body.name,
          project,
          createdAt: clock(),
          ...contentOf(body),
        });
        if (stored === undefined)
          throw new Refusal({
            code: 'cap_exceeded',
            message: `project ${JSON.stringify(project)} has ${MOST_SAVED_VIEWS} saved views, which is the limit: delete one first`,
            field: 'project',
          });
        reply.code(201);
        return savedViewToWire(stored);
      },
    },
    {
      method: 'DELETE',
      path: '/v1/api/views/:view_id',
      scope: 'write',
      operationId: 'deleteView',
      surface: 'query',
      audit: 'delete_view',
      handler: async (request) => {
        const { view_id: viewId } = request.params as PathOf<'deleteView'>;
        const { project } = request.query as QueryOf<'deleteView'>;
        const found = await store.findView(viewId, lookupReach(request.caller, project, defaultProject).byId);
        if (found === undefined)
          throw new Refusal({
            code: 'not_found',
            message: `no saved view ${JSON.stringify(viewId)} is stored where this key reaches`,
          });
        request.audit.projects = [found.project];
        const outcome = await store.deleteView(found.project, found.viewId);
        return { deleted: outcome.deleted > 0, deletes_pending: outcome.pending };
      },
    },
  ];
};
