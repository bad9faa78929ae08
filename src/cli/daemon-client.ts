import type { Scope } from '../model/scope.ts';

/** Asks a running service over HTTP: for subcommands that hold no data themselves. */
export type DaemonClient = {
  /**
   * One read of the query API.
   * @param path from `/v1` on
   * @param query parameters; those that are `undefined` are left out
   * @param scope what its key must hold, for the words of a refusal; `read` by default
   * @throws DaemonError, whose message is fit for people
   */
  readonly get: <T>(path: string, query?: Query, scope?: Scope) => Promise<T>;
  /** The same for an answer that is text. */
  readonly getText: (path: string, query?: Query) => Promise<string>;
};

/** The same service, for commands that also change something or follow it. */
export type SteeringClient = DaemonClient & {
  /** One write of the scope `execute`. @throws DaemonError; when no answer came, what became of it is unknown */
  readonly post: <T>(path: string, body: object) => Promise<T>;
  /** A DELETE. @throws as `post` does */
  readonly remove: <T>(path: string, query?: Query) => Promise<T>;
  /**
   * The data of each event of a stream, over one connection: it ends when the service ends it.
   * @throws DaemonError; one that is `isBroken` when the connection broke and may be tried again
   */
  readonly follow: (path: string, query?: Query) => AsyncGenerator<string, void, undefined>;
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
  /** No answer, or half of one: the same question may be answered later. */
  readonly isBroken: boolean;
  constructor(
    message: string,
    {
      code,
      isBroken = false,
      ...options
    }: { readonly cause?: unknown; readonly code?: string; readonly isBroken?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'DaemonError';
    this.code = code;
    this.isBroken = isBroken;
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

/**
 * The data of each event. The service writes an event's data as one line; comments and ids are passed over.
 * @see WHATWG HTML, "9.2 Server-sent events"
 */
async function* readEventData(
  response: Response,
  maxCharacters: number,
  onPiece: () => void,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of response.body ?? []) {
    onPiece();
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxCharacters) throw new DaemonError(`an event is over ${maxCharacters} characters`);
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length);
  }
}

const refusal = (status: number, body: unknown, origin: string, hasKey: boolean, scope: Scope): string => {
  const { code, message, field, detail } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  if (status === 401)
    return hasKey
      ? `${origin} does not know this key: set --api-key or SVC_API_KEY to one of its ${scope} keys`
      : `${origin} asks for a key: set --api-key or SVC_API_KEY to one of its ${scope} keys`;
  // The health document of a service whose store is away.
  if (status === 503 && typeof detail === 'string') return `${origin} is not ready: ${detail}`;
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
}: DaemonClientOptions): SteeringClient => {
  const base = parseEndpoint(endpoint);
  if (base === undefined) throw new RangeError('the endpoint is not a URL of http or https');
  const { origin } = base;
  const headers: Record<string, string> = { accept: 'application/json, text/plain' };
  if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`;

  type Question = {
    readonly path: string;
    readonly query?: Query;
    /** Sent as JSON with POST; absent: GET. */
    readonly body?: object;
    readonly method?: 'DELETE';
    readonly accept?: string;
    readonly signal?: AbortSignal;
  };
  /** What a request that failed on its way means. */
  const unanswered = (error: unknown): DaemonError => {
    if (error instanceof DaemonError) return error;
    if (error instanceof DOMException && error.name === 'TimeoutError')
      return new DaemonError(`${origin} did not answer within ${timeoutMs / 1000} seconds; ask for less, or again`, {
        cause: error,
        isBroken: true,
      });
    return new DaemonError(
      `nothing answers at ${origin} (${codeOf(error) ?? 'no connection'}): start the service, or set --endpoint or SVC_ENDPOINT`,
      { cause: error, isBroken: true },
    );
  };
  const send = ({ path, query = {}, body, method, accept, signal }: Question): Promise<Response> => {
    const url = new URL(path.replace(/^\/+/, ''), base);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, `${value}`);
    return fetch(url, {
      headers: {
        ...headers,
        ...(accept === undefined ? {} : { accept }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      // A redirect would carry the key to wherever it points.
      redirect: 'manual',
      signal: signal ?? AbortSignal.timeout(timeoutMs),
    });
  };
  const ask = async (question: Question): Promise<{ status: number; text: string }> => {
    try {
      const response = await send(question);
      return { status: response.status, text: await readBounded(response, maxReplyBytes) };
    } catch (error) {
      throw unanswered(error);
    }
  };
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };
  const refused = (status: number, text: string, scope: Scope): DaemonError => {
    const body = parsed(text);
    const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined;
    return new DaemonError(
      refusal(status, body, origin, apiKey !== undefined, scope),
      typeof code === 'string' ? { code } : {},
    );
  };

  return {
    get: async <T>(path: string, query: Query = {}, scope: Scope = 'read') => {
      const { status, text } = await ask({ path, query });
      const body = parsed(text);
      if (status !== 200 || body === undefined) throw refused(status, text, scope);
      return body as T;
    },
    getText: async (path, query = {}) => {
      const { status, text } = await ask({ path, query });
      if (status !== 200) throw refused(status, text, 'read');
      return text;
    },
    post: async <T>(path: string, body: object) => {
      const { status, text } = await ask({ path, body });
      const answer = parsed(text);
      if (status < 200 || status > 299 || answer === undefined) throw refused(status, text, 'execute');
      return answer as T;
    },
    remove: async <T>(path: string, query: Query = {}) => {
      const { status, text } = await ask({ path, query, method: 'DELETE' });
      const answer = parsed(text);
      if (status !== 200 || answer === undefined) throw refused(status, text, 'execute');
      return answer as T;
    },
    follow: async function* (path, query = {}) {
      const connection = new AbortController();
      // The service writes a comment every 15 seconds: a stream that is silent for longer is dead.
      let watchdog: NodeJS.Timeout | undefined;
      const rearm = (): void => {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => connection.abort(new DOMException('no sign of life', 'TimeoutError')), timeoutMs);
      };
      try {
        rearm();
        const response = await send({ path, query, accept: 'text/event-stream', signal: connection.signal });
        if (response.status === 204) return;
        if (response.status !== 200) throw refused(response.status, await readBounded(response, maxReplyBytes), 'read');
        yield* readEventData(response, maxReplyBytes, rearm);
      } catch (error) {
        throw unanswered(error);
      } finally {
        clearTimeout(watchdog);
        connection.abort();
      }
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
export const connectToDaemon = ({ environment, ...options }: DaemonAddress): SteeringClient | string => {
  const endpoint = options.endpoint ?? given(environment['SVC_ENDPOINT']) ?? DEFAULT_ENDPOINT;
  const apiKey = options.apiKey ?? given(environment['SVC_API_KEY']);
  if (parseEndpoint(endpoint) === undefined) return '--endpoint: must be a URL that begins with http:// or https://';
  if (apiKey !== undefined && !/^[\x21-\x7e]{1,512}$/.test(apiKey))
    return '--api-key: must be printable ASCII without spaces';
  return createDaemonClient({ endpoint, ...(apiKey === undefined ? {} : { apiKey }) });
};
