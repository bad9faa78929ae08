import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtinPriceBook, priceSources } from '../../src/ingest/price-book.ts';
import type { PriceBook, Rates } from '../../src/ingest/price.ts';
import { findBookEntry, priceSpan, priceSpans, priceUsage, resolveModel } from '../../src/ingest/price.ts';
import type { Span, Usage } from '../../src/model/span.ts';

const aBook = (rates: Record<string, Rates>): PriceBook => ({
  id: 'test',
  currency: 'EUR',
  asOf: '2026-01-01',
  rates: new Map(Object.entries(rates)),
});

/** Rates that are all different, so that no meter can be mistaken for another. */
const every: Rates = {
  input: 10,
  output: 100,
  cacheRead: 1,
  cacheWrite: 12,
  cacheWrite5m: 13,
  cacheWrite1h: 20,
  audioInput: 40,
  audioOutput: 400,
  reasoning: 150,
};
const bare: Rates = { input: 10, output: 100 };

const total = (rates: Rates, usage: Usage): number | undefined =>
  priceUsage('m', usage, aBook({ m: rates }))?.totalCost;

/** A million tokens cost the rate, so that figures can be worked out in the head. */
const M = 1_000_000;

const aSpan = (over: Partial<Span> = {}): Span => ({
  traceId: '1'.repeat(32),
  spanId: '2'.repeat(16),
  name: 'chat',
  kind: 'model_generation',
  status: 'ok',
  startTime: 1n,
  endTime: 2n,
  isEvent: false,
  receivedAt: 3n,
  correlation: { project: 'default' },
  attributes: {},
  events: [],
  links: [],
  ...over,
});

describe('Cost, rule 1: priced once, at ingest', () => {
  const book = aBook({ m: bare });

  it('leaves a span that arrives already carrying a cost exactly as received', () => {
    const span = aSpan({
      model: 'm',
      usage: { inputTokens: M },
      cost: { totalCost: 0.5, currency: 'USD', isEstimated: false },
    });
    expect(priceSpan(span, book)).toBe(span);
  });

  it('stores total, split, currency, book and that it is an estimate', () => {
    const priced = priceSpan(aSpan({ model: 'm', usage: { inputTokens: 1500, outputTokens: 200 } }), book);
    // 1,500 × 10 ÷ 1,000,000 + 200 × 100 ÷ 1,000,000
    expect(priced.cost).toEqual({
      totalCost: 0.035,
      inputCost: 0.015,
      outputCost: 0.02,
      currency: 'EUR',
      isEstimated: true,
      priceBookId: 'test',
    });
  });

  it('gives an aggregate, which repeats its children, a usage and no cost', () => {
    const span = aSpan({
      model: 'm',
      usage: { inputTokens: M },
      attributes: { 'svc.cost.skipped': 'aggregate' },
    });
    expect(priceSpan(span, book)).toBe(span);
  });

  it('keeps the order and number of spans', () => {
    const spans = [
      aSpan({ name: 'a' }),
      aSpan({ name: 'b', model: 'm', usage: { inputTokens: 1 } }),
      aSpan({ name: 'c' }),
    ];
    const priced = priceSpans(spans, book);
    expect(priced.map((span) => span.name)).toEqual(['a', 'b', 'c']);
    expect(priced.map((span) => span.cost !== undefined)).toEqual([false, true, false]);
  });
});

describe('Cost, rule 2: cost for one meter = tokens × rate ÷ 1,000,000', () => {
  it('rounds nothing', () => {
    expect(total({ input: 0.035, output: 0.14 }, { inputTokens: 1, outputTokens: 0 })).toBe(0.035 / M);
  });
});

describe('Cost, rule 4: zero and unknown never mix', () => {
  const book = aBook({ m: bare, free: { input: 0, output: 0 } });

  it('stores a model the book does not hold with no cost field', () => {
    const span = aSpan({ model: 'unheard-of', usage: { inputTokens: M } });
    expect(priceSpan(span, book)).toBe(span);
    expect('cost' in priceSpan(span, book)).toBe(false);
  });

  it('has no cost without a model, or without a usage', () => {
    expect(priceSpan(aSpan({ usage: { inputTokens: 1 } }), book).cost).toBeUndefined();
    expect(priceSpan(aSpan({ model: 'm' }), book).cost).toBeUndefined();
    expect(priceUsage('m', {}, book)).toBeUndefined();
    expect(priceUsage('m', { inputDetails: { cacheRead: 5 } }, book)).toBeUndefined();
  });

  it('has a cost of zero for a free model, and for counts of zero', () => {
    expect(priceUsage('free', { inputTokens: M, outputTokens: M }, book)?.totalCost).toBe(0);
    expect(priceUsage('m', { inputTokens: 0, outputTokens: 0 }, book)?.totalCost).toBe(0);
  });
});

