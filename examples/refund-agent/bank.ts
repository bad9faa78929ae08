import { RetryableError } from '../../sdk/typescript/src/index.ts';

const payments = new Map<string, { payment: string; amount: number }>();
const refusedOnce = new Set<string>();

/**
 * Stands for a bank with an API as banks have them: it fails now and then, and it takes an idempotency key. The first try
 * for a key fails, so that a retry can be seen; a repeated key pays nothing twice.
 */
export const pay = async (amount: number, idempotencyKey: string): Promise<{ payment: string; amount: number }> => {
  await Promise.resolve();
  const before = payments.get(idempotencyKey);
  if (before !== undefined) return before;
  if (!refusedOnce.has(idempotencyKey)) {
    refusedOnce.add(idempotencyKey);
    throw new RetryableError('the bank does not answer');
  }
  const paid = { payment: `payment-${payments.size + 1}`, amount };
  payments.set(idempotencyKey, paid);
  return paid;
};
