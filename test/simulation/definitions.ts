import type { Json } from '../../src/model/json.ts';

const HOUR = 3600_000;
export const NAP_MS = 45_000;
/** Every run of them ends by itself: each wait has a deadline, and each run a longest time. */
export const simulated: readonly Json[] = [
  {
    id: 'order',
    version: 1,
    limits: { run_timeout_ms: 6 * HOUR, max_cost_usd: 40 },
    steps: [
      {
        id: 'quote',
        kind: 'task',
        timeout_ms: 90_000,
        retry: { backoff_ms: 2000 },
        on_error: [{ to: 'ask' }],
        concurrency: { key: '${input.key}', limit: 1 },
      },
      {
        id: 'ask',
        kind: 'wait_event',
        any: [
          { event: 'paid', key: '${input.key}' },
          { event: 'waived', key: '${input.key}', to: 'charge' },
        ],
        accept_parked: true,
        timeout_ms: 600_000,
        on_timeout: 'continue',
      },
      {
        id: 'charge',
        kind: 'task',
        delivery: 'at_most_once',
        timeout_ms: 120_000,
        on_error: [
          { class: 'orphaned', to: 'nap' },
          { class: 'fatal', to: 'nap' },
        ],
      },
      { id: 'nap', kind: 'sleep', sleep_ms: NAP_MS },
      {
        id: 'ship',
        kind: 'task',
        concurrency: { key: '${input.key}', limit: 1 },
        rate: { key: 'ships', limit: 3, per_ms: 15_000 },
        next: [{ when: 'visits.ship < 2', to: 'nap' }, { to: 'end' }],
      },
    ],
  },
  {
    id: 'batch',
    version: 1,
    limits: { run_timeout_ms: 8 * HOUR },
    steps: [
      {
        id: 'items',
        kind: 'child',
        definition: 'item',
        for_each: '${input.items}',
        input: { item: '${item}' },
        max_parallel: 2,
        on_error: [{ to: 'after' }],
      },
      { id: 'after', kind: 'task' },
    ],
  },
  {
    id: 'burst',
    version: 1,
    limits: { run_timeout_ms: 2 * HOUR },
    steps: [
      {
        id: 'grains',
        kind: 'child',
        definition: 'grain',
        for_each: '${input.items}',
        input: { item: '${item}' },
        max_parallel: 150,
      },
      { id: 'after', kind: 'task' },
    ],
  },
  { id: 'grain', version: 1, steps: [{ id: 'done', kind: 'succeed', output: '${input.item}' }] },
  {
    id: 'item',
    version: 1,
    concurrency: { key: 'items', limit: 3 },
    limits: { run_timeout_ms: 2 * HOUR },
    steps: [
      { id: 'work', kind: 'task', retry: { max_attempts: 3, backoff_ms: 1000 } },
      { id: 'once', kind: 'task', delivery: 'at_most_once', on_error: [{ class: 'orphaned', to: 'end' }] },
    ],
  },
];
