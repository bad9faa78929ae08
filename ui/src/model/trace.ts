import type { components } from '../api/types.ts';

export type Span = components['schemas']['Span'];
export type TraceDetail = components['schemas']['TraceDetail'];

const NONE = -1;
const NS_PER_MS = 1e6;

/**
 * Nanoseconds from a base to an instant. Exact for 100 days, which a difference of two `Date`s is not.
 * @param instant RFC 3339 in UTC, with a fraction of up to nine digits
 * @param baseMs a whole number of milliseconds since 1970
 */
export const nsSince = (instant: string, baseMs: number): number => {
  const ms = Date.parse(instant);
  // "2026-11-20T09:00:00.123456789Z": what follows the milliseconds.
  const rest = instant.length > 24 ? instant.slice(23, -1) : '';
  return (ms - baseMs) * NS_PER_MS + (rest === '' ? 0 : Number(rest.padEnd(6, '0')));
};

/**
 * A trace as flat arrays in the order of its rows: a span, then all below it. Whatever hangs below row `i` is the rows up to
 * `i + size[i]`. Nothing here recurses: a chain may be as deep as the trace is long.
 */
export type TraceRows = {
  readonly spans: readonly Span[];
  /** The row of a span, by its id. */
  readonly rowOf: Pick<ReadonlyMap<string, number>, 'get'>;
  readonly parent: Int32Array;
  readonly depth: Int32Array;
  /** Rows of the span and all below it. */
  readonly size: Int32Array;
  readonly position: Int32Array;
  readonly siblings: Int32Array;
  /** Nanoseconds from the start of the trace. */
  readonly start: Float64Array;
  /** Nanoseconds from the start of the trace; of a span that still runs, the time until which it is drawn. */
  readonly end: Float64Array;
  readonly isOpenEnded: Uint8Array;
  readonly isError: Uint8Array;
  /** Names a parent that is not stored. */
  readonly isOrphan: Uint8Array;
  /** Stands for a parent that is not stored: the row has the times of what hangs below it, and no span. */
  readonly isMissing: Uint8Array;
  /** Spans that are stored: the rows without those that are missing. */
  readonly storedCount: number;
  /** Rows that failed, in their order. */
  readonly errors: Int32Array;
  readonly baseMs: number;
  readonly totalNs: number;
  readonly maxDepth: number;
};

const baseOf = (spans: readonly Span[]): number => {
  let base = Number.POSITIVE_INFINITY;
  for (const { start_time } of spans) base = Math.min(base, Date.parse(start_time));
  return Number.isFinite(base) ? base : 0;
};

/** Where each span stands in a list; of several with one id, the first. */
const indexById = (spans: readonly Span[]): ReadonlyMap<string, number> => {
  const indexOf = new Map<string, number>();
  for (let index = spans.length - 1; index >= 0; index -= 1) indexOf.set(spans[index]?.span_id ?? '', index);
  return indexOf;
};

type Given = {
  readonly spans: readonly Span[];
  readonly indexOf: ReadonlyMap<string, number>;
  readonly missing: ReadonlySet<string>;
};

/**
 * Puts a span before the first child of each parent that is not stored. Spans of one lost parent stay together so, and the reader
 * sees that something is missing, and where.
 */
const standIns = (given: readonly Span[]): Given => {
  const stored = indexById(given);
  const isLost = (parent: string | undefined): parent is string => parent !== undefined && !stored.has(parent);
  const missing = new Set<string>();
  // The ids of a large trace are gathered once where they can be: to gather them is a large part of its layout.
  if (!given.some((span) => isLost(span.parent_span_id))) return { spans: given, indexOf: stored, missing };
  const spans: Span[] = [];
  for (const span of given) {
    const parent = span.parent_span_id;
    if (isLost(parent) && !missing.has(parent)) {
      missing.add(parent);
      const { trace_id, start_time, received_at, correlation } = span;
      spans.push({
        trace_id,
        span_id: parent,
        name: `parent ${parent}, not stored`,
        kind: 'generic',
        status: 'unset',
        start_time,
        is_root: false,
        is_event: false,
        received_at,
        correlation,
      });
    }
    spans.push(span);
  }
  return { spans, indexOf: indexById(spans), missing };
};

