import type { FastifyRequest } from 'fastify';
import type { Evaluation, WatchBoard, WatchView } from '../../watch/board.ts';
import type { Watchers } from '../../watch/watchers.ts';
import { Refusal } from '../../model/failure.ts';
import { reaches } from '../../model/scope.ts';
import type { UnixNano } from '../../model/time.ts';
import type { Monitor, Slo } from '../../model/watch.ts';
import {
  monitorEvaluationToWire,
  monitorToWire,
  sloEvaluationToWire,
  sloToWire,
  transitionToWire,
} from '../codec/watch.ts';
import type { PathOf, QueryOf } from '../contract/contract.ts';
import { readCursor, writeCursor } from '../lists/cursor.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { listingOf, pageBody } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { valueOf } from './runs-deps.ts';

export type MonitorDeps = {
  readonly watchers: Pick<Watchers, 'monitors' | 'slos'>;
  readonly defaultProject: string;
  readonly clock: () => UnixNano;
};

/** Evaluations and transitions are numbered from here. */
const FIRST_NUMBER = 1;

/** What differs on the wire between monitors and SLOs. */
type Resource<Definition, Reading> = {
  readonly plural: 'monitors' | 'slos';
  readonly noun: 'monitor' | 'SLO';
  readonly operations: {
    readonly list: 'listMonitors' | 'listSlos';
    readonly acknowledge: 'acknowledgeMonitor' | 'acknowledgeSlo';
    readonly history: 'listMonitorHistory' | 'listSloHistory';
  };
  readonly board: WatchBoard<Definition, Reading>;
  readonly toWire: (view: WatchView<Definition, Reading>) => object;
  readonly evaluationToWire: (definition: Definition, evaluation: Evaluation<Reading>) => object;
};

/** Monitors and SLOs: how they stand, what they read, and who knows. @see Interface specification, "Query API: monitors and SLOs" */
export const monitorRoutes = ({ watchers, defaultProject, clock }: MonitorDeps): Route[] => {
  const routesOf = <Definition extends Monitor | Slo, Reading>({
    plural,
    noun,
    operations,
    board,
    toWire,
    evaluationToWire,
  }: Resource<Definition, Reading>): Route[] => {
    /** The one that the path names. @throws Refusal `not_found`, `forbidden` */
    const named = (request: FastifyRequest): WatchView<Definition, Reading> => {
      const { id } = request.params as PathOf<'acknowledgeMonitor'>;
      const view = board.find(id);
      if (view === undefined)
        throw new Refusal({ code: 'not_found', message: `the config file has no ${noun} ${JSON.stringify(id)}` });
      if (!reaches(request.caller.reach, view.definition.project))
        throw new Refusal({
          code: 'forbidden',
          message: `this key does not reach project ${JSON.stringify(view.definition.project)}`,
        });
      return view;
    };

    return [
      {
        method: 'GET',
        path: `/v1/api/${plural}`,
        scope: 'read',
        operationId: operations.list,
        surface: 'query',
        handler: async (request) => {
          const { paging, cursorAfter } = listingOf(request, operations.list, defaultProject, clock);
          const [after] = paging.after ?? [];
          const rest = board
            .list()
            .filter(({ definition: { id, project } }) => reaches(paging.projects, project) && id > String(after ?? ''));
          const items = rest.slice(0, paging.limit);
          const last = items.at(-1);
          const next = rest.length > items.length && last !== undefined ? { next: [last.definition.id] } : {};
          return pageBody(plural, mapLazily(items, toWire), cursorAfter(next));
        },
      },
      {
        method: 'POST',
        path: `/v1/api/${plural}/:id/ack`,
        scope: 'write',
        operationId: operations.acknowledge,
        surface: 'query',
        handler: async (request) => toWire(valueOf(board.acknowledge(named(request).definition.id))),
      },
      {
        method: 'GET',
        path: `/v1/api/${plural}/:id/history`,
        scope: 'read',
        operationId: operations.history,
        surface: 'query',
        handler: async (request) => {
          const { definition } = named(request);
          const query = request.query as QueryOf<'listMonitorHistory'>;
          const limit = query.limit ?? 50;
          const binding = { operation: operations.history, projects: definition.id, query };
          const position = query.cursor === undefined ? [] : readCursor(binding, query.cursor).position;
          const [beforeNo, beforeSeq] = position.map(Number);
          const foundTransitions = await board.transitions(definition.id, limit + 1, beforeSeq);
          const foundEvaluations = board.history(definition.id, limit + 1, beforeNo);
          const transitions = foundTransitions.slice(0, limit);
          const evaluations = foundEvaluations.slice(0, limit);
          const hasMore = foundTransitions.length > limit || foundEvaluations.length > limit;
          // A list that has ended stays where it ended: nothing stands below the first number.
          const next = [
            evaluations.at(-1)?.no ?? beforeNo ?? FIRST_NUMBER,
            transitions.at(-1)?.seq ?? beforeSeq ?? FIRST_NUMBER,
          ];
          return {
            evaluations: mapLazily(evaluations, (evaluation) => evaluationToWire(definition, evaluation)),
            transitions: mapLazily(transitions, transitionToWire),
            next_cursor: hasMore ? writeCursor(binding, { position: next, now: clock() }) : undefined,
          };
        },
      },
    ];
  };

  return [
    ...routesOf({
      plural: 'monitors',
      noun: 'monitor',
      operations: { list: 'listMonitors', acknowledge: 'acknowledgeMonitor', history: 'listMonitorHistory' },
      board: watchers.monitors,
      toWire: monitorToWire,
      evaluationToWire: (_monitor, evaluation) => monitorEvaluationToWire(evaluation),
    }),
    ...routesOf({
      plural: 'slos',
      noun: 'SLO',
      operations: { list: 'listSlos', acknowledge: 'acknowledgeSlo', history: 'listSloHistory' },
      board: watchers.slos,
      toWire: sloToWire,
      evaluationToWire: sloEvaluationToWire,
    }),
  ];
};
