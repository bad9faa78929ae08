import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import { Facts } from '../../widgets/facts.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { useParam } from '../../widgets/param.ts';
import { PayloadView } from '../../widgets/payload-view.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { Histograms } from '../judgements/histograms.tsx';
import css from './experiments.module.css';

const MOST_SCORES = 1000;

export default function ExperimentPage() {
  const experiment_id = useParam('experimentId');
  const [{ project }] = useShared();
  const of = project === undefined || project === '*' ? {} : { project };
  const query = useQuery({
    queryKey: ['experiments', 'one', experiment_id, project],
    queryFn: async ({ signal }) => {
      const [experiment, { scores, next_cursor }] = await Promise.all([
        ask(
          api.GET('/v1/api/experiments/{experiment_id}', {
            params: { path: { experiment_id }, query: of },
            signal,
          }),
        ),
        ask(api.GET('/v1/api/scores', { params: { query: { ...of, experiment_id, limit: MOST_SCORES } }, signal })),
      ]);
      return { experiment, scores, isCut: next_cursor !== undefined };
    },
  });
  return (
    <Loaded query={query} what="the experiment" head="Experiment">
      {({ experiment, scores, isCut }) => (
        <>
          <PageHead
            title={experiment.name}
            of="Experiment"
            actions={
              <PageLink to="/experiments/compare" params={{ candidate: experiment_id }}>
                Compare as the candidate
              </PageLink>
            }
          />
          <div className={css['page']}>
            <Facts
              facts={[
                ['Id', experiment.experiment_id],
                ['Project', experiment.project],
                ['Version', experiment.service_version],
                [
                  'Dataset',
                  experiment.dataset_id === undefined ? undefined : (
                    <PageLink key="dataset" to={`/datasets/${encodeURIComponent(experiment.dataset_id)}`}>
                      {experiment.dataset_id}
                    </PageLink>
                  ),
                ],
                ['Created', <Instant key="created" at={experiment.created_at} />],
                [
                  'Behind it',
                  <span key="behind">
                    <PageLink to="/traces" params={{ experiment_id }}>
                      traces
                    </PageLink>
                    ,{' '}
                    <PageLink to="/scores" params={{ experiment_id }}>
                      scores
                    </PageLink>
                  </span>,
                ],
              ]}
            />
            {experiment.metadata !== undefined && <PayloadView value={experiment.metadata} name="metadata" />}
            <h2>Scores</h2>
            {scores.length === 0 ? <p className={css['note']}>None yet.</p> : <Histograms scores={scores} />}
            {isCut && <p className={css['note']}>Of the newest {MOST_SCORES} scores; there are more.</p>}
          </div>
        </>
      )}
    </Loaded>
  );
}
