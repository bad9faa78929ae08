import { ServiceError } from './errors.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From the root of the service: `/v1/api/runs`. */
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON; a text, or its bytes, is sent as it is: JSON that was written already. */
  readonly body?: unknown;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
};

/** Calls to one service, by whatever the platform has for it. */
export type Transport = {
  /**
   * One call, one try.
   * @returns the parsed body of a 2xx answer; `undefined` for an empty one
   * @throws ServiceError when the service refuses, ConnectionError when there is no answer
   */
  readonly call: <T>(request: HttpRequest) => Promise<T>;
  readonly close: () => void;
};

/** How long an answer may take, where the caller names no time. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; `undefined` where it says nothing.
 * @param nowMs since 1970, for a header that names a date
 */
export const retryAfterOf = (header: string | undefined, nowMs: number = Date.now()): number | undefined => {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : undefined;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
};

/** Path and query, from the root of the service. What is `undefined` is not asked for. */
export const targetOf = ({ path, query }: Pick<HttpRequest, 'path' | 'query'>): string => {
  if (query === undefined) return path;
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) asked.set(name, String(value));
  const text = asked.toString();
  return text === '' ? path : `${path}?${text}`;
};

/** What a service or a gateway said when it refused. */
export const refusalOf = (answer: {
  readonly status: number;
  readonly text: string;
  readonly requestId: string | undefined;
  readonly retryAfter: string | undefined;
}): ServiceError => {
  const { status, text } = answer;
  let problem: { code?: unknown; message?: unknown; field?: unknown } = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (parsed !== null && typeof parsed === 'object') problem = parsed;
  } catch {
    // A typed body that did not decode is refused in plain text, and a gateway in whatever it likes.
  }
  return new ServiceError({
    status,
    code: typeof problem.code === 'string' ? problem.code : `http_${status}`,
    message: typeof problem.message === 'string' ? problem.message : text.slice(0, 500) || `HTTP ${status}`,
    field: typeof problem.field === 'string' ? problem.field : undefined,
    requestId: answer.requestId,
    retryAfterMs: retryAfterOf(answer.retryAfter),
  });
};
