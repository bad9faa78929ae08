import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterEach, describe, expect, it } from 'vitest';
import openapi from '../../../src/model/generated/openapi.json' with { type: 'json' };
import type { Page, Paging } from '../../../src/store/signals/query.ts';
import { aFeedback, aLog, aPoint, aScore, aSpan, aTrace, SPAN, TRACE } from '../factories.ts';
import { NOW, type Service, type ServiceOptions, startService } from '../service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

const wholeTrace = aTrace({
  durationNs: 9_007_199_254_740_993n, // 2^53 + 1: a double does not hold it
  spanCount: 3,
  errorCount: 1,
  totalCost: 0.25,
  currency: 'USD',
  inputTokens: 10,
  outputTokens: 5,
  totalTokens: 15,
  models: ['m'],
  environment: 'prod',
  serviceName: 'api',
  serviceVersion: '1',
  release: 'r',
  userId: 'u',
  sessionId: 's',
  threadId: 't',
  runId: 'run',
  experimentId: 'e',
  tags: ['vip'],
  scores: [{ scorerId: 'answered', scorerVersion: '1', mean: 0.5, count: 2 }],
  feedback: { thumbs: 2 },
});

const wholeSpan = aSpan({
  parentSpanId: 'aaaaaaaaaaaaaaaa',
  status: 'error',
  input: { messages: ['hi'] },
  output: 'hello',
  model: 'm',
  provider: 'p',
  entityName: 'triage',
  usage: {
    inputTokens: 10,
    outputTokens: 5,
    totalTokens: 15,
    inputDetails: { cacheRead: 1, cacheWrite: 2, cacheWrite5m: 3, cacheWrite1h: 4, audio: 5, text: 6 },
    outputDetails: { reasoning: 1, audio: 2, text: 3 },
  },
  cost: { totalCost: 0.3, inputCost: 0.1, outputCost: 0.2, currency: 'USD', isEstimated: true, priceBookId: 'builtin' },
  error: { message: 'no', type: 'E', stack: 'at x' },
  correlation: { project: 'default', requestId: 'q', resourceId: 'z', tags: ['a'] },
  attributes: { 'llm.model_name': 'm', n: 1 },
  events: [{ name: 'exception', time: NOW + 1n, attributes: { a: true } }],
  links: [{ traceId: TRACE, spanId: SPAN, attributes: {} }],
  scopeName: 'scope',
});

describe('a trace in a list', () => {
  it('carries every field of a trace summary under its wire name', async () => {
    const { ask } = await start({ store: { listTraces: async () => ({ items: [wholeTrace] }) } });
    const answer = await ask('/v1/api/traces');
    expect(answer.text).toContain('"duration_ns":9007199254740993');
    expect(answer.body.traces[0]).toEqual({
      trace_id: TRACE,
      name: 'answer ticket',
      status: 'ok',
      start_time: '2026-11-20T09:00:00Z',
      duration_ns: expect.any(Number),
      span_count: 3,
      error_count: 1,
      cost: { total_cost: 0.25, currency: 'USD' },
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      models: ['m'],
      correlation: {
        project: 'default',
        environment: 'prod',
        service_name: 'api',
        service_version: '1',
        session_id: 's',
        thread_id: 't',
        user_id: 'u',
        release: 'r',
        run_id: 'run',
        experiment_id: 'e',
        tags: ['vip'],
      },
      scores: [{ scorer_id: 'answered', scorer_version: '1', mean: 0.5, count: 2 }],
      feedback: { thumbs: 2 },
    });
  });

  it('leaves out what is unknown: no cost where nothing was priced; null only for `duration_ns`', async () => {
    const { ask } = await start({ store: { listTraces: async () => ({ items: [aTrace({ status: 'unset' })] }) } });
    const [trace] = (await ask('/v1/api/traces')).body.traces;
    expect(trace.duration_ns).toBeNull();
    expect(Object.entries(trace).filter(([, value]) => value === null)).toHaveLength(1);
    for (const name of ['cost', 'usage']) expect(trace).not.toHaveProperty(name);
    expect(trace.correlation).toEqual({ project: 'default' });
  });
});

