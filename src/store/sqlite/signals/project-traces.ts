import { CONTEXT_COLUMNS } from '../../signals/rows/columns.ts';
import type Database from 'better-sqlite3';
import type { FeedbackKind } from '../../../model/signal.ts';
import { feedbackCount, type Judgements, meansOf, noJudgements } from '../../signals/judgements.ts';
import type { FacetValue } from '../../signals/trace-facets.ts';
import { storedFacet } from '../../signals/rows/codes.ts';
import { columnsOf, insertTogether } from '../insert-present.ts';
import { TOTAL_COLUMNS, totalColumns, totalRows } from '../../signals/rows/total-rows.ts';
import type { Column, Row } from '../../signals/rows/columns.ts';

/** A trace whose totals a transaction must bring up to its spans. */
export type TouchedTrace = {
  readonly trace: number;
  readonly traceId: string;
  readonly project: number;
  /** True when the trace had no span before this transaction. */
  isNew: boolean;
  /** True while all its spans that came are as they were stored before: its totals are right. */
  isAsStored?: boolean;
  /** True when a span that was replaced had another context before: no span may have that one now. */
  leftContext?: boolean;
  /** Its spans and contexts when they all came in this transaction; absent when they must be read from the file. */
  atHand?: { readonly spans: Row[]; readonly contexts: Map<number, Row> } | undefined;
  /** Its contexts in the file and those that its unit brought, where they are not at hand. */
  storedContexts?: Map<number, Row> | undefined;
  /** Where each of many contexts stands, and the next free place. */
  placesOfContexts?: { readonly byText: Map<string, number>; next: number } | undefined;
};

/** Facet values whose numbers are remembered; past it the memory starts anew. */
const REMEMBERED_FACETS = 20_000;

const SPAN_COLUMNS =
  'span, trace, context, span_id, parent_span_id, name, kind, status, start_ns, end_ns, model, provider, entity_name, ' +
  'input_tokens, output_tokens, total_tokens, total_cost, currency, repeats_usage';
export type TraceProjection = {
  /**
   * Recomputes the totals of a trace from its spans, and its entries in the facets. Removes it when no span is left. A transaction calls it
   * for each trace once, and then `finish`.
   */
  project(touched: TouchedTrace): void;
  /** Inserts the rows that are new. */
  finish(): void;
  /** Removes the row of a trace and its facets. */
  remove(trace: number): void;
  /** Drops what is remembered: after a rollback it may name rows that do not exist. */
  forget(): void;
  /** From now on a new trace may have judgements that came before it. */
  expectJudgements(): void;
};

