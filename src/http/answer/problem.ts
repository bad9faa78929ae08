import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { type Failure, type FailureCode, Refusal } from '../../model/failure.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';

/** The only table of HTTP statuses. A new code does not compile until it has one. @see Interface decisions, "2. Errors" */
export const statusOf = {
  invalid_parameter: 400,
  invalid_body: 400,
  invalid_id: 400,
  unknown_scorer: 400,
  cap_exceeded: 400,
  definition_invalid: 400,
  input_invalid: 400,
  judge_not_configured: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  already_applied: 409,
  fenced: 409,
  run_terminal: 409,
  not_started: 409,
  definition_conflict: 409,
  conflict: 409,
  limit_reached: 409,
  payload_too_large: 413,
  unsupported_content_encoding: 415,
  unsupported_media_type: 415,
  overloaded: 429,
  over_quota: 429,
  runs_disabled: 503,
  store_unavailable: 503,
  request_timeout: 503,
  internal: 500,
} as const satisfies Record<FailureCode, number>;

/** After this many seconds a store that failed may answer again. */
const STORE_RETRY_SECONDS = 5;

/**
 * A body that does not decode into the type of its endpoint. It is answered as text, not in the service's own shape.
 * @see Interface specification, "Errors"
 */
export class UndecodableBody extends Error {
  readonly status: 400 | 422;
  constructor(status: 400 | 422, message: string) {
    super(message);
    this.name = 'UndecodableBody';
    this.status = status;
  }
}

/** The body of a refusal. */
export const problemBody = (failure: Failure): { code: FailureCode; message: string; field?: string } => ({
  code: failure.code,
  message: failure.message,
  ...(failure.field === undefined ? {} : { field: failure.field }),
});

/** Answers a refusal: status, `Retry-After` and `WWW-Authenticate` where they belong, and the JSON shape. */
export const sendFailure = (reply: FastifyReply, failure: Failure): FastifyReply => {
  if (failure.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
  if (failure.retryAfterSeconds !== undefined)
    reply.header('retry-after', String(Math.ceil(failure.retryAfterSeconds)));
  return reply
    .code(statusOf[failure.code])
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify(problemBody(failure)))); // bytes: to a text the framework adds a charset, which JSON has none of
};

const codeOf = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;

/** What the HTTP layer below us refuses by itself, in our words. */
const frameworkFailure = (error: unknown): Failure | undefined => {
  switch (codeOf(error)) {
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return { code: 'invalid_parameter', message: 'the path is not a valid URL path: check its percent-encoding' };
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return { code: 'unsupported_media_type', message: 'the content-type header is not a media type' };
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return { code: 'invalid_body', message: 'the connection ended before the body did' };
    default:
      return undefined;
  }
};

/**
 * Turns an error into the answer for its caller. An unexpected error becomes `internal`, and its text goes to the log alone.
 * @returns the refusal, or the plain text of a body that does not decode
 */
const failureOf = (error: unknown): Failure => {
  if (error instanceof Refusal) return error.failure;
  if (error instanceof StoreUnavailable)
    return { code: 'store_unavailable', message: error.message, retryAfterSeconds: STORE_RETRY_SECONDS };
  return (
    frameworkFailure(error) ?? {
      code: 'internal',
      message: 'the service failed at this request; its log tells why, by the x-request-id',
    }
  );
};

/** What an error is to its caller. Logs what is ours to mend. */
export const failureFor = (error: unknown, requestId: string, route: string, log: Logger): Failure => {
  const failure = failureOf(error);
  if (failure.code === 'internal') log.error({ err: error, request_id: requestId, route }, 'request failed');
  else if (failure.code === 'store_unavailable')
    log.warn({ err: error, request_id: requestId, route }, 'the store did not answer');
  return failure;
};

/** The one error handler: logs what is ours to mend, and answers. */
export const answerError = (
  error: unknown,
  requestId: string,
  route: string,
  reply: FastifyReply,
  log: Logger,
): FastifyReply =>
  error instanceof UndecodableBody
    ? reply.code(error.status).header('content-type', 'text/plain; charset=utf-8').send(error.message)
    : sendFailure(reply, failureFor(error, requestId, route, log));
