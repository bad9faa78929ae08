import type { FailureCode } from '../model/failure.ts';
import type { SignalBatch, SignalName } from '../model/signal.ts';
import type { UnixNano } from '../model/time.ts';

/** What every decoder gets. Decoders read no clock and no configuration of their own. */
export type DecodeContext = {
  readonly receivedAt: UnixNano;
  /** The project of signals that name none: the daemon's `--project`, or the project of the presented key. */
  readonly defaultProject: string;
  /** Most signals that one request may carry, counted after decoding and including refused ones. */
  readonly maxSignals: number;
  /** Most attributes and members of payloads; absent, the most that any request may have. */
  readonly maxKeys?: number;
  /** Most work that the payload may be, in nanoseconds; absent, nothing counts it. */
  readonly maxWork?: number;
  /** Makes the id of a record whose sender gave none; absent, a new one each time. */
  readonly makeRecordId?: () => string;
};

/** One signal that was refused while the rest of its batch goes on. @see Interface decisions, "4. Signals, native names" */
export type SignalRefusal = {
  /** Position of the element in the request: 0 unless the request carries several batches. */
  readonly batch: number;
  readonly signal: SignalName;
  readonly index: number;
  readonly code: FailureCode;
  readonly message: string;
  readonly field?: string;
};

/** One batch element as decoded and mapped: what is good, and what was refused and why. */
export type DecodedBatch = {
  readonly ingestKey?: string;
  readonly batch: SignalBatch;
  readonly refusals: readonly SignalRefusal[];
  /** Attributes and members that were read; absent where nothing more of the request is read. */
  readonly keys?: number;
  /** What it takes, in nanoseconds; absent where nothing more of the request is read. */
  readonly work?: number;
  /** Bytes that its signals hold of resources and scopes, beyond those of the body. */
  readonly sharedBytes?: number;
};
