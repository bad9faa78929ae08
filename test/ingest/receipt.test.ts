import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PriceBook, priceSpan, type Rates } from '../../src/ingest/price.ts';
import { receiptOf } from '../../src/ingest/receipt.ts';
import type { Span, Usage } from '../../src/model/span.ts';

const aBook = (rates: Record<string, Rates>): PriceBook => ({
  id: 'test',
  currency: 'EUR',
  asOf: '2026-01-01',
  rates: new Map(Object.entries(rates)),
});
const bare: Rates = { input: 10, output: 100 };
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

const aSpan = (over: Partial<Span>): Span => ({
  traceId: '1'.repeat(32),
  spanId: '2'.repeat(16),
  name: 'chat',
  kind: 'model_generation',
  status: 'ok',
  startTime: 1n,
  isEvent: false,
  receivedAt: 3n,
  correlation: { project: 'default' },
  attributes: {},
  events: [],
  links: [],
  ...over,
});
const priced = (usage: Usage, rates: Rates): Span =>
  priceSpan(aSpan({ model: 'm', usage }), aBook({ m: rates, free: { input: 0, output: 0 } }));

const linesOf = (usage: Usage, rates: Rates) => {
  const receipt = receiptOf(priced(usage, rates), aBook({ m: rates }));
  if (receipt.outcome !== 'priced') throw new Error(`the receipt is ${receipt.outcome}`);
  return receipt;
};

