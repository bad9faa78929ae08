import type { Failure } from '../model/failure.ts';

/** What one request may bring. @see Interface specification, "Limits" */
export type IngestLimits = {
  /** Bytes as received, before any decompression: `--max-body-bytes`. */
  readonly maxBodyBytes: number;
  /** Bytes after decompression: `--max-inflated-bytes`. */
  readonly maxInflatedBytes: number;
  /** Signals of all batches of the request together, refused ones included: `--max-batch-signals`. */
  readonly maxSignals: number;
  /** The bound on bytes belongs to one call that brings no signals; no flag moves it. */
  readonly fixed?: boolean;
};

const MEBIBYTE = 1024 * 1024;

/** A count of bytes, with its mebibytes where they are whole: `33554432 bytes (32 MiB)`. */
export const inBytes = (bytes: number): string =>
  bytes >= MEBIBYTE && bytes % MEBIBYTE === 0 ? `${bytes} bytes (${bytes / MEBIBYTE} MiB)` : `${bytes} bytes`;

/**
 * The refusal of a request that is over one of its bounds. The message names both bounds whichever was exceeded, so that
 * a client learns at once what a batch may be.
 * @param measured what was found: a sentence's beginning, such as `batch of 10001 signals`
 * @see Interface specification, "Errors"
 */
const payloadTooLarge = (limits: IngestLimits, measured: string): Failure => ({
  code: 'payload_too_large',
  message:
    limits.fixed === true
      ? `${measured}: a body of this call holds at most ${inBytes(limits.maxBodyBytes)}`
      : `${measured}: a request holds at most ${limits.maxSignals} signals (--max-batch-signals) ` +
        `and ${inBytes(limits.maxBodyBytes)} as received (--max-body-bytes); send smaller batches`,
});

export const bodyTooLarge = (limits: IngestLimits, contentLength?: number): Failure =>
  payloadTooLarge(
    limits,
    contentLength === undefined
      ? `body is larger than ${inBytes(limits.maxBodyBytes)}`
      : `body of ${contentLength} bytes is too large`,
  );

export const inflatedTooLarge = (limits: IngestLimits): Failure =>
  payloadTooLarge(
    limits,
    `body inflates to more than ${inBytes(limits.maxInflatedBytes)}${limits.fixed === true ? '' : ' (--max-inflated-bytes)'}`,
  );

/**
 * What any body may inflate to, however little of it was received, in bytes; and how many bytes each received byte may
 * become beyond that. Telemetry compresses to a tenth or a twentieth; bombs to a thousandth.
 */
const FREE_INFLATED_BYTES = 8 * MEBIBYTE;
const MOST_GROWTH = 24;

/** The most that may have been inflated from so many received bytes. */
export const mostInflated = (limits: IngestLimits, receivedBytes: number): number =>
  Math.min(limits.maxInflatedBytes, FREE_INFLATED_BYTES + MOST_GROWTH * receivedBytes);

/** The refusal of a body that inflates to more than so few bytes can mean. */
export const growsTooMuch = (limits: IngestLimits): Failure =>
  payloadTooLarge(
    limits,
    `body inflates to more than ${inBytes(FREE_INFLATED_BYTES)} and ${MOST_GROWTH} times what was received`,
  );

/** A decoder knows its own bound alone; what it found is said again beside both bounds of a request. */
export const withBothBounds = (limits: IngestLimits, failure: Failure): Failure =>
  failure.code === 'payload_too_large' && !failure.message.includes('--max-body-bytes')
    ? payloadTooLarge(limits, failure.message.split(';', 1)[0] ?? failure.message)
    : failure;

/** The refusal of batches that are too many, those without a signal and blank lines counted as one signal each. */
export const tooManyBatches = (limits: IngestLimits): Failure =>
  payloadTooLarge(limits, manyBatches(limits.maxSignals));

/** What a decoder says of the same: it knows its own bound alone. */
export const manyBatches = (maxSignals: number): string =>
  `more than ${maxSignals} signals, where a batch without one and a blank line count as one`;

/** @param signals the count where the whole request was decoded; absent where decoding stopped at the bound */
export const tooManySignals = (limits: IngestLimits, signals?: number): Failure =>
  payloadTooLarge(
    limits,
    signals === undefined
      ? `batch of more than ${limits.maxSignals} signals is too large`
      : `batch of ${signals} signals is too large`,
  );
