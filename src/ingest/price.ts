import { resolveModelId } from '../model/model-id.ts';
import type { Cost, Span, Usage } from '../model/span.ts';
import { AGGREGATE, COST_SKIPPED } from './mapping/kind-rules.ts';

/**
 * What one model costs, in currency units per million tokens. A rate the provider does not publish is absent, and its
 * tokens fall back as the specification's table says.
 * @see Interface specification, "Cost", "Meters and fallbacks"
 */
export type Rates = {
  /** Ordinary input tokens. */
  readonly input: number;
  /** Ordinary completion tokens; 0 for a model that completes nothing, such as an embedding model. */
  readonly output: number;
  /** Tokens served from a prompt cache; else `input`. */
  readonly cacheRead?: number;
  /** Tokens written to a prompt cache; else `input`. */
  readonly cacheWrite?: number;
  /** Writes to a five-minute cache; else `cacheWrite`, then `input`. */
  readonly cacheWrite5m?: number;
  /** Writes to a one-hour cache; else `cacheWrite`, then `input`. */
  readonly cacheWrite1h?: number;
  /** Audio input tokens; else `input`. */
  readonly audioInput?: number;
  /** Audio output tokens; else `output`. */
  readonly audioOutput?: number;
  /** Hidden reasoning tokens. No fallback: without a rate they are part of the output total. */
  readonly reasoning?: number;
};

/** Rates by case-folded model id. `asOf` is the day on which the prices were known to be published, as `YYYY-MM-DD`. */
export type PriceBook = {
  readonly id: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly asOf: string;
  readonly rates: ReadonlyMap<string, Rates>;
};

/** One provider's published prices, as the built-in book is put together from them. */
export type ProviderPrices = {
  readonly provider: string;
  /** The public page on which the provider lists them. */
  readonly source: string;
  /** By lower-case model id. */
  readonly models: Readonly<Record<string, Rates>>;
};

const TOKENS_PER_RATE = 1_000_000;

/**
 * Finds the entry of the book that prices a model.
 * @returns the entry's id, `undefined` when the book does not hold the model
 * @see Interface specification, "Cost", "Model id resolution"
 */
export const findBookEntry = (model: string, book: PriceBook): string | undefined =>
  resolveModelId(model, (id) => book.rates.has(id));

/**
 * Finds a model's rates.
 * @returns `undefined` when the book does not hold the model: it then has no cost, which is not an error
 */
export const resolveModel = (model: string, book: PriceBook): Rates | undefined => {
  const entry = findBookEntry(model, book);
  return entry === undefined ? undefined : book.rates.get(entry);
};

/**
 * Cost of one meter of a model call.
 * @param tokens tokens counted on this meter
 * @param ratePerMillion currency units per 1,000,000 tokens, from the price book
 * @returns currency units of that book, unrounded
 * @see Interface specification, "Cost", rule 2
 */
const costOfMeter = (tokens: number, ratePerMillion: number): number => (tokens * ratePerMillion) / TOKENS_PER_RATE;

const atLeastZero = (tokens: number): number => (tokens > 0 ? tokens : 0);

/**
 * Input side: each metered count at its own rate, the remainder at `input`.
 *
 * A five-minute and a one-hour count are parts of `cacheWrite` where that is sent too, so only what they leave of it is
 * charged at the general rate. Cached tokens are inside the input count by convention; where they are more than it, the
 * emitter counts them apart, and the input count holds none of them.
 */
const inputCost = (inputTokens: number, details: Usage['inputDetails'], rates: Rates): number => {
  if (details === undefined) return costOfMeter(inputTokens, rates.input);
  const cacheRead = details.cacheRead ?? 0;
  const write5m = details.cacheWrite5m ?? 0;
  const write1h = details.cacheWrite1h ?? 0;
  const writeOther = atLeastZero((details.cacheWrite ?? 0) - write5m - write1h);
  const audio = details.audio ?? 0;
  const cached = cacheRead + write5m + write1h + writeOther;
  const cachedInsideInput = cached > inputTokens ? 0 : cached;
  const remainder = details.text ?? atLeastZero(inputTokens - cachedInsideInput - audio);
  const writeRate = rates.cacheWrite ?? rates.input;
  return (
    costOfMeter(remainder, rates.input) +
    costOfMeter(cacheRead, rates.cacheRead ?? rates.input) +
    costOfMeter(writeOther, writeRate) +
    costOfMeter(write5m, rates.cacheWrite5m ?? writeRate) +
    costOfMeter(write1h, rates.cacheWrite1h ?? writeRate) +
    costOfMeter(audio, rates.audioInput ?? rates.input)
  );
};

