import { describe, expect, it } from 'vitest';
import { listenHost } from '../../src/cli/listen-host.ts';

describe('the address to listen on', () => {
  it.each(['localhost', 'LocalHost'])('is one for %s, so that there is one server', async (host) => {
    const both = async () => [{ address: '127.0.0.1' }, { address: '::1' }];
    expect(await listenHost(host, both)).toBe('127.0.0.1');
    expect(await listenHost(host)).toMatch(/^(?:127\.0\.0\.1|::1)$/);
  });

  it.each(['127.0.0.1', '::1', '0.0.0.0', 'example.test'])('is %s as it was given', async (host) => {
    expect(await listenHost(host, () => Promise.reject(new Error('nobody looks')))).toBe(host);
  });
});
