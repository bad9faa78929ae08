import type { FeedbackKind } from '../../../model/signal.ts';
import type { TraceFacet } from '../../signals/trace-facets.ts';
import { facets, STATUS_ERROR } from './codes.ts';
import { CONTEXT, type Column, type Row, SPAN } from './wire.ts';

/** Scores of one trace by scorer and version, as kept in its row: scorer, version, mean, count. */
export type ScoreMeanRow = [scorerId: string, scorerVersion: string | null, mean: number, count: number];
export type Judgements = {
  readonly scores: readonly ScoreMeanRow[];
  /** For each scorer the mean of the version that judged last. */
  readonly latestMeans: readonly (readonly [scorerId: string, mean: number])[];
  readonly feedback: readonly (readonly [kind: FeedbackKind, count: number])[];
};

export const noJudgements: Judgements = { scores: [], latestMeans: [], feedback: [] };

export type FacetValue = readonly [facet: number, value: string];

export type TraceTotals = {
  readonly startNs: bigint;
  /** Columns of `traces` from `start_ns` to `feedback`. */
  readonly columns: readonly Column[];
  readonly facets: readonly FacetValue[];
};

const startOf = (span: Row): bigint => span[SPAN.start] as bigint;

/** Earlier start first, then the smaller span id: an order that no arrival order can change. */
const isEarlier = (a: Row, b: Row): boolean => {
  const startA = startOf(a);
  const startB = startOf(b);
  return startA < startB || (startA === startB && (a[SPAN.spanId] as string) < (b[SPAN.spanId] as string));
};

const bySpanId = (a: Row, b: Row): number => ((a[SPAN.spanId] as string) < (b[SPAN.spanId] as string) ? -1 : 1);

/** Values of one context place over the trace: the one that stands for the trace, and all there are. */
const valuesOf = (place: number, lead: Row, ordered: readonly Row[]): { first: Column; all: Set<string> } => {
  let first = lead[place] ?? null;
  const all = new Set<string>();
  for (const context of ordered) {
    const value = context[place];
    if (value === null || value === undefined) continue;
    first ??= value;
    all.add(value as string);
  }
  return { first, all };
};

/** Places of a context whose value stands in the trace's row, and the facet by which it is found. */
const inRow = [
  [CONTEXT.environment, 'environment', 'spanEnvironment'],
  [CONTEXT.serviceName, 'serviceName', 'spanServiceName'],
  [CONTEXT.serviceVersion, 'serviceVersion', undefined],
  [CONTEXT.release, 'release', undefined],
  [CONTEXT.userId, 'userId', 'spanUserId'],
  [CONTEXT.sessionId, 'sessionId', 'spanSessionId'],
  [CONTEXT.threadId, 'threadId', undefined],
  [CONTEXT.runId, 'runId', undefined],
  [CONTEXT.experimentId, 'experimentId', undefined],
] as const satisfies readonly (readonly [number, TraceFacet, TraceFacet | undefined])[];

/**
 * Totals of a trace from its spans. The same spans give the same totals, bit for bit, in whatever order they come: sums run
 * in the order of span ids.
 *
 * The first root, else the earliest span, stands for the trace: it gives name and status (while no root has arrived, any
 * failed span makes the trace failed), and what it does not say of its context the earliest span that says it gives.
 * Tokens of a span that only repeats its children's are not counted again.
 *
 * @param spans rows of the trace's spans; not empty. Integers may be numbers or bigints. Sorted in place
 * @param contexts contexts of the trace, by their place
 * @see Interface specification, "Cost", rule 3, and "Trace summary and detail"
 */
