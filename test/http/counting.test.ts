import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { createConnectionErrorHandler } from '../../src/http/answer/connection-failure.ts';
import { createCounters } from '../../src/model/counters.ts';
import { anIngestDoor, type Service, type ServiceOptions, startService } from './service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

describe('counters of requests', () => {
  it('tell ingest and query requests apart, and count operations as neither', async () => {
    const { ask, counters } = await start({ moreRoutes: [anIngestDoor(() => ({}))] });
    await ask('/healthz');
    await ask('/v1/api/traces');
    await ask('/v1/api/traces?nope=1');
    await ask('/v1/ingest', { method: 'POST', body: '{}' });
    expect([counters.queryRequests, counters.ingestRequests]).toEqual([2, 1]);
  });

  it('do not take an answer of 4xx for a server error', async () => {
    const { ask, counters } = await start({ keys: { topLevel: { read: ['r'] } } });
    await ask('/v1/api/traces');
    await ask('/v1/api/traces?limit=0', { key: 'r' });
    await ask('/nothing');
    expect(counters.requestErrors).toBe(0);
  });

  it('count answers of 5xx that no route gave: a request that did not arrive in time', () => {
    const counters = createCounters();
    const answer = createConnectionErrorHandler(counters, pino({ level: 'silent' }));
    const written: string[] = [];
    const socket = { writable: true, write: (text: string) => written.push(text), destroySoon: () => {} } as never;
    answer(Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }) as never, socket);
    answer(Object.assign(new Error('what'), { code: 'HPE_INVALID_METHOD' }) as never, socket);
    expect(written.map((text) => text.slice(0, 12))).toEqual(['HTTP/1.1 503', 'HTTP/1.1 400']);
    expect(counters.requestErrors).toBe(1);
  });
});
