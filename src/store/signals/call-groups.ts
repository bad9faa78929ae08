import { resolveModelId } from '../../model/model-id.ts';
import { roundSum } from '../../model/money.ts';
import type { SpanKind } from '../../model/span.ts';
import type { UnixNano } from '../../model/time.ts';
import type { CostGroup, CostGrouping, CostPoint, Latency, ModelShare } from './query.ts';

/** Groups of a report at the most. @see Interface specification, "Limits" */
export const MOST_GROUPS = 100;
/** Points of a series at the most. @see Interface specification, "Limits" */
export const MOST_POINTS = 5_000;
/** Ids of models that a group names at the most; a sender may prefix one model in any number of ways. */
const MOST_SHARES = 100;
const NANOS_PER_MILLI = 1e6;

/** Kinds of spans that are calls of a model. */
export const callKinds = ['model_generation', 'rag_embedding'] as const satisfies readonly SpanKind[];

/** Groupings that read model calls; the others read traces. */
export const callGroupings = ['model', 'provider', 'entity_name'] as const satisfies readonly CostGrouping[];
export type CallGrouping = (typeof callGroupings)[number];
export const isCallGrouping = (grouping: CostGrouping | undefined): grouping is CallGrouping =>
  callGroupings.some((one) => one === grouping);

/** Figures of spans or of traces that an engine has added up. Durations are in nanoseconds. */
export type Figures = {
  count: number;
  errors: number;
  /** Absent while nothing was priced. */
  cost: number | undefined;
  inputTokens: number;
  outputTokens: number;
  /** Of those that have a duration. */
  timed: number;
  totalNs: number;
  maxNs: number;
};

export const noFigures = (): Figures => ({
  count: 0,
  errors: 0,
  cost: undefined,
  inputTokens: 0,
  outputTokens: 0,
  timed: 0,
  totalNs: 0,
  maxNs: 0,
});

export const addFigures = (sum: Figures, more: Figures): void => {
  sum.count += more.count;
  sum.errors += more.errors;
  if (more.cost !== undefined) sum.cost = (sum.cost ?? 0) + more.cost;
  sum.inputTokens += more.inputTokens;
  sum.outputTokens += more.outputTokens;
  sum.timed += more.timed;
  sum.totalNs += more.totalNs;
  sum.maxNs = Math.max(sum.maxNs, more.maxNs);
};

/** Spans of one grouping value and one model id that say the same of their cost. */
export type CallRow = {
  /** Of the grouping field. */
  readonly value: string | undefined;
  readonly model: string | undefined;
  /**
   * `priced`: they carry a cost. `unpriced_call`: they carry none, and are calls of a model that have ended or failed. `usage`: they
   * are no calls, and have nothing but tokens; they count in no report of costs.
   */
  readonly is: 'priced' | 'unpriced_call' | 'usage';
  readonly figures: Figures;
};

/** The calls of one group, and those that make it up by the id of their model. */
export type CallGroup = { readonly figures: Figures; readonly byModel: ReadonlyMap<string, Figures> };

/** Says under which entry of the price book a model id stands; each id is looked up once. */
export const entriesOf = (bookModels: readonly string[]): ((model: string) => string | undefined) => {
  const held = new Set(bookModels);
  const known = new Map<string, string | undefined>();
  return (model) => {
    if (known.has(model)) return known.get(model);
    const entry = resolveModelId(model, (id) => held.has(id));
    known.set(model, entry);
    return entry;
  };
};

/** The key of a group: for models the entry of the price book, where there is one. */
export const keyOf = (
  groupBy: CostGrouping,
  value: string | undefined,
  entryOf: (model: string) => string | undefined,
): string | undefined => (groupBy === 'model' && value !== undefined ? (entryOf(value) ?? value) : value);

/**
 * Groups of model calls, for every engine and every report: what a group costs is decided here alone.
 * @param counts which rows the report counts
 * @see Interface decisions, "12. Decided since", "Analytics"
 */
