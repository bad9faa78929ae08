import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { definitionBounds } from '../../../src/model/definition/definition.ts';
import { parseDefinition } from '../../../src/model/definition/parse.ts';
import { compileDefinition } from '../../../src/model/definition/compile.ts';
import { aDocument, faultsOf, parsed, refundDocument } from './a-definition.ts';

const steps = (...list: unknown[]) => aDocument({ steps: list });
const inOrder = (left: string, right: string): number => left.localeCompare(right);
const task = (over: object = {}) => ({ id: 'work', kind: 'task', ...over });

describe('a definition that is accepted', () => {
  it('is the example of the decisions, with every default filled in', () => {
    const definition = parsed(refundDocument);
    expect(definition.limits).toEqual({ maxSteps: 200, runTimeoutMs: 3_600_000, maxCostUsd: 2.5 });
    expect(definition.steps.map((step) => [step.id, step.kind])).toEqual([
      ['triage', 'task'],
      ['ask', 'wait_event'],
      ['cool_down', 'sleep'],
      ['pay', 'task'],
      ['index', 'child'],
      ['done', 'succeed'],
      ['apologise', 'task'],
      ['refused', 'fail'],
    ]);
    expect(definition.steps[1]).toEqual({
      id: 'ask',
      kind: 'wait_event',
      awaited: [{ event: 'approval', key: 'ticket/${input.ticket.id}' }],
      acceptParked: true,
      timeoutMs: 86_400_000,
      onTimeout: 'fail',
      next: [{ to: 'cool_down' }],
      onError: [{ class: 'timeout', to: 'apologise' }],
    });
  });

  it('has the defaults of the fine print where it is silent', () => {
    const [work, wait, each] = parsed(
      steps(task(), { id: 'w', kind: 'wait_event', event: 'e' }, { id: 'c', kind: 'child', definition: 'd' }),
    ).steps;
    expect(work).toEqual({
      id: 'work',
      kind: 'task',
      delivery: 'at_least_once',
      retry: { maxAttempts: 4, backoffMs: 1000, multiplier: 2, maxBackoffMs: 60_000, jitter: 'full' },
      next: [{ to: 'w' }],
      onError: [],
    });
    expect(wait).toMatchObject({ awaited: [{ event: 'e', key: '' }], acceptParked: false, onTimeout: 'fail' });
    expect(wait).not.toHaveProperty('timeoutMs');
    expect(each).toMatchObject({ maxParallel: 10, onItemError: 'fail_fast', next: [{ to: 'end' }] });
  });

  it('merges retry per step: the step over the defaults of the definition over those of the service', () => {
    const [work] = parsed(
      aDocument({
        defaults: { retry: { max_attempts: 7, backoff_ms: 5 } },
        steps: [task({ retry: { backoff_ms: 9, jitter: 'none' } })],
      }),
    ).steps;
    expect(work).toMatchObject({
      retry: { maxAttempts: 7, backoffMs: 9, multiplier: 2, maxBackoffMs: 60_000, jitter: 'none' },
    });
  });

  it('gives an at_most_once step one attempt, whatever its retry says', () => {
    const [work] = parsed(steps(task({ delivery: 'at_most_once', retry: { max_attempts: 9 } }))).steps;
    expect(work).toMatchObject({ retry: { maxAttempts: 1 } });
  });

  it('has limits of a task only where the task names them', () => {
    const limited = task({ limits: { max_attempts_total: 3, max_cost_usd: 0.5 } });
    const [work] = parsed(steps(limited)).steps;
    expect(work).toMatchObject({ limits: { maxAttemptsTotal: 3, maxCostUsd: 0.5 } });
    expect(parsed(steps(task())).steps[0]).not.toHaveProperty('limits');
  });

  const either = (more: object, lines: readonly object[]) => ({ id: 'w', kind: 'wait_event', any: lines, ...more });

  it('waits for any of 2 to 20 events, each with a key, and some with a place of their own', () => {
    const lines = Array.from({ length: 20 }, (_, n) => ({
      event: `e${n}`,
      ...(n === 0 ? { key: 'k', to: 'end' } : {}),
    }));
    const [wait] = parsed(steps(either({}, lines))).steps;
    expect(wait).toMatchObject({
      awaited: [{ event: 'e0', key: 'k', to: 'end' }, { event: 'e1', key: '' }, ...lines.slice(2)],
    });
    expect(faultsOf(steps(either({}, [...lines, { event: 'one more' }])))[0]).toContain(
      'must have at most 20 items, and has 21',
    );
  });

  it('a step that only an event of any leads to is reachable, and one that its next would lead to is not', () => {
    const lines = [
      { event: 'a', to: 'far' },
      { event: 'b', to: 'far' },
    ];
    const far = { id: 'far', kind: 'task', next: 'end' };
    const near = { id: 'near', kind: 'task', next: 'far' };
    expect(faultsOf(steps(either({}, lines), near, far))).toEqual([
      'steps[1]: step "near" is unreachable: nothing leads to it',
    ]);
    // At its timeout the wait goes on to the step that follows.
    expect(faultsOf(steps(either({ timeout_ms: 1, on_timeout: 'continue' }, lines), near, far))).toEqual([]);
    expect(faultsOf(steps(either({}, [{ event: 'c' }, ...lines]), near, far))).toEqual([]);
  });

  it('a wait from which every event leads in a circle has no way to an end', () => {
    const lines = [
      { event: 'a', to: 'w' },
      { event: 'b', to: 'w' },
    ];
    expect(faultsOf(steps(either({}, lines)))).toEqual([
      'steps[0]: step "w" has no way to an end: a run that enters it can never end',
    ]);
  });

  it('is frozen, and shares nothing with the document', () => {
    const document = steps(task({ input: { a: { b: 1 } } }));
    const definition = parsed(document);
    expect(Object.isFrozen(definition.steps[0])).toBe(true);
    const [step] = document['steps'] as { input: { a: { b: number } } }[];
    if (step !== undefined) step.input.a.b = 2;
    expect(definition.steps[0]).toMatchObject({ input: { a: { b: 1 } } });
    expect(Object.isFrozen((document['steps'] as object[])[0])).toBe(false);
  });

  it('may have 300 steps, and not 301', () => {
    const many = (count: number) =>
      steps(...Array.from({ length: count }, (_, index) => ({ id: `s${index}`, kind: 'task' })));
    expect(faultsOf(many(definitionBounds.steps))).toEqual([]);
    expect(faultsOf(many(definitionBounds.steps + 1))[0]).toContain('steps: must have at most 300 items, and has 301');
  });
});

