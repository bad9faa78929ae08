import type { FastifyRequest } from 'fastify';
import { createRedactionFinder } from '../../ingest/find-redactions.ts';
import { explainSpan } from '../../ingest/mapping/explain.ts';
import { receiptOf } from '../../ingest/receipt.ts';
import { type Failure, Refusal } from '../../model/failure.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { Page, Paging, TraceFilter } from '../../store/signals/query.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';
import { feedbackToWire, scoreToWire } from '../codec/judgement.ts';
import { receiptToWire } from '../codec/receipt.ts';
import { logToWire } from '../codec/signal.ts';
import { explanationToWire, spanToWire } from '../codec/span.ts';
import { facetsToWire, traceToWire } from '../codec/trace.ts';
import type { PathOf, QueryOf } from '../contract/contract.ts';
import { WrittenElements } from '../answer/json-pieces.ts';
import { auditedProjects, given, listingOf, projectsOf, windowOf } from '../lists/listing.ts';
import { listed, readOn } from '../lists/read-on.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

/** Rows of one kind that a trace detail includes, at the most; what was cut is named in `truncated`. */
const MAX_INCLUDED = 10_000;

const notFound = (what: string): Failure => ({ code: 'not_found', message: `no ${what} is stored` });

/** A page of spans that were asked for by their ids ends with the one that brings it over this. */
const MOST_PAGE_BYTES = 4 * 1024 * 1024;

/** Traces whose values are counted, at the most. */
const MOST_COUNTED = 10_000;

/** The list and the counts over it take the same filters. */
type TraceFilters = QueryOf<'listTraces'> | QueryOf<'countTraceFacets'>;

/** The wire names of the trace filters, beside those that are spelled alike. */
const traceFilterOf = (query: TraceFilters): TraceFilter =>
  given({
    status: query.status,
    name: query.name,
    model: query.model,
    provider: query.provider,
    entityName: query.entity_name,
    kind: query.kind,
    userId: query.user_id,
    sessionId: query.session_id,
    threadId: query.thread_id,
    environment: query.environment,
    serviceName: query.service_name,
    serviceVersion: query.service_version,
    release: query.release,
    tag: query.tag,
    runId: query.run_id,
    experimentId: query.experiment_id,
    hasFeedback: query.has_feedback,
    hasScore: query.has_score,
    scoreBelow: query.score_below,
    minCost: query.min_cost,
    maxCost: query.max_cost,
    minDurationMs: query.min_duration_ms,
    maxDurationMs: query.max_duration_ms,
    hasError: query.has_error,
    // No words ask for nothing: every trace holds them.
    q: query.q?.trim() === '' ? undefined : query.q,
  });

/** Filters and sorts that mean something only with another one, and ranges that hold nothing. */
const checkTraceQuery = (query: TraceFilters): void => {
  const refuse = (field: string, message: string): never => {
    throw new Refusal({ code: 'invalid_parameter', message, field });
  };
  if (query.score_below !== undefined && query.has_score === undefined)
    refuse('score_below', '`score_below` needs `has_score`, which names the scorer');
  if ('sort' in query && query.sort === 'score' && query.has_score === undefined)
    refuse('sort', 'sorting by score needs `has_score`, which names the scorer');
  if (query.min_cost !== undefined && query.max_cost !== undefined && query.min_cost > query.max_cost)
    refuse('min_cost', '`min_cost` is above `max_cost`');
  if (
    query.min_duration_ms !== undefined &&
    query.max_duration_ms !== undefined &&
    query.min_duration_ms > query.max_duration_ms
  )
    refuse('min_duration_ms', '`min_duration_ms` is above `max_duration_ms`');
};

/**
 * Refuses to touch a trace that others hold and the key's projects do not; the audit says which.
 * @throws Refusal `forbidden`
 */
const refuseForeign = async (
  store: SignalStore,
  request: FastifyRequest,
  traceId: string,
  reach: ProjectReach,
): Promise<void> => {
  if (reach === 'all') return;
  const owners = await store.projectsOfTrace(traceId, 'all');
  const foreign = owners.filter((owner) => !reach.includes(owner));
  // A trace of several projects may be within reach while the wanted span of it is not there.
  if (foreign.length === 0 || foreign.length < owners.length) return;
  request.audit.projects = foreign;
  throw new Refusal({ code: 'forbidden', message: 'this key does not reach the project of this trace' });
};

