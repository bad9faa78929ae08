import { Refusal } from '../../model/failure.ts';

/** Deepest nesting of an attribute's value (arrays and maps inside of each other). */
export const MOST_VALUE_DEPTH = 64;

/** Most attributes, nested values, events and links of one request. */
export const MOST_NODES = 1_000_000;

/**
 * A decoder was given a budget of nodes, and the body has more. It is not a refusal: the body goes to a thread, where it
 * is decoded again with a larger budget.
 */
export class BudgetExceeded extends Error {
  readonly budget: number;
  constructor(budget: number) {
    super(`the body has more than ${budget} nodes`);
    this.name = 'BudgetExceeded';
    this.budget = budget;
  }
}

/**
 * What to throw when a body has more nodes than the budget: up to the hard bound the caller may try again with more.
 * @param most the hard bound
 */
export const overBudget = (budget: number, most: number = MOST_NODES): BudgetExceeded | Refusal =>
  budget < most
    ? new BudgetExceeded(budget)
    : new Refusal({
        code: 'payload_too_large',
        message: `the request has more than ${most} attributes, nested values, events and links, the most for a body of its size; send smaller batches`,
      });

/**
 * Most attributes, and bytes of them, that the signals of one request hold of resources and scopes together. What is said
 * once and shared is kept with every signal: ten thousand of them with fifty attributes of 3 KiB are within.
 */
export const MOST_SHARED_ATTRIBUTES = 500_000;
export const MOST_SHARED_BYTES = 32 * 1024 * 1024;

/** What stands at a resource and its scope, and so at each of its signals. */
export type Shared = { readonly attributes: number; readonly bytes: number };

export const NOTHING_SHARED: Shared = { attributes: 0, bytes: 0 };

export const addShared = (one: Shared, other: Shared): Shared => ({
  attributes: one.attributes + other.attributes,
  bytes: one.bytes + other.bytes,
});

/**
 * Counts what resources and scopes say, once for each signal below them, before it costs anything.
 * @see Interface decisions, "12. Decided since", Bounds that were missing
 */
export class SharedCount {
  private attributes = 0;
  /** Bytes that signals hold of resources and scopes. */
  bytes = 0;

  /** @throws Refusal `payload_too_large` */
  add(signals: number, { attributes, bytes }: Shared): void {
    this.attributes += attributes * signals;
    this.bytes += bytes * signals;
    if (this.attributes <= MOST_SHARED_ATTRIBUTES && this.bytes <= MOST_SHARED_BYTES) return;
    throw new Refusal({
      code: 'payload_too_large',
      message:
        `resources and scopes give the signals of the request more than ${MOST_SHARED_ATTRIBUTES} attributes or ` +
        `${MOST_SHARED_BYTES} bytes of them, counted at each signal; send smaller batches`,
    });
  }
}

/**
 * Counts resources and scopes without a signal: each counts as one signal.
 * @see Interface decisions, "12. Decided since", Bounds that were missing
 */
export class EmptyCount {
  private readonly maxSignals: number;
  private empty = 0;

  constructor(maxSignals: number) {
    this.maxSignals = maxSignals;
  }

  /**
   * Counts one.
   * @param signals those of the request so far
   * @throws Refusal `payload_too_large` when there are more of both than signals may be
   */
  add(signals: number): void {
    this.empty += 1;
    this.check(signals);
  }

  /** @throws Refusal `payload_too_large` when signals and empty parts are more than signals may be */
  check(signals: number): void {
    if (this.empty === 0 || signals + this.empty <= this.maxSignals) return;
    throw new Refusal({
      code: 'payload_too_large',
      message:
        `the request has more than ${this.maxSignals} signals, resources without a signal and scopes without a signal; ` +
        'leave out what is empty',
    });
  }
}

/**
 * The refusal of a request with too many signals.
 * @see Interface specification, "Errors": 413 `payload_too_large`, message naming both numbers
 */
export const tooManySignals = (found: number, limit: number): Refusal =>
  new Refusal({
    code: 'payload_too_large',
    message: `the request has ${found} signals and the limit is ${limit}; send smaller batches or raise --max-batch-signals`,
  });
