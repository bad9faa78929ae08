import { expect, it } from 'vitest';
import { aSpan, aUnit, spanIdOf, traceIdOf, traces } from '../../signals/factories.ts';
import { openTemporary } from '../temporary-store.ts';

it('a small unit waits for one large one at the most, and not for all that came before it', async () => {
  const { store, remove } = await openTemporary();
  try {
    const large = (n: number) =>
      aUnit({
        spans: Array.from({ length: 4_000 }, (_, span) =>
          aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(span), input: `large${n}` }),
        ),
      });
    const ended: string[] = [];
    const larges = [1, 2, 3, 4].map(async (n) => {
      await store.write(large(n));
      ended.push(`large ${n}`);
    });
    await larges[0];
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(9), input: 'small' })] }));
    ended.push('small');
    await Promise.all(larges);
    expect(ended.indexOf('small')).toBeLessThan(ended.indexOf('large 3'));
    expect((await store.listTraces(traces({ q: 'small' }))).items).toMatchObject([{ traceId: traceIdOf(9) }]);
    for (const n of [1, 2, 3, 4])
      expect((await store.listTraces(traces({ q: `large${n}` }))).items).toMatchObject([
        { traceId: traceIdOf(n), spanCount: 4_000 },
      ]);
  } finally {
    await remove();
  }
});
