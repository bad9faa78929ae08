import type { FastifyRequest } from 'fastify';
import type { Lease } from '../../model/run.ts';
import { Refusal } from '../../model/failure.ts';
import { failureFor, problemBody, statusOf } from '../answer/problem.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { leaseToWire } from '../codec/lease.ts';
import { apiOperations, type BodyOf, type CompiledOperation } from '../contract/contract.ts';
import type { Route } from '../route.ts';
import type { LeaseCall } from './lease-calls.ts';
import type { RunsDeps } from './runs-deps.ts';

/** Items of one call. @see Interface decisions, section 12, "Many steps in one call" */
const BATCH_ITEMS = 1000;
/** Body of one call. */
const BATCH_BODY_BYTES = 16 * 1024 * 1024;

type BatchBody = BodyOf<'batchSteps'>;
/** The lists of a body, and of its answer, in the order in which they are taken. */
const lists = ['started', 'heartbeats', 'completes', 'fails'] as const;
const verbOf = { started: 'started', heartbeats: 'heartbeat', completes: 'complete', fails: 'fail' } as const;

type Item = Readonly<Record<string, unknown>>;
/** What became of one item: what its own call would have answered. */
type ItemAnswer = { readonly lease_id?: string; readonly status: number; readonly body: object };

/** The whole body in bytes, where its length says it before it is read. */
const statedBytes = ({ headers }: FastifyRequest): number | undefined =>
  headers['content-encoding'] === undefined && headers['content-length'] !== undefined
    ? Number(headers['content-length'])
    : undefined;

/**
 * Many calls on leases, and a claim, in one request. Each item is checked, taken and answered as its own call would be, and none
 * depends on another: they go to the kernel together, in order, and share its commits.
 * @see Interface decisions, section 12, "Many steps in one call"
 */
export const stepBatchRoute = (
  deps: Pick<RunsDeps, 'log'>,
  calls: Readonly<Record<LeaseCall['verb'], LeaseCall>>,
  claim: (request: FastifyRequest, asked: BodyOf<'claimSteps'>) => Promise<readonly Lease[]>,
): Route => {
  const path = '/v1/api/steps/batch';

  const operationOf = ({ operationId }: LeaseCall): CompiledOperation => {
    const operation = apiOperations().get(operationId);
    if (operation === undefined) throw new Error(`the document has no operation ${operationId}`);
    return operation;
  };

  const refusalOf = (request: FastifyRequest, error: unknown): { status: number; body: object } => {
    const failure = failureFor(error, request.id, path, deps.log);
    return { status: statusOf[failure.code], body: problemBody(failure) };
  };

  /** Makes the call of one item. It reaches the kernel before this returns, so that items keep their order. */
  const take = async (
    request: FastifyRequest,
    call: LeaseCall,
    reported: ReadonlySet<unknown>,
    workerId: string,
    { lease_id: leaseId, ...members }: Item,
  ): Promise<ItemAnswer> => {
    let named: { readonly lease_id?: string } = {};
    try {
      if (typeof leaseId !== 'string')
        throw new Refusal({
          code: 'invalid_parameter',
          message: leaseId === undefined ? 'missing field `lease_id`' : '`lease_id` must be a string',
          field: 'lease_id',
        });
      const operation = operationOf(call);
      operation.readPath({ lease: leaseId });
      named = { lease_id: leaseId };
      const body: Item = { worker_id: workerId, ...members };
      // No item is larger than the whole.
      if ((statedBytes(request) ?? Number.POSITIVE_INFINITY) > call.maxBodyBytes) {
        const bytes = Buffer.byteLength(JSON.stringify(body));
        if (bytes > call.maxBodyBytes)
          throw new Refusal({
            code: 'payload_too_large',
            message: `an item of ${bytes} bytes is too large: this call takes at most ${call.maxBodyBytes} bytes`,
          });
      }
      operation.checkJson(body);
      const { worker_id } = body as BodyOf<'startStep'>;
      const lease = { leaseId, workerId: worker_id, reach: request.caller.reach };
      const isReported = call.verb === 'started' && reported.has(leaseId);
      const answer = await call.make(isReported ? { ...lease, isReported } : lease, body);
      return { ...named, status: 200, body: answer };
    } catch (error) {
      return { ...named, ...refusalOf(request, error) };
    }
  };

  return {
    method: 'POST',
    path,
    scope: 'worker',
    operationId: 'batchSteps',
    surface: 'runs',
    body: 'json',
    maxBodyBytes: BATCH_BODY_BYTES,
    waits: true,
    handler: async (request) => {
      const body = request.body as BatchBody;
      const count = lists.reduce((sum, list) => sum + (body[list]?.length ?? 0), 0);
      if (count > BATCH_ITEMS)
        throw new Refusal({
          code: 'invalid_parameter',
          message: `a call takes at most ${BATCH_ITEMS} items, and this one has ${count}: send the rest in another`,
        });
      const reported = new Set(
        [...(body.completes ?? []), ...(body.fails ?? [])].map(({ lease_id }: Item) => lease_id),
      );
      const taken = lists.map((list) => ({
        list,
        answers: (body[list] ?? []).map((item) => take(request, calls[verbOf[list]], reported, body.worker_id, item)),
      }));
      const { claim: asked } = body;
      const claimed =
        asked === undefined
          ? Promise.resolve({ leases: [] })
          : claim(request, { worker_id: body.worker_id, wait_ms: 0, ...asked }).then(
              (leases) => ({ leases }),
              (error: unknown) => ({ leases: [], claim_error: refusalOf(request, error) }),
            );
      const answers: Record<string, readonly ItemAnswer[]> = {};
      for (const { list, answers: promises } of taken) answers[list] = await Promise.all(promises);
      const { leases, ...fault } = await claimed;
      return { ...answers, leases: mapLazily(leases, leaseToWire), ...fault };
    },
  };
};