describe('trace detail', () => {
  const store = { findTrace: async () => ({ trace: wholeTrace, spans: [wholeSpan, aSpan({ status: 'unset' })] }) };

  it('carries every field of a span under its wire name', async () => {
    const { ask } = await start({ store });
    const { body } = await ask(`/v1/api/traces/${TRACE}`);
    expect(Object.keys(body)).toEqual(['trace', 'spans']);
    expect(body.spans[0]).toEqual({
      trace_id: TRACE,
      span_id: SPAN,
      parent_span_id: 'aaaaaaaaaaaaaaaa',
      name: 'chat',
      kind: 'model_generation',
      status: 'error',
      start_time: '2026-11-20T09:00:00Z',
      end_time: '2026-11-20T09:00:01.500Z',
      is_root: false,
      is_event: false,
      received_at: '2026-11-20T09:00:00Z',
      input: { messages: ['hi'] },
      output: 'hello',
      model: 'm',
      provider: 'p',
      entity_name: 'triage',
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        total_tokens: 15,
        input_details: { cache_read: 1, cache_write: 2, cache_write_5m: 3, cache_write_1h: 4, audio: 5, text: 6 },
        output_details: { reasoning: 1, audio: 2, text: 3 },
      },
      cost: {
        total_cost: 0.3,
        input_cost: 0.1,
        output_cost: 0.2,
        currency: 'USD',
        is_estimated: true,
        price_book_id: 'builtin',
      },
      error: { message: 'no', type: 'E', stack: 'at x' },
      correlation: { project: 'default', request_id: 'q', resource_id: 'z', tags: ['a'] },
      attributes: { 'llm.model_name': 'm', n: 1 },
      events: [{ name: 'exception', time: '2026-11-20T09:00:00.000000001Z', attributes: { a: true } }],
      links: [{ trace_id: TRACE, span_id: SPAN, attributes: {} }],
      scope_name: 'scope',
    });
    expect(body.spans[1]).toMatchObject({ is_root: true, end_time: '2026-11-20T09:00:01.500Z' });
    expect(body.spans[1]).not.toHaveProperty('usage');
    expect(body.spans[1]).not.toHaveProperty('cost');
  });

  it('`payloads=none` leaves out input, output, attributes, and what hangs on them', async () => {
    const service = await start({ store });
    const { body } = await service.ask(`/v1/api/traces/${TRACE}?payloads=none`);
    for (const span of body.spans)
      for (const name of ['input', 'output', 'attributes', 'events', 'links']) expect(span).not.toHaveProperty(name);
    expect(service.calls[0]).toEqual({ method: 'readTrace', arguments: [TRACE, 'all', false, expect.any(Function)] });
  });

  it.each([
    ['scores', ['scores']],
    ['feedback', ['feedback']],
    ['scores,feedback', ['scores', 'feedback']],
    ['all', ['scores', 'feedback', 'logs']],
    ['feedback,all', ['scores', 'feedback', 'logs']],
  ])('`include=%s` adds %j', async (include, names) => {
    const { ask } = await start({
      store: {
        ...store,
        listScores: async () => ({ items: [aScore()] }),
        listFeedback: async () => ({ items: [aFeedback()] }),
        listLogs: async () => ({ items: [aLog()] }),
      },
    });
    const { body } = await ask(`/v1/api/traces/${TRACE}?include=${include}`);
    expect(Object.keys(body)).toEqual(['trace', 'spans', ...names]);
    for (const name of names) expect(body[name]).toHaveLength(1);
  });

  it('includes every row, page by page, and says where it was cut at 10,000', async () => {
    const paged =
      (total: number) =>
      async (paging: Paging): Promise<Page<ReturnType<typeof aScore>>> => {
        const from = Number(paging.after?.[0] ?? 0);
        const items = Array.from({ length: Math.min(paging.limit, total - from) }, (_, n) =>
          aScore({ scoreId: String(from + n) }),
        );
        return { items, ...(from + items.length < total ? { next: [from + items.length] } : {}) };
      };
    const exact = await start({ store: { ...store, listScores: paged(10_000) } });
    const whole = (await exact.ask(`/v1/api/traces/${TRACE}?include=scores`)).body;
    expect([whole.scores.length, whole.truncated]).toEqual([10_000, undefined]);
    const over = await start({ store: { ...store, listScores: paged(10_001) } });
    const cut = (await over.ask(`/v1/api/traces/${TRACE}?include=scores`)).body;
    expect([cut.scores.length, cut.truncated]).toEqual([10_000, ['scores']]);
  });

  it('an unknown trace is 404 `not_found`', async () => {
    const { ask } = await start();
    const answer = await ask(`/v1/api/traces/${TRACE}`);
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });
});

