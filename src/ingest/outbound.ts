import { lookup as resolve } from 'node:dns';
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, type LookupFunction } from 'node:net';

// Not imported: an import reads every name that `node:http` exports, and one of them loads all of fetch, 16 MiB.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http');
const { Agent: HttpsAgent, request: httpsRequest } = process.getBuiltinModule('node:https');

/** Why a call out of the service brought no reply. */
export type OutboundReason =
  /** The target is, or resolves to, an address that nothing of ours may reach. */
  | 'blocked_address'
  /** The URL is not one of http or https. */
  | 'invalid_url'
  | 'timeout'
  /** The reply is longer than the caller takes; `status` says how it began. */
  | 'reply_too_large'
  /** The caller gave up, or the service stops. */
  | 'aborted'
  /** Refused, reset, unresolvable, or not HTTP; `message` has the system's code. */
  | 'network';

/** A call that failed before its reply was complete. The message names the origin at most: paths and headers may be secrets. */
export class OutboundError extends Error {
  readonly reason: OutboundReason;
  readonly status: number | undefined;
  constructor(reason: OutboundReason, message: string, options?: { cause?: unknown; status?: number }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OutboundError';
    this.reason = reason;
    this.status = options?.status;
  }
}

export type OutboundRequest = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** From the call to the last byte of the reply. */
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
  readonly signal?: AbortSignal;
};

export type OutboundReply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/**
 * Calls that the service makes to addresses its operator configured: forwarding, webhooks, the judge.
 *
 * Every address is checked at connect, after the name was resolved, so a name that changes its mind is caught.
 * Redirects are not followed: the reply is handed back as it is. Credentials go to the configured origin only.
 * @see Interface decisions, "3. Keys and scopes"
 */
export type Outbound = {
  /** @throws OutboundError */
  readonly post: (url: string, request: OutboundRequest) => Promise<OutboundReply>;
  /** Closes idle connections and cuts open ones. */
  readonly close: () => void;
};

const forbidden = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8], // unspecified, "this network"
  ['169.254.0.0', 16], // link-local, most clouds' metadata
  ['224.0.0.0', 4], // multicast
  ['255.255.255.255', 32], // broadcast
  ['100.100.100.200', 32], // Alibaba Cloud metadata
  ['192.0.0.192', 32], // Oracle Cloud metadata
  ['168.63.129.16', 32], // Azure platform
] as const)
  forbidden.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  ['::', 128], // unspecified
  ['fe80::', 10], // link-local
  ['ff00::', 8], // multicast
  ['fd00:ec2::', 32], // AWS metadata
  ['fd20:ce::254', 128], // Google Cloud metadata
] as const)
  forbidden.addSubnet(network, prefix, 'ipv6');

/** Prefixes behind which an IPv6 address carries an IPv4 one: translation, 6to4 (which carries it earlier), compatible. */
const carriedAddress = (address: string): string | undefined => {
  const groups = expandIpv6(address);
  if (groups === undefined) return undefined;
  const at =
    groups[0] === 0x2002
      ? 1
      : groups[0] === 0x64 && groups[1] === 0xff9b
        ? 6
        : groups.slice(0, 6).every((group) => group === 0)
          ? 6
          : undefined;
  if (at === undefined) return undefined;
  const [high, low] = [groups[at] ?? 0, groups[at + 1] ?? 0];
  // ::1 is loopback, not 0.0.0.1.
  if (at === 6 && high === 0 && groups[0] === 0 && low === 1) return undefined;
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
};

/** The eight groups of an IPv6 address, or `undefined` when it ends in dotted form. */
const expandIpv6 = (address: string): readonly number[] | undefined => {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  if (address.includes('.')) return undefined;
  const before = read(head);
  if (tail === undefined) return before;
  const after = read(tail);
  return [...before, ...Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => 0), ...after];
};

/**
 * True for link-local, metadata, multicast and unspecified addresses, also where an IPv6 address carries one. Loopback
 * and private addresses are allowed: receivers on the same machine or network are what these calls are mostly for.
 */
