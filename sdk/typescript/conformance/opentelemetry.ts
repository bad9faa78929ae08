import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

type SpanContext = { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };

const storage = new AsyncLocalStorage<SpanContext>();

/**
 * Stands for `@opentelemetry/api` with the context manager for Node, of which the library uses no more than this: the suite installs no
 * package of OpenTelemetry.
 */
export const openTelemetry = {
  context: {
    active: (): SpanContext | undefined => storage.getStore(),
    with: <T>(context: SpanContext | undefined, body: () => T): T =>
      context === undefined ? storage.exit(body) : storage.run(context, body),
  },
  trace: {
    getSpanContext: (context: SpanContext | undefined) => context,
    setSpan: (_context: SpanContext | undefined, span: SpanContext) => span,
    wrapSpanContext: (span: SpanContext) => span,
    isSpanContextValid: ({ traceId }: SpanContext) => !/^0+$/.test(traceId),
  },
};

/** Runs the body under a span of OpenTelemetry. */
export const underSpan = async <T>(
  body: () => Promise<T>,
): Promise<{ readonly trace_id: string; readonly span_id: string; readonly inside: T }> => {
  const [trace_id, span_id] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const inside = await openTelemetry.context.with({ traceId: trace_id, spanId: span_id, traceFlags: 1 }, body);
  return { trace_id, span_id, inside };
};
