import { roundSum } from '../../model/money.ts';
import type { SpanKind, SpanStatus } from '../../model/span.ts';
import type { UnixNano } from '../../model/time.ts';
import type { Judgements } from './judgements.ts';
import type { FacetValue, TraceFacet } from './trace-facets.ts';

/** What the totals of a trace read of one of its spans. */
export type SpanFigures = {
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  readonly status: SpanStatus;
  /** The span of a durable run that was cancelled. */
  readonly isCancelled: boolean;
  readonly startTime: UnixNano;
  readonly endTime: UnixNano | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly entityName: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly totalTokens: number | null;
  readonly totalCost: number | null;
  readonly currency: string | null;
  /** The span only repeats what its children used. */
  readonly repeatsUsage: boolean;
  /** Which of the trace's contexts is the span's. */
  readonly context: number;
};

/** Fields of a context whose value stands in the summary, and the facet of the values that only other spans have. */
export const sharedFields = [
  ['environment', 'spanEnvironment'],
  ['serviceName', 'spanServiceName'],
  ['serviceVersion', undefined],
  ['release', undefined],
  ['userId', 'spanUserId'],
  ['sessionId', 'spanSessionId'],
  ['threadId', undefined],
  ['runId', undefined],
  ['experimentId', undefined],
] as const satisfies readonly (readonly [TraceFacet, TraceFacet | undefined])[];
export type SharedField = (typeof sharedFields)[number][0];

/** What spans have in common: where they ran, and for whom. */
export type TraceContext = Readonly<Record<SharedField, string | null>> & { readonly tags: readonly string[] };

/** Totals of one trace, and every value by which it is found. Absent is null; an unknown figure is not zero. */
export type TraceTotals = {
  /** The span that stands for the trace. */
  readonly lead: SpanFigures;
  readonly name: string;
  readonly status: SpanStatus;
  readonly isCancelled: boolean;
  readonly startTime: UnixNano;
  readonly durationNs: bigint | null;
  readonly spanCount: number;
  readonly errorCount: number;
  readonly totalCost: number | null;
  readonly currency: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly totalTokens: number | null;
  /** Sorted. */
  readonly models: readonly string[];
  /** Sorted. */
  readonly tags: readonly string[];
  /** In the order of `sharedFields`. */
  readonly shared: readonly (string | null)[];
  readonly facets: readonly FacetValue[];
};

/** Earlier start first, then the smaller span id: an order that no arrival order can change. */
const isEarlier = (a: SpanFigures, b: SpanFigures): boolean =>
  a.startTime < b.startTime || (a.startTime === b.startTime && a.spanId < b.spanId);

const bySpanId = (a: SpanFigures, b: SpanFigures): number => (a.spanId < b.spanId ? -1 : 1);

/** Values of one field over the contexts of a trace: the one that stands for the trace, and all there are. */
const valuesOf = (
  field: SharedField,
  lead: TraceContext,
  ordered: readonly TraceContext[],
): { first: string | null; all: Set<string> } => {
  let first = lead[field];
  const all = new Set<string>();
  for (const context of ordered) {
    const value = context[field];
    if (value === null) continue;
    first ??= value;
    all.add(value);
  }
  return { first, all };
};

/** Adds up the totals of one trace, whose spans come one after the other. */
export type TotalsSum = {
  /** @param span comes after those with a smaller id */
  readonly add: (span: SpanFigures) => void;
  /**
   * The totals of what was added, which is at least one span.
   * @param contextOf a context of the trace, by the number that its spans name
   */
  readonly totals: (
    contextOf: (context: number) => TraceContext,
    judged: Pick<Judgements, 'latestMeans' | 'feedback'>,
  ) => TraceTotals;
};

/**
 * Adds up the totals of a trace, for every engine. The same spans give the same totals, bit for bit: they come in the order of their ids, and
 * none is kept but those that stand for others, as a trace may have very many.
 *
 * The first root, else the earliest span, stands for the trace: it gives name and status (while no root has arrived, any
 * failed span makes the trace failed; one of a cancelled run makes it cancelled), and what it does not say of its context the earliest span that says it gives.
 * Tokens of a span that only repeats its children's are not counted again.
 *
 * @see Interface specification, "Cost", rule 3, and "Trace summary and detail"
 */
