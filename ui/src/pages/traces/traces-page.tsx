import { useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { QueryOf } from '../../api/types.ts';
import { stillListed } from '../../model/deleted.ts';
import { plural } from '../../model/units.ts';
import { formatState, keepShared, list, oneOf, type Params, shared, text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { CopyCurl } from '../../widgets/copy-curl.tsx';
import { DataTable } from '../../widgets/data-table.tsx';
import { FilterBar } from '../../widgets/filter-bar.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { useSelection } from '../../widgets/selection.tsx';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { ColumnChoice } from './column-choice.tsx';
import { scoreColumns, traceColumns, type TraceRow } from './columns.tsx';
import { FacetRail } from './facet-rail.tsx';
import { filterChoices, filterFields, type FilterName, filterNames, isComplete } from './filters.ts';
import { Peek } from './peek.tsx';
import { Scatter } from './scatter.tsx';
import { SelectedTraces } from './selected.tsx';
import css from './traces.module.css';

const PAGE_ROWS = 100;

const grammar = {
  ...filterFields,
  sort: oneOf(['start_time', 'duration', 'cost', 'span_count', 'score'], 'start_time'),
  order: oneOf(['asc', 'desc'], 'desc'),
  cols: list(),
  peek: text(),
} as const;

const asked = { ...shared, ...filterFields, sort: grammar.sort, order: grammar.order } as const;
const ADDED_NAMES = filterNames.filter((name) => name !== 'q');

export default function TracesPage() {
  const [sharedState] = useShared();
  const [state, setState] = usePageState(grammar);
  const navigate = useNavigate();
  const mayAsk = isComplete(state);

  // The very parameters of the address are those of the call.
  const params = useMemo<Params>(() => formatState(asked, { ...sharedState, ...state }), [sharedState, state]);
  const paramsKey = JSON.stringify(params);
  const query = useMemo(() => JSON.parse(paramsKey) as QueryOf<'listTraces'>, [paramsKey]);
  // The counts are of the same traces, in whatever order they are listed.
  const facetQuery = useMemo(() => {
    const { sort: _sort, order: _order, ...filters } = query;
    return filters;
  }, [query]);
  const traces = usePaged<TraceRow>(
    ['traces', 'list', paramsKey],
    async (cursor, signal) => {
      const given = { ...query, limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) };
      const page = await ask(api.GET('/v1/api/traces', { params: { query: given }, signal }));
      return { rows: page.traces, next: page.next_cursor };
    },
    mayAsk,
  );

  const selection = useSelection(paramsKey);
  const { held, fresh, show, drop } = useHeldRows(traces.data, paramsKey);
  const columns = useMemo(() => [...traceColumns, ...scoreColumns(held ?? [])], [held]);
  const active = ADDED_NAMES.flatMap((name) => {
    const value = params[name];
    return value === undefined ? [] : [{ name, value }];
  });
  const setFilter = (name: string, value: string | undefined): void => {
    const field = filterFields[name as FilterName];
    setState({ [name]: value === undefined ? undefined : field.parse(value), peek: undefined }, 'push');
  };
  const clear = (): void =>
    setState({ ...Object.fromEntries(filterNames.map((name) => [name, undefined])), peek: undefined }, 'push');

  const open = useCallback(
    (row: TraceRow) => void navigate({ to: `/traces/${row.trace_id}`, search: (before: Params) => keepShared(before) }),
    [navigate],
  );
  const { peek } = state;
  const closePeek = (): void => {
    // Back to the row that was peeked at: the button that has the focus goes.
    document.querySelector<HTMLElement>('main tr[aria-current]')?.focus();
    setState({ peek: undefined });
  };
  const shortcuts = useMemo<Shortcut[]>(() => {
    const rows = held ?? [];
    const at = rows.findIndex((row) => row.trace_id === peek);
    const go = (index: number): void => {
      const row = rows[Math.min(Math.max(index, 0), rows.length - 1)];
      if (row !== undefined) setState({ peek: row.trace_id });
    };
    return [
      { keys: 'j', what: 'Next trace of the list', run: () => go(at + 1) },
      { keys: 'k', what: 'Trace before', run: () => go(at - 1) },
      { keys: ' ', what: 'Peek', run: () => (peek === undefined ? go(0) : setState({ peek: undefined })) },
      {
        keys: 'Enter',
        what: 'Open the trace',
        run: () => {
          const row = rows[at];
          if (row !== undefined) open(row);
        },
      },
      { keys: 'Escape', what: 'Close the peek panel', run: () => setState({ peek: undefined }) },
    ];
  }, [held, peek, setState, open]);
  useShortcuts(shortcuts);

  return (
    <>
      <PageHead title="Traces" actions={<CopyCurl paths={['/v1/api/traces']} params={params} />} />
      <FilterBar
        active={active}
        names={ADDED_NAMES}
        choices={filterChoices}
        onSet={setFilter}
        onClear={clear}
        search={{
          value: state.q ?? '',
          onSearch: (q) => setState({ q: q === '' ? undefined : q, peek: undefined }, 'push'),
          hint: 'Search payloads: words, "a phrase", pre*',
        }}
      />
      {!mayAsk && (
        <p className={css['notice']} role="status">
          <code>score_below</code> needs <code>has_score</code>, the id of a scorer: add that filter.
        </p>
      )}
      {fresh > 0 && (
        <div className={css['pill']} role="status">
          <Button look="primary" onClick={show}>
            {fresh} new
          </Button>
        </div>
      )}
      {mayAsk && (
        <Loaded query={{ ...traces, data: held }} what="traces">
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState title="No trace matches">
                <p>
                  {active.length === 0 && state.q === undefined
                    ? 'Nothing was stored in this project and time.'
                    : 'These filters leave none. Take one off above, or all of them.'}
                </p>
                {(active.length > 0 || state.q !== undefined) && <Button onClick={clear}>Clear all filters</Button>}
              </EmptyState>
            ) : (
              <>
                <details className={css['more']}>
                  <summary>Duration and cost</summary>
                  <Scatter rows={rows} onBox={(filter) => setState({ ...filter, peek: undefined }, 'push')} />
                </details>
                <ColumnChoice columns={columns} shown={state.cols} onChoose={(cols) => setState({ cols })} />
                <div className={css['panes']}>
                  <FacetRail query={facetQuery} active={params} onChoose={setFilter} />
                  <DataTable
                    name="Traces"
                    columns={columns}
                    rows={rows}
                    shown={state.cols === undefined ? undefined : ['name', ...state.cols]}
                    idOf={(row) => row.trace_id}
                    sorting={{ sort: state.sort ?? 'start_time', order: state.order ?? 'desc' }}
                    onSort={({ sort, order }) => setState({ sort: grammar.sort.parse(sort), order }, 'push')}
                    selected={peek}
                    onSelect={(row) => setState({ peek: row.trace_id })}
                    onOpen={open}
                    selection={selection}
                    onEnd={traces.more}
                    foot={`${plural(rows.length, 'trace')} shown${traces.hasMore ? ', more below' : ''}`}
                  />
                  {peek !== undefined && <Peek traceId={peek} onClose={closePeek} />}
                </div>
                <SelectedTraces selection={selection} project={sharedState.project} onGone={drop} />
              </>
            )
          }
        </Loaded>
      )}
    </>
  );
}

