import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/ingest/admission.ts';
import { checkBodyHeaders, discardRest, type IncomingBody, readBody, streamBody } from '../../src/ingest/body.ts';
import type { IngestLimits } from '../../src/ingest/limits.ts';
import { type Failure, Refusal } from '../../src/model/failure.ts';

const limits: IngestLimits = { maxBodyBytes: 1000, maxInflatedBytes: 4000, maxSignals: 10 };
const aReservation = (bytes = 1_000_000) => createAdmission(bytes, 10).enter();

const outcomeOf = async (reading: Promise<unknown>): Promise<unknown> => {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
};

/** A body that arrives in these pieces, each in a turn of its own. */
const arriving = (pieces: readonly Buffer[], contentEncoding?: string): IncomingBody => {
  const source = new PassThrough();
  void (async () => {
    for (const piece of pieces) {
      await new Promise((resolve) => setImmediate(resolve));
      source.write(piece);
    }
    source.end();
  })();
  return { source, ...(contentEncoding === undefined ? {} : { contentEncoding }) };
};

const inPieces = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

describe('the headers of a body', () => {
  it('lets a content length of exactly the bound pass, and refuses one more, naming the number and both bounds', () => {
    const source = new PassThrough();
    expect(() => checkBodyHeaders({ source, contentLength: 1000 }, limits)).not.toThrow();
    expect(() => checkBodyHeaders({ source, contentLength: 1001 }, limits)).toThrow(
      'body of 1001 bytes is too large: a request holds at most 10 signals (--max-batch-signals) and 1000 bytes as received (--max-body-bytes); send smaller batches',
    );
  });

  it.each(['gzip', 'GZIP', 'identity', '', ' gzip '])('takes content-encoding %j', (contentEncoding) => {
    expect(() => checkBodyHeaders({ source: new PassThrough(), contentEncoding }, limits)).not.toThrow();
  });

  it.each(['br', 'deflate', 'zstd', 'gzip, gzip', 'x-gzip'])(
    'refuses content-encoding %j by name',
    (contentEncoding) => {
      let failure: Failure | undefined;
      try {
        checkBodyHeaders({ source: new PassThrough(), contentEncoding }, limits);
      } catch (error) {
        failure = (error as Refusal).failure;
      }
      expect(failure).toEqual({
        code: 'unsupported_content_encoding',
        message: `content-encoding "${contentEncoding}" is not supported; use gzip or send the body uncompressed`,
      });
    },
  );
});

