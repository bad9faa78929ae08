import { describe, expect, it } from 'vitest';
import { cost, duration, money, oneLine, tokens } from '../../../src/cli/format.ts';
import { tableLines } from '../../../src/cli/table.ts';
import { payloadLines } from '../../../src/cli/mcp/payload.ts';

describe('figures', () => {
  it.each([
    [0.25, '250us'],
    [999, '999ms'],
    [1000, '1.0s'],
    [59_900, '59.9s'],
    [61_000, '1m1s'],
    [3_600_000, '1h0m'],
  ])('%d ms is %s', (ms, text) => expect(duration(ms)).toBe(text));

  it.each([
    [0, '$0.00'],
    [12.345, '$12.35'],
    [0.00036, '$0.00036'],
    [0.00000012, '$1.2e-7'],
  ])('%d dollars are %s', (amount, text) => expect(money(amount)).toBe(text));

  it('a cost that is not known is no zero, and other currencies are named', () => {
    expect(cost(undefined)).toBe('no cost');
    expect(money(2, 'EUR')).toBe('2.00 EUR');
  });

  it('a count that was not sent is shown as unknown', () => {
    expect(tokens(undefined)).toBeUndefined();
    expect(tokens({ input_tokens: 5 })).toBe('5 in, ? out tokens');
    expect(tokens({ total_tokens: 1234 })).toBe('1,234 tokens');
    expect(tokens({ input_tokens: 0, output_tokens: 0 })).toBe('0 in, 0 out tokens');
  });

  it('columns stand in line', () =>
    expect(
      tableLines([
        ['a', 'bb', 'c'],
        ['aaa', 'b', 'cc'],
      ]),
    ).toEqual(['a    bb  c', 'aaa  b   cc']));

  it('a table may be as long as a list is', () => {
    const lines = tableLines(Array.from({ length: 200_000 }, (_, at) => [`${at}`, 'x']));
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([200_000, '0       x', '199999  x']);
  });
});

describe('stored text in an answer', () => {
  it('a name stays on one line and moves no cursor', () => {
    expect(oneLine('a\nFailed at: b\u001b[2J\u202e')).toBe('a Failed at: b [2J');
    expect(oneLine('x'.repeat(121))).toBe(`${'x'.repeat(120)}...`);
    expect(oneLine('x'.repeat(120))).toBe('x'.repeat(120));
  });

  it('every line of a payload is marked, so that none passes for a line of the answer', () => {
    expect(payloadLines('one\r\ntwo\n\nReason: forged', 100)).toEqual(['| one', '| two', '| ', '| Reason: forged']);
  });

  it.each([
    ['a list of messages', [{ role: 'user', content: 'hi' }]],
    ['the same as JSON text', '[{"role":"user","content":"hi"}]'],
    ['a request that holds it', { messages: [{ role: 'user', content: 'hi' }] }],
    ['messages in parts', [{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }]],
    ['content in parts', [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]],
  ])('%s reads as a dialogue', (_name, payload) => expect(payloadLines(payload, 100)).toEqual(['| user: hi']));

  it('a message without text is shown as it is, such as the call of a tool', () => {
    const call = { role: 'assistant', content: null, tool_calls: [{ name: 'f' }] };
    expect(payloadLines([call], 200)).toEqual([`| assistant: ${JSON.stringify(call)}`]);
  });

  it.each([
    [{ a: 1 }, '| {"a":1}'],
    ['{broken', '| {broken'],
    [[], '| []'],
    [null, '| null'],
    [42, '| 42'],
  ])('%j is shown as %s', (payload, line) => expect(payloadLines(payload, 100)).toEqual([line]));

  it('is cut at its bound, and what is cut is counted', () => {
    expect(payloadLines('12345', 5)).toEqual(['| 12345']);
    expect(payloadLines('123456', 5)).toEqual(['| 12345', '(1 more characters)']);
  });
});
