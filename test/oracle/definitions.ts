import * as fc from 'fast-check';
import type { Json } from '../../src/model/json.ts';

const document = (id: string, steps: readonly object[], more: object = {}): Json =>
  JSON.parse(JSON.stringify({ id, version: 1, steps, ...more })) as Json;
const task = (id: string, more: object = {}) => ({ id, kind: 'task', ...more });
const none = { jitter: 'none' };

export const plain = (version: number): Json =>
  document(
    'plain',
    [
      task('a', { input: { n: '${input.n?}', v: version } }),
      task('b'),
      { id: 'done', kind: 'succeed', output: { b: '${steps.b.output?}' } },
    ],
    {
      version,
      limits: { max_cost_usd: 2 },
      defaults: { retry: { max_attempts: 2, backoff_ms: 0 } },
    },
  );

/** Between them they hold every kind of step, both modes of delivery, every limit and every way to fail. */
export const definitions: readonly Json[] = [
  plain(1),
  document('once', [
    task('pay', {
      delivery: 'at_most_once',
      timeout_ms: 9_001,
      on_error: [
        { class: 'unservable', to: 'end' },
        { code: 'odd', to: 'after' },
        { class: 'orphaned', code: 'never', to: 'end' },
      ],
    }),
    task('after', { delivery: 'at_most_once', input: { was: '${error.class?}' }, on_error: [{ to: 'end' }] }),
  ]),
  document(
    'retry',
    [
      task('slow', {
        timeout_ms: 6_003,
        retry: { max_attempts: 2, backoff_ms: 1500, multiplier: 3, ...none },
        on_error: [{ class: 'retryable', to: 'full' }],
      }),
      task('full', { retry: { max_attempts: 4, backoff_ms: 3001, max_backoff_ms: 4000 } }),
    ],
    { output: { by: '${error.step_id?}', full: '${steps.full.output?}' } },
  ),
  document(
    'loop',
    [
      task('turn', {
        input: '${state.n?}',
        retry: { backoff_ms: 0, ...none },
        next: [
          { when: 'visits.turn < 2', to: 'turn' },
          { when: 'state.n > 1', to: 'pick' },
          { when: 'state.n == 1', to: 'turn' },
        ],
        on_error: [{ class: 'expression', to: 'pick' }],
      }),
      task('pick', {
        input: { need: '${state.wanted}' },
        next: 'turn',
        on_error: [{ class: 'expression', to: 'end' }],
      }),
    ],
    { limits: { max_steps: 4 } },
  ),
  document('capped', [
    task('dear', {
      limits: { max_attempts_total: 3, max_cost_usd: 1 },
      timeout_ms: 12_001,
      retry: { backoff_ms: 0 },
      next: [{ when: 'visits.dear < 3', to: 'dear' }, { to: 'end' }],
      on_error: [{ class: 'mine', to: 'after' }],
    }),
    { id: 'after', kind: 'wait_event', event: 'go', key: 'never' },
  ]),
  document('ask', [
    {
      id: 'soft',
      kind: 'wait_event',
      event: 'go',
      key: '${input.k}',
      accept_parked: true,
      timeout_ms: 7_007,
      on_timeout: 'continue',
    },
    { id: 'hard', kind: 'wait_event', event: 'stop', timeout_ms: 11_003, on_error: [{ class: 'timeout', to: 'nap' }] },
    { id: 'nap', kind: 'sleep', sleep_ms: 2_503 },
    {
      id: 'told',
      kind: 'succeed',
      output: { event: '${event?}', soft: '${steps.soft.output?}', error: '${error.class?}' },
    },
  ]),
  document('first', [
    {
      id: 'either',
      kind: 'wait_event',
      any: [
        { event: 'go', key: '${input.k}', to: 'went' },
        { event: 'go', key: '1' },
        { event: 'stop', to: 'end' },
      ],
      accept_parked: true,
      timeout_ms: 9_001,
      on_timeout: 'continue',
      on_error: [{ class: 'expression', to: 'went' }],
      next: [{ when: 'visits.either < 2', to: 'either' }, { to: 'went' }],
    },
    task('went', { input: { event: '${event?}', got: '${steps.either.output?}' } }),
  ]),
  document('open', [
    { id: 'wait', kind: 'wait_event', event: 'go', key: '${input.k}' },
    task('then', { input: '${event.payload}' }),
  ]),
  document('kid', [task('work', { input: { doc: '${input.doc?}' }, retry: { max_attempts: 1 } })], {
    input_schema: { type: 'object', properties: { doc: { type: ['number', 'null'] } } },
    limits: { run_timeout_ms: 60_013 },
  }),
  document('quick', [{ id: 'at_once', kind: 'succeed', output: '${input.doc?}' }]),
  document('torn', [{ id: 'told', kind: 'succeed', output: '${input.gone}' }]),
  document('fan', [
    {
      id: 'index',
      kind: 'child',
      definition: 'kid',
      for_each: '${input.l}',
      input: { doc: '${item}' },
      max_parallel: 2,
      on_error: [{ code: 'child_failed', to: 'again' }],
    },
    {
      id: 'again',
      kind: 'child',
      definition: 'quick',
      for_each: '${input.l}',
      input: { doc: '${item}' },
      max_parallel: 2,
    },
    task('sum', { input: ['${steps.index.output?}', '${steps.again.output?}'] }),
  ]),
  document('gather', [
    {
      id: 'all',
      kind: 'child',
      definition: 'kid',
      for_each: '${input.l}',
      input: { doc: '${item.n}' },
      max_parallel: 2,
      on_item_error: 'collect',
      on_error: [{ to: 'sum' }],
    },
    task('sum', { input: '${steps.all.output?}' }),
  ]),
  document('tree', [
    {
      id: 'sub',
      kind: 'child',
      definition: 'fan',
      input: { l: [1, 2, 3] },
      on_error: [{ class: 'cancelled', to: 'lost' }],
    },
    { id: 'lone', kind: 'child', definition: 'missing', on_error: [{ to: 'bad' }] },
    { id: 'bad', kind: 'fail', code: 'bad', message: 'after ${error.code?}' },
    { id: 'lost', kind: 'fail', code: 'lost' },
  ]),
  document(
    'dated',
    [
      { id: 'until', kind: 'sleep', sleep_until: '${input.at}', on_error: [{ class: 'expression', to: 'last' }] },
      task('last', { delivery: 'at_most_once' }),
    ],
    { limits: { run_timeout_ms: 20_011 } },
  ),
  document('checked', [task('only'), { id: 'stop', kind: 'fail', code: 'no' }], {
    input_schema: { type: 'object', required: ['ticket'] },
  }),
];
export const ids = [
  'plain',
  'once',
  'retry',
  'loop',
  'capped',
  'ask',
  'first',
  'open',
  'kid',
  'fan',
  'tree',
  'dated',
  'checked',
  'any',
  'nowhere',
];

