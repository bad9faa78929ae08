import { type FailureCode, Refusal } from '../model/failure.ts';

/**
 * A store failed or is away: the one failure that both halves share. The caller may try again; what it asked to be written may
 * have been written. `message` is fit for an operator: it names the store and the cause, never a stored value.
 */
export class StoreUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreUnavailable';
  }
}

/** The code of an error, as it is shown and counted. */
export const failureCodeOf = (error: unknown): FailureCode => {
  if (error instanceof StoreUnavailable) return 'store_unavailable';
  return error instanceof Refusal ? error.failure.code : 'internal';
};
