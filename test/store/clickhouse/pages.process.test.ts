import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Span } from '../../../src/model/span.ts';
import { connectDatabase, type Database } from '../../../src/store/clickhouse/connection.ts';
import { openClickHouseSignalStore } from '../../../src/store/clickhouse/signals/open.ts';
import { listTraces } from '../../../src/store/clickhouse/signals/read-traces.ts';
import type { TraceFilter, TraceQuery, TraceSummary } from '../../../src/store/signals/query.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { type ClickHouseServer, startClickHouse } from '../../clickhouse.ts';
import { aSpan, aUnit, spanIdOf, T0, traceIdOf, traces } from '../signals/factories.ts';
import { allPages } from '../signals/opening.ts';
import { openTemporary } from '../sqlite/temporary-store.ts';

// Pages are read off stored rows, of which many are replaced or removed where parts are not merged yet: here they never are.

let server: ClickHouseServer;
beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.remove());

type Unmerged = { readonly store: SignalStore; readonly database: Database };
const unmerged = async (test: (opened: Unmerged) => Promise<void>): Promise<void> => {
  const address = server.create();
  const store = await openClickHouseSignalStore({ address });
  const database = connectDatabase({
    ...{ address, store: 'signal store', connections: 2, statementMs: 60_000 },
    ...{ usesDatabase: true, isAbandoned: true },
  });
  try {
    for (const table of ['traces', 'spans']) await server.run(`SYSTEM STOP MERGES ${address.database}.${table}`);
    await test({ store, database });
  } finally {
    await Promise.all([store.close(), database.close()]);
  }
};

const write = (store: SignalStore, ...spans: Span[]): Promise<unknown> => store.write(aUnit({ spans }));
/** The only span of a trace, which replaces the one before it. */
const aTrace = (n: number, fields: Parameters<typeof aSpan>[0] = {}): Span =>
  aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(n), ...fields });
const priced = (totalCost: number) => ({ totalCost, currency: 'USD', isEstimated: false }) as const;
/** The numbers of the traces of a list, over all its pages. */
const listed = async (store: SignalStore, query: TraceFilter & Partial<TraceQuery> = {}): Promise<number[]> => {
  const found = await allPages((after) => store.listTraces(traces({ limit: 2, ...query, ...(after && { after }) })));
  return found.map(({ traceId }) => Number.parseInt(traceId.slice(1), 16));
};
/** The same database, with what it is asked. */
const watched = (database: Database, onAnswer: (sql: string) => Promise<void> | void): Database => ({
  ...database,
  ask: async (sql, params) => {
    const answer = await database.ask<never>(sql, params);
    await onAnswer(sql);
    return answer;
  },
});

const orders = {
  start_time: ({ startTime }) => startTime,
  duration: ({ durationNs }) => durationNs,
  cost: ({ totalCost }) => totalCost,
  span_count: ({ spanCount }) => spanCount,
} as const satisfies Record<string, (trace: TraceSummary) => bigint | number | undefined>;
const sorts = Object.keys(orders) as (keyof typeof orders)[];
/** What the order of a list promises, equals by their ids. */
const inOrder = (of: readonly TraceSummary[], sort: keyof typeof orders, order: 'asc' | 'desc'): string[] => {
  const sign = order === 'desc' ? -1 : 1;
  return of
    .toSorted((a, b) => {
      const [keyA, keyB] = [orders[sort](a), orders[sort](b)];
      if (keyA === undefined || keyB === undefined) {
        if (keyA !== keyB) return keyA === undefined ? 1 : -1;
      } else if (keyA !== keyB) return keyA < keyB ? -sign : sign;
      return a.traceId < b.traceId ? -sign : sign;
    })
    .map(({ traceId }) => traceId);
};

