import type { components } from '../../model/generated/openapi.ts';
import { formatTimestamp, type UnixNano } from '../../model/time.ts';
import type {
  CostReport,
  ModelShare,
  ProjectSummary,
  RollUp,
  SummaryGroup,
  SummaryReport,
} from '../../store/signals/query.ts';
import { totalCostToWire } from './money.ts';

type Schemas = components['schemas'];
type Bounds = { readonly from: UnixNano; readonly to: UnixNano };

/** @param idName the wire name of the identity that traces are rolled up by */
export const rollUpToWire = (rollUp: RollUp, idName: 'session_id' | 'user_id'): Schemas['RollUp'] =>
  ({
    [idName]: rollUp.id,
    project: rollUp.project,
    trace_count: rollUp.traceCount,
    error_count: rollUp.errorCount,
    cost: totalCostToWire(rollUp),
    first_seen: formatTimestamp(rollUp.firstSeen),
    last_seen: formatTimestamp(rollUp.lastSeen),
  }) as unknown as Schemas['RollUp'];

export const projectToWire = (project: ProjectSummary) => ({
  project: project.project,
  trace_count: project.traceCount,
  first_seen: project.firstSeen === undefined ? undefined : formatTimestamp(project.firstSeen),
  last_seen: project.lastSeen === undefined ? undefined : formatTimestamp(project.lastSeen),
});

const sharesToWire = (shares: readonly ModelShare[] | undefined) =>
  shares?.map(({ model, count, totalCost }) => ({ model, count, total_cost: totalCost }));

/**
 * @param bookCurrency the currency of a window in which nothing was priced, and which cost nothing
 * @see Interface specification, "Query API: analytics"; Interface decisions, "12. Decided since", "Analytics"
 */
export const costReportToWire = (
  report: CostReport,
  { from, to }: Bounds,
  bookCurrency: string,
): Schemas['CostReport'] =>
  ({
    from: formatTimestamp(from),
    to: formatTimestamp(to),
    currency: report.currency ?? bookCurrency,
    total_cost: report.totalCost ?? 0,
    groups: report.groups.map((group) => ({
      key: group.key,
      count: group.count,
      error_count: group.errorCount,
      total_cost: group.totalCost,
      input_tokens: group.inputTokens,
      output_tokens: group.outputTokens,
      latency: group.latency === undefined ? undefined : { mean: group.latency.mean, max: group.latency.max },
      models: sharesToWire(group.models),
    })),
    series: report.series?.map((point) => ({
      time: formatTimestamp(point.time),
      key: point.key,
      count: point.count,
      total_cost: point.totalCost,
    })),
  }) as Schemas['CostReport'];

/** Of no runs there is no rate. */
const shareOf = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);

const summaryTotals = (totals: SummaryGroup) => ({
  trace_count: totals.traceCount,
  error_count: totals.errorCount,
  cancelled_count: totals.cancelledCount,
  error_rate: shareOf(totals.errorCount, totals.traceCount - totals.cancelledCount),
  total_cost: totals.totalCost,
  input_tokens: totals.inputTokens,
  output_tokens: totals.outputTokens,
  latency:
    totals.latency === undefined
      ? undefined
      : {
          mean: totals.latency.mean,
          p50: totals.latency.p50,
          p90: totals.latency.p90,
          p95: totals.latency.p95,
          p99: totals.latency.p99,
          max: totals.latency.max,
        },
});

/** @param grouped whether the reader asked for groups @see Interface decisions, "7. Analytics" */
export const summaryReportToWire = (
  report: SummaryReport,
  { from, to }: Bounds,
  grouped: boolean,
): Schemas['SummaryReport'] =>
  ({
    from: formatTimestamp(from),
    to: formatTimestamp(to),
    ...summaryTotals(report),
    currency: report.currency,
    groups: grouped
      ? report.groups.map((group) => ({ key: group.key, ...summaryTotals(group), models: sharesToWire(group.models) }))
      : undefined,
  }) as Schemas['SummaryReport'];
