import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  aDaemon,
  aFolder,
  type Client,
  ingest,
  type Json,
  nativeSpan,
  newTraceId,
  newWord,
  otlpSpan,
  otlpTraces,
} from './client.ts';

// "Authentication" of the interface specification, "Keys and scopes" of its decisions.

const SCOPES = ['ingest', 'read', 'write', 'admin', 'execute', 'worker'] as const;
type Scope = (typeof SCOPES)[number];

/** One call of each scope that a caller may make without harm: it fails for another reason, or does nothing. */
const probes: Record<Scope, (client: Client) => Promise<{ status: number }>> = {
  ingest: (client) => client.post('/v1/ingest', {}),
  read: (client) => client.get('/v1/api/traces'),
  write: (client) => client.post('/v1/api/scores', {}),
  admin: (client) => client.delete(`/v1/api/traces/${newTraceId()}`),
  execute: (client) => client.post('/v1/api/runs', {}),
  worker: (client) => client.post('/v1/api/steps/claim', {}),
};
const scopesOf = async (client: Client): Promise<Scope[]> => {
  const open: Scope[] = [];
  for (const scope of SCOPES) {
    const { status } = await probes[scope](client);
    if (status >= 500) throw new Error(`${scope} answered ${status}`);
    if (status !== 401 && status !== 403) open.push(scope);
  }
  return open;
};
const keyOf = (scope: Scope): string => `key-of-${scope}-0123456789`;
const flagsOf = (...scopes: Scope[]): string[] => scopes.flatMap((scope) => [`--${scope}-key`, keyOf(scope)]);

const files = aFolder();
const aFile = (content: string): string => {
  const path = join(files, newWord('f'));
  writeFileSync(path, content);
  return path;
};
const projectKeys = aFile(
  JSON.stringify({
    projects: {
      alpha: { keys: Object.fromEntries(SCOPES.map((scope) => [scope, [`alpha-${scope}-0123456789`]])) },
      beta: { keys: { read: ['beta-read-0123456789'], ingest: ['beta-ingest-0123456789'] } },
    },
  }),
);

const [none, ingestOnly, readOnly, writeOnly, noRuns, all, noAdmin, projectOnly] = await Promise.all([
  aDaemon(),
  aDaemon(flagsOf('ingest')),
  aDaemon(flagsOf('read')),
  aDaemon(flagsOf('write')),
  aDaemon(flagsOf('ingest', 'read', 'write', 'admin')),
  aDaemon([...flagsOf(...SCOPES), '--audit-trusted-range', '127.0.0.0/8', '--config-file', projectKeys]),
  aDaemon(flagsOf('ingest', 'read', 'write', 'execute', 'worker')),
  aDaemon(['--config-file', projectKeys]),
]);

