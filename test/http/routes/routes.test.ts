import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findRouteFaults } from '../../../src/http/contract/route-faults.ts';
import { createAuthenticator } from '../../../src/http/access/auth.ts';
import { apiOperations } from '../../../src/http/contract/contract.ts';
import { ingestRoutes } from '../../../src/http/routes/ingest.ts';
import type { QueryDeps } from '../../../src/http/routes/query-deps.ts';
import type { Route } from '../../../src/http/route.ts';
import type { Pipeline } from '../../../src/ingest/pipeline.ts';
import { createCounters } from '../../../src/model/counters.ts';
import { scopes } from '../../../src/model/scope.ts';
import openapi from '../../../src/model/generated/openapi.json' with { type: 'json' };
import { aMonitor, anSlo, createWatchHarness } from '../../watch/watch-harness.ts';
import { aFeedback, aScore, aSpan, aTrace, SPAN, TRACE } from '../factories.ts';
import { aStore, allRoutes, type Service, startService } from '../service.ts';

const { store } = aStore();
const query = { store, authenticator: createAuthenticator({ topLevel: {} }), defaultProject: 'default' } as QueryDeps;
const routes: readonly Route[] = [
  ...allRoutes(query, createCounters(), []),
  ...ingestRoutes({
    pipeline: { limits: { maxBodyBytes: 1, maxInflatedBytes: 1, maxSignals: 1 } } as Pipeline,
    log: undefined as never,
  }),
];

/** Operations whose routes are built elsewhere: the doors of durable runs. */
const RUNS_TAG = 'runs';

