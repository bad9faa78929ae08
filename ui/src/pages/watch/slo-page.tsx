import { useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { BURN_LINE_1H, BURN_LINE_6H, formatNumber, formatRemaining, stateOfSlo } from '../../model/watch.ts';
import { Chart } from '../../widgets/chart.tsx';
import { SloFacts } from './slos-page.tsx';
import { useSloHistory, useSlos } from './read.ts';
import { WatchedPage } from './watched-page.tsx';

const LINES = [
  { value: BURN_LINE_1H, name: `1 h: ${BURN_LINE_1H}`, color: 'var(--error)' },
  { value: BURN_LINE_6H, name: `6 h: ${BURN_LINE_6H}`, color: 'var(--error)' },
];
const NO_BUDGET_LINE = [{ value: 0, name: 'nothing left', color: 'var(--error)' }];

type Evaluations = readonly {
  readonly evaluated_at: string;
  readonly burn_rate_1h?: number;
  readonly burn_rate_6h?: number;
  readonly budget_remaining?: number;
}[];

/** A logarithmic axis has no zero: what does not burn lies at its foot. */
const LOWEST_RATE = 0.1;
const onAxis = (rate: number | undefined): number | null => (rate === undefined ? null : Math.max(LOWEST_RATE, rate));

const Charts = ({ evaluations }: { readonly evaluations: Evaluations }) => {
  const { burn, budget } = useMemo(() => {
    const inTime = evaluations.toReversed();
    const times = inTime.map(({ evaluated_at }) => Date.parse(evaluated_at) / 1000);
    return {
      burn: {
        times,
        series: [
          { name: '1 h', values: inTime.map(({ burn_rate_1h }) => onAxis(burn_rate_1h)) },
          { name: '6 h', values: inTime.map(({ burn_rate_6h }) => onAxis(burn_rate_6h)) },
        ],
      },
      budget: {
        times,
        series: [{ name: 'Left', values: inTime.map(({ budget_remaining }) => budget_remaining ?? null) }],
      },
    };
  }, [evaluations]);
  return (
    <>
      <Chart
        name="Burn rates"
        aligned={burn}
        look="line"
        lines={LINES}
        isLog
        format={(value) => formatNumber(value ?? undefined)}
      />
      <Chart
        name="Error budget left"
        aligned={budget}
        look="line"
        lines={NO_BUDGET_LINE}
        format={(value) => formatRemaining(value ?? undefined)}
      />
    </>
  );
};

export default function SloPage() {
  const { id = '' } = useParams({ strict: false });
  return (
    <WatchedPage
      kind="slo"
      id={id}
      query={useSlos()}
      among={({ slos }) => slos}
      history={useSloHistory(id)}
      stateOf={stateOfSlo}
      renderFacts={(slo) => <SloFacts slo={slo} heading="h2" />}
      renderCharts={(_slo, evaluations) => <Charts evaluations={evaluations} />}
    />
  );
}