describe('inheritance', () => {
  it('"With no ingest key configured anyone reaching the port can write; with no read key anyone can read every stored prompt"', async () => {
    expect(await scopesOf(none)).toEqual(SCOPES);
  });
  it('"Ingest endpoints need an ingest key, and only when any ingest key is configured"', async () => {
    for (const path of ['/v1/traces', '/v1/logs', '/v1/metrics', '/v1/ingest', '/api/public/otel/v1/traces']) {
      expect((await ingestOnly.post(path, {})).status).toBe(401);
      expect((await ingestOnly.withKey(keyOf('ingest')).post(path, {})).status).toBe(200);
      expect((await readOnly.post(path, {})).status).toBe(200);
    }
    expect(await scopesOf(ingestOnly)).toContain('read');
  });
  it('"When no write key is set, write falls back to the ingest keys\' rule (open when none is configured)"', async () => {
    expect(await scopesOf(ingestOnly)).not.toContain('write');
    expect(await scopesOf(ingestOnly.withKey(keyOf('ingest')))).toContain('write');
    expect(await scopesOf(readOnly)).toContain('write');
  });
  it('"when no admin list is set the admin scope falls back to the read list (so a read key can delete traces)"', async () => {
    expect(await scopesOf(readOnly)).not.toContain('admin');
    expect(await scopesOf(readOnly.withKey(keyOf('read')))).toContain('admin');
    expect(await scopesOf(noAdmin.withKey(keyOf('read')))).toEqual(['read', 'admin']);
    expect(await scopesOf(noRuns.withKey(keyOf('read')))).not.toContain('admin');
  });
  it('"execute and worker fall back to the write keys"', async () => {
    expect(await scopesOf(writeOnly)).toEqual(['ingest', 'read', 'admin']);
    expect(await scopesOf(writeOnly.withKey(keyOf('write')))).toEqual(
      expect.arrayContaining(['write', 'execute', 'worker']),
    );
  });
  it('"an admin key holds both execute and worker"', async () => {
    for (const daemon of [noRuns, all])
      expect(await scopesOf(daemon.withKey(keyOf('admin')))).toEqual(['admin', 'execute', 'worker']);
  });
  it('"when execute and worker lists are unset the ingest and read keys also reach the runs surface"', async () => {
    expect(await scopesOf(noRuns.withKey(keyOf('ingest')))).toEqual(['ingest', 'execute', 'worker']);
    expect(await scopesOf(noRuns.withKey(keyOf('read')))).toEqual(['read', 'execute', 'worker']);
    expect(await scopesOf(noRuns.withKey(keyOf('write')))).toEqual(['write', 'execute', 'worker']);
    expect(await scopesOf(noRuns)).toEqual([]);
  });
  it('with a list of its own, each scope has its keys alone', async () => {
    for (const scope of ['ingest', 'read', 'write', 'execute', 'worker'] as const)
      expect(await scopesOf(all.withKey(keyOf(scope)))).toEqual([scope]);
    expect(await scopesOf(all)).toEqual([]);
    expect(await scopesOf(all.withKey('not a key'))).toEqual([]);
  });
  it('"`/healthz`, `/readyz`, `/metrics` and the interface markup need no key"', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/']) expect((await all.get(path)).status).toBe(200);
  });
});

describe('presenting a key', () => {
  it('"as `Authorization: Bearer <API_KEY>` or in the `X-Svc-Key` header"', async () => {
    const key = keyOf('read');
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { authorization: `bearer ${key}` },
      { 'x-svc-key': key },
    ] as Record<string, string>[])
      expect((await all.get('/v1/api/traces', headers)).status).toBe(200);
    for (const headers of [
      { authorization: key },
      { authorization: `Basic ${key}` },
      { 'x-svc-key': `${key}x` },
      { 'x-svc-key': '' },
    ] as Record<string, string>[])
      expect((await all.get('/v1/api/traces', headers)).status).toBe(401);
    expect((await all.get(`/v1/api/traces?api_key=${key}`)).status).toBe(401);
  });
  it('401 `unauthorized`: "no key, or one that is not known; `WWW-Authenticate: Bearer`"', async () => {
    for (const client of [all, all.withKey('unknown')]) {
      const { status, json, headers } = await client.get('/v1/api/traces');
      expect([status, json.code, headers.get('www-authenticate')]).toEqual([401, 'unauthorized', 'Bearer']);
    }
  });
  it('403 `forbidden`: "a known key without the scope or the project"', async () => {
    const { status, json } = await all.withKey(keyOf('ingest')).get('/v1/api/traces');
    expect([status, json.code]).toEqual([403, 'forbidden']);
    expect(json.message).not.toContain(keyOf('ingest'));
  });
  it('refuses before it reads: a key that may not is refused whatever the body', async () => {
    for (const path of ['/v1/traces', '/v1/ingest', '/v1/api/scores'])
      expect((await all.post(path, '{')).status).toBe(401);
  });
  it('a list by flags, commas and a file', async () => {
    const list = await aDaemon([
      ...['--read-key', 'first-0123456789', '--read-key', 'second-0123456789,third-0123456789'],
      ...['--read-key', `@${aFile('fourth-0123456789\n\nfifth-0123456789\r\n')}`],
    ]);
    for (const key of ['first', 'second', 'third', 'fourth', 'fifth'])
      expect((await list.withKey(`${key}-0123456789`).get('/v1/api/traces')).status, key).toBe(200);
  });
});

