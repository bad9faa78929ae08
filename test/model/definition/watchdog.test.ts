import { describe, expect, it } from 'vitest';
import { runWatched } from '../../../src/model/definition/watchdog.ts';

const forEver = (): never => {
  for (;;);
};

describe('watched work', () => {
  it('gives what it returns, and throws what it throws', () => {
    expect(runWatched(1000, () => 42)).toEqual({ finished: true, value: 42 });
    const error = new RangeError('mine');
    expect(() =>
      runWatched(1000, () => {
        throw error;
      }),
    ).toThrow(error);
  });

  it('is stopped in an endless loop, and in an endless regular expression', () => {
    expect(runWatched(5, forEver)).toEqual({ finished: false });
    expect(runWatched(5, () => /^(a+)+$/.test(`${'a'.repeat(50)}b`))).toEqual({ finished: false });
    expect(runWatched(1000, () => 'and goes on')).toEqual({ finished: true, value: 'and goes on' });
  });

  it('gets a second try, because a machine that slept used the time of the first', () => {
    let tries = 0;
    const once = (): string => {
      tries += 1;
      return tries === 1 ? forEver() : 'done';
    };
    expect(runWatched(20, once)).toEqual({ finished: true, value: 'done' });
  });

  it('may watch work inside work', () => {
    const inner = (): unknown => [runWatched(1000, () => 1), runWatched(5, forEver)];
    expect(runWatched(2000, inner)).toEqual({
      finished: true,
      value: [{ finished: true, value: 1 }, { finished: false }],
    });
  });
});
