import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/model/span.ts';
import type { TraceSummary } from '../../../src/store/signals/query.ts';
import { aSpan, aUnit, running, spanIdOf, T0, traceIdOf, traces } from './factories.ts';
import { idsOf, type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of the summary of a trace. */
export const tracesContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);

    describe('trace summaries', () => {
      const summaryOf = async (...spans: Span[]): Promise<TraceSummary> => {
        const store = await holding({ spans });
        const [trace] = (await store.listTraces(traces())).items;
        if (trace === undefined) throw new Error('no trace was listed');
        expect((await store.findTrace(trace.traceId, 'all', false))?.trace).toEqual(trace);
        return trace;
      };
      const child = { parentSpanId: spanIdOf(100) };

      it('the root gives name and status, and totals are those of all spans', async () => {
        const priced = (totalCost: number) => ({ totalCost, currency: 'EUR', isEstimated: false });
        const trace = await summaryOf(
          aSpan({
            ...child,
            name: 'call',
            startTime: T0 + 5n,
            endTime: T0 + 50n,
            model: 'b',
            cost: priced(0.1),
            usage: { inputTokens: 3, outputTokens: 4 },
          }),
          aSpan({
            ...child,
            name: 'call',
            startTime: T0 + 6n,
            endTime: T0 + 10n,
            model: 'a',
            cost: priced(0.2),
            usage: { totalTokens: 10 },
            status: 'error',
            error: { message: 'x' },
          }),
          aSpan({
            spanId: spanIdOf(100),
            name: 'root',
            startTime: T0,
            endTime: T0 + 20n,
            correlation: { userId: 'u', tags: ['z'] },
          }),
        );
        expect(trace).toEqual({
          traceId: traceIdOf(1),
          project: 'default',
          name: 'root',
          status: 'ok',
          startTime: T0,
          durationNs: 50n,
          spanCount: 3,
          errorCount: 1,
          totalCost: 0.3,
          currency: 'EUR',
          inputTokens: 3,
          outputTokens: 4,
          totalTokens: 17,
          models: ['a', 'b'],
          tags: ['z'],
          userId: 'u',
          scores: [],
          feedback: {},
        });
      });
      const ended = { 'svc.run.status': 'cancelled' };
      it.each([
        ['`unset` with an end', { status: 'unset', attributes: ended }],
        ['`ok`, as a receiver of OTLP records it', { status: 'ok', attributes: ended }],
      ] as const)('a cancelled run is no success and no failure: a root that is %s', async (_form, root) => {
        const spans = [
          aSpan({ spanId: spanIdOf(100), ...root }),
          aSpan({ ...child, status: 'error', error: { message: 'x' } }),
        ];
        expect(await summaryOf(...spans)).toMatchObject({ status: 'unset', isCancelled: true, errorCount: 1 });
        const store = await holding({ spans });
        const found = async (status: Span['status']) => idsOf(await store.listTraces(traces({ status })));
        expect([await found('unset'), await found('ok'), await found('error')]).toEqual([[traceIdOf(1)], [], []]);
        // The span is shown as it was sent, and found by that.
        expect((await store.findSpan(traceIdOf(1), spanIdOf(100), 'all'))?.status).toBe(root.status);
        const listed = await store.listSpans({
          ...{ projects: ['default'], limit: 10, order: 'asc', payloads: false, status: root.status },
        });
        expect(listed.items.map(({ spanId }) => spanId)).toEqual([spanIdOf(100)]);
      });
      it.each([
        ['a span below the root says so', [aSpan({ spanId: spanIdOf(100) }), aSpan({ ...child, attributes: ended })]],
        ['it has not ended', [{ ...running(aSpan({ spanId: spanIdOf(100) })), attributes: ended }]],
        ['it failed', [aSpan({ spanId: spanIdOf(100), status: 'error', attributes: ended })]],
      ] as const)('a trace is not that of a cancelled run when %s', async (_why, spans) => {
        const trace = await summaryOf(...spans);
        expect(trace).not.toHaveProperty('isCancelled');
        expect(trace.status).toBe(spans[0].status);
      });
      it('a sum of costs has twelve significant digits, a single cost those that were sent', async () => {
        const cost = (totalCost: number) => ({ cost: { totalCost, currency: 'USD', isEstimated: true } });
        expect((await summaryOf(aSpan(cost(0.1)), aSpan(cost(0.2)))).totalCost).toBe(0.3);
        expect((await summaryOf(aSpan(cost(0.1234567890123456)), aSpan())).totalCost).toBe(0.1234567890123456);
      });
      it('without a root the earliest span gives the name, and any failed span makes the trace failed', async () => {
        const late = aSpan({ ...child, name: 'late', startTime: T0 + 1n, status: 'error', error: { message: 'x' } });
        const early = aSpan({ ...child, name: 'early', startTime: T0 });
        expect(await summaryOf(late, early)).toMatchObject({ name: 'early', status: 'error', errorCount: 1 });
      });
      it('without a root and without a failure the earliest span gives the status', async () => {
        expect(await summaryOf(running(aSpan(child)))).toMatchObject({ status: 'unset' });
        expect(await summaryOf(aSpan(child))).toMatchObject({ status: 'ok' });
      });
      it('a trace that has not ended has no duration', async () => {
        expect(await summaryOf(running(aSpan()))).not.toHaveProperty('durationNs');
      });
      it('a run whose spans total nothing is returned with no cost figure rather than zero', async () => {
        expect(await summaryOf(aSpan({ model: 'unpriced' }))).not.toHaveProperty('totalCost');
        const free = await summaryOf(aSpan({ cost: { totalCost: 0, currency: 'USD', isEstimated: true } }));
        expect(free).not.toHaveProperty('totalCost');
        expect(free).not.toHaveProperty('currency');
      });
      it('a trace without any usage has no token totals; a reported zero is zero', async () => {
        const unknown = await summaryOf(aSpan());
        for (const field of ['inputTokens', 'outputTokens', 'totalTokens']) expect(unknown).not.toHaveProperty(field);
        expect(await summaryOf(aSpan({ usage: { inputTokens: 0 } }))).toMatchObject({ inputTokens: 0, totalTokens: 0 });
      });
      it('tokens of a span that repeats its children are not counted again', async () => {
        const trace = await summaryOf(
          aSpan({ spanId: spanIdOf(100), usage: { inputTokens: 5 }, attributes: { 'svc.cost.skipped': 'aggregate' } }),
          aSpan({ ...child, usage: { inputTokens: 5 } }),
        );
        expect(trace.inputTokens).toBe(5);
      });
      it('a sum of tokens beyond 64 bits is stored, as what 64 bits hold at the least', async () => {
        const usage = { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: Number.MAX_SAFE_INTEGER };
        const spans = Array.from({ length: 600 }, (_, n) => aSpan({ spanId: spanIdOf(n), usage }));
        const trace = await summaryOf(...spans);
        expect(trace.totalTokens).toBeGreaterThanOrEqual(9_223_372_036_854_774_784);
        expect(trace.inputTokens).toBe(600 * Number.MAX_SAFE_INTEGER);
      });
      it('a context that the root does not name comes from the earliest span that names it', async () => {
        const trace = await summaryOf(
          aSpan({ spanId: spanIdOf(100), correlation: { environment: 'prod' } }),
          aSpan({ ...child, startTime: T0 + 9n, correlation: { sessionId: 'late', environment: 'other' } }),
          aSpan({ ...child, startTime: T0 + 1n, correlation: { sessionId: 'early' } }),
        );
        expect(trace).toMatchObject({ environment: 'prod', sessionId: 'early' });
      });

      it('the same trace id in two projects is two traces, joined for a reader who reaches both', async () => {
        const store = await holding({
          spans: [
            aSpan({ spanId: spanIdOf(1), name: 'root', correlation: { project: 'a' } }),
            aSpan({
              spanId: spanIdOf(2),
              parentSpanId: spanIdOf(1),
              correlation: { project: 'b' },
              startTime: T0 + 1n,
            }),
          ],
        });
        expect(idsOf(await store.listTraces(traces({ projects: 'all' })))).toHaveLength(2);
        expect(idsOf(await store.listTraces(traces({ projects: ['a', 'b'] })))).toHaveLength(2);
        expect((await store.listTraces(traces({ projects: ['b'] }))).items).toMatchObject([
          { project: 'b', spanCount: 1 },
        ]);
        const joined = await store.findTrace(traceIdOf(1), ['a', 'b'], true);
        expect(joined?.trace).toMatchObject({ name: 'root', project: 'a', spanCount: 2 });
        expect(joined?.spans.map((span) => span.correlation.project)).toEqual(['a', 'b']);
        // The root stands for the trace also where the clock of its host is behind.
        const late = aSpan({ spanId: spanIdOf(1), name: 'root', startTime: T0 + 5n, correlation: { project: 'b' } });
        const early = aSpan({ spanId: spanIdOf(2), parentSpanId: spanIdOf(1), correlation: { project: 'a' } });
        const skewed = await holding({ spans: [early, late] });
        expect((await skewed.findTrace(traceIdOf(1), 'all', false))?.trace).toMatchObject({
          name: 'root',
          project: 'b',
        });
        expect((await store.findTrace(traceIdOf(1), ['b'], true))?.spans).toHaveLength(1);
        expect(await store.findTrace(traceIdOf(1), ['c'], true)).toBeUndefined();
        expect(await store.findSpan(traceIdOf(1), spanIdOf(2), ['a'])).toBeUndefined();
      });

      it('totals do not depend on order, repeats or batching (P5)', async () => {
        const arbitrarySpan = fc.record({
          n: fc.integer({ min: 1, max: 12 }),
          parent: fc.option(fc.integer({ min: 1, max: 12 })),
          start: fc.integer({ min: 0, max: 5 }),
          length: fc.option(fc.integer({ min: 0, max: 9 })),
          failed: fc.boolean(),
          cost: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
          tokens: fc.option(fc.integer({ min: 0, max: 1000 })),
          model: fc.option(fc.constantFrom('x', 'y')),
          user: fc.option(fc.constantFrom('u', 'v')),
        });
        const toSpan = (s: typeof arbitrarySpan extends fc.Arbitrary<infer T> ? T : never): Span => {
          const span = aSpan({
            spanId: spanIdOf(s.n),
            name: `span ${s.n}`,
            startTime: T0 + BigInt(s.start),
            status: s.failed ? 'error' : 'ok',
            ...(s.parent === null ? {} : { parentSpanId: spanIdOf(s.parent) }),
            ...(s.failed ? { error: { message: 'x' } } : {}),
            ...(s.cost === null ? {} : { cost: { totalCost: s.cost, currency: 'USD', isEstimated: true } }),
            ...(s.tokens === null ? {} : { usage: { inputTokens: s.tokens } }),
            ...(s.model === null ? {} : { model: s.model }),
            correlation: s.user === null ? {} : { userId: s.user },
          });
          return s.length === null ? running(span) : { ...span, endTime: span.startTime + BigInt(s.length) };
        };
        const store = await empty();
        let trace = 1;
        await fc.assert(
          fc.asyncProperty(
            fc.uniqueArray(arbitrarySpan, { minLength: 1, maxLength: 12, selector: ({ n }) => n }),
            fc.infiniteStream(fc.nat()),
            async (drawn, randomness) => {
              const spans = drawn.map(toSpan);
              const write = async (way: 'together' | 'shuffled one by one' | 'in parts with repeats') => {
                const traceId = traceIdOf(++trace);
                const mine = spans.map((span) => ({ ...span, traceId }));
                const keys = mine.map(() => randomness.next().value as number);
                const shuffled = mine.toSorted((a, b) => (keys[mine.indexOf(a)] ?? 0) - (keys[mine.indexOf(b)] ?? 0));
                if (way === 'together') await store.write(aUnit({ spans: mine }));
                else if (way === 'shuffled one by one')
                  for (const span of shuffled) await store.write(aUnit({ spans: [span] }));
                else {
                  const half = Math.ceil(shuffled.length / 2);
                  await Promise.all([
                    store.write(aUnit({ spans: shuffled.slice(0, half) })),
                    store.write(aUnit({ spans: shuffled.slice(half) })),
                    store.write(aUnit({ spans: shuffled.slice(0, half) })),
                  ]);
                }
                const found = await store.findTrace(traceId, 'all', false);
                if (found === undefined) throw new Error('the trace is gone');
                return { ...found.trace, traceId: '' };
              };
              // All three at once: they are traces of their own.
              const summaries = await Promise.all([
                write('together'),
                write('shuffled one by one'),
                write('in parts with repeats'),
              ]);
              expect(summaries[1]).toEqual(summaries[0]);
              expect(summaries[2]).toEqual(summaries[0]);
            },
          ),
          { numRuns: 40 },
        );
      });
    });
  });
};
