import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { eventually } from '../../eventually.ts';
import { aSpan, aUnit, spanIdOf, traceIdOf } from '../signals/factories.ts';
import { temporaryFolder } from './temporary-store.ts';

const TRACES = 10_000;
const oneEach = (place: number) =>
  aUnit({
    spans: Array.from({ length: TRACES }, (_, trace) =>
      aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(trace * 10 + place) }),
    ),
  });

/** A store whose traces have a span each, a view of its file, and a connection that may change it. */
const withStore = async (
  work: (
    store: SignalStore,
    file: Database.Database,
    awaited: () => number,
    reopen: () => Promise<void>,
  ) => Promise<void>,
): Promise<void> => {
  const { path, remove } = temporaryFolder();
  let store = await openSqliteSignalStore({ path });
  const file = new Database(path);
  const awaited = file.prepare<[], number>('SELECT count(*) FROM awaited_totals').pluck();
  try {
    await store.write(oneEach(0));
    await work(
      store,
      file,
      () => awaited.get() as number,
      async () => {
        await store.close();
        store = await openSqliteSignalStore({ path });
      },
    );
  } finally {
    file.close();
    await store.close();
    remove();
  }
};

/** Adds a span to each trace, and small units beside that. `beside` is called after each of these until the large unit is answered. */
const addBeside = async (store: SignalStore, beside: () => Promise<void> | void): Promise<string> => {
  let isAnswered = false;
  const large = store.write(oneEach(1)).finally(() => {
    isAnswered = true;
  });
  for (let small = 0; !isAnswered; small++) {
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(TRACES + small), spanId: spanIdOf(1) })] }));
    if (!isAnswered) await beside();
  }
  return large;
};

const withTwo = (file: Database.Database): unknown =>
  file.prepare('SELECT count(*) FROM traces WHERE span_count = 2').pluck().get();

describe('totals of a large unit that a small one does not wait for', () => {
  it('are there when the large unit is answered', () =>
    withStore(async (store, file, awaited) => {
      const seen: number[] = [];
      expect(await addBeside(store, () => void seen.push(awaited()))).toBe('written');
      expect([awaited(), withTwo(file)]).toEqual([0, TRACES]);
      expect(Math.max(...seen)).toBeGreaterThan(0);
      expect(file.prepare('SELECT count(*) FROM late_totals').pluck().get()).toBe(0);
    }));

  it('that cannot be written are late: the unit is answered, and the next start brings them up', () =>
    withStore(async (store, file, awaited, reopen) => {
      file.exec(
        `CREATE TRIGGER fails BEFORE UPDATE ON traces
           WHEN EXISTS (SELECT 1 FROM awaited_totals) OR EXISTS (SELECT 1 FROM late_totals)
         BEGIN SELECT RAISE(ABORT, 'no update of a trace'); END`,
      );
      const outcome = await addBeside(store, () => {});
      expect(outcome).toBe('written');
      expect(awaited()).toBeGreaterThan(0);
      expect(withTwo(file)).toBeLessThan(TRACES);
      file.exec('DROP TRIGGER fails');
      await reopen();
      await eventually('all totals are there', () => withTwo(file) === TRACES);
      expect(awaited()).toBe(0);
    }));
});
