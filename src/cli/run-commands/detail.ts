import type { components } from '../../model/generated/openapi.ts';
import { count, money, tokens } from '../format.ts';
import { type Moments, span } from '../moments.ts';
import { jsonText, printable } from '../printable.ts';
import { failingAttempt, hasFailed, openChildren } from '../run-detail.ts';
import { tableLines } from '../table.ts';
import { errorText, queuedText } from './list.ts';
import { nextLines } from './next.ts';

export type RunDetail = components['schemas']['RunDetail'];
type Attempt = RunDetail['attempts'][number];

/** Attempts, waits and children that are shown; the others are counted. */
const MOST_ATTEMPTS = 20;
const MOST_LINES = 20;
/** Failed children whose errors are shown. */
const MOST_FAILED_CHILDREN = 5;
const MOST_CHARACTERS = 2000;

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', title, ...indented(lines)];

const bounded = (lines: readonly string[]): string[] =>
  lines.length <= MOST_LINES
    ? [...lines]
    : [...lines.slice(0, MOST_LINES), `and ${count(lines.length - MOST_LINES)} more; --json has all`];

const place = ({ status, cursor, queued_reason: reason }: RunDetail): string =>
  `${status}${cursor === undefined ? '' : ` at step ${printable(cursor)}`}${reason === undefined ? '' : ` (${queuedText(reason)})`}`;

const correlationText = (correlation: RunDetail['correlation']): string =>
  Object.entries(correlation)
    .map(
      ([name, value]) =>
        `${printable(name)} ${printable(Array.isArray(value) ? value.join(', ') : String(value), 200)}`,
    )
    .join('; ');

/** @param cost absent where nothing was priced, which is no zero */
const costText = (usage: RunDetail['usage'], cost: RunDetail['cost']): string => {
  const counts = usage.total_tokens === 0 ? undefined : tokens(usage);
  const price = cost === undefined ? undefined : money(cost.total_cost, cost.currency);
  if (price === undefined) return counts === undefined ? 'none reported' : `${counts}, not priced`;
  return counts === undefined ? price : `${price}; ${counts}`;
};

const facts = (run: RunDetail, { moment }: Moments): string[] =>
  tableLines(
    [
      ['status', place(run)],
      run.fault !== undefined && ['quarantined', printable(run.fault, MOST_CHARACTERS)],
      ['project', printable(run.project)],
      ['started', moment(run.created_at)],
      run.ended_at === undefined
        ? ['updated', moment(run.updated_at)]
        : ['ended', `${moment(run.ended_at)}, after ${span(Date.parse(run.ended_at) - Date.parse(run.created_at))}`],
      run.restarted_from !== undefined && [
        'restarted',
        `from run ${printable(run.restarted_from.run_id)} at step ${printable(run.restarted_from.step_id)}, visit ${run.restarted_from.visit}`,
      ],
      run.parent_run_id !== undefined && ['parent', `run ${printable(run.parent_run_id)}`],
      ['steps', `${count(run.step_count)} entered`],
      ['cost', costText(run.usage, run.cost)],
      run.tree_usage !== undefined && ['with its children', costText(run.tree_usage, run.tree_cost)],
      run.idempotency_key !== undefined && ['key', printable(run.idempotency_key)],
      Object.keys(run.correlation).length > 0 && ['correlation', correlationText(run.correlation)],
      ['trace', printable(run.trace_id)],
    ].filter((row) => row !== false),
  );

const until = (time: string | undefined, { moment }: Moments): string =>
  time === undefined ? 'without an end' : `until ${moment(time)}`;

/** For what the run waits and until when. */
const waitLines = (run: RunDetail, moments: Moments): string[] => {
  const { waits, timers, attempts } = run;
  return bounded([
    ...waits.map(
      ({ event, key, step_id: id, since, deadline_at: deadline }) =>
        `event "${printable(event, 120)}" with key "${printable(key, 120)}" at step ${printable(id)}, since ${moments.moment(since)}, ${until(deadline, moments)}`,
    ),
    ...timers.flatMap(({ name, due_at: due, step_id: id }) => {
      const at = id === undefined ? '' : ` at step ${printable(id)}`;
      if (name === 'sleep') return [`a sleep${at}, ${until(due, moments)}`];
      if (name !== 'backoff') return []; // deadlines of the run, of waits and of bodies are no waits
      const last = attempts.findLast((attempt) => attempt.step_id === id);
      const why =
        last?.error === undefined ? '' : `; attempt ${last.attempt} failed: ${errorText(last.error, MOST_CHARACTERS)}`;
      return [`the next attempt${at}, ${until(due, moments)}${why}`];
    }),
    ...openChildren(run).map(
      (child) =>
        `child run ${printable(child.run_id)} of step ${printable(child.step_id)}: ${printable(child.definition_id)}@${child.definition_version}, ${child.status}`,
    ),
    ...(run.status === 'queued'
      ? [
          `a worker${run.cursor === undefined ? '' : ` for step ${printable(run.cursor)}`}${run.queued_reason === undefined ? '' : `: ${queuedText(run.queued_reason)}`}`,
        ]
      : []),
  ]);
};

