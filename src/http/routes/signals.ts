import { aspectNoteToWire, logToWire, metricNameToWire, metricPointToWire } from '../codec/signal.ts';
import type { PathOf, QueryOf } from '../contract/contract.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { given, listingOf, pageBody } from '../lists/listing.ts';
import { listed } from '../lists/read-on.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

/** Logs, metrics and aspect notes. @see Interface decisions, "4. Signals, native names", Reads */
export const signalRoutes = ({ store, defaultProject, clock }: QueryDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/api/logs',
    scope: 'read',
    operationId: 'listLogs',
    surface: 'query',
    audit: 'list_logs',
    handler: async (request) => {
      const query = request.query as QueryOf<'listLogs'>;
      const listing = listingOf(request, 'listLogs', defaultProject, clock);
      return listed(
        request,
        'logs',
        listing,
        (paging) =>
          store.listLogs({
            ...paging,
            ...listing.window,
            order: query.order ?? 'desc',
            ...given({
              traceId: query.trace_id,
              spanId: query.span_id,
              severity: query.severity,
              minSeverity: query.min_severity,
              logger: query.logger,
              serviceName: query.service_name,
              environment: query.environment,
              sessionId: query.session_id,
              userId: query.user_id,
            }),
          }),
        logToWire,
      );
    },
  },
  {
    method: 'GET',
    path: '/v1/api/metrics',
    scope: 'read',
    operationId: 'listMetrics',
    surface: 'query',
    handler: async (request) => {
      const { paging, cursorAfter } = listingOf(request, 'listMetrics', defaultProject, clock);
      const page = await store.listMetricNames(paging);
      return pageBody('metrics', mapLazily(page.items, metricNameToWire), cursorAfter(page));
    },
  },
  {
    method: 'GET',
    path: '/v1/api/metrics/:name/points',
    scope: 'read',
    operationId: 'listMetricPoints',
    surface: 'query',
    audit: 'list_metric_points',
    handler: async (request) => {
      const { name } = request.params as PathOf<'listMetricPoints'>;
      const query = request.query as QueryOf<'listMetricPoints'>;
      const listing = listingOf(request, `listMetricPoints ${name}`, defaultProject, clock);
      return listed(
        request,
        'points',
        listing,
        (paging) =>
          store.listMetricPoints({
            ...paging,
            ...listing.window,
            name,
            order: query.order ?? 'desc',
            ...given({ serviceName: query.service_name }),
          }),
        metricPointToWire,
      );
    },
  },
  {
    method: 'GET',
    path: '/v1/api/aspect_notes',
    scope: 'read',
    operationId: 'listAspectNotes',
    surface: 'query',
    audit: 'list_aspect_notes',
    handler: async (request) => {
      const query = request.query as QueryOf<'listAspectNotes'>;
      const listing = listingOf(request, 'listAspectNotes', defaultProject, clock);
      return listed(
        request,
        'aspect_notes',
        listing,
        (paging) =>
          store.listAspectNotes({
            ...paging,
            ...given({ traceId: query.trace_id, aspect: query.aspect }),
          }),
        aspectNoteToWire,
      );
    },
  },
];
