import * as z from 'zod';
import type { components } from '../../model/generated/openapi.ts';
import { isRunId, isTraceId } from '../../model/ids.ts';
import type { Json } from '../../model/json.ts';
import { type DaemonClient, DaemonError } from '../daemon-client.ts';
import { cost, count, counted, duration, oneLine, tokens } from '../format.ts';
import { failingAttempt } from '../run-detail.ts';
import { tableLines } from '../table.ts';
import { payloadLines } from './payload.ts';
import { type DurableRun, durableRunLines, findDurableRun, readDurableRun, spanIdOfRun } from './durable-run.ts';
import type { ProjectScope } from './scope.ts';
import { waitEventLines } from './wait-events.ts';

type Schemas = components['schemas'];
type Span = Schemas['Span'];
type Detail = Schemas['TraceDetail'];

const MOST_CHARACTERS = 20_000;

export const getRunInput = z
  .strictObject({
    trace_id: z
      .string()
      .transform((id) => id.trim().toLowerCase())
      .refine(isTraceId, '32 hexadecimal digits, not all zero')
      .optional()
      .describe('The id of a trace, which find_runs shows: 32 hexadecimal digits.'),
    run_id: z
      .string()
      .transform((id) => id.trim().toLowerCase())
      .refine(isRunId, 'the id of a durable run, a UUID; a trace is named by trace_id')
      .optional()
      .describe('The id of a durable run, a UUID, instead of a trace: how it stands, its attempts, and its trace.'),
    max_payload_characters: z
      .int()
      .min(0)
      .max(MOST_CHARACTERS)
      .default(2000)
      .describe('Where each prompt, completion, input or output is cut; 0 leaves them out.'),
  })
  .refine(
    ({ trace_id: trace, run_id: run }) => (trace === undefined) !== (run === undefined),
    'either trace_id or run_id, and not both',
  );

/** Lines of the waterfall; failed steps beyond them are added. */
const MOST_STEPS = 200;
const MOST_FAILED = 20;
/** Spans whose payloads are fetched, each by a request of its own. */
const MOST_PAYLOADS = 12;
const MOST_LOGS = 50;
/** Down to this depth steps are indented and their path is printed. */
const MOST_DEPTH = 30;
const MOST_JUDGEMENTS = 50;

/** RFC 3339 with nanoseconds, as milliseconds since the epoch: exact to the microsecond, which is what is shown. */
const millis = (time: string): number => {
  const fraction = /\.(\d+)Z$/.exec(time)?.[1];
  const whole = Date.parse(time.replace(/\.\d+Z$/, 'Z'));
  return whole + (fraction === undefined ? 0 : Number(`0.${fraction}`) * 1000);
};

type Step = { readonly span: Span; readonly depth: number; readonly path: readonly Span[] };

/** The spans in their order with their depth; a span whose parent has not arrived stands at the top. */
const stepsOf = (spans: readonly Span[]): Step[] => {
  const known = new Map<string, Step>();
  return spans.map((span) => {
    const parent = span.parent_span_id === undefined ? undefined : known.get(span.parent_span_id);
    const step: Step = {
      span,
      depth: parent === undefined ? 0 : parent.depth + 1,
      path: parent === undefined || parent.depth >= MOST_DEPTH ? [span] : [...parent.path, span],
    };
    known.set(span.span_id, step);
    return step;
  });
};
const endOf = ({ span }: Step): number => millis(span.end_time ?? span.start_time);

/** The steps at which something went wrong first: those that failed without a failed step beneath them. */
const failedSteps = (steps: readonly Step[]): Step[] => {
  const failed = steps.filter(({ span }) => span.status === 'error');
  const aboveFailed = new Set(failed.map(({ span }) => span.parent_span_id));
  return failed.filter(({ span }) => !aboveFailed.has(span.span_id)).toSorted((a, b) => endOf(a) - endOf(b));
};

/** The span of the durable run that a trace is of. */
const runSpanOf = (steps: readonly Step[], run: DurableRun | undefined): Span | undefined => {
  if (run === undefined) return steps[0]?.span.kind === 'workflow_run' ? steps[0].span : undefined;
  const id = spanIdOfRun(run);
  return steps.find(({ span }) => span.span_id === id)?.span;
};