describe('the receipt of a cost', () => {
  it('has a line for each meter, with its rate, and names the rate that stands in for one that the book has not', () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 50,
      inputDetails: { cacheRead: 30 },
      outputDetails: { reasoning: 20 },
    };
    const { lines, book } = linesOf(usage, { ...every, cacheRead: 1 });
    expect(book).toMatchObject({ id: 'test', asOf: '2026-01-01', entry: 'm', currency: 'EUR' });
    expect(lines.map(({ side, meter, tokens, rate }) => [side, meter, tokens, rate])).toEqual([
      ['input', 'input', 70, 10],
      ['input', 'cacheRead', 30, 1],
      ['output', 'output', 30, 100],
      ['output', 'reasoning', 20, 150],
    ]);
    expect(
      linesOf({ inputTokens: 9, inputDetails: { cacheWrite5m: 9 } }, bare).lines.map(({ meter, ratedAs }) => [
        meter,
        ratedAs,
      ]),
    ).toEqual([['cacheWrite5m', 'input']]);
  });

  it('adds up to the stored cost to the last digit, whatever was counted and whatever the rates are', () => {
    const tokens = fc.option(fc.nat(3_000_000), { nil: undefined });
    const rate = fc.option(fc.double({ min: 0, max: 200, noNaN: true }), { nil: undefined });
    const defined = <T extends object>(value: T): T =>
      Object.fromEntries(Object.entries(value).filter(([, held]) => held !== undefined)) as T;
    const usages = fc.record({
      inputTokens: tokens,
      outputTokens: tokens,
      totalTokens: tokens,
      inputDetails: fc.option(
        fc
          .record({
            cacheRead: tokens,
            cacheWrite: tokens,
            cacheWrite5m: tokens,
            cacheWrite1h: tokens,
            audio: tokens,
            text: tokens,
          })
          .map(defined),
        { nil: undefined },
      ),
      outputDetails: fc.option(fc.record({ reasoning: tokens, audio: tokens, text: tokens }).map(defined), {
        nil: undefined,
      }),
    });
    const books = fc
      .record({
        cacheRead: rate,
        cacheWrite: rate,
        cacheWrite5m: rate,
        cacheWrite1h: rate,
        audioInput: rate,
        audioOutput: rate,
        reasoning: rate,
        input: fc.double({ min: 0, max: 200, noNaN: true }),
        output: fc.double({ min: 0, max: 200, noNaN: true }),
      })
      .map(defined);
    fc.assert(
      fc.property(usages.map(defined), books, (usage, rates) => {
        const span = priced(usage as Usage, rates as Rates);
        const receipt = receiptOf(span, aBook({ m: rates as Rates }));
        if (span.cost === undefined) {
          expect(receipt).toEqual({ outcome: 'unpriced', reason: 'nothing_counted' });
          return;
        }
        if (receipt.outcome !== 'priced') throw new Error(`the receipt is ${receipt.outcome}`);
        const sum = (side: string): number =>
          receipt.lines.filter((line) => line.side === side).reduce((total, { amount }) => total + amount, 0);
        expect(sum('input') + sum('output')).toBe(span.cost.totalCost);
        if (span.cost.inputCost !== undefined) expect(sum('input')).toBe(span.cost.inputCost);
        if (span.cost.outputCost !== undefined) expect(sum('output')).toBe(span.cost.outputCost);
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, Usage, Rates, object[]]>([
    ['a side that nobody counted', { inputTokens: 5 }, bare, [{ meter: 'output', reason: 'not_counted' }]],
    ['the other side', { outputTokens: 5 }, bare, [{ meter: 'input', reason: 'not_counted' }]],
    ['a total that cannot be split', { totalTokens: 5 }, bare, [{ meter: 'output', reason: 'not_split' }]],
    [
      'reasoning beside a count of text, where the book has no rate for it',
      { inputTokens: 1, outputTokens: 9, outputDetails: { text: 4, reasoning: 5 } },
      bare,
      [{ meter: 'reasoning', tokens: 5, reason: 'no_rate' }],
    ],
    [
      'tokens of a side that are on no meter',
      { inputTokens: 10, outputTokens: 9, inputDetails: { text: 4, cacheRead: 3 }, outputDetails: { text: 8 } },
      every,
      [
        { meter: 'input', tokens: 3, reason: 'outside_meters' },
        { meter: 'output', tokens: 1, reason: 'outside_meters' },
      ],
    ],
    ['nothing where all is charged', { inputTokens: 10, outputTokens: 9, outputDetails: { reasoning: 3 } }, bare, []],
  ])('says what was not priced: %s', (_what, usage, rates, expected) => {
    expect(linesOf(usage, rates).notPriced).toEqual(expected);
  });

  it('gives no lines for a cost that the sender gave, or that another book priced', () => {
    const usage = { inputTokens: 1 };
    const received = { totalCost: 1, currency: 'EUR', isEstimated: false };
    expect(receiptOf(aSpan({ model: 'm', usage, cost: received }), aBook({ m: bare }))).toEqual({
      outcome: 'received',
    });
    const elsewhere = { totalCost: 1, currency: 'EUR', isEstimated: true, priceBookId: 'theirs' };
    expect(receiptOf(aSpan({ model: 'm', usage, cost: elsewhere }), aBook({ m: bare }))).toEqual({
      outcome: 'received',
    });
  });

  it('gives no lines when the book has other rates, or the model no more, and never another amount', () => {
    const span = priced({ inputTokens: 10, outputTokens: 1 }, bare);
    expect(receiptOf(span, aBook({ m: { ...bare, output: 101 } }))).toEqual({ outcome: 'book_changed' });
    expect(receiptOf(span, aBook({}))).toEqual({ outcome: 'book_changed' });
    expect(receiptOf(span, aBook({ m: bare }))).toMatchObject({ outcome: 'priced' });
  });

  it.each<[string, Partial<Span>]>([
    ['aggregate', { model: 'm', usage: { inputTokens: 1 }, attributes: { 'svc.cost.skipped': 'aggregate' } }],
    ['no_model', { usage: { inputTokens: 1 } }],
    ['no_usage', { model: 'm' }],
    ['nothing_counted', { model: 'm', usage: {} }],
    ['model_not_in_book', { model: 'unheard-of', usage: { inputTokens: 1 } }],
    ['not_in_book_at_ingest', { model: 'm', usage: { inputTokens: 1 } }],
  ])('says why a span has no cost: %s', (reason, over) => {
    expect(receiptOf(aSpan(over), aBook({ m: bare }))).toEqual({ outcome: 'unpriced', reason });
  });
});
