import type Database from 'better-sqlite3';
import type { ItemsOutcome } from '../../signals/evaluation.ts';
import { type RestoreWriter, restoreWriterOf } from './move.ts';
import { type ViewWriter, viewWriterOf } from './view-rows.ts';
import type { Row } from '../../signals/rows/columns.ts';

/** Writes of records. Each runs inside an open transaction, and leaves nothing when it fails. */
export type EvaluationWriter = ViewWriter &
  RestoreWriter & {
    /** @param row project name, dataset_id, name, description, at_ns */
    putDataset(row: Row): Row | undefined;
    /** @param items rows of item_id, at_ns, source_trace_id, input, expected, metadata */
    putItems(project: string, datasetId: string, items: readonly Row[]): ItemsOutcome;
    /** @param row project name, experiment_id, name, dataset_id, service_version, metadata, at_ns. @returns the time of its making */
    putExperiment(row: Row): bigint;
    /** @returns how many datasets went: one or none */
    deleteDataset(project: string, datasetId: string): number;
    deleteItem(project: string, datasetId: string, itemId: string): number;
  };

/** The writes that may share a commit with others; deletes have one of their own, because they answer when the bytes are gone. */
export const groupedWrites = [
  'putDataset',
  'putItems',
  'putExperiment',
  'putView',
  'restoreAudit',
  'restoreIngestKeys',
] as const;
export type GroupedWrite = (typeof groupedWrites)[number];

export const evaluationWriterOf = (db: Database.Database): EvaluationWriter => {
  // Looked up each time: a number that is remembered here would outlive the rollback of the unit that drew it.
  const addProject = db.prepare('INSERT INTO projects (name) VALUES (?) ON CONFLICT DO NOTHING');
  const findProject = db.prepare<[string], number>('SELECT project FROM projects WHERE name = ?').pluck();
  const projectNumber = (name: string): number => {
    addProject.run(name);
    const number = findProject.get(name);
    if (number === undefined) throw new Error('a project that was just added is missing');
    return number;
  };

  const nameHolder = db
    .prepare<[number, string, string], number>(
      'SELECT 1 FROM datasets WHERE project = ? AND name = ? AND dataset_id IS NOT ?',
    )
    .pluck();
  const putDataset = db
    .prepare<unknown[], [number, bigint]>(
      `INSERT INTO datasets (project, dataset_id, name, description, at_ns) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (project, dataset_id) DO UPDATE SET name = excluded.name, description = excluded.description
       RETURNING dataset, at_ns`,
    )
    .raw()
    .safeIntegers();
  const countItems = db.prepare<[bigint], number>('SELECT count(*) FROM dataset_items WHERE dataset = ?').pluck();
  const findDataset = db
    .prepare<[string, string], number>(
      'SELECT d.dataset FROM datasets AS d JOIN projects AS p ON p.project = d.project WHERE p.name = ? AND d.dataset_id = ?',
    )
    .pluck();
  const putItem = db.prepare(
    `INSERT INTO dataset_items (dataset, item_id, at_ns, source_trace_id, input, expected, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (dataset, item_id) DO UPDATE SET source_trace_id = excluded.source_trace_id, input = excluded.input,
       expected = excluded.expected, metadata = excluded.metadata`,
  );
  const putExperiment = db
    .prepare<unknown[], bigint>(
      `INSERT INTO experiments (project, experiment_id, name, dataset_id, service_version, metadata, at_ns) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (project, experiment_id) DO UPDATE SET name = excluded.name, dataset_id = excluded.dataset_id,
         service_version = excluded.service_version, metadata = excluded.metadata
       RETURNING at_ns`,
    )
    .pluck()
    .safeIntegers();
  const deleteItems = db.prepare('DELETE FROM dataset_items WHERE dataset = ?');
  const deleteDataset = db.prepare('DELETE FROM datasets WHERE dataset = ?');
  const deleteItem = db.prepare('DELETE FROM dataset_items WHERE dataset = ? AND item_id = ?');

  return {
    ...viewWriterOf(db, projectNumber),
    ...restoreWriterOf(db),
    putDataset: ([projectName, datasetId, name, description, atNs]) => {
      const project = projectNumber(projectName as string);
      if (nameHolder.get(project, name as string, datasetId as string) !== undefined) return undefined;
      const stored = putDataset.get(project, datasetId, name, description, atNs);
      if (stored === undefined) throw new Error('a dataset was neither inserted nor replaced');
      const [dataset, madeNs] = stored as unknown as [bigint, bigint];
      return [
        datasetId ?? '',
        name ?? '',
        projectName ?? '',
        description ?? null,
        madeNs,
        countItems.get(dataset) ?? 0,
      ];
    },
    putItems: (project, datasetId, items) => {
      const dataset = findDataset.get(project, datasetId);
      if (dataset === undefined) return 'no_dataset';
      for (const item of items) putItem.run(dataset, ...item);
      return 'written';
    },
    putExperiment: ([projectName, ...rest]) => {
      const madeNs = putExperiment.get(projectNumber(projectName as string), ...rest);
      if (madeNs === undefined) throw new Error('an experiment was neither inserted nor replaced');
      return madeNs;
    },
    deleteDataset: (project, datasetId) => {
      const dataset = findDataset.get(project, datasetId);
      if (dataset === undefined) return 0;
      deleteItems.run(dataset);
      return deleteDataset.run(dataset).changes;
    },
    deleteItem: (project, datasetId, itemId) => {
      const dataset = findDataset.get(project, datasetId);
      return dataset === undefined ? 0 : deleteItem.run(dataset, itemId).changes;
    },
  };
};
