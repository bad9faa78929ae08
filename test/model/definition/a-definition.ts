import type { Json } from '../../../src/model/json.ts';
import type { Definition } from '../../../src/model/definition/definition.ts';
import type { ExpressionScope } from '../../../src/model/definition/expression-scope.ts';
import { parseDefinition } from '../../../src/model/definition/parse.ts';

/** A document of one task; `over` replaces or adds keys. */
export const aDocument = (over: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  id: 'refund',
  version: 1,
  steps: [{ id: 'work', kind: 'task' }],
  ...over,
});

/** The example of the decisions, word for word. */
export const refundDocument: Json = {
  id: 'refund',
  version: 3,
  input_schema: { type: 'object', required: ['ticket'] },
  limits: { max_steps: 200, run_timeout_ms: 3_600_000, max_cost_usd: 2.5 },
  defaults: { retry: { max_attempts: 4, backoff_ms: 1000, multiplier: 2, max_backoff_ms: 60_000, jitter: 'full' } },
  steps: [
    {
      id: 'triage',
      kind: 'task',
      input: { ticket: '${input.ticket}' },
      delivery: 'at_least_once',
      timeout_ms: 60_000,
      on_error: [{ class: 'fatal', to: 'apologise' }],
      next: [
        { when: 'state.confidence >= 0.8', to: 'pay' },
        { when: 'visits.triage < 3', to: 'triage' },
        { to: 'ask' },
      ],
    },
    {
      id: 'ask',
      kind: 'wait_event',
      event: 'approval',
      key: 'ticket/${input.ticket.id}',
      accept_parked: true,
      timeout_ms: 86_400_000,
      on_timeout: 'fail',
      on_error: [{ class: 'timeout', to: 'apologise' }],
    },
    { id: 'cool_down', kind: 'sleep', sleep_ms: 60_000 },
    { id: 'pay', kind: 'task', delivery: 'at_most_once', input: { amount: '${state.amount}' } },
    {
      id: 'index',
      kind: 'child',
      definition: 'index-doc',
      for_each: '${input.docs}',
      input: { doc: '${item}' },
      max_parallel: 10,
    },
    { id: 'done', kind: 'succeed', output: { paid: '${steps.pay.output.ok}' } },
    { id: 'apologise', kind: 'task', next: 'refused' },
    { id: 'refused', kind: 'fail', code: 'refused' },
  ],
};

export const parsed = (document: unknown): Definition => {
  const result = parseDefinition(document);
  if (!result.ok) throw new Error(result.failure.message);
  return result.value;
};

/** The faults of a document as `path: message`, in the order in which they are named; empty when it is accepted. */
export const faultsOf = (document: unknown): string[] => {
  const result = parseDefinition(document);
  return result.ok ? [] : result.failure.faults.map(({ path, message }) => `${path}: ${message}`);
};

export const aScope = (over: Partial<ExpressionScope> = {}): ExpressionScope => ({
  state: {},
  steps: {},
  run: {
    run_id: 'r',
    definition_id: 'refund',
    definition_version: 1,
    created_at: '2026-01-01T00:00:00Z',
    project: 'p',
  },
  correlation: {},
  visits: {},
  ...over,
});
