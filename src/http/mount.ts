import cors from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import type { ForeignPages } from './access/foreign-pages.ts';
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
const UNDER_PREFIX = /^\/v1\/api(?:[/?#]|$)/;
// Not imported: an import reads every name that `node:http` exports, and one of them loads all of fetch, 16 MiB.
const { METHODS, maxHeaderSize } = process.getBuiltinModule('node:http');
/** Every method that the parser reads; CONNECT asks for no path. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT');

const CORS_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'] as const;

/** What pages of other origins may do with the routes under the prefix. */
export type PageRules = {
  /** Origins whose pages may read; `*` is every one. */
  readonly origins: readonly string[];
  readonly mayCall: ForeignPages['mayCall'];
};

const answerNotFound = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  sendFailure(reply, {
    code: 'not_found',
    message: 'there is nothing at this path; /openapi.json lists what there is',
  });

/** The routes of one path by their methods; what takes GET takes HEAD. */
type RoutesOfPath = ReadonlyMap<string, Route>;

/** Where a route is mounted: at its path, and at the pages that are answered the same. */
const pathsOf = (route: Route): readonly string[] => [
  route.path,
  ...(apiOperations().get(route.operationId)?.pages ?? []).flatMap((page) => [`/${page}`, `/${page}/*`]),
];

const byPath = (routes: readonly Route[]): ReadonlyMap<string, RoutesOfPath> => {
  const paths = new Map<string, Map<string, Route>>();
  for (const route of routes)
    for (const path of pathsOf(route)) {
      const served = paths.get(path) ?? new Map<string, Route>();
      served.set(route.method, route);
      if (route.method === 'GET') served.set('HEAD', route);
      paths.set(path, served);
    }
  return paths;
};

/**
 * Refuses what no route serves, before its body is looked at: other methods of a path that is served, by name, and other paths. One tree holds
 * the paths: a route for each path and each of the thirty methods would take a third of a start.
 */
const refuseUnserved = (
  instance: FastifyInstance,
  paths: ReadonlyMap<string, RoutesOfPath>,
  isWithin: (url: string) => boolean,
): void => {
  const known = findMyWay({ maxParamLength: maxHeaderSize });
  for (const [path, served] of paths) known.on('GET', path, () => {}, [...served.keys()].toSorted().join(', '));
  instance.addHook('onRequest', async (request, reply) => {
    if (!request.is404 || !isWithin(request.url)) return;
    const allow = known.find('GET', request.url)?.store as string | undefined;
    if (allow === undefined) await answerNotFound(request, reply);
    else
      await sendFailure(reply.header('allow', allow), {
        code: 'method_not_allowed',
        message: `${request.method} is not served at this path; it takes ${allow}`,
      });
  });
};

const refusePreflight = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  sendFailure(reply, {
    code: 'forbidden',
    message:
      'pages of this origin may not call this: configure a key for its scope, or name the origin (--cors-origin)',
  });

/**
 * Lets pages of other origins read their answers, and answers their preflights. The methods that a preflight names are
 * remembered by the browser for the path, so none is named that the origin may not use there.
 */
const mountCors = async (
  api: FastifyInstance,
  paths: ReadonlyMap<string, RoutesOfPath>,
  { origins, mayCall }: PageRules,
): Promise<void> => {
  const origin = origins.includes('*') ? '*' : [...origins];
  await api.register(cors, {
    delegator: ({ method, headers, routeOptions }, done) => {
      const served = paths.get(routeOptions.url ?? '');
      const isCallable = (name: string): boolean => {
        const route = served?.get(name);
        return route === undefined || mayCall(route, headers.origin);
      };
      const asked = method === 'OPTIONS' ? (headers['access-control-request-method'] ?? 'GET') : method;
      done(null, {
        origin: isCallable(asked) ? origin : false,
        credentials: false,
        methods: CORS_METHODS.filter(isCallable),
        allowedHeaders: ['Authorization', 'X-Svc-Key', 'Content-Type', 'Last-Event-ID'],
        exposedHeaders: ['X-Request-Id', 'Retry-After'],
        maxAge: 600,
        strictPreflight: false,
      });
    },
  });
  for (const path of paths.keys())
    api.route({ method: 'OPTIONS', url: path.slice(CORS_PREFIX.length), handler: refusePreflight });
};

/** Mounts every route of the table at its path, and refuses what no route serves: other paths, and other methods of the same paths. */
export const mountRoutes = (
  app: FastifyInstance,
  routes: readonly Route[],
  pages: PageRules,
  serve: ServeRoute,
): void => {
  const operations = apiOperations();
  for (const method of ALL_METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const mount = (instance: FastifyInstance, mounted: readonly Route[], prefix: string): void => {
    for (const route of mounted) {
      const operation = operations.get(route.operationId);
      if (operation === undefined) throw new Error(`${route.operationId} is not in the document`);
      for (const path of pathsOf(route))
        instance.route({
          method: route.method,
          url: path.slice(prefix.length),
          handler: (request, reply) => serve(route, operation, request, reply),
        });
    }
  };

  const isUnderPrefix = ({ path }: Route): boolean => path.startsWith(`${CORS_PREFIX}/`);
  const ownRoutes = routes.filter((route) => !isUnderPrefix(route));
  refuseUnserved(app, byPath(ownRoutes), (url) => !UNDER_PREFIX.test(url));
  mount(app, ownRoutes, '');
  app.setNotFoundHandler(answerNotFound);
  app.register(
    async (api) => {
      const apiRoutes = routes.filter(isUnderPrefix);
      const paths = byPath(apiRoutes);
      await mountCors(api, paths, pages);
      // Behind CORS, so that pages of other origins may read these refusals, too.
      refuseUnserved(api, paths, () => true);
      mount(api, apiRoutes, CORS_PREFIX);
      api.setNotFoundHandler(answerNotFound);
    },
    { prefix: CORS_PREFIX },
  );
};
