import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jsonPieces } from './json-pieces.ts';
import { chooseCoding, type Coding } from './negotiation.ts';

/** Answers up to this size are sent as they are: compressing them costs more than it saves. */
const COMPRESS_ABOVE_BYTES = 8 * 1024;

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const whole = {
  zstd: promisify(zstdCompress) as (data: Buffer) => Promise<Buffer>,
  br: (
    (compress) => (data: Buffer) =>
      compress(data, BROTLI)
  )(promisify(brotliCompress)) as (data: Buffer) => Promise<Buffer>,
  gzip: promisify(gzip) as (data: Buffer) => Promise<Buffer>,
} as const satisfies Record<Coding, (data: Buffer) => Promise<Buffer>>;

const piecewise = {
  zstd: () => createZstdCompress(),
  br: () => createBrotliCompress(BROTLI),
  gzip: () => createGzip(),
} as const satisfies Record<Coding, () => NodeJS.ReadWriteStream>;

const headerText = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(',') : value;

/** With a serializer of its own an answer keeps its media type: the framework would add a charset, which JSON has not. */
const asItIs = (text: unknown): string => text as string;

const sendText = async (request: FastifyRequest, reply: FastifyReply, text: string): Promise<FastifyReply> => {
  // As text it is written together with the headers, at once. Three bytes are the most that a unit of it takes.
  if (text.length <= COMPRESS_ABOVE_BYTES / 3) return reply.serializer(asItIs).send(text);
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= COMPRESS_ABOVE_BYTES) return reply.send(bytes);
  reply.header('vary', varyWith(reply));
  const coding = chooseCoding(headerText(request.headers['accept-encoding']));
  if (coding === undefined) return reply.send(bytes);
  return reply.header('content-encoding', coding).send(await whole[coding](bytes));
};

/** CORS may have said what else the answer varies with. */
const varyWith = (reply: FastifyReply): string => {
  const before = reply.getHeader('vary');
  return before === undefined ? 'Accept-Encoding' : `${String(before)}, Accept-Encoding`;
};

const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

async function* paced(first: string, rest: Generator<string>): AsyncGenerator<string> {
  yield first;
  for (const piece of rest) {
    await nextTurn();
    yield piece;
  }
}

/**
 * Answers an object as JSON: a small one at once, a large one in pieces as they are made, both compressed off the event
 * loop when they are over 8 KiB and the client accepts a coding.
 * @see Interface decisions, "4. Signals, native names"
 */
export const sendJson = async (request: FastifyRequest, reply: FastifyReply, body: object): Promise<FastifyReply> => {
  reply.header('content-type', 'application/json');
  const pieces = jsonPieces(body);
  const first = pieces.next();
  if (first.done === true) return reply.send('{}');
  const second = pieces.next();
  if (second.done === true) return sendText(request, reply, first.value);

  const stream = Readable.from(paced(first.value + second.value, pieces), { objectMode: false });
  reply.header('vary', varyWith(reply));
  const coding = chooseCoding(headerText(request.headers['accept-encoding']));
  if (coding === undefined) return reply.send(stream);
  const compressor = piecewise[coding]();
  // The compressor fails with its source; its own failure ends the answer.
  stream.on('error', (error) => compressor.destroy(error));
  compressor.on('close', () => stream.destroy());
  return reply.header('content-encoding', coding).send(stream.pipe(compressor));
};

/** Answers a text that was made before: a page, a document, counters. */
export const sendReady = (
  request: FastifyRequest,
  reply: FastifyReply,
  type: string,
  text: string,
): Promise<FastifyReply> => sendText(request, reply.header('content-type', type), text);
