import type { components } from '../../model/generated/openapi.ts';
import { formatTimestamp } from '../../model/time.ts';
import type { BuiltInScorer } from '../../scoring/built-in.ts';
import type { CaptureReport } from '../../scoring/capture.ts';
import type { Comparison } from '../../scoring/compare.ts';
import type { Sample } from '../../scoring/significance.ts';
import type { Skipped } from '../../scoring/score-runs.ts';
import type { Dataset, DatasetItem, Experiment } from '../../store/signals/evaluation.ts';

type Schemas = components['schemas'];

/** @see Interface specification, "Query API: traces, scores, feedback", `GET /v1/api/scorers` */
export const scorerToWire = (scorer: BuiltInScorer): Schemas['Scorer'] =>
  ({
    scorer_id: scorer.id,
    scorer_version: scorer.version,
    description: scorer.passes,
    declines: scorer.declines,
    needs_config: scorer.needsConfig,
    config: scorer.config,
  }) as Schemas['Scorer'];

export const skippedToWire = ({ traceId, scorerId, reason }: Skipped): Schemas['ScoreReport']['skipped'][number] => ({
  trace_id: traceId,
  scorer_id: scorerId,
  reason,
});

/** @see Interface decisions, "6. Scoring, datasets, experiments" */
export const datasetToWire = (dataset: Dataset): Schemas['Dataset'] =>
  ({
    dataset_id: dataset.datasetId,
    name: dataset.name,
    project: dataset.project,
    description: dataset.description,
    created_at: formatTimestamp(dataset.createdAt),
    item_count: dataset.itemCount,
  }) as Schemas['Dataset'];

export const itemToWire = (item: DatasetItem): Schemas['DatasetItem'] =>
  ({
    item_id: item.itemId,
    dataset_id: item.datasetId,
    input: item.input,
    expected: item.expected,
    metadata: item.metadata,
    source_trace_id: item.sourceTraceId,
    created_at: formatTimestamp(item.createdAt),
  }) as Schemas['DatasetItem'];

export const captureToWire = ({ captured, skipped }: CaptureReport) => ({
  captured: captured.length,
  items: captured.map(({ itemId, traceId }) => ({ item_id: itemId, source_trace_id: traceId })),
  skipped: skipped.map(({ traceId, reason }) => ({ trace_id: traceId, reason })),
});

export const experimentToWire = (experiment: Experiment): Schemas['Experiment'] =>
  ({
    experiment_id: experiment.experimentId,
    name: experiment.name,
    project: experiment.project,
    dataset_id: experiment.datasetId,
    service_version: experiment.serviceVersion,
    metadata: experiment.metadata,
    created_at: formatTimestamp(experiment.createdAt),
  }) as Schemas['Experiment'];

const sampleToWire = ({ mean, count, stddev }: Sample) => ({ mean, count, stddev });

export const comparisonToWire = (baseline: string, candidate: string, comparison: Comparison): Schemas['Comparison'] =>
  ({
    baseline,
    candidate,
    scorers: comparison.scorers.map((scorer) => ({
      scorer_id: scorer.scorerId,
      scorer_version: scorer.scorerVersion,
      baseline: sampleToWire(scorer.baseline),
      candidate: sampleToWire(scorer.candidate),
      delta: scorer.delta,
      p_value: scorer.pValue,
      decidable: scorer.decidable,
      regressed: scorer.regressed,
    })),
    not_compared: comparison.notCompared.map(({ scorerId, scorerVersion, side, count }) => ({
      scorer_id: scorerId,
      scorer_version: scorerVersion,
      side,
      count,
    })),
  }) as Schemas['Comparison'];
