import { describe, expect, it } from 'vitest';
import { isForeignOrigin, isRebound } from '../../../src/http/access/origin.ts';

describe('a Host header on a connection that stayed on this machine', () => {
  it.each([
    'localhost:4317',
    'app.localhost',
    '127.0.0.1:4317',
    '[::1]:4317',
    '192.168.1.5',
    'mybox:4317',
    'host.docker.internal:4317',
    'nas.local',
    'obs.example.com:4317',
    'OBS.example.com.',
    undefined,
  ])('%s is good', (host) => expect(isRebound(host, new Set(['obs.example.com']))).toBe(false));
  it.each([
    'evil.example.com',
    'evil.example.com:4317',
    '127.0.0.1.nip.io',
    'localhost.evil.com',
    'obs.example.com.evil.com',
  ])('%s may be a page under a stranger’s name', (host) =>
    expect(isRebound(host, new Set(['obs.example.com']))).toBe(true),
  );
});

describe('an Origin header', () => {
  it.each([
    [undefined, 'localhost:4317', false],
    ['http://localhost:4317', 'localhost:4317', false],
    ['https://obs.example.com', 'obs.example.com', false],
    ['http://localhost:3000', 'localhost:4317', true],
    ['https://evil.example.com', 'localhost:4317', true],
    ['null', 'localhost:4317', true],
    ['http://localhost:4317', undefined, true],
  ])('%s to %s: foreign %s', (origin, host, foreign) => expect(isForeignOrigin(origin, host)).toBe(foreign));
});
