import type Database from 'better-sqlite3';
import type { WriteOutcome } from '../../signals/signal-store.ts';
import { columnsOf, insertOrMeet, insertPresent, insertTogether } from '../insert-present.ts';
import { sameContext } from '../../signals/rows/encode.ts';
import { isSameColumn } from '../update-changed.ts';
import { type HourKeeper, hourKeeperOf } from './keep-hours.ts';
import { isWithText, type PayloadWriter, payloadWriterOf } from './write-payloads.ts';
import {
  newestContextsIn,
  projectionOf,
  textOfList,
  type TouchedTrace,
  type TraceProjection,
} from './project-traces.ts';
import { CONTEXT_COLUMNS, type Row, SPAN } from '../../signals/rows/columns.ts';
import type { TraceEntry, UnitRows } from './wire.ts';

/** Whether a span says what the stored one does: apart from its number, and from when it came. */
const isSameSpan = (stored: Row, row: Row): boolean =>
  row.every((value, at) => at === SPAN.span || at === SPAN.received || isSameColumn(stored[at], value));

/** Contexts of a trace among which one is looked for one by one. */
const FEW_CONTEXTS = 16;

/** Senders name projects as they like; numbers of more than so many are read from the file again. */
const REMEMBERED_PROJECTS = 10_000;

/**
 * Contexts that a unit looks among, of all its traces together: the newest of each. A trace may have as many contexts as spans, and a unit
 * may name very many traces. One that is not found among them is kept a second time.
 */
const CONTEXTS_READ = 16_384;
/** Characters of contexts that a unit reads at the most, and more for each of its traces: one context may have thousands of tags. */
const CONTEXT_CHARACTERS_READ = { together: 4 * 1024 * 1024, ofEach: 1024 } as const;

/** A span that stands where another comes, and whether that says the same. */
type StoredSpan = { readonly span: number; readonly start: bigint; readonly context: number; readonly isSame: boolean };
/** @param found a row of `spans`; of the columns that are not looked at, some may be missing */
const storedSpan = (found: Row | undefined, isSame: (found: Row) => boolean): StoredSpan => {
  if (found === undefined) throw new Error('a span conflicts with one that does not exist');
  return {
    span: Number(found[SPAN.span]),
    start: found[SPAN.start] as bigint,
    context: Number(found[SPAN.context]),
    isSame: isSame(found),
  };
};

/** What a unit may still read of stored contexts. */
type ContextRoom = { readonly ofEach: number; characters: number };

const charactersOf = (context: Row): number => {
  let characters = 0;
  for (const value of context) if (typeof value === 'string') characters += value.length;
  return characters;
};
const minOf = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b < a ? b : a);

/** A trace of a project, and both as the key under which a transaction knows it. */
type NamedTrace = { readonly key: string; readonly traceId: string; readonly project: number };

export type UnitWriter = {
  /**
   * Writes the rows of one unit, all or none, inside an open transaction; its payloads and the totals of its traces follow in
   * `finish`. Leaves the rows as they are: on a full disk they are written a second time.
   * @param pieces the unit in order; its ingest key stands in the first
   * @param firstSpan the number of its first span
   */
  write(pieces: readonly UnitRows[], firstSpan: number): WriteOutcome;
  /**
   * Stores payloads, and brings the totals of all traces that the transaction touched up to their spans. Called once, before the commit.
   * @param othersWait whether something else is to be written. Then some totals may be left to `projectAwaited`
   */
  finish(othersWait?: () => boolean): void;
  /** Goes on with the totals that `finish` left, inside a transaction of its own. */
  projectAwaited(othersWait: () => boolean): void;
  /** Brings up totals of long traces that wait for it, some of them, inside an open transaction. */
  settleLate(): void;
  /** After how many milliseconds that may be done; `undefined` when none wait. */
  msUntilLate(): number | undefined;
  /** Forgets what the transaction had touched, after a rollback. */
  abandon(): void;
  /** Whether spans were replaced, since the last call, whose text the side file still holds. */
  takeReplacedText(): boolean;
  /** The number of a project, which gets one when it has none. */
  projectNumber(name: string): number;
  /** Marks a trace for `finish`, if it exists. */
  touchTrace(traceId: string, project: number): void;
  readonly projection: TraceProjection;
  readonly payloads: PayloadWriter;
  readonly hours: HourKeeper;
};

