import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { Problem } from '../../api/problem.ts';
import { Age } from '../../widgets/age.tsx';
import { useLive } from '../../widgets/live.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './overview.module.css';

const MOST = 5;
/** Each read of runs leaves a row in the audit log. */
const EACH_MS = 30_000;

/** What a run may be stuck at, as the list of runs filters by it. */
const strips = [
  { name: 'Failed', filter: { status: 'failed' } },
  { name: 'Open past their usual time', filter: { stalled: 'true' } },
  { name: 'Silent worker', filter: { waiting_on: 'orphan' } },
  { name: 'Tried again later', filter: { waiting_on: 'backoff' } },
  { name: 'Waiting for a worker', filter: { waiting_on: 'worker' } },
  { name: 'Waiting for an event', filter: { waiting_on: 'event' } },
] as const;

type Troubled = { readonly runs: readonly components['schemas']['RunSummary'][]; readonly hasMore: boolean };

const useRuns = (filter: (typeof strips)[number]['filter']) => {
  const { isLive } = useLive();
  const [{ project, from, to }] = useShared();
  const query = {
    limit: MOST,
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  return useQuery({
    queryKey: ['runs', 'overview', filter, query],
    queryFn: async ({ signal }): Promise<Troubled> => {
      if ('stalled' in filter) {
        const given = { limit: MOST, ...(project === undefined ? {} : { project }) };
        const { runs, capped } = await ask(api.GET('/v1/api/runs/stalled', { params: { query: given }, signal }));
        return { runs, hasMore: capped === true };
      }
      const { runs, next_cursor } = await ask(
        api.GET('/v1/api/runs', { params: { query: { ...query, ...filter } }, signal }),
      );
      return { runs, hasMore: next_cursor !== undefined };
    },
    refetchInterval: isLive ? EACH_MS : false,
  });
};

const Strip = ({ name, filter }: (typeof strips)[number]) => {
  const runs = useRuns(filter);
  return (
    <section aria-label={`Runs: ${name}`}>
      <h3>
        <PageLink to="/runs" params={filter}>
          {name}
        </PageLink>
      </h3>
      <Loaded query={runs} what="runs">
        {(page) =>
          page.runs.length === 0 ? (
            <p className={css['note']}>None.</p>
          ) : (
            <>
              <ul className={css['list']}>
                {page.runs.map((run) => (
                  <li key={run.run_id}>
                    <StatusMark state={run.status} />
                    <PageLink to={`/runs/${run.run_id}`} className={css['grow']}>
                      {run.definition_id}
                      {run.cursor === undefined ? '' : `, at ${run.cursor}`}
                    </PageLink>
                    <Age at={run.updated_at} />
                  </li>
                ))}
              </ul>
              {page.hasMore && (
                <p className={css['note']}>
                  The {MOST} that moved {'stalled' in filter ? 'longest ago' : 'last'}.
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </section>
  );
};

/** Runs that failed, and those that do not get on. */
export const TroubledRuns = () => {
  const { error } = useRuns(strips[0].filter);
  const isOff = error instanceof Problem && error.code === 'runs_disabled';
  return (
    <section aria-labelledby="runs-in-trouble">
      <h2 id="runs-in-trouble">Runs, failed or held up</h2>
      {isOff ? (
        <p className={css['note']}>{error.message}</p>
      ) : (
        <div className={css['strips']}>
          {strips.map((strip) => (
            <Strip key={strip.name} {...strip} />
          ))}
        </div>
      )}
    </section>
  );
};
