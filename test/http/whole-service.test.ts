import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import * as fc from 'fast-check';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anyCharacter } from '../any-character.ts';
import { createAuditLog } from '../../src/http/access/audit-log.ts';
import { createAuthenticator } from '../../src/http/access/auth.ts';
import { ingestRoutes } from '../../src/http/routes/ingest.ts';
import { createAdmission } from '../../src/ingest/admission.ts';
import { builtinPriceBook } from '../../src/ingest/price-book.ts';
import { createPipeline } from '../../src/ingest/pipeline.ts';
import { createQuota } from '../../src/ingest/quota.ts';
import { createSampler } from '../../src/ingest/sample.ts';
import { createCounters } from '../../src/model/counters.ts';
import { unixNanoFromMillis } from '../../src/model/time.ts';
import { openSqliteSignalStore } from '../../src/store/sqlite/signals/open.ts';
import { until } from '../until.ts';
import { listeningApp } from './listening-app.ts';
import { allRoutes } from './service.ts';

// Everything behind the doors is real here: decoders, pipeline, price book, and the embedded store on a file.

const NOW_MS = Date.UTC(2026, 10, 20, 9);
const NOW = unixNanoFromMillis(NOW_MS);
const at = (secondsAgo: number): string => new Date(NOW_MS - secondsAgo * 1000).toISOString();

let folder: string;
let url: string;
let close: () => Promise<void>;
const counters = createCounters();