describe('"Such a key reaches its project only: elsewhere 403; lists without `project` answer for its project"', () => {
  const alpha = all.withKey('alpha-read-0123456789');
  it('lists, and refuses other projects and all of them', async () => {
    const ids: Record<string, string> = {};
    for (const project of ['alpha', 'beta', 'default']) {
      const span = nativeSpan({ correlation: { project } });
      ids[project] = span.trace_id;
      await ingest(all.withKey(keyOf('ingest')), { spans: [span] });
    }
    const listed = async (client: Client, query = ''): Promise<string[]> =>
      (await client.get(`/v1/api/traces${query}`)).json.traces.map((trace: Json) => trace.correlation.project);
    expect(new Set(await listed(alpha))).toEqual(new Set(['alpha']));
    expect(new Set(await listed(alpha, '?project=alpha'))).toEqual(new Set(['alpha']));
    expect(new Set(await listed(all.withKey(keyOf('read')), '?project=beta'))).toEqual(new Set(['beta']));
    expect(new Set(await listed(all.withKey(keyOf('read'))))).toEqual(new Set(['default']));
    expect(new Set(await listed(all.withKey(keyOf('read')), '?project=*'))).toEqual(
      new Set(['alpha', 'beta', 'default']),
    );
    for (const path of [
      'traces',
      'spans',
      'logs',
      'metrics',
      'scores',
      'aspect_notes',
      'sessions',
      'users',
      'analytics/cost',
      'analytics/summary',
    ])
      for (const project of ['beta', 'default', '*', 'nowhere']) {
        const { status, json } = await alpha.get(`/v1/api/${path}?project=${project}`);
        expect([path, project, status, json.code]).toEqual([path, project, 403, 'forbidden']);
      }
    expect((await alpha.get(`/v1/api/traces/${ids['alpha']}`)).status).toBe(200);
    expect([403, 404]).toContain((await alpha.get(`/v1/api/traces/${ids['beta']}`)).status);
    expect((await alpha.get('/v1/api/projects')).json.projects.map((row: Json) => row.project)).toEqual(['alpha']);
  });
  it('an ingest key of a project writes to it alone, and signals without a project go there', async () => {
    const client = all.withKey('alpha-ingest-0123456789');
    const [own, foreign] = [nativeSpan(), nativeSpan({ correlation: { project: 'beta' } })];
    const { json } = await client.post('/v1/ingest', { spans: [own, foreign] });
    expect(json).toMatchObject({ accepted: 1, rejected: 1, errors: [{ index: 1, code: 'forbidden' }] });
    const read = all.withKey(keyOf('read'));
    expect((await read.get(`/v1/api/traces/${own.trace_id}`)).json.trace.correlation.project).toBe('alpha');
    expect((await read.get(`/v1/api/traces/${foreign.trace_id}`)).status).toBe(404);
    const span = otlpSpan({ 'svc.project': 'beta' });
    expect((await client.post('/v1/traces', otlpTraces([span, otlpSpan()]))).json.partialSuccess.rejectedSpans).toBe(1);
    expect((await read.get(`/v1/api/traces/${span.traceId}`)).status).toBe(404);
  });
  it('a write or admin key of a project changes nothing elsewhere', async () => {
    const span = nativeSpan({ correlation: { project: 'beta' } });
    await ingest(all.withKey(keyOf('ingest')), { spans: [span] });
    const score = { trace_id: span.trace_id, scorer_id: 's', value: 1, correlation: { project: 'beta' } };
    expect((await all.withKey('alpha-write-0123456789').post('/v1/api/scores', score)).status).toBe(403);
    expect([403, 404]).toContain(
      (await all.withKey('alpha-admin-0123456789').delete(`/v1/api/traces/${span.trace_id}`)).status,
    );
    expect((await all.withKey(keyOf('read')).get(`/v1/api/traces/${span.trace_id}`)).json.trace.scores).toEqual([]);
  });
  it('two projects that use the same ids and the same idempotency key do not meet', async () => {
    const [trace_id, span_id] = [newTraceId(), newTraceId().slice(16)];
    const id = newWord();
    for (const project of ['alpha', 'beta']) {
      const sent = await all.withKey(`${project}-ingest-0123456789`).post('/v1/ingest', {
        ingest_key: id,
        spans: [nativeSpan({ trace_id, span_id, name: project })],
        logs: [{ log_id: id, trace_id, message: project }],
        scores: [{ score_id: id, trace_id, scorer_id: 's', value: project === 'alpha' ? 1 : 0 }],
        feedback: [{ feedback_id: id, trace_id, kind: 'comment', value: project }],
        aspect_notes: [{ note_id: id, trace_id, aspect: 'a', text: project }],
      });
      expect(sent.json).toMatchObject({ accepted: 5, duplicate: 0 });
    }
    const detail = (project: string): Promise<{ status: number; json: Json; text: string }> =>
      all.withKey(`${project}-read-0123456789`).get(`/v1/api/traces/${trace_id}?include=all`);
    for (const [project, other] of [
      ['alpha', 'beta'],
      ['beta', 'alpha'],
    ] as const) {
      const { json, text } = await detail(project);
      expect(json.trace).toMatchObject({ name: project, span_count: 1, feedback: { comment: 1 } });
      expect([json.logs.length, json.scores.length, json.feedback.length]).toEqual([1, 1, 1]);
      expect(text).not.toContain(`"${other}"`);
      if (project === 'beta') {
        expect((await all.withKey('alpha-admin-0123456789').delete(`/v1/api/traces/${trace_id}`)).status).toBe(200);
        expect((await detail('beta')).json.trace).toMatchObject({ span_count: 1, feedback: { comment: 1 } });
        expect((await detail('alpha')).status).toBe(403);
      }
    }
  });
  it('a key of a project closes the surface to callers without one', async () => {
    expect(await scopesOf(projectOnly)).toEqual([]);
    expect(await scopesOf(projectOnly.withKey('alpha-read-0123456789'))).toContain('read');
    expect((await projectOnly.withKey('beta-read-0123456789').get('/v1/api/traces?project=alpha')).status).toBe(403);
  });
  it('`whoami` tells "`{scopes, projects, version, spec_version}` of the presented key"', async () => {
    expect((await alpha.get('/v1/api/whoami')).json).toMatchObject({
      scopes: ['read'],
      projects: ['alpha'],
      version: expect.any(String),
      spec_version: expect.any(String),
    });
    expect((await all.withKey(keyOf('read')).get('/v1/api/whoami')).json).toMatchObject({
      scopes: ['read'],
      projects: ['*'],
    });
  });
});

