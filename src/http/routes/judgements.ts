import type { FastifyRequest } from 'fastify';
import { decodeNativeBatch } from '../../ingest/native.ts';
import { WorkCount } from '../../ingest/work.ts';
import { Refusal } from '../../model/failure.ts';
import { ownProject } from '../../model/scope.ts';
import type { SignalBatch } from '../../model/signal.ts';
import { feedbackToWire, scoreToWire } from '../codec/judgement.ts';
import type { QueryOf } from '../contract/contract.ts';
import { auditedProjects, given, listingOf, projectsOf } from '../lists/listing.ts';
import { listed, listRows } from '../lists/read-on.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

/** Scores (of machines) and feedback (of people). @see Interface specification, "Query API: traces, scores, feedback" */
export const judgementRoutes = ({ store, pipeline, defaultProject, clock }: QueryDeps): Route[] => {
  /**
   * Reads one judgement out of a body, by the rules of the native door. Its ids stand in indexes, so that a character of them is more
   * work than one of a payload, as which the body was counted.
   * @throws Refusal with the reason that the door would name
   */
  const decode = <L extends 'scores' | 'feedback'>(request: FastifyRequest, list: L): SignalBatch[L][number] => {
    const { reach } = request.caller;
    const { batch, refusals } = decodeNativeBatch({ [list]: [request.body] }, 0, {
      receivedAt: clock(),
      defaultProject: ownProject(reach, defaultProject),
      maxSignals: 1,
    });
    const [refusal] = refusals;
    if (refusal !== undefined) {
      const { code, message, field } = refusal;
      throw new Refusal({ code, message, ...(field === undefined ? {} : { field }) });
    }
    new WorkCount().add(0, [{ batch }], request.mostWork);
    const [judgement] = batch[list];
    if (judgement === undefined) throw new Error(`a body was neither decoded into ${list} nor refused`);
    return judgement;
  };

  return [
    {
      method: 'GET',
      path: '/v1/api/scores',
      scope: 'read',
      operationId: 'listScores',
      surface: 'query',
      audit: 'list_scores',
      handler: async (request) => {
        const query = request.query as QueryOf<'listScores'>;
        const listing = listingOf(request, 'listScores', defaultProject, clock);
        if (query.min_value !== undefined && query.max_value !== undefined && query.min_value > query.max_value)
          throw new Refusal({
            code: 'invalid_parameter',
            message: '`min_value` is above `max_value`',
            field: 'min_value',
          });
        return listed(
          request,
          'scores',
          listing,
          (paging) =>
            store.listScores({
              ...paging,
              ...listing.window,
              ...given({
                scorerId: query.scorer_id,
                source: query.source,
                traceId: query.trace_id,
                experimentId: query.experiment_id,
                minValue: query.min_value,
                maxValue: query.max_value,
              }),
            }),
          scoreToWire,
        );
      },
    },
    {
      method: 'POST',
      path: '/v1/api/scores',
      scope: 'write',
      operationId: 'createScore',
      surface: 'query',
      body: 'typed',
      handler: async (request, reply) => {
        const stored = await pipeline.ingestScore(decode(request, 'scores'), request.caller.reach);
        reply.code(201);
        return scoreToWire(stored);
      },
    },
    {
      method: 'GET',
      path: '/v1/api/feedback',
      scope: 'read',
      operationId: 'listFeedback',
      surface: 'query',
      audit: 'list_feedback',
      handler: async (request) => {
        const query = request.query as QueryOf<'listFeedback'>;
        if (query.project !== undefined) request.audit.projects = [query.project];
        const projects = projectsOf(request.caller, query.project, defaultProject);
        request.audit.projects = auditedProjects(projects);
        const { rows, last } = await listRows(
          request,
          { projects, limit: query.limit ?? 1000 },
          (paging) => store.listFeedback(query.trace_id, paging),
          feedbackToWire,
        );
        return { feedback: rows, truncated: () => (last().next === undefined ? undefined : true) };
      },
    },
    {
      method: 'POST',
      path: '/v1/api/feedback',
      scope: 'write',
      operationId: 'createFeedback',
      surface: 'query',
      body: 'typed',
      handler: async (request, reply) => {
        const stored = await pipeline.ingestFeedback(decode(request, 'feedback'), request.caller.reach);
        reply.code(201);
        return feedbackToWire(stored);
      },
    },
  ];
};