/**
 * @param hourSettledMs how long an hour is left alone before it is added up
 * @param now by which the time is measured that long traces take, in milliseconds
 */
export const unitWriterOf = (
  db: Database.Database,
  unit: <T>(work: () => T) => T,
  hourSettledMs?: number,
  now?: () => number,
): UnitWriter => {
  const insertKey = db.prepare('INSERT INTO ingest_keys (ingest_key, at_ns) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const findProject = db.prepare<[string], number>('SELECT project FROM projects WHERE name = ?').pluck();
  const insertProject = db.prepare('INSERT INTO projects (name) VALUES (?)');
  const findTrace = db
    .prepare<[string, number], number>('SELECT trace FROM traces WHERE trace_id = ? AND project = ?')
    .pluck();
  const tracesWithIds = db
    .prepare<[string], [trace: number, traceId: string, project: number]>(
      `SELECT t.trace, t.trace_id, t.project
       FROM json_each(?) AS asked CROSS JOIN traces AS t INDEXED BY traces_by_id ON t.trace_id = asked.value`,
    )
    .raw();
  // Tables have their columns in the order in which `encode.ts` makes rows.
  const insertInto = (table: string, after?: string) => insertPresent(db, table, columnsOf(db, table), after);
  const insertAll = (table: string) => insertTogether(db, table, columnsOf(db, table));
  const newContexts = insertAll('trace_contexts');
  const contextsOfTraces = newestContextsIn(db);
  const lastContexts = db
    .prepare<[string], [trace: number, context: number]>(
      `SELECT asked.value, last FROM (SELECT value, (SELECT max(context) FROM trace_contexts WHERE trace = value) AS last FROM json_each(?)) AS asked
       WHERE last IS NOT NULL`,
    )
    .raw();
  const olderContexts = db
    .prepare<[trace: number, below: number, most: number], Row>(
      `SELECT context, ${CONTEXT_COLUMNS} FROM trace_contexts WHERE trace = +? AND context < +? ORDER BY context DESC LIMIT +?`,
    )
    .raw();
  const insertSpan = insertInto('spans', 'ON CONFLICT (trace, span_id) DO NOTHING');
  const insertOrMeetSpan = insertOrMeet(db, 'spans', columnsOf(db, 'spans'), ['trace', 'span_id'], 'received_ns');
  const lastNumber = db.prepare<[], number>('SELECT last_insert_rowid()').pluck();
  const findSpan = db
    .prepare<[number, string], Row>('SELECT * FROM spans WHERE trace = ? AND span_id = ?')
    .raw()
    .safeIntegers();
  /** The same as far as its start: to read all of a row takes three times as long. */
  const findPlace = db
    .prepare<[number, string], Row>(
      'SELECT span, trace, context, NULL, NULL, NULL, NULL, NULL, start_ns FROM spans WHERE trace = ? AND span_id = ?',
    )
    .raw()
    .safeIntegers();
  const receiveAgain = db.prepare('UPDATE spans SET received_ns = ? WHERE span = ?');
  const deleteSpan = db.prepare('DELETE FROM spans WHERE span = ?');
  const keepOldText = db.prepare('INSERT INTO pending_erasures (span) VALUES (?)');
  const newLogs = insertAll('logs');
  const newMetrics = insertAll('metric_points');
  const findScore = db
    .prepare<[number, string], [number, string | null]>(
      'SELECT score, trace_id FROM scores WHERE project = ? AND score_id = ?',
    )
    .raw();
  const deleteScore = db.prepare('DELETE FROM scores WHERE score = ?');
  const insertScore = insertInto('scores');
  const findFeedback = db
    .prepare<[number, string], [number, string | null]>(
      'SELECT feedback, trace_id FROM feedback WHERE project = ? AND feedback_id = ?',
    )
    .raw();
  const deleteFeedback = db.prepare('DELETE FROM feedback WHERE feedback = ?');
  const insertFeedback = insertInto('feedback');
  const deleteNote = db.prepare('DELETE FROM aspect_notes WHERE project = ? AND note_id = ?');
  const insertNote = insertInto('aspect_notes');
  /** What is inserted at the end of each piece. */
  const together = [newContexts, newLogs, newMetrics];

  const payloads = payloadWriterOf(db);
  const hours = hourKeeperOf(db, hourSettledMs);
  const projection = projectionOf(db, hours.touch, now);
  const projectNumbers = new Map<string, number>();
  const nextOf = (number: string, table: string): number =>
    (db.prepare<[], number | null>(`SELECT max(${number}) FROM ${table}`).pluck().get() ?? 0) + 1;
  let nextTrace = nextOf('trace', 'traces');
  let nextLog = nextOf('log', 'logs');
  let nextPoint = nextOf('point', 'metric_points');
  /** Traces touched by the open transaction, by trace id and project. */
  let touched = new Map<string, TouchedTrace>();
  let replacedText = false;

  const projectNumber = (name: string): number => {
    const known = projectNumbers.get(name);
    if (known !== undefined) return known;
    const number = findProject.get(name) ?? Number(insertProject.run(name).lastInsertRowid);
    if (projectNumbers.size >= REMEMBERED_PROJECTS) projectNumbers.clear();
    projectNumbers.set(name, number);
    return number;
  };

  const keyOf = (traceId: string, project: number): string => traceId + project;

  /** Numbers of stored traces among those that the transaction does not know yet, by trace id and project. */
  const findTraces = (mine: Map<string, TouchedTrace>, traces: readonly NamedTrace[]): ReadonlyMap<string, number> => {
    const ids = traces.filter(({ key }) => !mine.has(key) && !touched.has(key)).map(({ traceId }) => traceId);
    if (ids.length === 0) return new Map();
    return new Map(
      tracesWithIds.all(JSON.stringify(ids)).map(([trace, traceId, project]) => [keyOf(traceId, project), trace]),
    );
  };

  /** The trace of a unit, as far as the transaction knows it; entered into `mine` until the unit is complete. */
  const reach = (
    mine: Map<string, TouchedTrace>,
    { key, traceId, project }: NamedTrace,
    stored: number | undefined,
  ): TouchedTrace => {
    const here = mine.get(key);
    if (here !== undefined) return here;
    const earlier = touched.get(key);
    let entry: TouchedTrace;
    if (earlier === undefined) {
      entry =
        stored === undefined
          ? { trace: nextTrace++, traceId, project, isNew: true, atHand: { spans: [], contexts: new Map() } }
          : { trace: stored, traceId, project, isNew: false };
    } else {
      // A copy: when this unit fails, what earlier units had at hand must not hold its rows.
      const { atHand } = earlier;
      entry = {
        ...earlier,
        storedContexts: undefined,
        olderContextsBelow: undefined,
        nextContext: undefined,
        contextCharacters: undefined,
        placesOfContexts: undefined,
        atHand: atHand && { spans: atHand.spans.slice(), contexts: new Map(atHand.contexts) },
      };
    }
    mine.set(key, entry);
    return entry;
  };

  /** Sees to it that the newest contexts of traces are known: few of each, among which nearly all are found. */
  const readContexts = (entries: readonly TouchedTrace[], room: ContextRoom): void => {
    const unread = new Map<number, TouchedTrace>();
    for (const entry of entries) {
      if (entry.atHand !== undefined || entry.storedContexts !== undefined) continue;
      entry.storedContexts = new Map();
      unread.set(entry.trace, entry);
    }
    if (unread.size === 0) return;
    newContexts.flush();
    const ofEach = Math.min(room.ofEach, FEW_CONTEXTS);
    let last: TouchedTrace | undefined;
    for (const row of contextsOfTraces.iterate(textOfList([...unread.keys()]), ofEach)) {
      const entry = unread.get(Number(row[0])) as TouchedTrace;
      if (last !== undefined && last !== entry) unread.delete(last.trace);
      last = entry;
      const known = entry.storedContexts as Map<number, Row>;
      const place = Number(row[1]);
      const context = row.slice(2);
      const characters = charactersOf(context);
      const below = place - ofEach + 1; // the last row of a trace is its newest context
      entry.olderContextsBelow = below > 0 ? below : undefined;
      entry.nextContext = place + 1;
      entry.contextCharacters = (entry.contextCharacters ?? 0) + characters;
      known.set(place, context);
      room.characters -= characters;
      if (room.characters <= 0) break;
    }
    if (room.characters <= 0) skipContexts(unread);
  };
  /** Traces that had no room, or may have had too little of it: of the rest of their contexts no more than the next place is known. */
  const skipContexts = (unread: ReadonlyMap<number, TouchedTrace>): void => {
    for (const [trace, last] of lastContexts.all(textOfList([...unread.keys()]))) {
      const entry = unread.get(trace) as TouchedTrace;
      entry.nextContext = last + 1;
      entry.contextCharacters = Number.POSITIVE_INFINITY; // its totals are late
      entry.olderContextsBelow = undefined;
    }
  };
  /** Reads more of the contexts of one trace, in the time that long traces have: it may have very many. @returns whether there were any */
  const readOlderContexts = (entry: TouchedTrace, known: Map<number, Row>, room: ContextRoom): boolean => {
    const below = entry.olderContextsBelow;
    const most = room.ofEach - known.size;
    if (below === undefined || most <= 0 || room.characters <= 0 || !projection.allowance.isLeft()) return false;
    entry.olderContextsBelow = undefined;
    entry.placesOfContexts = undefined;
    const before = known.size;
    projection.allowance.use(() => {
      for (const row of olderContexts.iterate(entry.trace, below, most)) {
        const context = row.slice(1);
        const characters = charactersOf(context);
        entry.contextCharacters = (entry.contextCharacters ?? 0) + characters;
        known.set(Number(row[0]), context);
        room.characters -= characters;
        if (room.characters <= 0) break;
      }
    });
    return known.size > before;
  };

  /** Where a context stands among few, or where the next one stands. */
  const placeAmongFew = ({ nextContext = 0 }: TouchedTrace, known: Map<number, Row>, context: Row): number => {
    let next = nextContext;
    for (const [place, values] of known) {
      if (sameContext(values, context)) return place;
      if (place >= next) next = place + 1;
    }
    return next;
  };

  /** The same among many: looking at each of them for each would take seconds. */
  const placeAmongMany = (entry: TouchedTrace, known: Map<number, Row>, context: Row): number => {
    const text = JSON.stringify(context);
    let places = entry.placesOfContexts;
    if (places?.of !== known) {
      places = { of: known, byText: new Map(), next: entry.nextContext ?? 0 };
      for (const [place, values] of known) {
        places.byText.set(JSON.stringify(values), place);
        places.next = Math.max(places.next, place + 1);
      }
      entry.placesOfContexts = places;
    }
    const found = places.byText.get(text);
    if (found !== undefined) return found;
    places.byText.set(text, places.next);
    return places.next++;
  };

  /** Numbers under which a trace keeps the contexts of a unit. */
  const settleContexts = (entry: TouchedTrace, contexts: readonly Row[], room: ContextRoom): number[] => {
    const known = entry.atHand?.contexts ?? entry.storedContexts;
    if (known === undefined) throw new Error('the contexts of a trace were not read');
    const placeOf = (context: Row): number =>
      known.size <= FEW_CONTEXTS ? placeAmongFew(entry, known, context) : placeAmongMany(entry, known, context);
    return contexts.map((context) => {
      let place = placeOf(context);
      if (!known.has(place) && readOlderContexts(entry, known, room)) place = placeOf(context);
      if (!known.has(place)) {
        newContexts.add([entry.trace, place, ...context]);
        known.set(place, context);
      }
      return place;
    });
  };

  /** Whether a span that stays in its place may do so: the index has its words under its number, so one with text needs its new number. */
  const mayStay = (span: number, payload: Row): boolean => !isWithText(payload) && payloads.holds(span, payload);

  /** @param payload the columns of `span_payloads` of `row` */
  const replaceSpan = (old: StoredSpan, row: Row, payload: Row, entry: TouchedTrace): void => {
    if (payloads.hasText(old.span)) {
      keepOldText.run(old.span);
      replacedText = true;
    } else payloads.drop(old.span);
    deleteSpan.run(old.span);
    insertSpan(row);
    payloads.add(payload);
    entry.atHand = undefined;
    const start = row[SPAN.start] as bigint;
    hours.touch(entry.project, old.start);
    hours.touch(entry.project, start);
    if (old.isSame) return;
    entry.spansChanged = true;
    if (old.start !== start) entry.leftStart = minOf(entry.leftStart, old.start);
    entry.earliestStart = minOf(entry.earliestStart, start);
    if (old.context !== row[SPAN.context]) entry.leftContext = true;
  };

  /**
   * Puts a span into its trace. @returns false for one that was there, which is as the sender has it now
   * @param payload the columns of `span_payloads` of `row`
   * @param numberBefore the last number of an insert before the spans of this piece
   */
  const isNewSpan = (row: Row, payload: Row, entry: TouchedTrace, numberBefore: number): boolean => {
    let old: StoredSpan;
    if (entry.isNew) {
      if (insertSpan(row).changes > 0) return true;
      old = storedSpan(findSpan.get(entry.trace, row[SPAN.spanId] as string), (found) => isSameSpan(found, row));
      if (old.isSame && mayStay(old.span, payload)) {
        receiveAgain.run(row[SPAN.received], old.span);
        return false;
      }
    } else {
      // Many of a trace that stood in the file may come again as they were.
      const span = insertOrMeetSpan(row, numberBefore);
      if (span === row[SPAN.span]) return true;
      if (span !== undefined && mayStay(span, payload)) return false;
      old =
        span === undefined
          ? storedSpan(findPlace.get(entry.trace, row[SPAN.spanId] as string), () => false)
          : { span, start: row[SPAN.start] as bigint, context: row[SPAN.context] as number, isSame: true };
    }
    replaceSpan(old, row, payload, entry);
    return false;
  };

  const writeSpans = (
    mine: Map<string, TouchedTrace>,
    [, , traces, spans, payloadRows]: UnitRows,
    firstSpan: number,
    room: ContextRoom,
  ): void => {
    const named = traces.map(([traceId, projectName]) => {
      const project = projectNumber(projectName);
      return { key: keyOf(traceId, project), traceId, project };
    });
    const stored = findTraces(mine, named);
    const reached = named.map((trace) => reach(mine, trace, stored.get(trace.key)));
    readContexts(reached, room);
    const entries = reached.map((entry, place) => ({
      entry,
      places: settleContexts(entry, (traces[place] as TraceEntry)[2], room),
    }));
    const numberBefore = lastNumber.get() as number;
    for (let i = 0; i < spans.length; i++) {
      const row = (spans[i] as Row).slice();
      const { entry, places } = entries[row[SPAN.trace] as number] as (typeof entries)[number];
      row[SPAN.span] = (row[SPAN.span] as number) + firstSpan;
      row[SPAN.trace] = entry.trace;
      row[SPAN.context] = places[row[SPAN.context] as number] as number;
      row[SPAN.project] = entry.project;
      const payload = (payloadRows[i] as Row).slice();
      payload[0] = (payload[0] as number) + firstSpan;
      if (!isNewSpan(row, payload, entry, numberBefore)) continue;
      payloads.add(payload);
      hours.touch(entry.project, row[SPAN.start] as bigint);
      entry.spansChanged = true;
      entry.earliestStart = minOf(entry.earliestStart, row[SPAN.start] as bigint);
      entry.atHand?.spans.push(row);
    }
  };

  /** Judgements change the row of their trace, if there is one; without it the trace finds them when it comes. */
  const touchJudged = (mine: Map<string, TouchedTrace>, traceId: string | null, project: number): void => {
    if (traceId === null) return;
    const key = keyOf(traceId, project);
    const here = mine.get(key) ?? touched.get(key);
    if (here !== undefined) {
      here.judgementsChanged = true;
      return;
    }
    const trace = findTrace.get(traceId, project);
    if (trace !== undefined) mine.set(key, { trace, traceId, project, isNew: false, judgementsChanged: true });
  };

  const writeScores = (mine: Map<string, TouchedTrace>, scores: readonly Row[]): void => {
    if (scores.length > 0) projection.expectJudgements();
    for (const row of scores) {
      const project = projectNumber(row[0] as string);
      const old = findScore.get(project, row[1] as string);
      if (old !== undefined) {
        deleteScore.run(old[0]);
        touchJudged(mine, old[1], project);
      }
      insertScore([null, project, ...row.slice(1)]);
      touchJudged(mine, row[2] as string | null, project);
    }
  };

  const writeFeedback = (mine: Map<string, TouchedTrace>, feedback: readonly Row[]): void => {
    if (feedback.length > 0) projection.expectJudgements();
    for (const row of feedback) {
      const project = projectNumber(row[0] as string);
      const old = findFeedback.get(project, row[1] as string);
      if (old !== undefined) {
        deleteFeedback.run(old[0]);
        touchJudged(mine, old[1], project);
      }
      insertFeedback([null, project, ...row.slice(1)]);
      touchJudged(mine, row[2] as string | null, project);
    }
  };

  const writePiece = (mine: Map<string, TouchedTrace>, rows: UnitRows, firstSpan: number, room: ContextRoom): void => {
    const [, , , , , logs, metrics, scores, feedback, notes] = rows;
    writeSpans(mine, rows, firstSpan, room);
    for (const [project, ...row] of logs) newLogs.add([nextLog++, projectNumber(project as string), ...row]);
    for (const [project, ...row] of metrics) newMetrics.add([nextPoint++, projectNumber(project as string), ...row]);
    writeScores(mine, scores);
    writeFeedback(mine, feedback);
    for (const [name, ...row] of notes) {
      const project = projectNumber(name as string);
      deleteNote.run(project, row[0]);
      insertNote([null, project, ...row]);
    }
    for (const rows of together) rows.flush();
  };

  const abandonCaches = (): void => {
    projectNumbers.clear();
    projection.forget();
    for (const rows of together) rows.forget();
  };

  return {
    write: (pieces, firstSpan) => {
      const mine = new Map<string, TouchedTrace>();
      const named = new Set(
        pieces.flatMap(([, , traces]) => traces.map(([traceId, project]) => `${traceId}${project}`)),
      );
      const room: ContextRoom = {
        ofEach: Math.ceil(CONTEXTS_READ / Math.max(1, named.size)),
        characters: CONTEXT_CHARACTERS_READ.together + CONTEXT_CHARACTERS_READ.ofEach * named.size,
      };
      try {
        return payloads.unit(() =>
          unit(() => {
            for (const rows of pieces) {
              const [ingestKey, atNs] = rows;
              if (ingestKey !== null && insertKey.run(ingestKey, atNs).changes === 0) return 'duplicate';
              writePiece(mine, rows, firstSpan, room);
            }
            for (const [key, entry] of mine) touched.set(key, entry);
            return 'written';
          }),
        );
      } catch (error) {
        abandonCaches();
        throw error;
      }
    },
    finish: (othersWait) => {
      projection.project([...touched.values()], othersWait);
      touched = new Map();
      payloads.finish();
      hours.finish();
    },
    projectAwaited: (othersWait) => {
      projection.projectAwaited(othersWait);
      hours.finish();
    },
    settleLate: () => {
      projection.settleLate();
      hours.finish();
    },
    msUntilLate: projection.msUntilLate,
    abandon: () => {
      touched = new Map();
      payloads.abandon();
      hours.abandon();
      replacedText = false;
      abandonCaches();
    },
    takeReplacedText: () => {
      const replaced = replacedText;
      replacedText = false;
      return replaced;
    },
    projectNumber,
    touchTrace: (traceId, project) => touchJudged(touched, traceId, project),
    projection,
    payloads,
    hours,
  };
};
