import { useMemo } from 'react';
import type { JournalEntry } from '../../api/journal.ts';
import type { components } from '../../api/types.ts';
import { afterDeadline } from '../../model/deadline.ts';
import { tellEntry } from '../../model/journal.ts';
import { RUN_LANE, shareOf, type Stretch, timelineOf } from '../../model/run-timeline.ts';
import { ticksOf } from '../../model/ticks.ts';
import { formatAge, formatCount, formatDurationMs, plural } from '../../model/units.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { FilterSelect, Filters } from '../../widgets/filters.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { useNow } from '../../widgets/now.ts';
import { PageLink } from '../../widgets/page-link.tsx';
import { PagedTable } from '../../widgets/paged-table.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { useDefinition } from './graph.tsx';
import css from './run.module.css';

type RunDetail = components['schemas']['RunDetail'];

const MAX_TICKS = 5;
/** Beyond this a mark stands left of its line: right of it there is no room. */
const LATE_SHARE = 0.9;
const MAX_GAPS_NAMED = 8;

const percent = (share: number): string => `${share * 100}%`;

/** Round marks where the axis is even; the true times of both edges where a part of it is narrower. */
const Axis = ({ stretches, totalMs }: { readonly stretches: readonly Stretch[]; readonly totalMs: number }) => {
  const gaps = stretches.filter(({ gap }) => gap !== undefined);
  const marks = gaps.length === 0 ? ticksOf(0, totalMs, MAX_TICKS) : [];
  return (
    <div className={css['axis']} aria-hidden>
      {marks.map((at) => {
        const share = shareOf(stretches, at);
        const isLate = share > LATE_SHARE;
        return (
          <span
            key={at}
            className={isLate ? css['late'] : undefined}
            style={isLate ? { right: percent(1 - share) } : { left: percent(share) }}
          >
            {at === 0 ? '0' : formatDurationMs(at)}
          </span>
        );
      })}
      {gaps.map(({ from, to, left, width, gap }) => (
        <span
          key={from}
          className={css['gap']}
          style={{ left: percent(left), width: percent(width) }}
          title={`${gap}, from ${formatDurationMs(from)} to ${formatDurationMs(to)}; drawn narrower`}
        >
          {gap}
        </span>
      ))}
    </div>
  );
};