/** Links parents to children in the given order. A span that is its own ancestor is cut loose, so that each is drawn once. */
const linkChildren = ({ spans, indexOf }: Given) => {
  const count = spans.length;
  const parent = new Int32Array(count).fill(NONE);
  const firstChild = new Int32Array(count).fill(NONE);
  const lastChild = new Int32Array(count).fill(NONE);
  const nextSibling = new Int32Array(count).fill(NONE);
  for (const [index, { parent_span_id }] of spans.entries()) {
    const above = parent_span_id === undefined ? undefined : indexOf.get(parent_span_id);
    if (above === undefined || above === index) continue;
    parent[index] = above;
    const last = lastChild[above] ?? NONE;
    if (last === NONE) firstChild[above] = index;
    else nextSibling[last] = index;
    lastChild[above] = index;
  }
  return { parent, firstChild, nextSibling };
};

/** The order of rows: each root and what is below it, then what hangs in circles. */
const orderRows = ({ parent, firstChild, nextSibling }: ReturnType<typeof linkChildren>): Int32Array => {
  const count = parent.length;
  const order = new Int32Array(count);
  const isPlaced = new Uint8Array(count);
  let placed = 0;
  const place = (root: number): void => {
    let at = root;
    while (at !== NONE) {
      if (isPlaced[at] === 0) {
        isPlaced[at] = 1;
        order[placed] = at;
        placed += 1;
        const child = firstChild[at] ?? NONE;
        if (child !== NONE && isPlaced[child] === 0) {
          at = child;
          continue;
        }
      }
      // Up, until there is a sibling that has no row yet.
      while (at !== NONE && at !== root) {
        const next = nextSibling[at] ?? NONE;
        if (next !== NONE && isPlaced[next] === 0) {
          at = next;
          break;
        }
        at = next === NONE ? (parent[at] ?? NONE) : next;
      }
      if (at === root) return;
    }
  };
  for (let index = 0; index < count; index += 1) if (parent[index] === NONE) place(index);
  for (let index = 0; index < count; index += 1) if (isPlaced[index] === 0) place(index);
  return order;
};

/**
 * Lays a trace out.
 * @param stored spans in the order of the service
 * @param nowMs the service's time, to which a span without an end is drawn
 */
export const layOut = (stored: readonly Span[], nowMs: number): TraceRows => {
  const given = standIns(stored);
  const { missing } = given;
  const count = given.spans.length;
  const links = linkChildren(given);
  const order = orderRows(links);
  const spans = Array.from(order, (index) => given.spans[index] as Span);
  const rowOfIndex = new Int32Array(count);
  for (const [row, index] of order.entries()) rowOfIndex[index] = row;
  const parent = new Int32Array(count).fill(NONE);
  const depth = new Int32Array(count);
  const size = new Int32Array(count).fill(1);
  const position = new Int32Array(count);
  const siblings = new Int32Array(count);
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const isOpenEnded = new Uint8Array(count);
  const isError = new Uint8Array(count);
  const isOrphan = new Uint8Array(count);
  const isMissing = new Uint8Array(count);
  const childrenSoFar = new Int32Array(count);
  const baseMs = baseOf(spans);
  let roots = 0;
  let totalNs = 0;
  let maxDepth = 0;
  for (const [row, span] of spans.entries()) {
    const above = links.parent[order[row] ?? 0] ?? NONE;
    const parentRow = above === NONE ? NONE : (rowOfIndex[above] ?? NONE);
    // A parent that comes later closes a circle.
    if (parentRow !== NONE && parentRow < row) {
      parent[row] = parentRow;
      depth[row] = (depth[parentRow] ?? 0) + 1;
      childrenSoFar[parentRow] = (childrenSoFar[parentRow] ?? 0) + 1;
      position[row] = childrenSoFar[parentRow] ?? 1;
    } else {
      roots += 1;
      position[row] = roots;
    }
    isMissing[row] = missing.has(span.span_id) ? 1 : 0;
    isOrphan[row] = span.parent_span_id !== undefined && missing.has(span.parent_span_id) ? 1 : 0;
    start[row] = nsSince(span.start_time, baseMs);
    if (isMissing[row] === 1) end[row] = start[row] ?? 0;
    else if (span.end_time === undefined && !span.is_event) {
      isOpenEnded[row] = 1;
      end[row] = Math.max((nowMs - baseMs) * NS_PER_MS, start[row] ?? 0);
    } else end[row] = Math.max(span.end_time === undefined ? 0 : nsSince(span.end_time, baseMs), start[row] ?? 0);
    isError[row] = span.status === 'error' ? 1 : 0;
    totalNs = Math.max(totalNs, end[row] ?? 0);
    maxDepth = Math.max(maxDepth, depth[row] ?? 0);
  }
  for (let row = count - 1; row >= 0; row -= 1) {
    const above = parent[row] ?? NONE;
    siblings[row] = above === NONE ? roots : (childrenSoFar[above] ?? 1);
    if (above === NONE) continue;
    size[above] = (size[above] ?? 1) + (size[row] ?? 1);
    if (isMissing[above] === 0) continue;
    start[above] = Math.min(start[above] ?? 0, start[row] ?? 0);
    end[above] = Math.max(end[above] ?? 0, end[row] ?? 0);
  }
  return {
    spans,
    rowOf: {
      get: (id) => {
        const index = given.indexOf.get(id);
        return index === undefined ? undefined : rowOfIndex[index];
      },
    },
    parent,
    depth,
    size,
    position,
    siblings,
    start,
    end,
    isOpenEnded,
    isError,
    isOrphan,
    isMissing,
    storedCount: stored.length,
    errors: Int32Array.from(spans.keys()).filter((row) => isError[row] === 1),
    baseMs,
    totalNs: totalNs === 0 ? 1 : totalNs,
    maxDepth,
  };
};

