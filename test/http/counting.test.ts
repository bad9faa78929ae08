import { afterEach, describe, expect, it } from 'vitest';
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
});
