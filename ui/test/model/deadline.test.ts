import { expect, it } from 'vitest';
import { afterDeadline } from '../../src/model/deadline.ts';

const definition = {
  id: 'refund',
  steps: [
    { id: 'approve', kind: 'wait_event', timeout_ms: 1000, on_timeout: 'continue' },
    { id: 'confirm', kind: 'wait_event', timeout_ms: 1000 },
  ],
};

it.each([
  ['approve', 'it continues without output'],
  // `fail` is what the service does where a definition says nothing.
  ['confirm', 'it fails'],
  ['of another version', 'it fails'],
])('after the deadline of the wait of the step "%s" %s', (step, text) => {
  expect(afterDeadline(definition, step)).toBe(text);
});
