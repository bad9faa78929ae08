import {
  BURN_LINE_1H,
  BURN_LINE_6H,
  BURN_TICKS,
  budgetBar,
  budgetOf,
  burnPlace,
  burnStateOf,
  burnWords,
  explainBudget,
  formatNumber,
  formatRemaining,
  type Slo,
} from '../../model/watch.ts';
import css from './watch.module.css';

const percent = (share: number): string => `${share * 100}%`;

/** What is left of the error budget; what was overspent lies left of zero. */
export const BudgetBar = ({ slo }: { readonly slo: Slo }) => {
  const budget = budgetOf(slo);
  if (budget === undefined) return <p className={css['detail']}>{explainBudget(slo)}</p>;
  const { zero, from, width } = budgetBar(budget.remaining);
  const isOver = budget.remaining < 0;
  return (
    <div>
      <div
        role="img"
        aria-label={`Error budget left: ${formatRemaining(budget.remaining)}${isOver ? ', overspent' : ''}`}
        className={css['bar']}
      >
        <span className={css[isOver ? 'over' : 'left']} style={{ left: percent(from), width: percent(width) }} />
        {isOver && <span className={css['zero']} style={{ left: percent(zero) }} />}
      </div>
      <div className={css['scale']} aria-hidden>
        <span>{isOver ? formatRemaining(budget.remaining) : '0 %'}</span>
        <span>100 %</span>
      </div>
      <p>{explainBudget(slo)}</p>
    </div>
  );
};

const BurnRow = ({
  name,
  rate,
  line,
}: {
  readonly name: string;
  readonly rate: number | undefined;
  readonly line: number;
}) => {
  const isAbove = rate !== undefined && rate > line;
  const said = rate === undefined ? 'not read' : `${formatNumber(rate)}, ${isAbove ? 'above' : 'not above'} the line`;
  return (
    <>
      <span>{name}</span>
      <div role="img" aria-label={`Burn rate ${name}: ${said} at ${line}`} className={css['track']}>
        <span className={css['hot']} style={{ left: percent(burnPlace(line)) }} />
        {rate !== undefined && (
          <span className={css['rate']} data-above={isAbove || undefined} style={{ width: percent(burnPlace(rate)) }} />
        )}
        <span className={css['line']} data-line={line} style={{ left: percent(burnPlace(line)) }} />
      </div>
      <b>{formatNumber(rate)}</b>
    </>
  );
};

/** How much faster than allowed runs fail, over one hour and over six, on one logarithmic axis. */
export const BurnRates = ({ slo }: { readonly slo: Slo }) => (
  <div>
    <div className={css['burn']}>
      <BurnRow name="1 h" rate={slo.burn_rate_1h} line={BURN_LINE_1H} />
      <BurnRow name="6 h" rate={slo.burn_rate_6h} line={BURN_LINE_6H} />
      <span />
      <div className={css['axis']} aria-hidden>
        {BURN_TICKS.map((tick) => (
          <span key={tick} style={{ left: percent(burnPlace(tick)) }}>
            {tick}×
          </span>
        ))}
      </div>
    </div>
    <p className={css['detail']}>
      {burnWords[burnStateOf(slo)]} Lines at {BURN_LINE_1H} (1 h) and {BURN_LINE_6H} (6 h).
    </p>
  </div>
);
