import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { activeStates, stateText } from '../../model/statechart.ts';
import { formatCount, plural, shortId } from '../../model/units.ts';
import { oneOf, text } from '../../model/url.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Filters, FilterSelect } from '../../widgets/filters.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';

type Actor = components['schemas']['Actor'];

const types = [
  'run',
  'lease',
  'limit',
  'monitor',
  'slo',
  'schedule',
  'definition',
  'bulk',
  'timer',
  'pipeline',
  'dispatcher',
  'outbox',
] as const;
const statuses = ['active', 'done', 'quarantined'] as const;

/** `machine` and `state` are looked for in what is loaded: the service has no such filter. */
const grammar = { type: oneOf(types), status: oneOf(statuses), machine: text(), state: text() } as const;

const PAGE_ROWS = 1000;

const columns: readonly Column<Actor>[] = [
  {
    id: 'actor',
    head: 'Actor',
    isPinned: true,
    cell: ({ type, id }) => (
      <PageLink to={`/actors/${type}/${encodeURIComponent(id)}`}>
        {type} <code title={id}>{type === 'run' || type === 'lease' ? `${shortId(id)}…${id.slice(-4)}` : id}</code>
      </PageLink>
    ),
  },
  { id: 'status', head: 'Status', cell: ({ status }) => <StatusMark state={status} /> },
  { id: 'value', head: 'State', cell: ({ value }) => stateText(value) || '—' },
  {
    id: 'machine',
    head: 'Machine',
    cell: ({ machine }) => <PageLink to={`/machines/${encodeURIComponent(machine)}`}>{machine}</PageLink>,
  },
  { id: 'version', head: 'Changes', isNumber: true, cell: ({ version }) => formatCount(version) },
  { id: 'updated_at', head: 'Changed', cell: ({ updated_at }) => <Instant at={updated_at} /> },
];

export default function ActorsPage() {
  const [{ project }] = useShared();
  const [state, setState] = usePageState(grammar);
  const { type, status, machine, state: place } = state;
  const query = {
    ...(type === undefined ? {} : { type }),
    ...(status === undefined ? {} : { status }),
    ...(project === undefined ? {} : { project }),
    limit: PAGE_ROWS,
  };
  const actors = usePaged<Actor>(['actors', 'list', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/actors', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.actors, next: page.next_cursor };
  });
  const isWanted = (actor: Actor): boolean =>
    (machine === undefined || actor.machine === machine) &&
    (place === undefined || activeStates(actor.value).includes(place));
  const active = (['type', 'status', 'machine', 'state'] as const).flatMap((name) => {
    const value = state[name];
    return value === undefined ? [] : [{ name, value, onRemove: () => setState({ [name]: undefined }, 'push') }];
  });
  return (
    <>
      <PageHead title="Actors" />
      <Filters active={active}>
        <FilterSelect name="Type" words={types} value={type} onChoose={(word) => setState({ type: word }, 'push')} />
        <FilterSelect
          name="Status"
          words={statuses}
          value={status}
          onChoose={(word) => setState({ status: word }, 'push')}
        />
      </Filters>
      <Loaded query={actors} what="actors">
        {(loaded) => {
          const rows = loaded.filter(isWanted);
          const foot =
            rows.length === loaded.length
              ? `${plural(rows.length, 'actor')} shown${actors.hasMore ? '; scroll for more' : ''}`
              : `${formatCount(rows.length)} of the ${plural(loaded.length, 'actor')} loaded are in this state${actors.hasMore ? '; older ones are not loaded' : ''}`;
          return rows.length === 0 ? (
            <EmptyState title="No actors">
              <p>
                {active.length === 0
                  ? 'Nothing runs, and nothing is watched.'
                  : `None of the ${plural(loaded.length, 'actor')} loaded is what the filters ask for.`}
              </p>
            </EmptyState>
          ) : (
            <DataTable
              name="Actors"
              columns={columns}
              rows={rows}
              idOf={({ type: kind, id }) => `${kind} ${id}`}
              onEnd={actors.more}
              foot={foot}
            />
          );
        }}
      </Loaded>
    </>
  );
}
