import type { Json } from '../../../model/json.ts';
import type { ProjectReach } from '../../../model/scope.ts';
import type { Dataset, DatasetKey, EvaluationStore } from '../../signals/evaluation.ts';
import { MEAN_SCALE } from '../../signals/judgements.ts';
import type { DeleteOutcome } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import {
  decodeDataset,
  decodeExperiment,
  decodeItem,
  decodeStatistic,
  encodeDataset,
  encodeExperiment,
  encodeItem,
} from '../../signals/rows/evaluation-rows.ts';
import { isStorable, storable } from '../../signals/storable.ts';
import type { Ask, Bound, Database } from '../connection.ts';
import { type Columns, columns, insertInto } from '../insert.ts';
import { lockProject } from './projects.ts';
import { inReach } from './reach.ts';
import { conditionsOf, readRecords, type RecordTable } from './record-page.ts';

const OF_PROJECT = 'JOIN projects AS p ON p.project = r.project';
export const DATASETS: RecordTable = {
  from: `datasets AS r ${OF_PROJECT}`,
  key: 'dataset',
  columns: `r.dataset_id, r.name, p.name, r.description, r.at_ns, (SELECT count(*) FROM dataset_items AS i WHERE i.dataset = r.dataset)`,
};
export const ITEMS: RecordTable = {
  from: 'dataset_items AS r JOIN datasets AS d ON d.dataset = r.dataset',
  key: 'item',
  columns: 'r.item_id, d.dataset_id, r.at_ns, r.source_trace_id, r.input, r.expected, r.metadata',
  weight: 'octet_length(r.input) + coalesce(octet_length(r.expected), 0) + coalesce(octet_length(r.metadata), 0)',
};
export const EXPERIMENTS: RecordTable = {
  from: `experiments AS r ${OF_PROJECT}`,
  key: 'experiment',
  columns: 'r.experiment_id, r.name, p.name, r.dataset_id, r.service_version, r.metadata, r.at_ns',
  weight: 'coalesce(octet_length(r.metadata), 0)',
};
const ITEM_COLUMNS: Columns = [
  ['dataset', 'int8'],
  ['item_id', 'text'],
  ['at_ns', 'int8'],
  ...columns('text', 'source_trace_id input expected metadata'),
];

/** What a statement binds of an encoded record. */
const bound = (row: Row): Bound[] => row.map((value) => (typeof value === 'string' ? storable(value) : value));

/** The record whose column says this; of several the one of the first project. */
const findIn = async (
  ask: Ask,
  { from, columns: selected }: RecordTable,
  column: string,
  value: string,
  reach: ProjectReach,
): Promise<Row | undefined> => {
  if (!isStorable(value)) return undefined;
  const [reached, values] = inReach(reach, 2);
  const [row] = await ask<Row>(
    `SELECT ${selected} FROM ${from} WHERE signal_key(r.${column}) = signal_key($1) AND r.${column} = $1 AND ${reached}
     ORDER BY p.name LIMIT 1`,
    [value, ...values],
  );
  return row;
};

/** The number of a dataset, which is locked until the transaction ends where that is asked for. */
const datasetNumber = async (
  ask: Ask,
  { project, datasetId }: DatasetKey,
  lock: '' | 'FOR UPDATE OF r',
): Promise<bigint | undefined> => {
  if (!isStorable(project) || !isStorable(datasetId)) return undefined;
  const [[number] = []] = await ask<[bigint]>(
    `SELECT r.dataset FROM ${DATASETS.from} WHERE p.name = $1 AND signal_key(r.dataset_id) = signal_key($2) AND r.dataset_id = $2 ${lock}`,
    [project, datasetId],
  );
  return number;
};

/** A value from which PostgreSQL takes squares, which it refuses to where there is no number for them. */
const LARGEST = '1e150';
const SMALLEST = '1e-150';
/** The mean of values whose sum may have no number. @see MEAN_SCALE */
const MEAN = `sum(CASE WHEN abs(value) < 1e-290 THEN 0 ELSE value / ${MEAN_SCALE} END) / count(*) * ${MEAN_SCALE}`;
const SQUARE = `CASE WHEN o.value = m.mean THEN 0
  WHEN abs(o.value) > ${LARGEST} OR abs(m.mean) > ${LARGEST} THEN 'Infinity'
  WHEN abs(o.value - m.mean) < ${SMALLEST} THEN 0 ELSE (o.value - m.mean) * (o.value - m.mean) END`;

const deleted = (rows: number): DeleteOutcome => ({ deleted: rows, pending: false });

