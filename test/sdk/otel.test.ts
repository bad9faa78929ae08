import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FakeService, startFakeService } from '../../sdk/conformance/opposite/scripted.ts';
import { createInstrumentation, type Instrumentation } from '../../sdk/typescript/src/index.ts';
import { bridgeOpenTelemetry, exportScopes, otlpPreset } from '../../sdk/typescript/src/otel.ts';

type SpanContext = { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };

/** The part of `@opentelemetry/api` that is used, over a context that crosses awaits, as its context manager for Node is. */
const createApi = () => {
  const storage = new AsyncLocalStorage<SpanContext>();
  return {
    context: {
      active: () => storage.getStore(),
      with: <T>(context: SpanContext | undefined, body: () => T): T =>
        context === undefined ? body() : storage.run(context, body),
    },
    trace: {
      getSpanContext: (context: SpanContext | undefined) => context,
      setSpan: (_: SpanContext | undefined, span: SpanContext) => span,
      wrapSpanContext: (span: SpanContext) => span,
      isSpanContextValid: (span: SpanContext) => !/^0+$/.test(span.traceId),
    },
  };
};
const theirs: SpanContext = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
};

let service: FakeService;
let api: ReturnType<typeof createApi>;
let svc: Instrumentation;
beforeEach(async () => {
  service = await startFakeService();
  api = createApi();
  svc = createInstrumentation({ endpoint: service.url, delayMs: 1, bridge: bridgeOpenTelemetry(api) });
});
afterEach(async () => {
  await svc.close();
  await service.stop();
});
const sent = async (signal: string): Promise<Record<string, unknown>[]> => {
  await svc.flush();
  return service.callsTo('ingest').flatMap(({ body }) => (body[signal] ?? []) as Record<string, unknown>[]);
};

describe('beside OpenTelemetry', () => {
  it('an active span of it is the parent of ours', async () => {
    await api.context.with(theirs, () => svc.span('ours', {}, () => {}));
    expect(await sent('spans')).toMatchObject([{ trace_id: theirs.traceId, parent_span_id: theirs.spanId }]);
  });

  it('ours is the parent of its spans, also behind an await', async () => {
    const seen = await svc.span('ours', {}, async (span) => {
      await Promise.resolve();
      return { inside: api.context.active(), ours: { traceId: span.traceId, spanId: span.spanId, traceFlags: 1 } };
    });
    expect(seen.inside).toEqual(seen.ours);
    expect(api.context.active()).toBeUndefined();
  });

  it('a span of it between two of ours is the parent of the inner one', async () => {
    await svc.span('outer', {}, async (outer) => {
      const between = { ...theirs, traceId: outer.traceId };
      await api.context.with(between, () => svc.span('inner', {}, () => {}));
    });
    const [inner, outer] = await sent('spans');
    expect(inner).toMatchObject({ name: 'inner', trace_id: outer?.['trace_id'], parent_span_id: theirs.spanId });
  });

  it('logs, scores and the header for calls belong to its active span', async () => {
    api.context.with(theirs, () => {
      svc.log('info', 'm');
      svc.score({ scorerId: 's', value: 1, min: 0, max: 1 });
      expect(svc.traceparent()).toBe(`00-${theirs.traceId}-${theirs.spanId}-01`);
    });
    expect(await sent('logs')).toMatchObject([{ trace_id: theirs.traceId, span_id: theirs.spanId }]);
    expect(await sent('scores')).toMatchObject([{ trace_id: theirs.traceId }]);
  });

  it('its flag does not decide what is sampled, the trace id does', async () => {
    await api.context.with({ ...theirs, traceFlags: 0 }, () => svc.span('ours', {}, () => {}));
    expect(await sent('spans')).toHaveLength(1);
  });

  it('a span of zeros is none', async () => {
    await api.context.with({ ...theirs, traceId: '0'.repeat(32) }, () => svc.span('ours', {}, () => {}));
    expect((await sent('spans'))[0]).not.toHaveProperty('parent_span_id');
  });

  it('a fault of it keeps nobody from working: the function runs, once, and its own error goes on', async () => {
    const broken = createInstrumentation({
      endpoint: service.url,
      bridge: {
        active: () => {
          throw new Error('no context');
        },
        run: () => {
          throw new Error('no context');
        },
      },
    });
    const body = vi.fn<() => number>(() => 1);
    expect(await broken.span('s', {}, body)).toBe(1);
    expect(body).toHaveBeenCalledOnce();
    expect(broken.counters().invalid).toBe(1);
    await broken.close();
    await expect(svc.span('s', {}, () => Promise.reject(new RangeError('mine')))).rejects.toThrow('mine');
    const failing = vi.fn<() => never>(() => {
      throw new RangeError('mine');
    });
    await expect(svc.span('s', {}, failing)).rejects.toThrow('mine');
    expect(failing).toHaveBeenCalledOnce();
  });

  it('what runs under the span of a step is under it for OpenTelemetry too', () => {
    const step = { traceId: theirs.traceId, spanId: 'eee19b7ec3c1b174', correlation: {} };
    expect(svc.under(step, () => api.context.active())).toMatchObject({ spanId: step.spanId });
  });

  it('an exporter of the program finds the service by the same settings', () => {
    expect(otlpPreset('traces', { endpoint: 'http://svc.test:4317/base/', apiKey: 'k' })).toEqual({
      url: 'http://svc.test:4317/base/v1/traces',
      headers: { authorization: 'Bearer k' },
    });
    expect(otlpPreset('logs', { endpoint: 'http://svc.test' })).toEqual({
      url: 'http://svc.test/v1/logs',
      headers: {},
    });
  });

  it('only the spans of the named scopes are handed to the exporter', async () => {
    const exporter = {
      export: vi.fn<(spans: { instrumentationScope: { name: string } }[], done: (result: unknown) => void) => void>(),
      shutdown: vi.fn<() => Promise<void>>(() => Promise.resolve()),
      forceFlush: vi.fn<() => Promise<void>>(() => Promise.resolve()),
    };
    const filtered = exportScopes(exporter, (scope) => scope.startsWith('agent'));
    const span = (name: string) => ({ instrumentationScope: { name } });
    const done = vi.fn<(result: unknown) => void>();
    filtered.export([span('agent.tools'), span('pg'), span('agent')], done);
    expect(exporter.export.mock.calls[0]?.[0]).toEqual([span('agent.tools'), span('agent')]);
    filtered.export([span('pg')], done);
    expect(exporter.export).toHaveBeenCalledOnce();
    expect(done).toHaveBeenCalledExactlyOnceWith({ code: 0 });
    await filtered.forceFlush?.();
    await filtered.shutdown();
    expect(exporter.forceFlush).toHaveBeenCalledOnce();
    expect(exporter.shutdown).toHaveBeenCalledOnce();
  });
});
