import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Refusal } from '../model/failure.ts';
import type { Reservation } from './admission.ts';
import { giveBack } from './give-back.ts';
import { bodyTooLarge, growsTooMuch, type IngestLimits, inflatedTooLarge, mostInflated } from './limits.ts';

/** A request's body before it is read: its bytes, and what the headers say of them. */
export type IncomingBody = {
  readonly source: Readable;
  /** Called when the body is about to be read: a sender may have been waiting for an invitation (`100 Continue`). */
  readonly begin?: () => void;
  readonly contentLength?: number;
  readonly contentEncoding?: string;
};

/** Size of the pieces in which a compressed body is inflated, in bytes. */
const INFLATE_CHUNK_BYTES = 64 * 1024;

/** Whether the body is compressed. @throws Refusal `unsupported_content_encoding` for anything but gzip and identity */
const isGzip = (contentEncoding: string | undefined): boolean => {
  const coding = contentEncoding?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return false;
  if (coding === 'gzip') return true;
  throw new Refusal({
    code: 'unsupported_content_encoding',
    message: `content-encoding "${contentEncoding}" is not supported; use gzip or send the body uncompressed`,
  });
};

/**
 * Refuses by the headers alone, before a byte of the body is read.
 * @throws Refusal `unsupported_content_encoding`, `payload_too_large`
 * @see Interface specification, "Errors"
 */
export const checkBodyHeaders = (body: IncomingBody, limits: IngestLimits): void => {
  isGzip(body.contentEncoding);
  if (body.contentLength !== undefined && body.contentLength > limits.maxBodyBytes)
    throw new Refusal(bodyTooLarge(limits, body.contentLength));
};

const brokenOff = (cause: unknown): Refusal =>
  new Refusal(
    { code: 'invalid_body', message: 'the connection ended before the body did; send the request again' },
    { cause },
  );

/**
 * Reads a body as it arrives, inflated where it is compressed. When it fails, nothing of ours stays on the source, which
 * is paused and neither ended nor destroyed: see `discardRest`.
 * @param take is given every piece in order; the next piece waits for it
 * @param signal aborted when nobody waits for the outcome any more
 * @throws Refusal `payload_too_large` (received or inflated bytes over their bound, cut at the bound), `invalid_body`
 * (damaged or truncated gzip, a connection that ended early), `overloaded` (no room for the next piece)
 */
export const streamBody = (
  body: IncomingBody,
  limits: IngestLimits,
  reservation: Reservation,
  take: (piece: Buffer) => undefined | Promise<void>,
  signal?: AbortSignal,
): Promise<void> => {
  const { source } = body;
  body.begin?.();
  const gunzip = isGzip(body.contentEncoding) ? createGunzip({ chunkSize: INFLATE_CHUNK_BYTES }) : undefined;
  // The stream that hands out the pieces; it is paused while a piece is taken.
  const outlet: Readable = gunzip ?? source;
  return new Promise((resolve, reject) => {
    let wire = 0;
    let inflated = 0;
    let taking: Promise<void> | undefined;

    const settle = (error?: unknown): void => {
      source.off('data', onWire).off('end', onWireEnd).off('error', onCut).off('close', onCut);
      signal?.removeEventListener('abort', onCut);
      reservation.whenEvicted(undefined);
      source.pause();
      if (gunzip !== undefined) {
        gunzip.off('data', onPiece).off('end', onEnd).off('drain', onDrain);
        gunzip.destroy();
      }
      if (error === undefined) resolve();
      else reject(error);
    };

    const goOnAfter = async (taken: Promise<void>): Promise<void> => {
      try {
        await taken;
        taking = undefined;
        outlet.resume();
      } catch (error) {
        settle(error);
      }
    };
    const onPiece = (piece: Buffer): void => {
      inflated += piece.length;
      try {
        if (gunzip !== undefined && inflated > mostInflated(limits, wire))
          throw new Refusal(inflated > limits.maxInflatedBytes ? inflatedTooLarge(limits) : growsTooMuch(limits));
        reservation.hold(piece.length);
        const taken = take(piece);
        if (taken === undefined) return;
        outlet.pause();
        taking = goOnAfter(taken);
      } catch (error) {
        settle(error);
      }
    };
    const onEnd = (): void => {
      if (taking === undefined) settle();
      else void taking.finally(settle);
    };
    const onWire = (piece: Buffer): void => {
      wire += piece.length;
      reservation.receive(piece.length);
      if (wire > limits.maxBodyBytes) settle(new Refusal(bodyTooLarge(limits)));
      else if (gunzip === undefined) onPiece(piece);
      else if (!gunzip.write(piece)) source.pause();
    };
    const onWireEnd = (): void => {
      source.off('close', onCut); // what closes after its end was not cut
      if (gunzip === undefined) onEnd();
      else gunzip.end();
    };
    const onDrain = (): void => void source.resume();
    // What stands between the wire and us may have found out more than that it ended.
    const onCut = (cause: unknown): void => settle(cause instanceof Refusal ? cause : brokenOff(cause));
    const onDamage = (error: Error): void =>
      settle(
        new Refusal(
          { code: 'invalid_body', message: `body is not valid gzip: ${error.message}; send it again, or uncompressed` },
          { cause: error },
        ),
      );

    if (signal?.aborted === true || source.destroyed) {
      settle(brokenOff(signal?.reason));
      return;
    }
    signal?.addEventListener('abort', onCut);
    reservation.whenEvicted(settle);
    gunzip?.on('data', onPiece).on('end', onEnd).on('error', onDamage).on('drain', onDrain);
    source.on('end', onWireEnd).on('error', onCut).on('close', onCut).on('data', onWire);
  });
};

