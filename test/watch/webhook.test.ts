import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { WatchReport } from '../../src/watch/report.ts';
import { createWebhooks } from '../../src/watch/webhook.ts';
import { holdTimers } from '../held-timers.ts';
import { until } from '../until.ts';
import { aMonitor, createLog, createWatchHarness, settle } from './watch-harness.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const SECRET = 'T0PS3CRET';
const receiver = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return `http://user:${SECRET}@127.0.0.1:${(server.address() as AddressInfo).port}/services/${SECRET}?token=${SECRET}`;
};

const aReport = (given: Partial<WatchReport> = {}): WatchReport => ({
  type: 'monitor',
  id: 'errors',
  name: 'Errors',
  project: 'shop',
  condition: 'tripped',
  watch: 'error_rate',
  threshold: 0.1,
  value: 0.3,
  samples: 100,
  detail: 'error_rate is 0.3',
  at: Date.parse('2026-11-20T09:00:00.123Z'),
  ...given,
});

/** A length that no other timer of the process has. */
const TIMEOUT_MS = 9_999;
const start = () => {
  const { log, lines } = createLog();
  const webhooks = createWebhooks(log, { timeoutMs: TIMEOUT_MS });
  cleanups.push(() => webhooks.close());
  return { webhooks, lines };
};
const originOf = (url: string) => new URL(url).origin;

describe('a webhook', () => {
  it('is one POST of JSON with the fields of the specification', async () => {
    const got: unknown[] = [];
    const url = await receiver((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        got.push([request.method, request.url, request.headers['content-type'], JSON.parse(body)]);
        response.writeHead(204).end();
      });
    });
    const { webhooks, lines } = start();
    webhooks.send(url, aReport());
    await webhooks.idle();
    expect(got).toEqual([
      [
        'POST',
        `/services/${SECRET}?token=${SECRET}`,
        'application/json',
        {
          monitor_id: 'errors',
          name: 'Errors',
          project: 'shop',
          condition: 'tripped',
          watch: 'error_rate',
          threshold: 0.1,
          value: 0.3,
          samples: 100,
          detail: 'error_rate is 0.3',
          at: '2026-11-20T09:00:00.123Z',
        },
      ],
    ]);
    expect(lines).toEqual([]);
  });

  let visits = 0;
  it.each([
    ['hangs', 'timeout', () => {}],
    [
      'drips',
      'timeout',
      (_request, response) => {
        for (let n = 0; n < 3; n += 1) response.write('a');
      },
    ],
    ['redirects', 'status', (_request, response) => void response.writeHead(307, { location: '/elsewhere' }).end()],
    ['resets', 'network', (request) => void request.socket.destroy()],
    ['answers hugely', 'reply_too_large', (_request, response) => void response.end('x'.repeat(65_537))],
    ['refuses', 'status', (_request, response) => void response.writeHead(500).end()],
  ] as const satisfies readonly (readonly [string, string, RequestListener])[])(
    'that %s is tried once, logged by its origin alone and dropped',
    async (_name, reason, listener) => {
      visits = 0;
      const url = await receiver((request, response) => {
        visits += 1;
        listener(request, response);
      });
      const deadline = holdTimers((ms) => ms === TIMEOUT_MS);
      const { webhooks, lines } = start();
      webhooks.send(url, aReport());
      if (reason === 'timeout') {
        await until(() => visits === 1);
        await settle();
        expect(deadline.armed()).toBe(1);
        deadline.fire();
      }
      await webhooks.idle();
      expect(lines).toMatchObject([
        {
          level: 'warn',
          message: 'a webhook was not delivered; it is dropped',
          fields: { monitor_id: 'errors', project: 'shop', condition: 'tripped', origin: originOf(url), reason },
        },
      ]);
      expect(JSON.stringify(lines)).not.toContain(SECRET);
      expect(visits).toBe(1);
    },
  );

  it('to a closed port or a forbidden address is dropped the same way', async () => {
    const { webhooks, lines } = start();
    webhooks.send(`http://127.0.0.1:1/${SECRET}`, aReport());
    webhooks.send(`http://169.254.169.254/${SECRET}`, aReport({ type: 'slo', id: 'works' }));
    await webhooks.idle();
    expect(new Map(lines.map(({ fields }) => [fields['origin'], fields['reason']]))).toEqual(
      new Map([
        ['http://169.254.169.254', 'blocked_address'],
        ['http://127.0.0.1:1', 'network'],
      ]),
    );
    expect(JSON.stringify(lines)).not.toContain(SECRET);
  });

  it('that hangs holds up no other receiver', async () => {
    const hanging = await receiver(() => {});
    let heard = 0;
    const good = await receiver((_request, response) => {
      heard += 1;
      response.end();
    });
    const { webhooks } = start();
    for (let n = 0; n < 50; n += 1) webhooks.send(hanging, aReport());
    for (let n = 0; n < 3; n += 1) webhooks.send(good, aReport());
    await until(() => heard === 3);
    expect(heard).toBe(3);
  });

  it('has a bound on what waits for it: 1,000 beside the 4 under way, and what is beyond is dropped', async () => {
    const url = await receiver(() => {});
    const { webhooks, lines } = start();
    for (let n = 0; n < 1_004; n += 1) webhooks.send(url, aReport());
    expect(lines).toEqual([]);
    webhooks.send(url, aReport());
    expect(lines.map(({ fields }) => fields['reason'])).toEqual(['overloaded']);
  });

  it('does not hold up a stop', async () => {
    const url = await receiver(() => {});
    const { webhooks, lines } = start();
    holdTimers((ms) => ms === TIMEOUT_MS); // were one of them waited for, the close would never end
    for (let n = 0; n < 20; n += 1) webhooks.send(url, aReport());
    await settle();
    await webhooks.close();
    expect(new Set(lines.map(({ fields }) => fields['reason']))).toEqual(new Set(['aborted']));
    expect(lines).toHaveLength(20);
  });
});