describe('CORS', () => {
  const origin = { origin: 'https://ui.example' };
  it('"The query API carries CORS so an interface served from another origin can read it"', async () => {
    for (const path of ['/v1/api/traces', '/v1/api/scores', '/v1/api/whoami', '/v1/api/nowhere'])
      for (const client of [none, all])
        expect((await client.get(path, origin)).headers.get('access-control-allow-origin'), path).toBe('*');
    const preflight = await all.call('OPTIONS', '/v1/api/traces', undefined, {
      ...origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization,x-svc-key',
    });
    expect(preflight.status).toBeLessThan(300);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toMatch(/authorization.*x-svc-key/);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('DELETE');
  });
  it('"The ingest doors carry the wide body limit and no CORS headers"', async () => {
    for (const path of ['/v1/traces', '/v1/logs', '/v1/metrics', '/v1/ingest']) {
      const preflight = {
        ...origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      };
      for (const answer of [await none.post(path, {}, origin), await none.call('OPTIONS', path, undefined, preflight)])
        for (const name of answer.headers.keys()) expect(name).not.toMatch(/^access-control-/);
    }
  });
  it('operational endpoints carry none', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/'])
      expect((await none.get(path, origin)).headers.get('access-control-allow-origin'), path).toBeNull();
  });
  it('"`--cors-origin`" limits it to the origins named', async () => {
    const limited = await aDaemon(['--cors-origin', 'https://ui.example']);
    expect((await limited.get('/v1/api/traces', origin)).headers.get('access-control-allow-origin')).toBe(
      'https://ui.example',
    );
    const other = await limited.get('/v1/api/traces', { origin: 'https://other.example' });
    expect(other.headers.get('access-control-allow-origin')).not.toBe('https://other.example');
    expect(other.headers.get('access-control-allow-origin')).not.toBe('*');
  });
});