describe('a page over rows that are not merged', () => {
  const aSent = fc.record({
    trace: fc.integer({ min: 1, max: 6 }),
    span: fc.integer({ min: 1, max: 2 }),
    start: fc.integer({ min: 0, max: 3 }),
    length: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    cost: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    userId: fc.constantFrom('ann', 'bob'),
    input: fc.constantFrom('red fox', 'fox red', 'blue', 'red'),
  });
  const aStep = fc.oneof(
    { weight: 6, arbitrary: fc.array(aSent, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 6 }) },
  );
  const aFilter = fc.constantFrom<TraceFilter>(
    ...[{}, { userId: 'ann' }, { q: 'fox' }, { q: 'red', userId: 'bob' }, { q: '"red fox"' }, { q: 're* blue' }],
    ...[{ minCost: 0.002 }, { from: T0 + 1n, q: 'b*' }, { maxDurationMs: 0.000001 }],
  );

  it('has the traces that the embedded store has, in every order, whatever was replaced and removed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aStep, { minLength: 4, maxLength: 10 }),
        fc.array(aFilter, { minLength: 3, maxLength: 3 }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, filters, limit) => {
          const embedded = await openTemporary();
          try {
            await unmerged(async ({ store }) => {
              for (const step of steps)
                for (const one of [store, embedded.store])
                  if (typeof step === 'number') await one.deleteTraces([traceIdOf(step)], 'all');
                  else
                    await write(
                      one,
                      ...step.map(({ trace, span, start, length, cost, userId, input }) => {
                        const { endTime: _end, ...sent } = aSpan({
                          ...{ traceId: traceIdOf(trace), spanId: spanIdOf(trace * 10 + span), input },
                          ...{ startTime: T0 + BigInt(start), correlation: { userId } },
                          ...(cost === undefined ? {} : { cost: priced(cost / 1_000) }),
                        });
                        return length === undefined ? sent : { ...sent, endTime: sent.startTime + BigInt(length) };
                      }),
                    );
              for (const filter of filters) {
                const { items } = await embedded.store.listTraces(traces({ ...filter, limit: 1_000 }));
                for (const sort of sorts)
                  for (const order of ['asc', 'desc'] as const) {
                    const found = await allPages((after) =>
                      store.listTraces(traces({ ...filter, sort, order, limit, ...(after && { after }) })),
                    );
                    expect([filter, sort, order, found.map(({ traceId }) => traceId)]).toEqual([
                      ...[filter, sort, order],
                      inOrder(items, sort, order),
                    ]);
                    for (const trace of found)
                      expect(trace).toEqual(items.find(({ traceId }) => traceId === trace.traceId));
                  }
              }
            });
          } finally {
            await embedded.remove();
          }
        },
      ),
      { numRuns: 8, endOnFailure: true },
    );
  });

  it('holds the traces of a project that is small among others, in each order, and asks the index alone no second time', () =>
    unmerged(async ({ store, database }) => {
      const inProject = (project: string, n: number): Span =>
        aTrace(n, { startTime: T0 + BigInt(n), correlation: { project } });
      const own = [1, 2, 3, 4, 5];
      const others = Array.from({ length: 80 }, (_, n) => inProject(n % 2 === 0 ? 'a' : 'c', n + 10));
      await write(store, ...own.map((n) => inProject('b', n)), ...others, inProject('b', 200));
      for (const sort of ['start_time', 'duration', 'cost', 'span_count'] as const)
        for (const order of ['asc', 'desc'] as const)
          expect(new Set(await listed(store, { projects: ['b'], sort, order }))).toEqual(new Set([...own, 200]));
      expect(await listed(store, { projects: ['b'] })).toEqual([200, ...own.toReversed()]);
      expect(await listed(store, { projects: ['a', 'c'], limit: 100 })).toHaveLength(80);
      expect(await listed(store, { projects: 'all', limit: 100 })).toHaveLength(86);
      const asked: string[] = [];
      const noting = watched(database, (sql) => void asked.push(sql.includes('indexHint') ? 'index' : 'column'));
      const page = await listTraces(noting, traces({ projects: ['b'], limit: 3 }));
      expect(page.items.map(({ traceId }) => traceId)).toEqual([200, 5, 4].map(traceIdOf));
      expect(asked).toEqual(['index', 'column']);
    }));

  it('holds the traces of a project where another has parts of all of them, which come first', () =>
    unmerged(async ({ store }) => {
      const numbers = Array.from({ length: 1_100 }, (_, n) => n + 1);
      const part = (project: string, n: number, fields: Parameters<typeof aSpan>[0] = {}): Span =>
        aTrace(n, { startTime: T0 + BigInt(n), correlation: { project }, ...fields });
      await write(store, ...numbers.map((n) => part('a', n, { startTime: T0 + 2_000n, cost: priced(n / 1_000) })));
      await write(store, ...numbers.map((n) => part('b', n)));
      for (const sort of ['start_time', 'cost'] as const)
        expect(await listed(store, { projects: ['b'], sort, limit: 400 })).toEqual(numbers.toReversed());
    }));

  it('passes over more replaced rows than it reads at once, and finds the trace at its place', () =>
    unmerged(async ({ store }) => {
      await write(store, aTrace(2), aTrace(3, { startTime: T0 + 1n }));
      for (let version = 0; version < 60; version++)
        await write(store, aTrace(1, { startTime: T0 + 1_000n + BigInt(version) }));
      await write(store, aTrace(1, { startTime: T0 - 1n }));
      expect(await listed(store)).toEqual([3, 2, 1]);
      expect(await listed(store, { order: 'asc' })).toEqual([1, 2, 3]);
      await store.deleteTraces([traceIdOf(1)], 'all');
      expect(await listed(store)).toEqual([3, 2]);
    }));

  it('goes on where many traces begin in the same moment, in either direction', () =>
    unmerged(async ({ store }) => {
      const many = Array.from({ length: 90 }, (_, i) => i + 1);
      await write(
        store,
        ...many.map((n) => aTrace(n, { startTime: T0 + BigInt(n > 80 ? n : 0) })),
        aTrace(91, { startTime: T0 - 1n }),
      );
      for (const order of ['asc', 'desc'] as const) {
        const inOrder = [91, ...many].map(traceIdOf);
        const expected = order === 'asc' ? inOrder : inOrder.toReversed();
        for (const limit of [1, 7, 25, 100]) {
          const found = await allPages((after) => store.listTraces(traces({ order, limit, ...(after && { after }) })));
          expect([order, limit, found.map(({ traceId }) => traceId)]).toEqual([order, limit, expected]);
        }
      }
    }));

  it('reads those that count alone where thousands of rows do not', () =>
    unmerged(async ({ store, database }) => {
      const many = Array.from({ length: 4_000 }, (_, i) => i + 1);
      const sent = (user: string, input: string) =>
        many.map((n) => aTrace(n, { startTime: T0 + BigInt(n), input, correlation: { userId: user } }));
      const asOld = (n: number): Span =>
        aTrace(n, { startTime: T0 + BigInt(n), input: 'old words', correlation: { userId: 'old' } });
      await write(store, ...sent('old', 'old words'));
      await write(store, ...sent('new', 'new words'));
      await write(store, asOld(1), asOld(2));
      const exact: string[] = [];
      const noting = watched(database, (sql) => {
        if (sql.includes('FROM traces AS t FINAL') && !sql.includes('t.trace_id IN ')) exact.push(sql);
      });
      for (const filter of [{ userId: 'old' }, { q: 'old' }, { q: '"old words"' }]) {
        const found = await allPages((after) =>
          listTraces(noting, traces({ ...filter, limit: 1, ...(after && { after }) })),
        );
        expect([filter, found.map(({ traceId }) => traceId)]).toEqual([filter, [traceIdOf(2), traceIdOf(1)]]);
      }
      expect(exact.length).toBeGreaterThan(0);
    }));

  it('shows a trace once that is written while the page is read, as it is then', () =>
    unmerged(async ({ store, database }) => {
      const input = 'few words';
      await write(store, ...[0n, 5n, 9n].map((later, place) => aTrace(place + 1, { input, startTime: T0 + later })));
      for (const [name, startTime] of [
        ['same place', T0 + 5n],
        ['further down', T0 - 5n],
      ] as const) {
        let isWritten = false;
        const meanwhile = watched(database, async (sql) => {
          if (isWritten || !sql.includes('AS key FROM traces AS t WHERE')) return;
          isWritten = true;
          await write(store, aTrace(2, { name, startTime, input }));
        });
        // Without words one statement reads all of it.
        const { items } = await listTraces(meanwhile, traces({ q: 'words' }));
        expect(isWritten).toBe(true);
        expect(items.map(({ traceId }) => traceId).toSorted()).toEqual([1, 2, 3].map(traceIdOf));
        expect(items.find(({ traceId }) => traceId === traceIdOf(2))?.name).toBe(name);
      }
    }));

  it('does not find a trace by the words of a span that was replaced or removed', () =>
    unmerged(async ({ store }) => {
      await write(
        store,
        aTrace(1, { input: 'apple pie' }),
        aTrace(2, { input: 'apple pie' }),
        aTrace(3, { input: 'apple pie' }),
      );
      await write(store, aTrace(1, { input: 'cherry' }));
      await store.deleteTraces([traceIdOf(2)], 'all');
      for (const q of ['apple', 'app*', '"apple pie"', 'apple pi*'])
        expect([q, await listed(store, { q })]).toEqual([q, [3]]);
      expect(await listed(store, { q: 'cherry' })).toEqual([1]);
      await write(store, aTrace(3, { input: 'plum' }));
      for (const q of ['apple', 'app*', '"apple pie"']) expect([q, await listed(store, { q })]).toEqual([q, []]);
    }));
});

