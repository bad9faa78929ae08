import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signalKey } from '../../../src/store/postgres/signals/keys.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { aSpan, aUnit, inDefault, SECOND, spanIdOf, T0, traceIdOf, traces } from '../signals/factories.ts';
import { allPages, idsOf } from '../signals/opening.ts';
import { storesOn } from './temporary-stores.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());
const open = storesOn(() => server);

const withStore = async (use: (store: SignalStore) => Promise<void>): Promise<void> => {
  const { store, remove } = await open();
  try {
    await use(store);
  } finally {
    await remove();
  }
};

describe('reading from PostgreSQL', () => {
  it('a search for what more spans hold than are read at once walks the list, and finds every trace in its order', () =>
    withStore(async (store) => {
      // Each trace has a span with the word beside many others, so that the word is in more than 10,000 of them.
      const spansATrace = 150;
      const held = 70;
      for (let n = 1; n <= held; n += 1)
        await store.write(
          aUnit({
            spans: Array.from({ length: spansATrace }, (_, place) =>
              aSpan({
                traceId: traceIdOf(n),
                spanId: spanIdOf(place + 1),
                startTime: T0 + BigInt(n) * SECOND,
                input: n % 10 === 0 && place === 0 ? 'common seldom' : 'common',
              }),
            ),
          }),
        );
      const newestFirst = (which: (n: number) => boolean) =>
        Array.from({ length: held }, (_, n) => held - n)
          .filter(which)
          .map(traceIdOf);
      for (const [q, expected] of [
        ['common', newestFirst(() => true)],
        ['com*', newestFirst(() => true)],
        ['common seldom', newestFirst((n) => n % 10 === 0)],
        ['"common seldom"', newestFirst((n) => n % 10 === 0)],
        ['"seldom common"', []],
        ['common never', []],
      ] as const) {
        const paged = await allPages((after) => store.listTraces(traces({ q, limit: 9, ...(after && { after }) })));
        expect([q, paged.map(({ traceId }) => traceId)]).toEqual([q, expected]);
        const { traces: counted, isComplete } = await store.countFacets({
          ...{ projects: ['default'], limit: 5, most: 1_000, q },
        });
        expect([q, counted, isComplete]).toEqual([q, expected.length, true]);
      }
    }));

  it('a value that reads like the key of a long one is not taken for it', () =>
    withStore(async (store) => {
      const long = 'model '.repeat(200);
      const short = signalKey(long);
      expect(short).not.toBe(long);
      const models = [long, short];
      await store.write(
        aUnit({
          spans: models.map((model, place) =>
            aSpan({ traceId: traceIdOf(place + 1), model, correlation: { userId: model, sessionId: model } }),
          ),
        }),
      );
      for (const [place, model] of models.entries()) {
        const id = traceIdOf(place + 1);
        for (const filter of [{ model }, { userId: model }, { sessionId: model, model }])
          expect(idsOf(await store.listTraces(traces(filter)))).toEqual([id]);
        const spans = await store.listSpans({ ...inDefault, order: 'asc', payloads: false, userId: model });
        expect(spans.items.map(({ traceId }) => traceId)).toEqual([id]);
        expect((await store.countFacets({ projects: 'all', limit: 5, most: 10, model })).traces).toBe(1);
      }
      const users = (await store.listRollUps({ ...inDefault, of: 'user' })).items;
      expect(new Map(users.map(({ id, traceCount }) => [id, traceCount]))).toEqual(
        new Map(models.map((model) => [model, 1])),
      );
    }));

  it('a long model is named in full in the groups of a summary', () =>
    withStore(async (store) => {
      const long = 'model '.repeat(200);
      const cost = { totalCost: 1, currency: 'USD', isEstimated: true };
      await store.write(
        aUnit({ spans: [aSpan({ model: long, cost }), aSpan({ traceId: traceIdOf(2), model: 'm', cost })] }),
      );
      const { groups } = await store.summaryReport({
        ...{ projects: 'all', from: T0, to: T0 + SECOND, bookModels: [], groupBy: 'model' },
      });
      expect(new Map(groups.map(({ key, ...of }) => [key, [of.traceCount, of.totalCost]]))).toEqual(
        new Map([
          ['m', [1, 1]],
          [long, [1, 1]],
        ]),
      );
    }));

  it('while the server is away every read says so, and answers when it is back', () =>
    withStore(async (store) => {
      await store.write(aUnit({ spans: [aSpan({ input: 'word' })] }));
      const reads = [
        () => store.listTraces(traces({ q: 'word' })),
        () => store.findTrace(traceIdOf(1), 'all', true),
        () => store.listSpans({ ...inDefault, order: 'asc', payloads: true }),
        () => store.listLogs({ ...inDefault, order: 'asc' }),
        () => store.summaryReport({ projects: 'all', from: T0, to: T0 + 1n, bookModels: [] }),
      ];
      await server.kill('SIGINT');
      for (const read of reads) await expect(read()).rejects.toBeInstanceOf(StoreUnavailable);
      await server.start();
      for (const read of reads) await expect(read()).resolves.toBeDefined();
      expect(idsOf(await store.listTraces(traces({ q: 'word' })))).toEqual([traceIdOf(1)]);
    }));
});
