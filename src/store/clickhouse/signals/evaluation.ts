import type { Json } from '../../../model/json.ts';
import type { ProjectReach } from '../../../model/scope.ts';
import type { Dataset, DatasetKey, EvaluationStore } from '../../signals/evaluation.ts';
import { MEAN_SCALE } from '../../signals/judgements.ts';
import type { DeleteOutcome } from '../../signals/query.ts';
import type { Column, Row } from '../../signals/rows/columns.ts';
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
import { binding } from '../binding.ts';
import type { Ask, Database } from '../connection.ts';
import { removeRows } from './erase.ts';
import { askKeys, keyType } from './keyed.ts';
import { inReach } from './reach.ts';
import { listByTime, type RecordTable } from './record-page.ts';
import { DATASETS, EXPERIMENTS, ITEMS } from './tables.ts';
import { type Versions, VERSION_STEP } from './versions.ts';
import { weightOf } from './whole-rows.ts';

const LIVES = 0;
const TIES = ['row', 'project'] as const;
/** Its count of cases is added when it was read. */
export const DATASET_RECORDS: RecordTable = {
  of: DATASETS,
  ties: TIES,
  columns: 'r.dataset_id, r.name, r.project, r.description, r.at_ns',
};
export const ITEM_RECORDS: RecordTable = {
  of: ITEMS,
  ties: ['row'],
  columns: 'r.item_id, r.dataset_id, r.at_ns, r.source_trace_id, r.input, r.expected, r.metadata',
  weight: weightOf(['input', 'expected', 'metadata']),
};
export const EXPERIMENT_RECORDS: RecordTable = {
  of: EXPERIMENTS,
  ties: TIES,
  columns: 'r.experiment_id, r.name, r.project, r.dataset_id, r.service_version, r.metadata, r.at_ns',
  weight: weightOf(['metadata']),
};

/** What a statement binds of an encoded record. */
export const storableRow = (row: Row): Column[] =>
  row.map((value) => (typeof value === 'string' ? storable(value) : value));

/** The record whose column says this; of several the one of the first project. */
export const findIn = async (
  ask: Ask,
  { of, columns }: RecordTable,
  column: string,
  value: string,
  reach: ProjectReach,
): Promise<Row | undefined> => {
  if (!isStorable(value)) return undefined;
  const to = binding();
  const [row] = await ask<Row>(
    `SELECT ${columns} FROM ${of.table} AS r FINAL WHERE r.${column} = ${to.bind(value, 'String')} AND ${inReach(reach, to, 'r.')}
     ORDER BY r.project LIMIT 1`,
    to.params,
  );
  return row;
};

/** When a record was made, and its place; of one that is not there yet those of now. */
export const placeOf = async (
  ask: Ask,
  { of }: RecordTable,
  key: readonly string[],
  at: bigint,
  row: bigint,
): Promise<readonly [at: bigint, row: bigint]> => {
  const to = binding();
  const own = of.key.map((name, place) => `${name} = ${to.bind(key[place], 'String')}`);
  const [held] = await ask<[string, string]>(
    `SELECT at_ns, row FROM ${of.table} FINAL WHERE ${own.join(' AND ')}`,
    to.params,
  );
  return held === undefined ? [at, row] : [BigInt(held[0]), BigInt(held[1])];
};

/** Runs what reads and then writes one after the other, in this process. Services that do so at one moment may both prevail. */
export const oneAtATime = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
};

const deleted = (rows: number): DeleteOutcome => ({ deleted: rows, pending: rows > 0 });

/** The mean of values whose sum may have no number. @see MEAN_SCALE */
const MEAN = `arraySum(arrayMap(v -> if(abs(v) < 1e-290, 0, v / ${MEAN_SCALE}), vs)) / length(vs) * ${MEAN_SCALE}`;

