import { StoreUnavailable } from '../../unavailable.ts';
import { errorCode, isOfValues } from '../driver-error.ts';
import { RUNS_SCHEMA } from './schema.ts';

/**
 * Another service took the shard over from this opener of the store. Nothing that this opener decided since is written, and it cannot go on.
 */
export class Fenced extends StoreUnavailable {
  override readonly name = 'Fenced';
}

const constraintOf = (error: unknown): string =>
  error instanceof Error && 'constraint' in error && typeof error.constraint === 'string'
    ? error.constraint
    : 'of a column';

/**
 * A row that the database refuses makes the store unavailable, as one does that moved under the kernel: somebody else writes, or memory
 * was wrong. What the driver says of it holds keys of senders, so it goes no further.
 */
export const judgeRefusal = (error: unknown): unknown =>
  isOfValues(error)
    ? new StoreUnavailable(
        `${RUNS_SCHEMA.store}: the database refuses a row: constraint ${constraintOf(error)} (${errorCode(error)})`,
      )
    : error;
