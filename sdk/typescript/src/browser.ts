/**
 * Instrumentation for pages: `@svc/sdk/browser`. Clients and workers are for servers.
 *
 * Pages have no context that crosses an await. A span is around what its body does before its first await; after it, name the parent:
 * `svc.span('inner', { traceparent: outer.traceparent }, ...)`.
 */
import { ConnectionError, ServiceError } from './errors.ts';
import type { ContextStorage, Platform } from './platform.ts';
import { createRecorder, type Instrumentation, type InstrumentationOptions } from './recorder.ts';
import { DEFAULT_TIMEOUT_MS, type HttpRequest, refusalOf, targetOf, type Transport } from './transport.ts';

export type {
  AspectNoteInput,
  FeedbackInput,
  Instrumentation,
  InstrumentationOptions,
  MetricInput,
  ScoreInput,
  Span,
  SpanOptions,
} from './recorder.ts';
export { parseTraceparent } from './recorder.ts';
export type { ContextBridge } from './platform.ts';

/** What a browser takes of requests that may outlive their page, all of them together. */
const KEEPALIVE_BYTES = 60_000;

/** The value that is set while a function runs, and not beyond its first await. */
const createStack = <T>(): ContextStorage<T> => {
  let current: T | undefined;
  return {
    getStore: () => current,
    run: (value, body) => {
      const before = current;
      current = value;
      try {
        return body();
      } finally {
        current = before;
      }
    },
  };
};

/** Calls by `fetch`, below the endpoint. */
const createFetchTransport = ({ endpoint, apiKey }: { endpoint: string; apiKey?: string | undefined }): Transport => {
  const base = endpoint.replace(/\/+$/, '');
  return {
    call: async <T>(request: HttpRequest): Promise<T> => {
      const body =
        request.body === undefined || typeof request.body === 'string' || request.body instanceof Uint8Array
          ? (request.body as string | undefined)
          : JSON.stringify(request.body);
      const over = new AbortController();
      request.signal?.addEventListener('abort', () => over.abort(), { once: true });
      const timer = setTimeout(() => over.abort(), request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
      try {
        const answer = await fetch(base + targetOf(request), {
          method: request.method,
          headers: {
            accept: 'application/json',
            ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body }),
          signal: over.signal,
          // A page that goes away takes its requests with it, but for these.
          keepalive: body !== undefined && isHidden() && body.length < KEEPALIVE_BYTES,
        });
        const text = await answer.text();
        if (!answer.ok)
          throw refusalOf({
            status: answer.status,
            text,
            requestId: answer.headers.get('x-request-id') ?? undefined,
            retryAfter: answer.headers.get('retry-after') ?? undefined,
          });
        return (text === '' ? undefined : JSON.parse(text)) as T;
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        throw new ConnectionError(`${request.method} ${request.path} got no answer`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => {},
  };
};

/** What is used of a page; its types need not be there where this library is compiled. */
type Page = {
  readonly document?: {
    readonly visibilityState: string;
    readonly addEventListener: (type: 'visibilitychange', listener: () => void) => void;
    readonly removeEventListener: (type: 'visibilitychange', listener: () => void) => void;
  };
  readonly location?: { readonly origin: string; readonly href: string };
};
const page = (): Page => globalThis as Page;
const isHidden = (): boolean => page().document?.visibilityState === 'hidden';

const browser: Platform = {
  env: {},
  randomHex: (bytes) =>
    Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join(''),
  createStorage: createStack,
  createTransport: createFetchTransport,
};

/**
 * Records spans, logs, metrics, scores, feedback and aspect notes of a page. What is queued goes out when the page is hidden, too.
 *
 * The service answers pages of its own origin alone: let your server hand `/v1/ingest` on to it. Any key given here can be read by
 * each visitor: give one that may ingest, and nothing else, or let your server add it.
 * @param options `endpoint` may be relative to the page; its origin by default
 */
export const createInstrumentation = (options: InstrumentationOptions = {}): Instrumentation => {
  const { document, location } = page();
  const given = options.endpoint ?? location?.origin;
  const endpoint =
    given !== undefined && URL.canParse(given, location?.href) ? new URL(given, location?.href).href : given;
  const recorder = createRecorder(browser, { ...options, endpoint });
  const onHidden = (): void => {
    if (isHidden()) void recorder.flush();
  };
  document?.addEventListener('visibilitychange', onHidden);
  return {
    ...recorder,
    close: async (timeoutMs) => {
      document?.removeEventListener('visibilitychange', onHidden);
      await recorder.close(timeoutMs);
    },
  };
};
