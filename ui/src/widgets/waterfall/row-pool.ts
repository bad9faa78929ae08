import { colorOfKind, inWords, lookOf } from '../../model/status.ts';
import { isCall } from '../../model/subtree-sums.ts';
import { totalTokens } from '../../model/tokens.ts';
import { durationOf, isRowOpen, type Openness, selfTimes, type TraceRows } from '../../model/trace.ts';
import type { Zoom } from '../../model/ticks.ts';
import { formatCompact, formatDuration, formatMoney, UNKNOWN } from '../../model/units.ts';
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
  /** With numbers: cost and tokens of each row with all below it; not a number where they are not known. */
  readonly sums:
    | { readonly costs: Float64Array; readonly currency: string | undefined; readonly tokens: Float64Array }
    | undefined;
};

export const ROW_PX = 24;
/** Beyond this depth names move no further in. */
const MAX_INDENT = 18;
const INDENT_PX = 12;
/** All steps to the deepest row together take no more of the width than this, or a deep trace would have no room for its names. */
const MAX_INDENT_PERCENT = 15;
/** Drawn above and below what is in view, so that a fast scroll shows no empty rows. */
const SPARE_ROWS = 24;
const MIN_BAR_PX = 2;
/** So many pieces of self time are told apart in one bar. */
const MAX_PIECES = 40;

/** Sets something of an element, when it is another value than the last time: most of what a row says is what it said before. */
type Setter<T> = (value: T) => void;

type RowElements = {
  readonly row: HTMLDivElement;
  readonly toggle: HTMLSpanElement;
  readonly bar: HTMLDivElement;
  readonly setId: Setter<string | undefined>;
  readonly setTop: Setter<string>;
  readonly setRowIndex: Setter<string>;
  readonly setLevel: Setter<string>;
  readonly setSetSize: Setter<string>;
  readonly setPosition: Setter<string>;
  readonly setExpanded: Setter<string | undefined>;
  readonly setSelected: Setter<string>;
  readonly setMatch: Setter<string | undefined>;
  readonly setError: Setter<string | undefined>;
  readonly setIndent: Setter<string>;
  readonly setSign: Setter<string>;
  readonly setSignColor: Setter<string>;
  readonly setName: Setter<string>;
  readonly setTitle: Setter<string>;
  readonly setDuration: Setter<string>;
  readonly setCost: Setter<string>;
  readonly setCostName: Setter<string | undefined>;
  readonly setTokens: Setter<string>;
  readonly setTokensName: Setter<string | undefined>;
  readonly setDescription: Setter<string>;
  readonly setBarLeft: Setter<string>;
  readonly setBarWidth: Setter<string>;
  readonly setBarColor: Setter<string>;
  readonly setBarPieces: Setter<string>;
  readonly setBarLook: Setter<string>;
  readonly setBarError: Setter<string | undefined>;
  readonly setBarCritical: Setter<string | undefined>;
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

const whenOther = <T>(set: Setter<T>): Setter<T | undefined> => {
  let last: T | undefined;
  return (value) => {
    if (value === last) return;
    last = value;
    set(value as T);
  };
};
const textOf = (element: HTMLElement): Setter<string> => {
  const text = element.appendChild(document.createTextNode(''));
  return whenOther((value) => {
    text.data = value;
  });
};
const attributeOf = (element: HTMLElement, name: string): Setter<string | undefined> =>
  whenOther<string | undefined>((value) => {
    if (value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value);
  });
const styleOf = (element: HTMLElement, name: string): Setter<string> =>
  whenOther((value) => element.style.setProperty(name, value));

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
  return {
    row,
    toggle,
    bar,
    setId: attributeOf(row, 'id'),
    setTop: styleOf(row, 'transform'),
    setRowIndex: attributeOf(row, 'aria-rowindex'),
    setLevel: attributeOf(row, 'aria-level'),
    setSetSize: attributeOf(row, 'aria-setsize'),
    setPosition: attributeOf(row, 'aria-posinset'),
    setExpanded: attributeOf(row, 'aria-expanded'),
    setSelected: attributeOf(row, 'aria-selected'),
    setMatch: attributeOf(row, 'data-match'),
    setError: attributeOf(row, 'data-error'),
    setIndent: styleOf(name, 'padding-left'),
    setSign: textOf(toggle),
    setSignColor: styleOf(toggle, 'border-left-color'),
    setName: textOf(label),
    setTitle: attributeOf(label, 'title'),
    setDuration: textOf(duration),
    setCost: textOf(cost),
    setCostName: attributeOf(cost, 'aria-label'),
    setTokens: textOf(tokens),
    setTokensName: attributeOf(tokens, 'aria-label'),
    setDescription: attributeOf(lane, 'aria-label'),
    setBarLeft: styleOf(bar, 'left'),
    setBarWidth: styleOf(bar, 'width'),
    setBarColor: styleOf(bar, 'color'),
    setBarPieces: styleOf(bar, 'background-image'),
    setBarLook: attributeOf(bar, 'data-look'),
    setBarError: attributeOf(bar, 'data-error'),
    setBarCritical: attributeOf(bar, 'data-critical'),
    place: -1,
  };
};

const indentOf = (depth: number, maxDepth: number): string => {
  const share = MAX_INDENT_PERCENT / Math.max(1, Math.min(maxDepth, MAX_INDENT));
  return `calc(4px + ${Math.min(depth, MAX_INDENT)} * min(${INDENT_PX}px, ${share.toFixed(3)}%))`;
};

/** An attribute without a value. */
const flagged = (isSet: boolean): string | undefined => (isSet ? '' : undefined);

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

