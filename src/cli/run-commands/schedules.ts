import type { components, operations } from '../../model/generated/openapi.ts';
import { count } from '../format.ts';
import { readJsonArgument } from '../json-argument.ts';
import type { Moments } from '../moments.ts';
import { jsonText, printable } from '../printable.ts';
import { table } from '../table.ts';
import { misused, printed, type ShowIo, withDaemon } from '../with-daemon.ts';
import { moreText } from './list.ts';
import type { RunIo } from './steer.ts';

type Schemas = components['schemas'];
type Schedule = Schemas['Schedule'];
type Named = { readonly project?: string };

const LIST = '/v1/api/schedules';
const schedulePath = (id: string): string => `${LIST}/${encodeURIComponent(id)}`;

const timesText = ({ cron, timezone, every_ms: every }: Pick<Schedule, 'cron' | 'timezone' | 'every_ms'>): string =>
  cron === undefined ? `every ${count(every ?? 0)} ms` : `${printable(cron)} in ${printable(timezone ?? 'UTC')}`;

const firingText = (one: Schemas['Firing'], moments: Moments): string =>
  [
    moments.at(one.nominal_at) + (one.trigger_id === undefined ? '' : ' (trigger)'),
    one.outcome === 'started'
      ? `started run ${printable(one.run_id ?? '')}`
      : `skipped: ${printable((one.reason ?? '').replaceAll('_', ' '))}`,
  ].join('  ');

/** One schedule as a text: what it starts, when next, what became of its last times. */
const scheduleText = (one: Schedule, moments: Moments): string =>
  [
    `${printable(one.id)} of project ${printable(one.project)} is ${one.status}: starts ${printable(one.definition_id)}, ${timesText(one)}`,
    `overlap ${one.overlap}, catch_up ${one.catch_up}${one.jitter_ms === 0 ? '' : `, jitter up to ${count(one.jitter_ms)} ms`}`,
    `${count(one.started)} started, ${count(one.skipped)} skipped, ${count(one.running.length)} open`,
    ...(one.waiting === undefined ? [] : [`waits for the run before it: ${moments.at(one.waiting.nominal_at)}`]),
    ...(one.status === 'paused' ? ['nothing fires until it is resumed'] : []),
    ...(one.next_times.length === 0 ? [] : [`next: ${one.next_times.slice(0, 3).map(moments.at).join(', ')}`]),
    ...one.firings.map((firing) => `  ${firingText(firing, moments)}`),
    '',
  ].join('\n');

const print = (io: ShowIo, schedule: Schedule): number =>
  printed(io, io.json ? `${jsonText(schedule, 2)}\n` : scheduleText(schedule, io.moments()));

/** `svc schedules`: one page of them. @returns the exit status */
export const listSchedules = (
  io: ShowIo,
  filters: NonNullable<operations['listSchedules']['parameters']['query']>,
): Promise<number> =>
  withDaemon(io, async (client) => {
    const page = await client.get<{
      readonly schedules: readonly Schemas['ListedSchedule'][];
      readonly next_cursor?: string;
    }>(LIST, filters);
    if (io.json) return printed(io, `${jsonText(page, 2)}\n`);
    const { schedules, next_cursor: cursor } = page;
    if (schedules.length === 0) return printed(io, 'There is no schedule.\n');
    const moments = io.moments();
    const rows = table([
      ['SCHEDULE', 'PROJECT', 'DEFINITION', 'TIMES', 'STATUS', 'NEXT', 'LAST'],
      ...schedules.map((one) => [
        printable(one.id),
        printable(one.project),
        printable(one.definition_id ?? '-'),
        one.fault === undefined ? timesText(one) : `quarantined: ${printable(one.fault, 80)}`,
        one.status ?? '-',
        one.next_at === undefined ? '-' : moments.at(one.next_at),
        one.last_firing === undefined ? '-' : firingText(one.last_firing, moments),
      ]),
    ]);
    return printed(io, rows + moreText(schedules.length, cursor));
  });

/** `svc schedules <id>`. @returns the exit status */
export const showSchedule = (io: ShowIo, id: string, named: Named): Promise<number> =>
  withDaemon(io, async (client) => print(io, await client.get<Schedule>(schedulePath(id), named)));

/** What flags say of a schedule; they win over the same members of a file. */
export type ScheduleFlags = Named & {
  readonly file?: string;
  readonly definition?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: number;
  readonly input?: string;
  readonly overlap?: Schemas['Overlap'];
  readonly catchUp?: Schemas['CatchUp'];
};

/** `svc schedules create`. @returns the exit status */
export const createSchedule = async (io: RunIo, id: string, flags: ScheduleFlags): Promise<number> => {
  const { file, definition, cron, timezone, every, input, overlap, catchUp, project } = flags;
  const read = file === undefined ? undefined : await readJsonArgument('--file', file, io.input);
  if (read?.ok === false) return misused(io, read.problem);
  const held = read?.value ?? {};
  if (typeof held !== 'object' || held === null || Array.isArray(held))
    return misused(io, '--file: must hold one JSON object, the body of POST /v1/api/schedules');
  const given = input === undefined ? undefined : await readJsonArgument('--input', input, io.input);
  if (given?.ok === false) return misused(io, given.problem);
  const body = {
    ...(held as object),
    id,
    ...(definition === undefined ? {} : { definition_id: definition }),
    ...(cron === undefined ? {} : { cron }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(every === undefined ? {} : { every_ms: every }),
    ...(given === undefined ? {} : { input: given.value }),
    ...(overlap === undefined ? {} : { overlap }),
    ...(catchUp === undefined ? {} : { catch_up: catchUp }),
    ...(project === undefined ? {} : { project }),
  };
  return withDaemon(io, async (client) => print(io, await client.post<Schedule>(LIST, body)));
};

/** `svc schedules pause`, `resume` and `trigger`. @returns the exit status */
export const moveSchedule = (
  io: ShowIo,
  id: string,
  action: 'pause' | 'resume' | 'trigger',
  { project }: Named,
): Promise<number> =>
  withDaemon(io, async (client) => {
    const query = project === undefined ? '' : `?project=${encodeURIComponent(project)}`;
    return print(io, await client.post<Schedule>(`${schedulePath(id)}/${action}${query}`, {}));
  });

/** `svc schedules delete`. @returns the exit status */
export const deleteSchedule = (io: ShowIo, id: string, named: Named): Promise<number> =>
  withDaemon(io, async (client) => {
    const gone = await client.remove<{ readonly id: string; readonly project: string }>(schedulePath(id), named);
    return printed(
      io,
      io.json
        ? `${jsonText(gone, 2)}\n`
        : `schedule ${printable(gone.id)} of project ${printable(gone.project)} is deleted; runs that it started go on\n`,
    );
  });