/** Where the reader is, in the list: rows that come meanwhile wait until they are asked for. */
const isReading = (): boolean => {
  const scroller = document.querySelector('[aria-label="Traces, scrolls"]');
  return (
    scroller !== null &&
    (scroller.scrollTop > 0 ||
      scroller.matches(':hover') ||
      scroller.contains(document.activeElement) ||
      scroller.querySelector('tr[aria-current]') !== null)
  );
};

/** Rows as they are shown. Rows that arrive while somebody reads are counted, and shown when they are asked for. */
const useHeldRows = (read: readonly TraceRow[] | undefined, key: string) => {
  // Traces that were deleted here: they go at once, also while somebody reads, and before the list is read again.
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const [seen, setSeen] = useState(read);
  if (read !== seen) {
    setSeen(read);
    if (read !== undefined)
      setGone(
        stillListed(
          gone,
          read.map((row) => row.trace_id),
        ),
      );
  }
  const rows = useMemo(() => read?.filter((row) => !gone.has(row.trace_id)), [read, gone]);
  const [held, setHeld] = useState<{ readonly key: string; readonly rows: readonly TraceRow[] | undefined }>({
    key,
    rows,
  });
  const latest = useRef(held);
  useEffect(() => {
    latest.current = held;
  }, [held]);
  const known = useMemo(() => new Set(held.rows?.map((row) => row.trace_id)), [held.rows]);
  const fresh = held.key === key && rows !== undefined ? rows.filter((row) => !known.has(row.trace_id)) : [];
  const isContinued =
    rows !== undefined &&
    held.rows !== undefined &&
    rows.length > held.rows.length &&
    rows[0]?.trace_id === held.rows[0]?.trace_id;
  useEffect(() => {
    if (rows === undefined) return;
    const before = latest.current;
    if (before.rows === rows) return;
    const isSame = before.key === key && before.rows !== undefined;
    if (!isSame || isContinued || before.rows.length === 0 || !isReading()) setHeld({ key, rows });
    else {
      // What is shown is brought up to date in place.
      const byId = new Map(rows.map((row) => [row.trace_id, row]));
      const merged = before.rows.map((row) => byId.get(row.trace_id) ?? row);
      if (merged.some((row, index) => row !== before.rows?.[index])) setHeld({ key, rows: merged });
    }
  }, [rows, key, isContinued]);
  const show = useCallback(() => {
    setHeld({ key, rows });
    document.querySelector('[aria-label="Traces, scrolls"]')?.scrollTo({ top: 0 });
  }, [key, rows]);
  const drop = useCallback((traceId: string) => {
    setGone((before) => new Set([...before, traceId]));
    setHeld((before) => ({ ...before, rows: before.rows?.filter((row) => row.trace_id !== traceId) }));
  }, []);
  const shown = held.key === key || rows === undefined ? held.rows : rows;
  return {
    held: shown,
    fresh: isContinued ? 0 : fresh.length,
    show,
    drop,
  };
};
