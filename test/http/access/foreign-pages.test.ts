import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuditLog } from '../../../src/http/access/audit-log.ts';
import { createAuthenticator, type KeyLists } from '../../../src/http/access/auth.ts';
import type { Route } from '../../../src/http/route.ts';
import { ingestRoutes } from '../../../src/http/routes/ingest.ts';
import type { QueryDeps } from '../../../src/http/routes/query-deps.ts';
import type { RunsDeps } from '../../../src/http/routes/runs-deps.ts';
import { runsSurface } from '../../../src/http/routes/runs-surface.ts';
import { createAdmission } from '../../../src/ingest/admission.ts';
import type { Pipeline } from '../../../src/ingest/pipeline.ts';
import { createCounters } from '../../../src/model/counters.ts';
import { listeningApp } from '../listening-app.ts';
import { aStore, allRoutes } from '../service.ts';

const HOST = 'localhost:4317';
const NAMED = 'https://ui.example';
const STRANGER = 'https://evil.example';

/** Who sends: no page at all, a page of the service, of an origin that the operator named, of a stranger, of a sandbox or file. */
const origins = [undefined, `http://${HOST}`, NAMED, STRANGER, 'null'];
/** What a browser sends without asking first, and what it asks about. */
const unasked = [
  undefined,
  'text/plain',
  'TEXT/PLAIN; charset=utf-8',
  'text/plain;x=application/x-protobuf',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=b',
];
const asked = ['application/json', 'application/json; charset=utf-8', 'application/x-ndjson', 'application/x-protobuf'];

const limits = { maxBodyBytes: 1 << 20, maxInflatedBytes: 1 << 20, maxSignals: 10 };
const KEYS = { ingest: 'i', read: 'r', write: 'w', admin: 'a', execute: 'e', worker: 'k' } as const;

type Setting = { readonly name: string; readonly topLevel: KeyLists; readonly corsOrigins: readonly string[] };
const settings: readonly Setting[] = [
  { name: 'no keys', topLevel: {}, corsOrigins: ['*'] },
  { name: 'no keys, one origin named', topLevel: {}, corsOrigins: [NAMED] },
  { name: 'no keys, one origin named beside `*`', topLevel: {}, corsOrigins: ['*', NAMED] },
  { name: 'a read key alone', topLevel: { read: ['r'] }, corsOrigins: ['*'] },
  { name: 'an ingest key alone', topLevel: { ingest: ['i'] }, corsOrigins: ['*'] },
  { name: 'a write key alone', topLevel: { write: ['w'] }, corsOrigins: ['*'] },
  { name: 'a read and an admin key', topLevel: { read: ['r'], admin: ['a'] }, corsOrigins: ['*'] },
  {
    name: 'a key for every scope',
    topLevel: Object.fromEntries(Object.entries(KEYS).map(([scope, key]) => [scope, [key]])),
    corsOrigins: ['*'],
  },
];

/** Scopes that a key guards, written out from the specification's rules and not computed by the code under test. */
const guardedIn: Readonly<Record<string, readonly string[]>> = {
  'no keys': [],
  'no keys, one origin named': [],
  'no keys, one origin named beside `*`': [],
  'a read key alone': ['read', 'admin', 'execute', 'worker'],
  'an ingest key alone': ['ingest', 'write', 'execute', 'worker'],
  'a write key alone': ['write', 'execute', 'worker'],
  'a read and an admin key': ['read', 'admin', 'execute', 'worker'],
  'a key for every scope': ['ingest', 'read', 'write', 'admin', 'execute', 'worker'],
};

/** Every route of the service; each handler says only that it was reached. */
const everyRoute = (taken: string[]): Route[] => {
  const { store } = aStore();
  const query = { store, authenticator: createAuthenticator({ topLevel: {} }), defaultProject: 'default' } as QueryDeps;
  return [
    ...allRoutes(query, createCounters(), []),
    ...ingestRoutes({ pipeline: { limits } as Pipeline, log: pino({ level: 'silent' }) }),
    ...runsSurface({} as RunsDeps, true),
  ].map((route) => ({
    ...route,
    handler: (request) => {
      request.raw.resume();
      taken.push(route.operationId);
      return {};
    },
  }));
};

const start = async ({ topLevel, corsOrigins }: Setting) => {
  const taken: string[] = [];
  const routes = everyRoute(taken);
  const counters = createCounters();
  const log = pino({ level: 'silent' });
  const { app } = await listeningApp({
    routes,
    authenticator: createAuthenticator({ topLevel }),
    audit: createAuditLog(aStore().store, counters, log),
    counters,
    body: { limits, admission: createAdmission(1 << 26) },
    log,
    options: { corsOrigins },
  });
  return { app, routes, taken };
};