describe('a search', () => {
  it('goes through the list where most traces hold the words, and else begins with those that do, to the same end', () =>
    unmerged(async ({ store, database }) => {
      const all = Array.from({ length: 400 }, (_, i) => i + 1);
      const holdsRare = (n: number): boolean => n % 50 === 0;
      await write(
        store,
        ...all.map((n) =>
          aTrace(n, {
            startTime: T0 + BigInt((n * 7919) % 401),
            input: `common ${holdsRare(n) ? 'rare' : ''} ${n % 2 === 0 ? 'side by side' : 'by side apart side'}`,
          }),
        ),
      );
      const byStart = (holds: (n: number) => boolean): string[] =>
        all
          .filter(holds)
          .toSorted((a, b) => ((b * 7919) % 401) - ((a * 7919) % 401))
          .map(traceIdOf);
      const ways = new Set<string>();
      const noting = watched(database, (sql) => {
        if (sql.includes('AS key FROM traces AS t WHERE'))
          ways.add(sql.includes('cityHash64(t.trace_id) IN (SELECT') ? 'matches' : 'walk');
      });
      const found = async (q: string, limit: number) => {
        ways.clear();
        const pages = await allPages((after) => listTraces(noting, traces({ q, limit, ...(after && { after }) })));
        return { ways: [...ways], found: pages.map(({ traceId }) => traceId) };
      };
      expect(await found('common', 30)).toEqual({ ways: ['walk'], found: byStart(() => true) });
      expect(await found('common rare', 30)).toEqual({ ways: ['matches'], found: byStart(holdsRare) });
      expect(await found('"side by side"', 30)).toEqual({ ways: ['walk'], found: byStart((n) => n % 2 === 0) });
      expect(await found('rare "side by side"', 3)).toEqual({ ways: ['matches'], found: byStart(holdsRare) });
      expect(await found('nobody', 30)).toEqual({ ways: [], found: [] });
    }));

  it('finds a phrase in the last of many spans of a trace that hold its words', () =>
    unmerged(async ({ store }) => {
      const ofTrace = (n: number, count: number) =>
        Array.from({ length: count }, (_, i) =>
          aSpan({
            ...{ traceId: traceIdOf(n), spanId: spanIdOf(n * 1_000 + i), startTime: T0 + BigInt(n) },
            input: i === count - 1 ? 'one two' : 'two one',
          }),
        );
      await write(store, ...ofTrace(1, 70), ...ofTrace(2, 1), ...ofTrace(3, 40), aTrace(4, { input: 'two one' }));
      expect(await listed(store, { q: '"one two"' })).toEqual([3, 2, 1]);
    }));
});

describe('a page of heavy traces', () => {
  it('ends with the trace that brings it over its bytes, each as it was written', () =>
    unmerged(async ({ store }) => {
      const nameOf = (n: number): string => (n % 2 === 0 ? 'x'.repeat(20_000) + n : `light ${n}`);
      const all = [6, 5, 4, 3, 2, 1];
      await write(store, ...all.map((n) => aTrace(n, { name: nameOf(n), startTime: T0 + BigInt(n) })));
      const pages: number[] = [];
      const found = await allPages(async (after) => {
        const page = await store.listTraces(traces({ limit: 4, maxBytes: 25_000, ...(after && { after }) }));
        pages.push(page.items.length);
        return page;
      });
      expect(found.map(({ name }) => name)).toEqual(all.map(nameOf));
      expect(pages).toEqual([3, 3]);
    }));
});