/** Datasets and experiments. @see EvaluationStore */
export const evaluationRecords = ({ ask, transaction }: Database): EvaluationStore => ({
  putDataset: (dataset) =>
    transaction(async (within): Promise<Dataset | undefined> => {
      const [projectName, datasetId, name, description, at] = bound(encodeDataset(dataset));
      const project = await lockProject(within, projectName as string);
      const held = await within(
        'SELECT 1 FROM datasets WHERE project = $1 AND signal_key(name) = signal_key($2) AND dataset_id <> $3',
        [project, name ?? null, datasetId ?? null],
      );
      if (held.length > 0) return undefined;
      await within(
        `INSERT INTO datasets (project, dataset_id, name, description, at_ns) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (project, signal_key(dataset_id)) DO UPDATE SET name = excluded.name, description = excluded.description`,
        [project, datasetId ?? null, name ?? null, description ?? null, at ?? null],
      );
      const stored = await findIn(within, DATASETS, 'dataset_id', datasetId as string, [projectName as string]);
      return stored && decodeDataset(stored);
    }),
  listDatasets: (query) => {
    const [reached, values] = inReach(query.projects, 1);
    return readRecords(ask, DATASETS, decodeDataset, query, 'desc', conditionsOf([reached], [...values]));
  },
  findDataset: async (reference, byId, byName) => {
    const row =
      (await findIn(ask, DATASETS, 'dataset_id', reference, byId)) ??
      (await findIn(ask, DATASETS, 'name', reference, byName));
    return row && decodeDataset(row);
  },
  deleteDataset: (key) =>
    transaction(async (within) => {
      const dataset = await datasetNumber(within, key, 'FOR UPDATE OF r');
      if (dataset === undefined) return deleted(0);
      await within('DELETE FROM dataset_items WHERE dataset = $1', [dataset]);
      await within('DELETE FROM datasets WHERE dataset = $1', [dataset]);
      return deleted(1);
    }),

  putItems: (key, items) =>
    transaction(async (within) => {
      // One at a time, so that cases get their places in the order in which they can be read.
      const dataset = await datasetNumber(within, key, 'FOR UPDATE OF r');
      if (dataset === undefined) return 'no_dataset';
      const last = new Map(
        items.map((item) => {
          const row = bound(encodeItem(item)) as Row;
          return [row[0], [dataset, ...row] as Row];
        }),
      );
      if (last.size > 0)
        await within(
          ...insertInto(
            'dataset_items',
            ITEM_COLUMNS,
            [...last.values()],
            `ON CONFLICT (dataset, signal_key(item_id)) DO UPDATE SET source_trace_id = excluded.source_trace_id,
               input = excluded.input, expected = excluded.expected, metadata = excluded.metadata`,
          ),
        );
      return 'written';
    }),
  findItem: async (key, itemId) => {
    const dataset = isStorable(itemId) ? await datasetNumber(ask, key, '') : undefined;
    if (dataset === undefined) return undefined;
    const [row] = await ask<Row>(
      `SELECT ${ITEMS.columns} FROM ${ITEMS.from} WHERE r.dataset = $1 AND signal_key(r.item_id) = signal_key($2) AND r.item_id = $2`,
      [dataset, itemId],
    );
    return row && decodeItem(row);
  },
  listItems: async (key, paging) => {
    const dataset = await datasetNumber(ask, key, '');
    if (dataset === undefined) return { items: [] };
    return readRecords(ask, ITEMS, decodeItem, paging, 'asc', conditionsOf(['r.dataset = $1'], [dataset]));
  },
  deleteItem: (key, itemId) =>
    transaction(async (within) => {
      const dataset = isStorable(itemId) ? await datasetNumber(within, key, 'FOR UPDATE OF r') : undefined;
      if (dataset === undefined) return deleted(0);
      const gone = await within(
        'DELETE FROM dataset_items WHERE dataset = $1 AND signal_key(item_id) = signal_key($2) AND item_id = $2 RETURNING 1',
        [dataset, itemId],
      );
      return deleted(gone.length);
    }),
  findExpected: async (traceId, project) => {
    if (!isStorable(traceId) || !isStorable(project)) return undefined;
    const [[text] = []] = await ask<[string]>(
      `SELECT r.expected FROM ${ITEMS.from} JOIN projects AS p ON p.project = d.project
       WHERE signal_key(r.source_trace_id) = signal_key($1) AND r.source_trace_id = $1 AND r.expected IS NOT NULL AND p.name = $2
       ORDER BY r.at_ns DESC, r.item DESC LIMIT 1`,
      [traceId, project],
    );
    return text === undefined ? undefined : (JSON.parse(text) as Json);
  },

  putExperiment: (experiment) =>
    transaction(async (within) => {
      const [projectName, ...rest] = bound(encodeExperiment(experiment));
      const project = await lockProject(within, projectName as string);
      await within(
        `INSERT INTO experiments (project, experiment_id, name, dataset_id, service_version, metadata, at_ns)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (project, signal_key(experiment_id)) DO UPDATE SET name = excluded.name, dataset_id = excluded.dataset_id,
           service_version = excluded.service_version, metadata = excluded.metadata`,
        [project, ...rest],
      );
      const stored = await findIn(within, EXPERIMENTS, 'experiment_id', rest[0] as string, [projectName as string]);
      if (stored === undefined) throw new Error('an experiment was neither inserted nor replaced');
      return decodeExperiment(stored);
    }),
  listExperiments: (query) => {
    const [reached, values] = inReach(query.projects, 1);
    return readRecords(ask, EXPERIMENTS, decodeExperiment, query, 'desc', conditionsOf([reached], [...values]));
  },
  findExperiment: async (experimentId, reach) => {
    const row = await findIn(ask, EXPERIMENTS, 'experiment_id', experimentId, reach);
    return row && decodeExperiment(row);
  },
  scoreStatistics: async (experimentId, reach) => {
    if (!isStorable(experimentId)) return [];
    const [reached, values] = inReach(reach, 2);
    const rows = await ask<Row>(
      `WITH own AS MATERIALIZED (
         SELECT s.scorer_id, s.scorer_version, s.value FROM scores AS s JOIN projects AS p ON p.project = s.project
         WHERE ${reached} AND signal_key(s.experiment_id) = signal_key($1) AND s.experiment_id = $1
       ), means AS (SELECT scorer_id, scorer_version, count(*) AS count, ${MEAN} AS mean FROM own GROUP BY 1, 2)
       SELECT m.scorer_id, m.scorer_version, m.count, m.mean, sum(${SQUARE})
       FROM means AS m JOIN own AS o ON o.scorer_id = m.scorer_id AND o.scorer_version IS NOT DISTINCT FROM m.scorer_version
       GROUP BY m.scorer_id, m.scorer_version, m.count, m.mean ORDER BY m.scorer_id, m.scorer_version NULLS FIRST`,
      [experimentId, ...values],
    );
    return rows.map(decodeStatistic);
  },
});
