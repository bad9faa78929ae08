import type { components } from '../../api/types.ts';
import { api, ask } from '../../api/client.ts';
import { boundText, ownerText, inUseText } from '../../model/limits.ts';
import { formatCount, shortId } from '../../model/units.ts';
import { Age } from '../../widgets/age.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { Facts } from '../../widgets/facts.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useParam } from '../../widgets/param.ts';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { Loaded } from '../../widgets/states.tsx';
import css from '../schedules/schedule.module.css';

type Place = components['schemas']['LimitPlace'] & { readonly position: number };

const run: Column<Place> = {
  id: 'run',
  head: 'Run',
  cell: ({ run_id }) => (
    <PageLink to={`/runs/${encodeURIComponent(run_id)}`}>
      <code>{shortId(run_id.replaceAll('-', '').slice(-12))}</code>
    </PageLink>
  ),
};
const step: Column<Place> = { id: 'step', head: 'Step', cell: ({ step_id }) => step_id ?? 'the run' };
const since = (head: string): Column<Place> => ({ id: 'since', head, cell: (place) => <Age at={place.since} /> });

const holding: readonly Column<Place>[] = [run, step, since('Since')];
const waiting: readonly Column<Place>[] = [
  { id: 'position', head: 'Place', isNumber: true, cell: ({ position }) => formatCount(position) },
  run,
  step,
  { id: 'priority', head: 'Priority', isNumber: true, cell: ({ priority }) => formatCount(priority) },
  since('Waits since'),
];

const placed = (places: readonly components['schemas']['LimitPlace'][]): readonly Place[] =>
  places.map((place, index) => ({ ...place, position: index + 1 }));
/** A run has one place of a key, or its task has. */
const idOf = ({ run_id, step_id = '' }: Place): string => `${run_id} ${step_id}`;

/** One key: who holds it, who waits for it, and since when. */
export default function KeyPage() {
  const id = useParam('id');
  const query = usePolled({
    queryKey: ['limits', 'one', id],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/limits/{limit}', { params: { path: { limit: id } }, signal })),
  });
  return (
    <Loaded query={query} what="the key, which is gone once nobody holds it or waits for it" head="Key">
      {(key) => (
        <>
          <PageHead title={key.key === '' ? '(empty)' : key.key} of="Key">
            <PageLink to={`/definitions/${encodeURIComponent(key.definition_id)}`}>{ownerText(key)}</PageLink>
            <PageLink to={`/actors/limit/${encodeURIComponent(id)}`}>Actor</PageLink>
          </PageHead>
          <div className={css['page']}>
            <Facts
              facts={[
                ['Bound', boundText(key)],
                ['In use', inUseText(key)],
                ['In line', formatCount(key.waiting)],
                ['Last moved', <Age key="moved" at={key.moved_at} />],
                key.next_at === undefined ? undefined : ['Next room', <Instant key="next" at={key.next_at} />],
              ]}
            />
            {key.kind === 'concurrency' && (
              <>
                <h2>Holders</h2>
                {key.holders.length === 0 ? (
                  <p>Nobody holds it.</p>
                ) : (
                  <PlainTable name="Holders" columns={holding} rows={placed(key.holders)} idOf={idOf} />
                )}
                {key.used > key.holders.length && (
                  <p>The first {formatCount(key.holders.length)} are shown, the longest first.</p>
                )}
              </>
            )}
            <h2>Line</h2>
            {key.line.length === 0 ? (
              <p>Nobody waits.</p>
            ) : (
              <PlainTable name="Line" columns={waiting} rows={placed(key.line)} idOf={idOf} />
            )}
            {key.waiting > key.line.length && <p>The first {formatCount(key.line.length)} are shown.</p>}
          </div>
        </>
      )}
    </Loaded>
  );
}
