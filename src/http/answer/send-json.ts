import { Readable, type Transform } from 'node:stream';
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
import type { Logger } from 'pino';
import type { BuiltFile } from '../page/built-interface.ts';
import type { AnswerShare } from './answer-room.ts';
import { comesInPieces, jsonPieces, jsonPiecesAsRead } from './json-pieces.ts';
import { chooseCoding, type Coding } from './negotiation.ts';
import { sentPieces } from './sent-pieces.ts';

/** Answers to reads up to this size are sent as they are: they fit into one packet anyway. */
const COMPRESS_READ_ABOVE_BYTES = 1024;
/** The same for other calls. Workers make them thousands of times a second, and from near by: there processor time is dearer than bytes. */
const COMPRESS_CALL_ABOVE_BYTES = 8 * 1024;

/** Pieces are gathered up to this size: an answer that ends before is sent as one, with its length. */
const SENT_AS_ONE_BYTES = 64 * 1024;
/** What is held of a streamed answer between the store and the connection, whatever is left of it. */
const STREAM_WINDOW_BYTES = 1024 * 1024;
/** Answers up to this size are taken by the connection at once and are not counted. */
const UNCOUNTED_BYTES = 16 * 1024;

/** What a compressor hands on at a time: each piece of the usual 16 KiB costs it a turn of the loop. */
const COMPRESSED_PIECE_BYTES = 64 * 1024;
// Levels at which 7 MB of spans without payloads take 7 ms (zstd), 18 (br) and 19 (gzip) of a thread. The next levels of br and gzip save 1 to 4 percent of the
// bytes for half as much again; those of zstd save a tenth where payloads are long, for a third more, and nothing else.
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } };
const GZIP = { level: 3 };

const [zstdOf, brotliOf, gzipOf] = [promisify(zstdCompress), promisify(brotliCompress), promisify(gzip)];

const whole = {
  zstd: (data) => zstdOf(data, ZSTD),
  br: (data) => brotliOf(data, BROTLI),
  gzip: (data) => gzipOf(data, GZIP),
} as const satisfies Record<Coding, (data: Buffer) => Promise<Buffer>>;

const piecewise = {
  zstd: () => createZstdCompress({ ...ZSTD, chunkSize: COMPRESSED_PIECE_BYTES }),
  br: () => createBrotliCompress(BROTLI),
  gzip: () => createGzip(GZIP),
} as const satisfies Record<Coding, () => Transform>;

const compressedAbove = ({ method }: FastifyRequest): number =>
  method === 'GET' || method === 'HEAD' ? COMPRESS_READ_ABOVE_BYTES : COMPRESS_CALL_ABOVE_BYTES;

const headerText = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(',') : value;

/** With a serializer of its own an answer keeps its media type: the framework would add a charset, which JSON has not. */
const asItIs = (text: unknown): string => text as string;

const sendText = async (request: FastifyRequest, reply: FastifyReply, text: string): Promise<FastifyReply> =>
  // As text it is written together with the headers, at once. Three bytes are the most that a unit of it takes.
  text.length <= compressedAbove(request) / 3
    ? reply.serializer(asItIs).send(text)
    : sendBytes(request, reply, Buffer.from(text, 'utf8'));

const sendBytes = async (request: FastifyRequest, reply: FastifyReply, bytes: Buffer): Promise<FastifyReply> => {
  if (bytes.length > UNCOUNTED_BYTES) request.answer.hold(bytes.length);
  if (bytes.length <= compressedAbove(request)) return reply.send(bytes);
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

async function* paced(pieces: Generator<string>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    yield Buffer.from(piece, 'utf8');
    await nextTurn();
  }
}