/** Reads a complete body; fails as `streamBody` does. */
export const readBody = async (
  body: IncomingBody,
  limits: IngestLimits,
  reservation: Reservation,
  signal?: AbortSignal,
): Promise<Buffer> => {
  const { source, contentLength = 0 } = body;
  // A small body has mostly come with its headers: then there is nothing to listen for.
  if (
    contentLength > 0 &&
    contentLength <= limits.maxBodyBytes &&
    source.readableLength === contentLength &&
    source.readableFlowing !== true &&
    signal?.aborted !== true &&
    !source.destroyed &&
    !isGzip(body.contentEncoding)
  ) {
    body.begin?.();
    reservation.receive(contentLength);
    reservation.hold(contentLength);
    return source.read(contentLength) as Buffer;
  }
  const pieces: Buffer[] = [];
  await streamBody(body, limits, reservation, (piece) => void pieces.push(piece), signal);
  const only = pieces[0];
  if (only !== undefined && pieces.length === 1) return only;
  const whole = Buffer.concat(pieces);
  // Pieces of a network connection share memory with others; those of a decompressor are its own, and nobody else's.
  if (isGzip(body.contentEncoding)) for (const { buffer } of pieces) giveBack(buffer);
  return whole;
};

/** What is still taken from a client after its request was refused. */
export type DiscardBounds = { readonly maxBytes: number; readonly maxMs: number };

/** Taken in at a stretch, in bytes, and the rest after it, in milliseconds: at most 20 MiB a second from one client. */
const DISCARD_STRETCH_BYTES = 1024 * 1024;
const DISCARD_REST_MS = 50;

/**
 * Reads on and throws away, after a refusal. A server that closes while a client still sends makes the client's kernel
 * drop the answer that was on its way; so the rest is taken in, up to a bound, and only then is the connection cut. Not
 * faster than need be: most clients see the answer during a rest and stop by themselves, and a crowd of refused ones must
 * not take the time of those who were let in.
 */
export const discardRest = (source: Readable, bounds: DiscardBounds): void => {
  if (source.readableEnded || source.destroyed) return;
  let discarded = 0;
  let stretch = 0;
  let rest: NodeJS.Timeout | undefined;
  const cut = (): void => void source.destroy();
  const limit = setTimeout(cut, bounds.maxMs);
  limit.unref();
  const onData = (piece: Buffer): void => {
    discarded += piece.length;
    stretch += piece.length;
    if (discarded > bounds.maxBytes) cut();
    else if (stretch >= DISCARD_STRETCH_BYTES) {
      stretch = 0;
      source.pause();
      rest = setTimeout(() => source.resume(), DISCARD_REST_MS);
    }
  };
  const done = (): void => {
    clearTimeout(limit);
    clearTimeout(rest);
    source.off('data', onData).off('end', done).off('close', done);
  };
  source.on('data', onData).on('end', done).on('close', done).on('error', done);
  source.resume();
};
