import { spanIdOf } from '../../actors/run/run-spans.ts';
import type { components } from '../../model/generated/openapi.ts';
import { isRunId } from '../../model/ids.ts';
import { type DaemonClient, DaemonError } from '../daemon-client.ts';
import { count, counted, duration, money, oneLine } from '../format.ts';
import { failingAttempt, hasFailed, openChildren } from '../run-detail.ts';
import { tableLines } from '../table.ts';
import type { ProjectScope } from './scope.ts';

type Schemas = components['schemas'];
export type DurableRun = Schemas['RunDetail'];
type Attempt = DurableRun['attempts'][number];
type ChildRun = DurableRun['children'][number];

/** Attempts, waits and children that are shown; the others are counted. */
const MOST_ATTEMPTS = 100;
const MOST_SHOWN = 20;

/** The span of a run within its trace. */
export const spanIdOfRun = (run: Pick<DurableRun, 'run_id'>): string => spanIdOf(run.run_id);

/** @throws DaemonError when there is no such run, or it is of a project that the tools do not answer for */
export const readDurableRun = async (client: DaemonClient, { fixed }: ProjectScope, runId: string) => {
  const run = await client.get<DurableRun>(`/v1/api/runs/${encodeURIComponent(runId)}`);
  if (fixed !== undefined && run.project !== fixed)
    throw new DaemonError(
      `durable run ${runId} is not of project ${fixed}, which these tools are limited to (--project, SVC_PROJECT)`,
    );
  return run;
};

/**
 * The durable run that a trace is of.
 * @returns nothing for a trace of anything else, of a run that is kept no longer, and where durable runs are off or out of the key's reach
 */
export const findDurableRun = async (
  client: DaemonClient,
  scope: ProjectScope,
  { trace_id: traceId, correlation }: Schemas['TraceSummary'],
): Promise<DurableRun | undefined> => {
  const { run_id: runId } = correlation;
  if (runId === undefined || !isRunId(runId)) return undefined;
  try {
    const run = await readDurableRun(client, scope, runId);
    return run.trace_id === traceId ? run : undefined;
  } catch (error) {
    if (error instanceof DaemonError) return undefined;
    throw error;
  }
};

/** A time as people read it, to the second. */
export const moment = (time: string): string => time.replace(/\.\d+Z$/, 'Z');

/** How far off a time is, as this machine's clock says. */
const away = (time: string, now: number): string => {
  const ms = Date.parse(time) - now;
  return ms >= 0 ? `in ${duration(ms)}` : `${duration(-ms)} ago`;
};

const until = (time: string | undefined, now: number): string =>
  time === undefined ? 'without an end' : `until ${moment(time)} (${away(time, now)})`;

const errorText = ({ class: kind, code, message }: Schemas['StepError']): string =>
  `${oneLine(kind, 80)}${code === undefined ? '' : ` (${oneLine(code, 80)})`}: ${oneLine(message, 500)}`;

const listed = (items: readonly string[], noun: string): string[] =>
  items.length <= MOST_SHOWN
    ? [...items]
    : [...items.slice(0, MOST_SHOWN), `  and ${count(items.length - MOST_SHOWN)} more ${noun}`];

const attemptName = ({ step_id: step, visit, attempt }: Attempt): string =>
  `${oneLine(step, 64)}, visit ${visit}, attempt ${attempt}`;

const timerText = (timer: DurableRun['timers'][number], attempts: readonly Attempt[], now: number): string[] => {
  const step = timer.step_id === undefined ? '' : ` at step ${oneLine(timer.step_id, 64)}`;
  const end = until(timer.due_at, now);
  switch (timer.name) {
    case 'start_at':
      return [`  its start, ${end}`];
    case 'sleep':
      return [`  a sleep${step}, ${end}`];
    case 'backoff': {
      const last = attempts.findLast((attempt) => attempt.step_id === timer.step_id);
      const why = last?.error === undefined ? '' : `; attempt ${last.attempt} failed: ${errorText(last.error)}`;
      return [`  the next attempt${step}, ${end}${why}`];
    }
    default:
      // The deadline of a wait stands with the wait; deadlines of the run and of bodies are no waits.
      return [];
  }
};

/** Its place in the line of a key. */
const keyText = (waiting: Schemas['WaitingFor'], now: number): string => {
  const { key, position, holders, next_at: at } = waiting;
  const held = holders.length === 0 ? '' : `, held by ${listOf(holders)}`;
  const next = at === undefined ? '' : `, which next has room at ${moment(at)} (${away(at, now)})`;
  return `  key "${oneLine(key)}", number ${count(position)} in line${held}${next}`;
};
const listOf = (runs: readonly string[]): string =>
  `run ${runs.slice(0, 3).join(', ')}${runs.length > 3 ? ` and ${count(runs.length - 3)} more` : ''}`;