describe('a definition that is refused names each fault with its path', () => {
  it.each([
    ['not an object', 5, ': must be an object, not 5'],
    ['null', null, ': must be an object, not null'],
    ['a missing id', { version: 1, steps: [task()] }, 'id: is required'],
    ['no steps', aDocument({ steps: [] }), 'steps: must have at least 1 item, and has 0'],
    ['an unknown key', aDocument({ bogus: 1 }), 'bogus: unknown key'],
    ['an unknown key of a step', steps(task({ event: 'x' })), 'steps[0].event: unknown key'],
    ['an unknown key of a limit', aDocument({ limits: { steps: 1 } }), 'limits.steps: unknown key'],
    ['an unknown kind', steps({ id: 'a', kind: 'loop' }), 'steps[0].kind: unknown kind "loop"'],
    ['a missing kind', steps({ id: 'a' }), 'steps[0].kind: is required'],
    ['a version of zero', aDocument({ version: 0 }), 'version: must be 1 or more, not 0'],
    ['a fractional version', aDocument({ version: 1.5 }), 'version: must be an integer, not 1.5'],
    [
      'an id that starts with a digit',
      aDocument({ id: '1a' }),
      'id: must be a lower-case letter, then lower-case letters, digits, _ and -, at most 64 characters, not "1a"',
    ],
    [
      'a step id with a dot',
      steps({ id: 'a.b', kind: 'task' }),
      'steps[0].id: must be a lower-case letter, then lower-case letters, digits, _ and -, at most 64 characters, not "a.b"',
    ],
    [
      'a duration over 3650 days',
      steps({ id: 'z', kind: 'sleep', sleep_ms: 315_360_000_001 }),
      'steps[0].sleep_ms: must be 315360000000 or less, not 315360000001',
    ],
    [
      'a timeout over 3650 days',
      steps(task({ timeout_ms: 315_360_000_001 })),
      'steps[0].timeout_ms: must be 315360000000 or less, not 315360000001',
    ],
    [
      'a backoff over 3650 days',
      steps(task({ retry: { backoff_ms: 315_360_000_001 } })),
      'steps[0].retry.backoff_ms: must be 315360000000 or less, not 315360000001',
    ],
    [
      'a run timeout over 3650 days',
      aDocument({ limits: { run_timeout_ms: 315_360_000_001 } }),
      'limits.run_timeout_ms: must be 315360000000 or less, not 315360000001',
    ],
    [
      'an unknown delivery',
      steps(task({ delivery: 'exactly_once' })),
      'steps[0].delivery: must be one of ["at_least_once","at_most_once"], not "exactly_once"',
    ],
    [
      'max_attempts_total of zero',
      steps(task({ limits: { max_attempts_total: 0 } })),
      'steps[0].limits.max_attempts_total: must be 1 or more, not 0',
    ],
    [
      'a cost limit of a task below zero',
      steps(task({ limits: { max_cost_usd: -1 } })),
      'steps[0].limits.max_cost_usd: must be 0 or more, not -1',
    ],
    ['a limit of a run on a task', steps(task({ limits: { max_steps: 1 } })), 'steps[0].limits.max_steps: unknown key'],
    [
      'max_attempts of zero',
      steps(task({ retry: { max_attempts: 0 } })),
      'steps[0].retry.max_attempts: must be 1 or more, not 0',
    ],
    [
      'a wait without an event',
      steps({ id: 'w', kind: 'wait_event' }),
      'steps[0]: a wait_event has exactly one of event and any',
    ],
    [
      'a wait for one event and for any of several',
      steps({ id: 'w', kind: 'wait_event', event: 'e', any: [{ event: 'a' }, { event: 'b' }] }),
      'steps[0]: a wait_event has exactly one of event and any',
    ],
    [
      'a key beside any',
      steps({ id: 'w', kind: 'wait_event', key: 'k', any: [{ event: 'a' }, { event: 'b' }] }),
      'steps[0].key: goes with event: each line of any has a key of its own',
    ],
    [
      'any of one event',
      steps({ id: 'w', kind: 'wait_event', any: [{ event: 'a' }] }),
      'steps[0].any: must have at least 2 items, and has 1',
    ],
    [
      'a line of any without an event',
      steps({ id: 'w', kind: 'wait_event', any: [{ event: 'a' }, { key: 'b' }] }),
      'steps[0].any[1].event: is required',
    ],
    [
      'the same event and key twice in any',
      steps({
        id: 'w',
        kind: 'wait_event',
        any: [
          { event: 'a', key: '${input.k}' },
          { event: 'a', key: '${input.k}' },
        ],
      }),
      'steps[0].any[1]: waits for the same event and key as any[0]',
    ],
    [
      'a bad template in any',
      steps({ id: 'w', kind: 'wait_event', any: [{ event: 'a' }, { event: 'a', key: '${env.HOME}' }] }),
      'steps[0].any[1].key: ${env.HOME}: "env" is not readable; a path starts with one of input, state, steps, run, correlation, item, event, error',
    ],
    [
      'a target of any that does not exist',
      steps({ id: 'w', kind: 'wait_event', any: [{ event: 'a' }, { event: 'b', to: 'nowhere' }] }),
      'steps[0].any[1].to: there is no step "nowhere"',
    ],
    [
      'a next that no event of any leaves to be read',
      steps({
        id: 'w',
        kind: 'wait_event',
        any: [
          { event: 'a', to: 'end' },
          { event: 'b', to: 'end' },
        ],
        next: 'end',
      }),
      'steps[0].next: is never read: every line of any has a "to" of its own',
    ],
    ['a branch without a target', steps(task({ next: [{ when: 'true' }] })), 'steps[0].next[0].to: is required'],
    ['duplicate step ids', steps(task(), task()), 'steps[1].id: "work" is already the id of steps[0]'],
    [
      'a step called end',
      steps({ id: 'end', kind: 'task' }),
      'steps[0].id: "end" means the end of the run; call the step something else',
    ],
    ['an unknown target', steps(task({ next: 'nowhere' })), 'steps[0].next: there is no step "nowhere"'],
    [
      'an unknown target of a branch',
      steps(task({ next: [{ to: 'nowhere' }] })),
      'steps[0].next[0].to: there is no step "nowhere"',
    ],
    [
      'an unknown target of an error',
      steps(task({ on_error: [{ class: 'fatal', to: 'nowhere' }] })),
      'steps[0].on_error[0].to: there is no step "nowhere"',
    ],
    [
      'a branch after one that takes everything',
      steps(task({ next: [{ to: 'end' }, { when: 'true', to: 'end' }] })),
      'steps[0].next[1]: is never reached: steps[0].next[0] takes everything',
    ],
    [
      'an error route after one that takes everything',
      steps(task({ on_error: [{ to: 'end' }, { code: 'x', to: 'end' }] })),
      'steps[0].on_error[1]: is never reached: steps[0].on_error[0] takes everything',
    ],
    [
      'an unreachable step',
      steps(task({ next: 'end' }), { id: 'island', kind: 'succeed' }),
      'steps[1]: step "island" is unreachable: nothing leads to it',
    ],
    [
      'no way to an end',
      steps(task({ next: 'work' })),
      'steps[0]: step "work" has no way to an end: a run that enters it can never end',
    ],
    [
      'a bad input schema',
      aDocument({ input_schema: { type: 'objekt' } }),
      'input_schema: type must be one of ["array","boolean","integer","null","number","object","string"], not "objekt"',
    ],
    [
      'an input schema with a misspelt keyword',
      aDocument({ input_schema: { requierd: ['a'] } }),
      'input_schema: unknown keyword: "requierd"',
    ],
    [
      'a template that is never closed',
      steps(task({ input: 'a ${input.x' })),
      'steps[0].input: "${input.x" is never closed',
    ],
    [
      'a template of an unknown name',
      steps(task({ input: '${env.HOME}' })),
      'steps[0].input: ${env.HOME}: "env" is not readable; a path starts with one of input, state, steps, run, correlation, item, event, error',
    ],
    [
      'a template of an unknown step',
      steps(task({ input: '${steps.nope.output}' })),
      'steps[0].input: steps.nope.output: there is no step "nope"',
    ],
    [
      'item outside for_each',
      steps(task({ input: '${item}' })),
      'steps[0].input: ${item} is readable only in the input of a child step with for_each',
    ],
    [
      'item in a child without for_each',
      steps({ id: 'c', kind: 'child', definition: 'd', input: '${item}' }),
      'steps[0].input: ${item} is readable only in the input of a child step with for_each',
    ],
    [
      'a bad template in the output',
      aDocument({ output: '${steps.nope.output}' }),
      'output: steps.nope.output: there is no step "nope"',
    ],
    [
      'a condition that does not parse',
      steps(task({ next: [{ when: 'state. >', to: 'end' }] })),
      'steps[0].next[0].when: Expected IDENTIFIER, got GT',
    ],
    [
      'matches()',
      steps(task({ next: [{ when: 'input.s.matches("a+")', to: 'end' }] })),
      'steps[0].next[0].when: matches() is refused: a regular expression can take unbounded time; use startsWith, endsWith or contains',
    ],
    [
      'nested macros',
      steps(task({ next: [{ when: 'input.l.all(x, input.l.all(y, y == x))', to: 'end' }] })),
      'steps[0].next[0].when: all() inside another macro is refused: its cost would multiply',
    ],
    [
      'visits of an unknown step',
      steps(task({ next: [{ when: 'visits.nope < 3', to: 'end' }] })),
      'steps[0].next[0].when: visits.nope: there is no step "nope"',
    ],
    [
      'a condition that is not true or false',
      steps(task({ next: [{ when: '1 + 1', to: 'end' }] })),
      'steps[0].next[0].when: a condition is true or false; this one gives int',
    ],
    [
      'both kinds of sleep',
      steps({ id: 'z', kind: 'sleep', sleep_ms: 1, sleep_until: '${input.at}' }),
      'steps[0]: a sleep has exactly one of sleep_ms and sleep_until',
    ],
    [
      'neither kind of sleep',
      steps({ id: 'z', kind: 'sleep' }),
      'steps[0]: a sleep has exactly one of sleep_ms and sleep_until',
    ],
    [
      'a sleep until no time',
      steps({ id: 'z', kind: 'sleep', sleep_until: 'tomorrow' }),
      'steps[0].sleep_until: "tomorrow" is not an RFC 3339 timestamp',
    ],
    [
      'a for_each that is text',
      steps({ id: 'c', kind: 'child', definition: 'd', for_each: 'a${input.x}' }),
      'steps[0].for_each: is a list, or one ${path} alone that gives a list',
    ],
    [
      'an on_item_error without for_each',
      steps({ id: 'c', kind: 'child', definition: 'd', on_item_error: 'fail_fast' }),
      'steps[0].on_item_error: goes with for_each: without it there are no items',
    ],
    [
      'an on_item_error of no known kind',
      steps({ id: 'c', kind: 'child', definition: 'd', for_each: [1], on_item_error: 'ignore' }),
      'steps[0].on_item_error: must be one of ["fail_fast","collect"], not "ignore"',
    ],
    [
      'a key that sets a prototype',
      JSON.parse('{"id":"a","version":1,"steps":[{"id":"b","kind":"task","input":{"__proto__":1}}]}'),
      ': the key "__proto__" is not allowed anywhere',
    ],
    ['something that is not JSON', aDocument({ output: { f: () => 1 } }), ': holds a function, which is not JSON'],
  ])('%s', (_title, document, fault) => {
    expect(faultsOf(document)).toEqual([fault]);
  });

  it('names all of them at once', () => {
    const faults = faultsOf({
      id: 'Refund',
      version: 1,
      bogus: true,
      input_schema: { type: 'objekt' },
      steps: [
        { id: 'a', kind: 'task', timeout_ms: -1 },
        { id: 'b', kind: 'task', input: '${nope}', next: [{ when: '1 +', to: 'end' }] },
      ],
    });
    expect(faults.map((fault) => fault.slice(0, fault.indexOf(':'))).toSorted(inOrder)).toEqual(
      ['id', 'bogus', 'input_schema', 'steps[0].timeout_ms', 'steps[1].input', 'steps[1].next[0].when'].toSorted(
        inOrder,
      ),
    );
  });

  it('names them in the message, one hundred at most, and the field where there is one alone', () => {
    const one = parseDefinition(aDocument({ bogus: 1 }));
    expect(one).toMatchObject({
      failure: {
        code: 'definition_invalid',
        field: 'bogus',
        message: 'definition refund has one fault: bogus: unknown key',
      },
    });
    const many = parseDefinition(
      aDocument(Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`key${at}`, 1]))),
    );
    if (many.ok) throw new Error('accepted');
    expect(many.failure.faults).toHaveLength(150);
    expect(many.failure.message).toContain('has 150 faults: key0: unknown key; ');
    expect(many.failure.message).toMatch(/key99: unknown key; and 50 more$/);
    expect(many.failure).not.toHaveProperty('field');
  });

  it('counts every way on: an end through on_error is a way to an end', () => {
    expect(faultsOf(steps(task({ next: 'work', on_error: [{ class: 'fatal', to: 'end' }] })))).toEqual([]);
    expect(faultsOf(steps(task({ next: 'work', on_error: [{ class: 'fatal', to: 'work' }] })))).toHaveLength(1);
  });

  it('holds a duration of 3650 days exactly, and an id of 64 characters, not 65', () => {
    expect(faultsOf(steps({ id: 'z', kind: 'sleep', sleep_ms: definitionBounds.durationMs }))).toEqual([]);
    expect(faultsOf(aDocument({ id: 'a'.repeat(64) }))).toEqual([]);
    expect(faultsOf(aDocument({ id: 'a'.repeat(65) }))).toHaveLength(1);
  });

  it('is bounded in size and depth before anything recurses into it', () => {
    const nested = (levels: number): unknown => {
      let value: unknown = 1;
      for (let at = 0; at < levels; at += 1) value = [value];
      return value;
    };
    // The document, the list of steps, the step and its input are four levels.
    expect(faultsOf(steps(task({ input: nested(definitionBounds.documentDepth - 4) })))).toEqual([]);
    expect(faultsOf(steps(task({ input: nested(definitionBounds.documentDepth - 3) })))).toEqual([
      ': nests deeper than 64 levels',
    ]);
    expect(faultsOf(steps(task({ input: nested(100_000) })))).toEqual([': nests deeper than 64 levels']);
    expect(faultsOf(steps(task({ input: 'x'.repeat(definitionBounds.documentCharacters) })))).toEqual([
      ': is larger than 1048576 characters',
    ]);
  });
});