describe('Cost, rule 5: a provider breakdown wins', () => {
  it('charges only the remainder, the total minus every metered field, at the plain input rate', () => {
    const usage = {
      inputTokens: 10 * M,
      inputDetails: { cacheRead: 2 * M, cacheWrite: M, cacheWrite5m: 0, cacheWrite1h: 0, audio: 3 * M },
    };
    // 4M left at 10, 2M at 1, 1M at 12, 3M at 40
    expect(total(every, usage)).toBe(40 + 2 + 12 + 120);
  });

  it('takes the explicit text count as the remainder when it is present', () => {
    // 1M at 10 although 8M are left, 2M at 1
    expect(total(every, { inputTokens: 10 * M, inputDetails: { cacheRead: 2 * M, text: M } })).toBe(12);
    expect(total(every, { inputTokens: 10 * M, inputDetails: { cacheRead: 2 * M, text: 0 } })).toBe(2);
    expect(total(every, { outputTokens: 10 * M, outputDetails: { audio: M, text: 2 * M } })).toBe(600);
  });

  it('never lets a remainder fall below zero', () => {
    expect(total(every, { inputTokens: M, inputDetails: { audio: 2 * M } })).toBe(80);
    expect(total(every, { outputTokens: M, outputDetails: { audio: 2 * M } })).toBe(800);
    expect(total(every, { outputTokens: M, outputDetails: { reasoning: 2 * M } })).toBe(300);
  });

  it('charges a meter with no rate only inside the remainder, so not at all beside a text count', () => {
    expect(total(bare, { outputTokens: 3 * M, outputDetails: { reasoning: 2 * M } })).toBe(300);
    expect(total(bare, { outputTokens: 3 * M, outputDetails: { reasoning: 2 * M, text: M } })).toBe(100);
  });

  it('takes the whole input count as the plain remainder where cache_read + cache_write > input', () => {
    // The emitter counts cached tokens apart: 1M at 10, 5M at 1, 2M at 12.
    expect(total(every, { inputTokens: M, inputDetails: { cacheRead: 5 * M, cacheWrite: 2 * M } })).toBe(10 + 5 + 24);
    // On the bound they are inside it still.
    expect(total(every, { inputTokens: 7 * M, inputDetails: { cacheRead: 5 * M, cacheWrite: 2 * M } })).toBe(5 + 24);
  });
});

describe('Meters and fallbacks', () => {
  const rows: readonly [
    rate: keyof Rates,
    usage: Usage,
    withRate: number,
    when: string,
    without: number,
    left?: Rates,
  ][] = [
    ['cacheRead', { inputTokens: M, inputDetails: { cacheRead: M } }, 1, 'charged at `input`', 10],
    ['cacheWrite', { inputTokens: M, inputDetails: { cacheWrite: M } }, 12, 'charged at `input`', 10],
    ['cacheWrite5m', { inputTokens: M, inputDetails: { cacheWrite5m: M } }, 13, '`cache_write`', 12, every],
    ['cacheWrite5m', { inputTokens: M, inputDetails: { cacheWrite5m: M } }, 13, '`cache_write`, then `input`', 10],
    ['cacheWrite1h', { inputTokens: M, inputDetails: { cacheWrite1h: M } }, 20, '`cache_write`', 12, every],
    ['cacheWrite1h', { inputTokens: M, inputDetails: { cacheWrite1h: M } }, 20, '`cache_write`, then `input`', 10],
    ['audioInput', { inputTokens: M, inputDetails: { audio: M } }, 40, '`input`', 10],
    ['audioOutput', { outputTokens: M, outputDetails: { audio: M } }, 400, '`output`', 100],
    ['reasoning', { outputTokens: M, outputDetails: { reasoning: M } }, 150, 'no fallback; charged at `output`', 100],
  ];

  it.each(rows)('%s of %j costs %d by its rate', (_rate, usage, withRate) => {
    expect(total(every, usage)).toBe(withRate);
  });

  it.each(rows)(
    '%s of %j (%d by its rate), when the book omits it: %s, %d',
    (rate, usage, _with, _when, without, left) => {
      const { [rate]: _omitted, ...others } = left ?? { ...bare, [rate]: 0 };
      expect(total(others as Rates, usage)).toBe(without);
      // A fallback counts as a rate: an explicit text count does not make the meter free, reasoning apart.
      const withText: Usage = {
        ...usage,
        ...(usage.inputDetails && { inputDetails: { ...usage.inputDetails, text: 0 } }),
        ...(usage.outputDetails && { outputDetails: { ...usage.outputDetails, text: 0 } }),
      };
      expect(total(others as Rates, withText)).toBe(rate === 'reasoning' ? 0 : without);
    },
  );

  it('takes five-minute and one-hour writes as parts of cache_write, and charges what they leave of it', () => {
    const inputDetails = { cacheWrite: 4 * M, cacheWrite5m: M, cacheWrite1h: 2 * M };
    // 6M plain at 10, 1M at 13, 2M at 20, 1M at 12
    expect(total(every, { inputTokens: 10 * M, inputDetails })).toBe(60 + 13 + 40 + 12);
  });
});

