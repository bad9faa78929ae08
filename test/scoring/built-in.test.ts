import { describe, expect, it } from 'vitest';
import {
  builtInScorers,
  defaultScorers,
  findBuiltIn,
  type RunUnderScore,
  type Verdict,
} from '../../src/scoring/built-in.ts';
import { prepareConfig } from '../../src/scoring/comparison.ts';
import { configKeys, containsBounds, readScorerConfig, type ScorerConfig } from '../../src/scoring/config.ts';
import type { StoredSpan } from '../../src/store/signals/query.ts';
import { aRoot, aRun, aSpan, aTool, answering } from './a-run.ts';

const score = (id: string, run: RunUnderScore, config: ScorerConfig = {}): Verdict => {
  const scorer = findBuiltIn(id);
  if (scorer === undefined) throw new Error(`no scorer ${id}`);
  return scorer.score(run, prepareConfig(config));
};
const PASS = 1;
const FAIL = 0;
const DECLINED = 'declined';

type Case = readonly [
  what: string,
  run: RunUnderScore,
  outcome: typeof PASS | typeof FAIL | typeof DECLINED,
  reason: string,
  config?: ScorerConfig,
];

const silent = aRun([aRoot()]);
const failed = (name: string, message: string): StoredSpan => aSpan({ name, status: 'error', error: { message } });
const tools = (...spans: StoredSpan[]): RunUnderScore => aRun([aRoot({ output: 'done' }), ...spans]);

