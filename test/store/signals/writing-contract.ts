import { describe, expect, it } from 'vitest';
import { aFeedback, aLog, aNote, aScore, aSpan, aUnit, inDefault, spanIdOf, traceIdOf, traces } from './factories.ts';
import { idsOf, type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of writing. */
export const writingContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty } = storesOf(open);

    describe('ingest keys', () => {
      it('a unit with a used key is not written again', async () => {
        const store = await empty();
        expect(await store.write(aUnit({ spans: [aSpan({ name: 'one' })] }, 'k'))).toBe('written');
        expect(await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(2), input: 'ghost' })] }, 'k'))).toBe(
          'duplicate',
        );
        expect(idsOf(await store.listTraces(traces()))).toEqual([traceIdOf(1)]);
        expect(idsOf(await store.listTraces(traces({ q: 'ghost' })))).toEqual([]);
        expect(await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(3), input: 'alive' })] }, 'k2'))).toBe(
          'written',
        );
        expect(idsOf(await store.listTraces(traces({ q: 'alive' })))).toEqual([traceIdOf(3)]);
      });
      it('a key is known from the write on, and no other is', async () => {
        const store = await empty();
        expect(await store.isWritten('k')).toBe(false);
        await store.write(aUnit({ spans: [aSpan()] }, 'k'));
        expect([await store.isWritten('k'), await store.isWritten('K'), await store.isWritten('')]).toEqual([
          true,
          false,
          false,
        ]);
      });
      it('the same unit at once is there once, and as many writers hear that they wrote it as the store says (P4)', async () => {
        const store = await empty();
        const isExact = store.capabilities.idempotency === 'exact';
        for (let round = 0; round < 10; round++) {
          const unit = aUnit(
            { spans: [aSpan({ traceId: traceIdOf(round), spanId: spanIdOf(round), input: `round${round}` })] },
            `key ${round}`,
          );
          const outcomes = await Promise.all(Array.from({ length: 50 }, () => store.write(unit)));
          const written = outcomes.filter((outcome) => outcome === 'written').length;
          expect(written).toBeGreaterThan(0);
          if (isExact) expect(written).toBe(1);
          expect((await store.listTraces(traces({ q: `round${round}` }))).items).toMatchObject([{ spanCount: 1 }]);
          expect(await store.write(unit)).toBe('duplicate');
        }
        expect((await store.listTraces(traces())).items).toHaveLength(10);
      });
      it('of different units under one key at once, one is there; of a store that converges, at least one', async () => {
        const store = await empty();
        const isExact = store.capabilities.idempotency === 'exact';
        const outcomes = await Promise.all(
          Array.from({ length: 50 }, (_, i) => store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(i) })] }, 'k'))),
        );
        const written = outcomes.filter((outcome) => outcome === 'written').length;
        expect((await store.listTraces(traces())).items).toHaveLength(written);
        if (isExact) expect(written).toBe(1);
      });
      it('a reader sees a large unit completely or not at all, where the store says so', async () => {
        const store = await empty();
        const many = 3_000;
        const isUnit = store.capabilities.atomicity === 'unit';
        const large = aUnit({
          spans: Array.from({ length: many }, (_, n) => aSpan({ spanId: spanIdOf(n), traceId: traceIdOf(n % 3) })),
        });
        const seen = async (): Promise<number> =>
          (await store.listTraces(traces())).items.reduce((sum, { spanCount }) => sum + spanCount, 0);
        let isWritten = false;
        const writing = store.write(large).finally(() => {
          isWritten = true;
        });
        const counts: number[] = [];
        while (!isWritten) {
          counts.push(await seen());
        }
        await writing;
        if (isUnit) expect(counts.filter((count) => count !== 0 && count !== many)).toEqual([]);
        expect(await seen()).toBe(many);
      });
      it('a unit without spans takes its key too', async () => {
        const store = await empty();
        expect(await store.write(aUnit({ logs: [aLog()] }, 'k'))).toBe('written');
        expect(await store.write(aUnit({ logs: [aLog()] }, 'k'))).toBe('duplicate');
        expect(await store.write(aUnit({}, 'empty'))).toBe('written');
        expect(await store.write(aUnit({}, 'empty'))).toBe('duplicate');
        expect((await store.listLogs({ ...inDefault, order: 'asc' })).items).toHaveLength(1);
      });
      it('concurrent units of one trace leave one trace with all spans', async () => {
        const store = await empty();
        await Promise.all(
          Array.from({ length: 64 }, () => store.write(aUnit({ spans: [aSpan({ input: 'together' })] }))),
        );
        expect((await store.listTraces(traces())).items).toMatchObject([{ spanCount: 64 }]);
      });
      it('a large unit of all signals is one unit, and small ones beside it are found by their words as well', async () => {
        const store = await empty();
        const many = 3_000;
        const large = aUnit(
          {
            spans: Array.from({ length: many }, (_, n) =>
              aSpan({ traceId: traceIdOf(1 + (n % 7)), spanId: spanIdOf(n), input: `large word${n}` }),
            ),
            logs: [aLog({ traceId: traceIdOf(1) })],
            scores: [aScore({ traceId: traceIdOf(1) })],
            feedback: [aFeedback({ traceId: traceIdOf(1) })],
            aspectNotes: [aNote({ traceId: traceIdOf(1) })],
          },
          'large',
        );
        const small = (n: number) =>
          store.write(
            aUnit({ spans: [aSpan({ traceId: traceIdOf(100 + n), spanId: spanIdOf(1), input: `small word` })] }),
          );
        const written = await Promise.all([small(1), store.write(large), small(2), store.write(large), small(3)]);
        expect(written).toEqual(['written', 'written', 'written', 'duplicate', 'written']);
        const listed = (await store.listTraces(traces({ limit: 100 }))).items;
        expect(listed).toHaveLength(10);
        expect(listed.reduce((sum, { spanCount }) => sum + spanCount, 0)).toBe(many + 3);
        const found = async (q: string): Promise<number> =>
          (await store.listTraces(traces({ q, limit: 100 }))).items.length;
        expect([await found('large'), await found('small'), await found('word0'), await found('word2999')]).toEqual([
          7, 3, 1, 1,
        ]);
        const detail = await store.findTrace(traceIdOf(1), 'all', false);
        expect(detail?.trace).toMatchObject({ scores: [{ count: 1 }], feedback: { thumbs: 1 } });
      });
    });
  });
};
