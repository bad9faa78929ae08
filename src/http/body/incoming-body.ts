import type { FastifyRequest } from 'fastify';
import { discardRest, type IncomingBody } from '../../ingest/body.ts';
import type { IngestLimits } from '../../ingest/limits.ts';
import { sendContinue } from './continue.ts';

/** The body of a request that nobody has read yet. */
export const incomingBodyOf = (request: FastifyRequest): IncomingBody => {
  const length = request.headers['content-length'];
  const encoding = request.headers['content-encoding'];
  return {
    source: request.raw,
    begin: () => sendContinue(request.raw),
    ...(length === undefined ? {} : { contentLength: Number(length) }),
    ...(encoding === undefined ? {} : { contentEncoding: encoding }),
  };
};

/** What is still read of a refused request before its connection is cut, so that the answer arrives. */
const DISCARD_BODIES = 4;
const DISCARD_MS = 10_000;

/** Reads on what a refused request still sends, within bounds, so that its client sees the answer. */
export const discardBody = (request: FastifyRequest, limits: IngestLimits): void =>
  discardRest(request.raw, { maxBytes: DISCARD_BODIES * limits.maxBodyBytes, maxMs: DISCARD_MS });