/** Rows of datasets, each with the count of its cases. */
export const withCounts = async (ask: Ask, rows: readonly Row[]): Promise<Row[]> => {
  const counts = await askKeys<[string, string, string]>(
    ask,
    rows.map((row) => [row[2] as string, row[0] as string]),
    keyType(DATASETS),
    (keys) =>
      `SELECT project, dataset_id, count() FROM dataset_items FINAL WHERE (project, dataset_id) IN ${keys} GROUP BY project, dataset_id`,
  );
  const countOf = new Map(counts.map(([project, id, count]) => [JSON.stringify([project, id]), count]));
  return rows.map((row) => [...row, countOf.get(JSON.stringify([row[2], row[0]])) ?? 0]);
};

/** Datasets and experiments. @see EvaluationStore */
export const evaluationRecords = (database: Database, versions: Versions): EvaluationStore => {
  const { ask, insert } = database;
  const alone = oneAtATime();

  const counted = async (rows: readonly Row[]): Promise<Dataset[]> => (await withCounts(ask, rows)).map(decodeDataset);
  const findDataset = async (column: string, value: string, reach: ProjectReach): Promise<Dataset | undefined> => {
    const row = await findIn(ask, DATASET_RECORDS, column, value, reach);
    return row && (await counted([row]))[0];
  };
  const isThere = async ({ project, datasetId }: DatasetKey): Promise<boolean> =>
    isStorable(project) && (await findIn(ask, DATASET_RECORDS, 'dataset_id', datasetId, [project])) !== undefined;

  return {
    putDataset: (dataset) =>
      alone(async () => {
        const [project, datasetId, name, description, at] = storableRow(encodeDataset(dataset)) as [
          ...[string, string, string, string | null, bigint],
        ];
        const to = binding();
        const held = await ask(
          `SELECT 1 FROM datasets FINAL WHERE project = ${to.bind(project, 'String')} AND name = ${to.bind(name, 'String')}
             AND dataset_id <> ${to.bind(datasetId, 'String')}`,
          to.params,
        );
        if (held.length > 0) return undefined;
        const version = versions.take();
        const place = await placeOf(ask, DATASET_RECORDS, [project, datasetId], at, version);
        await insert(DATASETS, [[project, datasetId, name, description, ...place, version, LIVES]]);
        return findDataset('dataset_id', datasetId, [project]);
      }),
    listDatasets: async (query) => {
      const page = await listByTime(ask, DATASET_RECORDS, query, 'desc', (row) => row);
      return { ...page, items: await counted(page.items) };
    },
    findDataset: async (reference, byId, byName) =>
      (await findDataset('dataset_id', reference, byId)) ?? findDataset('name', reference, byName),
    deleteDataset: (key) =>
      alone(async () => {
        if (!(await isThere(key))) return deleted(0);
        const params = { project: key.project, dataset: key.datasetId };
        const own = 'r.project = {project:String} AND r.dataset_id = {dataset:String}';
        await removeRows(database, ITEMS, own, params);
        await removeRows(database, DATASETS, own, params);
        return deleted(1);
      }),

    // One at a time, so that cases get their places in the order in which they can be read.
    putItems: (key, items) =>
      alone(async () => {
        if (!(await isThere(key))) return 'no_dataset';
        const last = new Map(items.map((item) => [item.itemId, storableRow(encodeItem(item))]));
        const rows = [...last.values()];
        const keyOf = (row: readonly Column[]) => [key.project, key.datasetId, row[0] as string];
        const held = await askKeys<[string, string, string]>(
          ask,
          rows.map(keyOf),
          keyType(ITEMS),
          (keys) =>
            `SELECT item_id, at_ns, row FROM dataset_items FINAL WHERE (project, dataset_id, item_id) IN ${keys}`,
        );
        const places = new Map(held.map(([id, at, row]) => [id, [BigInt(at), BigInt(row)] as const]));
        const version = versions.take(Math.max(1, rows.length));
        await insert(
          ITEMS,
          rows.map((row, index) => {
            const [itemId, at, ...rest] = row;
            const [madeAt, place] = places.get(itemId as string) ?? [at, version + VERSION_STEP * BigInt(index)];
            return [key.project, key.datasetId, itemId ?? '', madeAt ?? 0n, ...rest, place, version, LIVES];
          }),
        );
        return 'written';
      }),
    findItem: async (key, itemId) => {
      if (!isStorable(itemId) || !(await isThere(key))) return undefined;
      const [row] = await ask<Row>(
        `SELECT ${ITEM_RECORDS.columns} FROM dataset_items AS r FINAL
         WHERE r.project = {project:String} AND r.dataset_id = {dataset:String} AND r.item_id = {item:String}`,
        { project: key.project, dataset: key.datasetId, item: itemId },
      );
      return row && decodeItem(row);
    },
    listItems: async (key, paging) => {
      if (!(await isThere(key))) return { items: [] };
      return listByTime(ask, ITEM_RECORDS, paging, 'asc', decodeItem, ({ add }) => {
        add('r.project =', key.project, 'String');
        add('r.dataset_id =', key.datasetId, 'String');
      });
    },
    deleteItem: (key, itemId) =>
      alone(async () => {
        if (!isStorable(itemId) || !(await isThere(key))) return deleted(0);
        const params = { project: key.project, dataset: key.datasetId, item: itemId };
        const own = 'r.project = {project:String} AND r.dataset_id = {dataset:String} AND r.item_id = {item:String}';
        const held = await ask(`SELECT 1 FROM dataset_items AS r FINAL WHERE ${own}`, params);
        if (held.length > 0) await removeRows(database, ITEMS, own, params);
        return deleted(held.length);
      }),
    findExpected: async (traceId, project) => {
      if (!isStorable(traceId) || !isStorable(project)) return undefined;
      const [[text] = []] = await ask<[string]>(
        `SELECT r.expected FROM dataset_items AS r FINAL
         WHERE r.project = {project:String} AND r.source_trace_id = {trace:String} AND r.expected IS NOT NULL
         ORDER BY r.at_ns DESC, r.row DESC LIMIT 1`,
        { project, trace: traceId },
      );
      return text === undefined ? undefined : (JSON.parse(text) as Json);
    },

    putExperiment: (experiment) =>
      alone(async () => {
        const row = storableRow(encodeExperiment(experiment));
        const [project, id] = row as [string, string];
        const version = versions.take();
        const place = await placeOf(ask, EXPERIMENT_RECORDS, [project, id], row.at(-1) as bigint, version);
        await insert(EXPERIMENTS, [[...row.slice(0, -1), ...place, version, LIVES]]);
        const stored = await findIn(ask, EXPERIMENT_RECORDS, 'experiment_id', id, [project]);
        if (stored === undefined) throw new Error('an experiment was neither inserted nor replaced');
        return decodeExperiment(stored);
      }),
    listExperiments: (query) => listByTime(ask, EXPERIMENT_RECORDS, query, 'desc', decodeExperiment),
    findExperiment: async (experimentId, reach) => {
      const row = await findIn(ask, EXPERIMENT_RECORDS, 'experiment_id', experimentId, reach);
      return row && decodeExperiment(row);
    },
    scoreStatistics: async (experimentId, reach) => {
      if (!isStorable(experimentId)) return [];
      const to = binding();
      const rows = await ask<Row>(
        `SELECT scorer_id, scorer_version, length(vs), ${MEAN} AS mean,
           arraySum(arrayMap(v -> if(v = mean, 0, (v - mean) * (v - mean)), vs))
         FROM (
           SELECT s.scorer_id AS scorer_id, s.scorer_version AS scorer_version, groupArray(s.value) AS vs FROM scores AS s FINAL
           WHERE ${inReach(reach, to, 's.')} AND s.experiment_id = ${to.bind(experimentId, 'String')} GROUP BY scorer_id, scorer_version
         ) ORDER BY scorer_id, scorer_version NULLS FIRST`,
        to.params,
      );
      return rows.map(decodeStatistic);
    },
  };
};
