import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Span } from '../../src/model/span.ts';
import type { Page, Position, TraceFilter, TraceQuery, TraceSummary } from '../../src/store/signals/query.ts';
import type { SignalStore } from '../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import {
  aFeedback,
  aLog,
  aNote,
  aPoint,
  aScore,
  aSpan,
  aUnit,
  inDefault,
  running,
  SECOND,
  spanIdOf,
  T0,
  traceIdOf,
  traces,
} from './signal-factories.ts';

/** What the contract needs of an engine: an empty store of its own, and a way to be rid of it. */
export type OpenStore = () => Promise<{ store: SignalStore; remove: () => Promise<void> }>;

const idsOf = (page: Page<TraceSummary>): string[] => page.items.map(({ traceId }) => traceId);

/** Reads all pages of a list. */
const allPages = async <T>(read: (after: Position | undefined) => Promise<Page<T>>): Promise<T[]> => {
  const items: T[] = [];
  let after: Position | undefined;
  do {
    const page = await read(after);
    items.push(...page.items);
    // A cursor goes over the wire as text.
    after = page.next === undefined ? undefined : (JSON.parse(JSON.stringify(page.next)) as Position);
  } while (after !== undefined);
  return items;
};

/** What every engine promises. Called once per engine; `open` returns an empty, isolated store. */
export const runSignalStoreContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const opened: (() => Promise<void>)[] = [];
    const empty = async (): Promise<SignalStore> => {
      const { store, remove } = await open();
      opened.push(remove);
      return store;
    };
    afterEach(async () => {
      for (const remove of opened.splice(0)) await remove();
    });
    const holding = async (...units: Parameters<typeof aUnit>[0][]): Promise<SignalStore> => {
      const store = await empty();
      for (const unit of units) await store.write(aUnit(unit));
      return store;
    };

    describe('spans', () => {
      const whole: Span = aSpan({
        traceId: traceIdOf(7),
        spanId: spanIdOf(7),
        parentSpanId: spanIdOf(6),
        name: 'chat',
        kind: 'model_generation',
        status: 'error',
        startTime: 1_790_000_000_000_000_001n,
        endTime: 1_790_000_000_000_000_999n,
        isEvent: true,
        input: { messages: [{ role: 'user', content: 'héllo "quoted"\n' }] },
        output: 'plain text',
        model: 'm-1',
        provider: 'p-1',
        entityName: 'agent-1',
        usage: {
          inputTokens: 9_007_199_254_740_991,
          outputTokens: 0,
          totalTokens: 5,
          inputDetails: { cacheRead: 1, cacheWrite5m: 2, audio: 0 },
          outputDetails: { reasoning: 3 },
        },
        cost: {
          totalCost: 0.1,
          inputCost: 0.07,
          outputCost: 0.03,
          currency: 'USD',
          isEstimated: true,
          priceBookId: 'builtin',
        },
        error: { message: 'boom', type: 'TimeoutError', stack: 'at line 1\nat line 2' },
        correlation: {
          project: 'default',
          environment: 'prod',
          serviceName: 's',
          serviceVersion: '1',
          sessionId: 'se',
          threadId: 'th',
          userId: 'u',
          requestId: 'r',
          release: 'rel',
          runId: 'ru',
          resourceId: 'res',
          experimentId: 'ex',
          tags: ['a', 'b'],
        },
        attributes: { 'a.b': 1, deep: { list: [1, 'x', null, true] }, constructor: 'plain' },
        events: [{ name: 'e', time: 1_790_000_000_000_000_002n, attributes: { k: 'v' } }],
        links: [{ traceId: traceIdOf(8), spanId: spanIdOf(8), attributes: { why: 'retry' } }],
        scopeName: 'scope',
      });

      it('gives back every field of a span as it was written', async () => {
        const store = await holding({ spans: [whole] });
        expect(await store.findSpan(whole.traceId, whole.spanId, 'all')).toEqual(whole);
        expect((await store.findTrace(whole.traceId, 'all', true))?.spans).toEqual([whole]);
      });

      it('leaves out what a span does not have: unknown is absent, zero is zero', async () => {
        const bare = running(aSpan({ usage: { inputTokens: 0 } }));
        const store = await holding({ spans: [bare] });
        const found = await store.findSpan(bare.traceId, bare.spanId, 'all');
        expect(found).toEqual(bare);
        expect(Object.keys(found ?? {})).not.toContain('endTime');
        expect(found?.usage).toEqual({ inputTokens: 0 });
      });

      it('puts a payload that was lifted from an attribute back into the attribute map', async () => {
        const lifted = aSpan({
          input: '[{"role":"user"}]',
          inputAttribute: 'gen_ai.prompt',
          output: { a: 1 },
          outputAttribute: 'output.value',
          attributes: { other: 1 },
        });
        const store = await holding({ spans: [lifted] });
        const found = await store.findSpan(lifted.traceId, lifted.spanId, 'all');
        expect(found?.attributes).toEqual({ other: 1, 'gen_ai.prompt': '[{"role":"user"}]', 'output.value': { a: 1 } });
        expect(found).not.toHaveProperty('inputAttribute');
        const light = (await store.findTrace(lifted.traceId, 'all', false))?.spans[0];
        expect(light?.attributes).toEqual({});
      });

      it.each([
        ['an empty string', ''],
        ['a string that looks like JSON', '{"a":1}'],
        ['null', null],
        ['zero', 0],
        ['false', false],
        ['a list', [1, [2]]],
        ['a string with quotes, backslashes and new lines', '"\\n\u2028\n\t"'],
        ['astral characters', '𝒳 😀'],
      ])('keeps %s as a payload apart from other types', async (_, payload) => {
        const span = aSpan({ input: payload, output: payload });
        const store = await holding({ spans: [span] });
        const found = await store.findSpan(span.traceId, span.spanId, 'all');
        expect(found?.input).toEqual(payload);
        expect(found?.output).toEqual(payload);
      });

      it('keeps an attribute named __proto__ as a plain key', async () => {
        const attributes = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
        const span = aSpan({ attributes, input: 'x', inputAttribute: 'prompt' });
        const store = await holding({ spans: [span] });
        const found = (await store.findSpan(span.traceId, span.spanId, 'all'))?.attributes ?? {};
        expect(Object.keys(found).sort()).toEqual(['__proto__', 'a', 'prompt']);
        expect('polluted' in {}).toBe(false);
      });

      it('reads a trace without payloads as spans without input, output, attributes, events and links', async () => {
        const store = await holding({ spans: [whole] });
        const { input: _i, output: _o, ...rest } = whole;
        const { stack: _s, ...error } = whole.error ?? { message: '' };
        expect((await store.findTrace(whole.traceId, 'all', false))?.spans).toEqual([
          { ...rest, error, attributes: {}, events: [], links: [] },
        ]);
      });

      it('keeps a long error message whole, and the span findable in lists', async () => {
        const message = 'x'.repeat(5000);
        const span = aSpan({ status: 'error', error: { message } });
        const store = await holding({ spans: [span] });
        expect((await store.findSpan(span.traceId, span.spanId, 'all'))?.error?.message).toBe(message);
        const listed = await store.listSpans({ ...inDefault, order: 'asc', payloads: false });
        expect(message.startsWith(listed.items[0]?.error?.message ?? '-')).toBe(true);
      });

      it('a span seen again (same trace and span id) replaces the older row: last write wins', async () => {
        const first = aSpan({ spanId: spanIdOf(1), name: 'first', input: 'oldword', correlation: { userId: 'old' } });
        const second = aSpan({ spanId: spanIdOf(1), name: 'second', input: 'newword', correlation: { userId: 'new' } });
        const store = await holding({ spans: [first] }, { spans: [second] });
        expect(await store.findSpan(first.traceId, first.spanId, 'all')).toEqual(second);
        const page = await store.listTraces(traces());
        expect(page.items).toMatchObject([{ name: 'second', spanCount: 1, userId: 'new' }]);
        expect(idsOf(await store.listTraces(traces({ q: 'oldword' })))).toEqual([]);
        expect(idsOf(await store.listTraces(traces({ q: 'newword' })))).toEqual([first.traceId]);
        expect(idsOf(await store.listTraces(traces({ userId: 'old' })))).toEqual([]);
        expect(idsOf(await store.listTraces(traces({ name: 'first' })))).toEqual([]);
      });

      it('the same id twice in one batch: the later one wins', async () => {
        const store = await holding({
          spans: [aSpan({ spanId: spanIdOf(1), name: 'a' }), aSpan({ spanId: spanIdOf(1), name: 'b' })],
        });
        const detail = await store.findTrace(traceIdOf(1), 'all', true);
        expect(detail?.spans.map(({ name }) => name)).toEqual(['b']);
        expect(detail?.trace).toMatchObject({ name: 'b', spanCount: 1 });
      });

      it('finds nothing where nothing is', async () => {
        const store = await empty();
        expect(await store.findTrace(traceIdOf(1), 'all', true)).toBeUndefined();
        expect(await store.findSpan(traceIdOf(1), spanIdOf(1), 'all')).toBeUndefined();
        expect(await store.listTraces(traces())).toEqual({ items: [] });
        expect(await store.listProjects({ projects: 'all', limit: 10 })).toEqual({ items: [] });
      });

      describe('waterfall', () => {
        const line = (n: number, parent: number | undefined, startOffset: bigint): Span => ({
          ...aSpan({ spanId: spanIdOf(n), startTime: T0 + startOffset }),
          ...(parent === undefined ? {} : { parentSpanId: spanIdOf(parent) }),
        });
        const drawn = async (spans: Span[]): Promise<number[]> => {
          const store = await holding({ spans });
          const detail = await store.findTrace(traceIdOf(1), 'all', false);
          return (detail?.spans ?? []).map(({ spanId }) => Number.parseInt(spanId.slice(1), 16));
        };

        it('a parent comes before its children, siblings by start and then by span id', async () => {
          expect(
            await drawn([line(4, 1, 9n), line(2, 1, 5n), line(3, 2, 20n), line(5, 1, 5n), line(1, undefined, 7n)]),
          ).toEqual([1, 2, 3, 5, 4]);
        });
        it('orphans stand at the top level by their start', async () => {
          expect(await drawn([line(1, undefined, 5n), line(2, 9, 1n), line(3, 2, 2n), line(4, 8, 9n)])).toEqual([
            2, 3, 1, 4,
          ]);
        });
        it('a ring of parents loses no span', async () => {
          expect(await drawn([line(1, 2, 5n), line(2, 1, 1n), line(3, 3, 9n)])).toEqual([2, 1, 3]);
        });
        it('a chain of 10,000 spans is drawn', async () => {
          const chain = Array.from({ length: 10_000 }, (_, i) => line(i + 1, i === 0 ? undefined : i, 0n));
          const store = await holding({ spans: chain });
          const detail = await store.findTrace(traceIdOf(1), 'all', false);
          expect(detail?.spans.map(({ spanId }) => spanId)).toEqual(chain.map(({ spanId }) => spanId));
          expect(detail?.trace.spanCount).toBe(10_000);
        });
      });
    });

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
          totalCost: 0.1 + 0.2,
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
              const summaries: TraceSummary[] = [];
              for (const way of ['together', 'shuffled one by one', 'in parts with repeats'] as const) {
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
                summaries.push({ ...found.trace, traceId: '' });
              }
              expect(summaries[1]).toEqual(summaries[0]);
              expect(summaries[2]).toEqual(summaries[0]);
            },
          ),
          { numRuns: 40 },
        );
      });
    });

    describe('trace list: filters', () => {
      const model = { kind: 'model_generation', model: 'gpt-x', provider: 'acme', entityName: 'planner' } as const;
      /** Trace 1 has everything that a filter can ask for; trace 2 has other values; trace 3 has nothing and still runs. */
      const seeded = () =>
        holding({
          spans: [
            aSpan({
              traceId: traceIdOf(1),
              spanId: spanIdOf(1),
              name: 'checkout',
              status: 'error',
              error: { message: 'x' },
              startTime: T0,
              endTime: T0 + 2n * SECOND,
              correlation: {
                userId: 'ann',
                sessionId: 's1',
                threadId: 't1',
                environment: 'prod',
                serviceName: 'shop',
                serviceVersion: '1.0',
                release: 'r1',
                runId: 'run1',
                experimentId: 'e1',
                tags: ['blue', 'fast'],
              },
            }),
            aSpan({
              traceId: traceIdOf(1),
              parentSpanId: spanIdOf(1),
              ...model,
              input: 'the quick brown fox',
              cost: { totalCost: 0.5, currency: 'USD', isEstimated: true },
            }),
            aSpan({
              traceId: traceIdOf(2),
              name: 'search',
              kind: 'tool_call',
              model: 'other',
              provider: 'other',
              entityName: 'other',
              startTime: T0 + SECOND,
              endTime: T0 + SECOND + 1_000_000n,
              input: 'a slow fox',
              cost: { totalCost: 0.1, currency: 'USD', isEstimated: true },
              correlation: {
                userId: 'bob',
                sessionId: 's2',
                threadId: 't2',
                environment: 'test',
                serviceName: 'find',
                serviceVersion: '2.0',
                release: 'r2',
                runId: 'run2',
                experimentId: 'e2',
                tags: ['red'],
              },
            }),
            running(aSpan({ traceId: traceIdOf(3), name: 'idle', startTime: T0 + 2n * SECOND })),
          ],
          scores: [
            aScore({ traceId: traceIdOf(1), scorerId: 'quality', value: 0.25 }),
            aScore({ traceId: traceIdOf(1), scorerId: 'quality', value: 0.75 }),
            aScore({ traceId: traceIdOf(2), scorerId: 'quality', value: 0.9 }),
            aScore({ traceId: traceIdOf(2), scorerId: 'speed', value: 0.1 }),
          ],
          feedback: [
            aFeedback({ traceId: traceIdOf(1), kind: 'thumbs' }),
            aFeedback({ traceId: traceIdOf(2), kind: 'comment', value: 'fine' }),
          ],
        });
      const rows: [TraceFilter, number[]][] = [
        [{}, [3, 2, 1]],
        [{ status: 'error' }, [1]],
        [{ status: 'ok' }, [2]],
        [{ status: 'unset' }, [3]],
        [{ name: 'checkout' }, [1]],
        [{ name: 'Checkout' }, []],
        [{ model: 'gpt-x' }, [1]],
        [{ model: 'gpt' }, []],
        [{ provider: 'acme' }, [1]],
        [{ entityName: 'planner' }, [1]],
        [{ kind: 'model_generation' }, [1]],
        [{ kind: 'tool_call' }, [2]],
        [{ kind: 'guardrail' }, []],
        [{ userId: 'ann' }, [1]],
        [{ sessionId: 's2' }, [2]],
        [{ threadId: 't1' }, [1]],
        [{ environment: 'prod' }, [1]],
        [{ serviceName: 'find' }, [2]],
        [{ serviceVersion: '1.0' }, [1]],
        [{ release: 'r2' }, [2]],
        [{ tag: 'blue' }, [1]],
        [{ tag: 'fast' }, [1]],
        [{ tag: 'bl' }, []],
        [{ runId: 'run1' }, [1]],
        [{ experimentId: 'e2' }, [2]],
        [{ hasError: true }, [1]],
        [{ hasError: false }, [3, 2]],
        [{ hasFeedback: 'thumbs' }, [1]],
        [{ hasFeedback: 'comment' }, [2]],
        [{ hasFeedback: 'rating' }, []],
        [{ hasScore: 'quality' }, [2, 1]],
        [{ hasScore: 'speed' }, [2]],
        [{ hasScore: 'quality', scoreBelow: 0.5 }, []], // the mean of trace 1 is 0.5: strict
        [{ hasScore: 'quality', scoreBelow: 0.5000001 }, [1]],
        [{ hasScore: 'quality', scoreBelow: 1 }, [2, 1]],
        [{ hasScore: 'unheard', scoreBelow: 1 }, []],
        [{ minCost: 0.5 }, [1]],
        [{ minCost: 0.50001 }, []],
        [{ minCost: 0.1 }, [2, 1]],
        [{ minCost: 0 }, [3, 2, 1]],
        [{ maxCost: 0.1 }, [2]], // what could not be priced is not known to be cheap
        [{ minCost: 0.05, maxCost: 0.1 }, [2]],
        [{ maxCost: 0.09 }, []],
        [{ minDurationMs: 2000 }, [1]],
        [{ minDurationMs: 2000.0001 }, []],
        [{ maxDurationMs: 1 }, [2]],
        [{ maxDurationMs: 0.999 }, []],
        [{ minDurationMs: 0 }, [2, 1]],
        [{ minDurationMs: 1e13 }, []], // more than a time can hold, and more than an integer can
        [{ minDurationMs: Number.MAX_VALUE }, []],
        [{ maxDurationMs: Number.MAX_VALUE }, [2, 1]],
        [{ from: T0 }, [3, 2, 1]],
        [{ from: T0 + 1n }, [3, 2]],
        [{ to: T0 }, []],
        [{ to: T0 + 1n }, [1]],
        [{ from: T0 + SECOND, to: T0 + 2n * SECOND }, [2]],
        [{ q: 'fox' }, [2, 1]],
        [{ q: 'quick' }, [1]],
        [{ q: 'slow quick' }, []],
        [{ q: 'fox', userId: 'bob' }, [2]],
        [{ q: 'fox', userId: 'bob', minCost: 1 }, []],
        [{ userId: 'ann', sessionId: 's1', kind: 'model_generation', tag: 'blue', status: 'error' }, [1]],
        [{ userId: 'ann', sessionId: 's2' }, []],
      ];
      it('each filter alone and together, both ways', async () => {
        const store = await seeded();
        for (const [filter, expected] of rows)
          expect([filter, idsOf(await store.listTraces(traces(filter)))]).toEqual([filter, expected.map(traceIdOf)]);
      });
      it('each filter gives the same set in every order', async () => {
        const store = await seeded();
        for (const [filter, expected] of rows)
          for (const sort of ['start_time', 'duration', 'cost', 'span_count'] as const)
            for (const order of ['asc', 'desc'] as const)
              expect([
                filter,
                sort,
                idsOf(await store.listTraces(traces({ ...filter, sort, order }))).toSorted(),
              ]).toEqual([filter, sort, expected.map(traceIdOf).toSorted()]);
      });
      it('nothing of another project is seen', async () => {
        const store = await seeded();
        for (const [filter] of rows)
          expect(await store.listTraces(traces({ ...filter, projects: ['other'] }))).toEqual({ items: [] });
      });
      it('sort by score: traces with that score by its mean', async () => {
        const store = await seeded();
        const by = (order: 'asc' | 'desc') => store.listTraces(traces({ sort: 'score', hasScore: 'quality', order }));
        expect(idsOf(await by('asc'))).toEqual([traceIdOf(1), traceIdOf(2)]);
        expect(idsOf(await by('desc'))).toEqual([traceIdOf(2), traceIdOf(1)]);
      });
      it('a trace without cost or duration comes last in both directions', async () => {
        const store = await seeded();
        for (const sort of ['cost', 'duration'] as const) {
          expect(idsOf(await store.listTraces(traces({ sort, order: 'asc' })))).toEqual([2, 1, 3].map(traceIdOf));
          expect(idsOf(await store.listTraces(traces({ sort, order: 'desc' })))).toEqual([1, 2, 3].map(traceIdOf));
        }
      });
      it('summaries carry a mean for each scorer and version, and counts of feedback by kind', async () => {
        const store = await holding({
          spans: [aSpan()],
          scores: [
            aScore({ scorerId: 'b', value: 1 }),
            aScore({ scorerId: 'a', scorerVersion: '2', value: 0.5 }),
            aScore({ scorerId: 'a', scorerVersion: '1', value: 1 }),
            aScore({ scorerId: 'a', scorerVersion: '1', value: 0 }),
          ],
          feedback: [aFeedback(), aFeedback(), aFeedback({ kind: 'tag', value: 'wrong' })],
        });
        expect((await store.listTraces(traces())).items[0]).toMatchObject({
          scores: [
            { scorerId: 'a', scorerVersion: '1', mean: 0.5, count: 2 },
            { scorerId: 'a', scorerVersion: '2', mean: 0.5, count: 1 },
            { scorerId: 'b', mean: 1, count: 1 },
          ],
          feedback: { thumbs: 2, tag: 1 },
        });
      });
      it('judgements that came before their trace are found when it comes', async () => {
        const store = await holding({ scores: [aScore({ value: 0.5 })], feedback: [aFeedback()] });
        expect(await store.listTraces(traces())).toEqual({ items: [] });
        await store.write(aUnit({ spans: [aSpan()] }));
        const [trace] = (await store.listTraces(traces({ hasScore: 'answered', hasFeedback: 'thumbs' }))).items;
        expect(trace).toMatchObject({
          scores: [{ scorerId: 'answered', mean: 0.5, count: 1 }],
          feedback: { thumbs: 1 },
        });
      });
      it('a judgement sent again under its id replaces the older one, on another trace too', async () => {
        const store = await holding({
          spans: [aSpan(), aSpan({ traceId: traceIdOf(2) })],
          scores: [aScore({ scoreId: 's', value: 1 })],
          feedback: [aFeedback({ feedbackId: 'f' })],
        });
        await store.write(
          aUnit({
            scores: [aScore({ scoreId: 's', value: 0.25, traceId: traceIdOf(2) })],
            feedback: [aFeedback({ feedbackId: 'f', kind: 'comment', value: 'no' })],
          }),
        );
        const byId = Object.fromEntries(
          (await store.listTraces(traces())).items.map((trace) => [trace.traceId, trace]),
        );
        expect(byId[traceIdOf(1)]).toMatchObject({ scores: [], feedback: { comment: 1 } });
        expect(byId[traceIdOf(2)]).toMatchObject({ scores: [{ mean: 0.25, count: 1 }], feedback: {} });
        expect(idsOf(await store.listTraces(traces({ hasScore: 'answered' })))).toEqual([traceIdOf(2)]);
        expect((await store.listScores(inDefault)).items).toHaveLength(1);
      });
    });

    describe('trace list: pages', () => {
      const many = (count: number) =>
        Array.from({ length: count }, (_, i) =>
          aSpan({
            traceId: traceIdOf(i + 1),
            startTime: T0 + BigInt(i % 4),
            endTime: T0 + BigInt(i % 4) + BigInt(i % 3),
            ...(i % 5 === 0 ? {} : { cost: { totalCost: 1 + (i % 2), currency: 'USD', isEstimated: true } }),
            correlation: { userId: 'u', project: i % 3 === 0 ? 'default' : 'second' },
            input: 'needle',
          }),
        );
      const orders: Partial<TraceQuery>[] = (['start_time', 'duration', 'cost', 'span_count'] as const).flatMap(
        (sort) =>
          (['asc', 'desc'] as const).flatMap((order) => [
            { sort, order },
            { sort, order, userId: 'u' },
            { sort, order, q: 'needle' },
          ]),
      );
      it('pages hold every trace once, in one order, with ties', async () => {
        const store = await holding({ spans: many(40), scores: [] });
        for (const query of [...orders, { sort: 'score', hasScore: 'x', order: 'asc' } as const]) {
          const whole = await store.listTraces(traces({ ...query, projects: 'all', limit: 1000 }));
          expect(whole.next).toBeUndefined();
          for (const limit of [1, 7, 40]) {
            const paged = await allPages((after) =>
              store.listTraces(traces({ ...query, projects: 'all', limit, ...(after && { after }) })),
            );
            expect([query, paged.map(({ traceId }) => traceId)]).toEqual([query, idsOf(whole)]);
          }
          if (query.sort !== 'score') expect(new Set(idsOf(whole)).size).toBe(40);
        }
      });
      it('pages by score hold every trace once, with ties', async () => {
        const spans = many(30);
        const store = await holding({
          spans,
          scores: spans.map((span, i) =>
            aScore({ traceId: span.traceId, scorerId: 'x', value: i % 3, correlation: span.correlation }),
          ),
        });
        for (const order of ['asc', 'desc'] as const) {
          const query = traces({ sort: 'score', hasScore: 'x', order, projects: 'all', limit: 7 });
          const paged = await allPages((after) => store.listTraces({ ...query, ...(after && { after }) }));
          const means = paged.map(({ scores }) => scores[0]?.mean ?? Number.NaN);
          expect(means).toEqual(means.toSorted((a, b) => (order === 'asc' ? a - b : b - a)));
          expect(new Set(paged.map(({ traceId }) => traceId)).size).toBe(30);
        }
      });
      it('an insert during paging neither skips nor repeats an older row', async () => {
        const store = await holding({ spans: many(30) });
        let extra = 1000;
        const paged = await allPages(async (after) => {
          const page = await store.listTraces(traces({ projects: 'all', limit: 4, ...(after && { after }) }));
          await store.write(
            aUnit({ spans: [aSpan({ traceId: traceIdOf(++extra), startTime: T0 + BigInt(extra % 4) })] }),
          );
          return page;
        });
        expect(paged.length).toBe(new Set(paged.map(({ traceId }) => traceId)).size);
        for (const span of many(30)) expect(paged.map(({ traceId }) => traceId)).toContain(span.traceId);
      });
    });

    describe('search (q)', () => {
      const found = async (store: SignalStore, q: string): Promise<boolean> =>
        (await store.listTraces(traces({ q }))).items.length > 0;
      const text = 'The Quick-brown fox, naïve CAFÉ 東京 user@example.com 42 tests_done it\'s "quoted" foo.bar ΑΒΓ';
      const cases: [string, boolean][] = [
        ['quick', true],
        ['QUICK', true],
        ['quic', false],
        ['quic*', true],
        ['uick', false],
        ['fox quick', true],
        ['fox dog', false],
        ['"brown fox"', true],
        ['"fox brown"', false],
        ['"quick brown fox"', true],
        ['"quick fox"', false],
        ['quick "brown fox" 42', true],
        ['naïve', true],
        ['naive', false],
        ['café', true],
        ['東京', true],
        ['東*', true],
        ['user@example.com', true],
        ['"user@example.com"', true],
        ['example', true],
        ["it's", true],
        ['foo.bar', true],
        ['"foo', true],
        ['foo"', true],
        ['(foo)', true],
        ['foo AND bar', false],
        ['foo OR zzz', false],
        ['NOT', false],
        ['-fox', true],
        ['input:fox', false],
        ['fox^2', false],
        ['αβγ', true],
        ['*', false],
        ['""', false],
        ['', false],
        ['   ', false],
        ['!!! ---', false],
        ['NEAR(fox brown)', false],
        ['{fox}', true],
        ["'; DROP TABLE spans; --", false],
        ['\\', false],
        ['😀', false],
      ];
      it('words are ANDed, case-insensitive and whole; "a phrase"; word*; any input is a valid query', async () => {
        const store = await holding({ spans: [aSpan({ input: text })] });
        for (const [q, expected] of cases) expect([q, await found(store, q)]).toEqual([q, expected]);
      });
      it('every input is answered', async () => {
        const store = await holding({ spans: [aSpan({ input: text })] });
        await fc.assert(
          fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), async (q) => {
            expect((await store.listTraces(traces({ q }))).items.length).toBeLessThanOrEqual(1);
          }),
          { numRuns: 200 },
        );
      });
      it('words are sought in input and output of one span, phrases in one of the two', async () => {
        const store = await holding({
          spans: [aSpan({ input: 'alpha beta', output: 'gamma delta' }), aSpan({ input: 'omega' })],
        });
        expect(await found(store, 'alpha delta')).toBe(true);
        expect(await found(store, '"beta gamma"')).toBe(false);
        expect(await found(store, 'alpha omega')).toBe(false);
      });
      it('attributes and names are not searched', async () => {
        const store = await holding({ spans: [aSpan({ name: 'zebra', attributes: { k: 'giraffe' } })] });
        expect(await found(store, 'zebra')).toBe(false);
        expect(await found(store, 'giraffe')).toBe(false);
      });
      it('JSON payloads are searched by their words, escapes read', async () => {
        const store = await holding({
          spans: [
            aSpan({ input: { content: 'one\ntwo\t"three"', path: 'C:\\new' } }),
            aSpan({ input: '[{"content":"four\\nfive caf\\u00e9"}]' }),
          ],
        });
        for (const word of ['one', 'two', 'three', 'content', 'new', 'four', 'five', 'café', '"four five"'])
          expect([word, await found(store, word)]).toEqual([word, true]);
        expect(await found(store, 'ntwo')).toBe(false);
      });
      it('a written batch is found by the next read', async () => {
        const store = await empty();
        for (let i = 0; i < 20; i++) {
          await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(i + 1), input: `unique${i}` })] }));
          expect(idsOf(await store.listTraces(traces({ q: `unique${i}` })))).toEqual([traceIdOf(i + 1)]);
        }
      });
      it('a phrase that most spans hold is paged in order', async () => {
        const spans = Array.from({ length: 700 }, (_, i) =>
          aSpan({
            traceId: traceIdOf(i + 1),
            startTime: T0 + BigInt((i * 7919) % 700),
            input: i % 10 === 0 ? 'side by side' : 'by side apart side',
          }),
        );
        const store = await holding({ spans });
        const expected = spans
          .filter(({ input }) => input === 'side by side')
          .toSorted((a, b) => (a.startTime < b.startTime ? 1 : -1))
          .map(({ traceId }) => traceId);
        const paged = await allPages((after) =>
          store.listTraces(traces({ q: '"side by side"', limit: 9, ...(after && { after }) })),
        );
        expect(paged.map(({ traceId }) => traceId)).toEqual(expected);
      });
    });

    describe('span list', () => {
      const spans = [
        aSpan({ traceId: traceIdOf(1), spanId: spanIdOf(1), name: 'a', kind: 'tool_call', startTime: T0 }),
        aSpan({
          traceId: traceIdOf(1),
          spanId: spanIdOf(2),
          name: 'b',
          model: 'm',
          startTime: T0 + 1n,
          correlation: { userId: 'u' },
        }),
        aSpan({
          traceId: traceIdOf(2),
          spanId: spanIdOf(3),
          name: 'c',
          provider: 'p',
          startTime: T0 + 2n,
          status: 'error',
          error: { message: 'x' },
          correlation: { sessionId: 's' },
        }),
        aSpan({
          traceId: traceIdOf(2),
          spanId: spanIdOf(4),
          name: 'd',
          entityName: 'e',
          startTime: T0 + 3n,
          correlation: { environment: 'prod', serviceName: 'svc' },
        }),
      ];
      const rows: [object, number[]][] = [
        [{}, [1, 2, 3, 4]],
        [{ order: 'desc' }, [4, 3, 2, 1]],
        [{ traceId: traceIdOf(1) }, [1, 2]],
        [{ traceId: traceIdOf(9) }, []],
        [{ kind: 'tool_call' }, [1]],
        [{ status: 'error' }, [3]],
        [{ status: 'ok' }, [1, 2, 4]],
        [{ name: 'b' }, [2]],
        [{ model: 'm' }, [2]],
        [{ provider: 'p' }, [3]],
        [{ entityName: 'e' }, [4]],
        [{ userId: 'u' }, [2]],
        [{ sessionId: 's' }, [3]],
        [{ environment: 'prod' }, [4]],
        [{ serviceName: 'svc' }, [4]],
        [{ serviceName: 'no' }, []],
        [{ from: T0 + 1n, to: T0 + 3n }, [2, 3]],
        [{ projects: ['other'] }, []],
        [{ projects: 'all', userId: 'u', model: 'm' }, [2]],
      ];
      it('each filter, both orders', async () => {
        const store = await holding({ spans });
        for (const [query, expected] of rows) {
          const page = await store.listSpans({ ...inDefault, order: 'asc', payloads: true, ...query });
          expect([query, page.items.map(({ spanId }) => spanId)]).toEqual([query, expected.map(spanIdOf)]);
        }
      });
      it('pages hold every span once, and payloads only when asked for', async () => {
        const store = await holding({ spans: spans.map((span) => ({ ...span, startTime: T0, input: 'in' })) });
        for (const order of ['asc', 'desc'] as const) {
          const paged = await allPages((after) =>
            store.listSpans({ ...inDefault, limit: 1, order, payloads: false, ...(after && { after }) }),
          );
          expect(paged.map(({ spanId }) => spanId).toSorted()).toEqual([1, 2, 3, 4].map(spanIdOf));
          expect(paged.every((span) => span.input === undefined)).toBe(true);
        }
      });
    });

    describe('logs, metrics, scores, feedback, notes, audit', () => {
      it('gives logs back whole, by time, through every filter', async () => {
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

      it('gives metric points back whole, and their names with type, unit, count and last point', async () => {
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

      it('gives scores back whole, newest first, through every filter', async () => {
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

      it('a duration filter holds at its bound for every tenth of a millisecond', async () => {
        const tenths = Array.from({ length: 100 }, (_, index) => index + 1);
        const store = await holding({
          spans: tenths.map((tenth) =>
            aSpan({ traceId: traceIdOf(tenth), startTime: T0, endTime: T0 + BigInt(tenth) * 100_000n }),
          ),
        });
        for (const tenth of tenths) {
          const ms = tenth / 10;
          const page = await store.listTraces(traces({ minDurationMs: ms, maxDurationMs: ms }));
          expect([ms, page.items.map(({ traceId }) => traceId)]).toEqual([ms, [traceIdOf(tenth)]]);
        }
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

      it('gives feedback on a trace or on its spans back whole, oldest first', async () => {
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

      it('gives aspect notes back whole, newest first, one row an id', async () => {
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

    describe('sessions, users, projects', () => {
      const visit = (n: number, user: string, session: string, extra: Parameters<typeof aSpan>[0] = {}): Span =>
        aSpan({
          traceId: traceIdOf(n),
          startTime: T0 + BigInt(n),
          correlation: { userId: user, sessionId: session },
          ...extra,
        });
      const seeded = () =>
        holding({
          spans: [
            visit(1, 'ann', 's1', { cost: { totalCost: 0.5, currency: 'USD', isEstimated: true } }),
            visit(2, 'bob', 's2'),
            visit(3, 'ann', 's3', { status: 'error', error: { message: 'x' } }),
            aSpan({ traceId: traceIdOf(4), startTime: T0 + 4n }),
          ],
        });
      it('rolls traces up by user and by session, the one seen last first', async () => {
        const store = await seeded();
        const users = await store.listRollUps({ ...inDefault, of: 'user' });
        expect(users.items).toEqual([
          {
            id: 'ann',
            project: 'default',
            traceCount: 2,
            errorCount: 1,
            totalCost: 0.5,
            currency: 'USD',
            firstSeen: T0 + 1n,
            lastSeen: T0 + 3n,
          },
          { id: 'bob', project: 'default', traceCount: 1, errorCount: 0, firstSeen: T0 + 2n, lastSeen: T0 + 2n },
        ]);
        const sessions = await allPages((after) =>
          store.listRollUps({ ...inDefault, of: 'session', limit: 1, ...(after && { after }) }),
        );
        expect(sessions.map(({ id }) => id)).toEqual(['s3', 's2', 's1']);
      });
      it('a window counts only the traces inside it', async () => {
        const store = await seeded();
        const { items } = await store.listRollUps({ ...inDefault, of: 'user', to: T0 + 3n });
        expect(items.map(({ id, traceCount }) => [id, traceCount])).toEqual([
          ['bob', 1],
          ['ann', 1],
        ]);
        expect((await store.listRollUps({ ...inDefault, of: 'user', from: T0 + 4n })).items).toEqual([]);
      });
      it('lists projects that hold any signal, by name', async () => {
        const store = await holding({
          spans: [aSpan({ correlation: { project: 'b' } })],
          logs: [aLog({ correlation: { project: 'a' } })],
        });
        expect((await store.listProjects({ projects: 'all', limit: 10 })).items).toEqual([
          { project: 'a', traceCount: 0 },
          { project: 'b', traceCount: 1, firstSeen: T0, lastSeen: T0 },
        ]);
        expect((await store.listProjects({ projects: ['b'], limit: 10 })).items.map(({ project }) => project)).toEqual([
          'b',
        ]);
        const paged = await allPages((after) =>
          store.listProjects({ projects: 'all', limit: 1, ...(after && { after }) }),
        );
        expect(paged.map(({ project }) => project)).toEqual(['a', 'b']);
      });
    });

    describe('analytics', () => {
      const call = (
        n: number,
        model: string,
        cost: number | undefined,
        ms: number,
        extra: Parameters<typeof aSpan>[0] = {},
      ): Span => {
        const start = T0 + BigInt(n) * SECOND;
        return aSpan({
          traceId: traceIdOf(n),
          kind: 'model_generation',
          model,
          provider: `of ${model}`,
          startTime: start,
          endTime: start + BigInt(ms) * 1_000_000n,
          usage: { inputTokens: 10, outputTokens: 1 },
          ...(cost === undefined ? {} : { cost: { totalCost: cost, currency: 'USD', isEstimated: true } }),
          ...extra,
        });
      };
      const window = { projects: ['default'], from: T0, to: T0 + 100n * SECOND } as const;
      const seeded = () =>
        holding({
          spans: [
            call(1, 'a', 0.5, 100, { correlation: { userId: 'u' } }),
            call(2, 'a', 0.25, 300, { status: 'error', error: { message: 'x' } }),
            call(3, 'b', 1, 50),
            call(4, 'unpriced', undefined, 10),
            call(200, 'a', 9, 1),
          ],
        });
      it('costs by model count priced model calls, the largest first; an unpriced model is excluded', async () => {
        const store = await seeded();
        expect(await store.costReport({ ...window, groupBy: 'model' })).toEqual({
          currency: 'USD',
          totalCost: 1.75,
          groups: [
            {
              key: 'b',
              count: 1,
              errorCount: 0,
              totalCost: 1,
              inputTokens: 10,
              outputTokens: 1,
              latency: { mean: 50, max: 50 },
            },
            {
              key: 'a',
              count: 2,
              errorCount: 1,
              totalCost: 0.75,
              inputTokens: 20,
              outputTokens: 2,
              latency: { mean: 200, max: 300 },
            },
          ],
        });
      });
      it('costs by any other field count runs; a run without a value has no key, a group without a cost no total', async () => {
        const store = await seeded();
        const { groups } = await store.costReport({ ...window, groupBy: 'user_id' });
        expect(groups.map(({ key, count, totalCost }) => ({ key, count, totalCost }))).toEqual([
          { key: undefined, count: 3, totalCost: 1.25 },
          { key: 'u', count: 1, totalCost: 0.5 },
        ]);
        const byStatus = await store.costReport({ ...window, groupBy: 'status' });
        expect(byStatus.groups.map(({ key, count }) => [key, count])).toEqual([
          ['ok', 3],
          ['error', 1],
        ]);
      });
      it('every grouping answers', async () => {
        const store = await seeded();
        for (const groupBy of [
          'model',
          'provider',
          'entity_name',
          'environment',
          'status',
          'session_id',
          'user_id',
          'service_name',
          'name',
        ] as const) {
          const isOfCalls = ['model', 'provider', 'entity_name'].includes(groupBy);
          const { groups } = await store.costReport({ ...window, groupBy });
          expect([groupBy, groups.reduce((sum, { count }) => sum + count, 0)]).toEqual([groupBy, isOfCalls ? 3 : 4]);
          const summary = await store.summaryReport({ ...window, groupBy });
          expect(summary.traceCount).toBe(4);
        }
      });
      it('a series has one point a bucket and group, at multiples of its width', async () => {
        const store = await seeded();
        const { series } = await store.costReport({ ...window, groupBy: 'model', bucketSeconds: 30 });
        const total = (series ?? []).reduce((sum, { totalCost }) => sum + (totalCost ?? 0), 0);
        expect(total).toBe(1.75);
        expect((series ?? []).every(({ time }) => time % (30n * SECOND) === 0n)).toBe(true);
      });
      it('at most 100 groups', async () => {
        const store = await holding({
          spans: Array.from({ length: 120 }, (_, i) => call(i % 90, `m${i}`, i, 1, { spanId: spanIdOf(i + 1) })),
        });
        const { groups, totalCost } = await store.costReport({ ...window, groupBy: 'model' });
        expect(groups).toHaveLength(100);
        expect(groups[0]?.key).toBe('m119');
        expect(totalCost).toBe((119 * 120) / 2);
      });
      it('an empty window has no currency and no total', async () => {
        const store = await seeded();
        const nothing = { projects: 'all', from: T0 - SECOND, to: T0 } as const;
        expect(await store.costReport({ ...nothing, groupBy: 'model' })).toEqual({ groups: [] });
        expect(await store.summaryReport(nothing)).toEqual({
          traceCount: 0,
          errorCount: 0,
          inputTokens: 0,
          outputTokens: 0,
          groups: [],
        });
      });
      it('a summary has nearest-rank percentiles of the durations of runs', async () => {
        const store = await holding({ spans: Array.from({ length: 100 }, (_, i) => call(i % 100, 'a', 0.01, i + 1)) });
        const { latency, traceCount } = await store.summaryReport(window);
        expect(traceCount).toBe(100);
        expect(latency).toEqual({ mean: 50.5, max: 100, p50: 50, p90: 90, p95: 95, p99: 99 });
      });
      it('a summary by model counts each trace under every model it used', async () => {
        const store = await holding({ spans: [call(1, 'a', 1, 10), call(1, 'b', 1, 10), call(2, 'b', 1, 10)] });
        const { groups, traceCount } = await store.summaryReport({ ...window, groupBy: 'model' });
        expect(traceCount).toBe(2);
        expect(groups.map(({ key, traceCount }) => [key, traceCount])).toEqual([
          ['b', 2],
          ['a', 1],
        ]);
      });
    });

    describe('ingest keys', () => {
      it('a unit with a used key is not written again', async () => {
        const store = await empty();
        expect(await store.write(aUnit({ spans: [aSpan({ name: 'one' })] }, 'k'))).toBe('written');
        expect(await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(2), input: 'ghost' })] }, 'k'))).toBe(
          'duplicate',
        );
        expect(idsOf(await store.listTraces(traces()))).toEqual([traceIdOf(1)]);
        expect(idsOf(await store.listTraces(traces({ q: 'ghost' })))).toEqual([]);
        expect(await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(3), input: 'alive' })] }, 'k2'))).toBe(
          'written',
        );
        expect(idsOf(await store.listTraces(traces({ q: 'alive' })))).toEqual([traceIdOf(3)]);
      });
      it('the same key at once is written once, the others are duplicates (P4)', async () => {
        const store = await empty();
        for (let round = 0; round < 10; round++) {
          const outcomes = await Promise.all(
            Array.from({ length: 50 }, (_, i) =>
              store.write(
                aUnit(
                  { spans: [aSpan({ traceId: traceIdOf(round * 50 + i), input: `round${round}` })] },
                  `key ${round}`,
                ),
              ),
            ),
          );
          expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(1);
          expect((await store.listTraces(traces({ q: `round${round}` }))).items).toHaveLength(1);
        }
        expect((await store.listTraces(traces())).items).toHaveLength(10);
      });
      it('a unit without spans takes its key too', async () => {
        const store = await empty();
        expect(await store.write(aUnit({ logs: [aLog()] }, 'k'))).toBe('written');
        expect(await store.write(aUnit({ logs: [aLog()] }, 'k'))).toBe('duplicate');
        expect(await store.write(aUnit({}, 'empty'))).toBe('written');
        expect(await store.write(aUnit({}, 'empty'))).toBe('duplicate');
        expect((await store.listLogs({ ...inDefault, order: 'asc' })).items).toHaveLength(1);
      });
      it('concurrent units of one trace leave one trace with all spans', async () => {
        const store = await empty();
        await Promise.all(
          Array.from({ length: 64 }, () => store.write(aUnit({ spans: [aSpan({ input: 'together' })] }))),
        );
        expect((await store.listTraces(traces())).items).toMatchObject([{ spanCount: 64 }]);
      });
      it('a large unit of all signals is one unit, and small ones beside it are found by their words as well', async () => {
        const store = await empty();
        const many = 3_000;
        const large = aUnit(
          {
            spans: Array.from({ length: many }, (_, n) =>
              aSpan({ traceId: traceIdOf(1 + (n % 7)), spanId: spanIdOf(n), input: `large word${n}` }),
            ),
            logs: [aLog({ traceId: traceIdOf(1) })],
            scores: [aScore({ traceId: traceIdOf(1) })],
            feedback: [aFeedback({ traceId: traceIdOf(1) })],
            aspectNotes: [aNote({ traceId: traceIdOf(1) })],
          },
          'large',
        );
        const small = (n: number) =>
          store.write(
            aUnit({ spans: [aSpan({ traceId: traceIdOf(100 + n), spanId: spanIdOf(1), input: `small word` })] }),
          );
        const written = await Promise.all([small(1), store.write(large), small(2), store.write(large), small(3)]);
        expect(written).toEqual(['written', 'written', 'written', 'duplicate', 'written']);
        const listed = (await store.listTraces(traces({ limit: 100 }))).items;
        expect(listed).toHaveLength(10);
        expect(listed.reduce((sum, { spanCount }) => sum + spanCount, 0)).toBe(many + 3);
        const found = async (q: string): Promise<number> =>
          (await store.listTraces(traces({ q, limit: 100 }))).items.length;
        expect([await found('large'), await found('small'), await found('word0'), await found('word2999')]).toEqual([
          7, 3, 1, 1,
        ]);
        const detail = await store.findTrace(traceIdOf(1), 'all', false);
        expect(detail?.trace).toMatchObject({ scores: [{ count: 1 }], feedback: { thumbs: 1 } });
      });
    });

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
        expect(await store.deleteTraces([traceIdOf(1)], 'all')).toMatchObject({ deleted: 1 });
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
      it('trims by the start of the trace: a trace goes whole or stays', async () => {
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

    describe('positions', () => {
      it.each([
        ['of another list', ['a name', 'x']],
        ['that is no whole number', [1.5, 1.5]],
        ['beyond every time', ['9999999999999999999', 1]],
        ['that is too long', ['1', 2, 3, 4]],
        ['that is empty', []],
      ])('a position %s fails no list: a cursor comes back from a client', async (_title, after) => {
        const store = await holding({ spans: [aSpan()], logs: [aLog()], metrics: [aPoint()], scores: [aScore()] });
        const paging = { ...inDefault, after };
        for (const sort of ['start_time', 'duration', 'cost'] as const) await store.listTraces(traces({ after, sort }));
        await store.listSpans({ ...paging, order: 'asc', payloads: false });
        await store.listLogs({ ...paging, order: 'asc' });
        await store.listMetricNames(paging);
        await store.listScores(paging);
        await store.listAspectNotes(paging);
        await store.listRollUps({ ...paging, of: 'user' });
        await store.listProjects(paging);
        await store.listAudit(paging);
        await store.listDatasets(paging);
        const dataset = { project: 'default', datasetId: 'd', name: 'd', createdAt: T0 };
        await store.putDataset(dataset);
        await store.listItems(dataset, { limit: 1, after });
      });
    });

    describe('life', () => {
      it('answers a ping', async () => {
        await expect((await empty()).ping()).resolves.toBeUndefined();
      });
      it('commits what was taken, then refuses writes and reads', async () => {
        const store = await empty();
        const taken = Array.from({ length: 20 }, (_, i) =>
          store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(i) })] })),
        );
        await store.close();
        expect(await Promise.all(taken)).toEqual(Array(20).fill('written'));
        await expect(store.write(aUnit({}))).rejects.toBeInstanceOf(StoreUnavailable);
        await expect(store.listTraces(traces())).rejects.toBeInstanceOf(StoreUnavailable);
        await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
        await store.close();
      });
    });
  });
};
