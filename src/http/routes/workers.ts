import type { FastifyRequest } from 'fastify';
import type { HeldLease } from '../../actors/service/runs-service.ts';
import { reservedClasses } from '../../model/definition/step-error.ts';
import { Refusal } from '../../model/failure.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { instantToWire } from '../codec/instant.ts';
import { leaseInfoToWire, leaseToWire, registrationToWire, usageOfWire, workerToWire } from '../codec/lease.ts';
import type { BodyOf, PathOf } from '../contract/contract.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { given, pageBody } from '../lists/listing.ts';
import type { Route } from '../route.ts';
import { DEFINITIONS_BODY_BYTES } from './definitions.ts';
import { RUN_BODY_BYTES } from './runs.ts';
import { allInReach, holdMsOf, type RunsDeps, runListingOf, valueOf } from './runs-deps.ts';

/** Calls that bring next to nothing, heartbeats with their details included. */
const SMALL_BODY_BYTES = 1024 * 1024;
/** What a heartbeat may leave for the next attempt, as JSON. @see Interface decisions, "Worker protocol" */
const DETAILS_BYTES = 64 * 1024;

/** Classes that only the service gives; `unservable` a worker may send. @see Interface decisions, "Fine print" */
const isReserved = (name: string): boolean =>
  name !== 'unservable' && (reservedClasses as readonly string[]).includes(name);

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
      handler: async (request) => {
        const body = request.body as BodyOf<'claimSteps'>;
        const leases = valueOf(
          await runs.claim(
            {
              reach: request.caller.reach,
              workerId: body.worker_id,
              max: body.max,
              waitMs: Math.min(body.wait_ms, holdMs),
              ...given({ runId: body.run_id }),
            },
            request.released,
          ),
        );
        giveBackIfGone(
          request,
          leases.map(({ leaseId }) => leaseId),
        );
        return { leases: mapLazily(leases, leaseToWire) };
      },
    },
    {
      method: 'POST',
      path: '/v1/api/steps/:lease/started',
      scope: 'worker',
      operationId: 'startStep',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: SMALL_BODY_BYTES,
      handler: async (request) => {
        const { runStatus, leaseExpiresAt } = valueOf(await runs.started(heldBy(request)));
        return { run_status: runStatus, lease_expires_at: instantToWire(leaseExpiresAt) };
      },
    },
    {
      method: 'POST',
      path: '/v1/api/steps/:lease/heartbeat',
      scope: 'worker',
      operationId: 'beatStep',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: SMALL_BODY_BYTES,
      handler: async (request) => {
        const { details } = request.body as BodyOf<'beatStep'>;
        const bytes = details === undefined ? 0 : Buffer.byteLength(JSON.stringify(details));
        if (bytes > DETAILS_BYTES)
          throw new Refusal({
            code: 'payload_too_large',
            message: `\`details\` of ${bytes} bytes are too large: they hold at most ${DETAILS_BYTES} bytes as JSON; keep a reference in them`,
            field: 'details',
          });
        const { leaseExpiresAt } = valueOf(
          await runs.heartbeat({ ...heldBy(request), ...given({ details: details as Json | undefined }) }),
        );
        return { lease_expires_at: instantToWire(leaseExpiresAt) };
      },
    },
    {
      method: 'POST',
      path: '/v1/api/steps/:lease/complete',
      scope: 'worker',
      operationId: 'completeStep',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: RUN_BODY_BYTES,
      handler: async (request) => {
        const body = request.body as BodyOf<'completeStep'>;
        const { runStatus, nextStep } = valueOf(
          await runs.complete({
            ...heldBy(request),
            ...given({
              output: body.output as Json | undefined,
              statePatch: body.state_patch as JsonObject | undefined,
            }),
            ...usageOfWire(body.usage),
          }),
        );
        return { run_status: runStatus, next_step: nextStep };
      },
    },
    {
      method: 'POST',
      path: '/v1/api/steps/:lease/fail',
      scope: 'worker',
      operationId: 'failStep',
      surface: 'runs',
      body: 'json',
      maxBodyBytes: RUN_BODY_BYTES,
      handler: async (request) => {
        const body = request.body as BodyOf<'failStep'>;
        const { error } = body;
        if (isReserved(error.class))
          throw new Refusal({
            code: 'invalid_parameter',
            message: `the class "${error.class}" is given by the service alone; send retryable, rate_limited, fatal, unservable, or a name of your own`,
            field: 'error.class',
          });
        const { runStatus, nextStep, willRetry } = valueOf(
          await runs.fail({
            ...heldBy(request),
            error,
            ...given({ retryAfterMs: body.retry_after_ms }),
            ...usageOfWire(body.usage),
          }),
        );
        return { run_status: runStatus, next_step: nextStep, will_retry: willRetry };
      },
    },
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
        return pageBody('leases', mapLazily(page.items, leaseInfoToWire), cursorAfter(page));
      },
    },
  ];
};
