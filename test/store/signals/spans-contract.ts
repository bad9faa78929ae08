import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/model/span.ts';
import type { WrittenSpans } from '../../../src/store/signals/query.ts';
import { aSpan, inDefault, running, spanIdOf, T0, traceIdOf, traces } from './factories.ts';
import { allPages, idsOf, type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of spans, the waterfall and the list of spans. */
export const spansContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);

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

      it('puts attributes that spans share beside those of each, the payload of a span before both', async () => {
        const sharedAttributes = { 'host.name': 'h "1"', 'gen_ai.prompt': 'of the resource' };
        const spans = [
          aSpan({ spanId: spanIdOf(1), sharedAttributes, attributes: { own: [1] } }),
          aSpan({ spanId: spanIdOf(2), sharedAttributes, attributes: {} }),
          aSpan({
            spanId: spanIdOf(3),
            sharedAttributes,
            attributes: {},
            input: 'hi',
            inputAttribute: 'gen_ai.prompt',
          }),
        ];
        const store = await holding({ spans });
        const found = (await store.findTrace(traceIdOf(1), 'all', true))?.spans ?? [];
        expect(found.map(({ attributes }) => attributes)).toEqual([
          { ...sharedAttributes, own: [1] },
          sharedAttributes,
          { ...sharedAttributes, 'gen_ai.prompt': 'hi' },
        ]);
        for (const span of found) expect(span).not.toHaveProperty('sharedAttributes');
      });

      it('knows from them too what a span only repeats', async () => {
        const usage = { inputTokens: 5 };
        const sharedAttributes = { 'svc.cost.skipped': 'aggregate' };
        const spans = [aSpan({ spanId: spanIdOf(1), usage }), aSpan({ spanId: spanIdOf(2), usage, sharedAttributes })];
        const store = await holding({ spans });
        expect((await store.findTrace(traceIdOf(1), 'all', false))?.trace.inputTokens).toBe(5);
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

      it('reads a trace, and a page of spans, as JSON of the same spans in the same order, told before what it will weigh', async () => {
        const parts = [
          whole,
          aSpan({ traceId: whole.traceId, spanId: spanIdOf(6), startTime: T0, correlation: { project: 'other' } }),
        ];
        const store = await holding({ spans: parts });
        const read = async (spans: WrittenSpans): Promise<unknown[]> =>
          JSON.parse(
            `[${Buffer.concat(await Array.fromAsync(spans))
              .toString()
              .slice(1)}]`,
          ) as unknown[];
        const told: number[] = [];
        const note = (bytes: number): void => void told.push(bytes);
        for (const payloads of [true, false]) {
          const detail = await store.findTrace(whole.traceId, 'all', payloads);
          const reading = await store.readTrace(whole.traceId, 'all', payloads, note);
          expect(reading?.trace).toEqual(detail?.trace);
          expect(reading && (await read(reading.spans))).toMatchObject(
            (detail?.spans ?? []).map((span) => ({
              span_id: span.spanId,
              correlation: { project: span.correlation.project },
            })),
          );
          const query = { projects: 'all', limit: 1, order: 'asc', payloads } as const;
          const { items, next } = await store.listSpans(query);
          const page = await store.readSpans(query, note);
          expect(page.next).toEqual(next);
          expect(await read(page.spans)).toMatchObject(
            items.map((span) => ({ span_id: span.spanId, name: span.name })),
          );
        }
        expect(told).toHaveLength(4);
        expect(Math.min(...told)).toBeGreaterThan(500);
        expect(await store.readTrace(traceIdOf(99), 'all', true, note)).toBeUndefined();
        expect((await store.projectsOfTrace(whole.traceId, 'all')).toSorted()).toEqual(['default', 'other']);
        expect(await store.projectsOfTrace(whole.traceId, ['other', 'third'])).toEqual(['other']);
        expect(await store.projectsOfTrace(traceIdOf(99), 'all')).toEqual([]);
      });

      it('reads a trace without payloads as spans without input, output, attributes, events and links', async () => {
        const store = await holding({ spans: [whole] });
        const { input: _i, output: _o, ...rest } = whole;
        const { stack: _s, ...error } = whole.error ?? { message: '' };
        expect((await store.findTrace(whole.traceId, 'all', false))?.spans).toEqual([
          { ...rest, error, attributes: {}, events: [], links: [] },
        ]);
      });

      it('keeps a long error message complete, and the span findable in lists', async () => {
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
        [{ traceId: traceIdOf(1), spanIds: [spanIdOf(2), spanIdOf(3), spanIdOf(9)] }, [2]],
        [{ traceId: traceIdOf(1), spanIds: [] }, []],
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
      it('a page with a bound of bytes ends with the span that brings it over, and goes on after it', async () => {
        const store = await holding({ spans: spans.map((span) => ({ ...span, input: 'x'.repeat(10_000) })) });
        const sizes: number[] = [];
        const paged = await allPages(async (after) => {
          const query = {
            ...inDefault,
            order: 'asc',
            payloads: true,
            maxBytes: 15_000,
            ...(after && { after }),
          } as const;
          const reading = await store.readSpans(query, () => {});
          const pieces: Uint8Array[] = [];
          for await (const piece of reading.spans) pieces.push(piece);
          const items = JSON.parse(`[${Buffer.concat(pieces).toString().slice(1)}]`) as { readonly span_id: string }[];
          sizes.push(items.length);
          return { ...reading, items };
        });
        expect([paged.map(({ span_id }) => span_id), sizes]).toEqual([[1, 2, 3, 4].map(spanIdOf), [2, 2]]);
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
  });
};
