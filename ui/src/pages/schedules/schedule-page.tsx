import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { axisText, caughtUpText, firingAxis, firingText, timesText } from '../../model/schedule.ts';
import { lookOf } from '../../model/status.ts';
import { formatAge, formatCount, formatInstant, plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { useNow } from '../../widgets/now.ts';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { useParam } from '../../widgets/param.ts';
import { usePrefs } from '../../widgets/prefs.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './schedule.module.css';

type Schedule = components['schemas']['Schedule'];

/** Last firings and next times on one axis. The lists below it say the same, with their links. */
const Axis = ({ schedule, nowMs }: { readonly schedule: Schedule; readonly nowMs: number }) => {
  const { zone } = usePrefs().prefs;
  const axis = firingAxis(schedule, nowMs);
  if (axis === undefined) return null;
  const place = (left: number) => ({ left: `${left * 100}%` });
  return (
    <figure className={css['axis']} aria-label="Firings">
      <div className={css['line']} role="img" aria-label={`Firings on a time axis: ${axisText(axis)}`}>
        {axis.pausedFrom !== undefined && (
          <span className={css['paused']} style={place(axis.pausedFrom)} title="Paused: nothing fires" />
        )}
        <span className={css['now']} style={place(axis.now)}>
          now
        </span>
        {axis.marks.map(({ at, left, state, words }) => {
          const { glyph, color } = lookOf(state);
          return (
            <span
              key={`${at} ${state} ${words}`}
              className={css['firing']}
              data-state={state}
              style={{ ...place(left), color: `var(--${color})` }}
              title={`${formatInstant(at, zone)}: ${words}`}
            >
              {glyph}
            </span>
          );
        })}
      </div>
      <figcaption className={css['ends']}>
        <Instant at={axis.from} />
        <span>{axisText(axis)}</span>
        <Instant at={axis.to} />
      </figcaption>
    </figure>
  );
};

const Shown = ({ schedule }: { readonly schedule: Schedule }) => {
  const now = useNow();
  const { firings, next_times: next, running, waiting } = schedule;
  return (
    <div className={css['page']}>
      <p>
        Times: {timesText(schedule)}. Starts{' '}
        <PageLink to={`/definitions/${schedule.definition_id}`}>{schedule.definition_id}</PageLink>. Overlap:{' '}
        {schedule.overlap}; catch-up: {schedule.catch_up}. {plural(schedule.started, 'firing')} started a run,{' '}
        {formatCount(schedule.skipped)} did not.
      </p>
      {waiting !== undefined && (
        <p>
          The firing of <Instant at={waiting.nominal_at} /> waits for the end of the run before it.
        </p>
      )}
      <Axis schedule={schedule} nowMs={now} />
      <section aria-labelledby="next">
        <h2 id="next">Next times</h2>
        {schedule.status === 'paused' ? (
          <p>
            None while it is paused, since <Instant at={schedule.paused_at} />. {caughtUpText(schedule.catch_up)}
          </p>
        ) : (
          next.length === 0 && <p>None: {schedule.status === 'ended' ? 'it has ended' : 'no time is left'}.</p>
        )}
        <ol className={css['times']}>
          {next.map((at) => (
            <li key={at}>
              <Instant at={at} /> <span className={css['note']}>{formatAge(at, now)}</span>
            </li>
          ))}
        </ol>
      </section>
      <section aria-labelledby="last">
        <h2 id="last">Last firings</h2>
        {firings.length === 0 && <p>None yet.</p>}
        <ol className={css['times']}>
          {firings.map((firing) => (
            <li key={`${firing.nominal_at} ${firing.trigger_id ?? ''}`}>
              <Instant at={firing.nominal_at} /> {firingText(firing)}
              {firing.trigger_id !== undefined && ', asked for by a call'}{' '}
              {firing.run_id !== undefined && (
                <PageLink to={`/runs/${encodeURIComponent(firing.run_id)}`}>its run</PageLink>
              )}
            </li>
          ))}
        </ol>
      </section>
      <section aria-labelledby="running">
        <h2 id="running">{plural(running.length, 'run')} of it open</h2>
        <ul className={css['times']}>
          {running.map((run) => (
            <li key={run}>
              <PageLink to={`/runs/${encodeURIComponent(run)}`}>{run}</PageLink>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
};

export default function SchedulePage() {
  const id = useParam('id');
  const [{ project }] = useShared();
  const client = useQueryClient();
  const params = { path: { schedule: id }, query: project === undefined ? {} : { project } };
  const query = usePolled({
    queryKey: ['schedules', id, project],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/schedules/{schedule}', { params, signal })),
  });
  const may = useMay('execute', query.data?.project);
  const act = useMutation({
    mutationFn: (what: 'pause' | 'resume' | 'trigger') =>
      ask(api.POST(`/v1/api/schedules/{schedule}/${what}`, { params })),
    onSettled: () => client.invalidateQueries({ queryKey: ['schedules'] }),
  });
  const isStill = may !== true || act.isPending || query.data === undefined || query.data.status === 'ended';
  const isPaused = query.data?.status === 'paused';
  return (
    <>
      <PageHead
        title={id}
        of="Schedule"
        actions={
          <>
            <Button disabled={isStill} onClick={() => act.mutate('trigger')}>
              Trigger now
            </Button>
            <Button disabled={isStill} onClick={() => act.mutate(isPaused ? 'resume' : 'pause')}>
              {isPaused ? 'Resume' : 'Pause'}
            </Button>
          </>
        }
      >
        {query.data !== undefined && <StatusMark state={query.data.status} />}
        <NeedsScope scope="execute" may={may} />
      </PageHead>
      {act.error !== null && <ProblemNotice error={act.error} />}
      <Loaded query={query} what={`the schedule ${id}`}>
        {(schedule) => <Shown schedule={schedule} />}
      </Loaded>
    </>
  );
}