export const totalTrace = (spans: Row[], contexts: ReadonlyMap<number, Row>, judged: Judgements): TraceTotals => {
  spans.sort(bySpanId);
  let earliest: Row = spans[0] as Row;
  let root: Row | undefined;
  let lastEnd: bigint | null = null;
  let errors = 0;
  let cost = 0;
  let currency: Column = null;
  let inputTokens: number | null = null;
  let outputTokens: number | null = null;
  let totalTokens: number | null = null;
  const found: FacetValue[] = [];
  const models = new Set<string>();
  const providers = new Set<string>();
  const entities = new Set<string>();
  const kinds = new Set<string>();
  const firstOfContext = new Map<number, Row>();

  for (const span of spans) {
    if (isEarlier(span, earliest)) earliest = span;
    if (span[SPAN.parentSpanId] === null && (root === undefined || isEarlier(span, root))) root = span;
    const end = span[SPAN.end] as bigint | null;
    if (end !== null && (lastEnd === null || end > lastEnd)) lastEnd = end;
    if (Number(span[SPAN.status]) === STATUS_ERROR) errors++;
    const spanCost = span[SPAN.totalCost] as number | null;
    if (spanCost !== null) {
      cost += spanCost;
      currency ??= span[SPAN.currency] ?? null;
    }
    if (Number(span[SPAN.repeatsUsage]) === 0) {
      const input = span[SPAN.inputTokens];
      const output = span[SPAN.outputTokens];
      const total = span[SPAN.totalTokens];
      if (input !== null) inputTokens = (inputTokens ?? 0) + Number(input);
      if (output !== null) outputTokens = (outputTokens ?? 0) + Number(output);
      // A usage without a total of its own has the sum of its two sides.
      if (total !== null) totalTokens = (totalTokens ?? 0) + Number(total);
      else if (input !== null || output !== null)
        totalTokens = (totalTokens ?? 0) + Number(input ?? 0) + Number(output ?? 0);
    }
    if (span[SPAN.model] !== null) models.add(span[SPAN.model] as string);
    if (span[SPAN.provider] !== null) providers.add(span[SPAN.provider] as string);
    if (span[SPAN.entityName] !== null) entities.add(span[SPAN.entityName] as string);
    kinds.add(String(span[SPAN.kind]));
    const place = Number(span[SPAN.context]);
    const known = firstOfContext.get(place);
    if (known === undefined || isEarlier(span, known)) firstOfContext.set(place, span);
  }

  const lead = root ?? earliest;
  const status = root === undefined && errors > 0 ? STATUS_ERROR : Number(lead[SPAN.status]);
  const startNs = startOf(earliest);
  const length = lastEnd === null ? null : lastEnd - startNs;
  const leadContext = contexts.get(Number(lead[SPAN.context])) as Row;
  const orderedContexts =
    firstOfContext.size === 1
      ? [leadContext]
      : [...firstOfContext]
          .sort(([, a], [, b]) => (isEarlier(a, b) ? -1 : 1))
          .map(([place]) => contexts.get(place) as Row);

  const tags = new Set<string>();
  for (const context of orderedContexts) {
    const text = context[CONTEXT.tags] as string | null;
    if (text !== null) for (const tag of JSON.parse(text) as string[]) tags.add(tag);
  }

  const facet = (name: TraceFacet, value: string): void => {
    found.push([facets[name], value]);
  };
  facet('status', String(status));
  facet('name', lead[SPAN.name] as string);
  if (errors > 0) facet('hasError', '1');
  for (const model of models) facet('model', model);
  for (const provider of providers) facet('provider', provider);
  for (const entity of entities) facet('entityName', entity);
  for (const kind of kinds) facet('kind', kind);
  for (const tag of tags) facet('tag', tag);
  const shared: Column[] = [];
  for (const [place, name, elsewhere] of inRow) {
    const { first, all } = valuesOf(place, leadContext, orderedContexts);
    shared.push(first);
    if (first !== null) facet(name, first as string);
    if (elsewhere !== undefined) for (const value of all) if (value !== first) facet(elsewhere, value);
  }
  for (const [kind] of judged.feedback) facet('feedback', kind);
  for (const [scorer] of judged.latestMeans) facet('score', scorer);

  return {
    startNs,
    columns: [
      startNs,
      length === null || length >= 0n ? length : 0n,
      lead[SPAN.name] ?? '',
      status,
      spans.length,
      errors,
      // "A run whose spans total nothing is returned with no cost figure rather than zero."
      cost === 0 ? null : cost,
      cost === 0 ? null : currency,
      inputTokens,
      outputTokens,
      totalTokens,
      models.size === 0 ? null : JSON.stringify([...models].sort()),
      tags.size === 0 ? null : JSON.stringify([...tags].sort()),
      ...shared,
      judged.scores.length === 0 ? null : JSON.stringify(judged.scores),
      judged.feedback.length === 0 ? null : JSON.stringify(judged.feedback),
    ],
    facets: found,
  };
};
