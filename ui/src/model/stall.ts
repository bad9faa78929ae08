import { canonicalJson } from './compare.ts';
import type { SpanKind } from './status.ts';
import { nsSince, type Span, type TraceRows } from './trace.ts';

/** So many calls of one tool with one input are a loop. */
export const LEAST_CALLS = 3;
/** A usual time is known from so many finished spans of the same name. */
export const LEAST_SAMPLES = 10;
/** Names that are looked into; more would be many reads. */
const MAX_NAMES = 4;
/** Above this quantile of finished spans, one that is still open is late. */
const USUAL_QUANTILE = 0.95;

const TOOL_KINDS = new Set<SpanKind>([
  'tool_call',
  'mcp_tool_call',
  'client_tool_call',
  'provider_tool_call',
  'retrieval',
]);

/** A name of spans of one kind: what a list of spans is asked for. */
export type NamedKind = { readonly name: string; readonly kind: SpanKind };

const groupByName = (
  rows: TraceRows,
  isWanted: (row: number) => boolean,
): readonly (NamedKind & { readonly rows: readonly number[] })[] => {
  const groups = new Map<string, NamedKind & { readonly rows: number[] }>();
  for (const [row, { name, kind }] of rows.spans.entries()) {
    if (rows.isMissing[row] === 1 || !isWanted(row)) continue;
    const key = `${kind} ${name}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { name, kind, rows: [row] });
    else group.rows.push(row);
  }
  return [...groups.values()].toSorted((a, b) => b.rows.length - a.rows.length);
};

/** Tools that were called often enough to have been called alike: their inputs are worth reading. Those called most come first. */
export const repeatedTools = (rows: TraceRows): readonly NamedKind[] =>
  groupByName(rows, (row) => TOOL_KINDS.has(rows.spans[row]?.kind ?? 'generic'))
    .filter((group) => group.rows.length >= LEAST_CALLS)
    .slice(0, MAX_NAMES)
    .map(({ name, kind }) => ({ name, kind }));

export type Loop = NamedKind & {
  /** Calls with the same input, in their order. */
  readonly rows: readonly number[];
  readonly input: unknown;
};

/**
 * Calls of one tool with the same input. An input that was not sent is not the same as another that was not sent.
 * @param inputs what calls were given, by the id of their span; calls that are not in it are not judged
 */
export const findLoops = (rows: TraceRows, inputs: ReadonlyMap<string, unknown>): readonly Loop[] => {
  const alike = new Map<string, { name: string; kind: SpanKind; rows: number[]; input: unknown }>();
  for (const [row, { span_id, name, kind }] of rows.spans.entries()) {
    const input = inputs.get(span_id);
    if (input === undefined) continue;
    const key = `${kind} ${name} ${canonicalJson(input)}`;
    const group = alike.get(key);
    if (group === undefined) alike.set(key, { name, kind, rows: [row], input });
    else group.rows.push(row);
  }
  return [...alike.values()]
    .filter((group) => group.rows.length >= LEAST_CALLS)
    .toSorted((a, b) => b.rows.length - a.rows.length);
};

/** Names of spans that are still open, those that began first at the front. */
export const openNames = (rows: TraceRows): readonly NamedKind[] =>
  groupByName(rows, (row) => rows.isOpenEnded[row] === 1)
    .toSorted((a, b) => (rows.start[a.rows[0] ?? 0] ?? 0) - (rows.start[b.rows[0] ?? 0] ?? 0))
    .slice(0, MAX_NAMES)
    .map(({ name, kind }) => ({ name, kind }));

/** @returns nanoseconds; nothing of a span that did not end */
export const lasted = ({ start_time, end_time }: Pick<Span, 'start_time' | 'end_time'>): number | undefined => {
  const base = Date.parse(start_time);
  return end_time === undefined ? undefined : nsSince(end_time, base) - nsSince(start_time, base);
};

/**
 * Until when spans of a name usually take.
 * @param durationsNs of spans that ended
 * @returns nanoseconds that most of them do not exceed; nothing where too few ended to say
 */
export const usualTime = (durationsNs: readonly number[]): number | undefined => {
  if (durationsNs.length < LEAST_SAMPLES) return undefined;
  const sorted = durationsNs.toSorted((a, b) => a - b);
  return sorted[Math.ceil(USUAL_QUANTILE * sorted.length) - 1];
};

export type Stall = { readonly row: number; readonly openNs: number; readonly usualNs: number };

/** Open spans that take longer than spans of their name usually do. @param usual by kind and name, as `nameKey` writes them */
export const findStalls = (rows: TraceRows, usual: ReadonlyMap<string, number>): readonly Stall[] =>
  [...rows.spans.entries()].flatMap(([row, span]) => {
    const usualNs = usual.get(nameKey(span));
    const openNs = (rows.end[row] ?? 0) - (rows.start[row] ?? 0);
    return rows.isOpenEnded[row] === 1 && usualNs !== undefined && openNs > usualNs ? [{ row, openNs, usualNs }] : [];
  });

export const nameKey = ({ kind, name }: NamedKind): string => `${kind} ${name}`;
