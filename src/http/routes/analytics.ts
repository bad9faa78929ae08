import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../model/failure.ts';
import type { UnixNano } from '../../model/time.ts';
import { costReportToWire, summaryReportToWire } from '../codec/report.ts';
import type { QueryOf } from '../contract/contract.ts';
import { auditedProjects, given, projectsOf, windowOf, withinStoredTimes } from '../lists/listing.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

const DEFAULT_WINDOW: UnixNano = 7n * 86_400n * 1_000_000_000n;

const bucketSeconds = { '30s': 30, '5m': 300, '1h': 3600, '1d': 86_400 } as const;

/** The window of a report: the last seven days where the reader says nothing. */
const reportWindow = (query: { readonly from?: string; readonly to?: string }, now: UnixNano) => {
  const window = windowOf(query, now);
  const to = window.to ?? now;
  const from = window.from ?? withinStoredTimes(to - DEFAULT_WINDOW);
  if (from > to)
    throw new Refusal({
      code: 'invalid_parameter',
      message: '`from` is after `to`, which is now by default',
      field: 'from',
    });
  return { from, to };
};

/** @see Interface specification, "Query API: analytics"; Interface decisions, "7. Analytics" */
export const analyticsRoutes = ({ store, defaultProject, priceBook, clock }: QueryDeps): Route[] => {
  const bookModels = (): string[] => [...priceBook.rates.keys()];
  const projectsAsked = (request: FastifyRequest) => {
    const { project } = request.query as { readonly project?: string };
    const projects = projectsOf(request.caller, project, defaultProject);
    request.audit.projects = auditedProjects(projects);
    return projects;
  };

  return [
    {
      method: 'GET',
      path: '/v1/api/analytics/cost',
      scope: 'read',
      operationId: 'getCostReport',
      surface: 'query',
      handler: async (request) => {
        const query = request.query as QueryOf<'getCostReport'>;
        const projects = projectsAsked(request);
        const window = reportWindow(query, clock());
        const report = await store.costReport({
          projects,
          ...window,
          bookModels: bookModels(),
          groupBy: query.group_by ?? 'model',
          ...given({ bucketSeconds: query.bucket === undefined ? undefined : bucketSeconds[query.bucket] }),
        });
        return costReportToWire(report, window, priceBook.currency);
      },
    },
    {
      method: 'GET',
      path: '/v1/api/analytics/summary',
      scope: 'read',
      operationId: 'getSummaryReport',
      surface: 'query',
      handler: async (request) => {
        const query = request.query as QueryOf<'getSummaryReport'>;
        const projects = projectsAsked(request);
        const window = reportWindow(query, clock());
        const report = await store.summaryReport({
          projects,
          ...window,
          bookModels: bookModels(),
          ...given({ groupBy: query.group_by }),
        });
        return summaryReportToWire(report, window, query.group_by !== undefined);
      },
    },
  ];
};
