import type Database from 'better-sqlite3';
import type { FeedbackKind } from '../../../model/signal.ts';
import { feedbackCount, type Judgements, judgementsOf, noJudgements } from '../../signals/judgements.ts';
import type { FacetValue } from '../../signals/trace-facets.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import { columnsOf, insertTogether } from '../insert-present.ts';
import { lateTracesOf } from './late-traces.ts';
import { updateChanged } from '../update-changed.ts';
import { countedValues, fewOf, isFewAlone, LATE_SLICE_MS, LONG_TRACES } from '../../signals/late-totals.ts';
import { type Allowance, createAllowance } from '../../signals/allowance.ts';
import { judgedColumns, judgedCount, TOTAL_COLUMNS, totalColumns, totalRows } from '../../signals/rows/total-rows.ts';
import { CONTEXT_COLUMNS, type Column, type Row, SPAN } from '../../signals/rows/columns.ts';
import type { TraceTotals } from '../../signals/trace-totals.ts';
import { SPAN_COLUMNS, type TraceSum, traceSumsOf } from './sum-trace.ts';

/** A trace whose totals a transaction may have to bring up to its spans and judgements. */
export type TouchedTrace = {
  readonly trace: number;
  readonly traceId: string;
  readonly project: number;
  /** True when the trace had no span before this transaction. */
  isNew: boolean;
  /** True when a span came that was not stored just so before. */
  spansChanged?: boolean;
  /** The earliest start among spans that came. */
  earliestStart?: bigint | undefined;
  /** The earliest start that a replaced span had before and has no more. */
  leftStart?: bigint | undefined;
  /** True when scores or feedback came or went. */
  judgementsChanged?: boolean;
  /** True when a span that was replaced had another context before: no span may have that one now. */
  leftContext?: boolean;
  /** Its spans and contexts when they all came in this transaction; absent when they must be read from the file. */
  atHand?: { readonly spans: Row[]; readonly contexts: Map<number, Row> } | undefined;
  /** The newest of its contexts in the file and those that its unit brought, where they are not at hand. */
  storedContexts?: Map<number, Row> | undefined;
  /** Contexts below this place stand in the file and were not read. */
  olderContextsBelow?: number | undefined;
  /** The place after the newest context in the file. */
  nextContext?: number | undefined;
  /** Characters of `storedContexts`; infinite where there was no room to read them. */
  contextCharacters?: number | undefined;
  /** Where each of many known contexts stands, and the next free place. */
  placesOfContexts?: { readonly of: Map<number, Row>; readonly byText: Map<string, number>; next: number } | undefined;
};

/** What an answer waits for: totals that come in commits after that of their unit. */
type AwaitedTotals = SomeTraces & { readonly list: number };
type SomeTraces = { readonly traces: readonly TouchedTrace[]; readonly isFew: (read: number) => boolean };

/** A trace as commits after that of its unit may know it: others may have changed its contexts. */
const awaitedTrace = ({ storedContexts, contextCharacters, ...touched }: TouchedTrace): TouchedTrace => ({
  ...touched,
  olderContextsBelow: undefined,
  placesOfContexts: undefined,
  contextCharacters: (contextCharacters ?? 0) / Math.max(1, storedContexts?.size ?? 0), // as if it had read one of mean length
});

type Known = Pick<TouchedTrace, 'trace' | 'traceId' | 'project' | 'isNew'>;

/** Traces that are read together. One after the other takes three times as long. */
const TRACES_TOGETHER = 128;
/** Facet values whose numbers are remembered; past it the memory starts anew. */
const REMEMBERED_FACETS = 20_000;

/** How long one commit works on totals that an answer waits for, while something else is to be written, in milliseconds. */
const AWAITED_SLICE_MS = 50;