describe('"every read of stored payloads appends" an audit row', () => {
  const admin = all.withKey(keyOf('admin'));
  const entriesOf = async (resource: string): Promise<Json[]> =>
    (await admin.get('/v1/api/audit?limit=1000&project=*')).json.entries.filter((entry: Json) =>
      JSON.stringify(entry).includes(resource),
    );
  it('with `audit_id, at, operation, project, subject?, key_fingerprint?, remote_address, resource, outcome`', async () => {
    const span = nativeSpan({ correlation: { project: 'alpha' } });
    await ingest(all.withKey(keyOf('ingest')), { spans: [span] });
    await all.withKey(keyOf('read')).get(`/v1/api/traces/${span.trace_id}`, { 'x-svc-subject': 'ann@example.com' });
    await all.withKey(keyOf('read')).get(`/v1/api/traces/${span.trace_id}/spans/${span.span_id}`);
    const entries = await entriesOf(span.trace_id);
    expect(entries).toHaveLength(2);
    expect(entries[1]).toMatchObject({
      audit_id: expect.any(String),
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      operation: expect.stringMatching(/trace/),
      project: 'alpha',
      subject: 'ann@example.com',
      key_fingerprint: expect.any(String),
      remote_address: expect.stringMatching(/127\.0\.0\.1/),
      outcome: expect.any(String),
    });
    expect(entries[0]).not.toHaveProperty('subject');
    expect(JSON.stringify(entries)).not.toContain(keyOf('read'));
  });
  it('the subject counts "only when the peer address is inside `--audit-trusted-range`"', async () => {
    const span = nativeSpan();
    await ingest(none, { spans: [span] });
    await none.get(`/v1/api/traces/${span.trace_id}`, { 'x-svc-subject': 'mallory' });
    const { json } = await none.get('/v1/api/audit');
    expect(json.entries.some((entry: Json) => JSON.stringify(entry).includes(span.trace_id))).toBe(true);
    expect(JSON.stringify(json)).not.toContain('mallory');
  });
  it('a read that was refused for its project is recorded against the project that owns it', async () => {
    const span = nativeSpan({ correlation: { project: 'beta' } });
    await ingest(all.withKey(keyOf('ingest')), { spans: [span] });
    await all.withKey('alpha-read-0123456789').get(`/v1/api/traces/${span.trace_id}`);
    const [entry] = await entriesOf(span.trace_id);
    expect(entry).toMatchObject({ project: 'beta' });
    expect(entry.outcome).not.toBe('ok');
  });
  it('"`list_runs`" is an operation; "Worker calls are not audited"; reading it back needs admin', async () => {
    await all.withKey(keyOf('read')).get('/v1/api/runs');
    await all.withKey(keyOf('worker')).post('/v1/api/steps/claim', { worker_id: 'w', max: 1, wait_ms: 0 });
    const { json } = await admin.get('/v1/api/audit?limit=1000&project=*');
    const operations = json.entries.map((entry: Json) => entry.operation);
    expect(operations).toContain('list_runs');
    expect(operations.filter((operation: string) => /claim|step|worker/.test(operation))).toEqual([]);
    expect((await all.withKey(keyOf('read')).get('/v1/api/audit')).status).toBe(403);
  });
});
