import cors from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendFailure } from './answer/problem.ts';
import { apiOperations, type CompiledOperation } from './contract/contract.ts';
import type { Route } from './route.ts';

/** Serves one request of a route that is mounted. */
export type ServeRoute = (
  route: Route,
  operation: CompiledOperation,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<unknown>;

/** Under this prefix pages of other origins may read. */
const CORS_PREFIX = '/v1/api';
const ALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const answerNotFound = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  sendFailure(reply, {
    code: 'not_found',
    message: 'there is nothing at this path; /openapi.json lists what there is',
  });

/** Methods that a path is not served with are refused by name; a preflight under the prefix belongs to CORS. */
const mountRefusals = (instance: FastifyInstance, mounted: readonly Route[], prefix: string): void => {
  const methods = new Map<string, Set<string>>();
  for (const route of mounted) {
    const served = methods.get(route.path) ?? new Set();
    served.add(route.method);
    if (route.method === 'GET') served.add('HEAD');
    methods.set(route.path, served);
  }
  for (const [path, served] of methods) {
    const allow = [...served].toSorted().join(', ');
    const others = ALL_METHODS.filter((method) => !served.has(method) && !(prefix !== '' && method === 'OPTIONS'));
    instance.route({
      method: others,
      url: path.slice(prefix.length),
      handler: (request, reply) =>
        sendFailure(reply.header('allow', allow), {
          code: 'method_not_allowed',
          message: `${request.method} is not served at this path; it takes ${allow}`,
        }),
    });
  }
};

/** Mounts every route of the table at its path, and refuses what no route serves: other paths, and other methods of the same paths. */
export const mountRoutes = (
  app: FastifyInstance,
  routes: readonly Route[],
  corsOrigins: readonly string[],
  serve: ServeRoute,
): void => {
  const operations = apiOperations();
  const mount = (instance: FastifyInstance, mounted: readonly Route[], prefix: string): void => {
    for (const route of mounted) {
      const operation = operations.get(route.operationId);
      if (operation === undefined) throw new Error(`${route.operationId} is not in the document`);
      instance.route({
        method: route.method,
        url: route.path.slice(prefix.length),
        handler: (request, reply) => serve(route, operation, request, reply),
      });
    }
    mountRefusals(instance, mounted, prefix);
  };

  const isUnderPrefix = ({ path }: Route): boolean => path.startsWith(`${CORS_PREFIX}/`);
  mount(
    app,
    routes.filter((route) => !isUnderPrefix(route)),
    '',
  );
  app.setNotFoundHandler(answerNotFound);
  app.register(
    async (api) => {
      await api.register(cors, {
        origin: corsOrigins.includes('*') ? '*' : [...corsOrigins],
        credentials: false,
        methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
        allowedHeaders: ['Authorization', 'X-Svc-Key', 'Content-Type', 'Last-Event-ID'],
        exposedHeaders: ['X-Request-Id', 'Retry-After'],
        maxAge: 600,
        strictPreflight: false,
      });
      mount(api, routes.filter(isUnderPrefix), CORS_PREFIX);
      // A handler of its own, so that pages of other origins may read this refusal, too.
      api.setNotFoundHandler(answerNotFound);
    },
    { prefix: CORS_PREFIX },
  );
};
