import type { Json, JsonObject } from '../../../model/json.ts';
import type { Dataset, DatasetItem, Experiment, NewDataset, NewDatasetItem, ScoreStatistic } from '../evaluation.ts';
import { present, rowReader } from './decode.ts';
import type { Row } from './columns.ts';

export const encodeDataset = (dataset: NewDataset): Row => [
  dataset.project,
  dataset.datasetId,
  dataset.name,
  dataset.description ?? null,
  dataset.createdAt,
];

export const decodeDataset = (row: Row): Dataset => {
  const r = rowReader(row);
  return present<Dataset>({
    datasetId: r.mustText(),
    name: r.mustText(),
    project: r.mustText(),
    description: r.text(),
    createdAt: r.mustNanos(),
    itemCount: r.mustNumber(),
  });
};

const jsonOrNull = (value: Json | undefined): string | null => (value === undefined ? null : JSON.stringify(value));

export const encodeItem = (item: NewDatasetItem): Row => [
  item.itemId,
  item.createdAt,
  item.sourceTraceId ?? null,
  JSON.stringify(item.input),
  jsonOrNull(item.expected),
  jsonOrNull(item.metadata),
];

export const decodeItem = (row: Row): DatasetItem => {
  const r = rowReader(row);
  const itemId = r.mustText();
  const datasetId = r.mustText();
  const createdAt = r.mustNanos();
  const sourceTraceId = r.text();
  return present<DatasetItem>({
    itemId,
    datasetId,
    input: r.json<Json>() ?? null,
    expected: r.json<Json>(),
    metadata: r.json<JsonObject>(),
    sourceTraceId,
    createdAt,
  });
};

export const encodeExperiment = (experiment: Experiment): Row => [
  experiment.project,
  experiment.experimentId,
  experiment.name,
  experiment.datasetId ?? null,
  experiment.serviceVersion ?? null,
  jsonOrNull(experiment.metadata),
  experiment.createdAt,
];

export const decodeExperiment = (row: Row): Experiment => {
  const r = rowReader(row);
  return present<Experiment>({
    experimentId: r.mustText(),
    name: r.mustText(),
    project: r.mustText(),
    datasetId: r.text(),
    serviceVersion: r.text(),
    metadata: r.json<JsonObject>(),
    createdAt: r.mustNanos(),
  });
};

export const decodeStatistic = (row: Row): ScoreStatistic => {
  const r = rowReader(row);
  const scorerId = r.mustText();
  const scorerVersion = r.text();
  const count = r.mustNumber();
  const mean = r.mustNumber();
  const squares = r.number() ?? Number.POSITIVE_INFINITY;
  // Squares of distances have no number long before the values have none.
  const stddev = count < 2 ? Number.NaN : Math.sqrt(squares / (count - 1));
  return present<ScoreStatistic>({
    scorerId,
    scorerVersion,
    count,
    mean,
    stddev: Number.isFinite(stddev) ? stddev : undefined,
  });
};