describe('one span', () => {
  it('is answered whole as {span}', async () => {
    const service = await start({ store: { findSpan: async () => wholeSpan } });
    const { body } = await service.ask(`/v1/api/traces/${TRACE}/spans/${SPAN}`);
    expect(body.span).toMatchObject({ span_id: SPAN, attributes: { n: 1 }, input: { messages: ['hi'] } });
  });
  it('an unknown one is 404, also within a trace that is there', async () => {
    const { ask } = await start({ store: { findTrace: async () => ({ trace: wholeTrace, spans: [] }) } });
    expect((await ask(`/v1/api/traces/${TRACE}/spans/${SPAN}`)).status).toBe(404);
  });
});

describe('deleting a trace', () => {
  const store = { findTrace: async () => ({ trace: wholeTrace, spans: [] }) };
  it.each([true, false])('answers {deleted, deletes_pending: %s} as the store does it', async (pending) => {
    const service = await start({ store: { ...store, deleteTraces: async () => ({ deleted: 1, pending }) } });
    const answer = await service.ask(`/v1/api/traces/${TRACE}`, { method: 'DELETE' });
    expect([answer.status, answer.body]).toEqual([200, { deleted: true, deletes_pending: pending }]);
    expect(service.calls.find((call) => call.method === 'deleteTraces')?.arguments).toEqual([[TRACE], 'all']);
  });
  it('of an unknown one is 404', async () => {
    const { ask } = await start({ store: { deleteTraces: async () => ({ deleted: 0, pending: false }) } });
    expect((await ask(`/v1/api/traces/${TRACE}`, { method: 'DELETE' })).status).toBe(404);
  });
  it('of one that only logs or judgements name is done as well', async () => {
    const { ask } = await start({ store: { deleteTraces: async () => ({ deleted: 1, pending: false }) } });
    expect((await ask(`/v1/api/traces/${TRACE}`, { method: 'DELETE' })).status).toBe(200);
  });
  it('a body that a client sends along does no harm', async () => {
    const { ask } = await start({ store });
    const answer = await ask(`/v1/api/traces/${TRACE}`, {
      method: 'DELETE',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(answer.status).toBe(200);
  });
});

describe('the other lists', () => {
  it.each([
    ['/v1/api/spans', 'spans', 'listSpans', wholeSpan],
    ['/v1/api/logs', 'logs', 'listLogs', aLog({ logger: 'l', traceId: TRACE, spanId: SPAN, attributes: { a: 1 } })],
    [
      '/v1/api/metrics',
      'metrics',
      'listMetricNames',
      { name: 'tokens', type: 'counter', unit: '1', points: 4, lastSeen: NOW },
    ],
    [
      '/v1/api/metrics/tokens/points',
      'points',
      'listMetricPoints',
      aPoint({
        type: 'histogram',
        unit: 'ms',
        description: 'd',
        sum: 3,
        count: 2,
        bounds: [1],
        bucketCounts: [1, 1],
        temporality: 'delta',
        exemplars: [{ traceId: TRACE, spanId: SPAN, value: 1, timestamp: NOW, attributes: {} }],
      }),
    ],
    [
      '/v1/api/aspect_notes',
      'aspect_notes',
      'listAspectNotes',
      {
        noteId: 'n',
        traceId: TRACE,
        spanId: SPAN,
        aspect: 'tone',
        text: 'kind',
        model: 'm',
        timestamp: NOW,
        receivedAt: NOW,
        correlation: { project: 'default' },
      },
    ],
    [
      '/v1/api/scores',
      'scores',
      'listScores',
      aScore({
        label: 'good',
        reason: 'r',
        scorerVersion: '1',
        spanId: SPAN,
        scoreTraceId: TRACE,
        experimentId: 'e',
        metadata: { a: 1 },
      }),
    ],
    [
      '/v1/api/sessions',
      'sessions',
      'listRollUps',
      {
        id: 's',
        project: 'default',
        traceCount: 2,
        errorCount: 1,
        totalCost: 0.5,
        currency: 'USD',
        firstSeen: NOW,
        lastSeen: NOW,
      },
    ],
    [
      '/v1/api/users',
      'users',
      'listRollUps',
      { id: 'u', project: 'default', traceCount: 2, errorCount: 1, firstSeen: NOW, lastSeen: NOW },
    ],
    [
      '/v1/api/projects',
      'projects',
      'listProjects',
      { project: 'default', traceCount: 1, firstSeen: NOW, lastSeen: NOW },
    ],
  ])('GET %s answers {%s, next_cursor} with every field of its schema', async (path, name, method, row) => {
    const { ask } = await start({ store: { [method]: async () => ({ items: [row], next: [1] }) } });
    const { body } = await ask(`${path}?limit=1`);
    expect(Object.keys(body)).toEqual([name, 'next_cursor']);
    expect(body[name]).toHaveLength(1);
    // Whatever a record of the store holds is on the wire: as many values as went in (is_root is derived).
    const count = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce<number>((sum, part) => sum + count(part), 0)
        : 1;
    expect(count(body[name][0])).toBe(count(row) + (name === 'spans' ? 1 : 0) + (name === 'sessions' ? 0 : 0));
  });
});

describe('reports', () => {
  it('analytics/cost', async () => {
    const { ask } = await start({
      store: {
        costReport: async () => ({
          currency: 'USD',
          totalCost: 3,
          groups: [
            {
              key: 'm',
              count: 2,
              errorCount: 1,
              totalCost: 3,
              inputTokens: 4,
              outputTokens: 5,
              latency: { mean: 1.5, max: 2 },
            },
            { count: 1, errorCount: 0, inputTokens: 0, outputTokens: 0 },
          ],
          series: [{ time: NOW, key: 'm', count: 2, totalCost: 3 }],
        }),
      },
    });
    expect((await ask('/v1/api/analytics/cost?bucket=1h')).body).toEqual({
      from: '2026-11-13T09:00:00Z',
      to: '2026-11-20T09:00:00Z',
      currency: 'USD',
      total_cost: 3,
      groups: [
        {
          key: 'm',
          count: 2,
          error_count: 1,
          total_cost: 3,
          input_tokens: 4,
          output_tokens: 5,
          latency: { mean: 1.5, max: 2 },
        },
        { count: 1, error_count: 0, input_tokens: 0, output_tokens: 0 },
      ],
      series: [{ time: '2026-11-20T09:00:00Z', key: 'm', count: 2, total_cost: 3 }],
    });
  });

  const latency = { mean: 1, p50: 2, p90: 3, p95: 4, p99: 5, max: 6 };
  it('analytics/cost: a window without a priced call costs nothing, in the currency of the book', async () => {
    const { ask, calls } = await start({
      store: {
        costReport: async () => ({ groups: [{ key: 'm', count: 2, errorCount: 2, inputTokens: 0, outputTokens: 0 }] }),
      },
    });
    const { body } = await ask('/v1/api/analytics/cost');
    expect(body).toMatchObject({ currency: 'USD', total_cost: 0 });
    expect(body.groups[0]).not.toHaveProperty('total_cost');
    expect(calls).toMatchObject([{ method: 'costReport', arguments: [{ groupBy: 'model', bookModels: ['m-small'] }] }]);
  });
  it.each(['cost', 'summary'])('analytics/%s names the ids beneath an entry of the book', async (report) => {
    const models = [
      { model: 'm-small-2026-01-01', count: 2, totalCost: 1.5 },
      { model: 'm-small', count: 1 },
    ];
    const figures = { key: 'm-small', inputTokens: 0, outputTokens: 0, errorCount: 0, cancelledCount: 0, models };
    const { ask } = await start({
      store: {
        costReport: async () => ({ groups: [{ ...figures, count: 3 }] }),
        summaryReport: async () => ({ ...figures, traceCount: 3, groups: [{ ...figures, traceCount: 3 }] }),
      },
    });
    const { body } = await ask(`/v1/api/analytics/${report}?group_by=model`);
    expect(body).not.toHaveProperty('models');
    expect(body.groups).toMatchObject([
      {
        key: 'm-small',
        models: [
          { model: 'm-small-2026-01-01', count: 2, total_cost: 1.5 },
          { model: 'm-small', count: 1 },
        ],
      },
    ]);
  });
  it('analytics/summary', async () => {
    const totals = {
      ...{ traceCount: 6, errorCount: 1, cancelledCount: 2 },
      ...{ totalCost: 2, inputTokens: 3, outputTokens: 4, latency },
    };
    const { ask } = await start({
      store: { summaryReport: async () => ({ ...totals, currency: 'USD', groups: [{ key: 'k', ...totals }] }) },
    });
    const wire = {
      trace_count: 6,
      error_count: 1,
      cancelled_count: 2,
      // One of the four that were not cancelled.
      error_rate: 0.25,
      total_cost: 2,
      input_tokens: 3,
      output_tokens: 4,
      latency,
    };
    const window = { from: '2026-11-13T09:00:00Z', to: '2026-11-20T09:00:00Z', currency: 'USD' };
    expect((await ask('/v1/api/analytics/summary')).body).toEqual({ ...window, ...wire });
    expect((await ask('/v1/api/analytics/summary?group_by=name')).body).toEqual({
      ...window,
      ...wire,
      groups: [{ key: 'k', ...wire }],
    });
  });
  it('of cancelled runs alone there is no rate', async () => {
    const figures = { traceCount: 2, errorCount: 0, cancelledCount: 2, inputTokens: 0, outputTokens: 0 };
    const { ask } = await start({ store: { summaryReport: async () => ({ ...figures, groups: [] }) } });
    const { body } = await ask('/v1/api/analytics/summary');
    expect(body).toMatchObject({ trace_count: 2, error_count: 0, cancelled_count: 2 });
    expect(body).not.toHaveProperty('error_rate');
  });
  it('of nothing says nothing: no rate, no latency, no cost', async () => {
    const { ask } = await start();
    const { body } = await ask('/v1/api/analytics/summary');
    expect(body).toEqual({
      from: expect.any(String),
      to: expect.any(String),
      trace_count: 0,
      error_count: 0,
      cancelled_count: 0,
      input_tokens: 0,
      output_tokens: 0,
    });
  });
});

describe('answers are what the document says', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addFormat('trace-id', /^[0-9a-f]{32}$/);
  ajv.addFormat('span-id', /^[0-9a-f]{16}$/);
  ajv.addSchema({ $id: 'oas', ...openapi });
  it.each([
    [`/v1/api/traces/${TRACE}?include=all`, 'TraceDetail'],
    ['/v1/api/analytics/summary?group_by=model', 'SummaryReport'],
    ['/v1/api/analytics/cost', 'CostReport'],
    ['/healthz', 'Health'],
    ['/v1/api/whoami', 'Whoami'],
    ['/nothing', 'Error'],
  ])('%s is a %s', async (path, schema) => {
    const { ask } = await start({
      store: {
        findTrace: async () => ({ trace: { ...wholeTrace, durationNs: 5n }, spans: [wholeSpan] }),
        listScores: async () => ({ items: [aScore({ cost: { totalCost: 1, currency: 'USD', isEstimated: false } })] }),
        listFeedback: async () => ({
          items: [
            aFeedback({ kind: 'rating', value: 4, comment: 'c', authorKind: 'expert', authorId: 'a', metadata: {} }),
          ],
        }),
        listLogs: async () => ({ items: [aLog()] }),
      },
    });
    const { body } = await ask(path);
    const validate = ajv.compile({ $ref: `oas#/components/schemas/${schema}`, unevaluatedProperties: false });
    expect([validate(body), validate.errors]).toEqual([true, null]);
  });
});

describe('facets of the trace list', () => {
  const path = '/v1/api/traces/facets';

  it('take every filter of the list', () => {
    const namesOf = (operation: { readonly parameters: readonly object[] }): string[] =>
      operation.parameters.map((parameter) =>
        '$ref' in parameter ? String(parameter.$ref).replace(/.*\//, '') : (parameter as { name: string }).name,
      );
    const pages = ['cursor', 'sort', 'order'];
    expect(namesOf(openapi.paths['/v1/api/traces/facets'].get).toSorted()).toEqual(
      namesOf(openapi.paths['/v1/api/traces'].get)
        .filter((name) => !pages.includes(name))
        .toSorted(),
    );
  });

  it('ask the store for the same traces as the list, and for 10,000 of them at the most', async () => {
    const { ask, calls } = await start();
    await ask(`${path}?status=error&user_id=u&from=-1h&min_cost=0.5&q=refund&limit=3`);
    await ask('/v1/api/traces?status=error&user_id=u&from=-1h&min_cost=0.5&q=refund&limit=3');
    const askedOf = (method: string) => calls.find((call) => call.method === method)?.arguments[0] as object;
    const [facets, list] = [askedOf('countFacets'), askedOf('listTraces')];
    expect(facets).toMatchObject({ most: 10_000, limit: 3, projects: ['default'], q: 'refund' });
    expect({ ...facets, most: undefined }).toEqual({
      ...list,
      most: undefined,
      sort: undefined,
      order: undefined,
      maxBytes: undefined,
    });
  });

  it('answer under the names of the filters', async () => {
    const facet = { values: [{ value: 'ann', traces: 2 }], otherValues: 3, otherCount: 4, without: 5 };
    const { ask } = await start({
      store: {
        countFacets: async () => ({
          traces: 9,
          isComplete: false,
          facets: [
            { facet: 'userId', ...facet },
            { facet: 'feedback', ...facet },
          ],
        }),
      },
    });
    const wire = { values: [{ value: 'ann', traces: 2 }], other_values: 3, other_count: 4, without: 5 };
    expect((await ask(path)).body).toEqual({
      traces: 9,
      complete: false,
      facets: [
        { field: 'user_id', ...wire },
        { field: 'has_feedback', ...wire },
      ],
    });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['status=fine', 'status'],
    ['score_below=1', 'score_below'],
    ['min_cost=2&max_cost=1', 'min_cost'],
    ['from=-1h&to=-2h', 'from'],
    ['sort=cost', 'sort'],
  ])('refuse %s by name', async (query, field) => {
    const { ask } = await start();
    const answer = await ask(`${path}?${query}`);
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'invalid_parameter', field]);
  });
});