const name = (n: number): string => `s${n}`;
const errorClass = fc.constantFrom(
  'retryable',
  'fatal',
  'timeout',
  'orphaned',
  'expression',
  'cancelled',
  'unservable',
  'mine',
);

/** A definition of a few steps of any kind that lead anywhere. Those that could never end are refused at register, by both. */
export const anyDefinition = fc.integer({ min: 1, max: 4 }).chain((last) => {
  const to = fc.oneof({ weight: 3, arbitrary: fc.nat(last).map(name) }, { weight: 1, arbitrary: fc.constant('end') });
  const ahead = (from: number) => fc.integer({ min: from + 1, max: last + 1 }).map((n) => (n > last ? 'end' : name(n)));
  const next = (from: number) =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(undefined) },
      ahead(from),
      fc.tuple(to, ahead(from)).map(([loop, on]) => [{ when: `visits.${name(from)} < 2`, to: loop }, { to: on }]),
      fc.tuple(ahead(from), ahead(from)).map(([one, other]) => [
        { when: 'state.n >= 1', to: one },
        { when: 'has(state.n)', to: other },
      ]),
    );
  const onError = (from: number) =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(undefined) },
      fc.tuple(errorClass, ahead(from)).map(([cls, on]) => [{ class: cls, to: on }]),
      ahead(from).map((on) => [{ to: on }]),
      fc.tuple(errorClass, ahead(from), ahead(from)).map(([cls, one, other]) => [
        { class: cls, code: 'odd', to: one },
        { code: 'child_failed', to: other },
      ]),
    );
  const step = (n: number) => {
    const id = name(n);
    const onward = { next: next(n), on_error: onError(n) };
    return fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          ...onward,
          id: fc.constant(id),
          kind: fc.constant('task'),
          delivery: fc.constantFrom('at_least_once', 'at_most_once', undefined),
          timeout_ms: fc.constantFrom(undefined, 4_001, 13_003),
          input: fc.constantFrom(
            undefined,
            '${state.n}',
            { x: '${steps.s0.output?}', e: '${error.class?}' },
            'n is ${state.n?}',
          ),
          retry: fc.constantFrom(undefined, { max_attempts: 1 }, { backoff_ms: 0 }, { backoff_ms: 2_001, ...none }),
          limits: fc.constantFrom(
            undefined,
            undefined,
            { max_attempts_total: 2 },
            { max_cost_usd: 0.9 },
            {
              max_attempts_total: 1,
              max_cost_usd: 2,
            },
          ),
        }),
      },
      fc.record({
        ...onward,
        id: fc.constant(id),
        kind: fc.constant('wait_event'),
        event: fc.constantFrom('go', 'stop'),
        key: fc.constantFrom('', '${input.k}', '${state.n?}'),
        accept_parked: fc.boolean(),
        timeout_ms: fc.constantFrom(undefined, 5_003),
        on_timeout: fc.constantFrom('fail', 'continue'),
      }),
      fc.record(
        {
          ...onward,
          id: fc.constant(id),
          kind: fc.constant('wait_event'),
          any: fc.tuple(
            fc.record(
              { event: fc.constantFrom('go', 'stop'), key: fc.constantFrom('1', '${input.k}'), to: ahead(n) },
              { requiredKeys: ['event', 'key'] },
            ),
            fc.record(
              { event: fc.constantFrom('go', 'stop'), key: fc.constantFrom('', '${state.n?}'), to },
              { requiredKeys: ['event', 'key'] },
            ),
          ),
          accept_parked: fc.boolean(),
          timeout_ms: fc.constantFrom(undefined, 5_003),
          on_timeout: fc.constantFrom('fail', 'continue'),
        },
        { noNullPrototype: true },
      ),
      fc.record({ ...onward, id: fc.constant(id), kind: fc.constant('sleep'), sleep_ms: fc.constantFrom(0, 1, 3_007) }),
      fc
        .record({
          ...onward,
          id: fc.constant(id),
          kind: fc.constant('child'),
          definition: fc.constantFrom('kid', 'quick', 'plain'),
          for_each: fc.constantFrom(undefined, '${input.l?}', [1, 2], []),
          input: fc.constantFrom(undefined, { doc: 1 }, { doc: '${item?}' }, { doc: '${state.n?}' }),
          max_parallel: fc.constantFrom(undefined, 1),
          on_item_error: fc.constantFrom(undefined, 'collect', 'fail_fast'),
        })
        .map(({ on_item_error, ...drawn }) => (drawn.for_each === undefined ? drawn : { ...drawn, on_item_error })),
      fc.record({
        id: fc.constant(id),
        kind: fc.constant('succeed'),
        output: fc.constantFrom(undefined, '${state}', '${input.l}'),
      }),
      fc.record({ id: fc.constant(id), kind: fc.constant('fail'), code: fc.constantFrom(undefined, 'odd') }),
    );
  };
  return fc
    .record({
      steps: fc.tuple(...Array.from({ length: last + 1 }, (_, n) => step(n))),
      limits: fc.constantFrom(undefined, { max_steps: 5 }, { run_timeout_ms: 30_011 }, { max_cost_usd: 1 }),
      output: fc.constantFrom(undefined, { n: '${state.n?}' }, '${state.n}'),
    })
    .map(({ steps, ...more }) => document('any', steps, { ...more, limits: { max_steps: 12, ...more.limits } }));
});
