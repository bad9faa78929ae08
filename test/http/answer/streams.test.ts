import { describe, expect, it } from 'vitest';
import { createStreamRegistry } from '../../../src/http/answer/streams.ts';

const overloaded = { ok: false, failure: { code: 'overloaded' } };

describe('the register of event streams', () => {
  it('bounds streams by key and in all, and lets another in when one has ended', () => {
    const streams = createStreamRegistry({ perKey: 2, total: 3 });
    const first = streams.open('a', () => {});
    expect(first.ok).toBe(true);
    expect(streams.open('a', () => {}).ok).toBe(true);
    expect(streams.open('a', () => {})).toMatchObject(overloaded);
    if (first.ok) first.value();
    expect(streams.open('a', () => {}).ok).toBe(true);
    expect(streams.open('b', () => {}).ok).toBe(true);
    expect(streams.open('c', () => {})).toMatchObject(overloaded);
  });

  it('counts a stream that ends twice once', () => {
    const streams = createStreamRegistry({ perKey: 1, total: 2 });
    const first = streams.open('a', () => {});
    if (first.ok) {
      first.value();
      first.value();
    }
    expect(streams.open('a', () => {}).ok).toBe(true);
    expect(streams.open('a', () => {})).toMatchObject(overloaded);
  });
});