describe('the receipt of a span', () => {
  const usage = { inputTokens: 3, outputTokens: 5 };
  const cost = {
    totalCost: 3 / 1e6 + 10 / 1e6,
    inputCost: 3 / 1e6,
    outputCost: 10 / 1e6,
    currency: 'USD',
    isEstimated: true,
    priceBookId: 'test',
  };
  const at = `/v1/api/traces/${TRACE}/spans/${SPAN}`;

  it('comes with the span when it is asked for, and adds up to its cost', async () => {
    const span = aSpan({ model: 'm-small', usage, cost });
    const { ask } = await start({ store: { findSpan: async () => span } });
    expect((await ask(at)).body).not.toHaveProperty('receipt');
    const { body } = await ask(`${at}?include=receipt`);
    expect(body.receipt).toEqual({
      outcome: 'priced',
      price_book: { id: 'test', as_of: '2026-01-01', entry: 'm-small', currency: 'USD', input_rate: 1 },
      lines: [
        { side: 'input', meter: 'input', tokens: 3, rate: 1, rated_as: 'input', amount: 3 / 1e6 },
        { side: 'output', meter: 'output', tokens: 5, rate: 2, rated_as: 'output', amount: 10 / 1e6 },
      ],
      not_priced: [],
    });
    const [input, output] = body.receipt.lines;
    expect(input.amount + output.amount).toBe(body.span.cost.total_cost);
  });

  it('says why there is no cost, and refuses to include anything else', async () => {
    const { ask } = await start({ store: { findSpan: async () => aSpan({ model: 'unheard-of', usage }) } });
    expect((await ask(`${at}?include=receipt`)).body.receipt).toEqual({
      outcome: 'unpriced',
      reason: 'model_not_in_book',
    });
    const refused = await ask(`${at}?include=all`);
    expect([refused.status, refused.body.field]).toEqual([400, 'include']);
  });
});

