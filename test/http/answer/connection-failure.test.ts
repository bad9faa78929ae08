import { afterEach, describe, expect, it } from 'vitest';
import { sendBytes } from '../send-bytes.ts';
import { type Service, type ServiceOptions, startService } from '../service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

describe('a connection that brings no request', () => {
  it.each([
    ['what is not HTTP', 'NONSENSE\r\n\r\n', 'not a well-formed HTTP request'],
    [
      'HTTP/2, which is how gRPC begins,',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'set OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
    ],
    ['headers over the bound of the parser', `GET / HTTP/1.1\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`, 'over 16384 bytes'],
  ])('%s is answered in our shape too', async (_name, bytes, word) => {
    const { url } = await start();
    const received = await sendBytes(url, bytes);
    expect(received).toMatch(/^HTTP\/1.1 400 /);
    expect(received).toMatch(/x-request-id: \S+/);
    const body = JSON.parse(received.split('\r\n\r\n')[1] ?? '') as object;
    expect(body).toEqual({ code: 'invalid_parameter', message: expect.stringContaining(word) });
  });

  it('a client of HTTP/2 or gRPC is logged once', async () => {
    const service = await start();
    for (let i = 0; i < 3; i++) await sendBytes(service.url, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const lines = service.logged.filter((line) => line.includes('HTTP/2 or gRPC'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('OTEL_EXPORTER_OTLP_PROTOCOL=http/json');
  });
});
