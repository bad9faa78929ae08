import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { useParam } from '../../widgets/param.ts';
import { useShared } from '../../widgets/page-state.ts';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { DataTable } from '../../widgets/data-table.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { traceColumns, type TraceRow } from '../traces/columns.tsx';
import { EraseDialog } from './erase-dialog.tsx';
import { useListQuery } from './use-list-query.ts';

export default function UserPage() {
  const user_id = useParam('userId');
  const may = useMay('admin');
  const [isErasing, setErasing] = useState(false);
  const [{ environment }] = useShared();
  const query = { ...useListQuery(), user_id, ...(environment === undefined ? {} : { environment }) };
  const traces = usePaged<TraceRow>(['traces', 'user', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/traces', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.traces, next: page.next_cursor };
  });
  return (
    <>
      <PageHead
        title={user_id}
        of="User"
        actions={
          <>
            <NeedsScope scope="admin" may={may} />
            <Button look="danger" disabled={may !== true} onClick={() => setErasing(true)}>
              Erase…
            </Button>
          </>
        }
      >
        <PageLink to="/runs" params={{ user_id }}>
          Runs
        </PageLink>
        <PageLink to="/traces" params={{ user_id }}>
          Traces
        </PageLink>
      </PageHead>
      <Loaded query={traces} what="the traces of the user">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No trace of this user in this window" />
          ) : (
            <DataTable
              name="Traces"
              columns={traceColumns}
              rows={rows}
              idOf={(row) => row.trace_id}
              onEnd={traces.more}
              foot={`${plural(rows.length, 'trace')} shown${traces.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
      <EraseDialog userId={user_id} isOpen={isErasing} onClose={() => setErasing(false)} />
    </>
  );
}