/** Says, as pieces leave, what of an answer is still to come, and what has been passed on. */
async function* counted(
  head: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array>,
  share: AnswerShare,
  passedOn: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (const piece of head) {
      share.left(piece.length, STREAM_WINDOW_BYTES);
      yield piece;
      passedOn(piece);
    }
    for await (const piece of rest) {
      share.left(piece.length, STREAM_WINDOW_BYTES);
      yield piece;
      passedOn(piece);
    }
  } finally {
    await rest.return(undefined); // what was not read is given up by the store, too
  }
}

/**
 * Sends pieces as they are made, each when the connection has room for it. What fails before the first of them is sent is an
 * answer of its own; what fails later cuts the connection, since the status has gone.
 * @param pieces their buffers are freed when they have left: no two may lie in one, unless Node shares it
 */
const sendPieces = async (
  request: FastifyRequest,
  reply: FastifyReply,
  pieces: AsyncGenerator<Uint8Array>,
  log: Logger,
): Promise<FastifyReply> => {
  const head: Uint8Array[] = [];
  let bytes = 0;
  while (bytes <= SENT_AS_ONE_BYTES) {
    const next = await pieces.next();
    if (next.done === true) return sendBytes(request, reply, Buffer.concat(head));
    head.push(next.value);
    bytes += next.value.length;
  }

  const coding = chooseCoding(headerText(request.headers['accept-encoding']));
  const compressor = coding && piecewise[coding]();
  const to = compressor ?? reply.raw;
  const passedOn = sentPieces(() => stream.readableLength + to.writableLength);
  const stream: Readable = Readable.from(counted(head, pieces, request.answer, passedOn), { objectMode: false });
  stream.on('error', (error) => {
    if (!request.abandoned.aborted)
      log.warn({ err: error, request_id: request.id }, 'an answer broke off while it was sent');
  });
  reply.header('vary', varyWith(reply));
  if (compressor === undefined) return reply.send(stream);
  // The compressor fails with its source; its own failure ends the answer.
  stream.on('error', (error) => compressor.destroy(error));
  compressor.on('close', () => stream.destroy());
  return reply.header('content-encoding', coding).send(stream.pipe(compressor));
};

/**
 * Answers an object as JSON: a small one at once, a large one in pieces as they are made, both compressed off the event
 * loop when the client accepts a coding: reads over 1 KiB, other calls over 8 KiB.
 * @see Interface decisions, "4. Signals, native names"
 */
export const sendJson = async (
  request: FastifyRequest,
  reply: FastifyReply,
  body: object,
  log: Logger,
): Promise<FastifyReply> => {
  reply.header('content-type', 'application/json');
  if (comesInPieces(body)) return sendPieces(request, reply, jsonPiecesAsRead(body), log);
  const pieces = jsonPieces(body);
  const first = pieces.next();
  if (first.done === true) return reply.send('{}');
  const second = pieces.next();
  if (second.done === true) return sendText(request, reply, first.value);
  return sendPieces(request, reply, paced(putBack([first.value, second.value], pieces)), log);
};

function* putBack<T>(taken: readonly T[], rest: Generator<T>): Generator<T> {
  yield* taken;
  yield* rest;
}

/** Answers a text that was made before: a page, a document, counters. */
export const sendReady = (
  request: FastifyRequest,
  reply: FastifyReply,
  type: string,
  text: string,
): Promise<FastifyReply> => sendText(request, reply.header('content-type', type), text);

/** What was compressed before anybody asked for it, best coding first. */
const BUILT_CODINGS = ['br', 'gzip'] as const;

/** Answers a file that is held in memory, in the best of the codings that it is held in. */
export const sendBuilt = (request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply => {
  reply.header('content-type', file.type).header('vary', varyWith(reply));
  const held = BUILT_CODINGS.filter((coding) => file.codings[coding] !== undefined);
  const coding = chooseCoding(headerText(request.headers['accept-encoding']), held);
  const bytes = (coding && file.codings[coding]) ?? file.plain;
  if (coding !== undefined) reply.header('content-encoding', coding);
  if (bytes.length > UNCOUNTED_BYTES) request.answer.hold(bytes.length);
  return reply.send(bytes);
};