/** The row of a trace: what is kept of it beside its numbers and its id. */
const KEPT = [...TOTAL_COLUMNS, 'facets'];
const START = KEPT.indexOf('start_ns');
const SPAN_COUNT = KEPT.indexOf('span_count');
const SCORES = KEPT.indexOf('scores');
const FEEDBACK = KEPT.indexOf('feedback');
const FACETS = KEPT.indexOf('facets');

/** How much was said of a trace, as its totals count it. */
const saidOf = (row: Row): number => judgedCount(row[SCORES], row[FEEDBACK]);
/** How many entries a trace has in the facets. */
const entriesOf = (row: Row): number => {
  const text = row[FACETS] as string;
  if (text === '') return 0;
  let entries = 1;
  for (let at = text.indexOf(','); at !== -1; at = text.indexOf(',', at + 1)) entries += 1;
  return entries;
};
/** Whether the start of a trace may become another one. */
const mayMove = ({ earliestStart, leftStart }: TouchedTrace, row: Row): boolean => {
  const start = row[START] as bigint;
  return (earliestStart !== undefined && earliestStart < start) || leftStart === start;
};

/** An entry that moves takes as long as a span that is read. One that stays is compared alone, and so many of them take as long. */
const STAYING_ENTRIES = 8;
/** So many characters of contexts take as long to read and to parse as a span. */
const CONTEXT_CHARACTERS = 1_024;
/** About how many characters the contexts of a trace have. Where it has very many, not all were read. */
const contextCharactersOf = (touched: TouchedTrace, spans: number): number => {
  const { storedContexts, contextCharacters = 0, nextContext = 0 } = touched;
  return (contextCharacters / Math.max(1, storedContexts?.size ?? 0)) * Math.min(nextContext, spans);
};
/** How much is read and written of a trace for its totals, in spans that are read. */
const readOf = (touched: TouchedTrace, row: Row): number => {
  if (touched.spansChanged !== true || touched.atHand !== undefined) return saidOf(row);
  const spans = Number(row[SPAN_COUNT]);
  const entries = countedValues(entriesOf(row));
  return (
    saidOf(row) +
    spans +
    (mayMove(touched, row) ? entries : Math.floor(entries / STAYING_ENTRIES)) +
    Math.floor(contextCharactersOf(touched, spans) / CONTEXT_CHARACTERS)
  );
};
const storedIds = (row: Row): number[] => {
  const text = row[FACETS] as string;
  return text === '' ? [] : text.split(',').map(Number);
};
/** What the first members of a stored list name: scorers, or kinds of feedback. */
const namesIn = (text: Column | undefined): string[] =>
  text === null ? [] : [...new Set((JSON.parse(text as string) as [string][]).map(([name]) => name))];
/** Values by which a trace is found for what was said of it. */
const judgedFacets = (kinds: readonly string[], scorers: readonly string[]): FacetValue[] => [
  ...kinds.map((kind): FacetValue => ['feedback', kind]),
  ...scorers.map((scorer): FacetValue => ['score', scorer]),
];
/** Numbers as `json_each` takes them. */
export const textOfList = (numbers: readonly number[]): string => `[${numbers.join()}]`;

/** Reads the newest contexts of traces, so many of each, by a list of their numbers: trace, number of the context, and its columns. */
export const newestContextsIn = (db: Database.Database): Database.Statement<[traces: string, ofEach: number], Row> =>
  db
    .prepare<[string, number], Row>(
      `SELECT trace, context, ${CONTEXT_COLUMNS} FROM json_each(?) AS asked CROSS JOIN trace_contexts ON trace = asked.value
         AND context > (SELECT max(context) FROM trace_contexts WHERE trace = asked.value) - ?`,
    )
    .raw();

