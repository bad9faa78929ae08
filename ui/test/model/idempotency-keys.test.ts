import { describe, expect, it } from 'vitest';
import { idempotencyKeys } from '../../src/model/idempotency-keys.ts';

describe('keys for what a form sends', () => {
  it('are the same for a body that is sent again, and new for another', () => {
    const keyOf = idempotencyKeys();
    const [cancel, again, pause] = [
      keyOf({ action: 'cancel', filter: { status: 'waiting' } }),
      keyOf({ action: 'cancel', filter: { status: 'waiting' } }),
      keyOf({ action: 'pause', filter: { status: 'waiting' } }),
    ];
    expect(again).toBe(cancel);
    expect(pause).not.toBe(cancel);
  });

  it('differ between forms', () => {
    const body = { action: 'cancel' };
    expect(idempotencyKeys()(body)).not.toBe(idempotencyKeys()(body));
  });
});
