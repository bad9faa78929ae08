import { useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { formatReading, type Monitor, stateOfMonitor, wordOfWatch } from '../../model/watch.ts';
import { Chart } from '../../widgets/chart.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { MonitorFacts } from './monitors-page.tsx';
import { Acknowledgement, ConditionNote } from './parts.tsx';
import { useMonitorHistory, useMonitors } from './read.ts';
import { Transitions } from './transitions.tsx';
import css from './watch.module.css';

type Evaluations = readonly { readonly evaluated_at: string; readonly value?: number }[];

const ReadingsChart = ({ monitor, evaluations }: { readonly monitor: Monitor; readonly evaluations: Evaluations }) => {
  const aligned = useMemo(() => {
    const inTime = evaluations.toReversed();
    return {
      times: inTime.map(({ evaluated_at }) => Date.parse(evaluated_at) / 1000),
      series: [{ name: wordOfWatch(monitor), values: inTime.map(({ value }) => value ?? null) }],
    };
  }, [evaluations, monitor]);
  const lines = useMemo(
    () => [
      {
        value: monitor.threshold,
        name: `trips ${monitor.compare} ${formatReading(monitor.watch, monitor.threshold)}`,
        color: 'var(--error)',
      },
    ],
    [monitor.threshold, monitor.compare, monitor.watch],
  );
  return (
    <Chart
      name="Readings"
      aligned={aligned}
      look="line"
      lines={lines}
      format={(value) => formatReading(monitor.watch, value ?? undefined)}
    />
  );
};

export default function MonitorPage() {
  const { id = '' } = useParams({ strict: false });
  const query = useMonitors();
  const history = useMonitorHistory(id);
  return (
    <Loaded query={query} what="the monitor" head="Monitor">
      {({ monitors }) => {
        const monitor = monitors.find((one) => one.id === id);
        return monitor === undefined ? (
          <>
            <PageHead title="Monitor" />
            <EmptyState title="No such monitor">
              <PageLink to="/monitors">All monitors</PageLink>
            </EmptyState>
          </>
        ) : (
          <>
            <PageHead title={monitor.name} of="Monitor">
              <StatusMark state={stateOfMonitor(monitor)} />
            </PageHead>
            <div className={css['page']}>
              <MonitorFacts monitor={monitor} />
              <Acknowledgement kind="monitor" watched={monitor} />
              <ConditionNote />
              <Loaded query={history} what="its history">
                {({ evaluations, transitions, next_cursor }) => (
                  <>
                    {evaluations.length > 0 && <ReadingsChart monitor={monitor} evaluations={evaluations} />}
                    <Transitions transitions={transitions} isCut={next_cursor !== undefined} />
                  </>
                )}
              </Loaded>
            </div>
          </>
        );
      }}
    </Loaded>
  );
}