/** By scorer, in the words of the specification's table: what passes, what fails, what is declined, and the reason given. */
const table: Record<string, { readonly passes: string; readonly cases: readonly Case[] }> = {
  answered: {
    passes: 'the run produced a non-empty answer',
    cases: [
      ['an answer of the root', answering('It arrives on Friday.'), PASS, 'the run produced an answer'],
      [
        'an answer of its last model span',
        aRun([aRoot(), aSpan({ kind: 'model_generation', output: 'Yes.' })]),
        PASS,
        'the run produced an answer',
      ],
      ['structured data', answering({ total: 0 }), PASS, 'the run produced an answer'],
      ['an empty text', answering(''), FAIL, 'the answer of the run is empty'],
      ['white space', answering(' \n\t '), FAIL, 'the answer of the run is empty'],
      [
        'a message that only calls a tool',
        answering([{ role: 'assistant', tool_calls: [{}] }]),
        FAIL,
        'the answer of the run is empty',
      ],
      ['no output at all', silent, FAIL, 'the run has no answer'],
    ],
  },
  no_errors: {
    passes: 'no span in the run failed',
    cases: [
      ['ended well', aRun([aRoot(), aSpan()]), PASS, 'none of 2 spans failed'],
      ['still running', aRun([aRoot({ status: 'unset', took: null })]), PASS, 'none of 1 span failed'],
      [
        'a tool failed and the root did not',
        tools(failed('charge card', 'timeout')),
        FAIL,
        '1 of 2 spans failed: "charge card"',
      ],
      [
        'the same span failed again and again',
        tools(...Array.from({ length: 12 }, () => failed('retry', 'x'))),
        FAIL,
        '12 of 13 spans failed: "retry"',
      ],
    ],
  },
  exact_match: {
    passes: 'the answer equals the expected one',
    cases: [
      ['the same words', answering('Friday'), PASS, 'the answer equals the expected one', { expected: 'Friday' }],
      [
        'in any case, unless asked otherwise',
        answering(' FRIDAY\n'),
        PASS,
        'the answer equals the expected one',
        { expected: 'friday' },
      ],
      [
        'in another case',
        answering('FRIDAY'),
        FAIL,
        'the answer differs from the expected one',
        { expected: 'friday', case_sensitive: true },
      ],
      [
        'the same letters, composed otherwise',
        answering('cafe\u0301'),
        PASS,
        'the answer equals the expected one',
        { expected: 'café' },
      ],
      ['more words', answering('On Friday'), FAIL, 'the answer differs from the expected one', { expected: 'Friday' }],
      [
        'the same object with its keys in another order',
        answering({ b: [1, 2], a: 'x' }),
        PASS,
        'the answer equals the expected one',
        { expected: { a: 'x', b: [1, 2] } },
      ],
      [
        'the same object as a text',
        answering('{ "b": 1, "a": 2 }'),
        PASS,
        'the answer equals the expected one',
        { expected: { a: 2, b: 1 } },
      ],
      ['a number and its digits', answering('42'), PASS, 'the answer equals the expected one', { expected: 42 }],
      [
        'an object of another value',
        answering({ a: 1 }),
        FAIL,
        'the answer differs from the expected one',
        { expected: { a: 2 } },
      ],
      [
        'the answer that a case captured',
        answering('Friday', { captured: 'Friday' }),
        PASS,
        'the answer equals the expected one',
      ],
      [
        'the configured one goes before the captured one',
        answering('Friday', { captured: 'Friday' }),
        FAIL,
        'the answer differs from the expected one',
        { expected: 'Monday' },
      ],
      ['no answer', aRun([aRoot()], { captured: 'Friday' }), FAIL, 'the run has no answer'],
      [
        'nothing expected',
        answering('Friday'),
        DECLINED,
        'there is no expected answer: set `config.expected`, or capture the run with one',
      ],
    ],
  },
  contains: {
    passes: 'the answer contains a required string; of several, all of them',
    cases: [
      [
        'the string',
        answering('It arrives on Friday.'),
        PASS,
        'the answer contains 1 required string',
        { contains: 'friday' },
      ],
      [
        'all of several',
        answering('Friday before noon'),
        PASS,
        'the answer contains 2 required strings',
        { contains: ['Friday', 'noon'] },
      ],
      [
        'one of several',
        answering('Friday'),
        FAIL,
        'the answer lacks 1 of 2 required strings',
        { contains: ['Friday', 'noon'] },
      ],
      [
        'in another case',
        answering('Friday'),
        FAIL,
        'the answer lacks 1 of 1 required string',
        { contains: 'friday', case_sensitive: true },
      ],
      [
        'the captured answer inside of it',
        answering('It arrives on Friday.', { captured: 'Friday' }),
        PASS,
        'the answer contains 1 required string',
      ],
      ['no answer', silent, FAIL, 'the run has no answer', { contains: 'x' }],
      [
        'nothing required',
        answering('Friday'),
        DECLINED,
        'no string is required: set `config.contains`, or capture the run with an expected answer',
      ],
    ],
  },
  json_valid: {
    passes: 'the answer parses as JSON',
    cases: [
      ['an object as a text', answering('{"ok": true}'), PASS, 'the answer parses as JSON'],
      ['an object', answering({ ok: true }), PASS, 'the answer parses as JSON'],
      ['a number', answering('42'), PASS, 'the answer parses as JSON'],
      [
        'JSON that a message says',
        answering([{ role: 'assistant', content: '[1, 2]' }]),
        PASS,
        'the answer parses as JSON',
      ],
      ['JSON in a fence', answering('```json\n{"ok": true}\n```'), FAIL, 'the answer does not parse as JSON'],
      [
        'words that a message says',
        answering([{ role: 'assistant', content: 'Sure!' }]),
        FAIL,
        'the answer does not parse as JSON',
      ],
      ['a comma too many', answering('{"ok": true,}'), FAIL, 'the answer does not parse as JSON'],
      ['no answer', silent, FAIL, 'the run has no answer'],
    ],
  },
  latency_budget: {
    passes: 'the run finished inside a budget of `max_ms` milliseconds',
    cases: [
      ['on the bound', silent, PASS, 'the run took 1500 ms, inside of 1500 ms', { max_ms: 1_500 }],
      [
        'a nanosecond over it',
        aRun([aRoot()], { trace: { durationNs: 1_500_000_001n } }),
        FAIL,
        'the run took 1500 ms, over the budget of 1500 ms',
        { max_ms: 1_500 },
      ],
      ['over it', silent, FAIL, 'the run took 1500 ms, over the budget of 1499.5 ms', { max_ms: 1_499.5 }],
      [
        'still running',
        aRun([aRoot({ status: 'unset' })], { trace: { status: 'unset' } }),
        DECLINED,
        'the run has not finished',
        { max_ms: 1 },
      ],
      ['no budget', silent, DECLINED, '`config.max_ms` is not set'],
    ],
  },
  cost_budget: {
    passes: 'the run cost no more than `max_cost`',
    cases: [
      [
        'on the bound',
        aRun([aRoot()], { trace: { totalCost: 0.25, currency: 'USD' } }),
        PASS,
        'the run cost 0.25 USD, within 0.25',
        { max_cost: 0.25 },
      ],
      [
        'over it',
        aRun([aRoot()], { trace: { totalCost: 0.2501, currency: 'USD' } }),
        FAIL,
        'the run cost 0.2501 USD, more than 0.25',
        { max_cost: 0.25 },
      ],
      [
        'unknown, which is not zero',
        silent,
        DECLINED,
        'nothing in the run was priced, and an unknown cost is not zero',
        { max_cost: 0.25 },
      ],
      ['no budget', aRun([aRoot()], { trace: { totalCost: 1 } }), DECLINED, '`config.max_cost` is not set'],
    ],
  },
  no_tool_loop: {
    passes: 'no tool was called twice with the same input',
    cases: [
      ['no tool', silent, PASS, 'no tool was called'],
      [
        'one tool with different inputs',
        tools(aTool('search', { input: { q: 'a' } }), aTool('search', { input: { q: 'b' } })),
        PASS,
        'no input repeats in 2 tool calls',
      ],
      [
        'two tools with one input',
        tools(aTool('search', { input: 'a' }), aTool('lookup', { input: 'a' })),
        PASS,
        'no input repeats in 2 tool calls',
      ],
      [
        'one tool with one input, keys in another order',
        tools(aTool('search', { input: { q: 'a', n: 1 } }), aTool('search', { input: { n: 1, q: 'a' } })),
        FAIL,
        'tool "search" was called twice with the same input',
      ],
      [
        'one call that two layers recorded',
        tools(
          aTool('search', { spanId: 'a'.repeat(16), input: { q: 'a' } }),
          aTool('search', { parentSpanId: 'a'.repeat(16), kind: 'mcp_tool_call', input: { q: 'a' } }),
        ),
        PASS,
        'no input repeats in 1 tool call',
      ],
      [
        'inputs that were not captured',
        tools(aTool('search'), aTool('search')),
        DECLINED,
        'tool "search" was called more than once, and its inputs were not captured',
      ],
    ],
  },
  tool_efficiency: {
    passes: 'the run made no more than `max_tool_calls` tool calls',
    cases: [
      [
        'on the bound',
        tools(aTool('a'), aTool('b')),
        PASS,
        'the run made 2 tool calls, within 2',
        { max_tool_calls: 2 },
      ],
      [
        'over it',
        tools(aTool('a'), aTool('b')),
        FAIL,
        'the run made 2 tool calls, over the budget of 1',
        { max_tool_calls: 1 },
      ],
      ['none, and none allowed', silent, PASS, 'the run made 0 tool calls, within 0', { max_tool_calls: 0 }],
      ['no budget', silent, DECLINED, '`config.max_tool_calls` is not set'],
    ],
  },
  not_a_refusal: {
    passes: 'the answer is not a refusal or apology',
    cases: [
      ['an answer', answering('It arrives on Friday.'), PASS, 'the answer does not open as a refusal or apology'],
      [
        'a refusal',
        answering("I'm sorry, but I can't help with that."),
        FAIL,
        'the answer opens as a refusal or apology (en)',
      ],
      [
        'a refusal that a message says',
        answering([{ role: 'assistant', content: 'Es tut mir leid.' }]),
        FAIL,
        'the answer opens as a refusal or apology (de)',
      ],
      ['no answer', silent, DECLINED, 'the run has no answer'],
    ],
  },
  no_leaked_secret: {
    passes: 'no key, token or credential appears in the answer',
    cases: [
      ['none', answering('Your order is on its way.'), PASS, 'no credential was found in the answer'],
      ['a token', answering(`Use ghp_${'a1B2c3D4e5F6'.repeat(3)} for now.`), FAIL, 'the answer holds a GitHub token'],
      [
        'a token inside of data',
        answering({ env: { aws: `AKIA${'Q7ZK2MVR'.repeat(2)}` } }),
        FAIL,
        'the answer holds an AWS access key',
      ],
      ['no answer', silent, DECLINED, 'the run has no answer'],
    ],
  },
  span_present: {
    passes: 'the run recorded a span of `span_kind`, named `span_name`; where both are set, one that has both',
    cases: [
      [
        'of the kind',
        tools(aSpan({ kind: 'retrieval' })),
        PASS,
        'the run recorded 1 span of kind retrieval',
        { span_kind: 'retrieval' },
      ],
      [
        'of the name',
        tools(aSpan({ name: 'rerank' })),
        PASS,
        'the run recorded 1 span named "rerank"',
        { span_name: 'rerank' },
      ],
      [
        'of both',
        tools(aSpan({ name: 'rerank', kind: 'rag_action' })),
        PASS,
        'the run recorded 1 span of kind rag_action and named "rerank"',
        { span_kind: 'rag_action', span_name: 'rerank' },
      ],
      [
        'each of both, and none of both',
        tools(aSpan({ name: 'rerank' }), aSpan({ kind: 'rag_action' })),
        FAIL,
        'none of 3 spans is of kind rag_action and named "rerank"',
        { span_kind: 'rag_action', span_name: 'rerank' },
      ],
      [
        'names are compared exactly; `case_sensitive` does not loosen them',
        tools(aSpan({ name: 'Rerank' })),
        FAIL,
        'none of 2 spans is named "rerank"',
        { span_name: 'rerank', case_sensitive: false },
      ],
      ['not configured', silent, DECLINED, 'neither `config.span_kind` nor `config.span_name` is set'],
    ],
  },
  tool_succeeded: {
    passes: 'a tool span named `tool_name` ran and at least one call ended ok',
    cases: [
      [
        'ran and ended ok',
        tools(aTool('refund')),
        PASS,
        'tool "refund" ran 1 time and ended ok',
        { tool_name: 'refund' },
      ],
      [
        'by the name of its span',
        tools(aSpan({ name: 'refund', kind: 'client_tool_call' })),
        PASS,
        'tool "refund" ran 1 time and ended ok',
        { tool_name: 'refund' },
      ],
      [
        'of the kind provider_tool_call',
        tools(aTool('refund', { kind: 'provider_tool_call' })),
        PASS,
        'tool "refund" ran 1 time and ended ok',
        { tool_name: 'refund' },
      ],
      [
        'of the kind mcp_tool_call',
        tools(aTool('refund', { kind: 'mcp_tool_call' })),
        PASS,
        'tool "refund" ran 1 time and ended ok',
        { tool_name: 'refund' },
      ],
      [
        'of a kind that is no tool',
        tools(aSpan({ name: 'refund', kind: 'http_request' })),
        FAIL,
        'tool "refund" never ran; the run holds no tool call',
        { tool_name: 'refund' },
      ],
      [
        'never ran: names the tool and lists the tool calls the run does hold',
        tools(aTool('search'), aTool('lookup'), aTool('search')),
        FAIL,
        'tool "refund" never ran; the run holds calls of "search", "lookup"',
        { tool_name: 'refund' },
      ],
      [
        'ran and none ended ok: includes the last recorded error',
        tools(
          aTool('refund', { at: 20, status: 'error', error: { message: 'card expired' } }),
          aTool('refund', { at: 10, status: 'error', error: { message: 'timeout' } }),
        ),
        FAIL,
        'tool "refund" ran 2 times and no call ended ok; the last error: "card expired"',
        { tool_name: 'refund' },
      ],
      [
        'still running',
        tools(aTool('refund', { status: 'unset', took: null })),
        FAIL,
        'tool "refund" ran 1 time and no call ended ok',
        { tool_name: 'refund' },
      ],
      [
        'ran several times with only some ok: at least one call ended ok, and the reason tells it apart',
        tools(aTool('refund', { at: 1, status: 'error', error: { message: 'timeout' } }), aTool('refund', { at: 2 })),
        PASS,
        'tool "refund" ran 2 times and only 1 ended ok; the last error: "timeout"',
        { tool_name: 'refund' },
      ],
      [
        'names are compared exactly; `case_sensitive` does not loosen them',
        tools(aTool('Refund')),
        FAIL,
        'tool "refund" never ran; the run holds calls of "Refund"',
        { tool_name: 'refund', case_sensitive: false },
      ],
      ['not configured', tools(aTool('refund')), DECLINED, '`config.tool_name` is not set'],
    ],
  },
};

