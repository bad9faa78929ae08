import { describe, expect, it } from 'vitest';
import type { Page, Position } from '../../../src/store/signals/query.ts';
import { aFeedback, aLog, aNote, aPoint, aScore, aSpan, inDefault, spanIdOf, T0, traceIdOf } from './factories.ts';
import { allPages, type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of logs, metrics, scores, feedback, notes and audit entries. */
export const recordsContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);

    describe('logs, metrics, scores, feedback, notes, audit', () => {
      it('ends a page before its limit with the row that brings it to so many bytes, and goes on after it', async () => {
        const at = (n: number) => ({ timestamp: T0 + BigInt(n), startTime: T0 + BigInt(n) });
        const large = 'x'.repeat(1000);
        const store = await holding({
          spans: [0, 1, 2, 3, 4].map((n) => aSpan({ ...at(n), traceId: traceIdOf(n + 1), name: large })),
          logs: [0, 1, 2, 3, 4].map((n) => aLog({ timestamp: T0 + BigInt(n), message: large })),
          scores: [0, 1, 2, 3, 4].map((n) => aScore({ timestamp: T0 + BigInt(n), reason: large })),
        });
        type Part = { readonly limit: number; readonly maxBytes?: number; readonly after?: Position };
        const lists: readonly [string, (part: Part) => Promise<Page<unknown>>][] = [
          ['traces', (part) => store.listTraces({ ...inDefault, sort: 'start_time', order: 'desc', ...part })],
          ['logs', (part) => store.listLogs({ ...inDefault, order: 'asc', ...part })],
          ['scores', (part) => store.listScores({ ...inDefault, ...part })],
        ];
        for (const [name, list] of lists) {
          const whole = (await list({ limit: 5 })).items;
          expect([name, whole.length]).toEqual([name, 5]);
          const sizes: number[] = [];
          const pieces = await allPages(async (after) => {
            const page = await list({ limit: 5, maxBytes: 1500, ...(after && { after }) });
            sizes.push(page.items.length);
            return page;
          });
          expect([name, sizes]).toEqual([name, [2, 2, 1]]);
          expect(pieces).toEqual(whole);
          expect((await list({ limit: 5, maxBytes: 100_000 })).next).toBeUndefined();
          expect((await list({ limit: 1, maxBytes: 1 })).items).toHaveLength(1);
        }
      });

      it('gives logs back complete, by time, through every filter', async () => {
        const logs = [
          aLog({
            logId: '1',
            severity: 'info',
            timestamp: T0,
            traceId: traceIdOf(1),
            spanId: spanIdOf(1),
            attributes: { a: [1] },
          }),
          aLog({
            logId: '2',
            severity: 'error',
            timestamp: T0 + 1n,
            logger: 'db',
            correlation: { serviceName: 's', environment: 'e' },
          }),
          aLog({
            logId: '3',
            severity: 'fatal',
            timestamp: T0 + 2n,
            correlation: { sessionId: 'x', userId: 'y', tags: ['t'] },
          }),
        ];
        const store = await holding({ logs });
        const list = (query: object) => store.listLogs({ ...inDefault, order: 'asc', ...query });
        expect((await list({})).items).toEqual(logs);
        const rows: [object, string[]][] = [
          [{ order: 'desc' }, ['3', '2', '1']],
          [{ traceId: traceIdOf(1) }, ['1']],
          [{ traceId: traceIdOf(2) }, []],
          [{ spanId: spanIdOf(1) }, ['1']],
          [{ severity: 'error' }, ['2']],
          [{ minSeverity: 'error' }, ['2', '3']],
          [{ minSeverity: 'trace' }, ['1', '2', '3']],
          [{ logger: 'db' }, ['2']],
          [{ serviceName: 's' }, ['2']],
          [{ environment: 'e' }, ['2']],
          [{ sessionId: 'x' }, ['3']],
          [{ userId: 'y' }, ['3']],
          [{ userId: 'z' }, []],
          [{ from: T0 + 1n, to: T0 + 2n }, ['2']],
          [{ projects: ['other'] }, []],
        ];
        for (const [query, expected] of rows)
          expect([query, (await list(query)).items.map(({ logId }) => logId)]).toEqual([query, expected]);
        const paged = await allPages((after) =>
          store.listLogs({ ...inDefault, order: 'desc', limit: 1, ...(after && { after }) }),
        );
        expect(paged.map(({ logId }) => logId)).toEqual(['3', '2', '1']);
      });

      it('gives metric points back complete, and their names with type, unit, count and last point', async () => {
        const points = [
          aPoint({
            name: 'latency',
            type: 'histogram',
            unit: 'ms',
            description: 'd',
            sum: 12.5,
            count: 3,
            bounds: [1, 10],
            bucketCounts: [1, 1, 1],
            temporality: 'delta',
            exemplars: [{ value: 11, timestamp: T0, traceId: traceIdOf(1), spanId: spanIdOf(1), attributes: { k: 1 } }],
            attributes: { a: 1 },
          }),
          aPoint({ name: 'requests', value: 1, temporality: 'cumulative', correlation: { serviceName: 's' } }),
          aPoint({ name: 'requests', value: 2, timestamp: T0 + 1n }),
          aPoint({ name: 'temperature', type: 'gauge', value: -1.5 }),
        ].map((point) => {
          if (point.type !== 'histogram') return point;
          const { value: _, ...histogram } = point;
          return histogram;
        });
        const store = await holding({ metrics: points });
        expect((await store.listMetricNames(inDefault)).items).toEqual([
          { name: 'latency', type: 'histogram', unit: 'ms', points: 1, lastSeen: T0 },
          { name: 'requests', type: 'counter', points: 2, lastSeen: T0 + 1n },
          { name: 'temperature', type: 'gauge', points: 1, lastSeen: T0 },
        ]);
        expect(
          (await allPages((after) => store.listMetricNames({ ...inDefault, limit: 1, ...(after && { after }) }))).map(
            ({ name }) => name,
          ),
        ).toEqual(['latency', 'requests', 'temperature']);
        const list = async (name: string, query: object = {}) =>
          (await store.listMetricPoints({ ...inDefault, order: 'asc', name, ...query })).items;
        expect(await list('latency')).toEqual([points[0]]);
        expect(await list('requests')).toEqual([points[1], points[2]]);
        expect(await list('requests', { order: 'desc' })).toEqual([points[2], points[1]]);
        expect(await list('requests', { serviceName: 's' })).toEqual([points[1]]);
        expect(await list('requests', { from: T0 + 1n })).toEqual([points[2]]);
        expect(await list('nothing')).toEqual([]);
      });

      it('gives scores back complete, newest first, through every filter', async () => {
        const scores = [
          aScore({
            scoreId: '1',
            value: 0.2,
            label: 'l',
            reason: 'r',
            scorerVersion: 'v',
            scoreTraceId: traceIdOf(5),
            metadata: { m: 1 },
            cost: { totalCost: 1, currency: 'USD', isEstimated: false },
            correlation: { userId: 'u' },
          }),
          aScore({
            scoreId: '2',
            value: 0.5,
            timestamp: T0 + 1n,
            scorerId: 'other',
            source: 'offline',
            traceId: traceIdOf(2),
          }),
          aScore({ scoreId: '3', value: 0.9, timestamp: T0 + 2n, experimentId: 'e' }),
        ];
        const store = await holding({ scores });
        expect((await store.listScores(inDefault)).items).toEqual(scores.toReversed());
        const rows: [object, string[]][] = [
          [{ scorerId: 'other' }, ['2']],
          [{ source: 'live' }, ['3', '1']],
          [{ traceId: traceIdOf(2) }, ['2']],
          [{ experimentId: 'e' }, ['3']],
          [{ minValue: 0.5 }, ['3', '2']],
          [{ maxValue: 0.5 }, ['2', '1']],
          [{ from: T0 + 1n, to: T0 + 2n }, ['2']],
          [{ projects: 'all' }, ['3', '2', '1']],
          [{ projects: [] }, []],
        ];
        for (const [query, expected] of rows)
          expect([
            query,
            (await store.listScores({ ...inDefault, ...query })).items.map(({ scoreId }) => scoreId),
          ]).toEqual([query, expected]);
      });

      it('a score on a span alone is found by the trace of that span, whichever came first, in its project alone', async () => {
        const onSpan = (scoreId: string, more: object = {}) => {
          const { traceId: _, ...score } = aScore({ scoreId, spanId: spanIdOf(77), ...more });
          return score;
        };
        const elsewhere = onSpan('elsewhere', { correlation: { project: 'other' } });
        const store = await holding(
          { scores: [onSpan('before', { timestamp: T0 })] },
          { spans: [aSpan({ spanId: spanIdOf(77) })], scores: [onSpan('with', { timestamp: T0 + 1n }), elsewhere] },
          { scores: [onSpan('after', { timestamp: T0 + 2n }), aScore({ scoreId: 'trace', timestamp: T0 + 3n })] },
        );
        const found = async (query: object) =>
          (await store.listScores({ ...inDefault, ...query })).items.map(({ scoreId }) => scoreId);
        expect(await found({ traceId: traceIdOf(1) })).toEqual(['trace', 'after', 'with', 'before']);
        expect(await found({ traceId: traceIdOf(1), to: T0 + 2n })).toEqual(['with', 'before']);
        expect(await found({ traceId: traceIdOf(2) })).toEqual([]);
        expect(await found({ traceId: traceIdOf(1), projects: ['other'] })).toEqual([]);
      });

      it('gives feedback on a trace or on its spans back complete, oldest first', async () => {
        const feedback = [
          aFeedback({
            feedbackId: '1',
            timestamp: T0 + 1n,
            kind: 'rating',
            value: 4,
            metadata: { scale_max: 5 },
            authorKind: 'expert',
            authorId: 'x',
            comment: 'c',
          }),
          aFeedback({ feedbackId: '2', timestamp: T0, kind: 'tag', value: '5' }),
        ];
        const { traceId: _, ...onSpan } = aFeedback({ feedbackId: '3', timestamp: T0 + 2n, spanId: spanIdOf(77) });
        const store = await holding({
          spans: [aSpan({ spanId: spanIdOf(77) })],
          feedback: [...feedback, onSpan, aFeedback({ feedbackId: '4', traceId: traceIdOf(2) })],
        });
        expect((await store.listFeedback(traceIdOf(1), inDefault)).items).toEqual([feedback[1], feedback[0], onSpan]);
        expect((await store.listFeedback(traceIdOf(1), { ...inDefault, projects: ['other'] })).items).toEqual([]);
      });

      it('gives aspect notes back complete, newest first, one row an id', async () => {
        const notes = [
          aNote({ noteId: '1', aspect: 'tone', model: 'm', spanId: spanIdOf(1) }),
          aNote({ noteId: '2', aspect: 'facts', timestamp: T0 + 1n, traceId: traceIdOf(2) }),
        ];
        const store = await holding({ aspectNotes: [aNote({ noteId: '1', text: 'older' })] }, { aspectNotes: notes });
        expect((await store.listAspectNotes(inDefault)).items).toEqual(notes.toReversed());
        expect((await store.listAspectNotes({ ...inDefault, traceId: traceIdOf(2) })).items).toEqual([notes[1]]);
        expect((await store.listAspectNotes({ ...inDefault, aspect: 'tone' })).items).toEqual([notes[0]]);
      });

      it('appends audit entries and reads them back, newest first, through every filter', async () => {
        const entry = (auditId: string, at: bigint, fields: object = {}) => ({
          auditId,
          at,
          operation: 'list_runs',
          project: 'default',
          remoteAddress: '127.0.0.1',
          resource: '/v1/api/traces',
          outcome: 'allowed' as const,
          ...fields,
        });
        const entries = [
          entry('1', T0, { subject: 'ann', keyFingerprint: 'ab12' }),
          entry('2', T0 + 1n, { operation: 'get_run', outcome: 'refused' as const }),
          entry('3', T0 + 2n, { project: 'other' }),
        ];
        const store = await empty();
        await store.appendAudit(entries);
        const list = async (query: object) => (await store.listAudit({ projects: 'all', limit: 50, ...query })).items;
        expect(await list({})).toEqual(entries.toReversed());
        expect(await list({ projects: ['other'] })).toEqual([entries[2]]);
        expect(await list({ operation: 'get_run' })).toEqual([entries[1]]);
        expect(await list({ subject: 'ann' })).toEqual([entries[0]]);
        expect(await list({ from: T0 + 1n, to: T0 + 2n })).toEqual([entries[1]]);
        const paged = await allPages((after) =>
          store.listAudit({ projects: 'all', limit: 1, ...(after && { after }) }),
        );
        expect(paged.map(({ auditId }) => auditId)).toEqual(['3', '2', '1']);
      });
    });
  });
};
