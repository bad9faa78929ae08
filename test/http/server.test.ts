import { afterEach, describe, expect, it } from 'vitest';
import openapi from '../../src/model/generated/openapi.json' with { type: 'json' };
import { sendBytes } from './send-bytes.ts';
import { anIngestDoor, rawRequest, type Service, type ServiceOptions, startService } from './service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

describe('every answer', () => {
  it('carries its own x-request-id', async () => {
    const { ask } = await start();
    const answers = await Promise.all(
      ['/healthz', '/nothing', '/v1/api/traces', '/v1/api/traces?x=1', '/'].map((path) => ask(path)),
    );
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    expect(ids.every((id) => /^[0-9a-f-]{36}$/.test(id ?? ''))).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('tells browsers to keep, sniff, frame and refer nothing', async () => {
    const { ask } = await start();
    const { headers } = await ask('/v1/api/traces');
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'content-type': 'application/json',
    });
  });
});

describe('a request that no route is asked for', () => {
  it('a path that is no URL path is 400 in our shape', async () => {
    const { url } = await start();
    const answer = await rawRequest(`${url}/v1/api/traces/%zz`);
    expect(answer.statusCode).toBe(400);
    expect(await answer.body.json()).toMatchObject({ code: 'invalid_parameter' });
    expect(answer.headers['x-request-id']).toBeTruthy();
  });

  it.each([
    ['none', '', 400],
    ['two', 'host: localhost\r\nhost: example.com\r\n', 400],
    ['one', 'host: localhost\r\n', 200],
  ])('a request over HTTP/1.1 with %s of the Host header', async (_name, hosts, status) => {
    const { url } = await start();
    const received = await sendBytes(url, `GET /healthz HTTP/1.1\r\n${hosts}connection: close\r\n\r\n`);
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(received).toMatch(/x-request-id: \S+/);
    if (status === 400)
      expect(JSON.parse(received.split('\r\n\r\n')[1] ?? '')).toEqual({
        code: 'invalid_parameter',
        message: 'a request over HTTP/1.1 needs one Host header',
        field: 'host',
      });
  });

  it.each([
    ['GET /healthz HTTP/2.0', '', 'a request line of HTTP/2.0 is no HTTP/1.1'],
    ['GET * HTTP/1.1', '', 'GET takes a path'],
    ['POST * HTTP/1.1', 'content-length: 0\r\n', 'POST takes a path'],
    ['POST /v1/ingest HTTP/1.1', 'transfer-encoding: gzip, chunked\r\n', 'the transfer-encoding may be chunked alone'],
  ])('%s with "%s" is 400 in our shape', async (line, headers, message) => {
    const { url } = await start({ moreRoutes: [anIngestDoor(() => ({}))] });
    const received = await sendBytes(url, `${line}\r\nhost: localhost\r\n${headers}connection: close\r\n\r\n0\r\n\r\n`);
    expect(received).toMatch(/^HTTP\/1.1 400 /);
    expect(received).toContain(message);
  });

  it('OPTIONS of the server as a whole is no fault of the request', async () => {
    const { url } = await start();
    const received = await sendBytes(url, 'OPTIONS * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    expect(received).toMatch(/^HTTP\/1.1 (405|404|200|204) /);
  });

  it.each([
    [`/v1/api/metrics/${'m'.repeat(1024)}/points`, 200],
    [`/v1/api/metrics/${'m'.repeat(1025)}/points`, 400],
    [`/v1/api/metrics/${'m'.repeat(5000)}/points`, 400],
    [`/v1/api/traces/${'a'.repeat(5000)}`, 400],
    [`/v1/api/experiments/${'ada@example.com'.repeat(400)}`, 400],
  ] as const)('path parameters of over 1,024 characters are refused, and never logged: %#', async (path, status) => {
    const { ask, logged, counters } = await start();
    expect((await ask(path)).status).toBe(status);
    expect(logged.join()).toBe('');
    expect(counters.requestErrors).toBe(0);
  });

  it('every parameter of a path has such a bound in the document', () => {
    type Schema = Readonly<Record<string, unknown>>;
    const schemas = openapi.components.schemas as Readonly<Record<string, Schema>>;
    const resolved = (schema: Schema): Schema => {
      const { $ref: reference } = schema;
      return typeof reference === 'string' ? (schemas[reference.split('/').at(-1) ?? ''] ?? {}) : schema;
    };
    const isBounded = ({ maxLength, type, format, enum: values }: Schema): boolean =>
      (typeof maxLength === 'number' && maxLength <= 1024) ||
      ['trace-id', 'span-id'].includes(String(format)) ||
      type === 'integer' ||
      values !== undefined;
    const parameters: { readonly name: string; readonly schema: Schema }[] = [];
    JSON.stringify(openapi, (_key, value: unknown) => {
      if (typeof value === 'object' && value !== null && (value as Schema)['in'] === 'path')
        parameters.push(value as never);
      return value;
    });
    expect(parameters.length).toBeGreaterThan(10);
    expect(parameters.filter(({ schema }) => !isBounded(resolved(schema))).map(({ name }) => name)).toEqual([]);
  });

  it('an expectation other than 100-continue is passed over; HTTP/1.0 may come without Host', async () => {
    const { url } = await start();
    for (const request of [
      'GET /healthz HTTP/1.1\r\nhost: localhost\r\nexpect: miracles\r\nconnection: close\r\n\r\n',
      'GET /healthz HTTP/1.0\r\n\r\n',
    ]) {
      const received = await sendBytes(url, request);
      expect(received).toMatch(/^HTTP\/1.1 200 /);
      expect(received).toMatch(/x-request-id: \S+/);
    }
  });
});