/**
 * The span of the attempt that failed a durable run: what the run says, else the failed one that ended last. An attempt that
 * was retried, or whose failure the definition handled, is not where the run failed.
 */
const failingSpan = (steps: readonly Step[], runSpan: Span | undefined, run: DurableRun | undefined) => {
  if (run !== undefined) return failingAttempt(run)?.span_id;
  if (runSpan?.status !== 'error') return undefined;
  return steps
    .filter(({ span }) => span.status === 'error' && span.parent_span_id === runSpan.span_id)
    .toSorted((a, b) => endOf(a) - endOf(b))
    .at(-1)?.span.span_id;
};

const reasonOf = ({ error }: Span): string => {
  if (error === undefined) return 'no reason was sent';
  return `${error.type === undefined ? '' : `${oneLine(error.type, 80)}: `}${oneLine(error.message, 500)}`;
};

const took = ({ start_time: start, end_time: end }: Span): string =>
  end === undefined ? 'running' : duration(millis(end) - millis(start));

const stepRow = ({ span, depth }: Step, origin: number): string[] => {
  const notes = [
    span.model !== undefined && oneLine(span.model, 60),
    tokens(span.usage),
    span.cost !== undefined && cost(span.cost),
    span.status === 'error' && reasonOf(span),
  ].filter((note) => typeof note === 'string');
  return [
    `+${duration(Math.max(0, millis(span.start_time) - origin))}`,
    took(span),
    span.status,
    span.kind,
    `${'  '.repeat(Math.min(depth, MOST_DEPTH))}${[oneLine(span.name, 80), ...notes].join('; ')}`,
  ];
};

const waterfall = (steps: readonly Step[]): string[] => {
  const origin = Math.min(...steps.map(({ span }) => millis(span.start_time)));
  const shown = steps.filter((step, at) => at < MOST_STEPS || step.span.status === 'error').slice(0, 2 * MOST_STEPS);
  return [
    'Waterfall (offset, duration, status, kind, step):',
    ...tableLines(shown.map((step) => stepRow(step, origin))),
    ...(shown.length < steps.length ? [`${count(steps.length - shown.length)} further steps are not shown`] : []),
  ];
};

const alsoFailed = (others: readonly Step[]): string =>
  `${others
    .slice(0, MOST_FAILED)
    .map((step) => `${oneLine(step.span.name, 60)} (${reasonOf(step.span)})`)
    .join('; ')}${others.length > MOST_FAILED ? `; and ${others.length - MOST_FAILED} more` : ''}`;

/**
 * Where the trace failed, and what failed besides.
 * @param within the span of the attempt that failed a durable run; `undefined` where none did
 */
const failure = (
  failed: readonly Step[],
  trace: Detail['trace'],
  durable: { readonly within: string | undefined } | undefined,
): string[] => {
  if (failed.length === 0) return ['No step failed.'];
  const first =
    durable === undefined
      ? failed[0]
      : failed.find(({ path }) => path.some(({ span_id: id }) => id === durable.within));
  const others = failed.filter((step) => step !== first);
  if (first === undefined)
    return [
      durable?.within === undefined
        ? 'No step failed the durable run.'
        : 'The span of the failing attempt is not stored.',
      `Failed, and retried or handled: ${alsoFailed(others)}`,
    ];
  const { span, path } = first;
  const lines = [
    `Failed at: ${oneLine(span.name, 80)} (${span.kind}, span ${span.span_id}), after ${took(span)}`,
    `Reason: ${reasonOf(span)}`,
  ];
  if (path.length > 1) lines.push(`Path: ${path.map(({ name }) => oneLine(name, 60)).join(' > ')}`);
  if (trace.status === 'ok') lines.push('The trace itself ended ok.');
  if (others.length > 0)
    lines.push(
      `${durable === undefined ? 'Failed as well' : 'Failed as well, or retried or handled'}: ${alsoFailed(others)}`,
    );
  return lines;
};

