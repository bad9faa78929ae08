import type { RunRecord } from '../../store/runs/run-store.ts';

/** Schedules of two projects may bear one id; an id holds no colon. */
export const scheduleActorId = (project: string, scheduleId: string): string => `${project}:${scheduleId}`;
export const scheduleIdOf = (actorId: string): string => actorId.slice(actorId.lastIndexOf(':') + 1);

const PREFIX = 'schedule/';

/** The idempotency key of the run of a nominal time. @see Interface decisions, section 13, "Schedules" */
export const keyOfTime = (scheduleId: string, nominalAt: number): string =>
  `${PREFIX}${scheduleId}/${new Date(nominalAt).toISOString().replace('.000Z', 'Z')}`;
export const keyOfTrigger = (scheduleId: string, triggerId: string): string =>
  `${PREFIX}${scheduleId}/trigger/${triggerId}`;

/** The schedule that may have started a run: its key says so. Anybody may use such a key, so the schedule looks for the run in its own. */
export const scheduleOfRun = ({
  project,
  idempotencyKey,
}: Pick<RunRecord, 'project' | 'idempotencyKey'>): string | undefined => {
  if (idempotencyKey?.startsWith(PREFIX) !== true) return undefined;
  const [, scheduleId, ...rest] = idempotencyKey.split('/');
  return scheduleId === undefined || scheduleId.includes(':') || rest.length === 0
    ? undefined
    : scheduleActorId(project, scheduleId);
};
