import { projectOfOwner } from '../../model/definition/owner.ts';
import type { DefinitionState } from '../../actors/service/runs-service.ts';
import type { Json } from '../../model/json.ts';
import { instantToWire } from '../codec/instant.ts';
import type { BodyOf, PathOf, QueryOf } from '../contract/contract.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { given, pageBody } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { allInReach, type RunsDeps, runListingOf, valueOf } from './runs-deps.ts';

/** There may be many, and several versions of each. */
export const DEFINITIONS_BODY_BYTES = 16 * 1024 * 1024;

const pauseToWire = ({ pause }: Pick<DefinitionState, 'pause'>) =>
  pause === undefined
    ? {}
    : { pause: { since: instantToWire(pause.since), ...(pause.reason === undefined ? {} : { reason: pause.reason }) } };

const stateToWire = (state: DefinitionState) => ({
  id: state.id,
  ...projectOfOwner(state.owner),
  ...pauseToWire(state),
});

/** Stored definitions: those of the service, which every key reads, and those of projects. @see Interface decisions, section 12 */
export const definitionRoutes = (deps: RunsDeps): Route[] => {
  const { runs } = deps;
  return [
    {
      method: 'GET',
      path: '/v1/api/definitions',
      scope: 'read',
      operationId: 'listDefinitions',
      surface: 'runs',
      handler: async (request) => {
        const { paging, cursorAfter } = runListingOf(request, 'listDefinitions', deps, allInReach);
        const page = valueOf(await runs.listDefinitions(paging));
        return pageBody(
          'definitions',
          mapLazily(page.items, ({ owner, id, version, createdAt }) => ({
            id,
            version,
            ...projectOfOwner(owner),
            created_at: instantToWire(createdAt),
          })),
          cursorAfter(page),
        );
      },
    },
    {
      method: 'POST',
      path: '/v1/api/definitions',
      scope: 'execute',
      operationId: 'storeDefinitions',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: DEFINITIONS_BODY_BYTES,
      handler: async (request) => {
        const body = request.body as BodyOf<'storeDefinitions'>;
        const { check = false } = request.query as QueryOf<'storeDefinitions'>;
        const brought = {
          reach: request.caller.reach,
          definitions: body.definitions as readonly Json[],
          ...given({ project: body.project }),
        };
        const definitions = check
          ? valueOf(await runs.checkDefinitions(brought))
          : valueOf(await runs.storeDefinitions(brought));
        return { definitions };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/definitions/:id',
      scope: 'read',
      operationId: 'getDefinition',
      surface: 'runs',
      handler: async (request) => {
        const { id } = request.params as PathOf<'getDefinition'>;
        const { project } = request.query as QueryOf<'getDefinition'>;
        const overview = valueOf(await runs.getDefinition({ reach: request.caller.reach, id, ...given({ project }) }));
        return {
          id: overview.id,
          ...projectOfOwner(overview.owner),
          ...pauseToWire(overview),
          versions: overview.versions.map(({ version, createdAt, openRuns, workers }) => ({
            version,
            created_at: instantToWire(createdAt),
            open_runs: openRuns,
            workers,
          })),
          latest: overview.latest,
        };
      },
    },
    {
      method: 'POST',
      path: '/v1/api/definitions/:id/pause',
      scope: 'execute',
      operationId: 'pauseDefinition',
      surface: 'runs',
      body: 'json',
      handler: async (request) => {
        const { id } = request.params as PathOf<'pauseDefinition'>;
        const { reason, project } = (request.body as BodyOf<'pauseDefinition'> | undefined) ?? {};
        const { reach } = request.caller;
        return stateToWire(valueOf(await runs.pauseDefinition({ reach, id, ...given({ reason, project }) })));
      },
    },
    {
      method: 'POST',
      path: '/v1/api/definitions/:id/resume',
      scope: 'execute',
      operationId: 'resumeDefinition',
      surface: 'runs',
      body: 'json',
      handler: async (request) => {
        const { id } = request.params as PathOf<'resumeDefinition'>;
        const { reason, project } = (request.body as BodyOf<'resumeDefinition'> | undefined) ?? {};
        const { reach } = request.caller;
        return stateToWire(valueOf(await runs.resumeDefinition({ reach, id, ...given({ reason, project }) })));
      },
    },
    {
      method: 'GET',
      path: '/v1/api/definitions/:id/versions/:version',
      scope: 'read',
      operationId: 'getDefinitionVersion',
      surface: 'runs',
      handler: async (request) => {
        const { id, version } = request.params as PathOf<'getDefinitionVersion'>;
        const { project } = request.query as QueryOf<'getDefinitionVersion'>;
        const stored = valueOf(
          await runs.getDefinitionVersion({ reach: request.caller.reach, id, version, ...given({ project }) }),
        );
        return {
          id: stored.id,
          ...projectOfOwner(stored.owner),
          version: stored.version,
          created_at: instantToWire(stored.createdAt),
          definition: stored.document,
        };
      },
    },
  ];
};
