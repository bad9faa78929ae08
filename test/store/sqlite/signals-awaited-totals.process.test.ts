import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { aSpan, aUnit, spanIdOf, traceIdOf } from '../signals/factories.ts';
import { openTemporary } from './temporary-store.ts';

it('a small unit does not wait for the totals of a large one, whose answer waits for them', async () => {
  const { store, path, remove } = await openTemporary();
  const db = new Database(path, { readonly: true });
  try {
    const count = 10_000;
    const oneEach = (place: number) =>
      aUnit({
        spans: Array.from({ length: count }, (_, trace) =>
          aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(trace * 10 + place) }),
        ),
      });
    await store.write(oneEach(0));
    const answered: string[] = [];
    const large = store.write(oneEach(1)).then(() => {
      answered.push('large');
      return db.prepare('SELECT span_count, count(*) FROM traces GROUP BY 1 ORDER BY 1').raw().all();
    });
    const small = Array.from({ length: 5 }, (_, n) =>
      store
        .write(aUnit({ spans: [aSpan({ traceId: traceIdOf(count + n), spanId: spanIdOf(1) })] }))
        .then(() => answered.push('small')),
    );
    await Promise.all(small);
    expect(await large).toEqual([
      [1, 5],
      [2, count],
    ]);
    expect(answered).toEqual([...small.map(() => 'small'), 'large']);
    expect(
      db.prepare('SELECT (SELECT count(*) FROM awaited_totals) + (SELECT count(*) FROM late_totals)').pluck().get(),
    ).toBe(0);
  } finally {
    db.close();
    await remove();
  }
});
