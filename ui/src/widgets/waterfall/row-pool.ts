import { colorOfKind, inWords, lookOf } from '../../model/status.ts';
import { durationOf, isRowOpen, type Openness, selfTimes, type TraceRows } from '../../model/trace.ts';
import type { Zoom } from '../../model/ticks.ts';
import { formatCompact, formatDuration, formatMoney } from '../../model/units.ts';
import css from './waterfall.module.css';

/** What is drawn, and how. */
export type Scene = {
  readonly rows: TraceRows;
  /** Rows in the order in which they are drawn. */
  readonly visible: Int32Array;
  readonly openness: Openness;
  readonly zoom: Zoom;
  readonly selected: number | undefined;
  readonly matches: Uint8Array;
  /** Rows on the critical path, where it is drawn. */
  readonly critical: Uint8Array | undefined;
  /** At the first of siblings that are folded into it, how many there are. */
  readonly repeats: Int32Array | undefined;
  /** With bars, or with more numbers in their place. */
  readonly look: 'bars' | 'numbers';
};

export const ROW_PX = 24;
/** Beyond this depth names move no further in. */
const MAX_INDENT = 18;
const INDENT_PX = 12;
/** Drawn above and below what is in view, so that a fast scroll shows no empty rows. */
const SPARE_ROWS = 24;
const MIN_BAR_PX = 2;
/** So many pieces of self time are told apart in one bar. */
const MAX_PIECES = 40;

type RowElements = {
  readonly row: HTMLDivElement;
  readonly name: HTMLDivElement;
  readonly toggle: HTMLSpanElement;
  readonly label: HTMLSpanElement;
  readonly duration: HTMLDivElement;
  readonly cost: HTMLDivElement;
  readonly tokens: HTMLDivElement;
  readonly lane: HTMLDivElement;
  readonly bar: HTMLDivElement;
  /** The place among the visible rows that it shows; -1 for none. */
  place: number;
};

const make = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  role?: string,
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag);
  element.className = css[className] ?? '';
  if (role !== undefined) element.setAttribute('role', role);
  return element;
};

const createRow = (): RowElements => {
  const row = make('div', 'row', 'row');
  const name = make('div', 'name', 'gridcell');
  const toggle = make('span', 'toggle');
  toggle.setAttribute('aria-hidden', 'true');
  const label = make('span', 'label');
  name.append(toggle, label);
  const duration = make('div', 'duration', 'gridcell');
  const cost = make('div', 'cost', 'gridcell');
  const tokens = make('div', 'tokens', 'gridcell');
  const lane = make('div', 'lane', 'gridcell');
  const bar = make('div', 'bar');
  lane.append(bar);
  row.append(name, duration, cost, tokens, lane);
  return { row, name, toggle, label, duration, cost, tokens, lane, bar, place: -1 };
};

const setText = (element: HTMLElement, text: string): void => {
  if (element.textContent !== text) element.textContent = text;
};

/** What a bar says to those who do not see it: "fetch, tool call, error, 1.2 s, starts at 3.4 s". */
const describeRow = (rows: TraceRows, row: number, repeats = 0): string => {
  const span = rows.spans[row];
  if (span === undefined) return '';
  if (rows.isMissing[row] === 1) return span.name;
  return [
    span.name,
    inWords(span.kind),
    lookOf(span.status).word,
    ...(span.is_event ? ['event'] : [formatDuration(durationOf(rows, row))]),
    `starts at ${formatDuration(rows.start[row])}`,
    ...(rows.isOrphan[row] === 1 ? ['its parent is not stored'] : []),
    ...(repeats > 0 ? [`the first of ${repeats} of this name`] : []),
  ].join(', ');
};