/** Failed steps first, then model calls, then the root: what one asks about a run, in this order. */
const worthReading = (steps: readonly Step[], failed: readonly Step[]): Span[] => {
  const wanted = [
    ...failed.slice(0, MOST_PAYLOADS / 2),
    ...steps.filter(({ span }) => span.kind === 'model_generation'),
    ...steps.filter(({ depth }) => depth === 0),
  ].map(({ span }) => span);
  const chosen = new Set([...new Set(wanted)].slice(0, MOST_PAYLOADS));
  return steps.map(({ span }) => span).filter((span) => chosen.has(span));
};

const payloads = async (
  client: DaemonClient,
  steps: readonly Step[],
  failed: readonly Step[],
  most: number,
  isOurs: (span: Span) => boolean,
): Promise<string[]> => {
  if (most === 0) return [];
  const wanted = worthReading(steps, failed);
  const whole = await Promise.all(
    wanted.map(
      async ({ trace_id, span_id }) =>
        (await client.get<{ span: Span }>(`/v1/api/traces/${trace_id}/spans/${span_id}`)).span,
    ),
  );
  const sections = whole.filter(isOurs).flatMap((span) => {
    const isModel = span.kind === 'model_generation';
    const lines = [
      ...(span.input === undefined ? [] : [isModel ? 'prompt:' : 'input:', ...payloadLines(span.input as Json, most)]),
      ...(span.output === undefined
        ? []
        : [isModel ? 'completion:' : 'output:', ...payloadLines(span.output as Json, most)]),
    ];
    const title = `${oneLine(span.name, 80)} (${span.model === undefined ? span.kind : oneLine(span.model, 60)}, span ${span.span_id})`;
    return lines.length === 0 ? [] : ['', title, ...lines];
  });
  if (sections.length === 0) return ['', 'No prompts or completions are stored.'];
  const models = steps.filter(({ span }) => span.kind === 'model_generation').length;
  const isCut = models > wanted.filter(({ kind }) => kind === 'model_generation').length;
  return [
    '',
    `Prompts and completions${isCut ? `, of ${wanted.length} steps of ${steps.length}` : ''} (lines of stored text begin with "| "):`,
    ...sections,
  ];
};

const logLines = (logs: Detail['logs'] = []): string[] =>
  logs.length === 0
    ? []
    : [
        '',
        `Logs (${count(logs.length)}${logs.length > MOST_LOGS ? `, the first ${MOST_LOGS}` : ''}):`,
        ...tableLines(
          logs
            .slice(0, MOST_LOGS)
            .map(({ timestamp, severity, logger, message }) => [
              timestamp,
              severity,
              `| ${logger === undefined || logger === '' ? '' : `${oneLine(logger, 60)}: `}${oneLine(message, 500)}`,
            ]),
        ),
      ];

const scoreLines = (scores: Detail['scores'] = []): string[] =>
  scores.length === 0
    ? []
    : [
        '',
        `Scores (${count(scores.length)}, of machines):`,
        ...scores.slice(0, MOST_JUDGEMENTS).map((score) => {
          const { scorer_id, scorer_version: version, value, min, max, label, reason } = score;
          const by = `${oneLine(scorer_id, 80)}${version === undefined ? '' : ` (${oneLine(version, 60)})`}`;
          return `${by}: ${value} on ${min} to ${max}${label === undefined ? '' : `, ${oneLine(label)}`}${reason === undefined ? '' : `; ${oneLine(reason, 300)}`}`;
        }),
      ];

const feedbackLines = (feedback: Detail['feedback'] = []): string[] =>
  feedback.length === 0
    ? []
    : [
        '',
        `Feedback (${count(feedback.length)}, of people):`,
        ...feedback
          .slice(0, MOST_JUDGEMENTS)
          .map(
            ({ kind, value, comment }) =>
              `${kind}: ${oneLine(String(value), 300)}${comment === undefined ? '' : `; ${oneLine(comment, 300)}`}`,
          ),
      ];