export const isBlockedAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 4) return forbidden.check(address, 'ipv4');
  if (family !== 6) return true;
  if (forbidden.check(address.split('%')[0] ?? address, 'ipv6')) return true;
  const carried = carriedAddress(address);
  return carried !== undefined && forbidden.check(carried, 'ipv4');
};

/** What a blocked address is, in a sentence about it. */
export const BLOCKED_ADDRESS = 'a link-local, metadata, multicast or unspecified address, which is never called';

/**
 * The address that is never called which a URL names as a number. Names are looked at when they are looked up; a literal is
 * connected to without that. The URL parser has already put it in its one spelling.
 */
export const blockedHostOf = ({ hostname }: URL): string | undefined => {
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  return isIP(host) !== 0 && isBlockedAddress(host) ? host : undefined;
};

const blocked = (host: string): OutboundError => new OutboundError('blocked_address', `${host} is ${BLOCKED_ADDRESS}`);

/** Resolves like the system does, and refuses a name as soon as one of its addresses is forbidden. */
const guardedLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '', 0);
    if (addresses.length === 0 || addresses.some(({ address }) => isBlockedAddress(address)))
      return callback(blocked(hostname), '', 0);
    if (options.all === true) return callback(null, addresses);
    const [first] = addresses;
    callback(null, first?.address ?? '', first?.family ?? 0);
  });
};

const asOutboundError = (error: unknown, origin: string): OutboundError => {
  if (error instanceof OutboundError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
  return new OutboundError('network', `${origin}: ${code}`, { cause: error });
};

/**
 * Makes a caller with its own connections.
 * @param maxConnections open at once, over all targets
 */
export const createOutbound = ({ maxConnections }: { readonly maxConnections: number }): Outbound => {
  const settings = {
    keepAlive: true,
    maxSockets: maxConnections,
    maxTotalSockets: maxConnections,
    lookup: guardedLookup,
  };
  const agents = { http: new HttpAgent(settings), https: new HttpsAgent(settings) };

  const post = (
    target: string,
    { headers, body, timeoutMs, maxReplyBytes, signal }: OutboundRequest,
  ): Promise<OutboundReply> => {
    const url = URL.parse(target);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
      return Promise.reject(new OutboundError('invalid_url', 'the target is not an http or https URL'));
    const host = blockedHostOf(url);
    if (host !== undefined) return Promise.reject(blocked(host));
    if (signal?.aborted === true) return Promise.reject(new OutboundError('aborted', `${url.origin}: given up`));
    const isSecure = url.protocol === 'https:';

    return new Promise((succeed, fail) => {
      const call = (isSecure ? httpsRequest : httpRequest)(url, {
        method: 'POST',
        agent: isSecure ? agents.https : agents.http,
        headers: { ...headers, 'content-length': body.byteLength },
      });
      const timer = setTimeout(() => {
        call.destroy(new OutboundError('timeout', `${url.origin}: no complete reply within ${timeoutMs} ms`));
      }, timeoutMs);
      const abort = (): void => {
        call.destroy(new OutboundError('aborted', `${url.origin}: given up`));
      };
      signal?.addEventListener('abort', abort, { once: true });
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const refuse = (error: unknown): void => {
        settle();
        fail(asOutboundError(error, url.origin));
      };
      call.on('error', refuse);
      call.on('response', (reply) => {
        const status = reply.statusCode ?? 0;
        const chunks: Buffer[] = [];
        let bytes = 0;
        reply.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= maxReplyBytes) {
            chunks.push(chunk);
            return;
          }
          refuse(
            new OutboundError('reply_too_large', `${url.origin}: the reply is over ${maxReplyBytes} bytes`, { status }),
          );
          call.destroy();
        });
        reply.on('end', () => {
          settle();
          succeed({ status, headers: reply.headers, body: Buffer.concat(chunks) });
        });
        reply.on('error', refuse);
        reply.on('close', () => refuse(new Error('the connection closed before the reply was complete')));
      });
      call.end(body);
    });
  };

  return {
    post,
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
};
