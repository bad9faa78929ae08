/** A refusal of the service, word for word, or a service that did not answer. */
export class Problem extends Error {
  override readonly name = 'Problem';
  /** 0 where no answer came. */
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, code: string, message: string, field?: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
    this.retryAfterMs = retryAfterMs;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const retryAfter = (response: Response): number | undefined => {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
};

/** A body that does not decode is answered as a line of text, which quotes the field; the page of a proxy is no such line. */
const lineOf = (response: Response, body: unknown): Record<string, unknown> => {
  if (typeof body !== 'string' || !(response.headers.get('content-type') ?? '').startsWith('text/plain')) return {};
  return { message: body, field: /`([^`]+)`/.exec(body)?.[1] };
};

/** @param body what the service sent, parsed where it was JSON */
export const problemOf = (response: Response, body: unknown): Problem => {
  const given = isRecord(body) ? body : lineOf(response, body);
  return new Problem(
    response.status,
    textOf(given['code']) ?? `http_${response.status}`,
    textOf(given['message']) ?? `the service answered ${response.status}`,
    textOf(given['field']),
    retryAfter(response),
  );
};

export const isTransient = (error: unknown): boolean =>
  error instanceof Problem && (error.status === 0 || error.status === 429 || error.status === 503);