describe('a definition with several faults', () => {
  it('has each of them named: unreachable and endless steps beside targets that do not exist', () => {
    const document = steps(
      task({ next: 'nowhere' }),
      { id: 'island', kind: 'task', next: 'end' },
      { id: 'again', kind: 'task', next: 'again' },
    );
    expect(faultsOf(document)).toEqual([
      'steps[0].next: there is no step "nowhere"',
      'steps[1]: step "island" is unreachable: nothing leads to it',
      'steps[2]: step "again" is unreachable: nothing leads to it',
    ]);
    expect(
      faultsOf(
        steps(
          task({ next: [{ when: 'true', to: 'nowhere' }, { to: 'loop' }] }),
          { id: 'loop', kind: 'task', next: 'loop' },
          { id: 'loop', kind: 'succeed' },
        ),
      ),
    ).toEqual(['steps[2].id: "loop" is already the id of steps[1]', 'steps[0].next[0].to: there is no step "nowhere"']);
    expect(
      faultsOf(
        steps(task({ next: [{ when: 'true', to: 'nowhere' }, { to: 'loop' }] }), task({ id: 'loop', next: 'loop' })),
      ),
    ).toEqual([
      'steps[0].next[0].to: there is no step "nowhere"',
      'steps[1]: step "loop" has no way to an end: a run that enters it can never end',
    ]);
  });

  it('is not said to be endless where only a missing target could have led to an end', () => {
    expect(faultsOf(steps(task({ next: 'nowhere' })))).toEqual(['steps[0].next: there is no step "nowhere"']);
  });

  it('has the faults of its graph and of its expressions named beside those of other fields', () => {
    const document = steps(
      task({ timeout_ms: -1, input: '${env.HOME}', next: 'nowhere' }),
      { id: 'island', kind: 'wait_event', key: '${input.' },
      { id: 'nap', kind: 'sleep', sleep_ms: 'long', next: [{ when: 'foo', to: 'end' }] },
    );
    expect(faultsOf(document).map((fault) => fault.slice(0, fault.indexOf(':')))).toEqual([
      'steps[0].timeout_ms',
      'steps[2].sleep_ms',
      'steps[0].input',
      'steps[1]',
      'steps[1].key',
      'steps[2].next[0].when',
      'steps[0].next',
      'steps[1]',
      'steps[2]',
    ]);
  });

  it('has its graph left alone where ids, kinds or ways on have no shape: they are not known yet', () => {
    expect(faultsOf(steps(task({ next: 5 }), { id: 'island', kind: 'succeed' }))).toEqual([
      'steps[0].next: must be a string or an array, not 5',
    ]);
    expect(faultsOf(steps({ kind: 'task', next: 'nowhere' }))).toEqual(['steps[0].id: is required']);
    expect(faultsOf(steps({ id: 'a', kind: 'tusk', next: 'nowhere' }))).toHaveLength(1);
    expect(faultsOf(steps(5, task({ next: 'nowhere' })))).toHaveLength(1);
  });
});

