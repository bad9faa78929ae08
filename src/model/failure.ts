/**
 * Every reason for which the service refuses a call. Callers branch on `code`; codes are added or retired, never renamed
 * or given a second meaning. The HTTP status of each code stands in `http/answer/problem.ts`, and nowhere else.
 * @see Interface decisions, "2. Errors"
 */
export const failureCodes = [
  'invalid_parameter',
  'invalid_body',
  'invalid_id',
  'unknown_scorer',
  'cap_exceeded',
  'definition_invalid',
  'input_invalid',
  'judge_not_configured',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'not_acceptable',
  'already_applied',
  'fenced',
  'run_terminal',
  'not_started',
  'definition_conflict',
  'conflict',
  'limit_reached',
  'payload_too_large',
  'unsupported_content_encoding',
  'unsupported_media_type',
  'overloaded',
  'over_quota',
  'runs_disabled',
  'store_unavailable',
  'request_timeout',
  'internal',
] as const;

export type FailureCode = (typeof failureCodes)[number];

/** An expected refusal, as a value. `message` names the value, the bound and the way out; it never holds a payload or key. */
export type Failure = {
  readonly code: FailureCode;
  readonly message: string;
  /** The one parameter or body field at fault, where there is one. */
  readonly field?: string;
  /** Seconds after which the same call may succeed, where a retry can help. Becomes `Retry-After`. */
  readonly retryAfterSeconds?: number;
};

export type Result<T, F extends Failure = Failure> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: F };

/**
 * A failure on its way through code that cannot return it as a value (streams, decoders, store drivers). The one error
 * handler in `http/answer/problem.ts` answers it as its `failure`; `cause` is logged, never sent.
 */
export class Refusal extends Error {
  readonly failure: Failure;
  constructor(failure: Failure, options?: { cause?: unknown }) {
    super(failure.message, options);
    this.name = 'Refusal';
    this.failure = failure;
  }
}

/** That something failed, to be shown to any caller: the message is for the log alone, as it may name what others own. */
export type FaultNote = { readonly at: number; readonly code: FailureCode };
