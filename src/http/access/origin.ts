import { isIP } from 'node:net';

/** The host name of a Host header, lower case, without port and brackets. */
const hostNameOf = (host: string): string => {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(host);
  return (bracketed?.[1] ?? host.replace(/:\d*$/, '')).toLowerCase().replace(/\.$/, '');
};

/** Names that no public name server answers for, so that no stranger's page can be served under them. */
const RESERVED = /(^|\.)(localhost|local|internal|test|home\.arpa)$/;

/**
 * Whether a Host header may come from a page that had its own name resolved to this machine (DNS rebinding): a public
 * looking name on a connection that never left the machine. Addresses, `localhost`, names without a dot and reserved names
 * cannot be had by a stranger. It is asked only where no key guards the data; behind a proxy on the same machine that
 * passes its public name on, the name is allowed by the operator.
 * @param allowed host names that the operator expects, lower case
 */
export const isRebound = (host: string | undefined, allowed: ReadonlySet<string>): boolean => {
  if (host === undefined) return false; // HTTP/1.0 and tools; a browser always sends it
  const name = hostNameOf(host);
  if (isIP(name) !== 0 || !name.includes('.') || RESERVED.test(name)) return false;
  return !allowed.has(name);
};

/**
 * Whether a request was made by a page of another origin than the service's own. Programs may send an Origin too: what it
 * means is decided in `foreign-pages.ts`.
 * @param origin the Origin header
 */
export const isForeignOrigin = (origin: string | undefined, host: string | undefined): boolean => {
  if (origin === undefined) return false;
  return host === undefined || origin.toLowerCase().replace(/^https?:\/\//, '') !== host.toLowerCase();
};

/** Types of a body that a browser sends to another origin without asking first. @see Fetch standard, "CORS-safelisted request-header" */
const SENT_UNASKED = /^(?:text\/plain|application\/x-www-form-urlencoded|multipart\/.*)?$/;

/** Whether a page of another origin can send a body of this type without a preflight; none at all is such a type. */
export const isSentUnasked = (contentType: string | undefined): boolean =>
  SENT_UNASKED.test((contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '');