describe('counts that are missing', () => {
  it('derives the side that was not counted from the total', () => {
    expect(total(bare, { inputTokens: M, totalTokens: 3 * M })).toBe(10 + 200);
    expect(total(bare, { outputTokens: M, totalTokens: 3 * M })).toBe(20 + 100);
    expect(total(bare, { inputTokens: 3 * M, totalTokens: M })).toBe(30);
  });

  it('prices the known side alone, and gives no figure for the other', () => {
    const cost = priceUsage('m', { inputTokens: M }, aBook({ m: bare }));
    expect(cost).toEqual({ totalCost: 10, inputCost: 10, currency: 'EUR', isEstimated: true, priceBookId: 'test' });
  });

  it('charges a total alone at the input rate, the least it can have cost, and gives no split', () => {
    const cost = priceUsage('m', { totalTokens: M }, aBook({ m: bare }));
    expect(cost).toEqual({ totalCost: 10, currency: 'EUR', isEstimated: true, priceBookId: 'test' });
  });

  it('does not let a total speak against two counts', () => {
    expect(total(bare, { inputTokens: M, outputTokens: M, totalTokens: 9 * M })).toBe(110);
  });
});

describe('Model id resolution, stop at first hit', () => {
  const named = (id: string): Rates => ({ input: id.length, output: 0 });
  const book = (...ids: string[]): PriceBook => aBook(Object.fromEntries(ids.map((id) => [id, named(id)])));

  it.each([
    ['(1) id as given, case-folded', 'GPT-X', ['gpt-x'], 'gpt-x'],
    ['(1) before (2)', 'azure/gpt-x', ['azure/gpt-x', 'gpt-x'], 'azure/gpt-x'],
    ['(2) part after the last slash', 'openrouter/openai/GPT-X', ['gpt-x'], 'gpt-x'],
    ['(2) before (3)', 'b/us.a.m', ['us.a.m', 'm'], 'us.a.m'],
    ['(3) dotted tail of a cloud id', 'us.anthropic.claude-y-v1:0', ['claude-y-v1:0'], 'claude-y-v1:0'],
    ['(3) before (4)', 'a.m-2024-08-06', ['m-2024-08-06', 'm', 'a.m'], 'm-2024-08-06'],
    ['(4) trailing -YYYY-MM-DD removed, with its prefix', 'a/m-2024-08-06', ['a/m', 'm'], 'a/m'],
    ['(4) trailing -YYYYMMDD removed, without its prefix', 'a/m-20240806', ['m'], 'm'],
    ['(4) behind a dotted prefix', 'eu.a.m-20240806', ['m'], 'm'],
  ])('%s: %s', (_step, model, ids, expected) => {
    expect(resolveModel(model, book(...ids))).toEqual(named(expected));
    expect(findBookEntry(model, book(...ids))).toBe(expected);
  });

  it.each(['gpt-xx', 'gpt', 'gpt-x-2024-8-6', 'gpt-x-2024', 'gpt-x-2024-08-06-beta', '', '/', '.', '__proto__'])(
    'failing all four means no cost: %j',
    (model) => {
      expect(resolveModel(model, book('gpt-x'))).toBeUndefined();
      expect(findBookEntry(model, book('gpt-x'))).toBeUndefined();
    },
  );
});

