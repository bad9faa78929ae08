import {
  columnVisibilityFeature,
  createColumnHelper,
  type RowData,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type MouseEvent, type ReactNode, useEffect, useMemo, useRef } from 'react';
import css from './data-table.module.css';
import { usePrefs } from './prefs.tsx';
import type { Selection } from './selection.tsx';

/** A column of a list. */
export type Column<Row> = {
  readonly id: string;
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Any CSS width; the rest is shared. */
  readonly width?: string;
  readonly isNumber?: boolean;
  /** The word of the API's `sort`, for a column by which the service sorts. */
  readonly sort?: string;
  /** Stays in view when the table is scrolled sideways; of one column only, the first. */
  readonly isPinned?: boolean;
};

export type Sorting = { readonly sort: string; readonly order: 'asc' | 'desc' };

type DataTableProps<Row> = {
  /** The table's accessible name: `Traces`. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Ids of columns to draw; all by default. */
  readonly shown?: readonly string[] | undefined;
  readonly sorting?: Sorting | undefined;
  readonly onSort?: (sorting: Sorting) => void;
  /** The row on which the reader is; it is kept in view. */
  readonly selected?: string | undefined;
  readonly onSelect?: (row: Row) => void;
  readonly onOpen?: (row: Row) => void;
  /** Rows can be chosen, by their boxes or by x: which are, and what a press does. */
  readonly selection?: Selection | undefined;
  /** Called when the last rows come into view and there are more. */
  readonly onEnd?: (() => void) | undefined;
  /** Below the rows: how much is shown of what there is. */
  readonly foot?: ReactNode;
};

const features = tableFeatures({ columnVisibilityFeature });
const ROW_PX = { normal: 32, compact: 28, coarse: 44 } as const;
const OVERSCAN = 12;
/** So many rows before the end, more are asked for. */
const NEAR_END_ROWS = 20;

const isOnControl = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('a, button, input, select, label') !== null;

/**
 * A list of which only the rows in view are drawn. Sorting and paging are the service's; rows are found by `aria-rowindex`.
 */
export const DataTable = <Row extends RowData>(props: DataTableProps<Row>) => {
  const { name, columns, rows, idOf, shown, sorting, onSort, selected, onSelect, onOpen, selection, onEnd, foot } =
    props;
  const { density } = usePrefs().prefs;
  const rowPx = matchMedia('(pointer: coarse)').matches ? ROW_PX.coarse : ROW_PX[density];
  const scroller = useRef<HTMLDivElement>(null);

  const byId = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns]);
  const definitions = useMemo(() => {
    const helper = createColumnHelper<typeof features, Row>();
    return helper.columns(
      columns.map(({ id, head, cell }) => helper.display({ id, header: head, cell: ({ row }) => cell(row.original) })),
    );
  }, [columns]);
  const visibility = useMemo(
    () => Object.fromEntries(columns.map(({ id }) => [id, shown === undefined || shown.includes(id)])),
    [columns, shown],
  );
  const data = useMemo(() => [...rows], [rows]);
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: idOf,
    state: { columnVisibility: visibility },
  });
  const tableRows = table.getRowModel().rows;

  const virtual = useVirtualizer({
    count: tableRows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
  });
  useEffect(() => virtual.measure(), [virtual, rowPx]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.start ?? 0;
  const last = items.at(-1);
  const below = virtual.getTotalSize() - (last?.end ?? 0);

  const isNearEnd = last !== undefined && last.index >= tableRows.length - NEAR_END_ROWS;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
  }, [isNearEnd, onEnd]);

  const selectedIndex = selected === undefined ? -1 : rows.findIndex((row) => idOf(row) === selected);
  useEffect(() => {
    if (selectedIndex >= 0) virtual.scrollToIndex(selectedIndex);
  }, [virtual, selectedIndex]);
  // Another row has the focus, so that it is read out; the one of the address, when the page opens, has not.
  const selectedBefore = useRef(selected);
  useEffect(() => {
    if (selected !== selectedBefore.current)
      scroller.current?.querySelector<HTMLElement>('tr[aria-current]')?.focus({ preventScroll: true });
    selectedBefore.current = selected;
  }, [selected]);

  const visible = table.getVisibleLeafColumns();
  const columnCount = visible.length + (selection === undefined ? 0 : 1);
  const sortBy = (key: string): void =>
    onSort?.({ sort: key, order: sorting?.sort === key && sorting.order === 'desc' ? 'asc' : 'desc' });

  return (
    <div ref={scroller} className={css['scroller']} role="region" aria-label={`${name}, scrolls`} tabIndex={0}>
      <table className={css['table']} aria-label={name} aria-rowcount={rows.length + 1}>
        <colgroup>
          {selection !== undefined && <col style={{ width: '2rem' }} />}
          {visible.map(({ id }) => (
            <col key={id} style={{ width: byId.get(id)?.width }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {selection !== undefined && (
              <th scope="col">
                <span className="visually-hidden">Selected</span>
              </th>
            )}
            {visible.map(({ id }) => {
              const column = byId.get(id);
              const key = column?.sort;
              const isSorted = key !== undefined && sorting?.sort === key;
              return (
                <th
                  key={id}
                  scope="col"
                  className={column?.isNumber === true ? css['number'] : undefined}
                  data-pinned={column?.isPinned === true || undefined}
                  aria-sort={isSorted ? (sorting.order === 'asc' ? 'ascending' : 'descending') : undefined}
                >
                  {key === undefined || onSort === undefined ? (
                    column?.head
                  ) : (
                    <button type="button" className={css['sort']} onClick={() => sortBy(key)}>
                      {column?.head}
                      <span aria-hidden>{isSorted ? (sorting.order === 'asc' ? ' ↑' : ' ↓') : ''}</span>
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {first > 0 && (
            <tr aria-hidden className={css['room']} style={{ height: first }}>
              <td colSpan={columnCount} />
            </tr>
          )}
          {items.map(({ index }) => {
            const row = tableRows[index];
            if (row === undefined) return null;
            const open = (event: MouseEvent | KeyboardEvent): void => {
              if (!isOnControl(event.target)) (onSelect ?? onOpen)?.(row.original);
            };
            return (
              <tr
                key={row.id}
                aria-rowindex={index + 2}
                aria-current={row.id === selected ? 'true' : undefined}
                tabIndex={onSelect === undefined ? undefined : -1}
                style={{ height: rowPx }}
                className={onSelect === undefined && onOpen === undefined ? undefined : css['clickable']}
                onClick={open}
                onDoubleClick={() => onOpen?.(row.original)}
              >
                {selection !== undefined && (
                  <td className={css['choice']}>
                    <input
                      type="checkbox"
                      aria-label={`Select row ${index + 1}`}
                      checked={selection.chosen.has(row.id)}
                      onChange={() => selection.toggle(row.id)}
                    />
                  </td>
                )}
                {row.getVisibleCells().map((cell, at) => {
                  const column = byId.get(cell.column.id);
                  return (
                    <td
                      key={cell.id}
                      role={at === 0 ? 'rowheader' : undefined}
                      className={column?.isNumber === true ? css['number'] : undefined}
                      data-pinned={column?.isPinned === true || undefined}
                    >
                      <table.FlexRender cell={cell} />
                    </td>
                  );
                })}
              </tr>
            );
          })}
          {below > 0 && (
            <tr aria-hidden className={css['room']} style={{ height: below }}>
              <td colSpan={columnCount} />
            </tr>
          )}
        </tbody>
      </table>
      {foot !== undefined && <div className={css['foot']}>{foot}</div>}
    </div>
  );
};
