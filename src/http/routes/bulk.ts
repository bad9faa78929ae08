import type { FastifyRequest } from 'fastify';
import type { BulkAction, BulkView } from '../../actors/bulk/messages.ts';
import { Refusal } from '../../model/failure.ts';
import type { components } from '../../model/generated/openapi.ts';
import type { Json } from '../../model/json.ts';
import type { RunFilter } from '../../store/runs/run-store.ts';
import { instantIfKnown, instantToWire } from '../codec/instant.ts';
import type { BodyOf, PathOf } from '../contract/contract.ts';
import { given, projectsOf, windowOf } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { boundMs } from './runs.ts';
import { type RunsDeps, valueOf } from './runs-deps.ts';

type Schemas = components['schemas'];

/** A payload is kept with the action, and given to each run. */
const BULK_BODY_BYTES = 256 * 1024;

const refused = (field: string, message: string): Refusal => new Refusal({ code: 'invalid_body', message, field });

/** @throws Refusal for members that the action does not take, or lacks */
const workOf = ({ action, reason, event, payload }: Schemas['NewBulk']): BulkAction => {
  if (action !== 'signal' && event !== undefined)
    throw refused('event', `event is of a signal: leave it out of a ${action}`);
  if (action !== 'signal' && payload !== undefined)
    throw refused('payload', `payload is of a signal: leave it out of a ${action}`);
  switch (action) {
    case 'cancel':
    case 'pause':
    case 'resume':
      return { action, ...given({ reason }) };
    case 'signal':
      if (event === undefined) throw refused('event', 'a signal needs the name of its event in `event`');
      if (reason !== undefined) throw refused('reason', 'a signal has no reason: leave it out');
      return { action, event, payload: (payload ?? {}) as Json };
    case 'restart':
      if (reason !== undefined) throw refused('reason', 'a restart has no reason: leave it out');
      return { action };
    default:
      return action satisfies never;
  }
};

const bulkToWire = (bulk: BulkView): Schemas['Bulk'] =>
  ({
    bulk_id: bulk.bulkId,
    action: bulk.action,
    status: bulk.status,
    count: bulk.count,
    done: bulk.done,
    refused: bulk.refused,
    started_at: instantToWire(bulk.startedAt),
    ended_at: instantIfKnown(bulk.endedAt),
  }) as Schemas['Bulk'];

/** Actions on many runs. @see Interface decisions, section 13, "Many at once" */
export const bulkRoutes = ({ runs, defaultProject, clock }: RunsDeps): Route[] => {
  const filterOf = (request: FastifyRequest, filter: Schemas['RunFilter']): RunFilter => {
    const window = windowOf(filter, clock());
    const { session_id: session, correlation = {} } = filter;
    const named = Object.entries({ ...correlation, ...given({ session_id: session }) });
    return {
      reach: projectsOf(request.caller, filter.project, defaultProject),
      ...given({
        status: filter.status,
        definitionId: filter.definition_id,
        userId: filter.user_id,
        parentRunId: filter.parent_run_id,
        restartedFrom: filter.restarted_from,
        waitingOn: filter.waiting_on,
        from: boundMs(window.from),
        to: boundMs(window.to),
        correlation: named.length === 0 ? undefined : named,
      }),
    };
  };
  const namedIn = (request: FastifyRequest) => ({
    reach: request.caller.reach,
    bulkId: (request.params as PathOf<'getBulk'>).bulk,
  });

  return [
    {
      method: 'POST',
      path: '/v1/api/runs/bulk',
      scope: 'execute',
      operationId: 'startBulk',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: BULK_BODY_BYTES,
      handler: async (request, reply) => {
        const body = request.body as BodyOf<'startBulk'>;
        const work = workOf(body);
        const { idempotency_key: key } = body;
        const { bulkId, begun, count, sample } = valueOf(
          await runs.startBulk({
            reach: request.caller.reach,
            work,
            filter: filterOf(request, body.filter),
            dryRun: body.dry_run ?? false,
            // The filter as it was sent: a time before now means another one when it is sent again.
            ...(key === undefined ? {} : { idempotency: { key, asked: { work, filter: body.filter } } }),
          }),
        );
        reply.code(begun ? 202 : 200);
        return { ...(bulkId === undefined ? {} : { bulk_id: bulkId }), count, sample };
      },
    },
    {
      method: 'GET',
      path: '/v1/api/runs/bulk/:bulk',
      scope: 'read',
      operationId: 'getBulk',
      surface: 'runs',
      handler: async (request) => bulkToWire(valueOf(await runs.getBulk(namedIn(request)))),
    },
    {
      method: 'DELETE',
      path: '/v1/api/runs/bulk/:bulk',
      scope: 'execute',
      operationId: 'stopBulk',
      surface: 'runs',
      handler: async (request) => bulkToWire(valueOf(await runs.stopBulk(namedIn(request)))),
    },
  ];
};
