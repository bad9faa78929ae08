import type { Result } from '../../model/failure.ts';
import { reaches } from '../../model/scope.ts';
import { forbidden } from '../run/run-failures.ts';
import type { ScheduleMessage, ScheduleView } from '../schedule/messages.ts';
import { scheduleActorId } from '../schedule/schedule-name.ts';
import { callerOfProject, type Calls } from './calls.ts';
import type { NamedSchedule, ScheduleCommands } from './runs-service.ts';

/** What makes, changes and moves schedules. */
export const createScheduleCommands = (host: { readonly calls: Pick<Calls, 'ask'> }): ScheduleCommands => {
  const send = async <T>({ reach, project, id }: NamedSchedule, body: ScheduleMessage): Promise<Result<T>> =>
    reaches(reach, project)
      ? host.calls.ask<T>(callerOfProject(project), { type: 'schedule', id: scheduleActorId(project, id), body })
      : forbidden(project, 'project');
  return {
    createSchedule: (request) =>
      send<{ schedule: ScheduleView; created: boolean }>(request, {
        kind: 'create',
        project: request.project,
        given: request.given,
      }),
    changeSchedule: (request) => send<ScheduleView>(request, { kind: 'change', given: request.given }),
    deleteSchedule: (request) => send<undefined>(request, { kind: 'delete' }),
    pauseSchedule: (request) => send<ScheduleView>(request, { kind: 'pause' }),
    resumeSchedule: (request) => send<ScheduleView>(request, { kind: 'resume' }),
    triggerSchedule: (request) => send<ScheduleView>(request, { kind: 'trigger' }),
  };
};
