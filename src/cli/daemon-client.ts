/** Asks a running service over HTTP: for subcommands that hold no data themselves. */
export type DaemonClient = {
  /**
   * One read of the query API.
   * @param path from `/v1` on
   * @param query parameters; those that are `undefined` are left out
   * @throws DaemonError, whose message is fit for people
   */
  readonly get: <T>(path: string, query?: Query) => Promise<T>;
  /** The same for an answer that is text. */
  readonly getText: (path: string, query?: Query) => Promise<string>;
};

type Query = Readonly<Record<string, string | number | undefined>>;

export type DaemonClientOptions = {
  readonly endpoint: string;
  readonly apiKey?: string;
  readonly timeoutMs?: number;
  readonly maxReplyBytes?: number;
};

/** A question that brought no answer. The message names what to do; it never holds the key. */
export class DaemonError extends Error {
  /** The code of a refusal, where the service gave one. */
  readonly code: string | undefined;
  constructor(message: string, { code, ...options }: { readonly cause?: unknown; readonly code?: string } = {}) {
    super(message, options);
    this.name = 'DaemonError';
    this.code = code;
  }
}

const DEFAULT_ENDPOINT = 'http://127.0.0.1:4317';
const TIMEOUT_MS = 60_000;
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** The endpoint as a base that paths are appended to, or `undefined` when it is no URL of http or https. */
const parseEndpoint = (text: string): URL | undefined => {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
};

const codeOf = (error: unknown): string | undefined => {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
  }
  return undefined;
};

const readBounded = async (response: Response, maxBytes: number): Promise<string> => {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new DaemonError(`the answer is over ${maxBytes} bytes; ask for less`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
};

const refusal = (status: number, body: unknown, origin: string, hasKey: boolean): string => {
  const { code, message, field } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (status === 401)
    return hasKey
      ? `${origin} does not know this key: set --api-key or SVC_API_KEY to one of its read keys`
      : `${origin} asks for a key: set --api-key or SVC_API_KEY to one of its read keys`;
  if (typeof code !== 'string' || typeof message !== 'string')
    return `${origin} answered ${status}, and not as the service does: check --endpoint or SVC_ENDPOINT`;
  return `${code}: ${message}${typeof field === 'string' ? ` (${field})` : ''}`;
};

/** @param options the endpoint is one that `parseEndpoint` takes */
const createDaemonClient = ({
  endpoint,
  apiKey,
  timeoutMs = TIMEOUT_MS,
  maxReplyBytes = MAX_REPLY_BYTES,
}: DaemonClientOptions): DaemonClient => {
  const base = parseEndpoint(endpoint);
  if (base === undefined) throw new RangeError('the endpoint is not a URL of http or https');
  const { origin } = base;
  const headers: Record<string, string> = { accept: 'application/json, text/plain' };
  if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`;

  const ask = async (path: string, query: Query): Promise<{ status: number; text: string }> => {
    const url = new URL(path.replace(/^\/+/, ''), base);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, `${value}`);
    try {
      // A redirect would carry the key to wherever it points.
      const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
      return { status: response.status, text: await readBounded(response, maxReplyBytes) };
    } catch (error) {
      if (error instanceof DaemonError) throw error;
      if (error instanceof DOMException && error.name === 'TimeoutError')
        throw new DaemonError(`${origin} did not answer within ${timeoutMs / 1000} seconds; ask for less, or again`, {
          cause: error,
        });
      throw new DaemonError(
        `nothing answers at ${origin} (${codeOf(error) ?? 'no connection'}): start the service, or set --endpoint or SVC_ENDPOINT`,
        { cause: error },
      );
    }
  };
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };
  const refused = (status: number, text: string): DaemonError => {
    const body = parsed(text);
    const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined;
    return new DaemonError(
      refusal(status, body, origin, apiKey !== undefined),
      typeof code === 'string' ? { code } : {},
    );
  };

  return {
    get: async <T>(path: string, query: Query = {}) => {
      const { status, text } = await ask(path, query);
      const body = parsed(text);
      if (status !== 200 || body === undefined) throw refused(status, text);
      return body as T;
    },
    getText: async (path, query = {}) => {
      const { status, text } = await ask(path, query);
      if (status !== 200) throw refused(status, text);
      return text;
    },
  };
};

/** An empty variable is one that a launcher did not fill. */
const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Where the service is and who asks, each from the command line, else the environment. */
export type DaemonAddress = {
  readonly endpoint?: string;
  readonly apiKey?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** @returns the client, or what is wrong with the address, in one line */
export const connectToDaemon = ({ environment, ...options }: DaemonAddress): DaemonClient | string => {
  const endpoint = options.endpoint ?? given(environment['SVC_ENDPOINT']) ?? DEFAULT_ENDPOINT;
  const apiKey = options.apiKey ?? given(environment['SVC_API_KEY']);
  if (parseEndpoint(endpoint) === undefined) return '--endpoint: must be a URL that begins with http:// or https://';
  if (apiKey !== undefined && !/^[\x21-\x7e]{1,512}$/.test(apiKey))
    return '--api-key: must be printable ASCII without spaces';
  return createDaemonClient({ endpoint, ...(apiKey === undefined ? {} : { apiKey }) });
};
