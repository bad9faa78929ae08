import type { Json } from '../../../src/model/json.ts';
import { ALL, aDefinition, type Harness, task } from '../run-harness.ts';

/** A definition that waits for the approval of the ticket in its input, and then runs a task with what it got. */
export const waiting = (more: object = {}): Json =>
  aDefinition('flow', [
    { id: 'ask', kind: 'wait_event', event: 'approval', key: 'ticket/${input.id}', ...more },
    task('then', { input: { got: '${steps.ask.output?}', name: '${event.name?}' }, next: 'end' }),
  ]);

export const publish = (service: Pick<Harness, 'runs'>, key: string, more: object = {}) =>
  service.runs.publishEvent({ ...ALL, project: 'p', event: 'approval', key, payload: { ok: true }, ...more });