/** The cost of a row, or with numbers that of all below it too. What is not a call has none, and what is has an unknown one. */
const costText = ({ rows, sums }: Scene, row: number): string => {
  const span = rows.spans[row];
  if (sums === undefined)
    return span?.cost === undefined ? (span !== undefined && isCall(span) ? UNKNOWN : '') : formatMoney(span.cost);
  const sum = sums.costs[row] ?? Number.NaN;
  return Number.isNaN(sum) ? UNKNOWN : formatMoney({ total_cost: sum, currency: sums.currency });
};

/** The tokens of a row, or with numbers those of all below it too. */
const tokensText = ({ rows, sums }: Scene, row: number): string => {
  if (sums === undefined) {
    const own = totalTokens(rows.spans[row]?.usage);
    return own === undefined ? '' : formatCompact(own);
  }
  const sum = sums.tokens[row] ?? Number.NaN;
  return Number.isNaN(sum) ? UNKNOWN : formatCompact(sum);
};

/**
 * Rows that are drawn again for other spans as the reader scrolls: the page never holds more of them than fit on the screen,
 * and a scroll by one row changes one of them.
 */
export const createRowPool = (body: HTMLElement, idPrefix: string) => {
  const pool: RowElements[] = [];
  let scene: Scene | undefined;
  let drawn: Scene | undefined;

  const drawBar = (elements: RowElements, { rows, zoom, critical }: Scene, row: number): void => {
    const width = zoom.to - zoom.from;
    const start = rows.start[row] ?? 0;
    const end = rows.end[row] ?? 0;
    const span = rows.spans[row];
    const isOut = end < zoom.from || start > zoom.to;
    elements.bar.hidden = isOut;
    if (isOut || span === undefined) return;
    const from = Math.max(start, zoom.from);
    const to = Math.min(end, zoom.to);
    elements.setBarLeft(`${((from - zoom.from) / width) * 100}%`);
    elements.setBarWidth(`max(${MIN_BAR_PX}px, ${((to - from) / width) * 100}%)`);
    elements.setBarColor(`var(--${colorOfKind(span.kind)})`);
    const isRunning = rows.isOpenEnded[row] === 1;
    const isMissing = rows.isMissing[row] === 1;
    const isParent = (rows.size[row] ?? 1) > 1;
    elements.setBarLook(
      isMissing ? 'missing' : span.is_event ? 'event' : isRunning ? 'running' : isParent ? 'parent' : 'done',
    );
    elements.setBarError(flagged(rows.isError[row] === 1));
    elements.setBarCritical(flagged(critical?.[row] === 1));
    if (span.is_event || isRunning || isMissing || !isParent) {
      elements.setBarPieces('');
      return;
    }
    const pieces = selfTimes(rows, row).filter(([a, b]) => b > from && a < to);
    const at = (ns: number): string =>
      `${(((Math.min(Math.max(ns, from), to) - from) / (to - from || 1)) * 100).toFixed(2)}%`;
    const stops = pieces
      .slice(0, MAX_PIECES)
      .flatMap(([a, b]) => [
        `transparent ${at(a)}`,
        `currentColor ${at(a)}`,
        `currentColor ${at(b)}`,
        `transparent ${at(b)}`,
      ]);
    elements.setBarPieces(stops.length === 0 ? '' : `linear-gradient(to right, ${stops.join(', ')})`);
  };

  const draw = (elements: RowElements, shown: Scene, place: number): void => {
    const { rows, visible, openness, selected, matches, repeats } = shown;
    const row = visible[place];
    const span = row === undefined ? undefined : rows.spans[row];
    elements.place = span === undefined ? -1 : place;
    elements.row.hidden = span === undefined;
    if (row === undefined || span === undefined) {
      elements.setId(undefined);
      return;
    }
    const depth = rows.depth[row] ?? 0;
    const hasChildren = (rows.size[row] ?? 1) > 1;
    const isOpen = hasChildren && (visible[place + 1] === row + 1 || isRowOpen(rows, openness, row));
    const isError = rows.isError[row] === 1;
    const isOrphan = rows.isOrphan[row] === 1;
    elements.setId(`${idPrefix}${row}`);
    elements.setTop(`translateY(${place * ROW_PX}px)`);
    elements.setRowIndex(String(place + 1));
    elements.setLevel(String(depth + 1));
    elements.setSetSize(String(rows.siblings[row] ?? 1));
    elements.setPosition(String(rows.position[row] ?? 1));
    elements.setExpanded(hasChildren ? String(isOpen) : undefined);
    elements.setSelected(String(row === selected));
    elements.setMatch(flagged(matches[row] === 1));
    elements.setError(flagged(isError));
    elements.setIndent(indentOf(depth, rows.maxDepth));
    elements.setSign(hasChildren ? (isOpen ? '▾' : '▸') : '');
    elements.setSignColor(`var(--${colorOfKind(span.kind)})`);
    const times = repeats?.[row] ?? 0;
    elements.setName(
      (depth > MAX_INDENT ? `${depth}· ` : '') +
        (isError ? '✕ ' : '') +
        (isOrphan ? '⇡ ' : '') +
        (times > 0 ? `×${times} ` : '') +
        span.name,
    );
    elements.setTitle(isOrphan ? `${span.name} (its parent is not stored)` : span.name);
    elements.setDuration(span.is_event ? '' : formatDuration(durationOf(rows, row)));
    const cost = costText(shown, row);
    elements.setCost(cost);
    const tokens = tokensText(shown, row);
    elements.setTokens(tokens);
    const isSum = shown.sums !== undefined && hasChildren;
    elements.setCostName(isSum && cost !== UNKNOWN ? `${cost} with all below` : undefined);
    elements.setTokensName(isSum && tokens !== UNKNOWN ? `${tokens} tokens with all below` : undefined);
    elements.setDescription(describeRow(rows, row, times));
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