/** What the run waits for and until when. */
const waitLines = (run: DurableRun, now: number): string[] => {
  const { waits, timers, attempts, status, cursor } = run;
  const at = cursor === undefined ? '' : ` at step ${oneLine(cursor, 64)}`;
  const lines = [
    ...waits.map(
      ({ event, key, step_id: step, since, deadline_at: deadline }) =>
        `  event "${oneLine(event)}" with key "${oneLine(key)}" at step ${oneLine(step, 64)}, since ${moment(since)}, ${until(deadline, now)}`,
    ),
    ...timers.flatMap((timer) => timerText(timer, attempts, now)),
    ...openChildren(run).map(
      (child) =>
        `  child run ${child.run_id} of step ${oneLine(child.step_id, 64)}: ${oneLine(child.definition_id, 64)} version ${child.definition_version}, ${child.status}`,
    ),
    ...(run.waiting_for === undefined ? [] : [keyText(run.waiting_for, now)]),
    ...(status === 'paused'
      ? ['  somebody to resume it: it is paused, and what falls due or comes meanwhile acts then']
      : []),
    ...(status === 'queued' && run.queued_reason === 'definition_paused'
      ? [`  somebody to resume its definition ${oneLine(run.definition_id, 64)}, which is paused`]
      : []),
    ...(status === 'queued' && run.waiting_for === undefined && run.queued_reason !== 'definition_paused'
      ? [`  a worker${at}${run.queued_reason === undefined ? '' : ` (${run.queued_reason.replaceAll('_', ' ')})`}`]
      : []),
  ];
  return lines.length === 0 ? [] : ['Waits for:', ...listed(lines, 'waits')];
};

const childText = ({ run_id: runId, step_id: step, visit, index, error }: ChildRun): string[] => {
  if (error === undefined) return [];
  const where = error.step_id === undefined ? 'at no step' : `at its step ${oneLine(error.step_id, 64)}`;
  return [`  ${runId}, child ${index} of step ${oneLine(step, 64)}, visit ${visit}: ${where}: ${errorText(error)}`];
};

const failureLines = (run: DurableRun): string[] => {
  const { status, error, attempts, children } = run;
  const failing = failingAttempt(run);
  const others = attempts.filter((attempt) => hasFailed(attempt) && attempt !== failing);
  const lines: string[] = [];
  if (status === 'failed') {
    const where =
      failing !== undefined
        ? attemptName(failing)
        : error?.step_id === undefined
          ? 'the run itself, at no step'
          : oneLine(error.step_id, 64);
    lines.push(`Run failed at: ${where}`);
    if (error !== undefined)
      lines.push(`Reason: ${errorText(error)}${error.limit === undefined ? '' : `; limit ${error.limit}`}`);
  } else lines.push('No step failed the run.');
  if (others.length > 0)
    lines.push(
      'Attempts that failed and did not fail the run (retried, or handled by on_error):',
      ...listed(
        others.map(
          (attempt) =>
            `  ${attemptName(attempt)}: ${attempt.error === undefined ? attempt.status : errorText(attempt.error)}`,
        ),
        'attempts',
      ),
    );
  const failed = children.filter((child) => child.error !== undefined);
  if (failed.length > 0)
    lines.push(`Child runs that failed (${count(failed.length)}):`, ...listed(failed.flatMap(childText), 'child runs'));
  return lines;
};

const took = ({ started_at: start, ended_at: end }: Attempt): string => {
  if (start === undefined) return 'not started';
  return end === undefined ? 'runs' : duration(Date.parse(end) - Date.parse(start));
};

const attemptLines = ({ attempts }: DurableRun): string[] => {
  if (attempts.length === 0) return ['No attempt was made yet.'];
  const shown = attempts.slice(-MOST_ATTEMPTS);
  return [
    `Attempts${shown.length < attempts.length ? `, the last ${shown.length} of ${count(attempts.length)}` : ''} (step, visit, attempt, status, started, took, worker):`,
    ...tableLines(
      shown.map((attempt) => [
        oneLine(attempt.step_id, 64),
        `visit ${attempt.visit}`,
        `attempt ${attempt.attempt}`,
        attempt.status,
        moment(attempt.started_at ?? attempt.offered_at),
        took(attempt),
        `${oneLine(attempt.worker_id, 80)}${attempt.error === undefined ? '' : `; ${errorText(attempt.error)}`}`,
      ]),
    ),
  ];
};

const spentText = (usage: Schemas['RunUsage']): string =>
  [...(usage.cost === undefined ? [] : [money(usage.cost)]), counted(usage.total_tokens, 'token')].join(' and ');

/** One line: what it is and how it stands. */
const headline = (run: DurableRun): string =>
  [
    `Durable run ${run.run_id}: ${oneLine(run.definition_id, 64)} version ${run.definition_version}`,
    run.status,
    ...(run.cursor === undefined ? [] : [`at step ${oneLine(run.cursor, 64)}`]),
    `started ${moment(run.created_at)}`,
    ...(run.ended_at === undefined ? [] : [`ended ${moment(run.ended_at)}`]),
    ...(run.usage.cost === undefined ? [] : [money(run.usage.cost)]),
    ...(run.tree_usage === undefined ? [] : [`with the runs below it ${spentText(run.tree_usage)}`]),
    `trace ${run.trace_id}`,
  ].join('; ');

/** How a durable run stands: what it is, where it is, what it waits for. */
export const durableRunSummary = (run: DurableRun, now: number): string[] => [headline(run), ...waitLines(run, now)];

/** A durable run with its attempts, and with what failed it. */
export const durableRunLines = (run: DurableRun, now: number): string[] => [
  headline(run),
  `project ${oneLine(run.project)}; ${counted(run.step_count, 'step')} entered${run.parent_run_id === undefined ? '' : `; started by durable run ${oneLine(run.parent_run_id, 64)}`}${run.restarted_from === undefined ? '' : `; restarted from durable run ${oneLine(run.restarted_from.run_id, 64)} at step ${oneLine(run.restarted_from.step_id, 64)}, visit ${run.restarted_from.visit}`}`,
  ...waitLines(run, now),
  ...failureLines(run),
  ...attemptLines(run),
];