const keys = {
  topLevel: { ingest: ['sender'], read: ['reader'], admin: ['admin'] },
  projects: { alpha: { read: ['alpha-reader'], ingest: ['alpha-sender'] } },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-http-'));
  const store = await openSqliteSignalStore({ path: join(folder, 'signals.db') });
  const log = pino({ level: 'silent' });
  const authenticator = createAuthenticator(keys);
  const limits = { maxBodyBytes: 1 << 20, maxInflatedBytes: 1 << 22, maxSignals: 10_000 };
  const admission = createAdmission(64 * 1024 * 1024);
  const clock = () => NOW;
  const pipeline = createPipeline({
    store,
    counters,
    limits,
    admission,
    defaultProject: 'default',
    sample: createSampler({ default: 1, projects: {} }),
    quota: createQuota({ projects: { tight: 1 } }),
    finish: { redaction: {} },
    clock,
  });
  const audit = createAuditLog(store, counters, log);
  const query = {
    ...{ store, pipeline, authenticator, audit, defaultProject: 'default' },
    ...{ priceBook: builtinPriceBook, version: '1', clock },
  };
  const listening = await listeningApp({
    routes: [
      ...allRoutes(query, counters, [{ name: 'signal store', ping: () => store.ping() }]),
      ...ingestRoutes({ pipeline, log }),
    ],
    authenticator,
    audit,
    counters,
    body: { limits, admission },
    log,
    clock,
  });
  url = listening.url;
  close = async () => {
    await listening.app.close();
    await pipeline.close();
    await store.close();
  };
  await seed();
});
afterAll(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads answers freely, and fails where they are not as it says
type Answer = { status: number; body: any };
const call = async (path: string, init: RequestInit = {}, key = 'reader'): Promise<Answer> => {
  const response = await fetch(url + path, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  return { status: response.status, body: await response.json() };
};
const get = (path: string, key?: string): Promise<Answer> => call(path, {}, key);
const post = (path: string, body: object, key = 'sender'): Promise<Answer> =>
  call(path, { method: 'POST', body: JSON.stringify(body) }, key);

const traceId = (n: number): string => n.toString(16).padStart(32, '0');
const spanId = (n: number): string => n.toString(16).padStart(16, '0');

/** Five runs, oldest first: 1 and 2 of default, 3 of a session, 4 of alpha, 5 failed and unpriced. */
const seed = async (): Promise<void> => {
  const run = (n: number, more: object = {}, root: object = {}) => [
    {
      trace_id: traceId(n),
      span_id: spanId(n * 10),
      name: `run ${n}`,
      kind: 'agent_run',
      status: 'ok',
      start_time: at(1000 - n * 100),
      end_time: at(1000 - n * 100 - n),
      input: { question: `what about number${n}?` },
      correlation: { user_id: 'ada', environment: 'prod', service_name: 'api', tags: ['vip'] },
      ...root,
    },
    {
      trace_id: traceId(n),
      span_id: spanId(n * 10 + 1),
      parent_span_id: spanId(n * 10),
      name: 'chat',
      kind: 'model_generation',
      status: 'ok',
      start_time: at(1000 - n * 100),
      end_time: at(1000 - n * 100 - n),
      model: 'gpt-4o-mini',
      provider: 'openai',
      usage: { input_tokens: 1000 * n, output_tokens: 100 * n },
      output: `the answer is a purple elephant${n}`,
      ...more,
    },
  ];
  const stored = await post('/v1/ingest', {
    spans: [
      ...run(1),
      ...run(2),
      ...run(3, {}, { correlation: { session_id: 's-3', user_id: 'bob' } }),
      ...run(4, { correlation: { project: 'alpha' } }, { correlation: { project: 'alpha' } }),
      ...run(5, { model: 'a-model-nobody-knows' }, { status: 'error', error: { message: 'it broke' } }),
    ],
    logs: [
      {
        timestamp: at(10),
        severity: 'warn',
        message: 'slow tool',
        logger: 'tools',
        trace_id: traceId(1),
        attributes: { ms: 9 },
      },
      { timestamp: at(5), severity: 'info', message: 'no trace' },
    ],
    metrics: [
      { name: 'tokens', type: 'counter', timestamp: at(9), value: 3, unit: '1' },
      { name: 'tokens', type: 'counter', timestamp: at(8), value: 4, unit: '1' },
      { name: 'delay', type: 'histogram', timestamp: at(8), sum: 3, count: 2, bounds: [1], bucket_counts: [1, 1] },
    ],
    aspect_notes: [{ trace_id: traceId(1), aspect: 'tone', text: 'It stayed kind.' }],
  });
  expect([stored.status, stored.body]).toMatchObject([200, { accepted: 16, rejected: 0 }]);
  for (const [n, value] of [
    [1, 0.2],
    [2, 0.9],
  ] as const) {
    const answer = await post('/v1/api/scores', {
      trace_id: traceId(n),
      scorer_id: 'answered',
      scorer_version: '1',
      value,
    });
    expect(answer.status).toBe(201);
  }
  expect((await post('/v1/api/feedback', { trace_id: traceId(2), kind: 'thumbs', value: 'down' })).status).toBe(201);
};

const names = (answer: Answer): string[] => answer.body.traces.map((trace: { name: string }) => trace.name);

describe('what was sent is readable a moment later', () => {
  it('lists the traces of the default project, newest first', async () => {
    expect(names(await get('/v1/api/traces'))).toEqual(['run 5', 'run 3', 'run 2', 'run 1']);
  });

  it.each([
    ['status=error', ['run 5']],
    ['has_error=true', ['run 5']],
    ['model=gpt-4o-mini', ['run 3', 'run 2', 'run 1']],
    ['kind=agent_run&user_id=ada', ['run 5', 'run 2', 'run 1']],
    ['session_id=s-3', ['run 3']],
    ['tag=vip&order=asc&limit=1', ['run 1']],
    ['name=run%202', ['run 2']],
    ['has_score=answered', ['run 2', 'run 1']],
    ['has_score=answered&score_below=0.9', ['run 1']],
    ['has_score=answered&sort=score', ['run 2', 'run 1']],
    ['has_feedback=thumbs', ['run 2']],
    ['min_cost=0.0000001', ['run 3', 'run 2', 'run 1']],
    ['sort=duration&order=asc', ['run 1', 'run 2', 'run 3', 'run 5']],
    ['min_duration_ms=2000&max_duration_ms=3000', ['run 3', 'run 2']],
    ['q=elephant2', ['run 2']],
    ['q=%22purple+elephant2%22', ['run 2']],
    ['q=purple+NUMBER2', []],
    ['q=eleph*+answer', ['run 5', 'run 3', 'run 2', 'run 1']],
    ['from=-750s', ['run 5', 'run 3']],
    ['project=alpha', ['run 4']],
    ['project=*&user_id=ada', ['run 5', 'run 2', 'run 1']],
  ])('?%s finds %j', async (query, expected) => {
    const answer = await get(`/v1/api/traces?${query}`);
    expect([answer.status, answer.status === 200 ? names(answer) : answer.body]).toEqual([200, expected]);
  });

  it('pages by key: every trace once, in order, whatever the page size', async () => {
    for (const limit of [1, 2, 3]) {
      const seen: string[] = [];
      let cursor = '';
      do {
        const answer = await get(`/v1/api/traces?project=*&sort=span_count&order=asc&limit=${limit}${cursor}`);
        seen.push(...names(answer));
        cursor = answer.body.next_cursor === undefined ? '' : `&cursor=${answer.body.next_cursor}`;
      } while (cursor !== '');
      expect([limit, seen.toSorted()]).toEqual([limit, ['run 1', 'run 2', 'run 3', 'run 4', 'run 5']]);
    }
  });

  it('a trace: totals, spans in waterfall order, and what was asked to be included', async () => {
    const { body } = await get(`/v1/api/traces/${traceId(1)}?include=all`);
    // 1000 input tokens at 0.15 and 100 output tokens at 0.60 US dollars a million
    expect(body.trace.cost).toEqual({ total_cost: expect.closeTo(0.00021, 10), currency: 'USD' });
    expect(body.trace).toMatchObject({ span_count: 2, error_count: 0, models: ['gpt-4o-mini'], duration_ns: 1e9 });
    expect(body.trace.scores).toEqual([{ scorer_id: 'answered', scorer_version: '1', mean: 0.2, count: 1 }]);
    expect(body.spans.map((span: { name: string }) => span.name)).toEqual(['run 1', 'chat']);
    expect(body.spans[1].cost).toMatchObject({ is_estimated: true, price_book_id: 'builtin' });
    expect([body.scores.length, body.feedback.length, body.logs.length]).toEqual([1, 0, 1]);
  });

  it('an unpriced run has no cost, and none in the totals', async () => {
    const { body } = await get(`/v1/api/traces/${traceId(5)}`);
    expect(body.trace).not.toHaveProperty('cost');
  });

  it('`payloads=none` and one span whole', async () => {
    const bare = (await get(`/v1/api/traces/${traceId(1)}?payloads=none`)).body.spans[1];
    const whole = (await get(`/v1/api/traces/${traceId(1)}/spans/${spanId(11)}`)).body.span;
    expect(bare).not.toHaveProperty('output');
    expect(whole.output).toBe('the answer is a purple elephant1');
    expect({ ...whole, output: undefined, attributes: undefined, events: undefined, links: undefined }).toEqual(bare);
  });

  it('spans, logs, metrics, points, notes, scores, feedback', async () => {
    expect((await get('/v1/api/spans?kind=model_generation&model=gpt-4o-mini')).body.spans).toHaveLength(3);
    expect((await get('/v1/api/logs')).body.logs.map((log: { message: string }) => log.message)).toEqual([
      'no trace',
      'slow tool',
    ]);
    expect((await get('/v1/api/logs?min_severity=warn')).body.logs).toHaveLength(1);
    expect((await get('/v1/api/metrics')).body.metrics).toMatchObject([
      { name: 'delay' },
      { name: 'tokens', unit: '1', points: 2 },
    ]);
    expect((await get('/v1/api/metrics/tokens/points?order=asc')).body.points).toMatchObject([
      { value: 3 },
      { value: 4 },
    ]);
    expect((await get('/v1/api/metrics/delay/points')).body.points).toMatchObject([
      { sum: 3, count: 2, bounds: [1], bucket_counts: [1, 1] },
    ]);
    expect((await get('/v1/api/aspect_notes?aspect=tone')).body.aspect_notes).toMatchObject([
      { text: 'It stayed kind.' },
    ]);
    expect((await get('/v1/api/scores?min_value=0.9')).body.scores).toMatchObject([
      { trace_id: traceId(2), value: 0.9 },
    ]);
    expect((await get(`/v1/api/feedback?trace_id=${traceId(2)}`)).body.feedback).toMatchObject([
      { kind: 'thumbs', value: 'down' },
    ]);
  });

  it('sessions, users, projects', async () => {
    expect((await get('/v1/api/sessions')).body.sessions).toMatchObject([{ session_id: 's-3', trace_count: 1 }]);
    expect((await get('/v1/api/users')).body.users).toMatchObject([
      { user_id: 'ada', trace_count: 3, error_count: 1 },
      { user_id: 'bob', trace_count: 1 },
    ]);
    expect((await get('/v1/api/projects')).body.projects).toMatchObject([
      { project: 'alpha', trace_count: 1 },
      { project: 'default', trace_count: 4 },
    ]);
    expect((await get('/v1/api/projects', 'alpha-reader')).body.projects).toMatchObject([{ project: 'alpha' }]);
  });

  it('analytics by model count model calls, by anything else runs', async () => {
    const byModel = (await get('/v1/api/analytics/cost?bucket=1h')).body;
    expect(byModel.groups[0]).toMatchObject({ key: 'gpt-4o-mini', count: 3, input_tokens: 6000, output_tokens: 600 });
    expect(byModel.total_cost).toBeCloseTo(0.00126, 10);
    expect(byModel.currency).toBe('USD');
    expect(byModel.series.length).toBeGreaterThan(0);
    const byUser = (await get('/v1/api/analytics/cost?group_by=user_id')).body;
    expect(byUser.groups.find((group: { key: string }) => group.key === 'ada')).toMatchObject({
      count: 3,
      error_count: 1,
    });
    const summary = (await get('/v1/api/analytics/summary?group_by=status')).body;
    expect(summary).toMatchObject({ trace_count: 4, error_count: 1, error_rate: 0.25, latency: { max: 5000 } });
    expect(summary.groups.map((group: { key: string }) => group.key).toSorted()).toEqual(['error', 'ok']);
  });
});

describe('project keys on stored objects', () => {
  it('a key of alpha reads alpha, and is refused the rest with 403', async () => {
    expect(names(await get('/v1/api/traces', 'alpha-reader'))).toEqual(['run 4']);
    expect((await get(`/v1/api/traces/${traceId(4)}`, 'alpha-reader')).status).toBe(200);
    expect((await get(`/v1/api/traces/${traceId(1)}`, 'alpha-reader')).status).toBe(403);
    expect((await get(`/v1/api/traces/${traceId(99)}`, 'alpha-reader')).status).toBe(404);
  });
  it('a judgement of another project is refused inside the body too', async () => {
    const score = { trace_id: traceId(4), scorer_id: 's', value: 1, correlation: { project: 'default' } };
    expect((await post('/v1/api/scores', score, 'alpha-sender')).status).toBe(403);
    expect((await post('/v1/api/scores', { ...score, correlation: {} }, 'alpha-sender')).body.correlation).toEqual({
      project: 'alpha',
    });
  });
});

describe('single judgements', () => {
  it('an id sent again replaces the record', async () => {
    const send = (value: number) =>
      post('/v1/api/scores', { score_id: 'same', trace_id: traceId(3), scorer_id: 'again', value });
    await send(0.1);
    await send(0.7);
    expect((await get('/v1/api/scores?scorer_id=again')).body.scores).toMatchObject([{ score_id: 'same', value: 0.7 }]);
  });
  it('count against the project ceiling: beyond it 429 `over_quota` with Retry-After, and the counters move', async () => {
    const before = { ...counters };
    const send = () =>
      post('/v1/api/feedback', {
        trace_id: traceId(3),
        kind: 'comment',
        value: 'x',
        correlation: { project: 'tight' },
      });
    expect((await send()).status).toBe(201);
    const refused = await send();
    expect([refused.status, refused.body.code]).toEqual([429, 'over_quota']);
    expect(counters.signalsOverQuota - before.signalsOverQuota).toBe(1);
    expect(counters.signalsAccepted - before.signalsAccepted).toBe(1);
  });
});

describe('audit and deletion', () => {
  it('rows of reads can be read back, paged, by an admin', async () => {
    await get(`/v1/api/traces/${traceId(4)}`, 'alpha-reader');
    await get(`/v1/api/traces/${traceId(1)}`, 'alpha-reader');
    const alpha = await get('/v1/api/audit?project=alpha&operation=get_trace&limit=1', 'admin');
    expect(alpha.body.entries).toMatchObject([{ operation: 'get_trace', project: 'alpha', outcome: 'allowed' }]);
    const refused = (await get('/v1/api/audit?operation=get_trace&limit=1', 'admin')).body;
    expect(refused.entries).toMatchObject([
      { project: 'default', outcome: 'refused', resource: `/v1/api/traces/${traceId(1)}` },
    ]);
    const next = await get(`/v1/api/audit?operation=get_trace&limit=1&cursor=${refused.next_cursor}`, 'admin');
    expect(next.body.entries).toHaveLength(1);
    expect(next.body.entries[0].audit_id).not.toBe(refused.entries[0].audit_id);
  });

  it('DELETE removes the trace with its scores, feedback and text, and is itself recorded', async () => {
    const path = `/v1/api/traces/${traceId(2)}`;
    expect((await call(path, { method: 'DELETE' }, 'reader')).status).toBe(403);
    const deleted = await call(path, { method: 'DELETE' }, 'admin');
    expect([deleted.status, deleted.body]).toEqual([200, { deleted: true, deletes_pending: false }]);
    expect((await get(path)).status).toBe(404);
    expect(names(await get('/v1/api/traces?q=elephant2'))).toEqual([]);
    expect((await get(`/v1/api/scores?trace_id=${traceId(2)}`)).body.scores).toEqual([]);
    expect((await get('/v1/api/audit?operation=delete_trace', 'admin')).body.entries).toMatchObject([
      { outcome: 'allowed' },
      { outcome: 'refused' },
    ]);
  });

  it('/readyz asks the store', async () =>
    expect((await get('/readyz')).body).toMatchObject({ status: 'ok', storage: expect.any(String) }));
});

describe('any input is a valid query', () => {
  it('whatever words are searched for, the store answers', async () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 40 }),
      fc
        .array(
          fc.constantFrom(
            '"',
            '*',
            '-',
            'AND',
            'OR',
            'NEAR(',
            ')',
            '^',
            ':',
            '{',
            "'",
            '\\',
            'a.b',
            'it',
            '\u0000',
            ' ',
          ),
          { maxLength: 12 },
        )
        .map((parts) => parts.join('')),
    );
    await fc.assert(
      fc.asyncProperty(text, async (q) => {
        const answer = await get(`/v1/api/traces?q=${encodeURIComponent(q.toWellFormed())}`);
        expect([q, answer.status]).toEqual([q, 200]);
      }),
      { numRuns: 200 },
    );
  });

  it('whatever a filter is given, the answer is a list or a 400 that names it', async () => {
    const filters = [
      'status',
      'name',
      'user_id',
      'tag',
      'min_cost',
      'score_below',
      'from',
      'to',
      'cursor',
      'limit',
      'sort',
      'project',
      'kind',
    ];
    const value = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 30 }),
      fc.constantFrom(
        '-1',
        '1e308',
        '-0',
        '0',
        'null',
        'true',
        '-9999999999w',
        '-999999999w',
        '9999-12-31T23:59:59Z',
        '0000-01-01T00:00:00Z',
        '%',
        '../..',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...filters), value, async (name, given) => {
        const answer = await get(`/v1/api/traces?${name}=${encodeURIComponent(given.toWellFormed())}`);
        if (answer.status === 200) expect(answer.body.traces).toBeInstanceOf(Array);
        else expect([name, given, answer.status, answer.body.field]).toEqual([name, given, 400, name]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the page at /', () => {
  /** As much of a browser as the page's script touches: elements by id that take text and children. */
  const openPage = async (key: string) => {
    type Element = { textContent: string; children: Element[]; hidden: boolean; value: string } & Record<
      string,
      unknown
    >;
    const anElement = (): Element => ({
      textContent: '',
      children: [],
      hidden: false,
      value: '',
      addEventListener: () => {},
      append(this: Element, ...children: Element[]) {
        this.children.push(...children);
      },
      replaceChildren(this: Element, ...children: Element[]) {
        this.children = children;
      },
    });
    const elements = new Map<string, Element>();
    const byId = (id: string): Element => {
      const element = elements.get(id) ?? anElement();
      elements.set(id, element);
      return element;
    };
    const script = await readFile(new URL('../../src/http/page/page.js', import.meta.url), 'utf8');
    runInContext(
      script,
      createContext({
        document: {
          getElementById: byId,
          createElement: anElement,
          querySelectorAll: () => [],
          visibilityState: 'hidden',
        },
        sessionStorage: { getItem: () => key, setItem: () => {}, removeItem: () => {} },
        location: { origin: url },
        fetch: (path: string, init?: RequestInit) => fetch(url + path, init),
        setInterval: () => {},
        setTimeout: () => {},
        crypto,
      }),
    );
    return byId;
  };
  const textsOf = (element: { children: { children: { textContent: string }[] }[] }): string[][] =>
    element.children.map((row) => row.children.map((cell) => cell.textContent));

  it('shows what has arrived, with its reader’s key', async () => {
    const byId = await openPage('reader');
    await until(() => byId('rows').children.length > 0 && byId('traces').textContent !== '');
    const rows = textsOf(byId('rows'));
    const listed = names(await get('/v1/api/traces?limit=20'));
    expect(rows.map((row) => row[1])).toEqual(listed);
    expect(rows.find((row) => row[1] === 'run 5')).toEqual(
      expect.arrayContaining(['error', '–', 'a-model-nobody-knows']),
    );
    expect(byId('traces').textContent).toBe(String(listed.length));
  });

  it('asks for a key where one is needed', async () => {
    const byId = await openPage('');
    await until(() => byId('notice').textContent.includes('A key is needed'));
    expect(byId('rows').children).toEqual([]);
  });

  it('its curl command sends a trace that is taken', async () => {
    const byId = await openPage('reader');
    const command = /^curl (\S+) -H 'content-type: application\/json' -d '([^']*)'$/.exec(byId('curl').textContent);
    expect(command?.[1]).toBe(`${url}/v1/traces`);
    const sent = await call('/v1/traces', { method: 'POST', body: command?.[2] ?? '' }, 'sender');
    expect(sent).toEqual({ status: 200, body: { partialSuccess: { rejectedSpans: 0, errorMessage: '' } } });
    // Its times are those of the reader's clock.
    const { body } = await get('/v1/api/traces?name=first%20trace');
    expect(body.traces).toMatchObject([{ status: 'ok', duration_ns: 1_200_000_000, models: ['gpt-4o-mini'] }]);
    expect(byId('otel').textContent).toContain(`export OTEL_EXPORTER_OTLP_ENDPOINT=${url}\n`);
  });
});
