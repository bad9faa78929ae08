import { oneOf } from '../../model/url.ts';
import { formatCount } from '../../model/units.ts';
import {
  formatReading,
  formatRule,
  formatWindow,
  inOrder,
  isHolding,
  type Monitor,
  samplesOf,
  stateOfMonitor,
  watchStates,
  wordOfWatch,
} from '../../model/watch.ts';
import { Age } from '../../widgets/age.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { Acknowledgement, ConditionNote, StateFilter } from './parts.tsx';
import { useMonitors } from './read.ts';
import css from './watch.module.css';

/** What a monitor reads, and how it stands to its threshold. */
export const MonitorFacts = ({ monitor }: { readonly monitor: Monitor }) => (
  <>
    <div className={css['reading']}>
      <span className={css['value']}>{formatReading(monitor.watch, monitor.value)}</span>
      <span>
        {wordOfWatch(monitor)}, {formatWindow(monitor.window_seconds)}; {formatRule(monitor)}
      </span>
    </div>
    <dl className={css['facts']}>
      <dt>Samples</dt>
      <dd>
        {isHolding(monitor)
          ? `holding (${formatCount(monitor.samples)} of ${formatCount(monitor.min_samples)} ${samplesOf(monitor)})${monitor.condition === 'nominal' ? '' : `, still ${monitor.condition}`}`
          : `${formatCount(monitor.samples)} ${samplesOf(monitor)}, ${formatCount(monitor.min_samples)} needed`}
      </dd>
      <dt>Read</dt>
      <dd>
        <Age at={monitor.evaluated_at} />
      </dd>
      <dt>Reports to</dt>
      <dd>{monitor.webhook ?? 'the log'}</dd>
    </dl>
    <p className={css['detail']}>{monitor.detail}</p>
  </>
);

const MonitorCard = ({ monitor }: { readonly monitor: Monitor }) => {
  const state = stateOfMonitor(monitor);
  return (
    <article className={css['card']} data-state={state} aria-label={monitor.name}>
      <header>
        <h2>
          <PageLink to={`/monitors/${monitor.id}`}>{monitor.name}</PageLink>
        </h2>
        <StatusMark state={state} />
      </header>
      <MonitorFacts monitor={monitor} />
      <Acknowledgement kind="monitor" watched={monitor} />
    </article>
  );
};

const grammar = { state: oneOf(watchStates) } as const;

export default function MonitorsPage() {
  const [{ state }, setState] = usePageState(grammar);
  const query = useMonitors();
  return (
    <>
      <PageHead title="Monitors" />
      <Loaded query={query} what="monitors">
        {({ monitors }) =>
          monitors.length === 0 ? (
            <EmptyState title="No monitors">
              <p>
                They stand in the config file, under <code>monitors</code>; this project has none.
              </p>
            </EmptyState>
          ) : (
            <div className={css['page']}>
              <ConditionNote />
              <StateFilter
                states={monitors.map(stateOfMonitor)}
                chosen={state}
                onChoose={(chosen) => setState({ state: chosen }, 'push')}
              />
              <div className={css['cards']}>
                {inOrder(monitors, stateOfMonitor)
                  .filter((monitor) => state === undefined || stateOfMonitor(monitor) === state)
                  .map((monitor) => (
                    <MonitorCard key={monitor.id} monitor={monitor} />
                  ))}
              </div>
            </div>
          )
        }
      </Loaded>
    </>
  );
}
