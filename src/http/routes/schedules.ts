import type { FastifyRequest } from 'fastify';
import type { NamedSchedule } from '../../actors/service/runs-service.ts';
import { ownProject } from '../../model/scope.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { listedScheduleToWire, scheduleFromWire, scheduleToWire } from '../codec/schedule.ts';
import type { BodyOf, PathOf, QueryOf } from '../contract/contract.ts';
import { pageBody } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { type RunsDeps, runListingOf, valueOf } from './runs-deps.ts';

/** A schedule is written with each change and read at each firing, so its input is smaller than that of a run. */
const SCHEDULE_BODY_BYTES = 256 * 1024;

/** Runs that start at their times. @see Interface decisions, section 13, "Schedules" */
export const scheduleRoutes = (deps: RunsDeps): Route[] => {
  const { runs, defaultProject } = deps;

  const projectOf = (request: FastifyRequest, named: string | undefined): string =>
    named ?? ownProject(request.caller.reach, defaultProject);
  const namedIn = (request: FastifyRequest): NamedSchedule => {
    const { schedule: id } = request.params as PathOf<'getSchedule'>;
    const { project } = request.query as QueryOf<'getSchedule'>;
    return { reach: request.caller.reach, project: projectOf(request, project), id };
  };
  const move = (
    action: 'pause' | 'resume' | 'trigger',
    operationId: 'pauseSchedule' | 'resumeSchedule' | 'triggerSchedule',
  ): Route => ({
    method: 'POST',
    path: `/v1/api/schedules/:schedule/${action}`,
    scope: 'execute',
    operationId,
    surface: 'runs',
    handler: async (request) => scheduleToWire(valueOf(await runs[operationId](namedIn(request)))),
  });

  return [
    {
      method: 'GET',
      path: '/v1/api/schedules',
      scope: 'read',
      operationId: 'listSchedules',
      surface: 'runs',
      handler: async (request) => {
        const { paging, cursorAfter } = runListingOf(request, 'listSchedules', deps);
        const page = valueOf(await runs.listSchedules(paging));
        return pageBody('schedules', mapLazily(page.items, listedScheduleToWire), cursorAfter(page));
      },
    },
    {
      method: 'POST',
      path: '/v1/api/schedules',
      scope: 'execute',
      operationId: 'createSchedule',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: SCHEDULE_BODY_BYTES,
      handler: async (request, reply) => {
        const { id, project, ...body } = request.body as BodyOf<'createSchedule'>;
        const { reach } = request.caller;
        const named = { reach, project: projectOf(request, project), id };
        const { schedule, created } = valueOf(await runs.createSchedule({ ...named, given: scheduleFromWire(body) }));
        reply.code(created ? 201 : 200);
        return scheduleToWire(schedule);
      },
    },
    {
      method: 'GET',
      path: '/v1/api/schedules/:schedule',
      scope: 'read',
      operationId: 'getSchedule',
      surface: 'runs',
      audit: 'get_schedule',
      handler: async (request) => {
        const named = namedIn(request);
        request.audit.projects = [named.project];
        return scheduleToWire(valueOf(await runs.getSchedule(named)));
      },
    },
    {
      method: 'PUT',
      path: '/v1/api/schedules/:schedule',
      scope: 'execute',
      operationId: 'changeSchedule',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: SCHEDULE_BODY_BYTES,
      handler: async (request) => {
        const body = request.body as BodyOf<'changeSchedule'>;
        const changed = await runs.changeSchedule({ ...namedIn(request), given: scheduleFromWire(body) });
        return scheduleToWire(valueOf(changed));
      },
    },
    {
      method: 'DELETE',
      path: '/v1/api/schedules/:schedule',
      scope: 'execute',
      operationId: 'deleteSchedule',
      surface: 'runs',
      handler: async (request) => {
        const named = namedIn(request);
        valueOf(await runs.deleteSchedule(named));
        return { id: named.id, project: named.project, deleted: true };
      },
    },
    move('pause', 'pauseSchedule'),
    move('resume', 'resumeSchedule'),
    move('trigger', 'triggerSchedule'),
  ];
};
