import { describe, expect, it } from 'vitest';
import { takesError } from '../../../src/model/definition/step-error.ts';

describe('a line of on_error', () => {
  it.each([
    ['takes class and code together', { class: 'fatal', code: 'x' }, { class: 'fatal', code: 'x' }, true],
    ['not the class with another code', { class: 'fatal', code: 'x' }, { class: 'fatal', code: 'y' }, false],
    ['not the class without a code', { class: 'fatal', code: 'x' }, { class: 'fatal' }, false],
    ['not the code with another class', { class: 'fatal', code: 'x' }, { class: 'retryable', code: 'x' }, false],
    ['takes a code, whatever the class', { code: 'x' }, { class: 'retryable', code: 'x' }, true],
    ['takes a class, whatever the code', { class: 'fatal' }, { class: 'fatal', code: 'other' }, true],
    ['takes a class without a code', { class: 'fatal' }, { class: 'fatal' }, true],
    ['takes a class of the service', { class: 'timeout' }, { class: 'timeout' }, true],
    ['not a class that only begins alike', { class: 'fatal' }, { class: 'fatal_error' }, false],
    ['takes any error when it names neither', {}, { class: 'anything', code: 'x' }, true],
  ])('%s', (_title, route, error, taken) => {
    expect(takesError(route, error)).toBe(taken);
  });
});
