import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ProjectReach, Scope } from '../model/scope.ts';
import type { AnswerShare } from './answer/answer-room.ts';

/** The caller, decided once from the presented key, the peer address and the route's scope. */
export type Caller = {
  /** First eight hex digits of the SHA-256 of the key; absent when no known key was presented. */
  readonly keyFingerprint?: string;
  readonly scopes: readonly Scope[];
  readonly reach: ProjectReach;
  /** The person behind the key, from the audit subject header, when the peer may set it. */
  readonly subject?: string;
  readonly remoteAddress: string;
};

/** The content of a request's audit row. It starts with the path and the asked project; the handler adds what it finds. */
export type AuditNote = {
  /** Projects of what was read, one row each; `*` is all of them. */
  projects: readonly string[];
  resource: string;
};

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
    audit: AuditNote;
    /** The share of its answer in the bytes that may be under way. */
    answer: AnswerShare;
    /** Aborted when nobody waits for the answer any more: the deadline has passed, or the client has gone. */
    abandoned: AbortSignal;
    /** Of a route that holds or waits: aborted when it is to answer at once, because the client has gone or the service stops. */
    released: AbortSignal;
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
  /** Decides CORS (query and runs), the body limit, the counters and the start warnings. */
  readonly surface: 'ingest' | 'query' | 'runs' | 'operations';
  /**
   * `json`: parsed and validated, refused in the service's own shape. `typed`: refused as the framework does, in plain
   * text. `raw`: the handler reads `request.raw` itself. Absent: no body.
   */
  readonly body?: 'json' | 'typed' | 'raw';
  /** Bound of that body as received and as inflated, where it is not that of the ingest doors. */
  readonly maxBodyBytes?: number;
  /** The operation recorded in the audit log, for a route that reads stored payloads. */
  readonly audit?: string;
  /**
   * The project that owns the stored object a request names, for the audit row of a read that was refused before the handler
   * could look. Called only for known keys, so that guesses of strangers cost no read of the store.
   */
  readonly ownerOf?: (request: FastifyRequest) => Promise<string | undefined>;
  /** Answers a client that asks for an event stream with one. A stream has no request deadline; their number is bounded. */
  readonly streams?: boolean;
  /** A long poll: exempt from the request deadline in exchange for a hold of its own. */
  readonly holds?: boolean;
  /**
   * Is answered however much is under way: what an operator looks at in trouble, and what reads no store. Routes of the surface
   * `operations` always are.
   */
  readonly neverRefused?: boolean;
  /** Is answered by the service that owns the runs; of several on one database another passes it on. */
  readonly atOwner?: boolean;
  /** May wait for something before it answers, for less than the request deadline. */
  readonly waits?: boolean;
  /**
   * Answers by returning an object (sent as JSON; set another status by `reply.code` before), or by sending itself and
   * returning `reply`. Refuses by throwing a `Refusal`.
   */
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => unknown;
};
