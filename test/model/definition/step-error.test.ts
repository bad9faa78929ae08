import { describe, expect, it } from 'vitest';
import { routeError } from '../../../src/model/definition/step-error.ts';

describe('on_error', () => {
  const routes = [
    { class: 'fatal', code: 'card_expired', to: 'both' },
    { code: 'card_expired', to: 'code' },
    { class: 'fatal', to: 'class' },
    { class: 'timeout', to: 'timeout' },
  ];

  it.each([
    ['class and code, where a line has both', { class: 'fatal', code: 'card_expired' }, 'both'],
    ['the code alone', { class: 'retryable', code: 'card_expired' }, 'code'],
    ['the class alone, whatever the code', { class: 'fatal', code: 'other' }, 'class'],
    ['the class alone, without a code', { class: 'fatal' }, 'class'],
    ['a class of the service', { class: 'timeout' }, 'timeout'],
    ['nothing, when no line matches', { class: 'retryable' }, undefined],
    ['nothing, for a class that only begins alike', { class: 'fatal_error' }, undefined],
  ])('matches %s', (_title, error, to) => {
    expect(routeError(routes, error)).toBe(to);
  });

  it('takes the first line that matches', () => {
    expect(
      routeError(
        [
          { class: 'fatal', to: 'first' },
          { class: 'fatal', code: 'x', to: 'second' },
        ],
        { class: 'fatal', code: 'x' },
      ),
    ).toBe('first');
  });

  it('takes any error with a line that names neither', () => {
    expect(routeError([{ class: 'fatal', to: 'a' }, { to: 'rest' }], { class: 'anything' })).toBe('rest');
    expect(routeError([], { class: 'anything' })).toBeUndefined();
  });
});