describe('the built-in book', () => {
  const cost = (model: string, usage: Usage): number => priceUsage(model, usage, builtinPriceBook)?.totalCost ?? NaN;

  it('has id `builtin`, prices in USD and an as_of date', () => {
    expect(builtinPriceBook).toMatchObject({ id: 'builtin', currency: 'USD' });
    expect(builtinPriceBook.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  });

  it('covers at least 80 models, each id lower-case and of one provider, each provider with a public page', () => {
    expect(builtinPriceBook.rates.size).toBeGreaterThanOrEqual(80);
    const ids = priceSources.flatMap(({ models }) => Object.keys(models));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => id !== id.toLowerCase())).toEqual([]);
    for (const { source } of priceSources) expect(source).toMatch(/^https:\/\//);
  });

  it('holds finite rates that are not negative, and under no id nothing but what the table names', () => {
    for (const [id, rates] of builtinPriceBook.rates)
      for (const [meter, rate] of Object.entries(rates))
        expect(Number.isFinite(rate) && rate >= 0, `${id} ${meter} ${rate}`).toBe(true);
  });

  it.each([
    // Worked by hand from the providers' pages.
    ['gpt-4o', { inputTokens: 1000, outputTokens: 500 }, 0.0075],
    ['gpt-4o-2024-08-06', { inputTokens: 1000, outputTokens: 500, inputDetails: { cacheRead: 400 } }, 0.007],
    ['azure/gpt-4o-mini', { inputTokens: 1000, outputTokens: 1000 }, 0.00075],
    ['gpt-4o-audio-preview', { inputTokens: 1000, inputDetails: { audio: 600 } }, 0.025],
    ['o3', { inputTokens: 100, outputTokens: 1000, outputDetails: { reasoning: 900 } }, 0.0082],
    [
      'claude-sonnet-4-5-20250929',
      { inputTokens: 10_000, outputTokens: 1000, inputDetails: { cacheRead: 8000 } },
      0.0234,
    ],
    ['us.anthropic.claude-3-5-sonnet-20241022-v2:0', { inputTokens: 1000, outputTokens: 100 }, 0.0045],
    ['bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0', { inputTokens: 1000, outputTokens: 0 }, 0.0033],
    ['claude-haiku-4-5', { inputTokens: 3000, inputDetails: { cacheWrite5m: 1000, cacheWrite1h: 1000 } }, 0.00425],
    ['models/gemini-2.5-flash', { inputTokens: 1000, outputTokens: 1000, inputDetails: { audio: 500 } }, 0.00315],
    ['text-embedding-3-small', { inputTokens: 1000 }, 0.00002],
    ['us.amazon.nova-pro-v1:0', { inputTokens: 1000, outputTokens: 1000 }, 0.004],
  ] satisfies [string, Usage, number][])('%s with %j costs %d', (model, usage, expected) => {
    expect(cost(model, usage)).toBeCloseTo(expected, 12);
  });
});

describe('any usage', () => {
  const count = fc.nat({ max: 50_000_000 });
  const optional = { requiredKeys: [] };
  const anyUsage: fc.Arbitrary<Usage> = fc.record(
    {
      inputTokens: count,
      outputTokens: count,
      totalTokens: count,
      inputDetails: fc.record(
        { cacheRead: count, cacheWrite: count, cacheWrite5m: count, cacheWrite1h: count, audio: count, text: count },
        optional,
      ),
      outputDetails: fc.record({ reasoning: count, audio: count, text: count }, optional),
    },
    optional,
  );
  const anyRates: fc.Arbitrary<Rates> = fc.constantFrom(...builtinPriceBook.rates.values(), every, bare);

  it('never costs less than nothing, and the split adds up to the total', () => {
    fc.assert(
      fc.property(anyUsage, anyRates, (usage, rates) => {
        const cost = priceUsage('m', usage, aBook({ m: rates }));
        if (cost === undefined) return;
        expect(cost.totalCost).toBeGreaterThanOrEqual(0);
        expect(Number.isFinite(cost.totalCost)).toBe(true);
        if (cost.inputCost === undefined && cost.outputCost === undefined) return;
        expect((cost.inputCost ?? 0) + (cost.outputCost ?? 0)).toBe(cost.totalCost);
      }),
    );
  });

  it('has a cost when, and only when, one of the three main counts is present', () => {
    fc.assert(
      fc.property(anyUsage, (usage) => {
        const counted =
          usage.inputTokens !== undefined || usage.outputTokens !== undefined || usage.totalTokens !== undefined;
        expect(priceUsage('m', usage, aBook({ m: every })) !== undefined).toBe(counted);
      }),
    );
  });
});
