import { afterEach, describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/model/failure.ts';
import type { ProjectReach } from '../../../src/model/scope.ts';
import type { Feedback, Score } from '../../../src/model/signal.ts';
import { aFeedback, SPAN, TRACE } from '../factories.ts';
import type { Answer } from '../listening-app.ts';
import { type Service, type ServiceOptions, startService } from '../service.ts';

const running: Service[] = [];
/** A service whose pipeline stores a judgement as it is and tells what it was given. */
const start = async (options: ServiceOptions = {}) => {
  const taken: { readonly judgement: Score | Feedback; readonly reach: ProjectReach }[] = [];
  const service = await startService({
    pipeline: {
      ingestScore: async (judgement, reach) => {
        taken.push({ judgement, reach });
        return judgement;
      },
      ingestFeedback: async (judgement, reach) => {
        taken.push({ judgement, reach });
        return judgement;
      },
    },
    ...options,
  });
  running.push(service);
  const post = (
    path: string,
    body: unknown,
    more: { key?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> =>
    service.ask(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...more.headers },
      ...(more.key === undefined ? {} : { key: more.key }),
    });
  return { ...service, taken, post };
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

const score = { trace_id: TRACE, scorer_id: 'answered', value: 0.5 };
const feedback = { trace_id: TRACE, kind: 'thumbs', value: 'up' };

describe('POST /v1/api/scores', () => {
  it('answers 201 with the stored record', async () => {
    const { post, taken } = await start();
    const answer = await post('/v1/api/scores', {
      ...score,
      score_id: 'mine',
      scorer_version: '2',
      min: -1,
      max: 1,
      label: 'fair',
      reason: 'because',
      source: 'manual',
      experiment_id: 'e',
      timestamp: '2026-11-20T08:00:00.5Z',
      correlation: { project: 'alpha', user_id: 'u' },
    });
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        score_id: 'mine',
        trace_id: TRACE,
        scorer_id: 'answered',
        scorer_version: '2',
        value: 0.5,
        min: -1,
        max: 1,
        label: 'fair',
        reason: 'because',
        source: 'manual',
        timestamp: '2026-11-20T08:00:00.500Z',
        received_at: '2026-11-20T09:00:00Z',
        correlation: { project: 'alpha', user_id: 'u' },
        experiment_id: 'e',
      },
    ]);
    expect(taken).toHaveLength(1);
  });

  it('defaults: scale 0 to 1, source live, now, the daemon’s project; an empty id makes the server generate one', async () => {
    const { post } = await start();
    const { body } = await post('/v1/api/scores', { ...score, score_id: '' });
    expect(body).toMatchObject({
      min: 0,
      max: 1,
      source: 'live',
      timestamp: '2026-11-20T09:00:00Z',
      correlation: { project: 'default' },
    });
    expect(body.score_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  it('a span alone is enough', async () => {
    const { post } = await start();
    const { trace_id: _trace, ...rest } = score;
    expect((await post('/v1/api/scores', { ...rest, span_id: SPAN })).status).toBe(201);
  });

  it('neither `trace_id` nor `span_id` gives 400, in our own shape', async () => {
    const { post, taken } = await start();
    const { trace_id: _trace, ...rest } = score;
    const answer = await post('/v1/api/scores', rest);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/json']);
    expect(answer.body.message).toMatch(/trace_id.*span_id/);
    expect(taken).toEqual([]);
  });

  it('the all-zero id is refused wherever it appears', async () => {
    const { post } = await start();
    const answer = await post('/v1/api/scores', { ...score, trace_id: '0'.repeat(32) });
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'invalid_id', 'trace_id']);
  });
});

describe('POST /v1/api/feedback', () => {
  it('answers 201 with the stored record; `author_id` is stored exactly as sent', async () => {
    const { post } = await start();
    const answer = await post('/v1/api/feedback', {
      ...feedback,
      feedback_id: 'f',
      comment: 'nice',
      author_kind: 'end_user',
      author_id: ' Ada ',
      metadata: { page: 3 },
    });
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        feedback_id: 'f',
        trace_id: TRACE,
        kind: 'thumbs',
        value: 'up',
        comment: 'nice',
        author_kind: 'end_user',
        author_id: ' Ada ',
        metadata: { page: 3 },
        timestamp: '2026-11-20T09:00:00Z',
        received_at: '2026-11-20T09:00:00Z',
        correlation: { project: 'default' },
      },
    ]);
  });
  it.each([
    ['thumbs', 'up', 201],
    ['thumbs', 'down', 201],
    ['thumbs', 'sideways', 400],
    ['thumbs', 1, 400],
    ['rating', 4.5, 201],
    ['rating', '4.5', 400],
    ['correction', 'the right answer', 201],
    ['tag', 'off topic', 201],
    ['comment', 'free prose', 201],
    ['comment', 7, 400],
  ])('kind %s decides the shape of `value`: %j is %d', async (kind, value, status) => {
    const { post } = await start();
    expect((await post('/v1/api/feedback', { ...feedback, kind, value })).status).toBe(status);
  });
  it('neither `trace_id` nor `span_id` gives 400', async () => {
    const { post } = await start();
    expect((await post('/v1/api/feedback', { kind: 'thumbs', value: 'up' })).status).toBe(400);
  });
});

