import { describe, expect, it } from 'vitest';
import { createAuthenticator, type KeyLists } from '../../../src/http/access/auth.ts';
import {
  isLoopbackAddress,
  isLoopbackHost,
  openSurfaceWarnings,
  plainAddress,
} from '../../../src/http/access/open-surfaces.ts';

const warnings = (keys: KeyLists, host = '0.0.0.0', runs = true): string[] =>
  openSurfaceWarnings(createAuthenticator({ topLevel: keys }).describeScopes(), host, runs);

describe('start warnings', () => {
  it('warns once per open surface on a non-loopback address, naming the flags to set', () => {
    const lines = warnings({});
    expect(lines).toHaveLength(6);
    for (const flag of ['--ingest-key', '--read-key', '--write-key', '--admin-key', '--execute-key', '--worker-key'])
      expect(lines.filter((line) => line.includes(flag)).length).toBeGreaterThan(0);
    expect(lines[1]).toBe(
      'the read surface is open on 0.0.0.0: anyone who reaches it can read every stored prompt and answer; set --read-key',
    );
  });
  it.each(['127.0.0.1', '127.8.9.1', '::1', '[::1]', 'localhost'])('says nothing when bound to %s', (host) =>
    expect(warnings({}, host)).toEqual([]),
  );
  it.each(['0.0.0.0', '::', '192.168.1.5', 'obs.example.com', '::ffff:10.0.0.1'])('warns when bound to %s', (host) =>
    expect(warnings({}, host)).not.toEqual([]),
  );
  it('names only what is open', () => {
    expect(warnings({ ingest: ['a'], read: ['b'] })).toEqual([]);
    expect(warnings({ ingest: ['a'] }).map((line) => line.split(' ')[1])).toEqual(['read', 'admin']);
  });
  it('leaves the runs surface out when runs are off', () => expect(warnings({}, '0.0.0.0', false)).toHaveLength(4));
});

describe('addresses', () => {
  it('reads an IPv4 address off an IPv6 socket', () => {
    expect(plainAddress('::ffff:127.0.0.1')).toBe('127.0.0.1');
    expect(plainAddress('2001:db8::1')).toBe('2001:db8::1');
  });
  it('knows this machine’s own addresses', () => {
    expect(isLoopbackAddress('::ffff:127.0.0.1')).toBe(true);
    expect(isLoopbackAddress('10.0.0.1')).toBe(false);
    expect(isLoopbackAddress('')).toBe(false);
    expect(isLoopbackHost('LOCALHOST')).toBe(true);
  });
});
