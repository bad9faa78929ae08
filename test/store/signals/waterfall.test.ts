import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { waterfall, type WaterfallReader } from '../../../src/store/signals/waterfall.ts';

type Line = { readonly id: string; readonly parent: string | null; readonly start: bigint };
const reader: WaterfallReader<Line> = {
  id: ({ id }) => id,
  parent: ({ parent }) => parent,
  start: ({ start }) => start,
};
const line = (id: string, parent: string | null, start: number): Line => ({ id, parent, start: BigInt(start) });
const idsOf = (lines: readonly Line[]): string => lines.map(({ id }) => id).join('');

/** The rule, word by word, of spans whose ids differ. */
const asTheRuleSays = (spans: readonly Line[]): Line[] => {
  const ordered = spans.toSorted((a, b) => Number(a.start - b.start) || (a.id < b.id ? -1 : 1));
  const drawn: Line[] = [];
  const draw = (span: Line): void => {
    if (drawn.includes(span)) return;
    drawn.push(span);
    for (const child of ordered) if (child.parent === span.id) draw(child);
  };
  for (const span of ordered) if (!spans.some(({ id }) => id === span.parent)) draw(span);
  for (const span of ordered) draw(span);
  return drawn;
};

describe('a waterfall', () => {
  it('has a parent before its children, siblings by start and then by id, orphans at the top, rings from their earliest', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    const span = fc.record({ id, parent: fc.option(fc.oneof(id, fc.constant('z'))), start: fc.bigInt(-2n, 2n) });
    fc.assert(
      fc.property(fc.uniqueArray(span, { selector: reader.id, maxLength: 10 }), (spans) => {
        expect(idsOf(waterfall(spans, reader))).toBe(idsOf(asTheRuleSays(spans)));
      }),
    );
  });

  it('has the children of an id that two spans have once, under the one that is drawn first', () => {
    const spans = [line('b', 'c', 1), line('b', null, 3), line('c', null, 2), line('d', 'b', 5), line('e', 'b', 4)];
    expect(waterfall(spans, reader).map(({ id, parent }) => [id, parent])).toEqual([
      ['c', null],
      ['b', 'c'],
      ['e', 'b'],
      ['d', 'b'],
      ['b', null],
    ]);
  });

  it('compares starts to the nanosecond', () => {
    const start = 1_795_432_882_724_000_000n;
    const spans = [1n, 0n, 2n].map((later, n): Line => ({ id: `${n}`, parent: null, start: start + later }));
    expect(idsOf(waterfall(spans, reader))).toBe('102');
  });

  it('of a chain of a hundred thousand spans is drawn', () => {
    const spans = Array.from({ length: 100_000 }, (_, n) => line(String(n), n === 0 ? null : String(n - 1), 0));
    expect(waterfall(spans.toReversed(), reader)).toEqual(spans);
  });
});
