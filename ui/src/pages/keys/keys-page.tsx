import { api, ask } from '../../api/client.ts';
import { boundText, type LimitKey, ownerText, inUseText } from '../../model/limits.ts';
import { formatCount, plural } from '../../model/units.ts';
import { flag } from '../../model/url.ts';
import { Age } from '../../widgets/age.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Filters, FilterSelect } from '../../widgets/filters.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';

const grammar = { waiting: flag() } as const;
const PAGE_ROWS = 200;

const columns: readonly Column<LimitKey>[] = [
  {
    id: 'key',
    head: 'Key',
    isPinned: true,
    cell: ({ limit_id, key }) => (
      <PageLink to={`/keys/${encodeURIComponent(limit_id)}`} label={`key ${key}`}>
        {key === '' ? '(empty)' : key}
      </PageLink>
    ),
  },
  { id: 'of', head: 'Of', cell: ownerText },
  { id: 'bound', head: 'Bound', cell: boundText },
  { id: 'used', head: 'In use', isNumber: true, cell: inUseText },
  { id: 'waiting', head: 'In line', isNumber: true, cell: ({ waiting }) => formatCount(waiting) },
  { id: 'next', head: 'Next room', cell: ({ next_at }) => <Instant at={next_at} /> },
  { id: 'moved', head: 'Last moved', cell: ({ moved_at }) => <Age at={moved_at} /> },
];

/** Concurrency and rate keys in use. */
export default function KeysPage() {
  const [{ project }] = useShared();
  const [{ waiting }, setState] = usePageState(grammar);
  const query = {
    limit: PAGE_ROWS,
    ...(project === undefined ? {} : { project }),
    ...(waiting === true ? { waiting } : {}),
  };
  const keys = usePaged<LimitKey>(['limits', query], async (cursor, signal) => {
    const given = { ...query, ...(cursor === undefined ? {} : { cursor }) };
    const page = await ask(api.GET('/v1/api/limits', { params: { query: given }, signal }));
    return { rows: page.limits, next: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Keys" />
      <Filters
        active={
          waiting === true ? [{ name: 'waiting', value: 'true', onRemove: () => setState({ waiting: undefined }) }] : []
        }
      >
        <FilterSelect
          name="waiting"
          value={waiting === true ? 'true' : undefined}
          words={['true']}
          onChoose={(word) => setState({ waiting: word === 'true' ? true : undefined })}
        />
      </Filters>
      <Loaded query={keys} what="keys">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={waiting === true ? 'Nobody waits for a key' : 'No key is in use'}>
              <p>
                A definition or a task with <code>concurrency</code> or <code>rate</code> bounds how many of its runs or
                attempts go on at once, or begin in a while, for each key. A key stands here while somebody holds it or
                waits for it.
              </p>
            </EmptyState>
          ) : (
            <DataTable
              name="Keys"
              columns={columns}
              rows={rows}
              idOf={({ limit_id }) => limit_id}
              onEnd={keys.more}
              foot={`${plural(rows.length, 'key')} shown${keys.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
    </>
  );
}