describe('a body that cannot be decoded into the typed body of an endpoint', () => {
  it.each([
    ['/v1/api/scores', { trace_id: TRACE, value: 1 }, 'scorer_id'],
    ['/v1/api/scores', { trace_id: TRACE, scorer_id: 's' }, 'value'],
    ['/v1/api/scores', { ...score, value: 'high' }, 'value'],
    ['/v1/api/scores', { ...score, value: null }, 'value'],
    ['/v1/api/scores', { ...score, source: 'guess' }, 'source'],
    ['/v1/api/scores', { ...score, correlation: { tags: [1] } }, 'correlation.tags.0'],
    ['/v1/api/scores', [score], 'object'],
    ['/v1/api/scores', 'null', 'object'],
    ['/v1/api/feedback', { trace_id: TRACE, value: 'up' }, 'kind'],
    ['/v1/api/feedback', { ...feedback, kind: 'stars' }, 'kind'],
    ['/v1/api/feedback', { ...feedback, author_kind: 'robot' }, 'author_kind'],
  ])('%s with %j: status 422 with content-type text/plain and a message naming `%s`', async (path, body, name) => {
    const { post, taken } = await start();
    const answer = await post(path, body);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([422, 'text/plain; charset=utf-8']);
    expect(answer.text).toContain(name);
    expect(taken).toEqual([]);
  });

  it.each(['{"a":', 'score', '', '{"value": 01}', '{"a":1}}'])(
    'non-JSON syntax gives 400 as text: %j',
    async (body) => {
      const { post } = await start();
      const answer = await post('/v1/api/scores', body);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain; charset=utf-8']);
    },
  );

  it('a member that is null counts as absent, as at the native door', async () => {
    const { post, taken } = await start();
    const nulls = { label: null, reason: null, source: null, timestamp: null, cost: null, experiment_id: null };
    const score = { trace_id: TRACE, span_id: null, scorer_id: 's', value: 1, ...nulls };
    const answer = await post('/v1/api/scores', {
      ...score,
      score_id: null,
      correlation: { user_id: null, tags: null },
    });
    expect(answer.status).toBe(201);
    expect(JSON.stringify(answer.body)).not.toContain('null');
    expect((await post('/v1/api/scores', { ...score, correlation: null })).status).toBe(201);
    const feedback = { trace_id: TRACE, kind: 'thumbs', value: 'up', comment: null, author_kind: null, metadata: null };
    expect((await post('/v1/api/feedback', feedback)).status).toBe(201);
    // "score with neither `trace_id` nor `span_id`: 400"; "naming a missing field": 422
    const neither = await post('/v1/api/scores', { ...score, trace_id: null });
    expect([neither.status, neither.body.code, neither.body.field]).toEqual([400, 'invalid_parameter', 'trace_id']);
    const without = await post('/v1/api/scores', { ...score, value: null });
    expect([without.status, without.text]).toEqual([422, 'the request body does not decode: missing field `value`']);
    expect(taken).toHaveLength(3);
  });
  it('a null of free JSON stays a null', async () => {
    const { post, taken } = await start();
    const feedback = { trace_id: TRACE, kind: 'thumbs', value: 'up', metadata: { a: null } };
    expect((await post('/v1/api/feedback', feedback)).status).toBe(201);
    expect(taken.map(({ judgement }) => judgement.metadata)).toEqual([{ a: null }]);
  });
  it('a rating outside of the scale names the value and both bounds', async () => {
    const { post } = await start();
    const rating = (value: number, metadata: object) =>
      post('/v1/api/feedback', { trace_id: TRACE, kind: 'rating', value, metadata });
    for (const value of [0.9, 5.1]) {
      const answer = await rating(value, { scale_min: 1, scale_max: 5 });
      expect([answer.status, answer.body.field]).toEqual([400, 'value']);
      expect(answer.body.message).toContain(`is ${value}, outside of the scale from 1 to 5`);
    }
    for (const value of [1, 5]) expect((await rating(value, { scale_min: 1, scale_max: 5 })).status).toBe(201);
  });
  it('a text never holds a value of the body', async () => {
    const { post } = await start();
    expect((await post('/v1/api/scores', { ...score, value: 'my secret' })).text).not.toContain('secret');
  });

  it('`__proto__` is a plain key', async () => {
    const { post } = await start();
    const answer = await post('/v1/api/scores', `{"trace_id":"${TRACE}","value":1,"__proto__":{"scorer_id":"x"}}`);
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('scorer_id')]);
  });
});

