import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../any-character.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { aSpan, aUnit, T0, traceIdOf, traces } from './factories.ts';
import { allPages, idsOf, type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of search. */
export const searchContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);

    describe('search (q)', () => {
      const found = async (store: SignalStore, q: string): Promise<boolean> =>
        (await store.listTraces(traces({ q }))).items.length > 0;
      const text = 'The Quick-brown fox, naïve CAFÉ 東京 user@example.com 42 tests_done it\'s "quoted" foo.bar ΑΒΓ';
      const cases: [string, boolean][] = [
        ['quick', true],
        ['QUICK', true],
        ['quic', false],
        ['quic*', true],
        ['uick', false],
        ['fox quick', true],
        ['fox dog', false],
        ['"brown fox"', true],
        ['"fox brown"', false],
        ['"quick brown fox"', true],
        ['"quick fox"', false],
        ['quick "brown fox" 42', true],
        ['naïve', true],
        ['naive', false],
        ['café', true],
        ['東京', true],
        ['東*', true],
        ['user@example.com', true],
        ['"user@example.com"', true],
        ['example', true],
        ["it's", true],
        ['foo.bar', true],
        ['"foo', true],
        ['foo"', true],
        ['(foo)', true],
        ['foo AND bar', false],
        ['foo OR zzz', false],
        ['NOT', false],
        ['-fox', true],
        ['input:fox', false],
        ['fox^2', false],
        ['αβγ', true],
        ['*', false],
        ['""', false],
        ['', false],
        ['   ', false],
        ['!!! ---', false],
        ['NEAR(fox brown)', false],
        ['{fox}', true],
        ["'; DROP TABLE spans; --", false],
        ['\\', false],
        ['😀', false],
      ];
      it('words are ANDed, case-insensitive and complete; "a phrase"; word*; any input is a valid query', async () => {
        const store = await holding({ spans: [aSpan({ input: text })] });
        for (const [q, expected] of cases) expect([q, await found(store, q)]).toEqual([q, expected]);
      });
      it('every input is answered', async () => {
        const store = await holding({ spans: [aSpan({ input: text })] });
        await fc.assert(
          fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 40 }), async (q) => {
            expect((await store.listTraces(traces({ q }))).items.length).toBeLessThanOrEqual(1);
          }),
          { numRuns: 200 },
        );
      });
      it('words are sought in input and output of one span, phrases in one of the two', async () => {
        const store = await holding({
          spans: [aSpan({ input: 'alpha beta', output: 'gamma delta' }), aSpan({ input: 'omega' })],
        });
        expect(await found(store, 'alpha delta')).toBe(true);
        expect(await found(store, '"beta gamma"')).toBe(false);
        expect(await found(store, 'alpha omega')).toBe(false);
      });
      it('attributes and names are not searched', async () => {
        const store = await holding({ spans: [aSpan({ name: 'zebra', attributes: { k: 'giraffe' } })] });
        expect(await found(store, 'zebra')).toBe(false);
        expect(await found(store, 'giraffe')).toBe(false);
      });
      it('JSON payloads are searched by their words, escapes read', async () => {
        const store = await holding({
          spans: [
            aSpan({ input: { content: 'one\ntwo\t"three"', path: 'C:\\new' } }),
            aSpan({ input: '[{"content":"four\\nfive caf\\u00e9"}]' }),
          ],
        });
        for (const word of ['one', 'two', 'three', 'content', 'new', 'four', 'five', 'café', '"four five"'])
          expect([word, await found(store, word)]).toEqual([word, true]);
        expect(await found(store, 'ntwo')).toBe(false);
      });
      it('a word as long as the store says it can be is found, alone and beside others', async () => {
        const store = await empty();
        const { longestWordBytes } = store.capabilities.fullText;
        const words = ['x'.repeat(longestWordBytes), 'ü'.repeat(Math.floor(longestWordBytes / 2))];
        for (const [index, word] of words.entries())
          await store.write(
            aUnit({ spans: [aSpan({ traceId: traceIdOf(index + 1), input: `before ${word} after` })] }),
          );
        for (const [index, word] of words.entries()) {
          expect(idsOf(await store.listTraces(traces({ q: word })))).toEqual([traceIdOf(index + 1)]);
          expect(idsOf(await store.listTraces(traces({ q: `after ${word.slice(0, 100)}*` })))).toEqual([
            traceIdOf(index + 1),
          ]);
          expect(await found(store, word.slice(1))).toBe(false);
        }
      });
      it('a written batch is found by the next read', async () => {
        const store = await empty();
        for (let i = 0; i < 20; i++) {
          await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(i + 1), input: `unique${i}` })] }));
          expect(idsOf(await store.listTraces(traces({ q: `unique${i}` })))).toEqual([traceIdOf(i + 1)]);
        }
      });
      // Both sides of the number of words up to which the embedded store names them, with matches that it reads at once and not.
      it.each([
        [1, 200],
        [200, 200],
        [201, 201],
        [201, 700],
        [700, 700],
      ])(
        'word* finds what begins so, of %i words in %i spans, alone, beside words and beside a phrase',
        async (count, of) => {
          const spans = Array.from({ length: of }, (_, i) =>
            aSpan({
              traceId: traceIdOf(i + 1),
              startTime: T0 + BigInt((i * 7919) % of),
              input: `other begun${i % count} ${i % 2 === 0 ? 'side by side' : 'side apart'} ${i % 3 === 0 ? 'third' : ''}`,
            }),
          );
          const store = await holding({ spans });
          const listed = async (q: string) =>
            (await allPages((after) => store.listTraces(traces({ q, limit: 90, ...(after && { after }) })))).map(
              ({ traceId }) => traceId,
            );
          const expected = (holds: (i: number) => boolean) =>
            [...spans.entries()]
              .filter(([i]) => holds(i))
              .toSorted(([, a], [, b]) => (a.startTime < b.startTime ? 1 : -1))
              .map(([, { traceId }]) => traceId);
          expect(await listed('begun*')).toEqual(expected(() => true));
          expect(await listed('begun1*')).toEqual(expected((i) => String(i % count).startsWith('1')));
          expect(await listed('BEG* thi*')).toEqual(expected((i) => i % 3 === 0));
          expect(await listed('begun* "side by side"')).toEqual(expected((i) => i % 2 === 0));
          expect(await listed('begun0* "side by side" third')).toEqual(
            expected((i) => String(i % count).startsWith('0') && i % 6 === 0),
          );
          expect(await listed('begun* begum*')).toEqual([]);
        },
      );
      it('two beginnings of very many words are found where only the oldest spans hold both', async () => {
        const spans = Array.from({ length: 3_600 }, (_, i) =>
          aSpan({
            traceId: traceIdOf(i + 1),
            startTime: T0 + BigInt(i),
            input: `begun${i % 300} ${i < 260 ? `old${i}` : 'new'} ${i % 2 === 0 ? 'side by side' : ''}`,
          }),
        );
        const store = await holding({ spans });
        const listed = async (q: string) =>
          (await allPages((after) => store.listTraces(traces({ q, limit: 200, ...(after && { after }) })))).map(
            ({ traceId }) => traceId,
          );
        const oldest = spans.slice(0, 260).toReversed();
        expect(await listed('begun* old*')).toEqual(oldest.map(({ traceId }) => traceId));
        expect(await listed('begun* old* "side by side"')).toEqual(
          oldest.filter((_, i) => i % 2 === 1).map(({ traceId }) => traceId),
        );
        expect(await listed('begun* old* new')).toEqual([]);
        expect((await listed('begun* new')).length).toBe(3_340);
      });
      it('a phrase that most spans hold is paged in order', async () => {
        const spans = Array.from({ length: 700 }, (_, i) =>
          aSpan({
            traceId: traceIdOf(i + 1),
            startTime: T0 + BigInt((i * 7919) % 700),
            input: i % 10 === 0 ? 'side by side' : 'by side apart side',
          }),
        );
        const store = await holding({ spans });
        const expected = spans
          .filter(({ input }) => input === 'side by side')
          .toSorted((a, b) => (a.startTime < b.startTime ? 1 : -1))
          .map(({ traceId }) => traceId);
        const paged = await allPages((after) =>
          store.listTraces(traces({ q: '"side by side"', limit: 9, ...(after && { after }) })),
        );
        expect(paged.map(({ traceId }) => traceId)).toEqual(expected);
      });
    });
  });
};
