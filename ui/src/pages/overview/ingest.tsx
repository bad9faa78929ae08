import { api, ask } from '../../api/client.ts';
import { LEASE_CALLS } from '../../model/refusals.ts';
import { formatCount } from '../../model/units.ts';
import { Age } from '../../widgets/age.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { Loaded } from '../../widgets/states.tsx';
import css from './overview.module.css';

/** The kinds of refusal that came last. */
const MOST = 3;

const Refused = () => {
  const query = usePolled({
    queryKey: ['refusals'],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/refusals', { signal })),
  });
  return (
    <Loaded query={query} what="refusals">
      {({ refusals, since }) => {
        const ofDoors = refusals.filter(({ door }) => !door.startsWith(LEASE_CALLS));
        const last = ofDoors.toSorted((a, b) => Date.parse(b.last_at) - Date.parse(a.last_at)).slice(0, MOST);
        const times = ofDoors.reduce((sum, { count }) => sum + count, 0);
        return (
          <>
            {last.length > 0 && (
              <ul className={css['list']}>
                {last.map(({ door, code, signal, field, count, last_at }) => (
                  <li key={[door, code, signal, field].join(' ')}>
                    <code>{code}</code>
                    <span className={css['grow']}>
                      {door}
                      {field === undefined ? '' : `, ${field}`}
                    </span>
                    <span>×{formatCount(count)}</span>
                    <Age at={last_at} />
                  </li>
                ))}
              </ul>
            )}
            <p className={css['note']}>
              {times === 0
                ? 'Nothing was refused'
                : times === 1
                  ? 'Refused once'
                  : `Refused ${formatCount(times)} times`}{' '}
              since <Instant at={since} />, when the service started. <PageLink to="/refusals">Refusals</PageLink>
            </p>
          </>
        );
      }}
    </Loaded>
  );
};

/** Whether signals arrive, and what the doors refuse of them. */
export const IngestHealth = () => {
  const [{ project }] = useShared();
  const may = useMay('admin');
  const newest = usePolled({
    queryKey: ['traces', 'newest', project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/traces', {
          params: { query: { limit: 1, ...(project === undefined ? {} : { project }) } },
          signal,
        }),
      ),
  });
  return (
    <section aria-labelledby="ingest">
      <h2 id="ingest">Ingest</h2>
      <Loaded query={newest} what="the newest trace">
        {({ traces: [trace] }) =>
          trace === undefined ? (
            <p className={css['note']}>No trace is stored.</p>
          ) : (
            <p>
              The newest trace, <PageLink to={`/traces/${trace.trace_id}`}>{trace.name}</PageLink>, began{' '}
              <Age at={trace.start_time} />.
            </p>
          )
        }
      </Loaded>
      {may === true ? (
        <Refused />
      ) : (
        <p className={css['note']}>
          What was refused: <NeedsScope scope="admin" may={may} />
        </p>
      )}
    </section>
  );
};
