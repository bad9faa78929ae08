import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../../test/any-character.ts';
import { estimateTokens, tellingRows, writeBrief } from '../../src/model/brief.ts';
import { layOut, type Span } from '../../src/model/trace.ts';
import { aSpan, BASE } from './spans.ts';

const spans: readonly Span[] = [
  aSpan('root', undefined, 0, 100, { kind: 'agent_run' }),
  aSpan('think', 'root', 5, 20, { kind: 'model_generation', input: 'ask '.repeat(2000), output: 'short answer' }),
  aSpan('find', 'root', 30, 40, { kind: 'tool_call', input: { q: 'refund' }, output: 'x'.repeat(5000) }),
  aSpan('pay', 'root', 50, 60, { kind: 'tool_call', status: 'error', error: { message: 'no funds' } }),
  aSpan('noise', 'root', 70, 80),
];
const rows = layOut(spans, BASE);
const full = new Map([...rows.spans.entries()]);
const brief = (budgetTokens: number, order = tellingRows(rows, 40)) =>
  writeBrief({ rows, order, full, title: 'refund', facts: ['status: error'], budgetTokens });

describe('a trace for an assistant', () => {
  it('tells the failure and the way to it first, then models, then tools', () => {
    expect(tellingRows(rows, 40).map((row) => rows.spans[row]?.span_id)).toEqual([
      'pay',
      'root',
      'think',
      'find',
      'noise',
    ]);
    expect(tellingRows(rows, 2).map((row) => rows.spans[row]?.span_id)).toEqual(['pay', 'root']);
  });

  it('is complete where the budget allows it, and says that nothing was cut', () => {
    const { text, cut } = brief(100_000);
    expect(cut).toEqual([]);
    expect(text).not.toContain('Left out');
    for (const piece of ['# refund', 'no funds', 'short answer', '"q": "refund"', 'x'.repeat(5000), '- **failed** pay'])
      expect(text).toContain(piece);
  });

  it('within a small budget keeps the failure, and says part by part what was cut', () => {
    const { text, cut, tokens } = brief(900);
    expect(tokens).toBeLessThanOrEqual(900);
    expect(text).toContain('no funds');
    expect(text).toContain('## Left out to fit');
    expect(cut.join('\n')).toMatch(/input of think: [\d,]+ of 8,000 characters/);
    expect(cut.join('\n')).toMatch(/output of find/);
  });

  it('gives what a short span leaves to those behind it', () => {
    const { cut } = brief(3600);
    expect(cut).toHaveLength(1);
  });

  it('is never longer than the budget, whatever the texts are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: fc.string(), input: fc.string({ maxLength: 400, unit: anyCharacter }) }), {
          maxLength: 12,
        }),
        fc.integer({ min: 200, max: 2000 }),
        (given, budgetTokens) => {
          const some = layOut(
            given.map(({ name, input }, at) =>
              aSpan(`s${at}`, at === 0 ? undefined : 's0', at, at + 1, { name, input }),
            ),
            BASE,
          );
          const { text, tokens } = writeBrief({
            rows: some,
            order: tellingRows(some, 40),
            full: new Map(some.spans.entries()),
            title: 'title',
            facts: [],
            budgetTokens,
          });
          expect(estimateTokens(text)).toBe(tokens);
          expect(tokens).toBeLessThanOrEqual(budgetTokens);
        },
      ),
    );
  });

  it('lets no payload close the block in which it stands, nor a name begin a line', () => {
    const hostile = layOut([aSpan('a', undefined, 0, 1, { name: 'x\n# injected', input: '```\n# out\n`````' })], BASE);
    const { text } = writeBrief({
      rows: hostile,
      order: [0],
      full: new Map(hostile.spans.entries()),
      title: 'a\n# b',
      facts: [],
      budgetTokens: 4000,
    });
    expect(text).toContain('``````text\n```\n# out\n`````\n``````');
    expect(text.split('\n').filter((line) => line.startsWith('# '))).toEqual(['# a # b', '# out']);
  });

  it('does not call an empty output cut', () => {
    const empty = layOut([aSpan('a', undefined, 0, 1, { output: '' })], BASE);
    const full = new Map(empty.spans.entries());
    expect(writeBrief({ rows: empty, order: [0], full, title: 't', facts: [], budgetTokens: 4000 }).cut).toEqual([]);
  });

  it('says what was not read', () => {
    const { cut } = writeBrief({ rows, order: [1], full: new Map(), title: 't', facts: [], budgetTokens: 4000 });
    expect(cut).toContain('input and output of think, which were not read');
  });

  it('of 10,000 spans, 10,000 deep, is within its budget too', () => {
    const deep = layOut(
      Array.from({ length: 10_000 }, (_, n) => aSpan(`s${n}`, n === 0 ? undefined : `s${n - 1}`, n, 10_000)),
      BASE,
    );
    const { tokens, cut } = writeBrief({
      rows: deep,
      order: tellingRows(deep, 40),
      full: new Map(),
      title: 't',
      facts: [],
      budgetTokens: 8000,
    });
    expect(tokens).toBeLessThanOrEqual(8000);
    expect(cut.join()).toMatch(/the list of spans: [\d,]+ of 10,000 rows/);
  });
});
