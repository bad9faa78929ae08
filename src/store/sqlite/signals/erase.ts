import type Database from 'better-sqlite3';
import type { UnitWriter } from './write-unit.ts';

/** Signals other than spans that trim by their own time: table and key column. */
const timed = [
  ['logs', 'log'],
  ['metric_points', 'point'],
  ['scores', 'score'],
  ['feedback', 'feedback'],
  ['aspect_notes', 'note'],
] as const;

export type Eraser = {
  /**
   * Removes all signals of these traces in these projects, inside an open transaction.
   * @param projects names; `null` for all
   * @returns how many of the trace ids had anything
   */
  eraseTraces(traceIds: readonly string[], projects: readonly string[] | null): number;
  /** Removes the project's oldest signals, inside an open transaction; a trace goes completely or stays. @returns rows removed */
  trim(project: string, beforeNs: bigint, limit: number): number;
  trimRecords(auditBeforeNs: bigint, ingestKeysBeforeNs: bigint): void;
};

export const eraserOf = (db: Database.Database, writer: UnitWriter): Eraser => {
  const findProject = db.prepare<[string], number>('SELECT project FROM projects WHERE name = ?').pluck();
  /** Projects that hold anything of a trace. Senders name projects as they like, so there may be very many others. */
  const projectsHolding = db
    .prepare<{ id: string }, [number, string]>(
      `SELECT p.project, p.name FROM projects AS p WHERE p.project IN (${[
        'traces',
        'logs',
        'scores',
        'feedback',
        'aspect_notes',
      ]
        .map((table) => `SELECT project FROM ${table} WHERE trace_id = :id`)
        .join(' UNION ')})`,
    )
    .raw();
  const findTrace = db
    .prepare<[string, number], number>('SELECT trace FROM traces WHERE trace_id = ? AND project = ?')
    .pluck();
  const spansOf = db.prepare<[number], number>('SELECT span FROM spans WHERE trace = ? ORDER BY span').pluck();
  const keepText = db.prepare('INSERT INTO pending_erasures (span) VALUES (?)');
  const deleteSpans = db.prepare('DELETE FROM spans WHERE trace = ?');
  const deleteContexts = db.prepare('DELETE FROM trace_contexts WHERE trace = ?');
  // Judgements that name a span alone belong to the trace that holds the span.
  const deleteSpanScores = db.prepare(
    `DELETE FROM scores WHERE trace_id IS NULL AND project = ? AND span_id IN (SELECT span_id FROM spans WHERE trace = ?)`,
  );
  const deleteSpanFeedback = db.prepare(
    `DELETE FROM feedback WHERE trace_id IS NULL AND project = ? AND span_id IN (SELECT span_id FROM spans WHERE trace = ?)`,
  );
  const byTraceId = ['logs', 'scores', 'feedback', 'aspect_notes'].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE trace_id = ? AND project = ?`),
  );
  const oldTraces = db
    .prepare<[number, bigint, number], number>(
      'SELECT trace FROM traces WHERE project = ? AND start_ns < ? ORDER BY start_ns, trace LIMIT ?',
    )
    .pluck();
  const deleteTimed = timed.map(([table, key]) =>
    db.prepare(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE project = ? AND at_ns < ? ORDER BY at_ns LIMIT ?)`,
    ),
  );
  const judgedBefore = (['scores', 'feedback'] as const).map((table) =>
    db
      .prepare<[number, bigint, number], string>(
        `SELECT DISTINCT trace_id FROM (SELECT trace_id FROM ${table} WHERE project = ? AND at_ns < ? ORDER BY at_ns LIMIT ?)
         WHERE trace_id IS NOT NULL`,
      )
      .pluck(),
  );
  const deleteAudit = db.prepare('DELETE FROM audit WHERE at_ns < ?');
  const deleteKeys = db.prepare('DELETE FROM ingest_keys WHERE at_ns < ?');

  const removeTrace = (project: number, trace: number): void => {
    for (const span of spansOf.all(trace))
      if (writer.payloads.hasText(span)) keepText.run(span);
      else writer.payloads.drop(span);
    writer.hours.touchSpans(project, trace);
    deleteSpans.run(trace);
    deleteContexts.run(trace);
    writer.projection.remove(trace);
  };

  return {
    eraseTraces: (traceIds, projects) => {
      let found = 0;
      for (const traceId of new Set(traceIds)) {
        let rows = 0;
        for (const [project, name] of projectsHolding.all({ id: traceId })) {
          if (projects !== null && !projects.includes(name)) continue;
          const trace = findTrace.get(traceId, project);
          if (trace !== undefined) {
            deleteSpanScores.run(project, trace);
            deleteSpanFeedback.run(project, trace);
            removeTrace(project, trace);
            rows++;
          }
          for (const statement of byTraceId) rows += statement.run(traceId, project).changes;
        }
        if (rows > 0) found++;
      }
      writer.finish();
      return found;
    },
    trim: (projectName, beforeNs, limit) => {
      const project = findProject.get(projectName);
      if (project === undefined) return 0;
      const traces = oldTraces.all(project, beforeNs, limit);
      for (const trace of traces) removeTrace(project, trace);
      const judged = judgedBefore.flatMap((statement) => statement.all(project, beforeNs, limit));
      let rows = traces.length;
      for (const statement of deleteTimed) rows += statement.run(project, beforeNs, limit).changes;
      for (const traceId of judged) writer.touchTrace(traceId, project);
      writer.finish();
      return rows;
    },
    trimRecords: (auditBeforeNs, ingestKeysBeforeNs) => {
      deleteAudit.run(auditBeforeNs);
      deleteKeys.run(ingestKeysBeforeNs);
    },
  };
};
