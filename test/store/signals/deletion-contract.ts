import { describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import {
  aFeedback,
  aLog,
  aNote,
  aPoint,
  aScore,
  aSpan,
  aUnit,
  inDefault,
  spanIdOf,
  T0,
  traceIdOf,
  traces,
} from './factories.ts';
import { idsOf, type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of deletion and retention. */
export const deletionContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);

    describe('deletion and retention', () => {
      const everything = (traceId: string, project = 'default') => ({
        spans: [aSpan({ traceId, spanId: spanIdOf(1), input: 'secret', correlation: { project, userId: 'ann' } })],
        logs: [aLog({ traceId, correlation: { project } })],
        scores: [aScore({ traceId, correlation: { project } })],
        feedback: [aFeedback({ traceId, correlation: { project } })],
        aspectNotes: [aNote({ traceId, correlation: { project } })],
      });
      const countAll = async (store: SignalStore): Promise<number[]> => {
        const paging = { projects: 'all', limit: 100 } as const;
        return [
          (await store.listTraces(traces({ projects: 'all' }))).items.length,
          (await store.listSpans({ ...paging, order: 'asc', payloads: false })).items.length,
          (await store.listLogs({ ...paging, order: 'asc' })).items.length,
          (await store.listScores(paging)).items.length,
          (await store.listAspectNotes(paging)).items.length,
          (await store.listRollUps({ ...paging, of: 'user' })).items.length,
          (await store.listTraces(traces({ projects: 'all', q: 'secret' }))).items.length,
        ];
      };
      it('removes spans, logs, scores, feedback and notes of a trace, and nothing else', async () => {
        const store = await holding(everything(traceIdOf(1)), everything(traceIdOf(2)));
        const pending = store.capabilities.deletes === 'deferred';
        expect(await store.deleteTraces([traceIdOf(1)], 'all')).toEqual({ deleted: 1, pending });
        expect(await countAll(store)).toEqual([1, 1, 1, 1, 1, 1, 1]);
        expect(await store.findTrace(traceIdOf(1), 'all', true)).toBeUndefined();
        expect((await store.listFeedback(traceIdOf(1), inDefault)).items).toEqual([]);
        expect((await store.listFeedback(traceIdOf(2), inDefault)).items).toHaveLength(1);
        expect(await store.deleteTraces([traceIdOf(1), traceIdOf(9)], 'all')).toMatchObject({ deleted: 0 });
        expect(await store.deleteTraces([traceIdOf(2)], 'all')).toMatchObject({ deleted: 1 });
        expect(await countAll(store)).toEqual([0, 0, 0, 0, 0, 0, 0]);
      });
      it('a deleted trace may be written again', async () => {
        const store = await holding(everything(traceIdOf(1)));
        await store.deleteTraces([traceIdOf(1)], 'all');
        await store.write(aUnit(everything(traceIdOf(1))));
        expect(await countAll(store)).toEqual([1, 1, 1, 1, 1, 1, 1]);
      });
      it('deletes only in the projects in reach', async () => {
        const store = await holding(everything(traceIdOf(1), 'a'), everything(traceIdOf(1), 'b'));
        expect(await store.deleteTraces([traceIdOf(1)], ['a'])).toMatchObject({ deleted: 1 });
        expect((await store.listTraces(traces({ projects: 'all' }))).items).toMatchObject([{ project: 'b' }]);
        expect(await store.deleteTraces([traceIdOf(1)], ['c'])).toMatchObject({ deleted: 0 });
      });
      it('trims by the start of the trace: a trace goes completely or stays', async () => {
        const store = await holding({
          spans: [
            aSpan({ traceId: traceIdOf(1), startTime: T0 }),
            aSpan({ traceId: traceIdOf(1), startTime: T0 + 10n }),
            aSpan({ traceId: traceIdOf(2), startTime: T0 + 5n }),
            aSpan({ traceId: traceIdOf(3), startTime: T0, correlation: { project: 'other' } }),
          ],
          logs: [aLog({ timestamp: T0 }), aLog({ timestamp: T0 + 5n })],
          metrics: [aPoint({ timestamp: T0 })],
          scores: [aScore({ timestamp: T0, traceId: traceIdOf(2) })],
        });
        expect(await store.trim('default', T0 + 5n, 100)).toBe(4);
        expect(await store.trim('default', T0 + 5n, 100)).toBe(0);
        expect(idsOf(await store.listTraces(traces({ projects: 'all' }))).toSorted()).toEqual([
          traceIdOf(2),
          traceIdOf(3),
        ]);
        expect((await store.listSpans({ ...inDefault, order: 'asc', payloads: false })).items).toHaveLength(1);
        expect((await store.listLogs({ ...inDefault, order: 'asc' })).items).toHaveLength(1);
        expect((await store.listMetricNames(inDefault)).items).toEqual([]);
        expect((await store.listTraces(traces())).items[0]?.scores).toEqual([]);
        expect(await store.trim('unheard', T0 + 5n, 100)).toBe(0);
      });
      it('trims the oldest first, up to the limit', async () => {
        const store = await holding({
          spans: [3, 1, 2].map((n) => aSpan({ traceId: traceIdOf(n), startTime: T0 + BigInt(n) })),
        });
        expect(await store.trim('default', T0 + 10n, 2)).toBe(2);
        expect(idsOf(await store.listTraces(traces()))).toEqual([traceIdOf(3)]);
      });
      it('trims audit rows and ingest keys by their own boundaries', async () => {
        const store = await empty();
        const audit = (auditId: string, at: bigint) => ({
          auditId,
          at,
          operation: 'o',
          project: 'p',
          remoteAddress: 'r',
          resource: 'x',
          outcome: 'allowed' as const,
        });
        await store.appendAudit([audit('1', T0), audit('2', T0 + 1n)]);
        await store.write(aUnit({ logs: [aLog({ receivedAt: T0 })] }, 'old'));
        await store.write(aUnit({ logs: [aLog({ receivedAt: T0 + 1n })] }, 'new'));
        await store.trimRecords(T0 + 1n, T0 + 1n);
        expect((await store.listAudit({ projects: 'all', limit: 10 })).items.map(({ auditId }) => auditId)).toEqual([
          '2',
        ]);
        expect(await store.write(aUnit({}, 'old'))).toBe('written');
        expect(await store.write(aUnit({}, 'new'))).toBe('duplicate');
      });
    });
  });
};
