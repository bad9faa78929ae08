import { describe, expect, it } from 'vitest';
import { currencyOf, isCall, subtreeCosts, subtreeTokens } from '../../src/model/subtree-sums.ts';
import { layOut } from '../../src/model/trace.ts';
import { aSpan, BASE } from './spans.ts';

const priced = (amount: number, currency = 'USD') => ({
  cost: { total_cost: amount, currency, is_estimated: true },
});

describe('what a row cost with all below it', () => {
  it('is its own cost and that of all below it, each once', () => {
    const rows = layOut(
      [
        aSpan('root', undefined, 0, 100, priced(1)),
        aSpan('agent', 'root', 1, 50, priced(2)),
        aSpan('call', 'agent', 2, 10, priced(4)),
        aSpan('again', 'agent', 12, 20, priced(8)),
        aSpan('tool', 'root', 60, 90),
      ],
      BASE,
    );
    expect([...subtreeCosts(rows)]).toEqual([15, 14, 4, 8, Number.NaN]);
    expect(currencyOf(rows)).toBe('USD');
  });

  it('is not known where nothing was priced, and nothing where it was free', () => {
    const rows = layOut(
      [aSpan('root', undefined, 0, 9), aSpan('free', 'root', 1, 2, priced(0)), aSpan('a', undefined, 3, 4)],
      BASE,
    );
    expect([...subtreeCosts(rows)]).toEqual([0, 0, Number.NaN]);
    expect(currencyOf(layOut([aSpan('root', undefined, 0, 9)], BASE))).toBeUndefined();
  });

  it('counts below a parent that is not stored, and each span of a circle once', () => {
    const lost = layOut([aSpan('root', undefined, 0, 9), aSpan('x', 'nobody', 1, 2, priced(3))], BASE);
    expect([...subtreeCosts(lost)]).toEqual([Number.NaN, 3, 3]);
    const circle = layOut([aSpan('x', 'y', 0, 1, priced(1)), aSpan('y', 'x', 0, 1, priced(2))], BASE);
    expect(Math.max(...subtreeCosts(circle))).toBe(3);
  });

  it('goes through a chain of ten thousand', () => {
    const chain = Array.from({ length: 10_000 }, (_, at) =>
      aSpan(`s${at}`, at === 0 ? undefined : `s${at - 1}`, 0, 1, priced(1)),
    );
    expect(subtreeCosts(layOut(chain, BASE))[0]).toBe(10_000);
  });
});

describe('the tokens of a row with all below it', () => {
  const used = (input_tokens: number, output_tokens: number) => ({ usage: { input_tokens, output_tokens } });

  it('are its own and those of all below it, each once', () => {
    const rows = layOut(
      [
        aSpan('root', undefined, 0, 100),
        aSpan('agent', 'root', 1, 50),
        aSpan('call', 'agent', 2, 10, used(10, 2)),
        aSpan('again', 'agent', 12, 20, { usage: { total_tokens: 7 } }),
        aSpan('house', 'root', 25, 50, used(1, 0)),
        aSpan('inner', 'house', 30, 40, used(4, 0)),
        aSpan('tool', 'root', 60, 90),
      ],
      BASE,
    );
    expect([...subtreeTokens(rows, 24)]).toEqual([24, 19, 12, 7, 5, 4, Number.NaN]);
  });

  it('are not known where no span reported any, and zero where one reported zero', () => {
    const rows = layOut(
      [aSpan('root', undefined, 0, 9), aSpan('none', 'root', 1, 2, used(0, 0)), aSpan('a', undefined, 3, 4)],
      BASE,
    );
    expect([...subtreeTokens(rows, 0)]).toEqual([0, 0, Number.NaN]);
    expect([...subtreeTokens(layOut([aSpan('root', undefined, 0, 9)], BASE), undefined)]).toEqual([Number.NaN]);
  });

  it('do not count a span that only repeats what is below it, where the total of the trace leaves it out too', () => {
    const rows = layOut(
      [
        aSpan('agent', undefined, 0, 100, used(30, 3)),
        aSpan('first', 'agent', 1, 50, { ...used(10, 1), ...priced(1) }),
        aSpan('second', 'agent', 51, 90, { ...used(20, 2), ...priced(1) }),
        aSpan('lone', undefined, 95, 96, used(5, 0)),
      ],
      BASE,
    );
    expect([...subtreeTokens(rows, 38)]).toEqual([33, 11, 22, 5]);
    // The service counted all of them: nothing repeats.
    expect([...subtreeTokens(rows, 71)]).toEqual([66, 11, 22, 5]);
  });

  it('are not told where neither reading comes to the total of the trace', () => {
    const rows = layOut(
      [
        aSpan('agent', undefined, 0, 100, used(30, 3)),
        aSpan('call', 'agent', 1, 50, { ...used(30, 3), ...priced(1) }),
        aSpan('unpriced call', undefined, 51, 99, used(4, 0)),
        aSpan('below', 'unpriced call', 52, 60, used(2, 0)),
      ],
      BASE,
    );
    expect([...subtreeTokens(rows, 39)]).toEqual([Number.NaN, Number.NaN, Number.NaN, Number.NaN]);
  });
});

it('model calls and embeddings are billed', () => {
  const kinds = ['model_generation', 'rag_embedding', 'tool_call', 'agent_run'] as const;
  expect(kinds.map((kind) => isCall(aSpan('s', undefined, 0, 1, { kind })))).toEqual([true, true, false, false]);
});
