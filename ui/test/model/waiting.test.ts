import { expect, it } from 'vitest';
import { waitingText } from '../../src/model/waiting.ts';

it.each([
  [{}, '—'],
  [{ waiting_on: 'event', waiting_keys: ['order-7'] }, 'event order-7'],
  [{ waiting_on: 'event', waiting_keys: ['a', 'b'] }, 'event a or b'],
  [{ waiting_on: 'timer' }, 'timer'],
  [{ waiting_on: 'worker' }, 'a worker'],
] as const)('%j waits for: %s', (run, text) => {
  expect(waitingText({ ...run, waiting_keys: 'waiting_keys' in run ? [...run.waiting_keys] : [] })).toBe(text);
});
