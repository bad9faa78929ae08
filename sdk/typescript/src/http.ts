import * as http from 'node:http';
import * as https from 'node:https';
import { ConnectionError, ServiceError } from './errors.ts';
import { parseExactly, writeExactly } from './exact-json.ts';
import { DEFAULT_TIMEOUT_MS, type HttpRequest, refusalOf, targetOf, type Transport } from './transport.ts';

/** One keep-alive pool of connections to one service. */
export type Http = Transport & {
  /** Opens a stream: the answer's bytes, once it is known to be a 2xx. Ends when the signal fires. */
  readonly stream: (request: HttpRequest) => Promise<AsyncIterable<Buffer>>;
};

/** What is sent for a body. Bytes are not copied, and text leaves in one write with the head. */
const payloadOf = (body: unknown): Uint8Array | string => {
  if (body instanceof Uint8Array || typeof body === 'string') return body;
  return writeExactly(body);
};

/** An answer larger than this is refused: no read of the service is. */
const ANSWER_LIMIT_BYTES = 256 * 1024 * 1024;

const refused = (answer: http.IncomingMessage, text: string): ServiceError => {
  const requestId = answer.headers['x-request-id'];
  return refusalOf({
    status: answer.statusCode ?? 0,
    text,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    retryAfter: answer.headers['retry-after'],
  });
};

const readText = (answer: http.IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    // Events, not iteration: an iterator costs as much as the rest of a small call.
    answer.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > ANSWER_LIMIT_BYTES)
        answer.destroy(new ConnectionError(`the answer is larger than ${ANSWER_LIMIT_BYTES} bytes`));
      else pieces.push(piece);
    });
    answer.on('end', () =>
      resolve((pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)).toString()),
    );
    answer.on('error', reject);
    answer.on('close', () => {
      // Of each answer; an error takes a trace of the stack.
      if (!answer.complete) reject(new ConnectionError('the answer broke off'));
    });
  });

/**
 * Connections to one service, kept alive between calls.
 * @param apiKey sent as a bearer token
 * @throws TypeError when the endpoint is not a URL
 */
export const createHttp = ({ endpoint, apiKey }: { endpoint: string; apiKey?: string | undefined }): Http => {
  const base = new URL(endpoint);
  const secure = base.protocol === 'https:';
  const agent = secure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true });
  const send = secure ? https.request : http.request;
  const prefix = base.pathname.replace(/\/+$/, '');
  const hostname = base.hostname.replace(/^\[|\]$/g, '');
  const authorization: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };

  const open = (request: HttpRequest): Promise<{ answer: http.IncomingMessage; settled: () => void }> =>
    new Promise((resolve, reject) => {
      const payload = request.body === undefined ? undefined : payloadOf(request.body);
      const outgoing = send({
        agent,
        hostname,
        ...(base.port === '' ? {} : { port: base.port }),
        method: request.method,
        path: prefix + targetOf(request),
        headers: {
          accept: request.accept ?? 'application/json',
          ...authorization,
          ...(payload === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
          ...request.headers,
        },
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
      const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
      const timer = setTimeout(
        () => outgoing.destroy(new ConnectionError(`no answer within ${timeoutMs} ms`)),
        timeoutMs,
      );
      const settled = (): void => clearTimeout(timer);
      outgoing.on('response', (answer) => resolve({ answer, settled }));
      outgoing.on('error', (cause) => {
        settled();
        reject(
          cause instanceof ConnectionError
            ? cause
            : new ConnectionError(`${request.method} ${request.path} got no answer: ${cause.message}`, { cause }),
        );
      });
      outgoing.end(payload);
    });

  return {
    call: async <T>(request: HttpRequest): Promise<T> => {
      const { answer, settled } = await open(request);
      try {
        const text = await readText(answer);
        const status = answer.statusCode ?? 0;
        if (status < 200 || status > 299) throw refused(answer, text);
        return (text === '' ? undefined : parseExactly(text)) as T;
      } catch (error) {
        if (error instanceof ServiceError || error instanceof ConnectionError) throw error;
        throw new ConnectionError(`${request.method} ${request.path}: the answer broke off`, { cause: error });
      } finally {
        settled();
      }
    },
    stream: async (request) => {
      const { answer, settled } = await open(request);
      // From here on the reader decides how long to wait.
      settled();
      const status = answer.statusCode ?? 0;
      if (status < 200 || status > 299) throw refused(answer, await readText(answer));
      return answer as AsyncIterable<Buffer>;
    },
    close: () => agent.destroy(),
  };
};