describe('spans by their ids', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, n) => (n + 1).toString(16).padStart(16, '0'));

  it('ask the store for these spans of the trace alone, and for 4 MiB of them', async () => {
    const { ask, calls } = await start();
    expect((await ask(`/v1/api/spans?trace_id=${TRACE}&span_ids=${ids(100).join(',')}`)).status).toBe(200);
    expect(calls.find(({ method }) => method === 'readSpans')?.arguments[0]).toMatchObject({
      traceId: TRACE,
      spanIds: ids(100),
      maxBytes: 4 * 1024 * 1024,
    });
  });

  it.each([
    [`trace_id=${TRACE}&span_ids=${ids(101).join(',')}`],
    [`trace_id=${TRACE}&span_ids=`],
    [`trace_id=${TRACE}&span_ids=${ids(1)[0]},`],
    [`trace_id=${TRACE}&span_ids=nothing`],
    [`span_ids=${ids(1)[0]}`],
  ])('refuse %s', async (query) => {
    const { ask } = await start();
    const answer = await ask(`/v1/api/spans?${query}`);
    expect([answer.status, answer.body.field]).toEqual([400, 'span_ids']);
  });
});

describe('the explanation of a span', () => {
  it('names attributes, fields and rules, and no value', async () => {
    const secret = 'what-nobody-may-see';
    const span = aSpan({
      model: 'gpt-x',
      attributes: {
        'gen_ai.request.model': 'gpt-x',
        'http.request.header.authorization': '[redacted]',
        'my.own': secret,
      },
    });
    const { ask, audited } = await start({ store: { findSpan: async () => span } });
    const answer = await ask(`/v1/api/traces/${TRACE}/spans/${SPAN}/explanation`);
    expect(answer.body).toMatchObject({
      fields: [{ field: 'model', attribute: 'gen_ai.request.model', emitter: 'interface specification' }],
      unmapped: ['http.request.header.authorization', 'my.own'],
      redactions: [{ path: 'attributes.http.request.header.authorization', rule: 'built_in_key' }],
      complete: true,
    });
    expect(answer.text).not.toContain(secret);
    expect(audited.map(({ operation }) => operation)).toEqual(['explain_span']);
  });

  it.each([
    [1000, true],
    [1001, false],
  ])('names %i attributes, and is complete: %s', async (count, complete) => {
    const attributes = Object.fromEntries(Array.from({ length: count }, (_, n) => [`own.${n}`, n]));
    const { ask } = await start({ store: { findSpan: async () => aSpan({ attributes }) } });
    const { body } = await ask(`/v1/api/traces/${TRACE}/spans/${SPAN}/explanation`);
    expect([body.unmapped.length, body.complete]).toEqual([1000, complete]);
  });

  it('is 404 for a span that is not stored', async () => {
    const { ask } = await start();
    expect((await ask(`/v1/api/traces/${TRACE}/spans/${SPAN}/explanation`)).status).toBe(404);
  });
});