/**
 * Refuses a read of something that the key's projects do not hold: `forbidden` when others do, else `not_found`.
 * @throws Refusal always
 */
const refuseMiss = async (
  store: SignalStore,
  request: FastifyRequest,
  traceId: string,
  reach: ProjectReach,
  what: string,
): Promise<never> => {
  await refuseForeign(store, request, traceId, reach);
  throw new Refusal(notFound(what));
};

/** What a trace detail includes, read while it is written; which lists were cut is known after them. */
const include = (store: SignalStore, traceId: string, projects: ProjectReach, asked: string | undefined) => {
  const names = new Set(asked?.split(','));
  const all = names.has('all');
  const truncated: string[] = [];
  const rows = <T>(name: string, read: (paging: Paging) => Promise<Page<T>>, toWire: (row: T) => object) =>
    all || names.has(name)
      ? readOn(read, { projects, limit: MAX_INCLUDED }, toWire, (last) => {
          if (last.next !== undefined) truncated.push(name);
        })
      : undefined;
  return {
    scores: rows('scores', (paging) => store.listScores({ ...paging, traceId }), scoreToWire),
    feedback: rows('feedback', (paging) => store.listFeedback(traceId, paging), feedbackToWire),
    logs: rows('logs', (paging) => store.listLogs({ ...paging, traceId, order: 'asc' }), logToWire),
    truncated: () => (truncated.length === 0 ? undefined : truncated),
  };
};

