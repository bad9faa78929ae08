import { type Readable, Transform } from 'node:stream';
import type { IncomingBody } from '../../ingest/body.ts';
import { Refusal } from '../../model/failure.ts';

/** A flag and a length of four bytes stand before each message. @see gRPC over HTTP/2, "Length-Prefixed-Message" */
const PREFIX_BYTES = 5;

const broken = (what: string): Refusal =>
  new Refusal({ code: 'invalid_body', message: `the call is not a gRPC message: ${what}` });

/** Reads the five bytes before a message. @throws Refusal `invalid_body` when the stream ends before them */
const readPrefix = (source: Readable, signal: AbortSignal): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const done = (error: unknown, prefix?: Buffer): void => {
      source.off('readable', look).off('end', onEnd).off('error', onCut).off('close', onCut);
      signal.removeEventListener('abort', onCut);
      if (prefix !== undefined) resolve(prefix);
      else reject(error);
    };
    const look = (): void => {
      const prefix = source.read(PREFIX_BYTES) as Buffer | null;
      if (prefix?.length === PREFIX_BYTES) done(undefined, prefix);
      else if (prefix !== null) onEnd();
    };
    const onEnd = (): void => done(broken('it ends before its length'));
    const onCut = (): void => done(broken('the connection ended before the message did; send it again'));
    source.on('readable', look).on('end', onEnd).on('error', onCut).on('close', onCut);
    signal.addEventListener('abort', onCut);
    if (signal.aborted) onCut();
    else look();
  });

/** Passes on exactly the announced bytes: fewer, or more, are no unary call. */
const exactly = (bytes: number): Transform => {
  let passed = 0;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      passed += chunk.length;
      if (passed > bytes) done(broken('bytes follow its only message'));
      else done(null, chunk);
    },
    flush: (done) => done(passed < bytes ? broken(`it ends after ${passed} of ${bytes} bytes`) : null),
  });
};

/**
 * The one message of a unary call, before it is read: as a body of the doors, under whose bounds it stands.
 * @param encoding what `grpc-encoding` names; a message may still come without it
 * @throws Refusal `invalid_body` for what is no message
 */
export const messageOf = async (
  source: Readable,
  encoding: string | undefined,
  signal: AbortSignal,
): Promise<IncomingBody> => {
  const prefix = await readPrefix(source, signal);
  const flag = prefix.readUInt8(0);
  const length = prefix.readUInt32BE(1);
  if (flag > 1) throw broken(`its compression flag is ${flag}`);
  const isCompressed = flag === 1;
  if (isCompressed && encoding !== 'gzip') throw broken('it is compressed, and grpc-encoding does not say how');
  const bounded = exactly(length);
  // The reader of the message reports the error. The source is the call itself, which still needs its answer.
  source.on('error', () => bounded.destroy()).on('aborted', () => bounded.destroy());
  // After a refusal nobody reads it any more, and it still finds out that the call was not complete.
  bounded.on('error', () => {});
  source.pipe(bounded);
  return { source: bounded, contentLength: length, ...(isCompressed ? { contentEncoding: 'gzip' } : {}) };
};

/** A message as it is sent: not compressed. */
export const frame = (message: Uint8Array): Buffer => {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
};
