import { once } from 'node:events';
import { request } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sentPieces } from '../../../src/http/answer/sent-pieces.ts';
import { aTrace, TRACE } from '../factories.ts';
import { type Service, startService } from '../service.ts';

const pieceOf = (bytes: number, fill: number): Uint8Array => new Uint8Array(bytes).fill(fill);
const isFreed = (piece: Uint8Array): boolean => (piece.buffer as ArrayBuffer).detached;

describe('pieces of an answer that have left', () => {
  it('are freed once those behind them are as many bytes as wait, and not before', () => {
    let waiting = 0;
    const passedOn = sentPieces(() => waiting);
    const pieces = [pieceOf(10, 1), pieceOf(10, 2), pieceOf(10, 3)] as const;
    waiting = 10;
    passedOn(pieces[0]);
    expect(pieces.map(isFreed)).toEqual([false, false, false]);
    waiting = 11;
    passedOn(pieces[1]);
    expect(pieces.map(isFreed)).toEqual([false, false, false]);
    waiting = 10;
    passedOn(pieces[2]);
    expect(pieces.map(isFreed)).toEqual([true, true, false]);
  });

  it('and a piece that has left by itself is freed at once', () => {
    const passedOn = sentPieces(() => 0);
    const piece = pieceOf(10, 1);
    passedOn(piece);
    expect(isFreed(piece)).toBe(true);
  });

  it('but not where Node has other small buffers beside it', () => {
    const passedOn = sentPieces(() => 0);
    const piece = Buffer.from('a short text');
    passedOn(piece);
    expect([isFreed(piece), piece.toString()]).toEqual([false, 'a short text']);
  });

  it('arrive whole at a stream that takes one after the other', async () => {
    const taken: number[] = [];
    const slow = new Writable({
      highWaterMark: 25,
      write: (chunk: Uint8Array, _encoding, done) => {
        setImmediate(() => {
          taken.push(...chunk);
          done();
        });
      },
    });
    const passedOn = sentPieces(() => source.readableLength + slow.writableLength);
    const made: Uint8Array[] = [];
    const source: Readable = Readable.from(
      (async function* () {
        for (let place = 0; place < 50; place += 1) {
          const piece = pieceOf(1 + (place % 20), place);
          made.push(piece);
          yield piece;
          passedOn(piece);
        }
      })(),
      { objectMode: false },
    );
    const expected = Array.from({ length: 50 }, (_, place) =>
      Array.from({ length: 1 + (place % 20) }, () => place),
    ).flat();
    await once(source.pipe(slow), 'finish');
    expect(taken).toEqual(expected);
    expect(made.slice(0, -10).every(isFreed)).toBe(true);
  });
});

describe('a large answer', () => {
  const SPANS = 400;
  const TEXT = 10_000;
  const made: Uint8Array[] = [];
  let service: Service;
  beforeAll(async () => {
    service = await startService({
      store: {
        readTrace: async () => ({
          trace: aTrace(),
          projects: ['default'],
          spans: (async function* () {
            for (let place = 0; place < SPANS; place += 1) {
              const json = `,{"name":"${String.fromCharCode(97 + (place % 26)).repeat(TEXT)}"}`;
              const piece = new TextEncoder().encode(json);
              made.push(piece);
              yield piece;
            }
          })(),
        }),
      },
    });
  });
  afterAll(() => service.close());

  it.each([
    ['as it is', ''],
    ['compressed', 'gzip'],
  ])('%s comes whole to a client that reads slowly', async (_how, coding) => {
    made.length = 0;
    const asked = request(`${service.url}/v1/api/traces/${TRACE}`, { headers: { 'accept-encoding': coding } }).end();
    const [answer] = (await once(asked, 'response')) as [Readable & { headers: Record<string, string> }];
    expect(answer.headers['content-encoding'] ?? '').toBe(coding);
    let json = '';
    for await (const chunk of coding === '' ? answer : answer.pipe(createGunzip())) {
      json += String(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { spans } = JSON.parse(json) as { spans: { name: string }[] };
    expect(spans.map(({ name }) => name)).toEqual(
      Array.from({ length: SPANS }, (_, place) => String.fromCharCode(97 + (place % 26)).repeat(TEXT)),
    );
    expect(made.filter(isFreed).length).toBeGreaterThan(SPANS / 2);
  });
});