export type TraceProjection = {
  /**
   * Brings totals and entries in the facets up to what changed: spans, or what was said of the trace. Removes traces of which no span is
   * left.
   * @param othersWait whether something else is to be written. Then traces that stood in the file before may be left to `projectAwaited`
   */
  project(touched: readonly TouchedTrace[], othersWait?: () => boolean): void;
  /** Goes on with what `project` left, until it is done or others have waited for a while. */
  projectAwaited(othersWait: () => boolean): void;
  /** Called after a commit: what it left, and what it did of that, stands. @returns how many calls of `project` wait for something that they left */
  committed(): number;
  /** What is left becomes late: no answer waits for it. */
  giveUpAwaited(): void;
  /** Brings up late totals, as many as a slice of time has room for. */
  settleLate(): void;
  /** After how many milliseconds late totals may be brought up; `undefined` when there are none. */
  msUntilLate(): number | undefined;
  /** Removes the row of a trace and its facets. */
  remove(trace: number): void;
  /** The time that long traces may take of the writer. */
  readonly allowance: Allowance;
  /** Drops what is remembered: after a rollback it may name rows that do not exist. */
  forget(): void;
  /** From now on a new trace may have judgements that came before it. */
  expectJudgements(): void;
};

/**
 * @param touchHour is called with the starts of traces that change, as they were and as they are
 * @param now in milliseconds
 */
