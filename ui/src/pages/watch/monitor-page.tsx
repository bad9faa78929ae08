import { useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { formatReading, type Monitor, stateOfMonitor, wordOfWatch } from '../../model/watch.ts';
import { Chart } from '../../widgets/chart.tsx';
import { MonitorFacts } from './monitors-page.tsx';
import { useMonitorHistory, useMonitors } from './read.ts';
import { WatchedPage } from './watched-page.tsx';

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
  return (
    <WatchedPage
      kind="monitor"
      id={id}
      query={useMonitors()}
      among={({ monitors }) => monitors}
      history={useMonitorHistory(id)}
      stateOf={stateOfMonitor}
      renderFacts={(monitor) => <MonitorFacts monitor={monitor} />}
      renderCharts={(monitor, evaluations) => <ReadingsChart monitor={monitor} evaluations={evaluations} />}
    />
  );
}
