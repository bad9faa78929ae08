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
