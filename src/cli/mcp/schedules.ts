import type { components } from '../../model/generated/openapi.ts';
import { type DaemonClient, DaemonError } from '../daemon-client.ts';
import { count, counted, oneLine } from '../format.ts';
import { tableLines } from '../table.ts';
import { moment } from './durable-run.ts';
import type { ProjectScope } from './scope.ts';

type Schemas = components['schemas'];
type Schedule = Schemas['Schedule'];

const NEXT_SHOWN = 3;

const timesText = ({ cron, timezone, every_ms: every }: Pick<Schedule, 'cron' | 'timezone' | 'every_ms'>): string =>
  cron === undefined ? `every ${count(every ?? 0)} ms` : `${oneLine(cron)} in ${oneLine(timezone ?? 'UTC')}`;

const firingText = ({ nominal_at: at, trigger_id: trigger, outcome, run_id: run, reason }: Schemas['Firing']): string =>
  `${moment(at)}${trigger === undefined ? '' : ' (trigger)'} ${outcome === 'started' ? `started durable run ${run ?? ''}` : `skipped: ${(reason ?? '').replaceAll('_', ' ')}`}`;

/** One page of schedules, one line each. */
export const listSchedules = async (
  client: DaemonClient,
  {
    project,
    limit,
    cursor,
  }: { readonly project: string | undefined; readonly limit: number; readonly cursor: string | undefined },
): Promise<string> => {
  const { schedules, next_cursor: next } = await client.get<{
    readonly schedules: readonly Schemas['ListedSchedule'][];
    readonly next_cursor?: string;
  }>('/v1/api/schedules', { project, limit, cursor });
  if (schedules.length === 0) return cursor === undefined ? 'There is no schedule.' : 'No further schedule.';
  return [
    'Schedules (id, project, definition, times, status, next, last):',
    ...tableLines(
      schedules.map((one) => [
        oneLine(one.id),
        oneLine(one.project),
        oneLine(one.definition_id ?? '-', 64),
        one.fault === undefined ? timesText(one) : `quarantined: ${oneLine(one.fault, 200)}`,
        one.status ?? '-',
        one.next_at === undefined ? '-' : moment(one.next_at),
        one.last_firing === undefined ? 'never fired' : firingText(one.last_firing),
      ]),
    ),
    ...(next === undefined ? [] : [`More: cursor ${next}`]),
  ].join('\n');
};

/** One schedule: what it starts, when next, and what became of its last times, with the runs that these started. */
export const showSchedule = async (client: DaemonClient, id: string, project: string | undefined): Promise<string> => {
  const one = await client.get<Schedule>(`/v1/api/schedules/${encodeURIComponent(id)}`, { project });
  const { next_times: next, firings, running, waiting, paused_at: pausedAt } = one;
  return [
    `Schedule ${oneLine(one.id)} of project ${oneLine(one.project)}: ${one.status}${pausedAt === undefined ? '' : ` since ${moment(pausedAt)}`}; starts ${oneLine(one.definition_id, 64)}, ${timesText(one)}; overlap ${one.overlap}, catch_up ${one.catch_up}`,
    `${counted(one.started, 'firing')} started a run, ${count(one.skipped)} skipped; ${running.length === 0 ? 'no run of it is open' : `open: ${running.join(', ')}`}`,
    ...(waiting === undefined ? [] : [`Waits for the end of the run before it: ${moment(waiting.nominal_at)}`]),
    one.status === 'paused'
      ? 'Nothing fires until it is resumed.'
      : next.length === 0
        ? 'No further time.'
        : `Next: ${next.slice(0, NEXT_SHOWN).map(moment).join(', ')}`,
    ...(firings.length === 0
      ? ['It has never fired.']
      : ['Last firings, newest first:', ...firings.map((firing) => `  ${firingText(firing)}`)]),
  ].join('\n');
};

/** How far an action on many runs is. */
export const showBulk = async (client: DaemonClient, { fixed }: ProjectScope, bulkId: string): Promise<string> => {
  // What it is done to is not in the answer: it may be runs of other projects.
  if (fixed !== undefined)
    throw new DaemonError(`actions on many runs are not shown to tools that are limited to project ${fixed}`);
  const bulk = await client.get<Schemas['Bulk']>(`/v1/api/runs/bulk/${encodeURIComponent(bulkId)}`);
  const { action, status, count: matching, done, refused, started_at: from, ended_at: to } = bulk;
  return `Action on many runs ${oneLine(bulk.bulk_id)}: ${action} of ${counted(matching, 'run')}; ${status}; ${count(done)} done, ${count(refused)} refused; started ${moment(from)}${to === undefined ? '' : `; ended ${moment(to)}`}`;
};
