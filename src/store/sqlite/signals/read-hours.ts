import type { CallGrouping } from '../../signals/call-groups.ts';
import type { CallFigures } from '../../signals/rows/reports.ts';
import type { Tally } from '../../signals/summary.ts';
import { callColumns, NANOS_PER_HOUR } from './hour-figures.ts';
import type { Statements } from './statements.ts';

/** A half-open stretch of time. */
export type Stretch = { readonly from: bigint; readonly to: bigint };

/** What the hours of a window hold that were added up before, and the rest of the window, in its order. */
export type HoursOfWindow<T> = { readonly hours: readonly T[]; readonly rest: readonly Stretch[] };

export const startOfHour = (hour: number): bigint => BigInt(hour) * NANOS_PER_HOUR;
/** The first hour that begins at a time or later. What began before 1970 is added up of no hour. */
const firstHourFrom = (from: bigint): bigint => (from <= 0n ? 0n : (from + NANOS_PER_HOUR - 1n) / NANOS_PER_HOUR);

const hoursOf = <R extends [hour: number, ...rest: unknown[]]>(
  statements: Statements,
  columns: string,
  project: number,
  { from, to }: Stretch,
): HoursOfWindow<R> => {
  const hours = statements
    .raw<R>(`SELECT hour, ${columns} FROM past_hours WHERE project = ? AND hour >= ? AND hour < ? ORDER BY hour`)
    .all(project, firstHourFrom(from), to / NANOS_PER_HOUR)
    .filter((row) => row.at(-1) !== null);
  const rest: Stretch[] = [];
  let at = from;
  for (const [hour] of hours) {
    const start = startOfHour(hour);
    if (at < start) rest.push({ from: at, to: start });
    at = start + NANOS_PER_HOUR;
  }
  if (at < to) rest.push({ from: at, to });
  return { hours, rest };
};

/** The calls of each hour that was added up. */
export const callsOfHours = (
  statements: Statements,
  grouping: CallGrouping,
  project: number,
  window: Stretch,
): HoursOfWindow<{ readonly hour: number; readonly calls: readonly CallFigures[] }> => {
  const { hours, rest } = hoursOf<[number, string]>(statements, callColumns[grouping], project, window);
  return { hours: hours.map(([hour, calls]) => ({ hour, calls: JSON.parse(calls) as CallFigures[] })), rest };
};

type TracesRow = [
  hour: number,
  traces: number,
  errors: number,
  cancelled: number,
  cost: number | null,
  input: number,
  output: number,
  durations: Buffer,
];
/** Adds to a tally the traces of each hour that was added up. @returns the rest of the window */
export const addTracesOfHours = (
  statements: Statements,
  tally: Tally,
  project: number,
  window: Stretch,
): readonly Stretch[] => {
  const { hours, rest } = hoursOf<TracesRow>(
    statements,
    'traces, errors, cancelled, total_cost, input_tokens, output_tokens, durations',
    project,
    window,
  );
  for (const [, traces, errors, cancelled, cost, input, output, durations] of hours) {
    tally.traces += traces;
    tally.errors += errors;
    tally.cancelled += cancelled;
    if (cost !== null) tally.cost = (tally.cost ?? 0) + cost;
    tally.input += input;
    tally.output += output;
    for (let at = 0; at < durations.length; at += Float64Array.BYTES_PER_ELEMENT)
      tally.durations.push(durations.readDoubleLE(at));
  }
  return rest;
};

/** The facets of an hour that was added up. @see facet-tally.ts */
export type FacetsOfHour = { readonly hour: number; readonly traces: number; readonly text: string };

const LAST_HOUR = 2n ** 53n;
/** Hours of a window that were added up with their facets, the last first, until they hold so many traces. */
export const facetsOfHours = (
  statements: Statements,
  project: number,
  {
    from = 0n,
    to = LAST_HOUR * NANOS_PER_HOUR,
  }: { readonly from: bigint | undefined; readonly to: bigint | undefined },
  traces: number,
): FacetsOfHour[] => {
  const found: FacetsOfHour[] = [];
  let left = traces;
  for (const [hour, held, text] of statements
    .raw<[number, number, string]>(
      `SELECT hour, traces, facets FROM past_hours WHERE project = ? AND hour >= ? AND hour < ? AND facets IS NOT NULL ORDER BY hour DESC`,
    )
    .iterate(project, firstHourFrom(from), to / NANOS_PER_HOUR)) {
    found.push({ hour, traces: held, text });
    left -= held;
    if (left < 0) break;
  }
  return found;
};
