import { describe, expect, it } from 'vitest';
import { aDaemon, ingest, type Json, nativeSpan, newSpanId, newTraceId, newWord, nowIso, roundTrip } from './client.ts';

// "Cost" of the interface specification. Figures are worked out by hand from the providers' list prices, in US dollars
// per million tokens: gpt-4o 2.5 in, 10 out, 1.25 cached. claude-sonnet-4-5 3 in, 15 out, 0.3 read, 3.75 written for five
// minutes, 6 for an hour. gpt-4o-audio-preview 2.5 and 10, audio 40 and 80. gpt-4.1 2 and 8. gemini-2.5-pro 1.25 and 10.

const service = await aDaemon();

const DEAR = 'claude-sonnet-4-5';
/** Prices one native span. */
const price = async (model: string, usage: object, more: object = {}): Promise<Json> => {
  const span = nativeSpan({ kind: 'model_generation', model, usage, ...more });
  await ingest(service, { spans: [span] });
  return (await service.get(`/v1/api/traces/${span.trace_id}/spans/${span.span_id}`)).json.span.cost;
};
const total = async (model: string, usage: object): Promise<number> => (await price(model, usage)).total_cost;

describe('"Every rate is currency units per million tokens; cost for one meter = tokens × rate ÷ 1,000,000"', () => {
  it('prices ordinary input and output, with the split, the currency, the book and the flag', async () => {
    expect(await price('gpt-4o', { input_tokens: 1_000_000, output_tokens: 100_000 })).toEqual({
      total_cost: 3.5,
      input_cost: 2.5,
      output_cost: 1,
      currency: 'USD',
      is_estimated: true,
      price_book_id: 'builtin',
    });
  });
  it('the same through OTLP attributes', async () => {
    const { cost } = await roundTrip(service, {
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 1200,
      'gen_ai.usage.output_tokens': 300,
      'gen_ai.usage.cache_read_input_tokens': 200,
    });
    // 1000 × 2.5 + 200 × 1.25 + 300 × 10 = 5750 per million
    expect(cost.total_cost).toBeCloseTo(0.00575, 12);
  });
});

describe('"Meters and fallbacks"', () => {
  it('`cache_read` and `cache_write` have rates of their own where the book has them', async () => {
    // 600 × 3 + 300 × 0.3 + 100 × 3.75
    expect(await total(DEAR, { input_tokens: 1000, input_details: { cache_read: 300, cache_write: 100 } })).toBeCloseTo(
      0.002265,
      12,
    );
  });
  it('`cache_write_5m` and `cache_write_1h` have rates of their own', async () => {
    // 700 × 3 + 200 × 3.75 + 100 × 6
    expect(
      await total(DEAR, { input_tokens: 1000, input_details: { cache_write_5m: 200, cache_write_1h: 100 } }),
    ).toBeCloseTo(0.00345, 12);
  });
  it('`cache_read` and `cache_write` are "charged at `input`" when the book omits them', async () => {
    // gpt-4 has neither: 1000 × 30
    expect(
      await total('gpt-4', { input_tokens: 1000, input_details: { cache_read: 300, cache_write: 100 } }),
    ).toBeCloseTo(0.03, 12);
    // gpt-4o has no write rate: 800 × 2.5 + 100 × 1.25 + 100 × 2.5
    expect(
      await total('gpt-4o', { input_tokens: 1000, input_details: { cache_read: 100, cache_write: 100 } }),
    ).toBeCloseTo(0.002375, 12);
  });
  it('`cache_write_5m`, `cache_write_1h`: "`cache_write`, then `input`"', async () => {
    // gpt-5.6 writes at 5 beside 4 in: 800 × 4 + 200 × 5
    expect(
      await total('gpt-5.6', { input_tokens: 1000, input_details: { cache_write_5m: 100, cache_write_1h: 100 } }),
    ).toBeCloseTo(0.0042, 12);
    expect(
      await total('gpt-4o', { input_tokens: 1000, input_details: { cache_write_5m: 100, cache_write_1h: 100 } }),
    ).toBeCloseTo(0.0025, 12);
  });
  it('`audio_input` and `audio_output` have rates of their own, and fall back to `input` and `output`', async () => {
    const usage = {
      input_tokens: 1000,
      output_tokens: 500,
      input_details: { audio: 400 },
      output_details: { audio: 100 },
    };
    // 600 × 2.5 + 400 × 40 + 400 × 10 + 100 × 80
    expect(await total('gpt-4o-audio-preview', usage)).toBeCloseTo(0.0295, 12);
    expect(await total('gpt-4.1', usage)).toBeCloseTo(0.006, 12);
  });
  it('audio counts of OTLP attributes are priced as those of the native door', async () => {
    const { cost } = await roundTrip(service, {
      'llm.model_name': 'gpt-4o-audio-preview',
      'llm.token_count.prompt': 1000,
      'llm.token_count.completion': 500,
      'llm.token_count.prompt_details.audio': 400,
      'llm.token_count.completion_details.audio': 100,
    });
    expect(cost.total_cost).toBeCloseTo(0.0295, 12);
  });
  it('`reasoning`: "charged at `output` as part of the output total unless a separate `text` count was reported"', async () => {
    const reasoning = { output_tokens: 300, output_details: { reasoning: 200 } };
    expect(await total('gpt-4.1', reasoning)).toBeCloseTo(0.0024, 12);
    // With `text`, 100 × 8 and nothing for reasoning, which has no rate.
    expect(await total('gpt-4.1', { output_tokens: 300, output_details: { reasoning: 200, text: 100 } })).toBeCloseTo(
      0.0008,
      12,
    );
  });
  it('`reasoning` is a meter where the book has its rate: it is charged beside `text`', async () => {
    expect(
      await total('gemini-2.5-pro', { output_tokens: 300, output_details: { reasoning: 200, text: 100 } }),
    ).toBeCloseTo(0.003, 12);
  });
});