/**
 * Output side. Reasoning is a meter of its own only where the book has a rate for it; else it stays inside the remainder,
 * and so is not charged at all beside an explicit `text` count.
 */
const outputCost = (outputTokens: number, details: Usage['outputDetails'], rates: Rates): number => {
  if (details === undefined) return costOfMeter(outputTokens, rates.output);
  const audio = details.audio ?? 0;
  const reasoning = rates.reasoning === undefined ? 0 : (details.reasoning ?? 0);
  const remainder = details.text ?? atLeastZero(outputTokens - audio - reasoning);
  return (
    costOfMeter(remainder, rates.output) +
    costOfMeter(audio, rates.audioOutput ?? rates.output) +
    costOfMeter(reasoning, rates.reasoning ?? rates.output)
  );
};

/**
 * Prices a usage with a book's rates.
 *
 * A side that was not counted is derived from the total where that is possible. A total alone cannot be split, so it is
 * charged at the input rate, as the least the call can have cost, and no split is given. A side that stays unknown
 * adds nothing and has no figure of its own.
 * @returns the unrounded cost, or `undefined` when the book does not hold the model or nothing was counted; a model that
 * is priced at zero costs zero
 * @see Interface specification, "Cost", rules 2, 4 and 5
 */
export const priceUsage = (model: string, usage: Usage, book: PriceBook): Cost | undefined => {
  const rates = resolveModel(model, book);
  if (rates === undefined) return undefined;
  const { totalTokens, inputDetails, outputDetails } = usage;
  let { inputTokens, outputTokens } = usage;
  if (totalTokens !== undefined) {
    if (inputTokens === undefined && outputTokens !== undefined) inputTokens = atLeastZero(totalTokens - outputTokens);
    else if (outputTokens === undefined && inputTokens !== undefined)
      outputTokens = atLeastZero(totalTokens - inputTokens);
  }
  const estimate = { currency: book.currency, isEstimated: true, priceBookId: book.id } as const;
  if (inputTokens === undefined && outputTokens === undefined) {
    if (totalTokens === undefined) return undefined;
    return { totalCost: inputCost(totalTokens, inputDetails, rates), ...estimate };
  }
  const input =
    inputTokens === undefined && inputDetails === undefined
      ? undefined
      : inputCost(inputTokens ?? 0, inputDetails, rates);
  const output =
    outputTokens === undefined && outputDetails === undefined
      ? undefined
      : outputCost(outputTokens ?? 0, outputDetails, rates);
  return {
    totalCost: (input ?? 0) + (output ?? 0),
    ...(input !== undefined && { inputCost: input }),
    ...(output !== undefined && { outputCost: output }),
    ...estimate,
  };
};

/**
 * Prices one span. A span that arrived with a cost is left exactly as received; one without a model, without a usage, of
 * a model that the book does not hold, or that is marked as an aggregate, has no cost.
 * @see Interface specification, "Cost", rules 1 and 4
 */
export const priceSpan = (span: Span, book: PriceBook): Span => {
  if (span.cost !== undefined || span.model === undefined || span.usage === undefined) return span;
  if (span.attributes[COST_SKIPPED] === AGGREGATE) return span;
  const cost = priceUsage(span.model, span.usage, book);
  return cost === undefined ? span : { ...span, cost };
};

/** Prices spans in their order. */
export const priceSpans = (spans: readonly Span[], book: PriceBook): readonly Span[] =>
  spans.map((span) => priceSpan(span, book));
