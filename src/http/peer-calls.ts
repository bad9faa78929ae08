import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { PassedCall, WayToServices } from '../actors/service/sharded-runs.ts';
import type { JournalEntry, Lease } from '../model/run.ts';
import type { Failure, Result } from '../model/failure.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { sendFailure } from './answer/problem.ts';
import { PEER } from './relay.ts';

// Calls on runs between services that share them in several shards. A call is one request with the secret of the services, its answer JSON;
// a journal that is followed is a line a page. It is no part of the interface of the service: both ends are of one release.

/** Where a service takes what others pass on. */
export const PEER_PATH = '/v1/peer/runs';

/** What this service answers for its kernels. */
export type PeerService = {
  readonly answer: (call: PassedCall, signal: AbortSignal) => Promise<unknown>;
  readonly follow: (
    call: PassedCall,
    signal: AbortSignal,
  ) => Promise<Result<{ readonly project: string; readonly pages: AsyncIterable<readonly JournalEntry[]> }>>;
  readonly giveBack: (leaseIds: readonly string[]) => Promise<void>;
};

/** Largest call: a request for definitions, the largest of all, with what JSON adds. */
const CALL_BYTES = 32 * 1024 * 1024;
const CONNECT_MS = 2_000;
/** Connections that rest end before the other side ends them. */
const QUIET_MS = 2_000;
/** A stream without entries says so often that it is there. */
const ALIVE_MS = 15_000;
const FOLLOW = 'followJournal';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** What is answered: a value, or that the store was not available. */
type Answer = { readonly value?: unknown } | { readonly unavailable: string } | { readonly broken: true };

const bodyOf = async (message: IncomingMessage, most: number): Promise<string | undefined> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
};

/** Takes what other services pass on. @param secret that only the services on one database know */
export const createPeerDoor = (service: PeerService, secret: string, log: Logger) => {
  const own = digest(secret);
  const answerOf = async (work: () => Promise<unknown>): Promise<Answer> => {
    try {
      return { value: await work() };
    } catch (error) {
      if (error instanceof StoreUnavailable) return { unavailable: error.message };
      log.error({ err: error }, 'a call that another service passed on failed');
      return { broken: true };
    }
  };
  const stream = async (response: ServerResponse, call: PassedCall, signal: AbortSignal): Promise<void> => {
    const answer = await answerOf(() => service.follow(call, signal));
    const followed = 'value' in answer ? (answer.value as Awaited<ReturnType<PeerService['follow']>>) : undefined;
    const write = (line: unknown): boolean => response.write(`${JSON.stringify(line)}\n`);
    if (followed?.ok !== true) {
      response.end(`${JSON.stringify(answer)}\n`);
      return;
    }
    const { project, pages } = followed.value;
    write({ value: { ok: true, value: { project } } });
    const alive = setInterval(() => response.write('\n'), ALIVE_MS);
    try {
      for await (const page of pages) {
        if (signal.aborted) break;
        if (!write(page))
          await new Promise<void>((resolve) => {
            response.once('drain', resolve);
            signal.addEventListener('abort', () => resolve(), { once: true });
          });
      }
      response.end();
    } catch (error) {
      log.warn({ err: error }, 'a journal that another service follows ended');
      response.destroy();
    } finally {
      clearInterval(alive);
    }
  };

  /** Reads a call. @returns why it is refused */
  const read = async (request: IncomingMessage): Promise<Result<PassedCall>> => {
    const no = (failure: Failure): Result<PassedCall> => ({ ok: false, failure });
    const presented = request.headers[PEER];
    if (typeof presented !== 'string' || !timingSafeEqual(digest(presented), own))
      return no({ code: 'unauthorized', message: `${PEER_PATH} is for services that share their runs` });
    const text = await bodyOf(request, CALL_BYTES);
    if (text === undefined)
      return no({ code: 'payload_too_large', message: `a call of more than ${CALL_BYTES} bytes is not passed on` });
    return { ok: true, value: JSON.parse(text) as PassedCall };
  };
  const answer = async (call: PassedCall, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    response.setHeader('content-type', 'application/json');
    if (call.method === FOLLOW) {
      await stream(response, call, gone.signal);
      return;
    }
    const answered = await answerOf(() => service.answer(call, gone.signal));
    if (gone.signal.aborted && call.method === 'claim' && 'value' in answered) {
      const claimed = answered.value as Result<readonly Lease[]>;
      // They lapse by themselves where that fails.
      if (claimed.ok) await service.giveBack(claimed.value.map(({ leaseId }) => leaseId)).catch(() => {});
    }
    response.end(JSON.stringify(answered));
  };
  return { read, answer };
};
export type PeerDoor = ReturnType<typeof createPeerDoor>;