const heading = ({ trace, spans }: Pick<Detail, 'trace' | 'spans'>): string[] => {
  const { correlation, duration_ns: nanos } = trace;
  const about = [
    `project ${oneLine(correlation.project)}`,
    correlation.environment !== undefined && `environment ${oneLine(correlation.environment)}`,
    correlation.service_name !== undefined && `service ${oneLine(correlation.service_name)}`,
    correlation.user_id !== undefined && `user ${oneLine(correlation.user_id)}`,
    correlation.session_id !== undefined && `session ${oneLine(correlation.session_id)}`,
  ].filter((note) => note !== false);
  return [
    `Trace ${trace.trace_id}: ${oneLine(trace.name, 120)}`,
    [
      trace.cancelled === true ? 'cancelled' : trace.status,
      nanos === null ? 'still running' : duration(nanos / 1e6),
      cost(trace.cost),
      tokens(trace.usage) ?? 'no tokens',
      `${counted(spans.length, 'span')}, ${trace.error_count} failed`,
      `started ${trace.start_time}`,
    ].join('; '),
    about.join('; '),
  ];
};

/** The waits of a durable run, which its span tells as events. */
const waits = async (client: DaemonClient, runSpan: Span | undefined, steps: readonly Step[]): Promise<string[]> => {
  if (runSpan === undefined) return [];
  const { span } = await client.get<{ span: Span }>(`/v1/api/traces/${runSpan.trace_id}/spans/${runSpan.span_id}`);
  const lines = waitEventLines(span.events, Math.min(...steps.map((step) => millis(step.span.start_time))));
  return lines.length === 0 ? [] : ['', ...lines];
};

/** The trace of a durable run that has just begun may not be stored yet. */
const findTrace = async (client: DaemonClient, traceId: string, run: DurableRun | undefined) => {
  try {
    return await client.get<Detail>(`/v1/api/traces/${traceId}`, { payloads: 'none', include: 'all' });
  } catch (error) {
    if (run !== undefined && error instanceof DaemonError && error.code === 'not_found') return undefined;
    throw error;
  }
};

/**
 * One trace: what happened in which order, where and why it failed, what was asked and answered, logs and scores. That of a
 * durable run begins with how the run stands.
 */
export const getRun = async (
  client: DaemonClient,
  scope: ProjectScope,
  { trace_id: given, run_id: runId, max_payload_characters: most }: z.output<typeof getRunInput>,
): Promise<string> => {
  const { fixed } = scope;
  const asked = runId === undefined ? undefined : await readDurableRun(client, scope, runId);
  const traceId = asked?.trace_id ?? given ?? '';
  const detail = await findTrace(client, traceId, asked);
  if (detail === undefined)
    return [...(asked === undefined ? [] : durableRunLines(asked, Date.now())), '', 'Its trace is not stored.'].join(
      '\n',
    );
  const isOurs = ({ correlation }: { readonly correlation: { readonly project: string } }): boolean =>
    fixed === undefined || correlation.project === fixed;
  const spans = detail.spans.filter(isOurs);
  // A trace that several projects share has one summary, with the figures of all of them: it is not shown to one.
  if (!isOurs(detail.trace) || spans.length < detail.spans.length)
    throw new DaemonError(
      `trace ${traceId} is not, or not alone, of project ${fixed}, which these tools are limited to (--project, SVC_PROJECT)`,
    );
  const run = asked ?? (await findDurableRun(client, scope, detail.trace));
  const steps = stepsOf(spans);
  const failed = failedSteps(steps);
  const runSpan = runSpanOf(steps, run);
  const durable = run === undefined && runSpan === undefined ? undefined : { within: failingSpan(steps, runSpan, run) };
  return [
    ...(run === undefined ? [] : [...durableRunLines(run, Date.now()), '']),
    ...heading(detail),
    '',
    ...failure(failed, detail.trace, durable),
    ...(await waits(client, runSpan, steps)),
    '',
    ...waterfall(steps),
    ...(await payloads(client, steps, failed, most, isOurs)),
    ...logLines(detail.logs?.filter(isOurs)),
    ...scoreLines(detail.scores?.filter(isOurs)),
    ...feedbackLines(detail.feedback?.filter(isOurs)),
  ].join('\n');
};
