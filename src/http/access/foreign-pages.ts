import type { FastifyRequest } from 'fastify';
import type { Failure } from '../../model/failure.ts';
import type { Scope } from '../../model/scope.ts';
import { isEmptyBody, isJsonType, notJsonType } from '../body/json-body.ts';
import type { Route } from '../route.ts';
import type { ScopeDescription } from './auth.ts';
import { isForeignOrigin, isSentUnasked } from './origin.ts';

/** What pages of other origins may do through the browser of somebody who can reach the service. */
export type ForeignPages = {
  /** Why a request that such a page made is refused; nothing for any other request. */
  readonly findFailure: (route: Route, request: Pick<FastifyRequest, 'headers'>) => Failure | undefined;
  /** Whether pages of this origin may call the route: its preflight is answered, and its answers may be read. */
  readonly mayCall: (route: Pick<Route, 'method' | 'scope'>, origin: string | undefined) => boolean;
};

/**
 * Where no key guards a scope, a page of another origin must not write through a visitor's browser. The doors take no
 * body that a browser sends unasked; a client that sends JSON, NDJSON or protobuf may name any origin, because a page
 * that does so is asked about first, and no preflight of the doors is answered. Routes of the query API that write take
 * pages of the origins that the operator names, and `*` is not a name.
 *
 * What counts is the scope of the route and not the key of the request: a key that is not asked for proves nothing.
 * @param corsOrigins origins that may read the query API
 * @see Interface decisions, "12. Decided since", Origins
 */
export const createForeignPages = (
  scopes: readonly Pick<ScopeDescription, 'scope' | 'open'>[],
  corsOrigins: readonly string[],
): ForeignPages => {
  const guarded = new Set<Scope | 'open'>(scopes.filter(({ open }) => !open).map(({ scope }) => scope));
  const named = new Set(corsOrigins.filter((origin) => origin !== '*'));
  const mayCall: ForeignPages['mayCall'] = ({ method, scope }, origin) =>
    method === 'GET' || guarded.has(scope) || origin === undefined || named.has(origin);

  return {
    mayCall,
    findFailure: (route, { headers }) => {
      const { origin, host } = headers;
      if (!isForeignOrigin(origin, host)) return undefined;
      if (route.surface === 'ingest') {
        if (guarded.has(route.scope) || !isSentUnasked(headers['content-type'])) return undefined;
        return {
          code: 'forbidden',
          message:
            'a page of another origin can send this content type, and no ingest key is configured (--ingest-key): ' +
            'send the body with its content type, such as application/json',
        };
      }
      if (mayCall(route, origin)) return undefined;
      if (route.body !== undefined && !isEmptyBody(headers) && !isJsonType(headers['content-type'])) return notJsonType;
      return {
        code: 'forbidden',
        message:
          `pages of other origins may not write while no key guards the ${route.scope} scope: ` +
          `configure one (--${route.scope}-key), or name the origin (--cors-origin)`,
      };
    },
  };
};