/** @param touchHour is called with the starts of traces that change, as they were and as they are */
export const projectionOf = (
  db: Database.Database,
  touchHour: (project: number, start: bigint) => void,
): TraceProjection => {
  const spansOfTrace = db
    .prepare<[number], Row>(`SELECT ${SPAN_COLUMNS} FROM spans WHERE trace = ?`)
    .raw()
    .safeIntegers();
  const contextsOfTrace = db
    .prepare<[number], Row>(`SELECT context, ${CONTEXT_COLUMNS} FROM trace_contexts WHERE trace = ?`)
    .raw();
  const storedTrace = db
    .prepare<[number], [bigint, string, bigint]>('SELECT start_ns, facets, project FROM traces WHERE trace = ?')
    .raw()
    .safeIntegers();
  const newTraces = insertTogether(db, 'traces', ['trace', 'project', 'trace_id', ...TOTAL_COLUMNS, 'facets']);
  // SQLite writes every index of a column that is set, changed or not: a trace that is sent again would cost as much as a new one.
  const kept = [...TOTAL_COLUMNS, 'facets'];
  const updateTrace = db.prepare(
    `UPDATE traces SET ${kept.map((column) => `${column} = ?`).join(', ')}
     WHERE trace = ? AND (${kept.join(', ')}) IS NOT (${kept.map(() => '?').join(', ')})`,
  );
  const deleteTrace = db.prepare('DELETE FROM traces WHERE trace = ?');
  const findFacet = db
    .prepare<[number, number, string], number>(
      'SELECT id FROM facet_values WHERE project = ? AND facet = ? AND value = ?',
    )
    .pluck();
  const insertFacet = db.prepare('INSERT INTO facet_values (project, facet, value) VALUES (?, ?, ?)');
  const newEntries = insertTogether(db, 'trace_facets', columnsOf(db, 'trace_facets'));
  const deleteEntry = db.prepare('DELETE FROM trace_facets WHERE value = ? AND start_ns = ? AND trace = ?');
  const deleteUnusedFacet = db.prepare(
    'DELETE FROM facet_values WHERE id = ? AND NOT EXISTS (SELECT 1 FROM trace_facets WHERE value = facet_values.id)',
  );
  const scoresOfTrace = db
    .prepare<[string, number], [string, string | null, number]>(
      `SELECT scorer_id, scorer_version, value FROM scores INDEXED BY scores_by_trace
       WHERE trace_id = ? AND project = ? ORDER BY scorer_id, at_ns, score_id`,
    )
    .raw();
  const feedbackOfTrace = db
    .prepare<[string, number], [FeedbackKind, number, number]>(
      `SELECT kind, count(*), sum(value = 'up') FROM feedback INDEXED BY feedback_by_trace WHERE trace_id = ? AND project = ? GROUP BY kind ORDER BY kind`,
    )
    .raw();
  const deleteMeans = db.prepare('DELETE FROM trace_scores WHERE trace = ? AND project = ? AND scorer_id = ?');
  const insertMean = db.prepare('INSERT INTO trace_scores (project, scorer_id, trace, mean) VALUES (?, ?, ?, ?)');

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

  const judgementsOf = (traceId: string, project: number): Judgements => {
    if (!judgementsExist) return noJudgements;
    const scores = scoresOfTrace.iterate(traceId, project);
    return { ...meansOf(scores), feedback: feedbackOfTrace.all(traceId, project).map((row) => feedbackCount(...row)) };
  };

  const removeEntries = (trace: number, startNs: bigint, ids: readonly number[]): void => {
    if (ids.length > 0) newEntries.flush(); // a value that only they have is in use
    for (const id of ids) {
      deleteEntry.run(id, startNs, trace);
      if (deleteUnusedFacet.run(id).changes > 0) facetIds.clear();
    }
  };

  const storedFacets = (text: string): number[] => (text === '' ? [] : text.split(',').map(Number));

  const deleteMeansOfTrace = db.prepare(
    `DELETE FROM trace_scores WHERE trace = ? AND (project, scorer_id) IN (
       SELECT v.project, v.value FROM facet_values v WHERE v.id IN (SELECT value FROM json_each(?)))`,
  );

  const remove = (trace: number): void => {
    const stored = storedTrace.get(trace);
    if (stored === undefined) return;
    touchHour(Number(stored[2]), stored[0]);
    const ids = storedFacets(stored[1]);
    if (judgementsExist) deleteMeansOfTrace.run(trace, JSON.stringify(ids));
    removeEntries(trace, stored[0], ids);
    deleteTrace.run(trace);
  };

  return {
    project: (touched) => {
      const { trace, project, traceId, isNew } = touched;
      let spans = touched.atHand?.spans;
      let contexts = touched.atHand?.contexts;
      if (spans === undefined || contexts === undefined) {
        spans = spansOfTrace.all(trace);
        if (spans.length === 0) {
          if (!isNew) remove(trace);
          return;
        }
        contexts = new Map();
        for (const [place, ...values] of contextsOfTrace.iterate(trace)) contexts.set(Number(place), values);
      }
      const judged = judgementsOf(traceId, project);
      const totals = totalRows(spans, contexts, judged);
      const columns = totalColumns(totals, judged);
      const ids = totals.facets.map((facet) => facetIdOf(project, facet));
      const facetText = ids.join(',');
      touchHour(project, totals.startTime);
      if (isNew) {
        newTraces.add([trace, project, traceId, ...columns, facetText]);
        for (const id of ids) newEntries.add([id, totals.startTime, trace]);
      } else {
        const stored = storedTrace.get(trace);
        if (stored === undefined) throw new Error(`trace row ${trace} is missing`);
        touchHour(project, stored[0]);
        const before = storedFacets(stored[1]);
        if (judgementsExist) deleteMeansOfTrace.run(trace, JSON.stringify(before));
        updateTrace.run([...columns, facetText, trace, ...columns, facetText] as Column[]);
        if (stored[0] !== totals.startTime) {
          for (const id of ids) newEntries.add([id, totals.startTime, trace]);
          removeEntries(trace, stored[0], before);
        } else if (stored[1] !== facetText) {
          const kept = new Set(before);
          for (const id of ids) if (!kept.delete(id)) newEntries.add([id, totals.startTime, trace]);
          removeEntries(trace, stored[0], [...kept]);
        }
      }
      for (const [scorer, mean] of judged.latestMeans) {
        deleteMeans.run(trace, project, scorer);
        insertMean.run(project, scorer, trace, mean);
      }
    },
    remove,
    finish: () => {
      newTraces.flush();
      newEntries.flush();
    },
    forget: () => {
      facetIds.clear();
      newTraces.forget();
      newEntries.forget();
    },
    expectJudgements: () => {
      judgementsExist = true;
    },
  };
};