describe('reading a body', () => {
  it('takes exactly as many bytes as the bound', async () => {
    const bytes = Buffer.alloc(1000, 'x');
    expect(await readBody(arriving(inPieces(bytes, 300)), limits, aReservation())).toEqual(bytes);
  });

  it('refuses one byte more while it streams, without a content length', async () => {
    const body = arriving(inPieces(Buffer.alloc(1001, 'x'), 300));
    expect(await outcomeOf(readBody(body, limits, aReservation()))).toEqual({
      code: 'payload_too_large',
      message:
        'body is larger than 1000 bytes: a request holds at most 10 signals (--max-batch-signals) and 1000 bytes as received (--max-body-bytes); send smaller batches',
    });
  });

  it('measures the bound on the bytes received, so gzip buys room', async () => {
    const bytes = Buffer.alloc(4000, 'x');
    expect(await readBody(arriving(inPieces(gzipSync(bytes), 7), 'gzip'), limits, aReservation())).toEqual(bytes);
  });

  it('cuts inflation at its own bound, and names all three', async () => {
    const body = arriving([gzipSync(Buffer.alloc(4001, 'x'))], 'gzip');
    expect(await outcomeOf(readBody(body, limits, aReservation()))).toEqual({
      code: 'payload_too_large',
      message:
        'body inflates to more than 4000 bytes (--max-inflated-bytes): a request holds at most 10 signals (--max-batch-signals) and 1000 bytes as received (--max-body-bytes); send smaller batches',
    });
  });

  it('stops a bomb before it has inflated: of 256 MiB in 256 KiB no more is handed on than the bound', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024), { level: 9 });
    const wide = { ...limits, maxBodyBytes: bomb.length, maxInflatedBytes: 1024 * 1024 };
    let taken = 0;
    const reading = streamBody(arriving([bomb], 'gzip'), wide, aReservation(1e9), (piece) => {
      taken += piece.length;
      return undefined;
    });
    expect(await outcomeOf(reading)).toMatchObject({ code: 'payload_too_large' });
    expect(taken).toBeLessThanOrEqual(wide.maxInflatedBytes);
  });

  it('gives back the memory in which it was inflated, and no memory of anybody else', async () => {
    const wide = { ...limits, maxBodyBytes: 1e6, maxInflatedBytes: 1e6 };
    const held = Array.from({ length: 100 }, (_, n) => Buffer.from(`kept ${n}`));
    const bytes = Buffer.from(Array.from({ length: 40_000 }, (_, n) => n.toString(36)).join(' '));
    const read = await readBody(arriving([gzipSync(bytes)], 'gzip'), wide, aReservation());
    expect(read.equals(bytes)).toBe(true);
    expect(held.map(String)).toEqual(held.map((_, n) => `kept ${n}`));
    expect(Buffer.from('new').toString()).toBe('new');
  });

  it('reads gzip of several members as their joined content', async () => {
    const body = arriving([Buffer.concat([gzipSync('one '), gzipSync('two')])], 'gzip');
    expect((await readBody(body, limits, aReservation())).toString()).toBe('one two');
  });

  it.each([
    ['that is not gzip', Buffer.from('{"spans":[]}')],
    ['that ends early', gzipSync('a longer text that is cut').subarray(0, -6)],
    ['with a damaged checksum', Buffer.concat([gzipSync('text').subarray(0, -8), Buffer.alloc(8, 1)])],
    ['with garbage after it', Buffer.concat([gzipSync('text'), Buffer.from('garbage')])],
    ['of no bytes', Buffer.alloc(0)],
  ])('refuses a gzip body %s as invalid_body', async (_, bytes) => {
    expect(await outcomeOf(readBody(arriving([bytes], 'gzip'), limits, aReservation()))).toMatchObject({
      code: 'invalid_body',
      message: expect.stringMatching(/^body is not valid gzip: .+; send it again, or uncompressed$/),
    });
  });

  it('answers damaged gzip at once, while the client is still sending', async () => {
    const source = new PassThrough();
    source.write('not gzip at all');
    expect(await outcomeOf(readBody({ source, contentEncoding: 'gzip' }, limits, aReservation()))).toMatchObject({
      code: 'invalid_body',
    });
    expect(source.destroyed).toBe(false);
  });

  it('hands over one piece at a time', async () => {
    let inside = 0;
    let most = 0;
    let bytes = 0;
    const take = async (piece: Buffer): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      bytes += piece.length;
      inside -= 1;
    };
    const wide = { ...limits, maxBodyBytes: 1e6, maxInflatedBytes: 1e6 };
    const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919) % 251));
    await streamBody(arriving(inPieces(content, 10_000)), wide, aReservation(1e9), take);
    await streamBody(arriving(inPieces(gzipSync(content), 10_000), 'gzip'), wide, aReservation(1e9), take);
    expect([most, bytes]).toEqual([1, 600_000]);
  });

  it('counts what it holds, and stops with overloaded where there is no room', async () => {
    const admission = createAdmission(2000, 10);
    admission.enter().hold(200);
    const reservation = admission.enter();
    const body = arriving(inPieces(Buffer.alloc(400, 'x'), 100));
    expect(await outcomeOf(readBody(body, limits, reservation))).toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 1,
    });
    expect(admission.heldBytes()).toBe(2000);
  });

  it('gives way, while it is read, to a body that is further on; once read, to none', async () => {
    const admission = createAdmission(2000, 10);
    const source = new PassThrough();
    const reading = outcomeOf(readBody({ source }, limits, admission.enter()));
    source.write(Buffer.alloc(100, 'x'));
    while (admission.heldBytes() === 0) await new Promise((resolve) => setImmediate(resolve));
    const further = admission.enter();
    further.hold(450);
    expect(await reading).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
    expect(source.listenerCount('data')).toBe(0);
    await readBody(arriving([Buffer.alloc(50, 'x')]), limits, admission.enter());
    expect(() => further.hold(1)).toThrow('--max-inflight-bytes');
  });

  it('stops when nobody waits for the outcome', async () => {
    const abort = new AbortController();
    const source = new PassThrough();
    const reading = outcomeOf(readBody({ source }, limits, aReservation(), abort.signal));
    source.write('first piece');
    abort.abort();
    expect(await reading).toMatchObject({ code: 'invalid_body' });
    expect(source.listenerCount('data')).toBe(0);
  });
});

describe('over a socket', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  const serve = async (
    onRequest: (request: IncomingMessage, answer: (text: string) => void) => void,
  ): Promise<Socket> => {
    server = createServer((request, response) => onRequest(request, (text) => response.writeHead(413).end(text)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };

  it('refuses a body whose connection is cut half way', async () => {
    let outcome: Promise<unknown> | undefined;
    const arrived = new Promise<void>((resolve) => {
      void serve((request) => {
        outcome = outcomeOf(readBody({ source: request }, limits, aReservation()));
        request.once('data', () => resolve());
      }).then((socket) => {
        void arrived.finally(() => socket.destroy());
        return socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\nhalf of it');
      });
    });
    await arrived;
    expect(await outcome).toEqual({
      code: 'invalid_body',
      message: 'the connection ended before the body did; send the request again',
    });
  });

  it('takes in the rest of a refused body, so that the answer arrives and the connection serves the next request', async () => {
    let requests = 0;
    const socket = await serve((request, answer) => {
      requests += 1;
      void outcomeOf(readBody({ source: request }, limits, aReservation())).then((outcome) => {
        discardRest(request, { maxBytes: 10_000_000, maxMs: 10_000 });
        return answer(`${requests} ${(outcome as Failure).code}`);
      });
    });
    const body = Buffer.alloc(5_000_000, 'x');
    const request = Buffer.concat([
      Buffer.from(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`),
      body,
    ]);
    let answered = '';
    socket.on('data', (piece) => {
      answered += piece.toString();
    });
    socket.write(Buffer.concat([request, request]));
    while (!answered.includes('2 payload_too_large')) await once(socket, 'data');
    expect(answered).toContain('1 payload_too_large');
  });

  it('cuts a refused client that sends without end', async () => {
    const socket = await serve((request, answer) => {
      discardRest(request, { maxBytes: 1_000_000, maxMs: 60_000 });
      answer('refused');
    });
    let answered = '';
    socket.on('data', (piece) => {
      answered += piece.toString();
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const send = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', send);
    send();
    await closed;
    expect(answered).toContain('refused');
  });
});
