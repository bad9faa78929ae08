import type Database from 'better-sqlite3';
import { callGroupings } from '../../signals/call-groups.ts';
import type { CallFigures, FiguresRow } from '../../signals/rows/reports.ts';
import { addTrace, newTally, type Tally } from '../../signals/summary.ts';
import { COUNTED, type FacetTally, newFacetTally, parseIds, tallyText, valueTally } from './facet-tally.ts';
import {
  CALL_COLUMNS,
  CALLS_OF_STRETCH,
  FACETS_OF_STRETCH,
  type CallsOfStretch,
  NANOS_PER_HOUR,
  TRACES_OF_STRETCH,
  type TraceOfStretch,
  traceFigures,
} from './hour-figures.ts';

/** Hours that are remembered as changed, at the most; beyond it the file is looked through. */
const MOST_WAITING = 10_000;
/** Spans or traces that are read at once: some milliseconds of work. */
const ROWS_AT_ONCE = 4_000;
/** What an hour has at the most of each: beyond it a row saves little of what it stands for. */
const MOST_GROUPS = 500;
const MOST_DURATIONS = 100_000;
/** Facets are counted of no more traces at a time, and an hour with more values than that is not small any more. */
const MOST_FACETED = 10_000;
const MOST_VALUES = 50_000;
const MILLIS_PER_HOUR = 3_600_000;
/** Hours that begin later than that are not waited for: what has such a time has a wrong one. */
const FARTHEST_MS = 24 * MILLIS_PER_HOUR;
/** The longest time to the next look. A timer holds no more than 24 days, and a clock that is set back makes any wait longer. */
const LONGEST_WAIT_MS = MILLIS_PER_HOUR;

/**
 * How far the file was written when a row was last taken away: numbers of spans and erasures only grow. A build that does not know of
 * the rows moves on without them.
 */
const POSITION = `SELECT coalesce(max(0, (SELECT max(span) FROM spans)), 0),
  coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pending_erasures'), 0)`;

/** An hour of a project, counted from the epoch. */
type Hour = { readonly project: number; readonly hour: number };
type Waiting = Hour & { readonly changedAt: number };

/** An hour on its way to its row. */
type Adding = Hour & {
  /** What lies before it has been added up. */
  at: bigint;
  readonly tally: Tally;
  readonly calls: readonly Map<string, CallFigures>[];
  readonly facets: FacetTally;
};

export type HourKeeper = {
  /** Notes that a span or a trace with this start is written or deleted, inside an open transaction. */
  touch(project: number, start: bigint): void;
  /** The same of all spans of a trace. */
  touchSpans(project: number, trace: number): void;
  /** Takes away the rows of hours that were touched. Called before the commit. */
  finish(): void;
  /** Forgets what a transaction had touched, after a rollback. */
  abandon(): void;
  /**
   * Adds up hours, for about so many milliseconds, outside of any transaction. What they come to is kept until it is stored.
   * @returns whether there is more to do at once
   */
  addUp(now: number, forMs: number): boolean;
  /** Whether there are rows to be stored. Until they are, no further hours are added up. */
  hasRows(): boolean;
  /** Stores the rows that are ready, inside an open transaction. On a full disk this is done a second time. */
  store(): void;
  /** Forgets the rows that were stored. Called after the commit. */
  stored(): void;
  /** When there may be something to add up: a time as `now` gives it, an hour from it at the latest. `undefined` while nothing waits. */
  nextAt(now: number): number | undefined;
};

const keyOf = ({ project, hour }: Hour): string => `${project}/${hour}`;
const startOf = (hour: number): bigint => BigInt(hour) * NANOS_PER_HOUR;
const isOver = ({ hour }: Hour, now: number, settledMs: number): boolean =>
  (hour + 1) * MILLIS_PER_HOUR + settledMs <= now;

const addGroup = (groups: Map<string, CallFigures>, row: CallFigures): void => {
  const [value, model, is, ...more] = row;
  const key = JSON.stringify([value, model, is]);
  const known = groups.get(key);
  if (known === undefined) {
    groups.set(key, row);
    return;
  }
  const [, , , ...before] = known;
  const [count, errors, cost, input, output, timed, totalNs, maxNs] = before;
  const sum: FiguresRow = [
    Number(count) + Number(more[0]),
    Number(errors) + Number(more[1]),
    cost === null ? more[2] : cost + (more[2] ?? 0),
    Number(input) + Number(more[3]),
    Number(output) + Number(more[4]),
    Number(timed) + Number(more[5]),
    (totalNs ?? 0) + (more[6] ?? 0),
    maxNs === null ? more[7] : Math.max(Number(maxNs), Number(more[7] ?? 0)),
  ];
  groups.set(key, [value, model, is, ...sum]);
};

const valuesOf = (facets: FacetTally): number => {
  let values = 0;
  for (const { counts } of facets.values()) values += counts.size;
  return values;
};

/** JSON has no infinite number: a sum that has none is read from the spans. */
const hasNumbers = (row: CallFigures): boolean =>
  row.every((figure) => typeof figure !== 'number' || Number.isFinite(figure));

