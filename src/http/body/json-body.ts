import type { FastifyRequest } from 'fastify';
import type { Admission } from '../../ingest/admission.ts';
import { checkBodyHeaders, readBody } from '../../ingest/body.ts';
import type { IngestLimits } from '../../ingest/limits.ts';
import { mostWork } from '../../ingest/work.ts';
import { type Failure, Refusal } from '../../model/failure.ts';
import type { CompiledOperation } from '../contract/contract.ts';
import { discardBody, incomingBodyOf } from './incoming-body.ts';
import { parseBody } from './parse-body.ts';
import { UndecodableBody } from '../answer/problem.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** How much work may be made of its JSON body, in nanoseconds, for who stores a text in a dearer way than a payload. */
    mostWork: number;
  }
}

/** What bodies of the query API are read with: the bounds and the memory that the ingest doors have. */
export type BodyReading = { readonly limits: IngestLimits; readonly admission: Admission };

/** The same reading under a bound of one route's own. */
export const boundedBy = (reading: BodyReading, maxBodyBytes: number | undefined): BodyReading =>
  maxBodyBytes === undefined
    ? reading
    : {
        ...reading,
        limits: { ...reading.limits, maxBodyBytes, maxInflatedBytes: maxBodyBytes, fixed: true },
      };

/** Exactly this type, and parameters: a looser reading than that of a proxy in front would be a way around it. */
const JSON_TYPE = /^application\/json\s*(;|$)/i;

export const isJsonType = (contentType: string | undefined): boolean =>
  contentType !== undefined && JSON_TYPE.test(contentType);

export const notJsonType: Failure = {
  code: 'unsupported_media_type',
  message: 'this call takes JSON alone: send it with "content-type: application/json"',
};

export const isEmptyBody = (headers: FastifyRequest['headers']): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';

/**
 * Reads, parses and checks the JSON body of a request.
 * @param kind whose shape a refusal has: the service's own (`json`) or the framework's plain text (`typed`)
 * @returns `undefined` where there is no body and none is required
 * @throws Refusal `unsupported_media_type`, `unsupported_content_encoding`, `payload_too_large`, `invalid_body`,
 * `invalid_parameter`; UndecodableBody
 */
export const readJsonBody = async (
  request: FastifyRequest,
  operation: CompiledOperation,
  kind: 'json' | 'typed',
  { limits, admission }: BodyReading,
): Promise<unknown> => {
  if (isEmptyBody(request.headers)) {
    if (!operation.bodyRequired) return undefined;
    if (kind === 'typed') throw new UndecodableBody(400, 'the request body is not JSON: it is empty');
    throw new Refusal({ code: 'invalid_body', message: 'this call needs a JSON body' });
  }
  if (!isJsonType(request.headers['content-type'])) throw new Refusal(notJsonType);

  const body = incomingBodyOf(request);
  checkBodyHeaders(body, limits);
  const reservation = admission.enter(body.contentLength);
  try {
    const bytes = await readBody(body, limits, reservation, request.abandoned).catch((error: unknown) => {
      discardBody(request, limits);
      throw error;
    });
    const receivedBytes = reservation.received();
    request.mostWork = mostWork(receivedBytes, limits.maxSignals);
    let parsed: unknown;
    try {
      parsed = parseBody(bytes, receivedBytes, request.mostWork);
    } catch (error) {
      if (kind === 'typed' && error instanceof Refusal && error.failure.code === 'invalid_body')
        throw new UndecodableBody(400, `the request body is not JSON: ${error.failure.message}`);
      throw error;
    }
    if (kind === 'typed') operation.checkTyped(parsed);
    else operation.checkJson(parsed);
    return parsed;
  } finally {
    reservation.release();
  }
};