const pathOf = ({ path }: Route): string => path.replaceAll(/:[a-z_]+/g, 'x');
const isDoor = (route: Route): boolean => route.surface === 'ingest';
const isForeign = (origin: string | undefined): origin is string => origin !== undefined && !origin.endsWith(HOST);

describe.each(settings)('pages of other origins, $name', (setting) => {
  let app: FastifyInstance;
  let routes: Route[];
  let taken: string[];
  const guarded = guardedIn[setting.name] ?? [];
  beforeAll(async () => {
    ({ app, routes, taken } = await start(setting));
  });
  afterAll(() => app.close());

  const isRefused = (route: Route, origin: string | undefined, contentType: string | undefined): boolean => {
    if (!isForeign(origin) || route.method === 'GET' || guarded.includes(route.scope)) return false;
    if (isDoor(route)) return unasked.includes(contentType);
    return !(setting.corsOrigins.includes(origin) && origin === NAMED);
  };

  it('every route x origin x content type: what writes on an open surface is refused, and nothing else', async () => {
    const wrong: unknown[] = [];
    let refusals = 0;
    for (const route of routes)
      for (const origin of origins)
        for (const contentType of route.method === 'GET' ? [undefined] : [...unasked, ...asked]) {
          const key = KEYS[route.scope as keyof typeof KEYS];
          taken.length = 0;
          const answer = await app.inject({
            method: route.method,
            url: pathOf(route),
            headers: {
              host: HOST,
              ...(key === undefined ? {} : { 'x-svc-key': key }), // one that is not asked for changes nothing
              ...(origin === undefined ? {} : { origin }),
              ...(contentType === undefined ? {} : { 'content-type': contentType }),
              ...(route.method === 'GET' ? {} : { 'content-length': '2' }),
            },
            ...(route.method === 'GET' ? {} : { payload: '{}' }),
          });
          const isWrongType =
            (route.body === 'json' || route.body === 'typed') && !/^application\/json/.test(contentType ?? '');
          const refused = isRefused(route, origin, contentType);
          const expected = refused ? (isWrongType ? 415 : 403) : 'not 403';
          const got = answer.statusCode === 403 || refused ? answer.statusCode : 'not 403';
          if (refused) refusals += 1;
          if (got !== expected || (refused && taken.length > 0))
            wrong.push([route.operationId, origin, contentType, got, expected, answer.body]);
        }
    expect(wrong).toEqual([]);
    expect(refusals > 0).toBe(guarded.length < 6);
  });

  it('every path x method x origin: a preflight is answered exactly where the call would be taken', async () => {
    const wrong: unknown[] = [];
    for (const route of routes)
      for (const origin of [NAMED, STRANGER, 'null']) {
        const answer = await app.inject({
          method: 'OPTIONS',
          url: pathOf(route),
          headers: { host: HOST, origin, 'access-control-request-method': route.method },
        });
        const isApi = route.path.startsWith('/v1/api/');
        const isListed = setting.corsOrigins.includes('*') || setting.corsOrigins.includes(origin);
        const may = isApi && isListed && !isRefused(route, origin, 'application/json');
        const allowed = answer.headers['access-control-allow-origin'];
        const methods = (answer.headers['access-control-allow-methods'] ?? '').split(', ');
        const isGood = may
          ? answer.statusCode === 204 && (allowed === '*' || allowed === origin) && methods.includes(route.method)
          : allowed === undefined;
        const named = routes.filter(
          (other) => isApi && other.path === route.path && allowed !== undefined && methods.includes(other.method),
        );
        if (!isGood || named.some((other) => isRefused(other, origin, 'application/json')))
          wrong.push([route.operationId, origin, answer.statusCode, answer.headers]);
      }
    expect(wrong).toEqual([]);
  });

  it('answers of the doors carry no CORS headers, those of reads carry them for every origin that is configured', async () => {
    for (const route of routes.filter((each) => isDoor(each) || each.method === 'GET'))
      for (const origin of [NAMED, STRANGER]) {
        const { headers } = await app.inject({
          method: route.method,
          url: pathOf(route),
          headers: { host: HOST, origin, 'content-type': 'application/json' },
        });
        const expected = setting.corsOrigins.includes('*') ? '*' : origin === NAMED ? NAMED : undefined;
        expect([route.operationId, headers['access-control-allow-origin']]).toEqual([
          route.operationId,
          route.path.startsWith('/v1/api/') ? expected : undefined,
        ]);
      }
  });
});
