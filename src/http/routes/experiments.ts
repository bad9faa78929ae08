import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../model/failure.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ProjectReach } from '../../model/scope.ts';
import { compareStatistics } from '../../scoring/compare.ts';
import { loadTwoSidedT } from '../../scoring/significance.ts';
import type { ScoreStatistic } from '../../store/signals/evaluation.ts';
import { comparisonToWire, experimentToWire } from '../codec/evaluation.ts';
import type { BodyOf, PathOf, QueryOf } from '../contract/contract.ts';
import { type EvaluationDeps, idOrNew } from './datasets.ts';
import { lookupReach, projectToWrite } from './evaluation-scope.ts';
import { listingOf } from '../lists/listing.ts';
import { listed } from '../lists/read-on.ts';
import type { Route } from '../route.ts';

/** An id that the path of the comparison takes. */
const RESERVED_ID = 'compare';

/** Versions under trial, and what their scores say. @see Interface specification, "Query API: datasets, experiments" */
export const experimentRoutes = ({ store, defaultProject, clock, redactRecord }: EvaluationDeps): Route[] => {
  const unknown = (experimentId: string, field?: string): Refusal =>
    new Refusal({
      code: 'not_found',
      message: `no experiment ${JSON.stringify(experimentId)} is stored where this key reaches`,
      ...(field === undefined ? {} : { field }),
    });

  /**
   * The scores of an experiment: those of its own project, or, where it was never recorded, those that carry its id.
   * @throws Refusal `not_found` when there is neither a record nor a score
   */
  const statisticsOf = async (
    experimentId: string,
    reach: ProjectReach,
    field: string,
  ): Promise<readonly ScoreStatistic[]> => {
    const experiment = await store.findExperiment(experimentId, reach);
    const statistics = await store.scoreStatistics(
      experimentId,
      experiment === undefined ? reach : [experiment.project],
    );
    if (experiment === undefined && statistics.length === 0) throw unknown(experimentId, field);
    return statistics;
  };

  const reachOf = (request: FastifyRequest): ProjectReach => {
    const { project } = request.query as QueryOf<'getExperiment'>;
    return lookupReach(request.caller, project, defaultProject).byId;
  };

  return [
    {
      method: 'GET',
      path: '/v1/api/experiments',
      scope: 'read',
      operationId: 'listExperiments',
      surface: 'query',
      handler: async (request) => {
        const listing = listingOf(request, 'listExperiments', defaultProject, clock);
        return listed(
          request,
          'experiments',
          listing,
          (paging) => store.listExperiments({ ...paging, ...listing.window }),
          experimentToWire,
        );
      },
    },
    {
      method: 'POST',
      path: '/v1/api/experiments',
      scope: 'write',
      operationId: 'createExperiment',
      surface: 'query',
      body: 'typed',
      handler: async (request, reply) => {
        const body = request.body as BodyOf<'createExperiment'>;
        const project = projectToWrite(request.caller, body.project, defaultProject);
        if (body.experiment_id === RESERVED_ID)
          throw new Refusal({
            code: 'invalid_parameter',
            message: `an experiment cannot have the id "${RESERVED_ID}": its path is that of the comparison`,
            field: 'experiment_id',
          });
        const { metadata } = redactRecord(body.metadata === undefined ? {} : { metadata: body.metadata as JsonObject });
        const stored = await store.putExperiment({
          experimentId: idOrNew(body.experiment_id),
          name: body.name,
          project,
          ...(body.dataset_id === undefined ? {} : { datasetId: body.dataset_id }),
          ...(body.service_version === undefined ? {} : { serviceVersion: body.service_version }),
          ...(metadata === undefined ? {} : { metadata }),
          createdAt: clock(),
        });
        reply.code(201);
        return experimentToWire(stored);
      },
    },
    {
      method: 'GET',
      path: '/v1/api/experiments/compare',
      scope: 'read',
      operationId: 'compareExperiments',
      surface: 'query',
      handler: async (request) => {
        const { baseline, candidate } = request.query as QueryOf<'compareExperiments'>;
        const reach = reachOf(request);
        const [before, after, twoSidedT] = await Promise.all([
          statisticsOf(baseline, reach, 'baseline'),
          statisticsOf(candidate, reach, 'candidate'),
          loadTwoSidedT(),
        ]);
        return comparisonToWire(baseline, candidate, compareStatistics(before, after, twoSidedT));
      },
    },
    {
      method: 'GET',
      path: '/v1/api/experiments/:experiment_id',
      scope: 'read',
      operationId: 'getExperiment',
      surface: 'query',
      handler: async (request) => {
        const { experiment_id: experimentId } = request.params as PathOf<'getExperiment'>;
        const experiment = await store.findExperiment(experimentId, reachOf(request));
        if (experiment === undefined) throw unknown(experimentId);
        return experimentToWire(experiment);
      },
    },
  ];
};
