import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type MouseEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { findInJson } from '../model/find-in-json.ts';
import { jsonRows, pathsAround } from '../model/json-tree.ts';
import css from './json-tree.module.css';

const ROW_PX = 24;
const PAGE_ROWS = 12;

/**
 * A JSON value as a tree of which only the lines in view are drawn. The focus is the tree's: a line that scrolls away takes
 * none with it.
 */
export const JsonTree = ({
  name,
  value,
  hasFind = false,
  isFitted = false,
  path,
  onPath,
}: {
  readonly name: string;
  readonly value: unknown;
  /** With a search of its own: the browser's finds only the lines that are drawn. */
  readonly hasFind?: boolean;
  /** No higher than its lines, where more stands below it. */
  readonly isFitted?: boolean;
  /** The line on which the reader begins, as a JSON pointer. */
  readonly path?: string | undefined;
  /** Called with the line that was gone to. */
  readonly onPath?: (path: string) => void;
}) => {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(
    () => new Set(path === undefined ? [] : pathsAround(path)),
  );
  const [text, setText] = useState('');
  const [step, setStep] = useState(0);
  const found = useMemo(() => findInJson(value, text), [value, text]);
  const [at, setAt] = useState<number>();
  const scroller = useRef<HTMLDivElement>(null);
  const base = useId();
  const rows = useMemo(() => jsonRows(value, toggled), [value, toggled]);
  // Until somebody goes elsewhere: the value may be read again meanwhile.
  const named = at === undefined && path !== undefined ? rows.findIndex((row) => row.path === path) : -1;
  const current = Math.min(at ?? Math.max(0, named), rows.length - 1);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  useEffect(() => {
    if (named > 0) virtual.scrollToIndex(named);
  }, [virtual, named]);
  const items = virtual.getVirtualItems();
  const toggle = (path: string): void =>
    setToggled((before) => {
      const next = new Set(before);
      if (next.has(path)) next.delete(path);
      else next.add(path);
      return next;
    });
  const go = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setAt(next);
    onPath?.(rows[next]?.path ?? '');
    virtual.scrollToIndex(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[current];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const parent = rows.slice(0, current).findLastIndex(({ depth }) => depth < row.depth);
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(current + 1),
      ArrowUp: () => go(current - 1),
      PageDown: () => go(current + PAGE_ROWS),
      PageUp: () => go(current - PAGE_ROWS),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (row.size > 0 && !row.isOpen ? toggle(row.path) : go(current + 1)),
      ArrowLeft: () => (row.isOpen ? toggle(row.path) : go(parent)),
      Enter: () => (row.size > 0 ? toggle(row.path) : undefined),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  const onClick = ({ target }: MouseEvent): void => {
    const line = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null;
    const index = Number(line?.dataset['index'] ?? Number.NaN);
    const row = rows[index];
    if (row === undefined) return;
    setAt(index);
    onPath?.(row.path);
    scroller.current?.focus({ preventScroll: true });
    if (row.size > 0) toggle(row.path);
  };
  const look = (next: number): void => {
    const { length } = found.paths;
    if (length === 0) return;
    const which = (next + length) % length;
    const to = found.paths[which] ?? '';
    const opened = new Set([...toggled, ...pathsAround(to)]);
    const index = jsonRows(value, opened).findIndex((row) => row.path === to);
    setStep(which);
    setToggled(opened);
    setAt(Math.max(0, index));
    onPath?.(to);
    // The lines that were opened are there after this render.
    requestAnimationFrame(() => virtual.scrollToIndex(Math.max(0, index)));
  };
  const isDrawn = items.some(({ index }) => index === current);
  const tree = (
    <div
      ref={scroller}
      role="tree"
      aria-label={name}
      tabIndex={0}
      className={`${css['tree']} ${isFitted ? css['fitted'] : ''}`}
      aria-activedescendant={isDrawn ? `${base}${current}` : undefined}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      <div role="none" style={{ height: virtual.getTotalSize() }} className={css['room']}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              key={row.path}
              id={`${base}${index}`}
              role="treeitem"
              aria-level={row.depth + 1}
              aria-posinset={row.position}
              aria-setsize={row.neighbours}
              aria-expanded={row.size > 0 ? row.isOpen : undefined}
              aria-selected={index === current}
              className={css['row']}
              style={{ transform: `translateY(${start}px)`, paddingLeft: row.depth * 14 + 4 }}
              tabIndex={-1}
              data-index={index}
            >
              <span aria-hidden className={css['arrow']}>
                {row.size === 0 ? '' : row.isOpen ? '▾' : '▸'}
              </span>
              {row.depth > 0 && <span className={css['key']}>{row.key}: </span>}
              <span data-kind={row.kind} className={css['value']}>
                {row.text}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
  if (!hasFind) return tree;
  return (
    <div className={css['searched']}>
      <div className={css['search']}>
        <input
          type="search"
          aria-label={`Find in ${name}`}
          placeholder="Find"
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setStep(-1);
          }}
          onKeyDown={({ key, shiftKey }) => {
            if (key === 'Enter') look(step + (shiftKey ? -1 : 1));
          }}
        />
        {text.trim() !== '' && (
          <span role="status">
            {found.paths.length === 0
              ? 'Not found'
              : `${step >= 0 ? `${step + 1} of ` : ''}${found.paths.length}${found.isCut ? ' or more' : ''}; Enter goes on`}
          </span>
        )}
      </div>
      {tree}
    </div>
  );
};