/** Mounts the door beside the routes of the document: it is no part of what clients may call. */
export const mountPeerDoor = (app: FastifyInstance, door: PeerDoor): void => {
  app.route({
    method: 'POST',
    url: PEER_PATH,
    handler: async (request, reply) => {
      const call = await door.read(request.raw);
      if (!call.ok) return sendFailure(reply, call.failure);
      // What is written is no answer of the document.
      reply.hijack();
      await door.answer(call.value, reply.raw);
      return reply;
    },
  });
};

const unanswered = (cause?: unknown): StoreUnavailable =>
  new StoreUnavailable('the service that owns these runs did not answer; what was asked may have happened', { cause });

const valueOf = (text: string): unknown => {
  const answer = JSON.parse(text) as Answer;
  if ('unavailable' in answer) throw new StoreUnavailable(answer.unavailable);
  if ('broken' in answer) throw new Error('the service that owns these runs met a fault; its log says which');
  return answer.value;
};

/**
 * The way to the other services.
 * @param answerMs the longest time that a call may take which nobody gives up before
 */
export const createWayToServices = (secret: string, answerMs: number): WayToServices => {
  // Only services that share runs load it: the import loads all of fetch, too.
  const { Agent, request: ask } = process.getBuiltinModule('node:http');
  const { Agent: SecureAgent, request: askSecurely } = process.getBuiltinModule('node:https');
  const agents = {
    plain: new Agent({ keepAlive: true, timeout: QUIET_MS }),
    secure: new SecureAgent({ keepAlive: true, timeout: QUIET_MS }),
  };
  /** What ends each that is under way. */
  const underWay = new Map<() => void, { readonly address: string; readonly shard: number | undefined }>();

  /** The answer as it arrives. What ends the connection before it is complete ends it with an error. */
  const send = (address: string, call: PassedCall, signal: AbortSignal): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const url = new URL(address);
      const isSecure = url.protocol === 'https:';
      const body = Buffer.from(JSON.stringify(call));
      const sent = (isSecure ? askSecurely : ask)({
        ...urlToHttpOptions(url),
        path: PEER_PATH,
        method: 'POST',
        headers: { [PEER]: secret, 'content-type': 'application/json', 'content-length': body.length },
        agent: isSecure ? agents.secure : agents.plain,
      });
      const late = setTimeout(() => sent.destroy(new Error('no connection in time')), CONNECT_MS);
      sent.on('socket', (socket) => {
        if (!socket.connecting) clearTimeout(late);
        else socket.once('connect', () => clearTimeout(late));
      });
      const end = (): void => void sent.destroy(new Error('given up'));
      signal.addEventListener('abort', end, { once: true });
      underWay.set(end, { address, shard: call.shard });
      sent.on('response', resolve);
      sent.on('error', reject);
      sent.on('close', () => {
        clearTimeout(late);
        signal.removeEventListener('abort', end);
        underWay.delete(end);
        reject(new Error('the connection ended'));
      });
      sent.end(body);
    });

  return {
    call: async (address, call, signal) => {
      const overdue = new AbortController();
      const cancel = setTimeout(() => overdue.abort(), answerMs);
      const given = signal === undefined ? overdue.signal : AbortSignal.any([signal, overdue.signal]);
      let text: string | undefined;
      try {
        given.throwIfAborted();
        const answer = await send(address, call, given);
        if (answer.statusCode !== 200) {
          answer.resume();
          throw new Error(`status ${answer.statusCode}`);
        }
        text = await bodyOf(answer, Number.POSITIVE_INFINITY);
      } catch (error) {
        throw unanswered(error);
      } finally {
        clearTimeout(cancel);
      }
      return valueOf(text ?? '{}');
    },
    follow: async (address, call, signal) => {
      let lines: AsyncIterator<string>;
      let first: IteratorResult<string>;
      try {
        signal.throwIfAborted();
        lines = linesOf(await send(address, call, signal));
        first = await lines.next();
      } catch (error) {
        throw unanswered(error);
      }
      if (first.done === true) throw unanswered();
      const followed = valueOf(first.value) as Result<{ readonly project: string }>;
      if (!followed.ok) return followed;
      const pages = async function* (): AsyncGenerator<readonly JournalEntry[]> {
        try {
          for (let line = await lines.next(); line.done !== true; line = await lines.next())
            yield JSON.parse(line.value) as readonly JournalEntry[];
        } catch (error) {
          if (!signal.aborted) throw unanswered(error);
        }
      };
      return { ok: true, value: { ...followed.value, pages: pages() } };
    },
    endWhere: (isOver) => {
      for (const [end, { address, shard }] of underWay) if (isOver(address, shard)) end();
    },
  };
};

/** Lines that hold something. */
async function* linesOf(message: IncomingMessage): AsyncGenerator<string> {
  let left = '';
  for await (const piece of message.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (left + piece).split('\n');
    left = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield line;
  }
}
