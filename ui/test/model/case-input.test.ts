import { expect, it } from 'vitest';
import { valueOfText } from '../../src/model/case-input.ts';

it('a typed case is JSON where it is JSON, else the text itself', () => {
  expect(valueOfText(' {"a": [1]} ')).toEqual({ a: [1] });
  expect(valueOfText('42')).toBe(42);
  expect(valueOfText('Where is my order?')).toBe('Where is my order?');
  expect(valueOfText('{"a"')).toBe('{"a"');
  expect(valueOfText(' \n')).toBeUndefined();
});
