import { SERVICE } from '../../model/definition/owner.ts';
import type { Result } from '../../model/failure.ts';
import type { Lease } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import { ownerOfStored } from '../definition/owner.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { LeaseMessage } from '../lease/messages.ts';
import { overloaded, outOfReach } from '../run/run-failures.ts';
import type { UpkeepMessage } from '../upkeep-actor.ts';
import type { Dispatcher } from '../workers/dispatcher.ts';
import type { WorkerRegistry } from '../workers/registry.ts';
import type { Registered, RegisterMessage } from '../workers/worker-actor.ts';
import { attempt, callerOfWorker, type Calls } from './calls.ts';
import type { HeldLease, LeaseTimes, WorkerCommands } from './runs-service.ts';
import type { StoredRuns } from './stored-runs.ts';

const CLAIMS_LIMIT = 10_000;

/** What workers ask for. @see Interface decisions, "Worker protocol" */
export const createWorkerCommands = (host: {
  readonly calls: Calls;
  readonly kernel: Pick<Kernel, 'handle' | 'isDeciding'>;
  readonly upkeep: (body: UpkeepMessage) => Promise<unknown>;
  readonly dispatcher: Dispatcher;
  readonly registry: WorkerRegistry;
  readonly storedRuns: Pick<StoredRuns, 'visible'>;
  readonly leaseTimes: Pick<LeaseTimes, 'leaseTtlMs' | 'heartbeatMs'>;
  readonly closing: AbortSignal;
}): WorkerCommands => {
  const { dispatcher, registry } = host;
  const { leaseTtlMs, heartbeatMs } = host.leaseTimes;
  const { ask } = host.calls;

  const lease = async <T>(request: HeldLease, body: LeaseMessage): Promise<Result<T>> => {
    const answer = await ask<T>(callerOfWorker(request.workerId, request.reach), {
      type: 'lease',
      id: request.leaseId,
      body,
    });
    // Only the holder of a lease is taken for the worker that it says it is.
    if (answer.ok) registry.seen(request.workerId);
    return answer;
  };

  const giveBack = async (leaseIds: readonly string[]): Promise<void> => {
    const body: LeaseMessage = { kind: 'give_back' };
    await host.kernel.handle(leaseIds.map((id) => ({ type: 'lease', id, body })));
  };

  return {
    registerWorker: async (request) => {
      const { workerId, definitions, name, version, concurrency, reach } = request;
      const owner = ownerOfStored(reach, request.project);
      if (!owner.ok) return owner;
      // A worker that holds definitions of a project has nothing to do, or to show, anywhere else.
      const project = owner.value === SERVICE ? request.project : owner.value;
      const body: RegisterMessage = {
        definitions,
        worker: {
          registeredBy: reach,
          owner: owner.value,
          ...(name === undefined ? {} : { name }),
          ...(version === undefined ? {} : { version }),
          ...(project === undefined ? {} : { project }),
          ...(concurrency === undefined ? {} : { concurrency }),
        },
      };
      const registered = await ask<Registered>(callerOfWorker(workerId, reach), { type: 'worker', id: workerId, body });
      if (!registered.ok) return registered;
      registry.registered(registered.value.worker);
      dispatcher.forgive(workerId);
      return {
        ok: true,
        value: {
          workerId,
          leaseTtlMs,
          heartbeatMs,
          definitions: registered.value.definitions,
        },
      };
    },

    claim: (request, signal) =>
      attempt(async (): Promise<Result<readonly Lease[]>> => {
        const worker = await registry.find(request.workerId);
        if (worker === undefined)
          return {
            ok: false,
            failure: {
              code: 'not_found',
              message: `worker ${request.workerId} is not registered: register it, then claim`,
              field: 'worker_id',
            },
          };
        if (worker.project !== undefined && !reaches(request.reach, worker.project)) return outOfReach('worker');
        registry.seen(request.workerId);
        if (request.runId !== undefined) {
          const run = await host.storedRuns.visible(request.runId, request.reach);
          if (!run.ok) return run;
        }
        if (host.closing.aborted) return { ok: true, value: [] };
        // A turn waits for the commit in hand, so none is taken where there is nothing to match. What was called before this claim, as
        // by the same batch, may bring something yet.
        const mayMatch =
          request.runId !== undefined || dispatcher.mayOffer(worker, request.reach) || host.kernel.isDeciding();
        if (!mayMatch && request.waitMs === 0) return { ok: true, value: [] };
        if (dispatcher.waiting() >= CLAIMS_LIMIT) return overloaded(dispatcher.waiting(), CLAIMS_LIMIT);
        const { leases, matched } = dispatcher.claim(
          {
            worker,
            max: request.max,
            waitMs: request.waitMs,
            reach: request.reach,
            ...(request.runId === undefined ? {} : { runId: request.runId }),
          },
          signal,
        );
        // A failure is the answer of the claim, or met by the next tick.
        if (mayMatch) void host.upkeep({ kind: 'match' }).then(matched, matched);
        else matched();
        const granted = await leases;
        if (signal?.aborted !== true || granted.length === 0 || request.collects === true)
          return { ok: true, value: granted };
        await giveBack(granted.map(({ leaseId }) => leaseId));
        return { ok: true, value: [] };
      }),

    giveBack,

    started: ({ leaseId: _, ...call }) => lease({ ...call, leaseId: _ }, { kind: 'started', ...call }),
    heartbeat: (request) =>
      lease(request, {
        kind: 'heartbeat',
        workerId: request.workerId,
        reach: request.reach,
        ...(request.details === undefined ? {} : { details: request.details }),
      }),
    complete: ({ leaseId: _, ...call }) => lease({ ...call, leaseId: _ }, { kind: 'complete', ...call }),
    fail: ({ leaseId: _, ...call }) => lease({ ...call, leaseId: _ }, { kind: 'fail', ...call }),
  };
};