describe('random definitions', () => {
  const ids = ['a', 'b', 'c', 'd'];
  const target = fc.constantFrom(...ids, 'end');
  const next = fc.oneof(
    target,
    fc.array(fc.record({ when: fc.constantFrom('true', 'visits.a < 2', 'input.x > 1'), to: target }), {
      minLength: 1,
      maxLength: 3,
    }),
  );
  const onward = {
    next,
    on_error: fc.array(fc.record({ class: fc.constantFrom('fatal', 'x'), to: target }), { maxLength: 2 }),
  };
  const step = fc.oneof(
    fc.record(
      { kind: fc.constant('task'), input: fc.constantFrom('${input.x}', 1), ...onward },
      { requiredKeys: ['kind'] },
    ),
    fc.record({ kind: fc.constant('sleep'), sleep_ms: fc.nat(9), ...onward }, { requiredKeys: ['kind', 'sleep_ms'] }),
    fc.record(
      { kind: fc.constant('wait_event'), event: fc.constant('e'), ...onward },
      { requiredKeys: ['kind', 'event'] },
    ),
    fc.record({ kind: fc.constantFrom('succeed', 'fail') }, { requiredKeys: ['kind'] }),
  );
  type Drawn = { id: string; kind: string; next?: string | { to: string }[]; on_error?: { to: string }[] };
  const drawn = fc
    .array(step, { minLength: 1, maxLength: ids.length })
    .map((list) => list.map((each, index): Drawn => ({ id: ids[index] ?? '', ...each })));

  /** All places a run could stand in, by following every way from one place, the slow and obvious way. */
  const follow = (list: readonly Drawn[], from: string): Set<string> => {
    const places = new Set([from]);
    for (let grown = true; grown; ) {
      const before = places.size;
      list.forEach((each, index) => {
        if (!places.has(each.id)) return;
        if (each.kind === 'succeed' || each.kind === 'fail') places.add('end');
        else if (each.next === undefined) places.add(list[index + 1]?.id ?? 'end');
        else if (typeof each.next === 'string') places.add(each.next);
        else for (const { to } of each.next) places.add(to);
        for (const { to } of each.on_error ?? []) places.add(to);
      });
      grown = places.size > before;
    }
    return places;
  };

  it('have each step named that cannot be reached, or that can neither end nor reach what is missing', () => {
    const seen = { accepted: 0, missing: 0, unreachable: 0, endless: 0 };
    fc.assert(
      fc.property(drawn, (list) => {
        const faults = faultsOf(steps(...list));
        const known = new Set([...list.map((each) => each.id), 'end']);
        const targets = list.flatMap((each) => [
          ...(typeof each.next === 'string' ? [each.next] : (each.next ?? []).map(({ to }) => to)),
          ...(each.on_error ?? []).map(({ to }) => to),
        ]);
        const isMissing = (to: string) => !known.has(to);
        const reached = follow(list, list[0]?.id ?? '');
        const lost = list.filter((each) => !reached.has(each.id)).map((each) => each.id);
        const mayEnd = (id: string) => [...follow(list, id)].some((to) => to === 'end' || isMissing(to));
        const stuck = list.filter((each) => reached.has(each.id) && !mayEnd(each.id)).map((each) => each.id);
        const named = (what: string) =>
          faults.filter((fault) => fault.includes(what)).map((fault) => /step "(\w)"/.exec(fault)?.[1]);
        expect(named('unreachable')).toEqual(lost);
        expect(named('no way to an end')).toEqual(stuck);
        const readsMissing = !known.has('a') && JSON.stringify(list).includes('visits.a');
        const faulty = targets.some(isMissing) || readsMissing;
        expect(named('there is no step').length > 0).toBe(faulty);
        if (lost.length > 0) seen.unreachable += 1;
        if (stuck.length > 0) seen.endless += 1;
        if (faulty) seen.missing += 1;
        else expect(faults).toHaveLength(lost.length + stuck.length);
        if (faults.length === 0) seen.accepted += 1;
      }),
      { numRuns: 3000 },
    );
    expect(Object.values(seen).every((count) => count > 0)).toBe(true);
  });

  it('never make the parser throw, however they are broken, and compile when they are accepted', () => {
    fc.assert(
      fc.property(
        drawn,
        fc.jsonValue(),
        fc.nat(3),
        fc.constantFrom('id', 'kind', 'next', 'on_error', 'input', 'key', 'event'),
        (list, junk, at, key) => {
          const broken = list.map((each, index) => (index === at % list.length ? { ...each, [key]: junk } : each));
          const result = parseDefinition(steps(...broken));
          if (result.ok) compileDefinition(result.value);
          else expect(result.failure.faults.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        expect(parseDefinition(json).ok).toBe(false);
      }),
    );
  });
});