/** Each attempt of each step, short while it is offered and tall while it runs, and what the run waited for between them. */
export const Timeline = ({
  run,
  entries,
  nowMs,
}: {
  readonly run: RunDetail;
  readonly entries: readonly JournalEntry[];
  readonly nowMs: number;
}) => {
  const { totalMs, steps, stretches } = useMemo(() => timelineOf(run, entries, nowMs), [run, entries, nowMs]);
  const gaps = stretches.flatMap(({ gap }) => (gap === undefined ? [] : [gap]));
  const share = (ms: number): number => shareOf(stretches, ms);
  const place = (from: number, to: number) => ({
    left: percent(share(from)),
    width: `max(4px, ${percent(share(to) - share(from))})`,
  });
  if (steps.length === 0) return <p>No worker has had a step of this run yet.</p>;
  return (
    <div className={css['timeline']}>
      <Axis stretches={stretches} totalMs={totalMs} />
      <ul aria-label="Attempts">
        {steps.map(({ step, lanes, rests }) => (
          <li key={step} className={css['lane']}>
            <span className={css['lane-name']} title={step === RUN_LANE ? 'The run itself' : step}>
              {step}
            </span>
            <div className={css['lane-bars']}>
              {rests.map(({ kind, words, from, to, isOpen }) => (
                <span
                  key={`${kind} ${from}`}
                  role="img"
                  className={css['rest']}
                  data-kind={kind}
                  style={place(from, to)}
                  aria-label={`${step}, ${words}, ${formatDurationMs(to - from)}${isOpen ? ' so far' : ''}`}
                  title={`${words}, ${formatDurationMs(to - from)}${isOpen ? ' so far' : ''}`}
                >
                  <span className={css['rest-name']}>{words}</span>
                </span>
              ))}
              {lanes.map(({ attempt, offered, started, ended, isOpen }) => (
                <span
                  key={attempt.lease_id}
                  role="img"
                  className={css['attempt']}
                  data-status={attempt.status}
                  style={place(offered, ended)}
                  aria-label={`${step}, attempt ${attempt.attempt}, ${attempt.status}, ${formatDurationMs(ended - (started ?? offered))}, ${attempt.worker_id}`}
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
        {plural(run.attempts.length, 'attempt')} in {formatDurationMs(totalMs)}; the first part of a bar is the offer,
        the tall part the work. Dotted is waiting, hatched a backoff, thin the queue.
        {gaps.length > 0 &&
          ` Drawn narrower: ${gaps.slice(0, MAX_GAPS_NAMED).join('; ')}${gaps.length > MAX_GAPS_NAMED ? '; and more' : ''}.`}
      </p>
    </div>
  );
};

const journalColumns: readonly Column<JournalEntry>[] = [
  { id: 'seq', head: 'Seq', isNumber: true, width: '4rem', cell: (entry) => entry.seq },
  { id: 'at', head: 'At', width: '11rem', cell: (entry) => <Instant at={entry.at} /> },
  { id: 'what', head: 'What', cell: tellEntry },
];

/** Every change of the run in its order, as it happens; all kinds of it, or one. */
export const Journal = ({
  entries,
  kind,
  onKind,
}: {
  readonly entries: readonly JournalEntry[];
  readonly kind: string | undefined;
  readonly onKind: (kind: string | undefined) => void;
}) => {
  const kinds = useMemo(() => [...new Set(entries.map((entry) => entry.kind))].toSorted(), [entries]);
  const shown = useMemo(
    () => (kind === undefined ? entries : entries.filter((entry) => entry.kind === kind)),
    [entries, kind],
  );
  if (entries.length === 0) return <p role="status">Waiting for the first entry.</p>;
  return (
    <div className={css['journal']}>
      <Filters active={kind === undefined ? [] : [{ name: 'kind', value: kind, onRemove: () => onKind(undefined) }]}>
        <FilterSelect name="Kind" value={kinds.find((one) => one === kind)} words={kinds} onChoose={onKind} />
      </Filters>
      <DataTable
        name="Journal"
        columns={journalColumns}
        rows={shown}
        idOf={(entry) => String(entry.seq)}
        foot={`${plural(shown.length, 'entry', 'entries')}${kind === undefined ? '' : ` of ${formatCount(entries.length)}`}`}
      />
    </div>
  );
};

/** What the run waits for, and until when; now or at an earlier moment. */
export const Waits = ({
  of,
  open: { waits, timers },
}: {
  readonly of: RunDetail;
  readonly open: Pick<RunDetail, 'waits' | 'timers'>;
}) => {
  const now = useNow();
  const { data } = useDefinition(of);
  return (
    <ul className={css['list']}>
      {waits.map((wait) => (
        <li key={`${wait.step_id}${wait.event}${wait.key}`}>
          <StatusMark state="waiting" /> <b>{wait.step_id}</b> for the event <code>{wait.event}</code> with the key{' '}
          <code>{wait.key}</code>, since {formatAge(wait.since, now)}
          {wait.deadline_at !== undefined && (
            <>
              , at most until <Instant at={wait.deadline_at} /> ({formatAge(wait.deadline_at, now)})
              {data !== undefined && `: then ${afterDeadline(data.definition, wait.step_id)}`}
            </>
          )}
        </li>
      ))}
      {timers.map((timer) => (
        <li key={`${timer.name}${timer.step_id ?? ''}`}>
          Timer <b>{timer.name}</b> {timer.step_id !== undefined && `of ${timer.step_id} `}
          {timer.due_at === undefined ? (
            'never due'
          ) : (
            <>
              due {formatAge(timer.due_at, now)}, <Instant at={timer.due_at} />
            </>
          )}
        </li>
      ))}
      {waits.length + timers.length === 0 && <li>It waits for nothing, and no timer runs.</li>}
    </ul>
  );
};

const childColumns: readonly Column<RunDetail['children'][number]>[] = [
  { id: 'status', head: 'Status', cell: ({ status }) => <StatusMark state={status} /> },
  {
    id: 'run',
    head: 'Run',
    cell: ({ run_id, definition_id, step_id, index }) => (
      <PageLink to={`/runs/${run_id}`}>
        {definition_id} {step_id}[{index}]
      </PageLink>
    ),
  },
  {
    id: 'error',
    head: 'Error',
    cell: ({ error }) => (error === undefined ? '—' : <span className={css['bad']}>{error.message}</span>),
  },
];

export const Children = ({ run }: { readonly run: RunDetail }) => (
  <PagedTable name="Children" columns={childColumns} rows={run.children} idOf={({ run_id }) => run_id} />
);