export const projectionOf = (
  db: Database.Database,
  touchHour: (project: number, start: bigint) => void,
  now = () => performance.now(),
): TraceProjection => {
  const spansOfTraces = db
    .prepare<[string], Row>(`SELECT ${SPAN_COLUMNS} FROM json_each(?) AS asked CROSS JOIN spans ON trace = asked.value`)
    .raw()
    .safeIntegers();
  const sumTrace = traceSumsOf(db);
  const contextsOf = db
    .prepare<[number], Row>(`SELECT context, ${CONTEXT_COLUMNS} FROM trace_contexts WHERE trace = ?`)
    .raw();
  const storedTraces = db
    .prepare<[string], Row>(
      `SELECT ${KEPT.join(', ')}, trace, project, trace_id FROM json_each(?) AS asked CROSS JOIN traces ON trace = asked.value`,
    )
    .raw()
    .safeIntegers();
  const newTraces = insertTogether(db, 'traces', ['trace', 'project', 'trace_id', ...KEPT]);
  const updateTrace = updateChanged(db, 'traces', 'trace', KEPT);
  const deleteTrace = db.prepare('DELETE FROM traces WHERE trace = ?');
  const findFacet = db
    .prepare<[number, number, string], number>(
      'SELECT id FROM facet_values WHERE project = ? AND facet = ? AND value = ?',
    )
    .pluck();
  const insertFacet = db.prepare('INSERT INTO facet_values (project, facet, value) VALUES (?, ?, ?)');
  const newEntries = insertTogether(db, 'trace_facets', columnsOf(db, 'trace_facets'));
  // The start is part of the key. One statement for all entries of a trace takes half the time of one for each.
  const deleteEntries = db.prepare<[ids: string, startNs: bigint, trace: number]>(
    'DELETE FROM trace_facets WHERE value IN (SELECT value FROM json_each(?)) AND start_ns = ? AND trace = ?',
  );
  const insertEntries = db.prepare<[startNs: bigint, trace: number, ids: string]>(
    'INSERT OR FAIL INTO trace_facets (value, start_ns, trace) SELECT value, ?, ? FROM json_each(?)',
  );
  const deleteUnusedFacet = db.prepare(
    'DELETE FROM facet_values WHERE id = ? AND NOT EXISTS (SELECT 1 FROM trace_facets WHERE value = facet_values.id)',
  );
  const scoresOfTraces = db
    .prepare<[string], [number, string, string | null, number]>(
      `SELECT t.value ->> 0, s.scorer_id, s.scorer_version, s.value
       FROM json_each(?) AS t CROSS JOIN scores AS s INDEXED BY scores_by_trace ON s.trace_id = t.value ->> 2 AND s.project = t.value ->> 1
       ORDER BY s.scorer_id, s.at_ns, s.score_id`,
    )
    .raw();
  const feedbackOfTraces = db
    .prepare<[string], [number, FeedbackKind, number, number]>(
      `SELECT t.value ->> 0, f.kind, count(*), sum(f.value = 'up')
       FROM json_each(?) AS t CROSS JOIN feedback AS f INDEXED BY feedback_by_trace ON f.trace_id = t.value ->> 2 AND f.project = t.value ->> 1
       GROUP BY 1, 2 ORDER BY 2`,
    )
    .raw();
  const deleteMean = db.prepare('DELETE FROM trace_scores WHERE trace = ? AND project = ? AND scorer_id = ?');
  const putMean = db.prepare(
    `INSERT INTO trace_scores (project, scorer_id, trace, mean) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET mean = excluded.mean WHERE mean <> excluded.mean`,
  );

  const countContexts = db.prepare('SELECT count(*) FROM trace_contexts WHERE trace = ?').pluck();
  const placesOfContexts = db.prepare<[number], number>('SELECT context FROM trace_contexts WHERE trace = ?').pluck();
  const deleteContext = db.prepare('DELETE FROM trace_contexts WHERE trace = ? AND context = ?');

  const allowance = createAllowance(LONG_TRACES.share, LONG_TRACES.mostMs, now);

  const facetIds = new Map<string, number>();
  const facetIdOf = (project: number, found: FacetValue): number => {
    const [facet, value] = storedFacet(found);
    const key = `${project}/${facet}/${value}`;
    const known = facetIds.get(key);
    if (known !== undefined) return known;
    const id = findFacet.get(project, facet, value) ?? Number(insertFacet.run(project, facet, value).lastInsertRowid);
    if (facetIds.size >= REMEMBERED_FACETS) facetIds.clear();
    facetIds.set(key, id);
    return id;
  };

  let judgementsExist =
    db.prepare('SELECT 1 FROM scores LIMIT 1').get() !== undefined ||
    db.prepare('SELECT 1 FROM feedback LIMIT 1').get() !== undefined;

  /** By the number of the trace, of those that have any. */
  const judgementsAmong = (traces: readonly Known[]): ReadonlyMap<number, Judgements> => {
    if (!judgementsExist) return new Map();
    const asked = JSON.stringify(traces.map(({ trace, project, traceId }) => [trace, project, traceId]));
    return judgementsOf(
      scoresOfTraces.iterate(asked),
      feedbackOfTraces.all(asked).map(([trace, ...count]) => [trace, feedbackCount(...count)] as const),
    );
  };

  /** Rows of the traces that stand in the file, by their numbers. */
  const storedAmong = (traces: readonly TouchedTrace[]): ReadonlyMap<number, Row> => {
    const stored = traces.filter(({ isNew }) => !isNew).map(({ trace }) => trace);
    if (stored.length === 0) return new Map();
    return new Map(storedTraces.all(textOfList(stored)).map((row) => [Number(row[KEPT.length]), row]));
  };

  /** Spans of the traces that stand in the file, and of which a span changed, by the numbers of the traces. */
  const readSpans = (traces: readonly TouchedTrace[], stored: ReadonlyMap<number, Row>): ReadonlyMap<number, Row[]> => {
    const spans = new Map<number, Row[]>();
    for (const { trace, spansChanged, atHand } of traces)
      if (spansChanged === true && atHand === undefined && stored.has(trace)) spans.set(trace, []);
    if (spans.size === 0) return spans;
    for (const row of spansOfTraces.all(textOfList([...spans.keys()]))) spans.get(Number(row[SPAN.trace]))?.push(row);
    return spans;
  };
  /** The contexts of a trace, those at least that its spans name. */
  const contextsFor = ({ trace, storedContexts }: TouchedTrace, spans: readonly Row[]): ReadonlyMap<number, Row> =>
    storedContexts !== undefined && spans.every((row) => storedContexts.has(Number(row[SPAN.context])))
      ? storedContexts
      : new Map(contextsOf.all(trace).map(([context, ...values]) => [Number(context), values]));

  /** Removes values that no trace has any more. */
  const forgetUnused = (ids: Iterable<number>): void => {
    for (const id of ids) if (deleteUnusedFacet.run(id).changes > 0) facetIds.clear();
  };
  const removeEntries = (trace: number, startNs: bigint, ids: readonly number[]): void => {
    if (ids.length === 0) return;
    newEntries.flush(); // a value that only they have is in use
    deleteEntries.run(textOfList(ids), startNs, trace);
    forgetUnused(ids);
  };
  const settleEntries = (trace: number, stored: Row, startNs: bigint, ids: readonly number[]): void => {
    const storedStart = stored[START] as bigint;
    if (storedStart === startNs && stored[FACETS] === ids.join(',')) return;
    const gone = new Set(storedIds(stored));
    if (storedStart === startNs) {
      for (const id of ids) if (!gone.delete(id)) newEntries.add([id, startNs, trace]);
      removeEntries(trace, storedStart, [...gone]);
      return;
    }
    newEntries.flush(); // its own may be among them, where it was late twice
    deleteEntries.run(`[${stored[FACETS]}]`, storedStart, trace);
    insertEntries.run(startNs, trace, textOfList(ids));
    for (const id of ids) gone.delete(id);
    forgetUnused(gone);
  };

  const settleMeans = (
    { trace, project }: Pick<TouchedTrace, 'trace' | 'project'>,
    stored: Row | undefined,
    { latestMeans }: Pick<Judgements, 'latestMeans'>,
  ): void => {
    const gone = new Set(stored === undefined ? [] : namesIn(stored[SCORES]));
    for (const [scorer, mean] of latestMeans) {
      gone.delete(scorer);
      putMean.run(project, scorer, trace, mean);
    }
    for (const scorer of gone) deleteMean.run(trace, project, scorer);
  };

  const removeStored = (trace: number, stored: Row | undefined): void => {
    if (stored === undefined) return;
    const project = Number(stored[KEPT.length + 1]);
    touchHour(project, stored[START] as bigint);
    settleMeans({ trace, project }, stored, noJudgements);
    removeEntries(trace, stored[START] as bigint, storedIds(stored));
    deleteTrace.run(trace);
    late.remove(trace);
  };

  const project = (touched: Known, totals: TraceTotals, stored: Row | undefined, judged: Judgements): void => {
    const { trace, traceId, isNew } = touched;
    const ids = totals.facets.map((facet) => facetIdOf(touched.project, facet));
    const kept = [...totalColumns(totals, judged), ids.join(',')];
    touchHour(touched.project, totals.startTime);
    if (isNew) {
      newTraces.add([trace, touched.project, traceId, ...kept]);
      for (const id of ids) newEntries.add([id, totals.startTime, trace]);
    } else {
      if (stored === undefined) throw new Error(`trace row ${trace} is missing`);
      touchHour(touched.project, stored[START] as bigint);
      updateTrace(trace, stored, kept);
      settleEntries(trace, stored, totals.startTime, ids);
    }
    settleMeans(touched, stored, judged);
  };

  /** What was said of a trace changed, and its spans did not: none of them is read. */
  const judge = (touched: TouchedTrace, stored: Row | undefined, judged: Judgements): void => {
    const { trace } = touched;
    if (stored === undefined) return; // it was deleted with what was said of it
    const idOf = (facet: FacetValue): number => facetIdOf(touched.project, facet);
    const before = new Set(judgedFacets(namesIn(stored[FEEDBACK]), namesIn(stored[SCORES])).map(idOf));
    const kinds = judged.feedback.map(([kind]) => kind);
    const scorers = judged.latestMeans.map(([scorer]) => scorer);
    const others = storedIds(stored).filter((id) => !before.has(id));
    const ids = [...new Set([...others, ...judgedFacets(kinds, scorers).map(idOf)])];
    const kept = stored.slice(0, KEPT.length);
    [kept[SCORES], kept[FEEDBACK]] = judgedColumns(judged);
    kept[FACETS] = ids.join(',');
    const start = stored[START] as bigint;
    touchHour(touched.project, start);
    updateTrace(trace, stored, kept);
    settleEntries(trace, stored, start, ids);
    settleMeans(touched, stored, judged);
  };

  /** Removes the contexts of a trace that none of its spans has any more. */
  const keepContexts = (trace: number, used: ReadonlySet<number>): void => {
    if (Number(countContexts.get(trace)) === used.size) return;
    for (const context of placesOfContexts.all(trace)) if (!used.has(context)) deleteContext.run(trace, context);
  };

  /** Totals from spans that are at hand, which are all that the trace has. */
  const projectSpans = (
    touched: TouchedTrace,
    { spans, contexts }: { readonly spans: readonly Row[]; readonly contexts: ReadonlyMap<number, Row> },
    stored: Row | undefined,
    judged: Judgements,
  ): void => {
    if (spans.length === 0) removeStored(touched.trace, stored);
    else project(touched, totalRows(spans, contexts, judged), stored, judged);
    if (touched.leftContext === true)
      keepContexts(touched.trace, new Set(spans.map((row) => Number(row[SPAN.context]))));
  };
  /** Totals from spans that were added up. */
  const projectSum = (touched: Known, sum: TraceSum, stored: Row | undefined, judged: Judgements): void => {
    if (sum.spans() === 0) removeStored(touched.trace, stored);
    else project(touched, sum.totals(judged), stored, judged);
  };
  const sumNow = (touched: TouchedTrace, stored: Row | undefined, judged: Judgements): void => {
    const sum = sumTrace(touched.trace);
    while (sum.addPiece());
    projectSum(touched, sum, stored, judged);
    if (touched.leftContext === true) keepContexts(touched.trace, sum.contexts());
  };

  const projectLong = (touched: TouchedTrace, row: Row): void => {
    const { trace } = touched;
    // All of its spans are read for late totals, whatever has changed, and all of its entries may move.
    const isLarge = saidOf(row) + Number(row[SPAN_COUNT]) + entriesOf(row) > LONG_TRACES.atOnce;
    const judged = (): Judgements => judgementsAmong([touched]).get(trace) ?? noJudgements;
    if (readOf(touched, row) > LONG_TRACES.atOnce || late.mayWait(isLarge) || !allowance.isLeft()) {
      late.put(trace, isLarge);
      if (touched.judgementsChanged === true && isFewAlone(saidOf(row))) judge(touched, row, judged());
      return;
    }
    allowance.use(() => {
      if (touched.spansChanged !== true) judge(touched, row, judged());
      else {
        late.drop(trace);
        sumNow(touched, row, judged());
      }
    });
  };

  const projectSome = (traces: readonly TouchedTrace[], isFew: (read: number) => boolean): void => {
    const stored = storedAmong(traces);
    const short: TouchedTrace[] = [];
    const long: (readonly [TouchedTrace, Row])[] = [];
    for (const touched of traces) {
      const row = stored.get(touched.trace);
      // One without a row has no more spans than this commit brought, or was deleted since.
      if (row === undefined || isFew(readOf(touched, row))) short.push(touched);
      else long.push([touched, row]);
    }
    const judgements = judgementsAmong(short);
    const read = readSpans(short, stored);
    for (const touched of short) {
      const { trace, atHand } = touched;
      const row = stored.get(trace);
      const judged = judgements.get(trace) ?? noJudgements;
      const spans = read.get(trace);
      if (touched.spansChanged !== true) {
        judge(touched, row, judged);
        continue;
      }
      late.drop(trace);
      if (atHand !== undefined) projectSpans(touched, atHand, row, judged);
      else if (spans === undefined) sumNow(touched, row, judged);
      else projectSpans(touched, { spans, contexts: contextsFor(touched, spans) }, row, judged);
    }
    for (const [touched, row] of long) projectLong(touched, row);
  };

  const late = lateTracesOf(db, sumTrace, (sum, isTouched) => {
    const { trace } = sum;
    const stored = storedTraces.get(textOfList([trace]));
    if (stored === undefined) return;
    const [project, traceId] = stored.slice(KEPT.length + 1);
    const touched = { trace, traceId: traceId as string, project: Number(project), isNew: false };
    projectSum(touched, sum, stored, judgementsAmong([touched]).get(trace) ?? noJudgements);
    if (!isTouched) keepContexts(trace, sum.contexts());
  });
  const flush = (): void => {
    newTraces.flush();
    newEntries.flush();
  };

  /** As the last commit left it, and as the open transaction will. */
  let awaited: readonly AwaitedTotals[] = [];
  let awaitedNext: readonly AwaitedTotals[] | undefined;

  /** @returns those that are left as time is up */
  const projectUntil = (
    { traces, isFew }: SomeTraces,
    isTimeUp: (() => boolean) | undefined,
  ): readonly TouchedTrace[] => {
    for (let from = 0; from < traces.length; from += TRACES_TOGETHER) {
      if (isTimeUp?.() === true) return traces.slice(from);
      projectSome(traces.slice(from, from + TRACES_TOGETHER), isFew);
    }
    return [];
  };

  return {
    project: (touched, othersWait) => {
      const changed = touched.filter(
        ({ spansChanged, judgementsChanged }) => spansChanged === true || judgementsChanged === true,
      );
      const isFew = fewOf(changed.length);
      // Readers take a trace to have what it is found by as soon as it has a row, and the next unit takes its number from that.
      projectUntil({ traces: changed.filter(({ isNew }) => isNew), isFew }, undefined);
      const left = projectUntil({ traces: changed.filter(({ isNew }) => !isNew), isFew }, othersWait);
      flush();
      if (left.length === 0) return;
      const list = late.putAwaited(left.map(({ trace }) => trace));
      awaitedNext = [...awaited, { list, traces: left.map(awaitedTrace), isFew }];
    },
    projectAwaited: (othersWait) => {
      const until = now() + AWAITED_SLICE_MS;
      const isTimeUp = (): boolean => now() > until && othersWait();
      let hasBegun = false; // each call brings some up, however slow the machine is
      let rest = awaited;
      do {
        const [first, ...others] = rest;
        if (first === undefined) break;
        const left = projectUntil(first, () => {
          const isOver = hasBegun && isTimeUp();
          hasBegun = true;
          return isOver;
        });
        late.removeAwaited(
          first.list,
          first.traces.slice(0, first.traces.length - left.length).map(({ trace }) => trace),
        );
        rest = left.length === 0 ? others : [{ ...first, traces: left }, ...others];
      } while (!isTimeUp());
      awaitedNext = rest;
      flush();
    },
    committed: () => {
      awaited = awaitedNext ?? awaited;
      awaitedNext = undefined;
      return awaited.length;
    },
    giveUpAwaited: () => {
      awaited = [];
      awaitedNext = undefined;
      late.giveUpAwaited();
    },
    settleLate: () => {
      const until = now() + LATE_SLICE_MS;
      do allowance.use(late.advance);
      while (late.mayBeAny() && allowance.isLeft() && now() < until);
      flush();
    },
    allowance,
    msUntilLate: () => (late.mayBeAny() ? allowance.msUntilLeft() : undefined),
    remove: (trace) => removeStored(trace, storedTraces.get(textOfList([trace]))),
    forget: () => {
      awaitedNext = undefined;
      late.forget();
      facetIds.clear();
      newTraces.forget();
      newEntries.forget();
    },
    expectJudgements: () => {
      judgementsExist = true;
    },
  };
};
