import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { type ComparedScorer, explainVerdict, formatDelta, NEEDED_SCORES, verdictOf } from '../../model/compare.ts';
import { nameOfScorer } from '../../model/scores.ts';
import { formatCount, plural } from '../../model/units.ts';
import { oneOf, text } from '../../model/url.ts';
import { formatNumber } from '../../model/watch.ts';
import { Button } from '../../widgets/button.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { Cases } from './cases.tsx';
import css from './experiments.module.css';

const only = ['regressed', 'undecidable'] as const;
const grammar = { baseline: text(), candidate: text(), scorer: text(), only: oneOf(only) } as const;
const MOST_EXPERIMENTS = 200;

const sample = ({ mean, count }: components['schemas']['ScoreSample']): string =>
  `${formatNumber(mean)} (${formatCount(count)})`;

const columns: readonly Column<ComparedScorer>[] = [
  { id: 'scorer', head: 'Scorer', cell: ({ scorer_id, scorer_version }) => nameOfScorer(scorer_id, scorer_version) },
  { id: 'baseline', head: 'Baseline mean (n)', isNumber: true, cell: ({ baseline }) => sample(baseline) },
  { id: 'candidate', head: 'Candidate mean (n)', isNumber: true, cell: ({ candidate }) => sample(candidate) },
  {
    id: 'delta',
    head: 'Delta',
    isNumber: true,
    // Colour says that something was decided.
    cell: (scorer) => (
      <span className={css['delta']} data-verdict={verdictOf(scorer)}>
        {formatDelta(scorer.delta)}
      </span>
    ),
  },
  {
    id: 'verdict',
    head: 'Verdict',
    cell: (scorer) => {
      const verdict = verdictOf(scorer);
      return verdict === 'regressed' || verdict === 'improved' ? (
        <>
          <StatusMark state={verdict} />
          {explainVerdict(scorer).slice(verdict.length)}
        </>
      ) : (
        explainVerdict(scorer)
      );
    },
  },
  {
    id: 'cases',
    head: 'Cases',
    cell: ({ scorer_id }) => <CasesButton scorerId={scorer_id} />,
  },
];

const CasesButton = ({ scorerId }: { readonly scorerId: string }) => {
  const [{ scorer }, setState] = usePageState(grammar);
  return (
    <Button
      look="plain"
      aria-pressed={scorer === scorerId}
      aria-label={`Cases of ${scorerId}`}
      onClick={() => setState({ scorer: scorerId })}
    >
      Cases
    </Button>
  );
};

const Comparison = ({
  baseline,
  candidate,
  project,
}: {
  readonly baseline: string;
  readonly candidate: string;
  readonly project: string | undefined;
}) => {
  const [state, setState] = usePageState(grammar);
  const query = useQuery({
    queryKey: ['experiments', 'compare', baseline, candidate, project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/experiments/compare', {
          params: { query: { baseline, candidate, ...(project === undefined ? {} : { project }) } },
          signal,
        }),
      ),
  });
  return (
    <Loaded query={query} what="the comparison">
      {({ scorers, not_compared }) => {
        const shown = scorers.filter((scorer) => {
          const verdict = verdictOf(scorer);
          return (
            state.only === undefined ||
            (state.only === 'regressed' ? verdict === 'regressed' : verdict === 'not decidable')
          );
        });
        const chosen = scorers.find(({ scorer_id }) => scorer_id === state.scorer);
        return (
          <>
            {scorers.length === 0 ? (
              <EmptyState title="No scorer judged both">
                <p>
                  Scores belong to an experiment by their experiment_id, and compare within one version of a scorer.
                </p>
              </EmptyState>
            ) : (
              <>
                <p className={css['note']}>
                  A side with fewer than {NEEDED_SCORES} scores decides nothing. Verdicts are those of Welch’s t-test.
                </p>
                <div role="group" aria-label="Filters" className={css['row']}>
                  {only.map((one) => (
                    <Button
                      key={one}
                      aria-pressed={state.only === one}
                      aria-label={state.only === one ? `Remove filter only: ${one}` : undefined}
                      onClick={() => setState({ only: state.only === one ? undefined : one })}
                    >
                      {one}
                    </Button>
                  ))}
                </div>
                {shown.length === 0 ? (
                  <p>
                    None of {plural(scorers.length, 'scorer')} is {state.only}.
                  </p>
                ) : (
                  <PlainTable
                    name="Comparison"
                    columns={columns}
                    rows={shown}
                    idOf={({ scorer_id, scorer_version }) => nameOfScorer(scorer_id, scorer_version)}
                  />
                )}
              </>
            )}
            {not_compared.length > 0 && (
              <section aria-label="Not compared">
                <h2>Not compared: only one side has them</h2>
                <ul>
                  {not_compared.map(({ scorer_id, scorer_version, side, count }) => (
                    <li key={`${side} ${nameOfScorer(scorer_id, scorer_version)}`}>
                      {nameOfScorer(scorer_id, scorer_version)}: {plural(count, 'score')} of the {side}
                    </li>
                  ))}
                </ul>
              </section>
            )}
            {chosen !== undefined && (
              <section aria-labelledby="cases">
                <h2 id="cases">Cases, judged by {nameOfScorer(chosen.scorer_id, chosen.scorer_version)}</h2>
                <Cases
                  key={`${baseline} ${candidate} ${chosen.scorer_id}`}
                  baseline={baseline}
                  candidate={candidate}
                  scorer={chosen}
                  project={project}
                />
              </section>
            )}
          </>
        );
      }}
    </Loaded>
  );
};

export default function ComparePage() {
  const [{ project }] = useShared();
  const [{ baseline, candidate }, setState] = usePageState(grammar);
  const experiments = useQuery({
    queryKey: ['experiments', 'choice', project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/experiments', {
          params: { query: { limit: MOST_EXPERIMENTS, ...(project === undefined ? {} : { project }) } },
          signal,
        }),
      ),
  });
  const one = project === '*' ? undefined : project;
  return (
    <>
      <PageHead title="Compare experiments" actions={<PageLink to="/experiments">Experiments</PageLink>} />
      <div className={css['page']}>
        <Loaded query={experiments} what="experiments">
          {({ experiments: rows }) => (
            <div className={css['form']}>
              {(['baseline', 'candidate'] as const).map((side) => {
                const value = (side === 'baseline' ? baseline : candidate) ?? '';
                return (
                  <label key={side}>
                    {side === 'baseline' ? 'Baseline' : 'Candidate'}
                    <select
                      value={value}
                      onChange={({ target }) => setState({ [side]: target.value || undefined }, 'push')}
                    >
                      <option value="">choose</option>
                      {value !== '' && !rows.some(({ experiment_id }) => experiment_id === value) && (
                        <option value={value}>{value}</option>
                      )}
                      {rows.map(({ experiment_id, name }) => (
                        <option key={experiment_id} value={experiment_id}>
                          {name}
                        </option>
                      ))}
                    </select>
                  </label>
                );
              })}
              <Button
                disabled={baseline === undefined || candidate === undefined}
                onClick={() => setState({ baseline: candidate, candidate: baseline }, 'push')}
              >
                Swap
              </Button>
            </div>
          )}
        </Loaded>
        {baseline === undefined || candidate === undefined ? (
          <EmptyState title="Choose a baseline and a candidate" />
        ) : (
          <Comparison baseline={baseline} candidate={candidate} project={one} />
        )}
      </div>
    </>
  );
}
