import type { components } from '../../model/generated/openapi.ts';
import { formatTimestamp } from '../../model/time.ts';
import type { FacetReport, ScoreMean, TraceSummary } from '../../store/signals/query.ts';
import type { CountedFacet } from '../../store/signals/trace-facets.ts';
import { correlationToWire } from './correlation.ts';
import { totalCostToWire } from './money.ts';

type Wire = components['schemas']['TraceSummary'];

// In the language since ES2026, not yet in the compiler's library.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** A count of nanoseconds as a JSON number, to the last digit, which a double would not keep past 104 days. */
const exactInteger = (count: bigint): number => rawJson(count.toString()) as number;

const scoreMeanToWire = (score: ScoreMean): components['schemas']['ScoreMean'] =>
  ({
    scorer_id: score.scorerId,
    scorer_version: score.scorerVersion,
    mean: score.mean,
    count: score.count,
  }) as components['schemas']['ScoreMean'];

/** A trace as lists show it. @see Interface specification, "Trace summary and detail"; Interface decisions, "4. Signals, native names" */
export const traceToWire = (trace: TraceSummary): Wire =>
  ({
    trace_id: trace.traceId,
    name: trace.name,
    status: trace.status,
    cancelled: trace.isCancelled,
    start_time: formatTimestamp(trace.startTime),
    duration_ns: trace.durationNs === undefined ? null : exactInteger(trace.durationNs),
    span_count: trace.spanCount,
    error_count: trace.errorCount,
    cost: totalCostToWire(trace),
    usage:
      trace.inputTokens === undefined && trace.outputTokens === undefined && trace.totalTokens === undefined
        ? undefined
        : { input_tokens: trace.inputTokens, output_tokens: trace.outputTokens, total_tokens: trace.totalTokens },
    models: trace.models,
    correlation: correlationToWire(trace),
    scores: trace.scores.map(scoreMeanToWire),
    feedback: trace.feedback,
    thumbs: trace.thumbs,
  }) as Wire;

type WireFacets = components['schemas']['TraceFacets'];

/** The filter of the list that a property belongs to. */
const filterOf = {
  status: 'status',
  kind: 'kind',
  environment: 'environment',
  serviceName: 'service_name',
  serviceVersion: 'service_version',
  release: 'release',
  name: 'name',
  model: 'model',
  provider: 'provider',
  entityName: 'entity_name',
  userId: 'user_id',
  tag: 'tag',
  experimentId: 'experiment_id',
  feedback: 'has_feedback',
  score: 'has_score',
} as const satisfies Record<CountedFacet, WireFacets['facets'][number]['field']>;

export const facetsToWire = ({ traces, isComplete, facets }: FacetReport): WireFacets => ({
  traces,
  complete: isComplete,
  facets: facets.map(({ facet, values, otherValues, otherCount, without }) => ({
    field: filterOf[facet],
    values: [...values],
    other_values: otherValues,
    other_count: otherCount,
    without,
  })),
});
