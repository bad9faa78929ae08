import type { Json, JsonObject } from '../../model/json.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { UnixNano } from '../../model/time.ts';
import type { DeleteOutcome, Page, Paging, Window } from './query.ts';

/** A named set of cases. Id and name are each unique in a project. @see Interface decisions, "6. Scoring, datasets, experiments" */
export type Dataset = {
  readonly datasetId: string;
  readonly name: string;
  readonly project: string;
  readonly description?: string;
  readonly createdAt: UnixNano;
  readonly itemCount: number;
};
export type NewDataset = Omit<Dataset, 'itemCount'>;

/** Names one dataset. */
export type DatasetKey = Pick<Dataset, 'project' | 'datasetId'>;

/** One case: what goes in, and, where it is known, what should come out. */
export type DatasetItem = {
  readonly itemId: string;
  readonly datasetId: string;
  readonly input: Json;
  readonly expected?: Json;
  readonly metadata?: JsonObject;
  /** The run that the case was captured from. */
  readonly sourceTraceId?: string;
  readonly createdAt: UnixNano;
};
export type NewDatasetItem = Omit<DatasetItem, 'datasetId'>;

/** A version under trial. Scores belong to it by its id in their `experimentId`. */
export type Experiment = {
  readonly experimentId: string;
  readonly name: string;
  readonly project: string;
  readonly datasetId?: string;
  readonly serviceVersion?: string;
  readonly metadata?: JsonObject;
  readonly createdAt: UnixNano;
};

/** All scores of one scorer, in one version, in one experiment. */
export type ScoreStatistic = {
  readonly scorerId: string;
  readonly scorerVersion?: string;
  readonly count: number;
  readonly mean: number;
  /** Of the sample (n - 1); absent for a single score. */
  readonly stddev?: number;
};

/** Cases are written by their dataset; `no_dataset` when it is not there, or not any more. */
export type ItemsOutcome = 'written' | 'no_dataset';

/**
 * What evaluation keeps beside the signals. Datasets and experiments are records: retention does not trim them, and a case
 * outlives the run that it was captured from.
 */
export interface EvaluationStore {
  /**
   * Stores a dataset. One with the same id in its project is replaced, and keeps its cases and the time of its making.
   * @returns it as stored, or `undefined` when another dataset of the project has the name: nothing was written then
   */
  putDataset(dataset: NewDataset): Promise<Dataset | undefined>;
  /** Newest first. */
  listDatasets(query: Paging & Window): Promise<Page<Dataset>>;
  /** The dataset with this id in `byId`, else the one with this name in `byName`; of several the one of the first project. */
  findDataset(reference: string, byId: ProjectReach, byName: ProjectReach): Promise<Dataset | undefined>;
  /** Removes a dataset with its cases. */
  deleteDataset(dataset: DatasetKey): Promise<DeleteOutcome>;

  /** Stores cases together. One with the same id in its dataset is replaced, and keeps its place and the time of its making. */
  putItems(dataset: DatasetKey, items: readonly NewDatasetItem[]): Promise<ItemsOutcome>;
  findItem(dataset: DatasetKey, itemId: string): Promise<DatasetItem | undefined>;
  /** In the order of their making, so that who walks the pages while others add sees every case. */
  listItems(dataset: DatasetKey, paging: Pick<Paging, 'limit' | 'after' | 'maxBytes'>): Promise<Page<DatasetItem>>;
  deleteItem(dataset: DatasetKey, itemId: string): Promise<DeleteOutcome>;
  /** The expected answer of the newest case of the project that was captured from this run and has one. */
  findExpected(traceId: string, project: string): Promise<Json | undefined>;

  /** Stores an experiment. One with the same id in its project is replaced, and keeps the time of its making. @returns it as stored */
  putExperiment(experiment: Experiment): Promise<Experiment>;
  /** Newest first. */
  listExperiments(query: Paging & Window): Promise<Page<Experiment>>;
  /** The experiment with this id; of several the one of the first project. */
  findExperiment(experimentId: string, reach: ProjectReach): Promise<Experiment | undefined>;
  /** By scorer and then version. */
  scoreStatistics(experimentId: string, projects: ProjectReach): Promise<readonly ScoreStatistic[]>;
}