/** The tokens that a model call reported; nothing where it reported none. */
const tokensOf = (span: TraceRows['spans'][number]): number | undefined => {
  const { usage } = span;
  if (usage === undefined) return undefined;
  if (usage.total_tokens !== undefined) return usage.total_tokens;
  return usage.input_tokens === undefined && usage.output_tokens === undefined
    ? undefined
    : (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
};

/**
 * Rows that are drawn again for other spans as the reader scrolls: the page never holds more of them than fit on the screen,
 * and a scroll by one row changes one of them.
 */
export const createRowPool = (body: HTMLElement, idPrefix: string) => {
  const pool: RowElements[] = [];
  let scene: Scene | undefined;
  let drawn: Scene | undefined;

  const drawBar = ({ bar }: RowElements, { rows, zoom, critical }: Scene, row: number): void => {
    const width = zoom.to - zoom.from;
    const start = rows.start[row] ?? 0;
    const end = rows.end[row] ?? 0;
    const span = rows.spans[row];
    const isOut = end < zoom.from || start > zoom.to;
    bar.hidden = isOut;
    if (isOut || span === undefined) return;
    const from = Math.max(start, zoom.from);
    const to = Math.min(end, zoom.to);
    const { style } = bar;
    style.left = `${((from - zoom.from) / width) * 100}%`;
    style.width = `max(${MIN_BAR_PX}px, ${((to - from) / width) * 100}%)`;
    style.setProperty('--kind', `var(--${colorOfKind(span.kind)})`);
    const isRunning = rows.isOpenEnded[row] === 1;
    const isMissing = rows.isMissing[row] === 1;
    bar.dataset['look'] = isMissing ? 'missing' : span.is_event ? 'event' : isRunning ? 'running' : 'done';
    bar.toggleAttribute('data-error', rows.isError[row] === 1);
    bar.toggleAttribute('data-critical', critical?.[row] === 1);
    const isLeaf = (rows.size[row] ?? 1) === 1;
    if (span.is_event || isRunning || isMissing || isLeaf) style.removeProperty('--pieces');
    else {
      const pieces = selfTimes(rows, row).filter(([a, b]) => b > from && a < to);
      const at = (ns: number): string =>
        `${(((Math.min(Math.max(ns, from), to) - from) / (to - from || 1)) * 100).toFixed(2)}%`;
      const stops = pieces
        .slice(0, MAX_PIECES)
        .flatMap(([a, b]) => [
          `transparent ${at(a)}`,
          `var(--kind) ${at(a)}`,
          `var(--kind) ${at(b)}`,
          `transparent ${at(b)}`,
        ]);
      style.setProperty('--pieces', stops.length === 0 ? 'none' : `linear-gradient(to right, ${stops.join(', ')})`);
    }
  };

  const draw = (elements: RowElements, shown: Scene, place: number): void => {
    const { rows, visible, openness, selected, matches, repeats } = shown;
    const row = visible[place];
    const span = row === undefined ? undefined : rows.spans[row];
    elements.place = span === undefined ? -1 : place;
    elements.row.hidden = span === undefined;
    if (row === undefined || span === undefined) {
      elements.row.removeAttribute('id');
      return;
    }
    const depth = rows.depth[row] ?? 0;
    const hasChildren = (rows.size[row] ?? 1) > 1;
    const isOpen = hasChildren && (visible[place + 1] === row + 1 || isRowOpen(rows, openness, row));
    const element = elements.row;
    element.id = `${idPrefix}${row}`;
    element.style.transform = `translateY(${place * ROW_PX}px)`;
    element.setAttribute('aria-rowindex', String(place + 1));
    element.setAttribute('aria-level', String(depth + 1));
    element.setAttribute('aria-setsize', String(rows.siblings[row] ?? 1));
    element.setAttribute('aria-posinset', String(rows.position[row] ?? 1));
    if (hasChildren) element.setAttribute('aria-expanded', String(isOpen));
    else element.removeAttribute('aria-expanded');
    element.setAttribute('aria-selected', String(row === selected));
    element.toggleAttribute('data-match', matches[row] === 1);
    element.toggleAttribute('data-error', rows.isError[row] === 1);
    elements.name.style.paddingLeft = `${4 + Math.min(depth, MAX_INDENT) * INDENT_PX}px`;
    setText(elements.toggle, hasChildren ? (isOpen ? '▾' : '▸') : '');
    elements.toggle.style.setProperty('--kind', `var(--${colorOfKind(span.kind)})`);
    const notes = [
      ...(depth > MAX_INDENT ? [`${depth}·`] : []),
      ...(rows.isError[row] === 1 ? ['✕'] : []),
      ...(rows.isOrphan[row] === 1 ? ['⇡'] : []),
    ];
    const times = repeats?.[row] ?? 0;
    setText(elements.label, [...notes, ...(times > 0 ? [`×${times}`] : []), span.name].join(' '));
    elements.label.title = rows.isOrphan[row] === 1 ? `${span.name} (its parent is not stored)` : span.name;
    setText(elements.duration, span.is_event ? '' : formatDuration(durationOf(rows, row)));
    setText(elements.cost, span.cost === undefined ? '' : formatMoney(span.cost));
    const tokens = tokensOf(span);
    setText(elements.tokens, tokens === undefined ? '' : formatCompact(tokens));
    elements.lane.setAttribute('aria-label', describeRow(rows, row, times));
    drawBar(elements, shown, row);
  };

  /** Draws what is in view. @param top pixels above the view @param height pixels of the view */
  const update = (top: number, height: number): void => {
    if (scene === undefined) return;
    const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE_ROWS);
    const needed = Math.min(scene.visible.length, Math.ceil(height / ROW_PX) + 2 * SPARE_ROWS + 1);
    while (pool.length < needed) {
      const elements = createRow();
      pool.push(elements);
      body.append(elements.row);
    }
    while (pool.length > needed) pool.pop()?.row.remove();
    const isNew = drawn !== scene;
    drawn = scene;
    for (let offset = 0; offset < needed; offset += 1) {
      const place = first + offset;
      const elements = pool[place % needed];
      if (elements !== undefined && (isNew || elements.place !== place)) draw(elements, scene, place);
    }
  };

  return {
    show: (next: Scene): void => {
      scene = next;
    },
    update,
    /** The row under an element of the pool, and whether its sign to open and close was hit. */
    hit: (target: EventTarget | null): { readonly row: number; readonly isToggle: boolean } | undefined => {
      const elements = pool.find(({ row }) => target instanceof Node && row.contains(target));
      const row = elements === undefined ? undefined : scene?.visible[elements.place];
      return elements === undefined || row === undefined
        ? undefined
        : { row, isToggle: target instanceof Node && elements.toggle.contains(target) };
    },
    clear: (): void => {
      for (const { row } of pool.splice(0)) row.remove();
    },
  };
};
