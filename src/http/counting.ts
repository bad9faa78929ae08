import type { FastifyInstance } from 'fastify';
import type { Counters } from '../model/counters.ts';
import type { Route } from './route.ts';

/** Counts a request by the surface that it asks for. The operator's own probes are not counted. */
export const countRequest = (counters: Counters, surface: Route['surface']): void => {
  if (surface === 'ingest') counters.ingestRequests += 1;
  else if (surface !== 'operations') counters.queryRequests += 1;
};

/** Counts an answer that says the service failed. */
export const countServerError = (counters: Counters, status: number): void => {
  if (status >= 500) counters.requestErrors += 1;
};

/** Counts every such answer that a route gives. */
export const countServerErrors = (app: FastifyInstance, counters: Counters): void => {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    countServerError(counters, reply.statusCode);
    done();
  });
};