describe('what is not JSON at all', () => {
  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'text/json'])(
    'content-type %s is 415 `unsupported_media_type`',
    async (type) => {
      const { post } = await start();
      const answer = await post('/v1/api/scores', score, { headers: { 'content-type': type } });
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
    },
  );
  it('parameters after the type are fine', async () => {
    const { post } = await start();
    expect(
      (await post('/v1/api/scores', score, { headers: { 'content-type': 'application/json; charset=utf-8' } })).status,
    ).toBe(201);
  });
  it('an unsupported content-encoding is refused by name', async () => {
    const { post } = await start();
    const answer = await post('/v1/api/scores', score, { headers: { 'content-encoding': 'br' } });
    expect([answer.status, answer.body]).toEqual([
      415,
      {
        code: 'unsupported_content_encoding',
        message: 'content-encoding "br" is not supported; use gzip or send the body uncompressed',
      },
    ]);
  });
  it('a body over --max-body-bytes is 413, one at the bound is read', async () => {
    const body = JSON.stringify(score);
    const { post } = await start({ maxBodyBytes: body.length });
    expect((await post('/v1/api/scores', body)).status).toBe(201);
    const answer = await post('/v1/api/scores', `${body} `);
    expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
  });
});

describe('keys and quota of single judgements', () => {
  it('writes need write; without a write key the ingest keys’ rule holds', async () => {
    const { post } = await start({ keys: { topLevel: { ingest: ['sender'], read: ['reader'] } } });
    expect((await post('/v1/api/scores', score)).status).toBe(401);
    expect((await post('/v1/api/scores', score, { key: 'reader' })).status).toBe(403);
    expect((await post('/v1/api/scores', score, { key: 'sender' })).status).toBe(201);
  });
  it('a project key writes into its project when the body names none', async () => {
    const { post, taken } = await start({ keys: { topLevel: {}, projects: { alpha: { write: ['w'] } } } });
    expect((await post('/v1/api/scores', score, { key: 'w' })).body.correlation).toEqual({ project: 'alpha' });
    expect(taken[0]?.reach).toEqual(['alpha']);
  });
  it('what the pipeline refuses is answered as it says', async () => {
    const { post } = await start({
      pipeline: {
        ingestScore: async () => {
          throw new Refusal({ code: 'over_quota', message: 'no room', retryAfterSeconds: 17 });
        },
        ingestFeedback: async () => {
          throw new Refusal({ code: 'forbidden', message: 'elsewhere' });
        },
      },
    });
    const overQuota = await post('/v1/api/scores', score);
    expect([overQuota.status, overQuota.body.code, overQuota.headers.get('retry-after')]).toEqual([
      429,
      'over_quota',
      '17',
    ]);
    expect((await post('/v1/api/feedback', feedback)).status).toBe(403);
  });
});

describe('GET /v1/api/feedback', () => {
  it('returns judgements on that run', async () => {
    const service = await start({ store: { listFeedback: async () => ({ items: [aFeedback()] }) } });
    const { body } = await service.ask(`/v1/api/feedback?trace_id=${TRACE}`);
    expect(body).toEqual({ feedback: [expect.objectContaining({ feedback_id: 'f-1', kind: 'thumbs', value: 'up' })] });
    expect(service.calls[0]).toEqual({
      method: 'listFeedback',
      arguments: [TRACE, { projects: ['default'], limit: 1000, maxBytes: 1024 * 1024 }],
    });
  });
  it('says when there is more than it answers', async () => {
    const { ask } = await start({ store: { listFeedback: async () => ({ items: [aFeedback()], next: [1] }) } });
    expect((await ask(`/v1/api/feedback?trace_id=${TRACE}&limit=1`)).body.truncated).toBe(true);
  });
});

describe('GET /v1/api/whoami', () => {
  const keys = { topLevel: { read: ['reader'] }, projects: { alpha: { write: ['writer'] } } };
  it('tells scopes, projects, version and spec_version of the presented key', async () => {
    const { ask } = await start({ keys });
    expect((await ask('/v1/api/whoami', { key: 'reader' })).body).toEqual({
      scopes: ['ingest', 'read', 'admin', 'execute', 'worker'],
      projects: ['*'],
      grants: { ingest: ['*'], read: ['*'], admin: ['*'], execute: ['*'], worker: ['*'] },
      version: '1.2.3',
      spec_version: expect.any(String),
    });
    expect((await ask('/v1/api/whoami', { key: 'writer' })).body.grants.write).toEqual(['alpha']);
  });
  it('without a key tells what may be done without one', async () => {
    const { ask } = await start({ keys });
    expect((await ask('/v1/api/whoami')).body.scopes).toEqual(['ingest']);
  });
  it('an unknown key is 401', async () => {
    const { ask } = await start({ keys });
    expect((await ask('/v1/api/whoami', { key: 'guess' })).status).toBe(401);
  });
});