/** Where a trace is opened: at its deepest failure, the earliest of those; else at its root. */
export const firstToShow = ({ errors, depth, spans }: TraceRows): number => {
  let best = NONE;
  for (const row of errors) if (best === NONE || (depth[row] ?? 0) > (depth[best] ?? 0)) best = row;
  if (best !== NONE) return best;
  const root = spans.findIndex((span) => span.is_root);
  return root === NONE ? 0 : root;
};

/**
 * How a trace is shown where the address does not say: an agent's as what was said and done, one with a failure as a waterfall, which opens at
 * it. A span that the address names is looked for among all spans.
 */
export const viewOf = ({ errors, spans }: TraceRows, named: string | undefined): 'transcript' | 'waterfall' => {
  const isOfAgent = spans.find((span) => span.is_root)?.kind === 'agent_run';
  return isOfAgent && errors.length === 0 && named === undefined ? 'transcript' : 'waterfall';
};

/** Which rows are open: down to a level, but for those that were opened or closed by hand. */
export type Openness = {
  /** Rows above this depth are open; all of them without it. */
  readonly level: number | undefined;
  readonly opened: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
};

export const isRowOpen = ({ spans, depth }: TraceRows, { level, opened, closed }: Openness, row: number): boolean => {
  const id = spans[row]?.span_id ?? '';
  if (closed.has(id)) return false;
  return opened.has(id) || level === undefined || (depth[row] ?? 0) < level - 1;
};

/** What of a trace is drawn. */
export type RowFilter = {
  /** Only this row and what is below it. */
  readonly root: number | undefined;
  /** Rows to draw, with all above them; all rows without it. */
  readonly wanted: ((row: number) => boolean) | undefined;
  /** Rows that are left out with all below them. */
  readonly hidden?: Uint8Array | undefined;
};

/** @returns the rows to draw, in their order */
export const visibleRows = (rows: TraceRows, openness: Openness, { root, wanted, hidden }: RowFilter): Int32Array => {
  const from = root ?? 0;
  const to = root === undefined ? rows.spans.length : root + (rows.size[root] ?? 1);
  const kept = new Uint8Array(rows.spans.length);
  if (wanted !== undefined)
    for (let row = to - 1; row >= from; row -= 1) {
      if (kept[row] === 0 && !wanted(row)) continue;
      kept[row] = 1;
      const above = rows.parent[row] ?? NONE;
      if (above >= from) kept[above] = 1;
    }
  const found = new Int32Array(to - from);
  let count = 0;
  let row = from;
  while (row < to) {
    if (hidden?.[row] === 1) {
      row += rows.size[row] ?? 1;
      continue;
    }
    if (wanted !== undefined && kept[row] === 0) {
      row += 1;
      continue;
    }
    found[count] = row;
    count += 1;
    // What is wanted is shown, whatever was closed above it.
    row += wanted !== undefined || isRowOpen(rows, openness, row) ? 1 : (rows.size[row] ?? 1);
  }
  return found.slice(0, count);
};