/** @param settledMs how long an hour must be over and unchanged before it is added up, in milliseconds */
export const hourKeeperOf = (db: Database.Database, settledMs = 0): HourKeeper => {
  const remove = db.prepare('DELETE FROM past_hours WHERE project = ? AND hour = ?');
  const insert = db.prepare(
    `INSERT OR REPLACE INTO past_hours (project, hour, traces, errors, cancelled, total_cost, input_tokens, output_tokens, ${CALL_COLUMNS}, facets, durations)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const readPosition = db.prepare<[], [number, number]>(POSITION).raw();
  const keepPosition = db.prepare('INSERT OR REPLACE INTO past_hours_position (id, span, erasure) VALUES (1, ?, ?)');
  const keptPosition = db.prepare<[], [number, number]>('SELECT span, erasure FROM past_hours_position').raw().get();
  const position = readPosition.get() ?? [0, 0];
  if (String(position) !== String(keptPosition)) {
    db.exec('DELETE FROM past_hours');
    keepPosition.run(...position);
  }
  const hoursOfSpans = db
    .prepare<[number], number>(`SELECT DISTINCT start_ns / ${NANOS_PER_HOUR} FROM spans WHERE trace = ?`)
    .pluck();
  const isKept = db.prepare<[number, number]>('SELECT 1 FROM past_hours WHERE project = ? AND hour = ?').pluck();
  const nextProject = db
    .prepare<[number], number>('SELECT project FROM projects WHERE project > ? ORDER BY project LIMIT 1')
    .pluck();
  const startAt = (table: string, index: string) =>
    db
      .prepare<[number, bigint, number], bigint>(
        `SELECT start_ns FROM ${table} INDEXED BY ${index} WHERE project = ? AND start_ns >= ? ORDER BY start_ns LIMIT 1 OFFSET ?`,
      )
      .pluck()
      .safeIntegers();
  const spanStart = startAt('spans', 'spans_by_start');
  const traceStart = startAt('traces', 'traces_by_start');
  const calls = db.prepare<[number, bigint, bigint], CallsOfStretch>(CALLS_OF_STRETCH).raw();
  const traces = db.prepare<[number, bigint, bigint], TraceOfStretch>(TRACES_OF_STRETCH).raw();

  const facetsOfTraces = db.prepare<[number, bigint, bigint], string>(FACETS_OF_STRETCH).pluck();
  const facetsOfValues = db
    .prepare<[string], [value: number, facet: number]>(
      `SELECT v.id, v.facet FROM json_each(?) AS j CROSS JOIN facet_values AS v ON v.id = j.value WHERE v.facet IN (${COUNTED})`,
    )
    .raw();

  /** Hours that the open transaction touches. */
  let touched = new Map<string, Hour>();
  let last: (Hour & { readonly from: bigint; readonly to: bigint }) | undefined;
  /** Hours that changed, the one that was left alone for longest first. */
  const waiting = new Map<string, Waiting>();
  /** Where the file is looked through for hours without a row; `undefined` when that is done. */
  let search: { project: number; at: bigint } | undefined = { project: 0, at: 0n };
  let adding: Adding | undefined;
  let ready: Adding[] = [];

  const touchHour = (project: number, hour: number): void => {
    const one = { project, hour };
    touched.set(keyOf(one), one);
  };
  const wait = (one: Hour, changedAt: number): void => {
    if (one.hour * MILLIS_PER_HOUR > changedAt + FARTHEST_MS) return;
    const key = keyOf(one);
    waiting.delete(key);
    waiting.set(key, { ...one, changedAt });
    if (waiting.size <= MOST_WAITING) return;
    for (const oldest of waiting.keys()) {
      waiting.delete(oldest);
      break;
    }
    search = { project: 0, at: 0n };
  };

  const findWaiting = (now: number): Hour | undefined => {
    for (const [key, one] of waiting) {
      // A time to come is that of a clock which was set back since.
      if (one.changedAt <= now && one.changedAt + settledMs > now) return undefined;
      if (!isOver(one, now, settledMs)) continue;
      waiting.delete(key);
      return one;
    }
    return undefined;
  };
  /** The next hour of the file that has no row, if one is near; looks at one hour. */
  const lookFurther = (now: number): Hour | undefined => {
    if (search === undefined) return undefined;
    const { project, at } = search;
    const starts = [spanStart.get(project, at, 0), traceStart.get(project, at, 0)].filter((one) => one !== undefined);
    const [first] = starts.sort((a, b) => (a < b ? -1 : 1));
    const found = first === undefined ? undefined : { project, hour: Number(first / NANOS_PER_HOUR) };
    if (found === undefined || !isOver(found, now, settledMs)) {
      // What is not over was touched by this process, or is found at the next start.
      if (found !== undefined) wait(found, now);
      const next = nextProject.get(project);
      search = next === undefined ? undefined : { project: next, at: 0n };
      return undefined;
    }
    search = { project, at: startOf(found.hour + 1) };
    return isKept.get(project, found.hour) !== undefined || waiting.has(keyOf(found)) ? undefined : found;
  };

  /** Reads some more of an hour. @returns false when more of it starts in one nanosecond than is read at once */
  const addStretch = (one: Adding): boolean => {
    const end = startOf(one.hour + 1);
    let to = end;
    for (const find of [spanStart, traceStart]) {
      const beyond = find.get(one.project, one.at, ROWS_AT_ONCE);
      if (beyond !== undefined && beyond < to) to = beyond;
    }
    if (to <= one.at) return false;
    for (const [provider, entity, model, is, ...figures] of calls.all(one.project, one.at, to))
      for (const [place, grouping] of callGroupings.entries()) {
        const groups = one.calls[place];
        if (groups === undefined || groups.size > MOST_GROUPS) continue;
        addGroup(groups, [{ model, provider, entity_name: entity }[grouping], model, is, ...figures]);
      }
    for (const trace of traces.all(one.project, one.at, to)) addTrace(one.tally, traceFigures(trace));
    if (one.tally.durations.length > MOST_DURATIONS) one.tally.durations.length = MOST_DURATIONS + 1;
    if (one.tally.traces <= MOST_FACETED && valuesOf(one.facets) <= MOST_VALUES) {
      const values = valueTally();
      const ids: number[] = [];
      for (const text of facetsOfTraces.all(one.project, one.at, to)) {
        parseIds(text, ids);
        values.add(ids);
      }
      const facetOf = new Map(facetsOfValues.all(JSON.stringify(values.ids)));
      values.addTo(one.facets, (id) => facetOf.get(id));
    }
    one.at = to;
    return true;
  };

  const groupsText = (groups: ReadonlyMap<string, CallFigures>): string | null => {
    const rows = [...groups.values()];
    return rows.length > MOST_GROUPS || !rows.every(hasNumbers) ? null : JSON.stringify(rows);
  };
  const write = ({ project, hour, tally, calls: byGrouping, facets }: Adding): void => {
    const isEmpty = tally.traces === 0 && byGrouping.every((groups) => groups.size === 0);
    if (isEmpty) return;
    const { durations } = tally;
    const bytes = Buffer.allocUnsafe(durations.length * Float64Array.BYTES_PER_ELEMENT);
    for (const [place, duration] of durations.entries())
      bytes.writeDoubleLE(duration, place * Float64Array.BYTES_PER_ELEMENT);
    insert.run(
      project,
      hour,
      tally.traces,
      tally.errors,
      tally.cancelled,
      tally.cost ?? null,
      tally.input,
      tally.output,
      ...byGrouping.map(groupsText),
      tally.traces > MOST_FACETED || valuesOf(facets) > MOST_VALUES ? null : tallyText(facets),
      durations.length > MOST_DURATIONS ? null : bytes,
    );
  };

  return {
    touch: (project, start) => {
      if (last !== undefined && last.project === project && start >= last.from && start < last.to) return;
      const hour = Number(start / NANOS_PER_HOUR);
      last = { project, hour, from: startOf(hour), to: startOf(hour + 1) };
      touchHour(project, hour);
    },
    touchSpans: (project, trace) => {
      for (const hour of hoursOfSpans.all(trace)) touchHour(project, hour);
    },
    finish: () => {
      if (touched.size === 0) return;
      const now = Date.now();
      for (const [key, one] of touched) {
        remove.run(one.project, one.hour);
        wait(one, now);
        if (adding !== undefined && keyOf(adding) === key) adding = undefined;
      }
      if (ready.length > 0) ready = ready.filter((one) => !touched.has(keyOf(one)));
      keepPosition.run(...(readPosition.get() ?? [0, 0]));
      touched = new Map();
      last = undefined;
    },
    abandon: () => {
      touched = new Map();
      last = undefined;
    },
    addUp: (now, forMs) => {
      // A disk that stays full takes none of them: they must not gather.
      if (ready.length > 0) return true;
      const until = performance.now() + forMs;
      while (performance.now() < until) {
        if (adding === undefined) {
          const next = findWaiting(now) ?? lookFurther(now);
          if (next !== undefined)
            adding = {
              ...next,
              at: startOf(next.hour),
              tally: newTally(),
              calls: callGroupings.map(() => new Map()),
              facets: newFacetTally(),
            };
          else if (search === undefined) return false;
          continue;
        }
        if (!addStretch(adding)) adding = undefined;
        else if (adding.at === startOf(adding.hour + 1)) {
          ready.push(adding);
          adding = undefined;
        }
      }
      return true;
    },
    hasRows: () => ready.length > 0,
    store: () => {
      for (const one of ready) write(one);
    },
    stored: () => {
      ready = [];
    },
    nextAt: (now) => {
      if (adding !== undefined || search !== undefined || ready.length > 0) return 0;
      let next: number | undefined;
      for (const one of waiting.values()) {
        const at = Math.max(Math.min(one.changedAt, now), (one.hour + 1) * MILLIS_PER_HOUR) + settledMs;
        if (next === undefined || at < next) next = at;
      }
      return next && Math.min(next, now + LONGEST_WAIT_MS);
    },
  };
};
