import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiOperations } from '../../../src/http/contract/contract.ts';
import { MAX_UNIX_NANO } from '../../../src/model/time.ts';
import { SPAN, TRACE } from '../factories.ts';
import { NOW, type Service, startService } from '../service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ store: { findTrace: async () => undefined } });
});
afterAll(() => service.close());

/** What the store was asked last. */
/** What the store was last asked, but for how much of it is read at a time. */
const lastQuery = (method: string): unknown => {
  const asked = service.calls.findLast((call) => call.method === method)?.arguments[0] ?? {};
  return Object.fromEntries(Object.entries(asked).filter(([name]) => name !== 'maxBytes'));
};

const HOUR = 3_600_000_000_000n;
/** What the service of the tests has in its price book. */
const report = { projects: ['default'], bookModels: ['m-small'] };
const paging = { projects: ['default'], limit: 50 };
const newest = { sort: 'last_seen', order: 'desc' } as const;

/** Path, parameters, the store's method and what it must have been asked. */
const filters: [path: string, query: string, method: string, asked: object][] = [
  // Interface decisions, 4: "Trace filters"
  ...(
    [
      ['status=error', { status: 'error' }],
      ['name=answer%20ticket', { name: 'answer ticket' }],
      ['model=gpt-4o-mini', { model: 'gpt-4o-mini' }],
      ['provider=openai', { provider: 'openai' }],
      ['entity_name=triage', { entityName: 'triage' }],
      ['kind=tool_call', { kind: 'tool_call' }],
      ['user_id=u%2F17', { userId: 'u/17' }],
      ['session_id=s', { sessionId: 's' }],
      ['thread_id=t', { threadId: 't' }],
      ['environment=prod', { environment: 'prod' }],
      ['service_name=api', { serviceName: 'api' }],
      ['service_version=1.2', { serviceVersion: '1.2' }],
      ['release=r1', { release: 'r1' }],
      ['tag=vip', { tag: 'vip' }],
      ['run_id=r', { runId: 'r' }],
      ['experiment_id=e', { experimentId: 'e' }],
      ['has_feedback=thumbs', { hasFeedback: 'thumbs' }],
      ['has_score=answered', { hasScore: 'answered' }],
      ['has_score=answered&score_below=0.5', { hasScore: 'answered', scoreBelow: 0.5 }],
      ['min_cost=0.01', { minCost: 0.01 }],
      ['max_cost=2e-3', { maxCost: 0.002 }],
      ['min_duration_ms=10', { minDurationMs: 10 }],
      ['max_duration_ms=10.5', { maxDurationMs: 10.5 }],
      ['has_error=true', { hasError: true }],
      ['has_error=false', { hasError: false }],
      ['q=%22exact+words%22+pre*', { q: '"exact words" pre*' }],
      ["q=it's+a.b+-a+user@x.com+AND", { q: "it's a.b -a user@x.com AND" }],
      ['q=', {}],
      ['q=+++', {}],
      ['from=-1h', { from: NOW - HOUR }],
      ['to=-0s', { to: NOW }],
      ['from=2026-11-20T08:00:00.000000001Z', { from: NOW - HOUR + 1n }],
      ['from=2026-11-20T10:00:00+02:00', { from: NOW - HOUR }],
      // Beyond what 64 bits of nanoseconds hold: before, or after, everything.
      ['from=-999999999w', { from: -MAX_UNIX_NANO }],
      ['to=9999-12-31T23:59:59Z', { to: MAX_UNIX_NANO }],
      ['from=-2w&to=-1d', { from: NOW - 14n * 24n * HOUR, to: NOW - 24n * HOUR }],
    ] as const
  ).map(([query, asked]): [string, string, string, object] => [
    '/v1/api/traces',
    query,
    'listTraces',
    { ...paging, sort: 'start_time', order: 'desc', ...asked },
  ]),
  ...(['start_time', 'duration', 'cost', 'span_count'] as const).map((sort): [string, string, string, object] => [
    '/v1/api/traces',
    `sort=${sort}&order=asc`,
    'listTraces',
    { ...paging, sort, order: 'asc' },
  ]),
  [
    '/v1/api/traces',
    'sort=score&has_score=answered',
    'listTraces',
    { ...paging, sort: 'score', order: 'desc', hasScore: 'answered' },
  ],
  [
    '/v1/api/traces',
    'project=other&limit=1',
    'listTraces',
    { projects: ['other'], limit: 1, sort: 'start_time', order: 'desc' },
  ],
  [
    '/v1/api/traces',
    'project=*&limit=1000',
    'listTraces',
    { projects: 'all', limit: 1000, sort: 'start_time', order: 'desc' },
  ],

  ...(
    [
      [`trace_id=${TRACE}`, { traceId: TRACE }],
      [`trace_id=${TRACE}&span_ids=${SPAN}`, { traceId: TRACE, spanIds: [SPAN] }],
      ['kind=retrieval', { kind: 'retrieval' }],
      ['status=unset', { status: 'unset' }],
      ['name=n', { name: 'n' }],
      ['model=m', { model: 'm' }],
      ['provider=p', { provider: 'p' }],
      ['entity_name=e', { entityName: 'e' }],
      ['session_id=s', { sessionId: 's' }],
      ['user_id=u', { userId: 'u' }],
      ['environment=e', { environment: 'e' }],
      ['service_name=s', { serviceName: 's' }],
      ['order=asc', { order: 'asc' }],
      ['payloads=none', { payloads: false }],
      ['from=-1h&to=-0s', { from: NOW - HOUR, to: NOW }],
    ] as const
  ).map(([query, asked]): [string, string, string, object] => [
    '/v1/api/spans',
    query,
    'readSpans',
    { ...paging, order: 'desc', payloads: true, ...asked },
  ]),

  ...(
    [
      [`trace_id=${TRACE}&span_id=${SPAN}`, { traceId: TRACE, spanId: SPAN }],
      ['severity=warn', { severity: 'warn' }],
      ['min_severity=error', { minSeverity: 'error' }],
      ['logger=l', { logger: 'l' }],
      ['service_name=s', { serviceName: 's' }],
      ['environment=e', { environment: 'e' }],
      ['session_id=s', { sessionId: 's' }],
      ['user_id=u', { userId: 'u' }],
      ['order=asc&from=-1h', { order: 'asc', from: NOW - HOUR }],
    ] as const
  ).map(([query, asked]): [string, string, string, object] => [
    '/v1/api/logs',
    query,
    'listLogs',
    { ...paging, order: 'desc', ...asked },
  ]),

  ['/v1/api/metrics', '', 'listMetricNames', paging],
  [
    '/v1/api/metrics/a%2Fb%20c/points',
    'service_name=s&order=asc&to=-0s',
    'listMetricPoints',
    { ...paging, name: 'a/b c', serviceName: 's', order: 'asc', to: NOW },
  ],
  [
    '/v1/api/aspect_notes',
    `trace_id=${TRACE}&aspect=tone`,
    'listAspectNotes',
    { ...paging, traceId: TRACE, aspect: 'tone' },
  ],

  // Interface specification: scores are filtered by `scorer_id`, `source`, `trace_id`, `experiment_id`, `min_value`, `max_value`, a time window
  ...(
    [
      ['scorer_id=answered', { scorerId: 'answered' }],
      ['source=experiment', { source: 'experiment' }],
      [`trace_id=${TRACE}`, { traceId: TRACE }],
      ['experiment_id=e', { experimentId: 'e' }],
      ['min_value=-0.5', { minValue: -0.5 }],
      ['max_value=0', { maxValue: 0 }],
      ['from=-1d&to=-1h', { from: NOW - 24n * HOUR, to: NOW - HOUR }],
    ] as const
  ).map(([query, asked]): [string, string, string, object] => [
    '/v1/api/scores',
    query,
    'listScores',
    { ...paging, ...asked },
  ]),

  ['/v1/api/sessions', 'from=-1h', 'listRollUps', { ...paging, ...newest, of: 'session', from: NOW - HOUR }],
  ['/v1/api/users', 'to=-1h', 'listRollUps', { ...paging, ...newest, of: 'user', to: NOW - HOUR }],
  ['/v1/api/users', 'sort=cost&order=asc', 'listRollUps', { ...paging, of: 'user', sort: 'cost', order: 'asc' }],
  ['/v1/api/projects', 'limit=3', 'listProjects', { projects: 'all', limit: 3 }],
  [
    '/v1/api/audit',
    'operation=get_trace&subject=ada&from=-1h',
    'listAudit',
    { ...paging, operation: 'get_trace', subject: 'ada', from: NOW - HOUR },
  ],

  // "from, to (default: last 7 days ending now), group_by (model default ...), bucket (30s, 5m, 1h, 1d; omit for totals only)"
  ['/v1/api/analytics/cost', '', 'costReport', { ...report, from: NOW - 168n * HOUR, to: NOW, groupBy: 'model' }],
  ...(
    [
      ['30s', 30],
      ['5m', 300],
      ['1h', 3600],
      ['1d', 86_400],
    ] as const
  ).map(([bucket, bucketSeconds]): [string, string, string, object] => [
    '/v1/api/analytics/cost',
    `bucket=${bucket}&from=-1h`,
    'costReport',
    { ...report, from: NOW - HOUR, to: NOW, groupBy: 'model', bucketSeconds },
  ]),
  ...(
    ['provider', 'entity_name', 'environment', 'status', 'session_id', 'user_id', 'service_name', 'name'] as const
  ).flatMap((groupBy): [string, string, string, object][] => [
    [
      '/v1/api/analytics/cost',
      `group_by=${groupBy}`,
      'costReport',
      { ...report, from: NOW - 168n * HOUR, to: NOW, groupBy },
    ],
    [
      '/v1/api/analytics/summary',
      `group_by=${groupBy}`,
      'summaryReport',
      { ...report, from: NOW - 168n * HOUR, to: NOW, groupBy },
    ],
  ]),
  [
    '/v1/api/analytics/summary',
    'to=-1d',
    'summaryReport',
    { ...report, from: NOW - 192n * HOUR, to: NOW - 24n * HOUR },
  ],
];

