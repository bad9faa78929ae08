import type { Run } from './generated/wire.ts';

/** The service answered, and refused. Branch on `code`. */
export class ServiceError extends Error {
  /** Stable and machine-readable: `not_found`, `input_invalid`, `run_terminal`, ... */
  readonly code: string;
  readonly status: number;
  /** The one parameter at fault, where there is one. */
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  /** What the service asks to wait before another try, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(fault: {
    code: string;
    message: string;
    status: number;
    field?: string | undefined;
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
  }) {
    super(fault.message);
    this.name = 'ServiceError';
    this.code = fault.code;
    this.status = fault.status;
    this.field = fault.field;
    this.requestId = fault.requestId;
    this.retryAfterMs = fault.retryAfterMs;
  }

  /** True for 429 and for the 5xx with which a gateway or a busy service says "later"; never for another 4xx. */
  get retryable(): boolean {
    if (this.code === 'runs_disabled') return false;
    return this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** No answer: the service could not be reached, or the connection broke, or it took too long. The outcome is unknown. */
export class ConnectionError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ConnectionError';
  }
}

/** The service has a data model of another major version, which this library does not understand. Nothing was started or registered. */
export class IncompatibleServer extends Error {
  /** Of the service: `spec_version` of its health document. */
  readonly serverVersion: string;
  /** Of this library. */
  readonly supportedVersion: string;
  constructor(serverVersion: string, supportedVersion: string) {
    super(
      `the service has version ${serverVersion} of the data model, and this library understands ${supportedVersion}: use a library of the same major version`,
    );
    this.name = 'IncompatibleServer';
    this.serverVersion = serverVersion;
    this.supportedVersion = supportedVersion;
  }
}

/** A run that was waited for did not succeed. `run` is the run as it ended. */
export class RunFailed extends Error {
  readonly run: Run;
  constructor(run: Run) {
    const { error } = run;
    const why =
      error === undefined
        ? ''
        : `: ${error.class}${error.code === undefined ? '' : `/${error.code}`}: ${error.message}`;
    super(`run ${run.run_id} ${run.status === 'cancelled' ? 'was cancelled' : 'failed'}${why}`);
    this.name = 'RunFailed';
    this.run = run;
  }
}

/** Raised by a body to be tried again, within the retry budget of its step. */
export class RetryableError extends Error {
  /** At least this long until the next try, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RetryableError';
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** What a body says of its failure. */
type FailureOfBody = { class: string; code?: string; message: string; retryAfterMs?: number };

const isWait = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < Infinity;

/** The body's own words, wherever in the arguments they stand. */
const wordsOf = (given: unknown): string[] => {
  if (typeof given === 'string') return [given];
  if (typeof given !== 'object' || given === null) return [];
  const { message } = given as { readonly message?: unknown };
  return wordsOf(message);
};

/** Reads the arguments of `StepFailure`, which untyped code may have mixed up: nothing here throws, and no words are lost. */
const readFailure = (given: unknown, more: readonly unknown[]) => {
  const { class: errorClass, code, message, retryAfterMs } = Object(given) as { readonly [name: string]: unknown };
  const faults = [
    ...(typeof errorClass === 'string' && errorClass !== '' ? [] : ['class is missing or no text']),
    ...(typeof message === 'string' ? [] : ['message is missing or no text']),
    ...(code === undefined || (typeof code === 'string' && code !== '') ? [] : ['code is no text']),
    ...(retryAfterMs === undefined || isWait(retryAfterMs) ? [] : ['retryAfterMs is no number from 0']),
    ...(more.length === 0 ? [] : ['it has one argument']),
  ];
  return {
    errorClass: typeof errorClass === 'string' && errorClass !== '' ? errorClass : undefined,
    code: typeof code === 'string' && code !== '' ? code : undefined,
    message: [given, ...more].flatMap(wordsOf).join(': '),
    retryAfterMs: isWait(retryAfterMs) ? retryAfterMs : undefined,
    problem:
      faults.length === 0
        ? undefined
        : `StepFailure takes { class, message, code?, retryAfterMs? }: ${faults.join(', ')}`,
  };
};

/**
 * Raised by a body to fail with a class of its choice: `rate_limited` (tried again, spends no budget), `fatal`, or one of
 * your own for `on_error` to match. A class that the service keeps for itself is refused by it.
 *
 * Called wrongly, it still carries the message that it was given, and the step fails with it: as `fatal` where no class was.
 */
export class StepFailure extends Error {
  readonly errorClass: string;
  readonly code: string | undefined;
  /** At least this long until the next try, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** What was wrong with the arguments; it is reported behind the message. */
  readonly problem: string | undefined;
  constructor(failure: FailureOfBody, ...more: never[]) {
    const { errorClass, code, message, retryAfterMs, problem } = readFailure(failure, more);
    super(message);
    this.name = 'StepFailure';
    this.errorClass = errorClass ?? 'fatal';
    this.code = code ?? (errorClass === undefined ? 'invalid_failure' : undefined);
    this.retryAfterMs = retryAfterMs;
    this.problem = problem;
  }
}

/** Why the signal of a step's context fired: its `reason`. */
export class StepInterrupted extends Error {
  /**
   * `fenced`: another worker has the step, or another lease ended this one. `run_terminal`: the run ended, a cancel above
   * all. `stopping`: this worker stops, and the time it gives its bodies is over.
   */
  readonly reason: 'fenced' | 'run_terminal' | 'stopping';
  constructor(reason: 'fenced' | 'run_terminal' | 'stopping') {
    super(
      {
        fenced: 'the step is no longer held by this worker',
        run_terminal: 'the run has ended',
        stopping: 'the worker is stopping',
      }[reason],
    );
    this.name = 'StepInterrupted';
    this.reason = reason;
  }
}
