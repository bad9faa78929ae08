import type { ProjectReach } from '../../../model/scope.ts';
import type { Paging, Position, Window } from '../../signals/query.ts';
import { listByTime } from './read-records.ts';
import { readUpTo } from './read-up-to.ts';
import type { RowPage } from './read-traces.ts';
import { timeAndRow } from '../../signals/position.ts';
import { meanOf, projectNumbers, type Statements } from './statements.ts';
import type { Row } from '../../signals/rows/columns.ts';

export const DATASET = `r.dataset_id, r.name, p.name, r.description, r.at_ns,
  (SELECT count(*) FROM dataset_items AS i WHERE i.dataset = r.dataset)`;
export const ITEM = 'i.item_id, d.dataset_id, i.at_ns, i.source_trace_id, i.input, i.expected, i.metadata';
export const EXPERIMENT = 'r.experiment_id, r.name, p.name, r.dataset_id, r.service_version, r.metadata, r.at_ns';

export const listDatasets = (statements: Statements, query: Paging & Window): RowPage =>
  listByTime(statements, { from: 'datasets', key: 'dataset', columns: DATASET }, query, 'desc', () => {});

export const findDataset = (
  statements: Statements,
  reference: string,
  byId: ProjectReach,
  byName: ProjectReach,
): Row | undefined => {
  const find = (column: 'dataset_id' | 'name', reach: ProjectReach): Row | undefined =>
    statements
      .exact<Row>(
        `SELECT ${DATASET} FROM datasets AS r JOIN projects AS p ON p.project = r.project
         WHERE r.project IN (SELECT value FROM json_each(?)) AND r.${column} = ? ORDER BY p.name LIMIT 1`,
      )
      .get(JSON.stringify(projectNumbers(statements, reach)), reference);
  return find('dataset_id', byId) ?? find('name', byName);
};

const ITEMS_OF_DATASET = `dataset_items AS i JOIN datasets AS d ON d.dataset = i.dataset JOIN projects AS p ON p.project = d.project
  WHERE p.name = ? AND d.dataset_id = ?`;

export const findItem = (statements: Statements, project: string, datasetId: string, itemId: string): Row | undefined =>
  statements.exact<Row>(`SELECT ${ITEM} FROM ${ITEMS_OF_DATASET} AND i.item_id = ?`).get(project, datasetId, itemId);

export const listItems = (
  statements: Statements,
  project: string,
  datasetId: string,
  { limit, after, maxBytes }: { readonly limit: number; readonly after?: Position; readonly maxBytes?: number },
): RowPage => {
  const dataset = statements
    .pluck<number>(
      'SELECT d.dataset FROM datasets AS d JOIN projects AS p ON p.project = d.project WHERE p.name = ? AND d.dataset_id = ?',
    )
    .get(project, datasetId);
  if (dataset === undefined) return [[], undefined];
  const found = statements
    .exact<[bigint, bigint]>(
      `SELECT i.at_ns, i.item FROM dataset_items AS i WHERE i.dataset = ? ${after === undefined ? '' : 'AND (i.at_ns, i.item) > (?, ?)'}
       ORDER BY i.at_ns, i.item LIMIT ?`,
    )
    .all(dataset, ...(after === undefined ? [] : timeAndRow(after)), limit + 1);
  const page = found.slice(0, limit);
  const whole = statements.exact<Row>(
    `SELECT ${ITEM} FROM dataset_items AS i JOIN datasets AS d ON d.dataset = i.dataset WHERE i.item = ?`,
  );
  const [rows, read] = readUpTo(page, ([, item]) => whole.get(item), maxBytes);
  const last = page[read - 1];
  return [rows, found.length > read && last !== undefined ? [last[0].toString(), Number(last[1])] : undefined];
};

/** The expected answer as JSON text. */
export const findExpected = (statements: Statements, traceId: string, project: string): string | undefined =>
  statements
    .pluck<string>(
      `SELECT i.expected FROM dataset_items AS i INDEXED BY dataset_items_by_source
         JOIN datasets AS d ON d.dataset = i.dataset JOIN projects AS p ON p.project = d.project
       WHERE i.source_trace_id = ? AND i.expected IS NOT NULL AND p.name = ? ORDER BY i.at_ns DESC, i.item DESC LIMIT 1`,
    )
    .get(traceId, project);

export const listExperiments = (statements: Statements, query: Paging & Window): RowPage =>
  listByTime(statements, { from: 'experiments', key: 'experiment', columns: EXPERIMENT }, query, 'desc', () => {});

export const findExperiment = (statements: Statements, experimentId: string, reach: ProjectReach): Row | undefined =>
  statements
    .exact<Row>(
      `SELECT ${EXPERIMENT} FROM experiments AS r JOIN projects AS p ON p.project = r.project
       WHERE r.project IN (SELECT value FROM json_each(?)) AND r.experiment_id = ? ORDER BY p.name LIMIT 1`,
    )
    .get(JSON.stringify(projectNumbers(statements, reach)), experimentId);

/**
 * Scorer, version, count, mean and the sum of squared distances from it, in two passes: the sum of squares less the square
 * of the sum would lose every digit of a narrow spread around a large mean.
 */
export const scoreStatistics = (statements: Statements, experimentId: string, reach: ProjectReach): Row[] =>
  statements
    .exact<Row>(
      `WITH own AS MATERIALIZED (
         SELECT s.scorer_id, s.scorer_version, s.value FROM scores AS s INDEXED BY scores_by_experiment
         WHERE s.project IN (SELECT value FROM json_each(?)) AND s.experiment_id = ?
       ), means AS MATERIALIZED (
         SELECT scorer_id, scorer_version, count(*) AS count, ${meanOf('value')} AS mean FROM own GROUP BY scorer_id, scorer_version
       )
       SELECT m.scorer_id, m.scorer_version, m.count, m.mean, sum((o.value - m.mean) * (o.value - m.mean))
       FROM means AS m JOIN own AS o ON o.scorer_id = m.scorer_id AND o.scorer_version IS m.scorer_version
       GROUP BY m.scorer_id, m.scorer_version ORDER BY m.scorer_id, m.scorer_version`,
    )
    .all(JSON.stringify(projectNumbers(statements, reach)), experimentId);
