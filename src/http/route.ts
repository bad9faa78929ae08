import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ProjectReach, Scope } from '../model/scope.ts';

/** Who calls, decided once at the door from the presented key, the peer address and the route's scope. */
export type Caller = {
  /** First eight hex digits of the SHA-256 of the key; absent when no key was presented. */
  readonly keyFingerprint?: string;
  readonly scopes: readonly Scope[];
  readonly reach: ProjectReach;
  /** The person behind the key, from the audit subject header, when the peer may set it. */
  readonly subject?: string;
  readonly remoteAddress: string;
};

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
}

/**
 * One row of the only route table. `operationId` names the operation in `spec/openapi.yaml`, from which parameters and
 * body are validated; a route without a scope, or without an operation, does not start.
 */
export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** fastify's spelling: `/v1/api/traces/:trace_id`. */
  readonly path: string;
  readonly scope: Scope | 'open';
  readonly operationId: string;
  /** Decides CORS (query only), the body limit, the counters and the start warnings. */
  readonly surface: 'ingest' | 'query' | 'runs' | 'operations';
  /**
   * `json`: parsed and validated, refused in the service's own shape. `typed`: refused as the framework does, in plain
   * text. `raw`: the handler reads the stream itself. Absent: no body.
   */
  readonly body?: 'json' | 'typed' | 'raw';
  /** The operation recorded in the audit log, for a route that reads stored payloads. */
  readonly audit?: string;
  /** An event stream: exempt from the request deadline, bounded in number. */
  readonly streams?: boolean;
  /** A long poll: exempt from the request deadline in exchange for a hold of its own. */
  readonly holds?: boolean;
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => unknown;
};