describe('routes and document', () => {
  it('every route is in the document as it is: method, path, scope, body', () =>
    expect(findRouteFaults(routes).routes).toEqual([]));

  it('every operation of the document has a route', () => {
    const runs = new Set(
      Object.values(
        openapi.paths as unknown as Record<string, Record<string, { operationId?: string; tags?: string[] }>>,
      )
        .flatMap((item) => Object.values(item))
        .filter((operation) => operation.tags?.includes(RUNS_TAG))
        .map((operation) => operation.operationId),
    );
    const missing = [...apiOperations().values()].filter(
      ({ operationId }) => !runs.has(operationId) && !routes.some((route) => route.operationId === operationId),
    );
    expect(missing.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('a missing route is found', () => {
    const [first, ...rest] = routes;
    expect(findRouteFaults(rest).operations.join()).toContain(
      `"${first?.operationId}" has no route`.replace('"', '("').replace('" has', '") has'),
    );
  });

  it('every read of stored payloads is audited', () => {
    const unaudited = routes
      .filter((route) => route.audit === undefined && route.surface === 'query')
      .map((route) => route.operationId);
    // Names, counts and sums; the audit itself; and writes, which read nothing.
    expect(unaudited.toSorted()).toEqual(
      [
        'acknowledgeMonitor',
        'acknowledgeSlo',
        'compareExperiments',
        'createDataset',
        'createDatasetItem',
        'createExperiment',
        'createFeedback',
        'createScore',
        'getCaller',
        'getCostReport',
        'getDoctorReport',
        'getDataset',
        'getExperiment',
        'getSummaryReport',
        'listAudit',
        'listDatasets',
        'listExperiments',
        'listMetrics',
        'listMonitorHistory',
        'listMonitors',
        'listProjects',
        'listRefusals',
        'listScorers',
        'listSessions',
        'listSloHistory',
        'listSlos',
        'listUsers',
        'listViews',
        'probeDeployment',
        'replaceDatasetItem',
        'saveView',
      ].toSorted(),
    );
  });
});

const OWN = 'own';
const OTHER = 'other';

/** A request that each route of the query API answers well, and the same aimed at another project. */
const inBoth = (path: string): { own: string; other: string } => ({
  own: `${path}?project=${OWN}`,
  other: `${path}?project=${OTHER}`,
});
const requests: Record<string, { own: string; other: string }> = {
  compareExperiments: {
    own: `/v1/api/experiments/compare?baseline=a&candidate=b&project=${OWN}`,
    other: `/v1/api/experiments/compare?baseline=a&candidate=b&project=${OTHER}`,
  },
  getExperiment: inBoth('/v1/api/experiments/e'),
  acknowledgeMonitor: { own: `/v1/api/monitors/${OWN}/ack`, other: `/v1/api/monitors/${OTHER}/ack` },
  acknowledgeSlo: { own: `/v1/api/slos/${OWN}/ack`, other: `/v1/api/slos/${OTHER}/ack` },
  listMonitorHistory: { own: `/v1/api/monitors/${OWN}/history`, other: `/v1/api/monitors/${OTHER}/history` },
  listSloHistory: { own: `/v1/api/slos/${OWN}/history`, other: `/v1/api/slos/${OTHER}/history` },

  getTrace: { own: `/v1/api/traces/${TRACE}`, other: `/v1/api/traces/${TRACE.replace(/^./, 'f')}` },
  deleteTrace: { own: `/v1/api/traces/${TRACE}`, other: `/v1/api/traces/${TRACE.replace(/^./, 'f')}` },
  getSpan: {
    own: `/v1/api/traces/${TRACE}/spans/${SPAN}`,
    other: `/v1/api/traces/${TRACE.replace(/^./, 'f')}/spans/${SPAN}`,
  },
  explainSpan: {
    own: `/v1/api/traces/${TRACE}/spans/${SPAN}/explanation`,
    other: `/v1/api/traces/${TRACE.replace(/^./, 'f')}/spans/${SPAN}/explanation`,
  },
  listMetricPoints: {
    own: `/v1/api/metrics/m/points?project=${OWN}`,
    other: `/v1/api/metrics/m/points?project=${OTHER}`,
  },
  listFeedback: {
    own: `/v1/api/feedback?trace_id=${TRACE}&project=${OWN}`,
    other: `/v1/api/feedback?trace_id=${TRACE}&project=${OTHER}`,
  },
};
/** Answer by the caller's reach alone, and have nothing of another project to ask for. */
const withoutProject = new Set(['getCaller', 'listProjects', 'createScore', 'createFeedback', 'listScorers']);
/** Look at the whole service, and so take keys that reach every project alone. */
const ofTheWhole = new Set(['getDoctorReport', 'probeDeployment', 'listRefusals']);
/** Say the project of what they write in their body. */
const projectInBody = new Set(['createDataset', 'createExperiment', 'scoreRuns', 'saveView']);
/** Have a body, and make nothing new. */
const answers200 = new Set(['scoreRuns', 'replaceDatasetItem']);

describe('routes x scopes x own and other project', () => {
  let service: Service;
  const keys = {
    topLevel: Object.fromEntries(scopes.map((scope) => [scope, [`top-${scope}`]])),
    projects: { [OWN]: Object.fromEntries(scopes.map((scope) => [scope, [`own-${scope}`]])) },
  };
  const projectOf = (traceId: string) => (traceId.startsWith('f') ? OTHER : OWN);
  const within = (traceId: string, reach: unknown) =>
    reach === 'all' || (reach as string[]).includes(projectOf(traceId));

  beforeAll(async () => {
    const watching = createWatchHarness({
      monitors: [OWN, OTHER].map((id) => aMonitor({ id, project: id })),
      slos: [OWN, OTHER].map((id) => anSlo({ id, project: id })),
    });
    watching.now.failed = watching.now.runs;
    await watching.tick();
    service = await startService({
      keys,
      watchers: watching.watchers,
      store: {
        findTrace: async (traceId, reach) =>
          within(traceId, reach)
            ? {
                trace: aTrace({ traceId, project: projectOf(traceId) }),
                spans: [aSpan({ traceId, correlation: { project: projectOf(traceId) } })],
              }
            : undefined,
        findDataset: async (datasetId, reach) => ({
          datasetId,
          name: 'n',
          project: reach === 'all' ? OTHER : (reach[0] ?? OTHER),
          createdAt: 0n,
          itemCount: 0,
        }),
        deleteDataset: async () => ({ deleted: 1, pending: false }),
        findItem: async (_dataset, itemId) => ({ itemId, datasetId: 'd', input: 'i', createdAt: 0n }),
        deleteItem: async () => ({ deleted: 1, pending: false }),
        findExperiment: async (experimentId, reach) => ({
          experimentId,
          name: 'n',
          project: reach === 'all' ? OTHER : (reach[0] ?? OTHER),
          createdAt: 0n,
        }),
        findView: async (viewId, reach) => ({
          viewId,
          name: 'n',
          project: reach === 'all' ? OTHER : (reach[0] ?? OTHER),
          createdAt: 0n,
          shows: { kind: 'page', path: '/' },
        }),
        findSpan: async (traceId, spanId, reach) =>
          within(traceId, reach) ? aSpan({ traceId, spanId, correlation: { project: projectOf(traceId) } }) : undefined,
      },
      pipeline: { ingestScore: async () => aScore(), ingestFeedback: async () => aFeedback() },
    });
  });
  afterAll(() => service.close());

  const queryRoutes = routes.filter((route) => route.surface === 'query');
  const cases = queryRoutes.flatMap((route) =>
    (['top', 'own'] as const).flatMap((owner) =>
      scopes.flatMap((scope) => (['own', 'other'] as const).map((target) => ({ route, owner, scope, target }))),
    ),
  );
  const bodies: Record<string, object> = {
    createScore: { trace_id: TRACE, scorer_id: 's', value: 1 },
    createFeedback: { trace_id: TRACE, kind: 'thumbs', value: 'up' },
    scoreRuns: {},
    createDataset: { name: 'n' },
    createDatasetItem: { input: 'i' },
    replaceDatasetItem: { input: 'i' },
    captureRuns: { trace_ids: [] },
    createExperiment: { name: 'n' },
    saveView: { name: 'n', path: '/' },
  };
  const pathOf = (route: Route, target: 'own' | 'other'): string =>
    requests[route.operationId]?.[target] ??
    (withoutProject.has(route.operationId) || ofTheWhole.has(route.operationId) || projectInBody.has(route.operationId)
      ? route.path
      : `${route.path}?project=${target === 'own' ? OWN : OTHER}`);

  it('covers every route of the query API', () => expect(queryRoutes.length).toBeGreaterThan(15));

  it.each(cases)(
    '$route.method $route.path with the $owner $scope key on the $target project',
    async ({ route, owner, scope, target }) => {
      const plain = bodies[route.operationId];
      const body =
        plain !== undefined && projectInBody.has(route.operationId)
          ? { ...plain, project: target === 'own' ? OWN : OTHER }
          : plain;
      const answer = await service.ask(pathOf(route, target), {
        method: route.method,
        key: `${owner}-${scope}`,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const hasScope = route.scope === 'open' || route.scope === scope;
      const hasProject =
        owner === 'top' ||
        (!ofTheWhole.has(route.operationId) && (target === 'own' || withoutProject.has(route.operationId)));
      const expected =
        hasScope && hasProject ? (body === undefined || answers200.has(route.operationId) ? 200 : 201) : 403;
      expect([answer.status, answer.body.code]).toEqual([expected, expected === 403 ? 'forbidden' : undefined]);
    },
  );

  it.each(queryRoutes.filter((route) => route.scope !== 'open'))(
    '$method $path without a key is 401',
    async (route) => {
      expect((await service.ask(pathOf(route, 'own'), { method: route.method })).status).toBe(401);
    },
  );

  it('a refused delete deletes nothing', async () => {
    const before = service.calls.filter((call) => call.method === 'deleteTraces').length;
    await service.ask(`/v1/api/traces/${TRACE.replace(/^./, 'f')}`, { method: 'DELETE', key: 'own-admin' });
    await service.ask(`/v1/api/traces/${TRACE}`, { method: 'DELETE', key: 'top-read' });
    expect(service.calls.filter((call) => call.method === 'deleteTraces').length).toBe(before);
  });
});

describe('project keys and lists', () => {
  const keys = {
    topLevel: { read: ['top'] },
    projects: { alpha: { read: ['alpha', 'both'] }, beta: { read: ['both'] } },
  };
  let service: Service;
  beforeAll(async () => {
    service = await startService({ keys });
  });
  afterAll(() => service.close());
  const projectsAsked = async (key: string, path: string): Promise<unknown> => {
    const answer = await service.ask(path, { key });
    if (answer.status !== 200) return [answer.status, answer.body.code, answer.body.field];
    const asked = service.calls.findLast((call) => call.method !== 'appendAudit')?.arguments[0];
    return (asked as { projects: unknown } | undefined)?.projects;
  };
  it.each([
    ['a top-level key without `project` reads the daemon’s default', 'top', '/v1/api/traces', ['default']],
    ['a project key without `project` answers for its project', 'alpha', '/v1/api/traces', ['alpha']],
    ['a key of several projects answers for all of them', 'both', '/v1/api/traces', ['alpha', 'beta']],
    ['and for one of them by name', 'both', '/v1/api/traces?project=beta', ['beta']],
    ['`project=*` spans all projects', 'top', '/v1/api/traces?project=*', 'all'],
    ['for keys that reach all of them', 'both', '/v1/api/traces?project=*', [403, 'forbidden', 'project']],
    ['elsewhere 403', 'alpha', '/v1/api/traces?project=beta', [403, 'forbidden', 'project']],
    ['reports too', 'alpha', '/v1/api/analytics/cost', ['alpha']],
    ['the list of projects holds those in reach', 'both', '/v1/api/projects', ['alpha', 'beta']],
    ['the audit of its project, by the fallback of admin to read', 'alpha', '/v1/api/audit', ['alpha']],
  ])('%s', async (_name, key, path, expected) => expect(await projectsAsked(key, path)).toEqual(expected));
});
