import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { JournalEntry } from '../../api/journal.ts';
import type { components } from '../../api/types.ts';
import { tellEntry, timelineOf } from '../../model/journal.ts';
import { ticksOf } from '../../model/ticks.ts';
import { formatAge, formatDuration, formatDurationMs, plural } from '../../model/units.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './run.module.css';

type RunDetail = components['schemas']['RunDetail'];

type StepOfDefinition = { readonly id: string; readonly kind: string };

const stepsOf = (definition: unknown): readonly StepOfDefinition[] => {
  if (
    typeof definition !== 'object' ||
    definition === null ||
    !('steps' in definition) ||
    !Array.isArray(definition.steps)
  )
    return [];
  return definition.steps.flatMap((step: unknown) =>
    typeof step === 'object' && step !== null && 'id' in step && 'kind' in step
      ? [{ id: String(step.id), kind: String(step.kind) }]
      : [],
  );
};

/** The steps of the definition, each with what became of it. */
export const Steps = ({ run }: { readonly run: RunDetail }) => {
  const { definition_id: id, definition_version: version, project } = run;
  const definition = useQuery({
    queryKey: ['definition', id, version, project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/definitions/{id}/versions/{version}', {
          params: { path: { id, version }, query: { project } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const known = stepsOf(definition.data?.definition);
  const steps =
    known.length > 0
      ? known
      : [...new Set(run.attempts.map((attempt) => attempt.step_id))].map((step) => ({ id: step, kind: '' }));
  return (
    <section aria-label="Graph" className={css['graph']}>
      <table aria-label="Steps" className={css['steps']}>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Kind</th>
            <th scope="col">Attempts</th>
            <th scope="col">Latest</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => {
            const attempts = run.attempts.filter((attempt) => attempt.step_id === step.id);
            const latest = attempts.at(-1);
            const isWaiting = run.waits.some((wait) => wait.step_id === step.id);
            const isCursor = run.cursor === step.id;
            return (
              <tr key={step.id} data-cursor={isCursor || undefined}>
                <th scope="row">
                  {step.id}
                  {isCursor && <span className={css['cursor']}>cursor</span>}
                </th>
                <td>{step.kind.replaceAll('_', ' ')}</td>
                <td>{attempts.length === 0 ? '—' : attempts.length}</td>
                <td>
                  {isWaiting ? (
                    <StatusMark state="waiting" />
                  ) : latest === undefined ? (
                    '—'
                  ) : (
                    <StatusMark state={latest.status} />
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
};

const MAX_TICKS = 5;

/** Each attempt of each step: short while it is offered, tall while it runs. */
export const Timeline = ({ run, nowMs }: { readonly run: RunDetail; readonly nowMs: number }) => {
  const { totalMs, steps } = timelineOf(run, nowMs);
  const share = (ms: number): string => `${(ms / totalMs) * 100}%`;
  if (steps.length === 0) return <p>No worker has had a step of this run yet.</p>;
  return (
    <div className={css['timeline']}>
      <div className={css['axis']} aria-hidden>
        {ticksOf(0, totalMs, MAX_TICKS).map((at) => (
          <span key={at} style={{ left: share(at) }}>
            {at === 0 ? '0' : formatDurationMs(at)}
          </span>
        ))}
      </div>
      <ul aria-label="Attempts">
        {steps.map(({ step, lanes }) => (
          <li key={step} className={css['lane']}>
            <span className={css['lane-name']}>{step}</span>
            <div className={css['lane-bars']}>
              {lanes.map(({ attempt, offered, started, ended, isOpen }) => (
                <span
                  key={attempt.lease_id}
                  role="img"
                  className={css['attempt']}
                  data-status={attempt.status}
                  style={{ left: share(offered), width: `max(4px, ${share(ended - offered)})` }}
                  aria-label={`${step}, attempt ${attempt.attempt}, ${attempt.status}, ${formatDuration((ended - (started ?? offered)) * 1e6)}, ${attempt.worker_id}`}
                  title={`attempt ${attempt.attempt}: ${attempt.status}, offered for ${formatDurationMs((started ?? ended) - offered)}, ran ${started === undefined ? 'never' : formatDurationMs(ended - started)}${isOpen ? ' so far' : ''}, ${attempt.worker_id}${attempt.error === undefined ? '' : `: ${attempt.error.message}`}`}
                >
                  {started !== undefined && (
                    <span
                      className={css['running']}
                      style={{ left: `${((started - offered) / Math.max(ended - offered, 1)) * 100}%` }}
                    />
                  )}
                </span>
              ))}
            </div>
          </li>
        ))}
      </ul>
      <p className={css['soft']}>
        {plural(run.attempts.length, 'attempt')}; the first part of a bar is the offer, the tall part the work.
      </p>
    </div>
  );
};

const journalColumns: readonly Column<JournalEntry>[] = [
  { id: 'seq', head: 'Seq', isNumber: true, width: '4rem', cell: (entry) => entry.seq },
  { id: 'at', head: 'At', width: '11rem', cell: (entry) => <Instant at={entry.at} /> },
  { id: 'what', head: 'What', cell: tellEntry },
];

/** Every change of the run in its order, as it happens. */
export const Journal = ({ entries }: { readonly entries: readonly JournalEntry[] }) =>
  entries.length === 0 ? (
    <p role="status">Waiting for the first entry. It comes only while the page is live.</p>
  ) : (
    <div className={css['journal']}>
      <DataTable
        name="Journal"
        columns={journalColumns}
        rows={entries}
        idOf={(entry) => String(entry.seq)}
        foot={plural(entries.length, 'entry', 'entries')}
      />
    </div>
  );

/** What the run waits for, and until when. */
export const Waits = ({ run, nowMs }: { readonly run: RunDetail; readonly nowMs: number }) => (
  <ul className={css['list']}>
    {run.waits.map((wait) => (
      <li key={`${wait.step_id}${wait.event}${wait.key}`}>
        <StatusMark state="waiting" /> <b>{wait.step_id}</b> for the event <code>{wait.event}</code> with the key{' '}
        <code>{wait.key}</code>, since {formatAge(wait.since, nowMs)}
        {wait.deadline_at !== undefined && <>, at most until {<Instant at={wait.deadline_at} />}</>}
      </li>
    ))}
    {run.timers.map((timer) => (
      <li key={`${timer.name}${timer.step_id ?? ''}`}>
        ⏱ <b>{timer.name}</b> {timer.step_id !== undefined && `of ${timer.step_id} `}
        {timer.due_at === undefined ? (
          'never due'
        ) : (
          <>
            due {formatAge(timer.due_at, nowMs)}, {<Instant at={timer.due_at} />}
          </>
        )}
      </li>
    ))}
    {run.waits.length + run.timers.length === 0 && <li>It waits for nothing, and no timer runs.</li>}
  </ul>
);

export const Children = ({ run }: { readonly run: RunDetail }) => (
  <ul className={css['list']}>
    {run.children.map((child) => (
      <li key={child.run_id}>
        <StatusMark state={child.status} />{' '}
        <PageLink to={`/runs/${child.run_id}`}>
          {child.definition_id} {child.step_id}[{child.index}]
        </PageLink>
        {child.error !== undefined && <span className={css['bad']}> {child.error.message}</span>}
      </li>
    ))}
  </ul>
);
