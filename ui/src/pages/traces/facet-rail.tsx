import { keepPreviousData } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components, QueryOf } from '../../api/types.ts';
import { formatCount, plural } from '../../model/units.ts';
import { usePolled } from '../../widgets/live.tsx';
import { Loaded } from '../../widgets/states.tsx';
import css from './traces.module.css';

type Counts = components['schemas']['TraceFacets'];
type Facet = Counts['facets'][number];

const VALUES = 8;
/** These are opened at first; the others are one key away. */
const OPEN: ReadonlySet<Facet['field']> = new Set(['status', 'kind', 'model', 'environment']);

const Values = ({
  facet,
  chosen,
  onChoose,
}: {
  readonly facet: Facet;
  readonly chosen: string | undefined;
  readonly onChoose: (name: string, value: string | undefined) => void;
}) => (
  <ul>
    {facet.values.map(({ value, traces }) => (
      <li key={value}>
        <button
          type="button"
          aria-pressed={value === chosen}
          onClick={() => onChoose(facet.field, value === chosen ? undefined : value)}
        >
          <span>{value}</span>
          <span>{formatCount(traces)}</span>
        </button>
      </li>
    ))}
    {facet.other_values > 0 && <li>{plural(facet.other_values, 'more value')}</li>}
    {facet.without > 0 && <li>{formatCount(facet.without)} without</li>}
  </ul>
);

/** What the listed traces have in common, with counts over all of them and not only over the rows that are loaded. */
export const FacetRail = ({
  query,
  active,
  onChoose,
}: {
  readonly query: QueryOf<'countTraceFacets'>;
  /** Filters that are set, by name. */
  readonly active: Readonly<Record<string, string | undefined>>;
  readonly onChoose: (name: string, value: string | undefined) => void;
}) => {
  const asked = { ...query, limit: VALUES };
  const counts = usePolled({
    queryKey: ['traces', 'facets', asked],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/traces/facets', { params: { query: asked }, signal })),
    placeholderData: keepPreviousData,
  });
  return (
    <section aria-label="Facets" className={css['facets']} tabIndex={0}>
      <Loaded query={counts} what="the counts">
        {({ traces, complete, facets }) => (
          <>
            <p>
              {complete
                ? `Over ${plural(traces, 'trace')}`
                : `Over the newest: ${plural(traces, 'trace')} of them match`}
            </p>
            {facets
              .filter(({ values }) => values.length > 0)
              .map((facet) => (
                <details key={facet.field} open={OPEN.has(facet.field) || active[facet.field] !== undefined}>
                  <summary>{facet.field}</summary>
                  <Values facet={facet} chosen={active[facet.field]} onChoose={onChoose} />
                </details>
              ))}
          </>
        )}
      </Loaded>
    </section>
  );
};
