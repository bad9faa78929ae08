import * as z from 'zod';
import type { components } from '../../model/generated/openapi.ts';
import type { DaemonClient } from '../daemon-client.ts';
import { cost, counted, duration, oneLine, table, tokens } from './format.ts';
import { type ProjectScope, projectArgument, projectOf, window, windowText } from './scope.ts';

type Trace = components['schemas']['TraceSummary'];

const filter = (what: string) => z.string().min(1).max(1024).optional().describe(what);

export const findRunsInput = (scope: ProjectScope) =>
  z.strictObject({
    ...projectArgument(scope),
    status: z.enum(['ok', 'error', 'unset']).optional().describe('How the run ended; unset: it still runs.'),
    model: filter('Exact id of a model that the run called.'),
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
    correlation.environment !== undefined && `env ${oneLine(correlation.environment, 40)}`,
  ].filter((note) => note !== false);
  return [
    trace.trace_id,
    trace.start_time.replace(/\.\d+Z$/, 'Z'),
    trace.status,
    nanos === null ? 'running' : duration(nanos / 1e6),
    cost(trace.cost),
    tokens(trace.usage) ?? 'no tokens',
    `${counted(spans, 'span')}${failed > 0 ? `, ${failed} failed` : ''}`,
    [oneLine(trace.name, 80), ...notes].join('; '),
  ];
};

/** One line a run. @see Interface specification, "Capabilities", `mcp` */
export const findRuns = async (
  client: DaemonClient,
  scope: ProjectScope,
  args: z.output<ReturnType<typeof findRunsInput>>,
): Promise<string> => {
  const { status, model, user, session, text, from, to, sort, order, limit, cursor } = args;
  const project = projectOf(scope, args);
  const page = await client.get<{ traces: readonly Trace[]; next_cursor?: string }>('/v1/api/traces', {
    ...{ project, status, model, from, to, sort, order, limit, cursor },
    ...{ user_id: user, session_id: session, q: text },
  });
  const where = `${windowText(args)}${project === undefined ? '' : `, project ${oneLine(project)}`}`;
  if (page.traces.length === 0)
    return cursor === undefined
      ? `No run matches in ${where}. A wider window may: from -7d.`
      : 'No further run matches.';
  const by = sort === 'duration' ? (order === 'desc' ? 'slowest' : 'fastest') : order === 'desc' ? 'newest' : 'oldest';
  return [
    `${counted(page.traces.length, 'run')} of ${where}, ${by} first (trace id, start, status, duration, cost, tokens, spans, name):`,
    ...table(page.traces.map(rowOf)),
    ...(page.next_cursor === undefined ? [] : [`There are more: the same arguments with cursor ${page.next_cursor}`]),
  ].join('\n');
};