/** @returns the place of a row among the drawn ones; of one that is not drawn, of the last one above it */
export const placeOf = (visible: Int32Array, row: number): number => {
  let low = 0;
  let high = visible.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((visible[middle] ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** Rows whose name, model, error or id has a text. */
export const matchRows = ({ spans }: TraceRows, find: string): Uint8Array => {
  const wanted = find.trim().toLowerCase();
  const found = new Uint8Array(spans.length);
  if (wanted === '') return found;
  for (const [row, { name, model, error, span_id, entity_name }] of spans.entries())
    found[row] = [name, model, error?.message, span_id, entity_name].some((text) =>
      text?.toLowerCase().includes(wanted),
    )
      ? 1
      : 0;
  return found;
};

/** Children of a row, in their order. */
export const childrenOf = ({ size }: TraceRows, row: number): number[] => {
  const end = row + (size[row] ?? 1);
  const children: number[] = [];
  for (let child = row + 1; child < end; child += size[child] ?? 1) children.push(child);
  return children;
};

/**
 * The times of a span in which none of its children ran.
 * @returns pairs of start and end, in nanoseconds from the start of the trace
 */
export const selfTimes = (rows: TraceRows, row: number): readonly (readonly [number, number])[] => {
  const from = rows.start[row] ?? 0;
  const to = rows.end[row] ?? 0;
  const busy = childrenOf(rows, row)
    .map((child) => [rows.start[child] ?? 0, rows.end[child] ?? 0] as const)
    .toSorted(([a], [b]) => a - b);
  const own: [number, number][] = [];
  let at = from;
  for (const [childFrom, childTo] of busy) {
    if (childFrom > at) own.push([at, Math.min(childFrom, to)]);
    at = Math.max(at, childTo);
    if (at >= to) break;
  }
  if (at < to) own.push([at, to]);
  return own;
};

/**
 * The chain of work that decided when the trace ended: from the end of the longest root backwards, always the child that
 * ended last before the time reached, and its own critical path before that. Of a child that outlives its parent only the time
 * inside the parent counts.
 * @returns one where the row is part of it
 */
export const criticalPath = (rows: TraceRows): Uint8Array => {
  const onPath = new Uint8Array(rows.spans.length);
  let root = NONE;
  for (let row = 0; row < rows.spans.length; row += rows.size[row] ?? 1)
    if (root === NONE || (rows.end[row] ?? 0) > (rows.end[root] ?? 0)) root = row;
  if (root === NONE) return onPath;
  const work: (readonly [row: number, until: number])[] = [[root, rows.end[root] ?? 0]];
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const [row, until] = next;
    onPath[row] = 1;
    let before = until;
    const endOf = (child: number): number => Math.min(rows.end[child] ?? 0, until);
    const byEnd = childrenOf(rows, row)
      .filter((child) => (rows.start[child] ?? 0) <= until)
      .toSorted((a, b) => endOf(b) - endOf(a));
    for (const child of byEnd) {
      if (endOf(child) > before) continue;
      work.push([child, endOf(child)]);
      before = rows.start[child] ?? 0;
    }
  }
  return onPath;
};

export const durationOf = (rows: TraceRows, row: number): number | undefined =>
  rows.isOpenEnded[row] === 1 || rows.isMissing[row] === 1 || rows.spans[row]?.is_event === true
    ? undefined
    : (rows.end[row] ?? 0) - (rows.start[row] ?? 0);

/** @returns the span of the same name and kind that stands before a row, whatever its parent; nothing where there is none */
export const sameNameBefore = ({ spans, isMissing }: TraceRows, row: number): string | undefined => {
  const span = spans[row];
  if (span === undefined) return undefined;
  for (let at = row - 1; at >= 0; at -= 1) {
    const other = spans[at];
    if (other?.name === span.name && other.kind === span.kind && isMissing[at] !== 1) return other.span_id;
  }
  return undefined;
};
