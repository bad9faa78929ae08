import { api, ask } from '../../api/client.ts';
import { plural } from '../../model/units.ts';
import { oneOf } from '../../model/url.ts';
import { DataTable } from '../../widgets/data-table.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { traceColumns, type TraceRow } from './columns.tsx';

const PAGE_ROWS = 100;

const grammar = {
  sort: oneOf(['start_time', 'duration', 'cost', 'span_count', 'score'], 'start_time'),
  order: oneOf(['asc', 'desc'], 'desc'),
} as const;

export default function TracesPage() {
  const [shared] = useShared();
  const [state, setState] = usePageState(grammar);
  const query = { ...shared, ...state };
  const traces = usePaged<TraceRow>(['traces', 'list', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/traces', {
        params: { query: { ...query, limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) } as never },
        signal,
      }),
    );
    return { rows: page.traces, next: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Traces" />
      <Loaded query={traces} what="traces">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No traces" />
          ) : (
            <DataTable
              name="Traces"
              columns={traceColumns}
              rows={rows}
              idOf={(row) => row.trace_id}
              sorting={{ sort: state.sort ?? 'start_time', order: state.order ?? 'desc' }}
              onSort={({ sort, order }) => setState({ sort: grammar.sort.parse(sort), order }, 'push')}
              onEnd={traces.more}
              foot={`${plural(rows.length, 'trace')} shown${traces.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
    </>
  );
}
