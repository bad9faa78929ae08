import type { FastifyRequest } from 'fastify';
import type { HeldLease } from '../../actors/service/runs-service.ts';
import type { Json } from '../../model/json.ts';
import type { Lease } from '../../model/run.ts';
import { leaseInfoToWire, leaseTimesToWire, leaseToWire, registrationToWire, workerToWire } from '../codec/lease.ts';
import type { BodyOf, PathOf } from '../contract/contract.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { given, pageBody } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { DEFINITIONS_BODY_BYTES } from './definitions.ts';
import { countRefusals, leaseCallPath, leaseCalls, SMALL_BODY_BYTES } from './lease-calls.ts';
import { stepBatchRoute } from './step-batch.ts';
import { allInReach, holdMsOf, type RunsDeps, runListingOf, valueOf } from './runs-deps.ts';

/** The four calls on a lease, what leads to them, and what operators see of both. @see Interface specification, "Worker protocol" */
export const workerRoutes = (deps: RunsDeps): Route[] => {
  const { runs } = deps;
  const holdMs = holdMsOf(deps);

  const heldBy = (request: FastifyRequest): HeldLease => ({
    leaseId: (request.params as PathOf<'startStep'>).lease,
    workerId: (request.body as BodyOf<'startStep'>).worker_id,
    reach: request.caller.reach,
  });

  /** What was offered to a claimer that went away before it had the answer goes back to the queue. */
  const giveBackIfGone = (request: FastifyRequest, leaseIds: readonly string[]): void => {
    if (leaseIds.length === 0) return;
    const { abandoned } = request;
    const giveBack = (): void => {
      runs.giveBack(leaseIds).catch((error: unknown) => {
        // They lapse by themselves.
        deps.log.warn({ err: error }, 'offers of a claimer that went away could not be given back');
      });
    };
    if (abandoned.aborted) giveBack();
    else abandoned.addEventListener('abort', giveBack, { once: true });
  };

  /** @throws Refusal */
  const claim = async (request: FastifyRequest, asked: BodyOf<'claimSteps'>): Promise<readonly Lease[]> => {
    const leases = valueOf(
      await runs.claim(
        {
          reach: request.caller.reach,
          workerId: asked.worker_id,
          max: asked.max,
          waitMs: Math.min(asked.wait_ms, holdMs),
          ...given({ runId: asked.run_id }),
        },
        request.released,
      ),
    );
    giveBackIfGone(
      request,
      leases.map(({ leaseId }) => leaseId),
    );
    return leases;
  };
  const onLeases = deps.refusals === undefined ? leaseCalls(runs) : countRefusals(leaseCalls(runs), deps.refusals);

  return [
    {
      method: 'POST',
      path: '/v1/api/workers/register',
      scope: 'worker',
      operationId: 'registerWorker',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: DEFINITIONS_BODY_BYTES,
      handler: async (request) => {
        const body = request.body as BodyOf<'registerWorker'>;
        return registrationToWire(
          valueOf(
            await runs.registerWorker({
              reach: request.caller.reach,
              workerId: body.worker_id,
              definitions: body.definitions as readonly Json[],
              ...given({
                name: body.name,
                version: body.version,
                project: body.project,
                concurrency: body.concurrency,
              }),
            }),
          ),
        );
      },
    },
    {
      method: 'POST',
      path: '/v1/api/steps/claim',
      scope: 'worker',
      operationId: 'claimSteps',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: SMALL_BODY_BYTES,
      holds: true,
      handler: async (request) => ({
        leases: mapLazily(await claim(request, request.body as BodyOf<'claimSteps'>), leaseToWire),
      }),
    },
    stepBatchRoute(deps, onLeases, claim),
    ...Object.values(onLeases).map(
      ({ verb, operationId, maxBodyBytes, make }): Route => ({
        method: 'POST',
        path: leaseCallPath(verb),
        scope: 'worker',
        operationId,
        surface: 'runs',
        body: 'json',
        maxBodyBytes,
        handler: (request) => make(heldBy(request), request.body),
      }),
    ),
    {
      method: 'GET',
      path: '/v1/api/workers',
      scope: 'read',
      operationId: 'listWorkers',
      surface: 'runs',
      handler: async (request) => {
        const { paging, cursorAfter } = runListingOf(request, 'listWorkers', deps, allInReach);
        const page = valueOf(await runs.listWorkers(paging));
        return pageBody('workers', mapLazily(page.items, workerToWire), cursorAfter(page));
      },
    },
    {
      method: 'GET',
      path: '/v1/api/leases',
      scope: 'read',
      operationId: 'listLeases',
      surface: 'runs',
      handler: async (request) => {
        const { paging, cursorAfter } = runListingOf(request, 'listLeases', deps);
        const page = valueOf(await runs.listLeases(paging));
        return {
          ...pageBody('leases', mapLazily(page.items, leaseInfoToWire), cursorAfter(page)),
          ...leaseTimesToWire(page.times),
        };
      },
    },
  ];
};
