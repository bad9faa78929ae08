import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { eventually } from '../../eventually.ts';
import { aSpan, aUnit, spanIdOf, traceIdOf } from '../signals/factories.ts';
import { openTemporary } from './temporary-store.ts';

it('totals of long traces that take too much of the writer follow their commit', async () => {
  const { store, path, remove } = await openTemporary();
  const db = new Database(path, { readonly: true });
  try {
    const traces = Array.from({ length: 20 }, (_, trace) => trace);
    const spansOf = (trace: number, from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) =>
        aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(trace * 100_000 + from + n) }),
      );
    const each = 4_000;
    for (const trace of traces) await store.write(aUnit({ spans: spansOf(trace, 0, each) }));
    const late = db.prepare('SELECT count(*) FROM late_totals').pluck();
    let more = 0;
    // Each reads 80,000 spans anew, so half a second is used up after some of them, however quick the machine is.
    for (; more < 200 && late.get() === 0; more++)
      await store.write(aUnit({ spans: traces.flatMap((trace) => spansOf(trace, each + more, each + more + 1)) }));
    expect(late.get()).toBeGreaterThan(0);
    await eventually('no totals are late', () => late.get() === 0);
    expect(db.prepare('SELECT DISTINCT span_count FROM traces').pluck().all()).toEqual([each + more]);
  } finally {
    db.close();
    await remove();
  }
});
