import { resolveModelId } from '../model/model-id.ts';
import { attributeOf, type Cost, type Span, type Usage } from '../model/span.ts';
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

/** What is counted and charged by itself; each has a rate of the same name. */
export type Meter = keyof Rates;

/** The rate of the meter that stands in where a meter has none of its own. */
const FALLBACKS = {
  cacheRead: 'input',
  cacheWrite: 'input',
  cacheWrite5m: 'cacheWrite',
  cacheWrite1h: 'cacheWrite',
  audioInput: 'input',
  audioOutput: 'output',
  reasoning: 'output',
} as const satisfies Partial<Record<Meter, Meter>>;

/**
 * The meter at whose rate a meter is charged: itself, or the one that stands in.
 * @see Interface specification, "Cost", "Meters and fallbacks"
 */
export const ratedAs = (meter: Meter, rates: Rates): Meter => {
  let at = meter;
  while (at !== 'input' && at !== 'output' && rates[at] === undefined) at = FALLBACKS[at];
  return at;
};

const rateOf = (meter: Meter, rates: Rates): number => rates[ratedAs(meter, rates)] ?? 0;

/** Charges the tokens of one meter. @returns currency units, unrounded */
type Charge = (meter: Meter, tokens: number) => number;

/**
 * Input side: each metered count at its own rate, the remainder at `input`.
 *
 * A five-minute and a one-hour count are parts of `cacheWrite` where that is sent too, so only what they leave of it is
 * charged at the general rate. Cached tokens are inside the input count by convention; where they are more than it, the
 * emitter counts them apart, and the input count holds none of them.
 */
const inputCost = (inputTokens: number, details: Usage['inputDetails'], charge: Charge): number => {
  if (details === undefined) return charge('input', inputTokens);
  const cacheRead = details.cacheRead ?? 0;
  const write5m = details.cacheWrite5m ?? 0;
  const write1h = details.cacheWrite1h ?? 0;
  const writeOther = atLeastZero((details.cacheWrite ?? 0) - write5m - write1h);
  const audio = details.audio ?? 0;
  const cached = cacheRead + write5m + write1h + writeOther;
  const cachedInsideInput = cached > inputTokens ? 0 : cached;
  return (
    charge('input', details.text ?? atLeastZero(inputTokens - cachedInsideInput - audio)) +
    charge('cacheRead', cacheRead) +
    charge('cacheWrite', writeOther) +
    charge('cacheWrite5m', write5m) +
    charge('cacheWrite1h', write1h) +
    charge('audioInput', audio)
  );
};

/**
 * Output side. Reasoning is a meter of its own only where the book has a rate for it; else it stays inside the remainder,
 * and so is not charged at all beside an explicit `text` count.
 */
const outputCost = (outputTokens: number, details: Usage['outputDetails'], rates: Rates, charge: Charge): number => {
  if (details === undefined) return charge('output', outputTokens);
  const audio = details.audio ?? 0;
  const reasoning = rates.reasoning === undefined ? 0 : (details.reasoning ?? 0);
  return (
    charge('output', details.text ?? atLeastZero(outputTokens - audio - reasoning)) +
    charge('audioOutput', audio) +
    charge('reasoning', reasoning)
  );
};

/** Both counts, one of them derived from the total where that is possible. */
export const countedSides = ({
  inputTokens,
  outputTokens,
  totalTokens,
}: Usage): { readonly input: number | undefined; readonly output: number | undefined } => ({
  input:
    inputTokens === undefined && outputTokens !== undefined && totalTokens !== undefined
      ? atLeastZero(totalTokens - outputTokens)
      : inputTokens,
  output:
    outputTokens === undefined && inputTokens !== undefined && totalTokens !== undefined
      ? atLeastZero(totalTokens - inputTokens)
      : outputTokens,
});

/** One meter on a bill. `amount` is exactly what pricing added up. */
export type ReceiptLine = {
  readonly side: 'input' | 'output';
  readonly meter: Meter;
  readonly tokens: number;
  /** Currency units per million tokens. */
  readonly rate: number;
  readonly ratedAs: Meter;
  readonly amount: number;
};

/** Charges both sides of a usage; `onLine` gets each meter in the order in which its amount is added. */
const chargeUsage = (
  usage: Usage,
  rates: Rates,
  onLine?: (line: ReceiptLine) => void,
): Pick<Cost, 'totalCost' | 'inputCost' | 'outputCost'> | undefined => {
  const chargeOf =
    (side: ReceiptLine['side']): Charge =>
    (meter, tokens) => {
      const rate = rateOf(meter, rates);
      const amount = costOfMeter(tokens, rate);
      if (onLine !== undefined && tokens > 0)
        onLine({ side, meter, tokens, rate, ratedAs: ratedAs(meter, rates), amount });
      return amount;
    };
  const { totalTokens, inputDetails, outputDetails } = usage;
  const counted = countedSides(usage);
  if (counted.input === undefined && counted.output === undefined)
    return totalTokens === undefined
      ? undefined
      : { totalCost: inputCost(totalTokens, inputDetails, chargeOf('input')) };
  const input =
    counted.input === undefined && inputDetails === undefined
      ? undefined
      : inputCost(counted.input ?? 0, inputDetails, chargeOf('input'));
  const output =
    counted.output === undefined && outputDetails === undefined
      ? undefined
      : outputCost(counted.output ?? 0, outputDetails, rates, chargeOf('output'));
  return {
    totalCost: (input ?? 0) + (output ?? 0),
    ...(input !== undefined && { inputCost: input }),
    ...(output !== undefined && { outputCost: output }),
  };
};

/**
 * The meters by which a usage is priced, in the order in which pricing adds them: their amounts give its figures exactly,
 * each side by itself and then both.
 */
export const chargedLines = (usage: Usage, rates: Rates): readonly ReceiptLine[] => {
  const lines: ReceiptLine[] = [];
  chargeUsage(usage, rates, (line) => lines.push(line));
  return lines;
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
  const charged = chargeUsage(usage, rates);
  return charged && { ...charged, currency: book.currency, isEstimated: true, priceBookId: book.id };
};

/**
 * Prices one span. A span that arrived with a cost is left exactly as received; one without a model, without a usage, of
 * a model that the book does not hold, or that is marked as an aggregate, has no cost.
 * @see Interface specification, "Cost", rules 1 and 4
 */
export const priceSpan = (span: Span, book: PriceBook): Span => {
  if (span.cost !== undefined || span.model === undefined || span.usage === undefined) return span;
  if (attributeOf(span, COST_SKIPPED) === AGGREGATE) return span;
  const cost = priceUsage(span.model, span.usage, book);
  return cost === undefined ? span : { ...span, cost };
};

/** Prices spans in their order. */
export const priceSpans = (spans: readonly Span[], book: PriceBook): readonly Span[] =>
  spans.map((span) => priceSpan(span, book));
