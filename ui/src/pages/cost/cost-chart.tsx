import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import type { components } from '../../api/types.ts';
import { alignSeries, type Bucket, bucketSeconds, formatMetric, type Metric } from '../../model/series.ts';
import { keepShared, type Params } from '../../model/url.ts';
import { MOST_SERIES } from '../../widgets/chart-parts.ts';
import { Chart } from '../../widgets/chart.tsx';

const instant = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** The report over time, the largest groups apart. A click, or a link of the table, opens the traces of that time. */
export const CostChart = ({
  name,
  report,
  bucket,
  metric,
}: {
  readonly name: string;
  readonly report: components['schemas']['CostReport'];
  readonly bucket: Bucket;
  readonly metric: Metric;
}) => {
  const navigate = useNavigate();
  const step = bucketSeconds[bucket];
  const aligned = useMemo(
    () =>
      alignSeries(
        report.series ?? [],
        report.groups.slice(0, MOST_SERIES).map(({ key }) => key),
        metric,
        step,
      ),
    [report, metric, step],
  );
  const { times } = aligned;
  const onPick = useCallback(
    (index: number) => {
      const from = times[index];
      if (from === undefined) return;
      const within = { from: instant(from), to: instant(from + step) };
      void navigate({ to: '/traces', search: (before: Params) => ({ ...keepShared(before), ...within }) });
    },
    [navigate, times, step],
  );
  return (
    <Chart
      name={name}
      aligned={aligned}
      look="bars"
      format={(value) => formatMetric(metric, value, report.currency)}
      onPick={onPick}
      linkOf={(seconds) => ({ to: '/traces', params: { from: instant(seconds), to: instant(seconds + step) } })}
    />
  );
};
