import type { SpanKind } from './status.ts';
import type { Zoom } from './ticks.ts';
import type { TraceRows } from './trace.ts';

/** What a reader narrows a trace to. Each part that is set must hold. */
export type Narrowing = {
  /** A flag a row, of matches, failures or the critical path. */
  readonly flags: Uint8Array | undefined;
  /** Kinds to show; all of them where it is empty. */
  readonly kinds: readonly string[];
  /** Only what runs at some time of it. */
  readonly range: Zoom | undefined;
};

/** @returns whether a row is wanted; nothing where all are */
export const wantedRows = (
  rows: TraceRows,
  { flags, kinds, range }: Narrowing,
): ((row: number) => boolean) | undefined => {
  if (flags === undefined && kinds.length === 0 && range === undefined) return undefined;
  const wanted = new Set(kinds);
  return (row) =>
    (flags === undefined || flags[row] === 1) &&
    (wanted.size === 0 || (rows.isMissing[row] === 0 && wanted.has(rows.spans[row]?.kind ?? ''))) &&
    (range === undefined || ((rows.end[row] ?? 0) >= range.from && (rows.start[row] ?? 0) <= range.to));
};

/** The kinds of a trace with how many spans each has, the commonest first. */
export const kindCounts = ({ spans, isMissing }: TraceRows): readonly (readonly [SpanKind, number])[] => {
  const counts = new Map<SpanKind, number>();
  for (const [row, { kind }] of spans.entries())
    if (isMissing[row] === 0) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
};

/** So many siblings of one name and kind are a repeat. */
export const LEAST_REPEATS = 5;

export type Repeats = {
  /** At the first of the siblings, how many there are; 0 at all others. */
  readonly times: Int32Array;
  /** Siblings that the first one stands for, with all below them. */
  readonly hidden: Uint8Array;
  readonly groups: number;
};

/**
 * Folds siblings of one name and kind into the first of them. One that failed, or has a failure below it, stays: no error is
 * lost in a group.
 */
export const findRepeats = (rows: TraceRows): Repeats => {
  const { spans, parent, size, siblings: siblingCount, isError } = rows;
  const failed = Uint8Array.from(isError);
  for (let row = spans.length - 1; row >= 0; row -= 1) {
    const above = parent[row] ?? -1;
    if (failed[row] === 1 && above >= 0) failed[above] = 1;
  }
  const siblings = new Map<string, number[]>();
  for (const [row, { name, kind }] of spans.entries()) {
    if ((siblingCount[row] ?? 0) < LEAST_REPEATS) continue;
    const key = `${parent[row]} ${kind} ${name}`;
    const list = siblings.get(key);
    if (list === undefined) siblings.set(key, [row]);
    else list.push(row);
  }
  const times = new Int32Array(spans.length);
  const hidden = new Uint8Array(spans.length);
  let groups = 0;
  for (const list of siblings.values()) {
    const [first] = list;
    if (list.length < LEAST_REPEATS || first === undefined) continue;
    groups += 1;
    times[first] = list.length;
    for (const row of list.slice(1)) if (failed[row] === 0) hidden.fill(1, row, row + (size[row] ?? 1));
  }
  return { times, hidden, groups };
};

/** The hidden rows without those on the way to one row: a reader always sees where they are. */
export const revealRow = (rows: TraceRows, hidden: Uint8Array, row: number): Uint8Array => {
  if (hidden[row] !== 1) return hidden;
  const shown = Uint8Array.from(hidden);
  // The outermost hidden row takes all below it with it, so that subtree is shown as a whole.
  let top = row;
  for (let at = row; at >= 0; at = rows.parent[at] ?? -1) if (hidden[at] === 1) top = at;
  shown.fill(0, top, top + (rows.size[top] ?? 1));
  return shown;
};
