import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createOutbound, isBlockedAddress, OutboundError } from '../../src/ingest/outbound.ts';
import { holdTimers } from '../held-timers.ts';
import { turn, until } from '../until.ts';
import type { OutboundReply, OutboundRequest } from '../../src/ingest/outbound.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const listening = async (listener: RequestListener): Promise<{ url: string; server: Server }> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, server };
};

const post = (url: string, over: Partial<OutboundRequest> = {}): Promise<OutboundReply> => {
  const outbound = createOutbound({ maxConnections: 2 });
  cleanups.push(() => outbound.close());
  const body = Buffer.from('{}');
  return outbound.post(url, { headers: {}, body, timeoutMs: 10_000, maxReplyBytes: 64, ...over });
};
const failure = async (call: Promise<unknown>): Promise<OutboundError> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OutboundError)) throw new Error('the call was expected to fail', { cause: error });
  return error;
};

describe('link-local, metadata, multicast and unspecified addresses are refused', () => {
  it.each([
    ...['169.254.169.254', '169.254.0.1', '0.0.0.0', '0.1.2.3', '224.0.0.1', '239.255.255.255', '255.255.255.255'],
    ...['100.100.100.200', '192.0.0.192', '168.63.129.16', '::', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'ff02::1'],
    ...['fd00:ec2::254', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::1'],
    ...['::a9fe:a9fe', 'not an address', ''],
  ])('%s', (address) => expect(isBlockedAddress(address)).toBe(true));
});

describe('loopback, private and public addresses are allowed', () => {
  it.each([
    ...['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '8.8.8.8', '223.255.255.255', '1.0.0.0'],
    ...['169.253.255.255', '169.255.0.0', '::1', 'fd12::1', 'fec0::1', '2001:db8::1', '::ffff:127.0.0.1'],
    ...['64:ff9b::808:808', '2002:808:808::1'],
  ])('%s', (address) => expect(isBlockedAddress(address)).toBe(false));
});

describe('a call out of the service', () => {
  it('posts the body with the headers and hands back status, headers and body', async () => {
    const { url } = await listening((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () =>
        response.writeHead(202, { 'x-a': 'b' }).end(`${request.method} ${String(request.headers['x-key'])} ${body}`),
      );
    });
    const reply = await post(url, { headers: { 'x-key': 'k' } });
    expect([reply.status, reply.headers['x-a'], reply.body.toString()]).toEqual([202, 'b', 'POST k {}']);
  });

  it.each([
    'http://169.254.169.254/latest/meta-data',
    'http://[fe80::1]/',
    'http://0/',
    'http://0.0.0.0:4317/',
    'http://2852039166/', // 169.254.169.254 as one number
    'http://0xa9fea9fe/',
    'http://[::ffff:169.254.169.254]/',
  ])('is never made to %s', async (url) => {
    expect((await failure(post(url))).reason).toBe('blocked_address');
  });

  it('resolves a name and connects to what it may reach', async () => {
    const { url } = await listening((_request, response) => response.end('ok'));
    expect((await post(url.replace('127.0.0.1', 'localhost'))).body.toString()).toBe('ok');
  });

  it.each(['file:///etc/passwd', 'gopher://x/', 'nonsense', ''])('is never made to %j', async (url) => {
    expect((await failure(post(url))).reason).toBe('invalid_url');
  });

  it('does not follow a redirect', async () => {
    let visits = 0;
    const { url: elsewhere } = await listening((_request, response) => {
      visits += 1;
      response.end();
    });
    const { url } = await listening((_request, response) => response.writeHead(307, { location: elsewhere }).end());
    expect((await post(url)).status).toBe(307);
    expect(visits).toBe(0);
  });

  it('takes a reply of the cap and refuses one byte more, telling the status', async () => {
    const { url } = await listening((request, response) => response.end('x'.repeat(Number(request.headers['x-size']))));
    expect((await post(url, { headers: { 'x-size': '64' } })).body).toHaveLength(64);
    const error = await failure(post(url, { headers: { 'x-size': '65' } }));
    expect([error.reason, error.status]).toEqual(['reply_too_large', 200]);
  });

  it('gives up a receiver that hangs, and one that drips', async () => {
    const deadline = holdTimers((ms) => ms === 9_999);
    let visits = 0;
    const hanging = await listening(() => void (visits += 1));
    const dripping = await listening((_request, response) => {
      visits += 1;
      for (let n = 0; n < 3; n += 1) response.write('a');
    });
    for (const { url } of [hanging, dripping]) {
      visits = 0;
      const failed = failure(post(url, { timeoutMs: 9_999, maxReplyBytes: 1e6 }));
      await until(() => visits === 1);
      // What arrives meanwhile does not set the deadline anew.
      for (let turns = 0; turns < 5; turns += 1) await turn();
      expect(deadline.armed()).toBe(1);
      deadline.fire();
      expect((await failed).reason).toBe('timeout');
    }
  });

  it('tells a reset, a reply cut short and a closed port by its origin alone', async () => {
    const resetting = await listening((request) => request.socket.destroy());
    const cut = await listening((_request, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('abc', () => response.destroy());
    });
    const closed = await listening(() => {});
    await new Promise((resolve) => closed.server.close(resolve));
    for (const { url } of [resetting, cut, closed]) {
      const error = await failure(post(url));
      expect(error.reason).toBe('network');
      expect(error.message).toContain(new URL(url).origin);
      expect(error.message).not.toContain('/hook');
    }
  });

  it('ends when its caller gives up, before or during it', async () => {
    const { url } = await listening(() => {});
    expect((await failure(post(url, { signal: AbortSignal.abort() }))).reason).toBe('aborted');
    const stop = new AbortController();
    const call = failure(post(url, { signal: stop.signal }));
    stop.abort();
    expect((await call).reason).toBe('aborted');
  });
});
