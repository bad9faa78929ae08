/**
 * The adapter for programs that use OpenTelemetry: `@svc/sdk/otel`. It touches no global of OpenTelemetry and depends on none of
 * its packages: the program hands in what it has.
 */
import type { ContextBridge } from './platform.ts';
import { readSettings, type SettingsInput } from './settings.ts';

type SpanContext = { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };

/** What is used of `@opentelemetry/api`. */
export type OpenTelemetryApi<Context, Span> = {
  readonly context: {
    readonly active: () => Context;
    readonly with: <T>(context: Context, body: () => T) => T;
  };
  readonly trace: {
    readonly getSpanContext: (context: Context) => SpanContext | undefined;
    readonly setSpan: (context: Context, span: Span) => Context;
    readonly wrapSpanContext: (spanContext: SpanContext) => Span;
    readonly isSpanContextValid: (spanContext: SpanContext) => boolean;
  };
};

/**
 * Joins the context of OpenTelemetry: a span of it that is active is the parent of ours, and ours, which it does not record, is the
 * parent of its spans, so that calls over HTTP nest and carry `traceparent`.
 *
 * @example
 * import * as api from '@opentelemetry/api';
 * const svc = createInstrumentation({ bridge: bridgeOpenTelemetry(api) });
 */
export const bridgeOpenTelemetry = <Context, Span>({
  context,
  trace,
}: OpenTelemetryApi<Context, Span>): ContextBridge => ({
  active: () => {
    const span = trace.getSpanContext(context.active());
    return span !== undefined && trace.isSpanContextValid(span) ? span : undefined;
  },
  run: ({ traceId, spanId, isKept }, body) =>
    context.with(
      trace.setSpan(context.active(), trace.wrapSpanContext({ traceId, spanId, traceFlags: isKept ? 1 : 0 })),
      body,
    ),
});

/** What an exporter of OpenTelemetry over HTTP takes. */
export type OtlpPreset = { readonly url: string; readonly headers: Record<string, string> };

/**
 * Where an exporter of the program's own provider finds the service, by the same settings as the rest of this library.
 *
 * @example
 * new BatchSpanProcessor(exportScopes(new OTLPTraceExporter(otlpPreset('traces')), (scope) => scope.startsWith('my-agent')))
 */
export const otlpPreset = (signal: 'traces' | 'logs' | 'metrics', settings: SettingsInput = {}): OtlpPreset => {
  const { endpoint, apiKey } = readSettings(settings);
  return {
    url: `${endpoint.replace(/\/+$/, '')}/v1/${signal}`,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  };
};

type Scoped = { readonly instrumentationScope: { readonly name: string } };

/** What is used of an exporter of spans. */
export type SpanExporterLike<S extends Scoped, Result> = {
  readonly export: (spans: S[], done: (result: Result) => void) => void;
  readonly shutdown: () => Promise<void>;
  readonly forceFlush?: () => Promise<void>;
};

/**
 * An exporter that hands on the spans of some scopes alone: a provider of the whole program records its database and its web server,
 * too. With none to send it says success.
 * @param keep is asked for each span with the name of its instrumentation scope
 */
export const exportScopes = <S extends Scoped, Result>(
  exporter: SpanExporterLike<S, Result>,
  keep: (scope: string) => boolean,
): SpanExporterLike<S, Result> => ({
  export: (spans, done) => {
    const kept = spans.filter((span) => keep(span.instrumentationScope.name));
    // `ExportResultCode.SUCCESS` of `@opentelemetry/core`.
    if (kept.length === 0) done({ code: 0 } as Result);
    else exporter.export(kept, done);
  },
  shutdown: () => exporter.shutdown(),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
});
