import { afterEach, describe, expect, it } from 'vitest';
import { accepts, chooseCoding } from '../../../src/http/answer/negotiation.ts';
import { type Service, type ServiceOptions, startService } from '../service.ts';

describe('content coding', () => {
  it.each([
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['zstd;q=0, br;q=0.0, gzip;q=0.5', 'gzip'],
    ['*', 'zstd'],
    ['*;q=0', undefined],
    ['identity', undefined],
    ['deflate', undefined],
    ['', undefined],
    ['gzip;q=nonsense', undefined],
    [undefined, undefined],
  ])('Accept-Encoding: %s chooses %s', (header, coding) => expect(chooseCoding(header)).toBe(coding));
});

describe('media types', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['*/*', true],
    ['application/json', true],
    ['APPLICATION/JSON', true],
    ['application/*;q=0.1', true],
    ['text/html', false],
    ['application/json;q=0', false],
    ['application/json;q=0, */*', false],
  ])('Accept: %s takes JSON: %s', (header, taken) => expect(accepts(header, ['application/json'])).toBe(taken));
});

describe('media types over HTTP', () => {
  const running: Service[] = [];
  const start = async (options: ServiceOptions = {}): Promise<Service> => {
    const service = await startService(options);
    running.push(service);
    return service;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((service) => service.close()));
  });

  it.each([
    ['text/html', 406],
    ['application/json;q=0, text/plain', 406],
    ['text/event-stream', 406],
    ['application/json', 200],
    ['text/html, */*;q=0.1', 200],
    ['application/*', 200],
  ])('with Accept: %s a list answers %d', async (accept, status) => {
    const { ask } = await start();
    const answer = await ask('/v1/api/traces', { headers: { accept } });
    expect(answer.status).toBe(status);
    if (status === 406) expect(answer.body.code).toBe('not_acceptable');
  });

  it('the operational endpoints answer whatever the client accepts', async () => {
    const { ask } = await start();
    expect((await ask('/healthz', { headers: { accept: 'text/html' } })).status).toBe(200);
  });
});
