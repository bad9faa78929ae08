import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Refusal } from '../../model/failure.ts';
import { millisFromUnixNano, type UnixNano } from '../../model/time.ts';
import type { Caller, Route } from '../route.ts';
import type { WriteAudit } from './audit-rows.ts';
import { type Authenticator, readPresentedKey } from './auth.ts';
import { createFailureLimit } from './failure-limit.ts';
import type { ForeignPages } from './foreign-pages.ts';
import { isLoopbackAddress, plainAddress } from './open-surfaces.ts';
import { isRebound } from './origin.ts';
import { readSubject, type TrustedRanges } from './peer.ts';

export type AccessOptions = {
  /** The header that names the person behind a request, lower case. */
  readonly auditSubjectHeader: string;
  /** From where that header is believed. */
  readonly auditTrustedRanges: TrustedRanges;
  /** The project of a request that names none. */
  readonly defaultProject: string;
  /** Host names under which this machine is reached over its loopback, beside addresses and local names; lower case. */
  readonly allowedHosts?: readonly string[];
  /** Who called another service that passed the request on: it decided who that is. @throws Refusal `unauthorized`, `forbidden` */
  readonly callerOf?: (route: Route, request: FastifyRequest) => Caller | undefined;
};

/** Who may call. */
export type Access = {
  /**
   * Decides who calls, and whether that caller may use the route. Sets `request.caller`, and `request.audit` to the project
   * that the request names.
   * @throws Refusal `unauthorized`, `forbidden`, `overloaded`; a refused read is in the audit log
   */
  readonly admit: (route: Route, request: FastifyRequest) => Promise<void>;
  /** Counts a failed authentication. @throws Refusal `overloaded` when the peer has failed too often */
  readonly countFailure: (remoteAddress: string) => void;
};

export const createAccess = (
  authenticator: Authenticator,
  foreignPages: ForeignPages,
  writeAudit: WriteAudit,
  log: Logger,
  clock: () => UnixNano,
  options: AccessOptions,
): Access => {
  const failureLimit = createFailureLimit();
  const allowedHosts = new Set(options.allowedHosts);

  const askedProject = (request: FastifyRequest): string => {
    const asked = (request.query as Record<string, unknown>)['project'];
    return typeof asked === 'string' && asked !== '' ? asked.slice(0, 256) : options.defaultProject;
  };

  const countFailure = (remoteAddress: string): void => {
    if (failureLimit.allow(remoteAddress, millisFromUnixNano(clock()))) return;
    throw new Refusal({
      code: 'overloaded',
      message: 'too many requests of this address failed to authenticate within a second',
      retryAfterSeconds: 1,
    });
  };

  const passedBy = (route: Route, request: FastifyRequest): Caller | undefined => {
    try {
      return options.callerOf?.(route, request);
    } catch (error) {
      if (error instanceof Refusal && error.failure.code === 'unauthorized')
        countFailure(plainAddress(request.socket.remoteAddress ?? ''));
      throw error;
    }
  };

  /** Asked only for the audit row of a refused read; a failure here must not change the refusal. */
  const ownerOf = async (route: Route, request: FastifyRequest): Promise<string | undefined> => {
    try {
      return await route.ownerOf?.(request);
    } catch (error) {
      log.warn({ err: error, operation: route.operationId }, 'the owner of a refused read could not be found');
      return undefined;
    }
  };

  /**
   * Without a key, over the loopback, only this machine's own programs may call: not a page that a browser on it has open
   * under a stranger's name.
   */
  const refuseReboundPage = (route: Route, request: FastifyRequest): void => {
    if (!isLoopbackAddress(request.socket.localAddress ?? '') || !isRebound(request.headers.host, allowedHosts)) return;
    if (route.audit !== undefined) writeAudit(request, route.audit, 'refused');
    throw new Refusal({
      code: 'forbidden',
      message:
        'this Host is not a name of this machine, and no key guards what was asked for: ' +
        'use localhost or an address, or configure a key for this scope',
    });
  };

  const refuseForeignPage = (route: Route, request: FastifyRequest): void => {
    const failure = foreignPages.findFailure(route, request);
    if (failure === undefined) return;
    if (route.audit !== undefined) writeAudit(request, route.audit, 'refused');
    throw new Refusal(failure);
  };

  const identify = async (route: Route, request: FastifyRequest): Promise<void> => {
    const remoteAddress = plainAddress(request.socket.remoteAddress ?? '');
    const subject = options.auditTrustedRanges.includes(remoteAddress)
      ? readSubject(request.headers[options.auditSubjectHeader])
      : undefined;
    const peer = { remoteAddress, ...(subject === undefined ? {} : { subject }) };
    request.audit = { projects: [askedProject(request)], resource: request.url.split('?', 1)[0] ?? '' };
    if (route.scope === 'open') {
      request.caller = { scopes: [], reach: [], ...peer };
      if (route.surface === 'operations') return;
      const identity = authenticator.identify(readPresentedKey(request.raw.rawHeaders));
      if (identity.kind === 'allowed' && identity.keyFingerprint === undefined) refuseReboundPage(route, request);
      return;
    }
    const decision = authenticator.authorize(route.scope, readPresentedKey(request.raw.rawHeaders));
    if (decision.kind === 'allowed') {
      const { scopes, reach, keyFingerprint } = decision;
      request.caller = { scopes, reach, ...(keyFingerprint === undefined ? {} : { keyFingerprint }), ...peer };
      if (keyFingerprint === undefined) refuseReboundPage(route, request);
      return;
    }
    const { failure, keyFingerprint } = decision;
    request.caller = { scopes: [], reach: [], ...(keyFingerprint === undefined ? {} : { keyFingerprint }), ...peer };
    if (failure.code === 'unauthorized') countFailure(remoteAddress);
    if (route.audit !== undefined) {
      const owner = failure.code === 'forbidden' ? await ownerOf(route, request) : undefined;
      if (owner !== undefined) request.audit.projects = [owner];
      writeAudit(request, route.audit, 'refused');
    }
    throw new Refusal(failure);
  };

  return {
    admit: async (route, request) => {
      const passedFor = passedBy(route, request);
      if (passedFor !== undefined) {
        request.audit = { projects: [askedProject(request)], resource: request.url.split('?', 1)[0] ?? '' };
        request.caller = passedFor;
        return;
      }
      await identify(route, request);
      refuseForeignPage(route, request);
    },
    countFailure,
  };
};
