import { describe, expect, it } from 'vitest';
import { emptyBatch } from '../../../src/model/signal.ts';
import { type Held, type HeldKind, heldKinds, MOVE_KEYS } from '../../../src/store/signals/moving.ts';
import type { AuditEntry } from '../../../src/store/signals/query.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { aFeedback, aLog, aNote, aPoint, aScore, aSpan, aUnit, SECOND, spanIdOf, T0, traceIdOf } from './factories.ts';
import { allPages, type OpenStore, storesOf } from './opening.ts';

/** Everything of a kind, in pages as small as they get, or of one byte. */
export const heldOf = async <K extends HeldKind>(
  store: SignalStore,
  kind: K,
  size: { readonly limit: number; readonly maxBytes?: number } = { limit: 1 },
): Promise<Held[K][]> =>
  allPages((after) => store.moving.scan(kind, { ...size, ...(after === undefined ? {} : { after }) }));

const anEntry = (n: number, fields: Partial<AuditEntry> = {}): AuditEntry => ({
  auditId: `audit-${n}`,
  at: T0 + BigInt(n),
  operation: 'getTrace',
  project: 'one',
  remoteAddress: '127.0.0.1',
  resource: traceIdOf(n),
  outcome: 'allowed',
  ...fields,
});

/** Something of each kind, in two projects, with every field that a kind may have. */
const fill = async (store: SignalStore): Promise<{ readonly [K in HeldKind]: readonly Held[K][] }> => {
  const one = { project: 'one', userId: 'u', sessionId: 's', tags: ['a'], requestId: 'r' };
  const two = { project: 'two' };
  const spans = [
    aSpan({
      spanId: spanIdOf(1),
      correlation: one,
      input: 'in',
      inputAttribute: 'input.value',
      output: { of: [1, null] },
      outputAttribute: 'output.value',
      attributes: { kept: true, 'input.mime_type': 'text/plain' },
      events: [{ name: 'e', time: T0, attributes: { a: 1 } }],
      links: [{ traceId: traceIdOf(9), spanId: spanIdOf(9), attributes: {} }],
      usage: { inputTokens: 3, outputTokens: 4, inputDetails: { cacheRead: 1 } },
      cost: { totalCost: 0.1, currency: 'USD', isEstimated: true, priceBookId: 'b' },
      status: 'error',
      error: { message: 'm'.repeat(2_000), type: 't', stack: 's' },
      model: 'gpt',
      provider: 'p',
      entityName: 'n',
      scopeName: 'scope',
    }),
    aSpan({
      spanId: spanIdOf(2),
      parentSpanId: spanIdOf(1),
      startTime: T0 + 1n,
      correlation: one,
      input: '{"text":1}',
    }),
    aSpan({ spanId: spanIdOf(1), startTime: T0 - SECOND, correlation: two }),
  ];
  const logs = [aLog({ correlation: one, traceId: traceIdOf(1), attributes: { a: [1] } }), aLog({ correlation: two })];
  const metrics = [
    aPoint({ correlation: one, exemplars: [{ value: 1, timestamp: T0, attributes: {}, traceId: traceIdOf(1) }] }),
    aPoint({ correlation: two }),
    aPoint({ correlation: two }),
  ];
  const { traceId: _trace, ...ofSpan } = aScore({ correlation: one, spanId: spanIdOf(1), metadata: { m: 1 } });
  const scores = [aScore({ correlation: two, experimentId: 'x' }), ofSpan];
  const feedback = [
    aFeedback({ correlation: one, value: '5' }),
    aFeedback({ correlation: two, kind: 'rating', value: 5 }),
  ];
  const notes = [aNote({ correlation: one }), aNote({ correlation: two, spanId: spanIdOf(1) })];
  await store.write(aUnit({ spans, logs, metrics, scores, feedback, aspectNotes: notes }, 'a-key'));
  await store.write({ ingestKey: `${MOVE_KEYS}of-a-move`, batch: emptyBatch });
  const datasets = [
    { datasetId: 'd1', name: 'n', project: 'one', createdAt: T0, description: 'text', itemCount: 2 },
    { datasetId: 'd1', name: 'n', project: 'two', createdAt: T0, itemCount: 0 },
  ];
  for (const { itemCount: _count, ...dataset } of datasets) await store.putDataset(dataset);
  const items = [
    { itemId: 'i2', input: { a: 1 }, expected: null, metadata: {}, sourceTraceId: traceIdOf(1), createdAt: T0 },
    { itemId: 'i1', input: 'x', createdAt: T0 },
  ];
  await store.putItems({ project: 'one', datasetId: 'd1' }, items);
  const experiments = [{ experimentId: 'x', name: 'e', project: 'two', createdAt: T0, metadata: { a: 1 } }];
  for (const experiment of experiments) await store.putExperiment(experiment);
  const views = [
    {
      viewId: 'v1',
      name: 'v',
      project: 'one',
      createdAt: T0,
      shows: { kind: 'page' as const, path: '/x' },
      userId: 'u',
    },
    { viewId: 'v2', name: 'b', project: 'two', createdAt: T0, shows: { kind: 'board' as const, views: ['v1'] } },
  ];
  for (const view of views) await store.putView(view);
  const audit = [anEntry(1, { subject: 's', keyFingerprint: 'f' }), anEntry(2, { outcome: 'refused' })];
  await store.appendAudit(audit);
  return {
    spans,
    logs,
    metrics,
    scores,
    feedback,
    aspect_notes: notes,
    datasets,
    dataset_items: items.map((item) => ({ ...item, datasetId: 'd1', project: 'one' })),
    experiments,
    saved_views: views,
    audit,
    ingest_keys: [{ ingestKey: 'a-key', at: T0 + 2n * SECOND }],
  };
};

