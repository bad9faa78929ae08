import { plural } from '../../model/units.ts';
import { inOrder, stateOfMonitor, stateOfSlo, type WatchState } from '../../model/watch.ts';
import { Age } from '../../widgets/age.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { useMonitors, useSlos } from '../watch/read.ts';
import css from './overview.module.css';

type Row = {
  readonly key: string;
  readonly name: string;
  readonly to: string;
  readonly state: WatchState;
  readonly detail: string;
  readonly since: string | undefined;
};

/** Monitors and objectives that somebody should look at. */
export const Firing = () => {
  const monitors = useMonitors();
  const slos = useSlos();
  return (
    <section aria-labelledby="firing">
      <h2 id="firing">Monitors and SLOs</h2>
      <Loaded query={monitors} what="monitors">
        {(watched) => (
          <Loaded query={slos} what="objectives">
            {(objectives) => {
              const rows: Row[] = [
                ...watched.monitors.map((one) => ({
                  key: `monitor ${one.id}`,
                  name: one.name,
                  to: `/monitors/${one.id}`,
                  state: stateOfMonitor(one),
                  detail: one.detail,
                  since: one.tripped_at,
                })),
                ...objectives.slos.map((one) => ({
                  key: `slo ${one.id}`,
                  name: one.name,
                  to: `/slos/${one.id}`,
                  state: stateOfSlo(one),
                  detail: one.detail,
                  since: one.tripped_at,
                })),
              ];
              const loud = inOrder(rows, ({ state }) => state).filter(
                ({ state }) => state === 'tripped' || state === 'acknowledged',
              );
              return (
                <>
                  {loud.length > 0 && (
                    <ul className={css['list']}>
                      {loud.map((row) => (
                        <li key={row.key}>
                          <StatusMark state={row.state} />
                          <PageLink to={row.to}>{row.name}</PageLink>
                          <span className={css['grow']}>{row.detail}</span>
                          <Age at={row.since} />
                        </li>
                      ))}
                    </ul>
                  )}
                  <p className={css['note']}>
                    {loud.length === 0 && (rows.length === 0 ? 'Nothing is watched. ' : 'Nothing is tripped. ')}
                    <PageLink to="/monitors">{plural(watched.monitors.length, 'monitor')}</PageLink>,{' '}
                    <PageLink to="/slos">{plural(objectives.slos.length, 'SLO')}</PageLink>
                  </p>
                </>
              );
            }}
          </Loaded>
        )}
      </Loaded>
    </section>
  );
};
