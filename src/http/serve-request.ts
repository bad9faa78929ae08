import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Refusal } from '../model/failure.ts';
import type { Access } from './access/access.ts';
import type { AuditLog } from './access/audit-log.ts';
import type { WriteAudit } from './access/audit-rows.ts';
import { type AnswerRoom, USUAL_ANSWER_BYTES } from './answer/answer-room.ts';
import { accepts, asksForStream } from './answer/negotiation.ts';
import { sendJson } from './answer/send-json.ts';
import { type BodyReading, boundedBy, readJsonBody } from './body/json-body.ts';
import type { ServeRoute } from './mount.ts';
import type { Relay } from './relay.ts';
import type { Route } from './route.ts';

/** Reads take room for their answers before they read. What waits for something first would hold it for nothing. */
const takesRoom = (route: Route, request: FastifyRequest): boolean =>
  route.method === 'GET' &&
  (route.surface === 'query' || route.surface === 'runs') &&
  route.neverRefused !== true &&
  route.holds !== true &&
  route.waits !== true &&
  !(route.streams === true && asksForStream(request));

type ServeDeps = {
  readonly access: Access;
  readonly audit: Pick<AuditLog, 'ready'>;
  readonly writeAudit: WriteAudit;
  readonly body: BodyReading;
  readonly answers: AnswerRoom;
  readonly log: Logger;
  /** Where several services share their runs. */
  readonly relay?: Pick<Relay, 'pass'> | undefined;
};

/**
 * The steps of every request, in their order: caller, parameters, body, room for the answer, handler, audit, answer. Parameters
 * are read after the caller is known, and the body after the parameters are valid.
 */
export const createServeRequest =
  ({ access, audit, writeAudit, body, answers, log, relay }: ServeDeps): ServeRoute =>
  async (route, operation, request, reply) => {
    request.answer = answers.shareOf(reply);
    await access.admit(route, request);
    const passed = relay?.pass(route, request, reply);
    if (passed !== undefined) return passed;
    request.params = operation.readPath(request.params);
    request.query = operation.readQuery(request.query);
    if ((route.surface === 'query' || route.surface === 'runs') && !accepts(request.headers.accept, operation.produces))
      throw new Refusal({ code: 'not_acceptable', message: `this call answers in ${operation.produces.join(' or ')}` });
    if (route.body === 'json' || route.body === 'typed')
      request.body = await readJsonBody(request, operation, route.body, boundedBy(body, route.maxBodyBytes));

    if (takesRoom(route, request)) request.answer.expect(USUAL_ANSWER_BYTES);
    let result: unknown;
    try {
      result = await route.handler(request, reply);
    } catch (error) {
      if (error instanceof Refusal && error.failure.code === 'unauthorized')
        access.countFailure(request.caller.remoteAddress);
      if (route.audit !== undefined && error instanceof Refusal && error.failure.code === 'forbidden')
        writeAudit(request, route.audit, 'refused');
      throw error;
    }
    if (route.audit !== undefined) {
      writeAudit(request, route.audit, 'allowed');
      await audit.ready();
    }
    if (result === reply || reply.sent) return reply;
    if (typeof result !== 'object' || result === null)
      throw new Error(`${route.operationId} answered with nothing to send`);
    return sendJson(request, reply, result, log);
  };
