import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { rawRequest, type Service, type ServiceOptions, startService } from '../service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

describe('a refused upload', () => {
  const piece = Buffer.alloc(64 * 1024, 32);
  const large = Buffer.alloc(16 * 1024 * 1024, 32);
  it.each([
    ['without a key', 401, undefined, () => large],
    ['over the bound, as its header says', 413, 'writer', () => large],
    ['over the bound, as it turns out', 413, 'writer', () => Readable.from(Array.from({ length: 48 }, () => piece))],
  ] as const)('%s gets its answer, and holds up no stop', async (_name, status, key, body) => {
    const { url } = await start({ keys: { topLevel: { write: ['writer'] } }, maxBodyBytes: 1024 * 1024 });
    const answer = await rawRequest(`${url}/v1/api/scores`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'x-svc-key': key }) },
      body: body(),
    });
    expect(answer.statusCode).toBe(status);
    expect(await answer.body.json()).toMatchObject({ message: expect.any(String) });
  });
});