export const groupCalls = (
  rows: Iterable<CallRow>,
  groupBy: CallGrouping,
  entryOf: (model: string) => string | undefined,
  counts: (row: CallRow) => boolean,
): Map<string | undefined, CallGroup> => {
  const groups = new Map<string | undefined, CallGroup & { readonly byModel: Map<string, Figures> }>();
  for (const row of rows) {
    if (!counts(row)) continue;
    const key = keyOf(groupBy, row.value, entryOf);
    let group = groups.get(key);
    if (group === undefined) {
      group = { figures: noFigures(), byModel: new Map() };
      groups.set(key, group);
    }
    addFigures(group.figures, row.figures);
    if (groupBy !== 'model' || row.model === undefined) continue;
    const share = group.byModel.get(row.model) ?? noFigures();
    addFigures(share, row.figures);
    group.byModel.set(row.model, share);
  }
  return groups;
};

/**
 * Whether a report of costs counts such calls: those that carry a cost, and those of a model of the book, because only what went
 * wrong kept them from having one.
 */
export const countsAsCost =
  (entryOf: (model: string) => string | undefined) =>
  ({ is, model }: CallRow): boolean =>
    is === 'priced' || (is === 'unpriced_call' && model !== undefined && entryOf(model) !== undefined);

type Ranked = { readonly key?: string; readonly totalCost?: number; readonly count: number };

/** By key, what has none first; a sort of bare keys puts that last, as sorts do with `undefined`. */
export const compareKeys = (a: string | undefined, b: string | undefined): number => {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
  return a < b ? -1 : 1;
};

/** Largest cost first, then most calls, then by key. */
export const byCost = (a: Ranked, b: Ranked): number =>
  (b.totalCost ?? -1) - (a.totalCost ?? -1) || b.count - a.count || compareKeys(a.key, b.key);

export const costOf = ({ cost }: Pick<Figures, 'cost'>): { readonly totalCost?: number } =>
  cost === undefined ? {} : { totalCost: roundSum(cost) };

const latencyOf = ({ timed, totalNs, maxNs }: Figures): { readonly latency?: Latency } => {
  if (timed === 0) return {};
  // The sum of many equal durations is rounded, and its mean may come out above each of them.
  const mean = Math.min(totalNs / timed, maxNs);
  return { latency: { mean: mean / NANOS_PER_MILLI, max: maxNs / NANOS_PER_MILLI } };
};

/** The model ids of a group, where they say more than its key. */
export const sharesOf = (key: string | undefined, byModel: CallGroup['byModel']): { models?: ModelShare[] } => {
  if (byModel.size === 0 || (byModel.size === 1 && key !== undefined && byModel.has(key))) return {};
  const shares = [...byModel].map(([model, figures]) => ({ key: model, count: figures.count, ...costOf(figures) }));
  return {
    models: shares
      .sort(byCost)
      .slice(0, MOST_SHARES)
      .map(({ key: model, ...share }) => ({ model, ...share })),
  };
};

/** The groups that a report of costs shows, in its order, and what each of all groups costs. */
export const costGroups = (
  groups: ReadonlyMap<string | undefined, CallGroup>,
): { readonly shown: CostGroup[]; readonly costs: number[] } => {
  const costs: number[] = [];
  // A report may have very many groups: those that it does not show are compared, and nothing else is made of them.
  const ranked: (Ranked & { readonly group: CallGroup })[] = [];
  for (const [key, group] of groups) {
    const cost = costOf(group.figures);
    if (cost.totalCost !== undefined) costs.push(cost.totalCost);
    ranked.push({ ...(key === undefined ? {} : { key }), ...cost, count: group.figures.count, group });
  }
  const shown = ranked
    .sort(byCost)
    .slice(0, MOST_GROUPS)
    .map(
      ({ group: { figures, byModel }, ...rank }): CostGroup => ({
        ...rank,
        errorCount: figures.errors,
        inputTokens: figures.inputTokens,
        outputTokens: figures.outputTokens,
        ...latencyOf(figures),
        ...sharesOf(rank.key, byModel),
      }),
    );
  return { shown, costs };
};

/** The points of one bucket of a series, for the groups that the report shows: by key, what has none last. */
export const pointsOf = (
  time: UnixNano,
  bucket: ReadonlyMap<string | undefined, Figures>,
  shown: ReadonlySet<string | undefined>,
): CostPoint[] =>
  [...bucket.keys()]
    .filter((key) => shown.has(key))
    .sort(compareKeys)
    .map((key) => {
      const figures = bucket.get(key) ?? noFigures();
      return { time, ...(key === undefined ? {} : { key }), count: figures.count, ...costOf(figures) };
    });
