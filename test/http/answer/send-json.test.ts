import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonPieces, mapLazily } from '../../../src/http/answer/json-pieces.ts';
import type { Page, TraceSummary } from '../../../src/store/signals/query.ts';
import { aSpan, aTrace, TRACE } from '../factories.ts';
import { rawRequest, type Service, startService } from '../service.ts';

describe('JSON in pieces', () => {
  it('is, joined, what JSON.stringify writes, whatever the object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.constant(undefined))), (body) => {
        expect([...jsonPieces(body)].join('')).toBe(JSON.stringify(body));
      }),
    );
  });
  it('comes in several pieces when it is long, and maps elements only as they are written', () => {
    let mapped = 0;
    const pieces = jsonPieces({
      rows: mapLazily(Array.from({ length: 1000 }), () => {
        mapped += 1;
        return 'x'.repeat(1000);
      }),
    });
    pieces.next();
    expect(mapped).toBeLessThan(100);
    expect([...pieces].length).toBeGreaterThan(10);
    expect(mapped).toBe(1000);
  });
});

describe('reads over 1 KiB, and other calls over 8 KiB, are compressed when the client accepts zstd, br or gzip', () => {
  let service: Service;
  let page: Page<TraceSummary> = { items: [] };
  let description = '';
  beforeAll(async () => {
    service = await startService({
      store: {
        listTraces: async () => page,
        putDataset: async (dataset) => ({ ...dataset, description, itemCount: 0 }),
        findTrace: async () => ({
          trace: aTrace(),
          spans: Array.from({ length: 3000 }, (_, n) =>
            aSpan({ spanId: (n + 1).toString(16).padStart(16, '0'), output: 'x'.repeat(200) }),
          ),
        }),
      },
    });
  });
  afterAll(() => service.close());

  const read = async (path: string, acceptEncoding?: string) => {
    const answer = await rawRequest(service.url + path, {
      headers: acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding },
    });
    return { headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };
  const inflate = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync } as const;
  const nameFor = (bytes: number) => 'n'.repeat(bytes);
  const sizeOf = async () => (await read('/v1/api/traces')).bytes.length;

  it('both sides of the bound of a read', async () => {
    page = { items: [aTrace({ name: '' })] };
    const frame = await sizeOf();
    page = { items: [aTrace({ name: nameFor(1024 - frame) })] };
    expect(await sizeOf()).toBe(1024);
    expect((await read('/v1/api/traces', 'gzip')).headers['content-encoding']).toBeUndefined();
    page = { items: [aTrace({ name: nameFor(1025 - frame) })] };
    expect((await read('/v1/api/traces', 'gzip')).headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: 'Origin, Accept-Encoding',
    });
  });

  it('both sides of the bound of another call', async () => {
    const write = async (bytes: number) => {
      description = nameFor(bytes);
      const answer = await rawRequest(`${service.url}/v1/api/datasets`, {
        method: 'POST',
        headers: { 'accept-encoding': 'gzip', 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'cases' }),
      });
      return { headers: answer.headers, bytes: (await answer.body.arrayBuffer()).byteLength };
    };
    const frame = (await write(0)).bytes;
    const last = await write(8192 - frame);
    expect([last.bytes, last.headers['content-encoding']]).toEqual([8192, undefined]);
    expect((await write(8193 - frame)).headers['content-encoding']).toBe('gzip');
  });

  it.each(['zstd', 'br', 'gzip'] as const)('%s, a list and a large trace that is sent in pieces', async (coding) => {
    page = { items: [aTrace({ name: nameFor(20_000) })] };
    for (const path of ['/v1/api/traces', `/v1/api/traces/${TRACE}`]) {
      const plain = await read(path);
      const packed = await read(path, coding);
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(packed.headers['content-encoding']).toBe(coding);
      expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(inflate[coding](packed.bytes).equals(plain.bytes)).toBe(true);
    }
  });

  it('HEAD answers like GET without a body', async () => {
    const answer = await rawRequest(`${service.url}/v1/api/traces/${TRACE}`, { method: 'HEAD' });
    expect([answer.statusCode, await answer.body.text()]).toEqual([200, '']);
  });
});