describe('every filter reaches the store as what it means', () => {
  it.each(filters)('GET %s?%s', async (path, query, method, asked) => {
    const answer = await service.ask(`${path}?${query}`);
    expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)]);
    expect(lastQuery(method)).toEqual(asked);
  });

  it('no query parameter of the document is left out above', () => {
    const tried = new Set(
      filters.flatMap(([path, query]) => [...new URLSearchParams(query).keys()].map((name) => `${path} ${name}`)),
    );
    const elsewhere = new Set(['limit', 'cursor', 'project', 'from', 'to', 'order', 'sort']);
    for (const [path] of filters) {
      const operation = [...apiOperations().values()].find(
        (candidate) =>
          candidate.method === 'GET' && new RegExp(`^${candidate.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
      );
      const known = /it takes (.*)$/.exec(
        (() => {
          try {
            operation?.readQuery({ nonsense: '1' });
          } catch (error) {
            return (error as Error).message;
          }
          return '';
        })(),
      );
      const names = (known?.[1] ?? '').split(', ').filter((name) => name !== '' && !elsewhere.has(name));
      expect([path, names.filter((name) => !tried.has(`${path} ${name}`))]).toEqual([path, []]);
    }
  });
});

/** Path and query, the field that must be named, and a word of the message. */
const refusals: [path: string, field: string, word: string][] = [
  ['/v1/api/traces?nope=1', 'nope', 'not a parameter'],
  ['/v1/api/traces?__proto__=1', '__proto__', 'not a parameter'],
  ['/v1/api/traces?constructor=1', 'constructor', 'not a parameter'],
  ['/v1/api/traces?limit=0', 'limit', 'at least 1'],
  ['/v1/api/traces?limit=1001', 'limit', 'at most 1000'],
  ['/v1/api/traces?limit=ten', 'limit', 'integer'],
  ['/v1/api/traces?limit=1.5', 'limit', 'integer'],
  ['/v1/api/traces?limit=', 'limit', 'integer'],
  ['/v1/api/traces?limit=5&limit=6', 'limit', 'more than once'],
  ['/v1/api/traces?min_cost=1e400', 'min_cost', 'number'],
  ['/v1/api/traces?min_cost=-1', 'min_cost', 'at least 0'],
  ['/v1/api/traces?min_cost=NaN', 'min_cost', 'number'],
  ['/v1/api/traces?min_cost=2&max_cost=1', 'min_cost', 'above'],
  ['/v1/api/traces?min_duration_ms=2&max_duration_ms=1', 'min_duration_ms', 'above'],
  ['/v1/api/traces?has_error=yes', 'has_error', 'true or false'],
  ['/v1/api/traces?status=failed', 'status', 'one of ok, error, unset'],
  ['/v1/api/traces?kind=llm', 'kind', 'one of model_generation'],
  ['/v1/api/traces?has_feedback=stars', 'has_feedback', 'one of thumbs'],
  ['/v1/api/traces?user_id=', 'user_id', 'empty'],
  ['/v1/api/traces?project=', 'project', 'empty'],
  ['/v1/api/traces?sort=name', 'sort', 'one of start_time'],
  ['/v1/api/traces?order=up', 'order', 'one of asc, desc'],
  ['/v1/api/traces?sort=score', 'sort', 'has_score'],
  ['/v1/api/traces?score_below=1', 'score_below', 'has_score'],
  ['/v1/api/traces?from=yesterday', 'from', 'RFC 3339'],
  ['/v1/api/traces?from=2026-02-30T00:00:00Z', 'from', 'RFC 3339'],
  ['/v1/api/traces?from=-7', 'from', 'RFC 3339'],
  ['/v1/api/traces?from=-1y', 'from', 'RFC 3339'],
  ['/v1/api/traces?from=7d', 'from', 'RFC 3339'],
  ['/v1/api/traces?from=-1h&to=-2h', 'from', 'after'],
  ['/v1/api/traces?cursor=x', 'cursor', 'cursor'],
  [`/v1/api/traces?q=${'x'.repeat(8193)}`, 'q', 'at most 8192'],
  [`/v1/api/traces/${TRACE}?include=everything`, 'include', 'must be a comma list of scores, feedback, all'],
  ['/v1/api/traces?limit=ten', 'limit', 'must be an integer'],
  ['/v1/api/traces?min_cost=much', 'min_cost', 'must be a number'],
  [`/v1/api/traces/${TRACE}?include=`, 'include', 'include'],
  [`/v1/api/traces/${TRACE}?payloads=some`, 'payloads', 'one of all, none'],
  ['/v1/api/spans?trace_id=abc', 'trace_id', '32 lowercase hex'],
  [`/v1/api/spans?trace_id=${'0'.repeat(32)}`, 'trace_id', 'not all zero'],
  [`/v1/api/spans?trace_id=${TRACE.toUpperCase()}`, 'trace_id', 'lowercase'],
  ['/v1/api/logs?min_severity=fine', 'min_severity', 'one of trace'],
  ['/v1/api/logs?span_id=1', 'span_id', '16 lowercase hex'],
  // "`order` on scores; `kind`, `from`, `to`, `cursor` on feedback: refused by name"
  ['/v1/api/scores?order=asc', 'order', 'newest first'],
  ['/v1/api/scores?order=desc', 'order', 'newest first'],
  ['/v1/api/scores?min_value=1&max_value=0', 'min_value', 'above'],
  ['/v1/api/scores?source=guess', 'source', 'one of live'],
  [`/v1/api/feedback?trace_id=${TRACE}&kind=thumbs`, 'kind', '`kind`'],
  [`/v1/api/feedback?trace_id=${TRACE}&from=-1d`, 'from', '`from`'],
  [`/v1/api/feedback?trace_id=${TRACE}&to=-1d`, 'to', '`to`'],
  [`/v1/api/feedback?trace_id=${TRACE}&cursor=c`, 'cursor', '`cursor`'],
  // "Requires `trace_id`; without it: 400 naming the parameter"
  ['/v1/api/feedback', 'trace_id', '`trace_id`'],
  ['/v1/api/analytics/cost?group_by=color', 'group_by', 'one of model'],
  ['/v1/api/analytics/cost?bucket=2h', 'bucket', 'one of 30s, 5m, 1h, 1d'],
  ['/v1/api/analytics/cost?from=2026-12-01T00:00:00Z', 'from', 'after'],
  ['/v1/api/analytics/summary?bucket=1h', 'bucket', 'not a parameter'],
  ['/v1/api/projects?project=default', 'project', 'not a parameter'],
  ['/v1/api/whoami?x=1', 'x', 'not a parameter'],
];

describe('an unknown query parameter, or a known one with an unusable value, is 400 `invalid_parameter` with `field`', () => {
  it.each(refusals)('%s names %s: %s', async (path, field, word) => {
    const before = service.calls.length;
    const answer = await service.ask(path);
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'invalid_parameter', field]);
    expect(answer.body.message).toContain(word);
    expect(service.calls.length).toBe(before); // refused before the store was asked anything
  });

  it('a refusal shows no more than the beginning of a long value', async () => {
    const answer = await service.ask(`/v1/api/traces?status=${'x'.repeat(2000)}`);
    expect(answer.body.message.length).toBeLessThan(200);
  });
});

describe('an id in a path', () => {
  it.each([
    ['/v1/api/traces/abc', 'trace_id'],
    [`/v1/api/traces/${'0'.repeat(32)}`, 'trace_id'],
    [`/v1/api/traces/${TRACE}0`, 'trace_id'],
    [`/v1/api/traces/${TRACE}/spans/${'0'.repeat(16)}`, 'span_id'],
    [`/v1/api/traces/${TRACE}/spans/xyz`, 'span_id'],
  ])('%s is 400 `invalid_id` naming %s', async (path, field) => {
    const answer = await service.ask(path);
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'invalid_id', field]);
  });
});