describe('P29: a receiver that hangs, drips, redirects, resets', () => {
  it('200 times does not move the evaluation period: every minute has its evaluation, each transition one attempt', async () => {
    let hanging = 0;
    const hang: RequestListener = (_request, response) => {
      hanging += 1;
      response.on('close', () => {
        hanging -= 1;
      });
    };
    const behaviours: RequestListener[] = [
      hang,
      (request, response) => {
        hang(request, response);
        response.write('a');
      },
      (_request, response) => void response.writeHead(302, { location: '/' }).end(),
      (request) => void request.socket.destroy(),
    ];
    let visits = 0;
    const url = await receiver((request, response) => {
      visits += 1;
      behaviours[visits % behaviours.length]?.(request, response);
    });
    const deadline = holdTimers((ms) => ms === TIMEOUT_MS);
    const { webhooks, lines } = start();
    const harness = createWatchHarness({ monitors: [aMonitor({ webhook: url })], webhooks });
    harness.watchers.start();
    for (let minute = 0; minute < 200; minute += 1) {
      harness.now.failed = minute % 2 === 0 ? 50 : 0;
      harness.time.advance(minute === 0 ? 0 : 60_000);
      await settle(3);
      const history = harness.watchers.monitors.history('errors', 1000);
      expect([history.length, history[0]?.at]).toEqual([minute + 1, harness.time.now()]);
    }
    await until(() => {
      // Those under way have all been heard, and none of them will end by itself.
      if (hanging > 0 && deadline.armed() === hanging) deadline.fire();
      return lines.length === 200;
    });
    await webhooks.idle();
    expect(lines).toHaveLength(200);
    expect(visits).toBe(200); // none is tried twice
    expect(JSON.stringify([lines, harness.lines])).not.toContain(SECRET);
  });
});
