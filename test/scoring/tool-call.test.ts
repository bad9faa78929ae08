import { describe, expect, it } from 'vitest';
import { toolCallsOf } from '../../src/scoring/tool-call.ts';
import type { StoredSpan } from '../../src/store/signals/query.ts';
import { aSpan, aTool } from './a-run.ts';

const id = (number: number): string => (number + 1).toString(16).padStart(16, '0');
/** A span inside of the one before it. */
const inside = (span: StoredSpan, number: number): StoredSpan => ({
  ...span,
  spanId: id(number),
  ...(number === 0 ? {} : { parentSpanId: id(number - 1) }),
});
const chain = (...spans: StoredSpan[]): StoredSpan[] => spans.map(inside);
const toolsOf = (spans: readonly StoredSpan[]): string[] => toolCallsOf(spans).map(({ tool }) => tool);

describe('Interface decisions, "6. Scoring": the tool calls of a run', () => {
  it.each<[what: string, spans: StoredSpan[], calls: string[]]>([
    ['a tool inside of itself is one call', chain(aTool('a'), aTool('a')), ['a']],
    ['a tool inside of another is two', chain(aTool('a'), aTool('b')), ['a', 'b']],
    ['also with other tools between', chain(aTool('a'), aTool('b'), aTool('a')), ['a', 'b']],
    [
      'also with requests and plain spans between',
      chain(aTool('a'), aSpan({ kind: 'http_request' }), aSpan({ kind: 'generic' }), aTool('a')),
      ['a'],
    ],
    ['an agent in between calls anew', chain(aTool('a'), aSpan({ kind: 'agent_run' }), aTool('a')), ['a', 'a']],
    [
      'and what is inside of its call is one with it',
      chain(aTool('a'), aSpan({ kind: 'agent_run' }), aTool('a'), aTool('a')),
      ['a', 'a'],
    ],
    [
      'calls beside each other are several',
      [
        aSpan({ kind: 'agent_run', spanId: id(0) }),
        aTool('a', { spanId: id(1), parentSpanId: id(0) }),
        aTool('a', { spanId: id(2), parentSpanId: id(0) }),
      ],
      ['a', 'a'],
    ],
    ['a parent that is not there is none', [aTool('a', { parentSpanId: id(7) })], ['a']],
    [
      'spans that are inside of each other end the search',
      [aTool('a', { spanId: id(1), parentSpanId: id(2) }), aTool('a', { spanId: id(2), parentSpanId: id(1) })],
      ['a'],
    ],
    ['in the order of the run', chain(aTool('a'), aTool('b'), aTool('c')).toReversed(), ['c', 'b', 'a']],
  ])('%s', (_, spans, calls) => {
    expect(toolsOf(spans)).toEqual(calls);
  });

  it('a chain of fifty thousand tools is searched once, not once for each', () => {
    const spans = Array.from({ length: 50_000 }, (_, number) => inside(aTool(`tool ${number}`), number));
    expect(toolsOf(spans)).toHaveLength(50_000);
  });
});
