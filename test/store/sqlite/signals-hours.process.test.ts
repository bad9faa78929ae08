import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { eventually } from '../../eventually.ts';
import { aSpan, aUnit, T0, traceIdOf } from '../signals/factories.ts';
import { openTemporary } from './temporary-store.ts';

const HOUR = 3_600_000_000_000n;
const BASE = (T0 / HOUR) * HOUR;

it('past hours are added up while the store is open, and reports say the same before and after', async () => {
  const { store, path, remove } = await openTemporary({ hourSettledMs: 0 });
  const db = new Database(path, { readonly: true });
  try {
    const call = (trace: number, startTime: bigint) =>
      aSpan({
        traceId: traceIdOf(trace),
        kind: 'model_generation',
        model: 'a',
        startTime,
        cost: { totalCost: 0.5, currency: 'USD', isEstimated: true },
      });
    const window = { projects: 'all', from: BASE - HOUR, to: BASE + 9n * HOUR, bookModels: ['a'] } as const;
    await store.write(aUnit({ spans: [call(1, BASE), call(2, BASE + HOUR)] }));
    const hours = db.prepare<[], number>('SELECT count(*) FROM past_hours').pluck();
    await eventually('a row of each hour', () => hours.get() === 2);
    const before = await store.costReport({ ...window, groupBy: 'model', bucketSeconds: 3_600 });
    expect([before.totalCost, before.series?.length]).toEqual([1, 2]);
    await store.deleteTraces([traceIdOf(1)], 'all');
    const after = await store.summaryReport(window);
    expect([after.traceCount, after.totalCost]).toEqual([1, 0.5]);
    await eventually('the row of the hour that is left', () => hours.get() === 1);
  } finally {
    db.close();
    await remove();
  }
});
