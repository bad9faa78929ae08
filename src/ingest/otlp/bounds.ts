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

/** What to throw when a body has more nodes than the budget: up to the hard bound the caller may try again with more. */
export const overBudget = (budget: number): BudgetExceeded | Refusal =>
  budget < MOST_NODES
    ? new BudgetExceeded(budget)
    : new Refusal({
        code: 'payload_too_large',
        message: `the request has more than ${MOST_NODES} attributes, nested values, events and links; send smaller batches`,
      });

/**
 * The refusal of a request with too many signals.
 * @see Interface specification, "Errors": 413 `payload_too_large`, message naming both numbers
 */
export const tooManySignals = (found: number, limit: number): Refusal =>
  new Refusal({
    code: 'payload_too_large',
    message: `the request has ${found} signals and the limit is ${limit}; send smaller batches or raise --max-batch-signals`,
  });