/** Traces and their spans. @see Interface specification, "Query API: traces, scores, feedback" */
export const traceRoutes = ({ store, defaultProject, priceBook, clock, redaction }: QueryDeps): Route[] => {
  const findRedactions = createRedactionFinder(redaction ?? {});
  const ownerOf = async (request: FastifyRequest): Promise<string | undefined> => {
    const { trace_id } = request.params as PathOf<'getTrace'>;
    return (await store.projectsOfTrace(trace_id, 'all'))[0];
  };

  return [
    {
      method: 'GET',
      path: '/v1/api/traces',
      scope: 'read',
      operationId: 'listTraces',
      surface: 'query',
      audit: 'list_traces',
      handler: async (request) => {
        const query = request.query as QueryOf<'listTraces'>;
        const listing = listingOf(request, 'listTraces', defaultProject, clock);
        checkTraceQuery(query);
        return listed(
          request,
          'traces',
          listing,
          (paging) =>
            store.listTraces({
              ...paging,
              ...listing.window,
              ...traceFilterOf(query),
              sort: query.sort ?? 'start_time',
              order: query.order ?? 'desc',
            }),
          traceToWire,
        );
      },
    },
    {
      method: 'GET',
      path: '/v1/api/traces/facets',
      scope: 'read',
      operationId: 'countTraceFacets',
      surface: 'query',
      // It tells which traces hold the words of `q`, as the list does.
      audit: 'count_trace_facets',
      handler: async (request) => {
        const query = request.query as QueryOf<'countTraceFacets'>;
        if (query.project !== undefined) request.audit.projects = [query.project];
        const projects = projectsOf(request.caller, query.project, defaultProject);
        request.audit.projects = auditedProjects(projects);
        checkTraceQuery(query);
        if (query.limit === undefined) throw new Error('the document gives countTraceFacets no default limit');
        return facetsToWire(
          await store.countFacets({
            projects,
            limit: query.limit,
            most: MOST_COUNTED,
            ...windowOf(query, clock()),
            ...traceFilterOf(query),
          }),
        );
      },
    },
    {
      method: 'GET',
      path: '/v1/api/traces/:trace_id',
      scope: 'read',
      operationId: 'getTrace',
      surface: 'query',
      audit: 'get_trace',
      ownerOf,
      handler: async (request) => {
        const { trace_id: traceId } = request.params as PathOf<'getTrace'>;
        const query = request.query as QueryOf<'getTrace'>;
        const { reach } = request.caller;
        const payloads = query.payloads !== 'none';
        const reading = await store.readTrace(traceId, reach, payloads, request.answer.expect);
        if (reading === undefined) return refuseMiss(store, request, traceId, reach, `trace ${traceId}`);
        request.audit.projects = reading.projects;
        return {
          trace: traceToWire(reading.trace),
          spans: new WrittenElements(reading.spans),
          ...include(store, traceId, reach, query.include),
        };
      },
    },
    {
      method: 'DELETE',
      path: '/v1/api/traces/:trace_id',
      scope: 'admin',
      operationId: 'deleteTrace',
      surface: 'query',
      audit: 'delete_trace',
      ownerOf,
      handler: async (request) => {
        const { trace_id: traceId } = request.params as PathOf<'deleteTrace'>;
        const { reach } = request.caller;
        const held = await store.projectsOfTrace(traceId, reach);
        if (held.length === 0) await refuseForeign(store, request, traceId, reach);
        else request.audit.projects = held;
        // Logs and judgements may name a trace of which no span has arrived; they go with it all the same.
        const outcome = await store.deleteTraces([traceId], reach);
        if (outcome.deleted === 0) throw new Refusal(notFound(`trace ${traceId}`));
        return { deleted: true, deletes_pending: outcome.pending };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/traces/:trace_id/spans/:span_id',
      scope: 'read',
      operationId: 'getSpan',
      surface: 'query',
      audit: 'get_span',
      ownerOf,
      handler: async (request) => {
        const { trace_id: traceId, span_id: spanId } = request.params as PathOf<'getSpan'>;
        const { reach } = request.caller;
        const span = await store.findSpan(traceId, spanId, reach);
        if (span === undefined) return refuseMiss(store, request, traceId, reach, `span ${spanId} of trace ${traceId}`);
        request.audit.projects = [span.correlation.project];
        const { include: included } = request.query as QueryOf<'getSpan'>;
        return {
          span: spanToWire(span, true),
          ...(included === 'receipt' && { receipt: receiptToWire(receiptOf(span, priceBook)) }),
        };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/traces/:trace_id/spans/:span_id/explanation',
      scope: 'read',
      operationId: 'explainSpan',
      surface: 'query',
      audit: 'explain_span',
      ownerOf,
      handler: async (request) => {
        const { trace_id: traceId, span_id: spanId } = request.params as PathOf<'explainSpan'>;
        const { reach } = request.caller;
        const span = await store.findSpan(traceId, spanId, reach);
        if (span === undefined) return refuseMiss(store, request, traceId, reach, `span ${spanId} of trace ${traceId}`);
        request.audit.projects = [span.correlation.project];
        return explanationToWire(explainSpan(span), findRedactions(span));
      },
    },
    {
      method: 'GET',
      path: '/v1/api/spans',
      scope: 'read',
      operationId: 'listSpans',
      surface: 'query',
      audit: 'list_spans',
      handler: async (request) => {
        const query = request.query as QueryOf<'listSpans'>;
        const { paging, window, cursorAfter } = listingOf(request, 'listSpans', defaultProject, clock);
        const payloads = query.payloads !== 'none';
        if (query.span_ids !== undefined && query.trace_id === undefined)
          throw new Refusal({
            code: 'invalid_parameter',
            message: '`span_ids` needs `trace_id`, which names the trace of these spans',
            field: 'span_ids',
          });
        const page = await store.readSpans(
          {
            ...paging,
            ...window,
            order: query.order ?? 'desc',
            payloads,
            ...given({
              traceId: query.trace_id,
              spanIds: query.span_ids?.split(','),
              maxBytes: query.span_ids === undefined ? undefined : MOST_PAGE_BYTES,
              kind: query.kind,
              status: query.status,
              name: query.name,
              model: query.model,
              provider: query.provider,
              entityName: query.entity_name,
              sessionId: query.session_id,
              userId: query.user_id,
              environment: query.environment,
              serviceName: query.service_name,
            }),
          },
          request.answer.expect,
        );
        return { spans: new WrittenElements(page.spans), next_cursor: cursorAfter(page) };
      },
    },
  ];
};