describe('"only the remainder is charged at the plain input rate"', () => {
  it('"The remainder is the explicit `text` count when present"', async () => {
    // 500 × 2.5 + 200 × 1.25, the 300 others being unmetered
    expect(await total('gpt-4o', { input_tokens: 1000, input_details: { text: 500, cache_read: 200 } })).toBeCloseTo(
      0.0015,
      12,
    );
  });
  it('"else the reported total minus every metered field", and never below zero', async () => {
    expect(await total('gpt-4o', { input_tokens: 100, input_details: { cache_read: 60, audio: 60 } })).toBeCloseTo(
      0.000225,
      12,
    );
  });
  it('"Where `cache_read + cache_write > input`, the emitter counts them apart: the plain remainder is the whole input count"', async () => {
    // 100 × 3 + 900 × 0.3 + 200 × 3.75
    expect(await total(DEAR, { input_tokens: 100, input_details: { cache_read: 900, cache_write: 200 } })).toBeCloseTo(
      0.00132,
      12,
    );
    // On the bound they are inside: 1000 × 0.3
    expect(await total(DEAR, { input_tokens: 1000, input_details: { cache_read: 1000 } })).toBeCloseTo(0.0003, 12);
  });
});

describe('"Model id resolution (stop at first hit)"', () => {
  const usage = { input_tokens: 1_000_000 };
  const rows: readonly [string, string, number][] = [
    ['"(1) id as given, case-folded"', 'GPT-4o', 2.5],
    ['"(2) part after the last slash"', 'openrouter/openai/gpt-4o', 2.5],
    ['"(3) dotted tail of a cloud id (segment after the last dot)"', 'us.anthropic.claude-sonnet-4-20250514-v1:0', 3],
    ['"(4) id with a trailing `-YYYY-MM-DD` date removed"', 'gpt-4o-2033-01-31', 2.5],
    ['"(4) id with a trailing `-YYYYMMDD` date removed"', 'claude-sonnet-4-5-20330131', 3],
    ['"(4) … with or without its prefix"', 'azure/openai/GPT-4o-2033-01-31', 2.5],
    ['"stop at first hit": a dated id that the book holds has its own price', 'gpt-4o-2024-05-13', 5],
  ];
  for (const [rule, model, cost] of rows)
    it(`${rule}: ${model}`, async () => expect(await total(model, usage)).toBeCloseTo(cost, 9));
  it('"Failing all four means no cost, not an error"', async () => {
    for (const model of [
      'no-such-model',
      'gpt-4o-20',
      'gpt-4o-2033-1-1',
      'gpt-4o-latest-20330131',
      'not/a/model',
      '.',
      '/',
    ])
      expect(await price(model, usage), model).toBeUndefined();
  });
});

