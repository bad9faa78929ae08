import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { formatCount, plural } from '../../model/units.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';

type Refusal = components['schemas']['Refusals']['refusals'][number];

const idOf = ({ door, code, signal, field }: Refusal): string => [door, code, signal ?? '', field ?? ''].join(' ');

const columns: readonly Column<Refusal>[] = [
  { id: 'door', head: 'Door', isPinned: true, cell: ({ door }) => <code>{door}</code> },
  { id: 'code', head: 'Code', cell: ({ code }) => <code>{code}</code> },
  { id: 'signal', head: 'What', cell: ({ signal }) => signal ?? 'the request' },
  { id: 'field', head: 'Field', cell: ({ field }) => (field === undefined ? '—' : <code>{field}</code>) },
  { id: 'count', head: 'Times', isNumber: true, cell: ({ count }) => formatCount(count) },
  { id: 'last', head: 'Last', cell: ({ last_at }) => <Instant at={last_at} /> },
  { id: 'first', head: 'First', cell: ({ first_at }) => <Instant at={first_at} /> },
];

/** What the doors of ingest refused, and calls on leases, so that nobody need look into the sender or the worker. */
export default function RefusalsPage() {
  const query = usePolled({
    queryKey: ['refusals'],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/refusals', { signal })),
  });
  return (
    <>
      <PageHead title="Refusals" />
      <Loaded query={query} what="refusals">
        {({ refusals, since, forgotten }) =>
          refusals.length === 0 ? (
            <EmptyState title="Nothing was refused">
              <p>
                Every request to a door of ingest, and every call on a lease, was taken since <Instant at={since} />,
                when the service started.
              </p>
            </EmptyState>
          ) : (
            <DataTable
              name="Refusals"
              columns={columns}
              rows={refusals}
              idOf={idOf}
              foot={
                <>
                  {plural(refusals.length, 'kind')} since <Instant at={since} />, when the service started. No message
                  and no value of a sender is kept.
                  {forgotten > 0 && ` ${plural(forgotten, 'older kind')} forgotten.`}
                </>
              }
            />
          )
        }
      </Loaded>
    </>
  );
}