/** The same text for equal values, whatever the order of their members. */
export const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === 'bigint') return `${one}n`;
    return typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one;
  });
const byText = (items: readonly unknown[]): unknown[] => items.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));

/** What a store promises to who moves all that it holds. */
export const movingContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: moving`, () => {
    const { empty } = storesOf(open);

    it('holds nothing of any kind while it is empty', async () => {
      const store = await empty();
      for (const kind of heldKinds) {
        expect(await store.moving.count(kind)).toBe(0);
        expect(await store.moving.scan(kind, { limit: 1 })).toEqual({ items: [] });
      }
    });

    it.each([[{ limit: 1 }], [{ limit: 2 }], [{ limit: 1_000 }], [{ limit: 1_000, maxBytes: 1 }]])(
      'gives everything of each kind once, as it was written, of all projects, in pages of %j',
      async (size) => {
        const store = await empty();
        const written = await fill(store);
        for (const kind of heldKinds) {
          expect(await store.moving.count(kind), kind).toBe(written[kind].length);
          expect(byText(await heldOf(store, kind, size)), kind).toEqual(byText(written[kind]));
        }
      },
    );

    it('gives the same rows in the same order again while nothing is written', async () => {
      const store = await empty();
      await fill(store);
      for (const kind of heldKinds)
        expect(await heldOf(store, kind)).toEqual(await heldOf(store, kind, { limit: 100 }));
    });

    it('gives cases in the order of their making', async () => {
      const store = await empty();
      await fill(store);
      expect((await heldOf(store, 'dataset_items')).map(({ itemId }) => itemId)).toEqual(['i2', 'i1']);
    });

    it('ends a page with the row that brings it to its bytes', async () => {
      const store = await empty();
      const logs = [1, 2, 3].map((n) => aLog({ message: 'x'.repeat(1_000), timestamp: T0 + BigInt(n) }));
      await store.write(aUnit({ logs }));
      const lengthOf = async (maxBytes: number): Promise<number> =>
        (await store.moving.scan('logs', { limit: 10, maxBytes })).items.length;
      expect(await lengthOf(900)).toBe(1);
      expect(await lengthOf(1_900)).toBe(2);
      expect(await lengthOf(1_000_000)).toBe(3);
    });

    it('restores audit entries and ingest keys once, whatever is restored again', async () => {
      const store = await empty();
      const entries = [anEntry(1), anEntry(2), anEntry(3, { auditId: 'audit-2' })];
      await store.moving.restoreAudit(entries.slice(0, 1));
      await store.moving.restoreAudit(entries);
      await store.moving.restoreAudit([]);
      expect(byText(await heldOf(store, 'audit'))).toEqual(byText(entries));
      const keys = [
        { ingestKey: 'a', at: T0 },
        { ingestKey: 'b', at: T0 + 1n },
      ];
      await store.moving.restoreIngestKeys(keys.slice(1));
      await store.moving.restoreIngestKeys([...keys, { ingestKey: 'b', at: T0 + 9n }]);
      await store.moving.restoreIngestKeys([]);
      expect(await heldOf(store, 'ingest_keys')).toEqual(keys);
      expect(await store.write(aUnit({ logs: [aLog()] }, 'b'))).toBe('duplicate');
    });
  });
};
