import { BlockList, isIP } from 'node:net';
import type { Scope } from '../../model/scope.ts';
import type { ScopeDescription } from './auth.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** An IPv4 address that arrived over an IPv6 socket, as the IPv4 address it is. */
export const plainAddress = (address: string): string =>
  /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address;

/** Asked of every request, and answered the same for nearly all of them. */
let lastAsked = { address: '', isLoopback: false };

export const isLoopbackAddress = (address: string): boolean => {
  if (address !== lastAsked.address) lastAsked = { address, isLoopback: isInLoopback(address) };
  return lastAsked.isLoopback;
};

const isInLoopback = (address: string): boolean => {
  const plain = plainAddress(address);
  const version = isIP(plain);
  return version !== 0 && loopback.check(plain, version === 4 ? 'ipv4' : 'ipv6');
};

/** Whether a bind address is reachable from this machine alone. */
export const isLoopbackHost = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || isLoopbackAddress(host.replace(/^\[|\]$/g, ''));

const exposure: Readonly<Record<Scope, { readonly what: string; readonly flags: string }>> = {
  ingest: { what: 'anyone who reaches it can write signals', flags: '--ingest-key' },
  read: { what: 'anyone who reaches it can read every stored prompt and answer', flags: '--read-key' },
  write: {
    what: 'anyone who reaches it can write scores, feedback, datasets and experiments',
    flags: '--write-key or --ingest-key',
  },
  admin: { what: 'anyone who reaches it can delete traces and read the audit log', flags: '--admin-key or --read-key' },
  execute: { what: 'anyone who reaches it can start, signal and cancel runs', flags: '--execute-key or --write-key' },
  worker: {
    what: 'anyone who reaches it can take steps of runs and answer them',
    flags: '--worker-key or --write-key',
  },
};

/**
 * One line a surface that is open to callers who should not reach it; none when only this machine can.
 * @param host the address the service binds
 * @param runs whether the runs surface is served at all
 * @see Interface specification, "Command-line surface"
 */
export const openSurfaceWarnings = (scopes: readonly ScopeDescription[], host: string, runs: boolean): string[] => {
  if (isLoopbackHost(host)) return [];
  return scopes
    .filter(({ scope, open }) => open && (runs || (scope !== 'execute' && scope !== 'worker')))
    .map(
      ({ scope }) => `the ${scope} surface is open on ${host}: ${exposure[scope].what}; set ${exposure[scope].flags}`,
    );
};