describe('the built-in scorers', () => {
  it('are the thirteen of the specification, each with cases here', () => {
    expect(builtInScorers.map(({ id }) => id)).toEqual([
      'answered',
      'no_errors',
      'exact_match',
      'contains',
      'json_valid',
      'latency_budget',
      'cost_budget',
      'no_tool_loop',
      'tool_efficiency',
      'not_a_refusal',
      'no_leaked_secret',
      'span_present',
      'tool_succeeded',
    ]);
    expect(Object.keys(table)).toEqual(builtInScorers.map(({ id }) => id));
  });

  it('`span_present` and `tool_succeeded` need configuration and are not in the default set', () => {
    expect(builtInScorers.filter(({ needsConfig }) => needsConfig).map(({ id }) => id)).toEqual([
      'span_present',
      'tool_succeeded',
    ]);
    expect(defaultScorers).toHaveLength(11);
  });

  it('and they read no payload, so they work with payload capture off', () => {
    for (const id of ['span_present', 'tool_succeeded']) expect(findBuiltIn(id)?.reads).toBe('rows');
    const run = aRun([aRoot(), aTool('refund')]);
    expect(run.spans.every(({ input, output }) => input === undefined && output === undefined)).toBe(true);
    expect(score('tool_succeeded', run, { tool_name: 'refund' })).toMatchObject({ value: 1 });
    expect(score('span_present', run, { span_kind: 'tool_call' })).toMatchObject({ value: 1 });
  });

  it('each say in the list what they pass, and when they decline if some case does', () => {
    for (const scorer of builtInScorers) {
      expect(scorer.passes).toBe(table[scorer.id]?.passes);
      const declines = table[scorer.id]?.cases.some(([, , outcome]) => outcome === DECLINED);
      expect([scorer.id, scorer.declines !== undefined]).toEqual([scorer.id, declines]);
    }
  });

  it('each read the configuration that they name, and every key is read by one', () =>
    expect(new Set(builtInScorers.flatMap(({ config }) => config))).toEqual(new Set(configKeys)));
});