export const sumTotals = (): TotalsSum => {
  let spanCount = 0;
  let earliest: SpanFigures | undefined;
  let root: SpanFigures | undefined;
  let lastEnd: bigint | null = null;
  let errorCount = 0;
  let cost = 0;
  let priced = 0;
  let currency: string | null = null;
  let inputTokens: number | null = null;
  let outputTokens: number | null = null;
  let totalTokens: number | null = null;
  const models = new Set<string>();
  const providers = new Set<string>();
  const entities = new Set<string>();
  const kinds = new Set<string>();
  const firstOfContext = new Map<number, SpanFigures>();

  const add = (span: SpanFigures): void => {
    spanCount++;
    if (earliest === undefined || isEarlier(span, earliest)) earliest = span;
    if (span.parentSpanId === null && (root === undefined || isEarlier(span, root))) root = span;
    if (span.endTime !== null && (lastEnd === null || span.endTime > lastEnd)) lastEnd = span.endTime;
    if (span.status === 'error') errorCount++;
    if (span.totalCost !== null) {
      cost += span.totalCost;
      priced++;
      currency ??= span.currency;
    }
    if (!span.repeatsUsage) {
      const { inputTokens: input, outputTokens: output, totalTokens: total } = span;
      if (input !== null) inputTokens = (inputTokens ?? 0) + input;
      if (output !== null) outputTokens = (outputTokens ?? 0) + output;
      // A usage without a total of its own has the sum of its two sides.
      if (total !== null) totalTokens = (totalTokens ?? 0) + total;
      else if (input !== null || output !== null) totalTokens = (totalTokens ?? 0) + (input ?? 0) + (output ?? 0);
    }
    if (span.model !== null) models.add(span.model);
    if (span.provider !== null) providers.add(span.provider);
    if (span.entityName !== null) entities.add(span.entityName);
    kinds.add(span.kind);
    const known = firstOfContext.get(span.context);
    if (known === undefined || isEarlier(span, known)) firstOfContext.set(span.context, span);
  };

  const totals: TotalsSum['totals'] = (contextOf, judged) => {
    if (earliest === undefined) throw new Error('a trace without a span has no totals');
    const lead = root ?? earliest;
    const isCancelled = root?.isCancelled === true;
    const status = isCancelled ? 'unset' : root === undefined && errorCount > 0 ? 'error' : lead.status;
    const length = lastEnd === null ? null : lastEnd - earliest.startTime;
    const leadContext = contextOf(lead.context);
    const orderedContexts =
      firstOfContext.size === 1
        ? [leadContext]
        : [...firstOfContext].sort(([, a], [, b]) => (isEarlier(a, b) ? -1 : 1)).map(([context]) => contextOf(context));
    const tags = new Set<string>();
    for (const context of orderedContexts) for (const tag of context.tags) tags.add(tag);

    const facets: FacetValue[] = [
      ['status', status],
      ['name', lead.name],
    ];
    if (errorCount > 0) facets.push(['hasError', 'yes']);
    for (const model of models) facets.push(['model', model]);
    for (const provider of providers) facets.push(['provider', provider]);
    for (const entity of entities) facets.push(['entityName', entity]);
    for (const kind of kinds) facets.push(['kind', kind]);
    for (const tag of tags) facets.push(['tag', tag]);
    const shared: (string | null)[] = [];
    for (const [field, elsewhere] of sharedFields) {
      const { first, all } = valuesOf(field, leadContext, orderedContexts);
      shared.push(first);
      if (first !== null) facets.push([field, first]);
      if (elsewhere !== undefined) for (const value of all) if (value !== first) facets.push([elsewhere, value]);
    }
    for (const [kind] of judged.feedback) facets.push(['feedback', kind]);
    for (const [scorer] of judged.latestMeans) facets.push(['score', scorer]);

    return {
      lead,
      name: lead.name,
      status,
      isCancelled,
      startTime: earliest.startTime,
      durationNs: length === null || length >= 0n ? length : 0n,
      spanCount,
      errorCount,
      // "A run whose spans total nothing is returned with no cost figure rather than zero."
      totalCost: cost === 0 ? null : priced === 1 ? cost : roundSum(cost),
      currency: cost === 0 ? null : currency,
      inputTokens,
      outputTokens,
      totalTokens,
      models: [...models].sort(),
      tags: [...tags].sort(),
      shared,
      facets,
    };
  };
  return { add, totals };
};

/** Totals of spans that are at hand. @param spans not empty; sorted in place */
export const totalTrace = (
  spans: SpanFigures[],
  contextOf: (context: number) => TraceContext,
  judged: Pick<Judgements, 'latestMeans' | 'feedback'>,
): TraceTotals => {
  const sum = sumTotals();
  for (const span of spans.sort(bySpanId)) sum.add(span);
  return sum.totals(contextOf, judged);
};
