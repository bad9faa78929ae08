import { lazy, Suspense, useCallback, useMemo, useRef, useState } from 'react';
import { panned, parseZoom, formatZoom, type Zoom, zoomed } from '../../model/ticks.ts';
import {
  criticalPath,
  firstToShow,
  viewOf,
  isRowOpen,
  matchRows,
  type Openness,
  type TraceDetail,
  type TraceRows,
  visibleRows,
} from '../../model/trace.ts';
import { currencyOf, subtreeCosts, subtreeTokens } from '../../model/subtree-sums.ts';
import { findRepeats, kindCounts, LEAST_REPEATS, revealRow, wantedRows } from '../../model/trace-filter.ts';
import { inWords } from '../../model/status.ts';
import { totalTokens } from '../../model/tokens.ts';
import { type Field, flag, list, number, oneOf, text } from '../../model/url.ts';
import { plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { focusGroup } from '../../widgets/focus-group.ts';
import { usePageState } from '../../widgets/page-state.ts';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { Skeleton } from '../../widgets/states.tsx';
import type { Scene } from '../../widgets/waterfall/row-pool.ts';
import { Waterfall } from '../../widgets/waterfall/waterfall.tsx';
import { CopyForAssistant, DownloadTrace } from './export.tsx';
import { Inspector } from './inspector.tsx';
import { ContextView } from './context-view.tsx';
import { LogsView } from './logs-view.tsx';
import { Notices } from './notices.tsx';
import css from './trace.module.css';
import { Transcript } from './transcript.tsx';

const GraphView = lazy(() => import('./graph-view.tsx'));

const zoomField: Field<Zoom> = { parse: parseZoom, format: formatZoom };
const VIEWS = ['waterfall', 'tree', 'transcript', 'graph', 'context', 'logs'] as const;
const ONLY = ['match', 'errors', 'critical'] as const;
const ONLY_WORDS = { match: 'matches', errors: 'errors', critical: 'critical path' } as const;

const grammar = {
  /** Without it the trace decides: `viewOf`. */
  view: oneOf(VIEWS),
  span: text(),
  zoom: zoomField,
  find: text(),
  only: oneOf(ONLY),
  kinds: list(),
  in_range: flag(),
  line: oneOf(['critical']),
  repeats: oneOf(['grouped']),
  lvl: number(),
  open: list(),
  closed: list(),
  root: text(),
  tab: text(),
} as const;

/** More would not fit into an address; then the level alone is kept. */
const MAX_IDS = 40;
const ZOOM_STEP = 0.6;
const PAN_STEP = 0.25;
const NOTHING = new Uint8Array(0);

/** The views of one trace, and the address that says which, where and how. */
export const TraceView = ({ loaded, rows }: { readonly loaded: TraceDetail; readonly rows: TraceRows }) => {
  const [state, setState] = usePageState(grammar);
  const [notice, setNotice] = useState('');
  const { spans, rowOf } = rows;

  const shown = state.span === undefined ? undefined : rowOf.get(state.span);
  const [opening] = useState(() => firstToShow(rows));
  const selected = shown ?? Math.min(opening, spans.length - 1);
  const openness = useMemo<Openness>(
    () => ({ level: state.lvl, opened: new Set(state.open), closed: new Set(state.closed) }),
    [state.lvl, state.open, state.closed],
  );
  const root = state.root === undefined ? undefined : rowOf.get(state.root);
  const matches = useMemo(() => matchRows(rows, state.find ?? ''), [rows, state.find]);
  const { only } = state;
  const hasCritical = only === 'critical' || state.line === 'critical';
  const critical = useMemo(() => (hasCritical ? criticalPath(rows) : NOTHING), [rows, hasCritical]);
  const zoom = useMemo<Zoom>(() => state.zoom ?? { from: 0, to: rows.totalNs }, [state.zoom, rows.totalNs]);
  const kinds = useMemo(() => state.kinds ?? [], [state.kinds]);
  const isInRange = state.in_range === true && state.zoom !== undefined;
  const wanted = useMemo(() => {
    const flags = { match: matches, errors: rows.isError, critical };
    return wantedRows(rows, {
      flags: only === undefined ? undefined : flags[only],
      kinds,
      range: isInRange ? zoom : undefined,
    });
  }, [rows, only, matches, critical, kinds, isInRange, zoom]);
  const repeats = useMemo(() => findRepeats(rows), [rows]);
  // What is asked for by name is not folded away again.
  const isGrouped = state.repeats === 'grouped' && only === undefined;
  const visible = useMemo(
    () =>
      visibleRows(rows, openness, {
        root,
        wanted,
        hidden: isGrouped ? revealRow(rows, repeats.hidden, selected) : undefined,
      }),
    [rows, openness, root, wanted, isGrouped, repeats, selected],
  );
  const view = state.view ?? viewOf(rows, state.span);
  const counts = useMemo(() => kindCounts(rows), [rows]);
  const isOfRows = view === 'waterfall' || view === 'tree';
  const total = totalTokens(loaded.trace.usage);
  const sums = useMemo(
    () =>
      view === 'tree'
        ? { costs: subtreeCosts(rows), currency: currencyOf(rows), tokens: subtreeTokens(rows, total) }
        : undefined,
    [view, rows, total],
  );
  const hasFind = (state.find ?? '') !== '';
  const scene = useMemo<Scene>(
    () => ({
      rows,
      visible,
      openness,
      zoom,
      selected,
      matches: hasFind ? matches : NOTHING,
      critical: hasCritical ? critical : undefined,
      repeats: isGrouped ? repeats.times : undefined,
      look: view === 'tree' ? 'numbers' : 'bars',
      sums,
    }),
    [rows, visible, openness, zoom, selected, hasFind, matches, hasCritical, critical, isGrouped, repeats, view, sums],
  );

  const select = useCallback((row: number) => setState({ span: spans[row]?.span_id }), [spans, setState]);
  // Who was led to the rows goes on there: what led them is gone with the other view.
  const goesToGrid = useRef(false);
  const onGrid = useCallback((grid: HTMLElement): void => {
    if (goesToGrid.current) grid.focus();
    goesToGrid.current = false;
  }, []);
  const showInWaterfall = useCallback(
    (row: number) => {
      goesToGrid.current = !isOfRows;
      const isLeftOut = wanted !== undefined && !wanted(row);
      const isElsewhere = root !== undefined && (row < root || row >= root + (rows.size[root] ?? 1));
      setState(
        {
          span: spans[row]?.span_id,
          view: 'waterfall',
          ...(isLeftOut ? { only: undefined, kinds: undefined, in_range: undefined } : {}),
          ...(isElsewhere ? { root: undefined } : {}),
        },
        'push',
      );
    },
    [rows, spans, wanted, root, isOfRows, setState],
  );
  const setZoom = useCallback(
    (next: Zoom | undefined) =>
      setState({ zoom: next === undefined || (next.from <= 0 && next.to >= rows.totalNs) ? undefined : next }),
    [setState, rows.totalNs],
  );
  const toggleRows = useCallback(
    (which: readonly number[], isOpen: boolean) => {
      const opened = new Set(openness.opened);
      const closed = new Set(openness.closed);
      for (const row of which) {
        const id = spans[row]?.span_id ?? '';
        opened.delete(id);
        closed.delete(id);
        if (isRowOpen(rows, { level: openness.level, opened, closed }, row) !== isOpen)
          (isOpen ? opened : closed).add(id);
      }
      const isTooLong = opened.size + closed.size > MAX_IDS;
      setNotice(
        isTooLong ? `More than ${MAX_IDS} rows were opened or closed by hand: the address keeps the level alone.` : '',
      );
      setState(isTooLong ? { open: undefined, closed: undefined } : { open: [...opened], closed: [...closed] });
    },
    [openness, rows, spans, setState],
  );
  const toggleAll = useCallback(
    (row: number, isOpen: boolean) => {
      // What is shut as a whole is shut at its top.
      const below = Array.from({ length: rows.size[row] ?? 1 }, (_, offset) => row + offset).filter(
        (at) => (rows.size[at] ?? 1) > 1,
      );
      toggleRows(isOpen ? below : [row], isOpen);
    },
    [rows, toggleRows],
  );

  const shortcuts = useMemo<Shortcut[]>(() => {
    const step = (wanted: (row: number) => boolean, direction: 1 | -1) => (): void => {
      for (let row = selected + direction; row >= 0 && row < spans.length; row += direction)
        if (wanted(row)) {
          select(row);
          return;
        }
    };
    const isError = (row: number): boolean => rows.isError[row] === 1;
    const isMatch = (row: number): boolean => matches[row] === 1;
    const middle = (zoom.from + zoom.to) / 2;
    const levels = Array.from({ length: 9 }, (_, at) => ({
      keys: String(at + 1),
      what: `Open down to level ${at + 1}`,
      run: () => setState({ lvl: at + 1, open: undefined, closed: undefined }),
    }));
    return [
      { keys: 'e', what: 'Next error', run: step(isError, 1) },
      { keys: 'E', what: 'Previous error', run: step(isError, -1) },
      { keys: 'n', what: 'Next match', run: step(isMatch, 1) },
      { keys: 'p', what: 'Previous match', run: step(isMatch, -1) },
      { keys: '+', what: 'Zoom in', run: () => setZoom(zoomed(zoom, ZOOM_STEP, middle, rows.totalNs)) },
      { keys: '-', what: 'Zoom out', run: () => setZoom(zoomed(zoom, 1 / ZOOM_STEP, middle, rows.totalNs)) },
      { keys: '0', what: 'Show all of the time', run: () => setZoom(undefined) },
      { keys: '[', what: 'Earlier', run: () => setZoom(panned(zoom, -PAN_STEP, rows.totalNs)) },
      { keys: ']', what: 'Later', run: () => setZoom(panned(zoom, PAN_STEP, rows.totalNs)) },
      { keys: 'v', what: 'Next view', run: () => setState({ view: VIEWS[(VIEWS.indexOf(view) + 1) % VIEWS.length] }) },
      {
        keys: 'c',
        what: 'Draw the critical path',
        run: () => setState({ line: state.line === undefined ? 'critical' : undefined }),
      },
      {
        keys: 'f',
        what: 'Only this span and what is below it',
        run: () => setState({ root: root === undefined ? spans[selected]?.span_id : undefined }),
      },
      ...levels,
    ];
  }, [rows, spans, selected, matches, zoom, view, state.line, root, select, setState, setZoom]);
  useShortcuts(shortcuts);

  const matchCount = useMemo(() => matches.reduce((sum, flag) => sum + flag, 0), [matches]);
  const narrowed = [
    ...(only === undefined ? [] : [`“${ONLY_WORDS[only]}”`]),
    ...kinds.map((kind) => `“${inWords(kind)}”`),
    ...(isInRange ? ['“rows in range”'] : []),
  ];
  if (spans.length === 0) return <p className={css['notice']}>This trace has no spans.</p>;
  return (
    <>
      <div className={css['bar']} role="group" aria-label="View" tabIndex={-1}>
        {VIEWS.map((name) => (
          <Button key={name} aria-pressed={view === name} onClick={() => setState({ view: name })}>
            {name[0]?.toUpperCase()}
            {name.slice(1)}
          </Button>
        ))}
        {isOfRows && (
          <>
            <input
              type="search"
              aria-label="Find in the trace"
              placeholder="Find name, model, error ( / )"
              value={state.find ?? ''}
              onChange={(event) => setState({ find: event.target.value })}
            />
            {hasFind && <span role="status">{plural(matchCount, 'match', 'matches')}</span>}
            <label>
              Only
              <select
                value={only ?? ''}
                onChange={(event) => setState({ only: grammar.only.parse(event.target.value) })}
              >
                <option value="">all spans</option>
                {ONLY.map((word) => (
                  <option key={word} value={word}>
                    {ONLY_WORDS[word]}
                  </option>
                ))}
              </select>
            </label>
            <label>
              Kind
              <select value="" onChange={({ target }) => setState({ kinds: [...new Set([...kinds, target.value])] })}>
                <option value="">{kinds.length === 0 ? 'any' : 'add one'}</option>
                {counts.map(([kind, count]) => (
                  <option key={kind} value={kind} disabled={kinds.includes(kind)}>
                    {inWords(kind)} ({count})
                  </option>
                ))}
              </select>
            </label>
            {kinds.length > 0 && (
              <span role="group" aria-label="Filters" className={css['chips']}>
                {kinds.map((kind) => (
                  <Button
                    key={kind}
                    aria-label={`Remove filter kind ${inWords(kind)}`}
                    onClick={(event) => {
                      focusGroup(event);
                      setState({ kinds: kinds.filter((other) => other !== kind) });
                    }}
                  >
                    {inWords(kind)} ×
                  </Button>
                ))}
              </span>
            )}
            <Button
              aria-pressed={state.line === 'critical'}
              title="Mark the work that decided when the trace ended ( c )"
              onClick={() => setState({ line: state.line === undefined ? 'critical' : undefined })}
            >
              Critical path
            </Button>
            {repeats.groups > 0 && (
              <Button
                aria-pressed={isGrouped}
                disabled={only !== undefined}
                title={`Show siblings of the same name once, from ${LEAST_REPEATS} of them on; failures stay`}
                onClick={() => setState({ repeats: state.repeats === undefined ? 'grouped' : undefined })}
              >
                Group repeats
              </Button>
            )}
            {state.zoom !== undefined && (
              <>
                <Button aria-pressed={isInRange} onClick={() => setState({ in_range: isInRange ? undefined : true })}>
                  Rows in range
                </Button>
                <Button onClick={() => setZoom(undefined)}>Show all of the time</Button>
              </>
            )}
          </>
        )}
        {root !== undefined && <Button onClick={() => setState({ root: undefined })}>Show the complete trace</Button>}
        <span className={css['grow']} />
        <CopyForAssistant loaded={loaded} rows={rows} selected={selected} />
        <DownloadTrace loaded={loaded} />
      </div>
      <Notices
        traceId={loaded.trace.trace_id}
        project={loaded.trace.correlation.project}
        rows={rows}
        onSelect={showInWaterfall}
      />
      {state.span !== undefined && shown === undefined && (
        <p className={css['notice']} role="status">
          The address names the span {state.span}, which this trace does not have.{' '}
          <Button onClick={() => setState({ span: undefined })}>Dismiss</Button>
        </p>
      )}
      {notice !== '' && (
        <p className={css['notice']} role="status">
          {notice}
        </p>
      )}
      {view === 'transcript' ? (
        <Transcript traceId={loaded.trace.trace_id} rows={rows} onSelect={showInWaterfall} />
      ) : view === 'graph' ? (
        <Suspense fallback={<Skeleton what="the graph" />}>
          <GraphView name={loaded.trace.name} rows={rows} root={root} onSelect={showInWaterfall} />
        </Suspense>
      ) : view === 'context' ? (
        <ContextView traceId={loaded.trace.trace_id} rows={rows} onSelect={showInWaterfall} />
      ) : view === 'logs' ? (
        <LogsView
          traceId={loaded.trace.trace_id}
          project={loaded.trace.correlation.project}
          rows={rows}
          onSelect={showInWaterfall}
        />
      ) : (
        <div className={css['panes']}>
          {visible.length === 0 ? (
            <p className={css['notice']}>
              No span is shown: {narrowed.join(' and ')} {narrowed.length === 1 ? 'leaves' : 'leave'} none.{' '}
              <Button onClick={() => setState({ only: undefined, kinds: undefined, in_range: undefined })}>
                Show all spans
              </Button>
            </p>
          ) : (
            <Waterfall
              name={loaded.trace.name}
              scene={scene}
              onShown={onGrid}
              onSelect={select}
              onToggle={(row, isOpen) => toggleRows([row], isOpen)}
              onToggleAll={toggleAll}
              onZoom={setZoom}
            />
          )}
          <Inspector
            traceId={loaded.trace.trace_id}
            rows={rows}
            row={selected}
            scores={loaded.scores ?? []}
            feedback={loaded.feedback ?? []}
            tab={state.tab}
            onTab={(tab) => setState({ tab })}
          />
        </div>
      )}
    </>
  );
};