const attemptName = ({ step_id: id, visit, attempt }: Attempt): string =>
  `step ${printable(id)}, visit ${visit}, attempt ${attempt}`;

/** Where and why a run failed. */
const failureLines = (run: RunDetail): string[] => {
  const { status, error } = run;
  if (status !== 'failed' || error === undefined) return [];
  const failing = failingAttempt(run);
  const where =
    failing !== undefined
      ? attemptName(failing)
      : error.step_id === undefined
        ? 'the run itself, at no step'
        : `step ${printable(error.step_id)}`;
  return [where, errorText(error, MOST_CHARACTERS), ...(error.limit === undefined ? [] : [`limit ${error.limit}`])];
};

const took = ({ started_at: start, ended_at: end }: Attempt, now: Moments): string => {
  if (start === undefined) return 'not started';
  return end === undefined ? `since ${now.distance(start)}` : span(Date.parse(end) - Date.parse(start));
};

const attemptLines = (run: RunDetail, moments: Moments): string[] => {
  const { attempts } = run;
  const shown = attempts.slice(-MOST_ATTEMPTS);
  if (shown.length === 0) return [];
  return [
    ...(shown.length < attempts.length
      ? [`the last ${shown.length} of ${count(attempts.length)}; --json has all`]
      : []),
    ...tableLines([
      ['STEP', 'VISIT', 'ATTEMPT', 'STATUS', 'STARTED', 'TOOK', 'WORKER', 'ERROR'],
      ...shown.map((attempt) => [
        printable(attempt.step_id),
        `${attempt.visit}`,
        `${attempt.attempt}`,
        attempt.status,
        moments.at(attempt.started_at ?? attempt.offered_at),
        took(attempt, moments),
        printable(attempt.worker_id, 60),
        attempt.error !== undefined ? errorText(attempt.error, 120) : hasFailed(attempt) ? attempt.status : '',
      ]),
    ]),
  ];
};

const childLines = ({ children }: RunDetail): string[] => {
  if (children.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { status } of children) counts.set(status, (counts.get(status) ?? 0) + 1);
  const errors = children.flatMap(({ run_id: id, error }) =>
    error === undefined
      ? []
      : [
          `run ${printable(id)} failed${error.step_id === undefined ? '' : ` at step ${printable(error.step_id)}`}: ${errorText(error, MOST_CHARACTERS)}`,
        ],
  );
  return [
    [...counts].map(([status, some]) => `${count(some)} ${status}`).join(', '),
    ...errors.slice(0, MOST_FAILED_CHILDREN),
    ...(errors.length > MOST_FAILED_CHILDREN ? [`and ${count(errors.length - MOST_FAILED_CHILDREN)} more failed`] : []),
    ...tableLines([
      ['RUN', 'DEFINITION', 'STATUS', 'STEP', 'VISIT', 'INDEX'],
      ...children
        .slice(0, MOST_LINES)
        .map((child) => [
          printable(child.run_id),
          `${printable(child.definition_id)}@${child.definition_version}`,
          child.status,
          printable(child.step_id),
          `${child.visit}`,
          `${child.index}`,
        ]),
    ]),
    ...(children.length > MOST_LINES
      ? [`and ${count(children.length - MOST_LINES)} more; svc runs --parent lists them`]
      : []),
  ];
};

/** A durable run as people read it. */
export const runText = (run: RunDetail, moments: Moments): string =>
  [
    `Run ${printable(run.run_id)} of ${printable(run.definition_id)} version ${run.definition_version}`,
    ...indented(facts(run, moments)),
    ...section('Failed at', failureLines(run)),
    ...section('Waits for', waitLines(run, moments)),
    ...section('Next', bounded(nextLines(run, moments))),
    ...section(`Attempts (${count(run.attempts.length)})`, attemptLines(run, moments)),
    ...section(`Children (${count(run.children.length)})`, childLines(run)),
    ...section('Output', run.output === undefined ? [] : [printable(jsonText(run.output), MOST_CHARACTERS)]),
    '',
    `Times are those of ${moments.timeZone}.`,
    '',
  ].join('\n');
