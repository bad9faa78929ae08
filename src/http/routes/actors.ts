import type { RunsService } from '../../actors/service/runs-service.ts';
import { sendReady } from '../answer/send-json.ts';
import { actorToWire, machineToWire, snapshotToWire } from '../codec/actor.ts';
import type { PathOf, QueryOf } from '../contract/contract.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { given, pageBody } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { allInReach, type RunsDeps, runListingOf, valueOf } from './runs-deps.ts';

export type ActorDeps = Pick<RunsDeps, 'defaultProject' | 'clock'> & {
  readonly runs: Pick<
    RunsService,
    'listActors' | 'getActor' | 'listMachines' | 'getMachine' | 'getMachineDiagram' | 'projectOfRun'
  >;
};

/** What an actor is, where it is, and by which machine it got there. @see Interface decisions, "10. Actors and machines" */
export const actorRoutes = (deps: ActorDeps): Route[] => {
  const { runs } = deps;
  return [
    {
      method: 'GET',
      path: '/v1/api/actors',
      scope: 'read',
      operationId: 'listActors',
      surface: 'query',
      audit: 'list_actors',
      handler: async (request) => {
        const query = request.query as QueryOf<'listActors'>;
        const { paging, cursorAfter } = runListingOf(request, 'listActors', deps);
        const page = valueOf(
          await runs.listActors({ ...paging, ...given({ type: query.type, status: query.status }) }),
        );
        return pageBody('actors', mapLazily(page.items, actorToWire), cursorAfter(page));
      },
    },
    {
      method: 'GET',
      path: '/v1/api/actors/:type/:id',
      scope: 'read',
      operationId: 'getActor',
      surface: 'query',
      audit: 'get_actor',
      handler: async (request) => {
        const { type, id } = request.params as PathOf<'getActor'>;
        const { at_seq: atSeq } = request.query as QueryOf<'getActor'>;
        const owner = type === 'run' ? await runs.projectOfRun(id) : undefined;
        if (owner !== undefined) request.audit.projects = [owner];
        return snapshotToWire(
          valueOf(await runs.getActor({ type, id, reach: request.caller.reach, ...given({ atSeq }) })),
        );
      },
    },
    {
      method: 'GET',
      path: '/v1/api/machines',
      scope: 'read',
      operationId: 'listMachines',
      surface: 'query',
      audit: 'list_machines',
      handler: async (request) => {
        const { paging, cursorAfter } = runListingOf(request, 'listMachines', deps, allInReach);
        const page = valueOf(await runs.listMachines(paging));
        return pageBody('machines', mapLazily(page.items, machineToWire), cursorAfter(page));
      },
    },
    {
      method: 'GET',
      path: '/v1/api/machines/:name',
      scope: 'read',
      operationId: 'getMachine',
      surface: 'query',
      audit: 'get_machine',
      handler: async (request, reply) => {
        const { name } = request.params as PathOf<'getMachine'>;
        const { format, project } = request.query as QueryOf<'getMachine'>;
        if (project !== undefined) request.audit.projects = [project];
        const named = { reach: request.caller.reach, name, ...given({ project }) };
        if (format === 'mermaid')
          return sendReady(request, reply, 'text/plain; charset=utf-8', valueOf(await runs.getMachineDiagram(named)));
        return valueOf(await runs.getMachine(named)).config;
      },
    },
  ];
};