describe.each(Object.entries(table))('%s', (id, { passes, cases }) => {
  const named = cases.map(([what, run, outcome, reason, config]) => ({ what, run, outcome, reason, config }));
  it.each(named)(`${passes}: $what`, ({ run, outcome, reason, config }) => {
    const verdict = score(id, run, config);
    expect(verdict).toEqual(
      outcome === DECLINED ? { kind: 'declined', reason } : { kind: 'scored', value: outcome, reason },
    );
    expect(score(id, run, config), 'same answer twice').toEqual(verdict);
  });

  it('has a case that passes and one that fails', () =>
    expect(new Set(cases.map(([, , outcome]) => outcome).filter((outcome) => outcome !== DECLINED))).toEqual(
      new Set([PASS, FAIL]),
    ));
});

describe('scorer config', () => {
  it('an unknown key is refused naming it', () => {
    const read = readScorerConfig({ max_ms: 1, max_seconds: 2 });
    expect(read).toMatchObject({ ok: false, failure: { code: 'invalid_parameter', field: 'config.max_seconds' } });
    expect(read.ok ? '' : read.failure.message).toContain('"max_seconds"');
    expect(readScorerConfig(JSON.parse('{"__proto__": 1}')).ok).toBe(false);
  });

  it('requires at most a thousand strings, of a hundred thousand characters together', () => {
    const refusal = (contains: string | readonly string[]) => {
      const read = readScorerConfig({ contains });
      return read.ok ? 'taken' : read.failure;
    };
    const strings = (count: number, characters = 1) => Array.from({ length: count }, () => 'x'.repeat(characters));
    expect(refusal(strings(containsBounds.strings))).toBe('taken');
    expect(refusal(strings(containsBounds.strings + 1))).toEqual({
      code: 'invalid_parameter',
      message: '`config.contains` has 1001 strings, more than 1000: name fewer, or score the rest in another request',
      field: 'config.contains',
    });
    expect(refusal(strings(containsBounds.strings, 100))).toBe('taken');
    expect(refusal([...strings(999, 100), 'x'.repeat(101)])).toEqual({
      code: 'invalid_parameter',
      message:
        '`config.contains` has 100001 characters in all, more than 100000: name fewer or shorter strings, or score the rest in another request',
      field: 'config.contains',
    });
    expect(refusal('x'.repeat(containsBounds.characters))).toBe('taken');
    expect(refusal('x'.repeat(containsBounds.characters + 1))).toMatchObject({ code: 'invalid_parameter' });
  });

  it('null is absent', () =>
    expect(readScorerConfig({ expected: null, max_ms: 5 })).toEqual({ ok: true, value: { max_ms: 5 } }));
});

describe('reasons', () => {
  it('are bounded, however long the names of a run are and however many', () => {
    const run = tools(...Array.from({ length: 500 }, (_, i) => aTool(`${i}${'x'.repeat(5_000)}`)));
    const verdict = score('tool_succeeded', run, { tool_name: 'y'.repeat(5_000) });
    expect(verdict.reason.length).toBeLessThan(4_000);
    expect(verdict.reason).toContain('and 490 more');
  });
});
