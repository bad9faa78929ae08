import * as z from 'zod';
import type { components } from '../../model/generated/openapi.ts';
import { isRunId } from '../../model/ids.ts';
import { type DaemonClient, DaemonError } from '../daemon-client.ts';
import { cost, counted, duration, oneLine, tokens } from '../format.ts';
import { tableLines } from '../table.ts';
import { type DurableRun, durableRunSummary, moment, readDurableRun } from './durable-run.ts';
import { listSchedules, showBulk, showSchedule } from './schedules.ts';
import { DEFAULT_FROM, type ProjectScope, projectArgument, projectOf, window, windowText } from './scope.ts';

type Trace = components['schemas']['TraceSummary'];

const filter = (what: string) => z.string().min(1).max(1024).optional().describe(what);

export const findRunsInput = (scope: ProjectScope) =>
  z.strictObject({
    ...projectArgument(scope),
    status: z
      .enum(['ok', 'error', 'unset'])
      .optional()
      .describe(
        'ok: it ended well. error: a span in it failed. unset: it still runs, or its durable run was cancelled.',
      ),
    run_id: filter('Id of a durable run: how it stands, and its trace, whatever their age.'),
    schedule: filter(
      'Lists schedules instead of traces: "*" for all, or the id of one, with the durable runs that it started. Only project, limit and cursor go with it.',
    ),
    bulk_id: filter('Instead of traces: how far an action on many durable runs is.'),
    model: filter('Exact id of a model that the trace called.'),
    user: filter('Id of the user.'),
    session: filter('Id of the session.'),
    text: z
      .string()
      .max(4096)
      .optional()
      .describe('Words that prompts, answers, tool inputs or outputs hold; "a phrase", prefix*.'),
    ...window,
    sort: z.enum(['start_time', 'duration']).default('start_time'),
    order: z.enum(['desc', 'asc']).default('desc'),
    limit: z.int().min(1).max(100).default(20),
    cursor: z.string().max(4096).optional().describe('Continues a list with the same arguments.'),
  });

/** The durable run of an id, which may as well be one that a sender drew for runs of its own. */
const findRun = async (client: DaemonClient, scope: ProjectScope, runId: string): Promise<DurableRun | undefined> => {
  if (!isRunId(runId)) return undefined;
  try {
    return await readDurableRun(client, scope, runId);
  } catch (error) {
    if (error instanceof DaemonError && (error.code === 'not_found' || error.code === 'runs_disabled'))
      return undefined;
    throw error;
  }
};

const MODELS_SHOWN = 3;

const rowOf = (trace: Trace): string[] => {
  const { correlation, models, error_count: failed, span_count: spans, duration_ns: nanos } = trace;
  const notes = [
    models.length > 0 &&
      `${models
        .slice(0, MODELS_SHOWN)
        .map((model) => oneLine(model, 60))
        .join(', ')}${models.length > MODELS_SHOWN ? ', ...' : ''}`,
    correlation.user_id !== undefined && `user ${oneLine(correlation.user_id, 60)}`,
    correlation.session_id !== undefined && `session ${oneLine(correlation.session_id, 60)}`,
    correlation.run_id !== undefined &&
      `${isRunId(correlation.run_id) ? 'durable run' : 'run'} ${oneLine(correlation.run_id, 60)}`,
    correlation.environment !== undefined && `env ${oneLine(correlation.environment, 40)}`,
  ].filter((note) => note !== false);
  return [
    trace.trace_id,
    moment(trace.start_time),
    trace.cancelled === true ? 'cancelled' : trace.status,
    nanos === null ? 'running' : duration(nanos / 1e6),
    cost(trace.cost),
    tokens(trace.usage) ?? 'no tokens',
    `${counted(spans, 'span')}${failed > 0 ? `, ${failed} failed` : ''}`,
    [oneLine(trace.name, 80), ...notes].join('; '),
  ];
};

/** One line a trace; before it, how the durable run stands that was asked for. @see Interface specification, "Capabilities", `mcp` */
export const findRuns = async (
  client: DaemonClient,
  scope: ProjectScope,
  args: z.output<ReturnType<typeof findRunsInput>>,
): Promise<string> => {
  const { status, run_id: runId, model, user, session, text, to, sort, order, limit, cursor } = args;
  if (args.bulk_id !== undefined) return showBulk(client, scope, args.bulk_id);
  if (args.schedule === '*') return listSchedules(client, { project: projectOf(scope, args), limit, cursor });
  if (args.schedule !== undefined) return showSchedule(client, args.schedule, projectOf(scope, args));
  const run = runId === undefined ? undefined : await findRun(client, scope, runId);
  // Somebody who names a run knows which one, however long ago it was.
  const from = runId !== undefined && args.from === DEFAULT_FROM ? undefined : args.from;
  const project = projectOf(scope, args) ?? run?.project;
  const page = await client.get<{ traces: readonly Trace[]; next_cursor?: string }>('/v1/api/traces', {
    // A failed span inside is what one looks for, also where the trace itself ended well.
    ...(status === 'error' ? { has_error: 'true' } : { status }),
    ...{ project, model, from, to, sort, order, limit, cursor },
    ...{ run_id: runId, user_id: user, session_id: session, q: text },
  });
  const about = run === undefined ? [] : [...durableRunSummary(run, Date.now()), ''];
  const where = `${from === undefined ? 'all time' : windowText(args)}${project === undefined ? '' : `, project ${oneLine(project)}`}`;
  if (page.traces.length === 0)
    return [
      ...about,
      cursor !== undefined
        ? 'No further trace matches.'
        : from === undefined
          ? 'No trace matches.'
          : `No trace matches in ${where}. A wider window may: from -7d.`,
    ].join('\n');
  const by = sort === 'duration' ? (order === 'desc' ? 'slowest' : 'fastest') : order === 'desc' ? 'newest' : 'oldest';
  return [
    ...about,
    `${counted(page.traces.length, 'trace')} of ${where}, ${by} first (trace id, start, status, duration, cost, tokens, spans, name):`,
    ...tableLines(page.traces.map(rowOf)),
    ...(page.next_cursor === undefined ? [] : [`There are more: the same arguments with cursor ${page.next_cursor}`]),
  ].join('\n');
};
