import { oneOf } from '../../model/url.ts';
import { formatCount } from '../../model/units.ts';
import { burnStateOf, formatObjective, inOrder, type Slo, stateOfSlo, watchStates } from '../../model/watch.ts';
import { Age } from '../../widgets/age.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { Acknowledgement, ConditionNote, StateFilter } from './parts.tsx';
import { useSlos } from './read.ts';
import { BudgetBar, BurnRates } from './slo-parts.tsx';
import css from './watch.module.css';

/** An objective with its budget and its burn rates. @param heading below that of the page, or of the card */
export const SloFacts = ({ slo, heading: Heading }: { readonly slo: Slo; readonly heading: 'h2' | 'h3' }) => (
  <>
    <div className={css['reading']}>
      <span className={css['value']}>{formatObjective(slo.success_rate)}</span>
      <span>
        of runs succeeded; the objective is {formatObjective(slo.objective)} over {slo.window_days} days
      </span>
    </div>
    <BudgetBar slo={slo} />
    <Heading>Burn rate: {burnStateOf(slo)}</Heading>
    <BurnRates slo={slo} />
    <dl className={css['facts']}>
      <dt>Needs</dt>
      <dd>{formatCount(slo.min_samples)} runs in the last hour</dd>
      <dt>Read</dt>
      <dd>
        <Age at={slo.evaluated_at} />
      </dd>
      <dt>Reports to</dt>
      <dd>{slo.webhook ?? 'the log'}</dd>
    </dl>
    <p className={css['detail']}>{slo.detail}</p>
  </>
);

const SloCard = ({ slo }: { readonly slo: Slo }) => {
  const state = stateOfSlo(slo);
  return (
    <article className={css['card']} data-state={state} aria-label={slo.name}>
      <header>
        <h2>
          <PageLink to={`/slos/${slo.id}`}>{slo.name}</PageLink>
        </h2>
        <StatusMark state={state} />
      </header>
      <SloFacts slo={slo} heading="h3" />
      <Acknowledgement kind="slo" watched={slo} />
    </article>
  );
};

const grammar = { state: oneOf(watchStates) } as const;

export default function SlosPage() {
  const [{ state }, setState] = usePageState(grammar);
  const query = useSlos();
  return (
    <>
      <PageHead title="SLOs" />
      <Loaded query={query} what="objectives">
        {({ slos }) =>
          slos.length === 0 ? (
            <EmptyState title="No objectives">
              <p>
                They stand in the config file, under <code>slos</code>; this project has none.
              </p>
            </EmptyState>
          ) : (
            <div className={css['page']}>
              <ConditionNote>
                An objective trips when both burn rates are above their lines. Steady failures below the lines use the
                budget up without tripping it.
              </ConditionNote>
              <StateFilter
                states={slos.map(stateOfSlo)}
                chosen={state}
                onChoose={(chosen) => setState({ state: chosen }, 'push')}
              />
              <div className={`${css['cards']} ${css['wide']}`}>
                {inOrder(slos, stateOfSlo)
                  .filter((slo) => state === undefined || stateOfSlo(slo) === state)
                  .map((slo) => (
                    <SloCard key={slo.id} slo={slo} />
                  ))}
              </div>
            </div>
          )
        }
      </Loaded>
    </>
  );
}