describe('"Rules"', () => {
  it('"A span that arrives already carrying a cost is left exactly as received"', async () => {
    const cost = { total_cost: 0.123456789, currency: 'EUR', is_estimated: false };
    expect(await price('gpt-4o', { input_tokens: 1000 }, { cost })).toEqual(cost);
  });
  it('a cost that the emitter carries in an attribute is a carried cost', async () => {
    const { cost } = await roundTrip(service, {
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.cost': 0.5,
    });
    expect(cost.total_cost).toBe(0.5);
    expect(cost).not.toHaveProperty('price_book_id');
  });
  it('"A run\'s total cost is the sum of its spans, recomputed from the spans whenever one arrives (not incremented)"', async () => {
    const traceId = newTraceId();
    const root = nativeSpan({ trace_id: traceId, name: 'run' });
    const call = nativeSpan({
      trace_id: traceId,
      parent_span_id: root.span_id,
      model: 'gpt-4o',
      usage: { input_tokens: 1000, output_tokens: 100 },
    });
    const other = { ...call, span_id: newSpanId() };
    const trace = async (): Promise<Json> => (await service.get(`/v1/api/traces/${traceId}`)).json.trace;
    await ingest(service, { spans: [call] });
    expect((await trace()).cost.total_cost).toBeCloseTo(0.0035, 12);
    await ingest(service, { spans: [root, call, other] });
    await ingest(service, { spans: [call] });
    expect(await trace()).toMatchObject({
      name: 'run',
      span_count: 3,
      usage: { input_tokens: 2000, output_tokens: 200 },
      cost: { total_cost: 0.007, currency: 'USD' },
    });
    // "last write wins": the call is sent again with another usage.
    await ingest(service, { spans: [{ ...call, usage: { input_tokens: 2000, output_tokens: 0 } }] });
    expect((await trace()).cost.total_cost).toBeCloseTo(0.0085, 12);
    // and again with a model that has no price
    await ingest(service, {
      spans: [
        { ...call, model: 'unknown' },
        { ...other, model: 'unknown' },
      ],
    });
    expect(await trace()).not.toHaveProperty('cost');
  });
  it('totals equal a model, whatever the order, the repeats and how many send at once', async () => {
    const traceId = newTraceId();
    const root = nativeSpan({ trace_id: traceId, name: 'root' });
    const calls = Array.from({ length: 30 }, (_, n) =>
      nativeSpan({
        trace_id: traceId,
        parent_span_id: root.span_id,
        model: n % 3 === 0 ? 'no-such-model' : 'gpt-4o',
        usage: { input_tokens: 1000 * n, output_tokens: n },
        ...(n % 5 === 0 && { status: 'error', error: { message: 'm' } }),
      }),
    );
    const spans = [root, ...calls];
    // Each span three times, strewn over forty requests that are under way together.
    const requests = Array.from({ length: 40 }, (_, request) =>
      spans.filter((_span, n) => [0, 13, 27].some((shift) => (n * 7 + shift) % 40 === request)),
    );
    await Promise.all(requests.map((some) => ingest(service, { spans: some })));
    const priced = calls.map((_, n) => n).filter((n) => n % 3 !== 0);
    const expected = priced.reduce((sum, n) => sum + (1000 * n * 2.5 + n * 10) / 1_000_000, 0);
    const { trace } = (await service.get(`/v1/api/traces/${traceId}`)).json;
    expect(trace).toMatchObject({ name: 'root', span_count: 31, error_count: 6 });
    expect(trace.usage).toMatchObject({ input_tokens: 435_000, output_tokens: 435 });
    expect(trace.cost.total_cost).toBeCloseTo(expected, 9);
  });
  it('"A run whose spans total nothing is returned with no cost figure rather than zero"', async () => {
    const span = nativeSpan({ model: 'no-such-model', usage: { input_tokens: 10 } });
    await ingest(service, { spans: [span] });
    expect((await service.get(`/v1/api/traces/${span.trace_id}`)).json.trace).not.toHaveProperty('cost');
  });
  it('"excluded from every total, from `/v1/api/analytics/cost`, and from any positive `min_cost` filter"', async () => {
    const project = newWord('p');
    const correlation = { project };
    const priced = nativeSpan({ correlation, model: 'gpt-4o', usage: { input_tokens: 1_000_000 } });
    const unpriced = nativeSpan({ correlation, model: 'my-own-model', usage: { input_tokens: 5 } });
    await ingest(service, { spans: [priced, unpriced] });
    const ids = async (filter: string): Promise<string[]> =>
      (await service.get(`/v1/api/traces?project=${project}${filter}`)).json.traces.map(
        (trace: Json) => trace.trace_id,
      );
    expect(await ids('&min_cost=0.000001')).toEqual([priced.trace_id]);
    expect(await ids('&min_cost=2.5')).toEqual([priced.trace_id]);
    expect(await ids('&min_cost=2.51')).toEqual([]);
    expect((await ids('&min_cost=0')).toSorted()).toEqual([priced.trace_id, unpriced.trace_id].toSorted());
    const { json } = await service.get(`/v1/api/analytics/cost?project=${project}`);
    expect(json).toMatchObject({ currency: 'USD', total_cost: 2.5 });
    const own = json.groups.find((group: Json) => group.key === 'my-own-model');
    if (own !== undefined) expect(own).not.toHaveProperty('total_cost');
  });
  it('"nothing is recomputed on read": a span without a model or without counts has no cost', async () => {
    const span = nativeSpan({ model: 'gpt-4o' });
    await ingest(service, { spans: [span, nativeSpan({ usage: { input_tokens: 5 }, start_time: nowIso() })] });
    expect((await service.get(`/v1/api/traces/${span.trace_id}`)).json.spans[0]).not.toHaveProperty('cost');
  });
});
