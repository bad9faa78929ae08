import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { PassedCall } from '../actors/service/sharded-runs.ts';
import type { JournalEntry, Lease } from '../model/run.ts';
import type { Result } from '../model/failure.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { sendFailure } from './answer/problem.ts';
import { joinLines, linesOf } from './lines.ts';
import { PEER } from './relay.ts';

// Calls on runs between services that share them in several shards. A service sends its calls to another in one request, a line of JSON each, for
// as long as that request lasts, and reads the answers from its response, each when it is there. The request shows the secret of the services. A
// journal that is followed is a request of its own, whose answer is a line a page. None of it is part of the interface of the service: both ends
// are of one release.

/** Where a service takes the calls that others pass on, and where they follow a journal. */
export const PEER_PATH = '/v1/peer/runs';
export const PEER_JOURNAL_PATH = '/v1/peer/journal';

/** What the calling service sends: a call, or that nobody waits any more for what a call waits for. */
export type SentLine =
  | ({ readonly id: string } & PassedCall)
  | {
      readonly ends: string;
      /** Nobody waits for its answer either. */
      readonly isGone?: true;
    };
/** What is answered: a value, or that the store was not available. */
export type Answer = { readonly value?: unknown } | { readonly unavailable: string } | { readonly broken: true };
/** What the called service sends. After `stops` it takes what was sent by then, and no more. */
export type AnsweredLine = ({ readonly id: string } & Answer) | { readonly stops: true };

/** What this service answers for its kernels. */
export type PeerService = {
  /** @param signal ends what the call waits for; it is answered all the same */
  readonly answer: (call: PassedCall, signal: AbortSignal) => Promise<unknown>;
  readonly follow: (
    call: PassedCall,
    signal: AbortSignal,
  ) => Promise<Result<{ readonly project: string; readonly pages: AsyncIterable<readonly JournalEntry[]> }>>;
  readonly giveBack: (leaseIds: readonly string[]) => Promise<void>;
};

/** Largest call: a request for definitions, the largest of all, with what JSON adds. */
const CALL_CHARACTERS = 32 * 1024 * 1024;
/** A stream without entries says so often that it is there. */
const ALIVE_MS = 15_000;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** A call that is not answered yet. */
type UnderWay = { readonly ending: AbortController; isGone: boolean };

/** Takes what other services pass on. @param secret that only the services on one database know */
export const createPeerDoor = (service: PeerService, secret: string, log: Logger) => {
  const own = digest(secret);
  /** By id: the end of a call may come in another request than the call. */
  const underWay = new Map<string, UnderWay>();
  /** What tells each caller that this service stops. */
  const callers = new Set<() => void>();
  let isStopping = false;

  const answerOf = async (work: () => Promise<unknown>): Promise<Answer> => {
    try {
      return { value: await work() };
    } catch (error) {
      if (error instanceof StoreUnavailable) return { unavailable: error.message };
      log.error({ err: error }, 'a call that another service passed on failed');
      return { broken: true };
    }
  };
  const endCall = (one: UnderWay, isGone: boolean): void => {
    one.isGone ||= isGone;
    one.ending.abort();
  };

  /** Answers calls until their request has ended, and each of them is answered. */
  const takeCalls = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const lines = joinLines(response);
    const mine = new Set<UnderWay>();
    const answering = new Set<Promise<void>>();
    const answer = async (id: string, call: PassedCall): Promise<void> => {
      const one: UnderWay = { ending: new AbortController(), isGone: false };
      underWay.set(id, one);
      mine.add(one);
      const answered = await answerOf(() => service.answer(call, one.ending.signal));
      underWay.delete(id);
      mine.delete(one);
      if (!one.isGone) lines.write({ id, ...answered } satisfies AnsweredLine);
      else if (call.method === 'claim' && 'value' in answered) {
        const claimed = answered.value as Result<readonly Lease[]>;
        // They lapse by themselves where that fails.
        if (claimed.ok && claimed.value.length > 0)
          await service.giveBack(claimed.value.map(({ leaseId }) => leaseId)).catch(() => {});
      }
    };
    const take = (line: string): void => {
      const sent = JSON.parse(line) as SentLine;
      if ('ends' in sent) {
        const one = underWay.get(sent.ends);
        if (one !== undefined) endCall(one, sent.isGone === true);
        return;
      }
      const { id, ...call } = sent;
      const held = answer(id, call).finally(() => answering.delete(held));
      answering.add(held);
    };
    const stops = (): void => lines.write({ stops: true } satisfies AnsweredLine);
    response.once('close', () => {
      callers.delete(stops);
      for (const one of mine) endCall(one, true);
    });
    response.setHeader('content-type', 'application/x-ndjson');
    response.flushHeaders();
    callers.add(stops);
    if (isStopping) stops();
    try {
      for await (const line of linesOf(request, CALL_CHARACTERS)) take(line);
      while (answering.size > 0) await Promise.all(answering);
      lines.flush();
      response.end();
    } catch {
      // Cut, or no calls of a service of this release.
      response.destroy();
    }
  };

  const stream = async (call: PassedCall, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    response.setHeader('content-type', 'application/x-ndjson');
    const answer = await answerOf(() => service.follow(call, gone.signal));
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
        if (gone.signal.aborted) break;
        if (!write(page))
          await new Promise<void>((resolve) => {
            response.once('drain', resolve);
            gone.signal.addEventListener('abort', () => resolve(), { once: true });
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

  return {
    isKnown: ({ headers }: IncomingMessage): boolean => {
      const presented = headers[PEER];
      return typeof presented === 'string' && timingSafeEqual(digest(presented), own);
    },
    takeCalls,
    follow: async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      for await (const line of linesOf(request, CALL_CHARACTERS))
        return stream(JSON.parse(line) as PassedCall, response);
      response.destroy();
    },
    /** The service stops: what others send from now on is for others. */
    stop: (): void => {
      isStopping = true;
      for (const stops of callers) stops();
    },
  };
};
export type PeerDoor = ReturnType<typeof createPeerDoor>;

/** Mounts the door beside the routes of the document: it is no part of what clients may call. */
export const mountPeerDoor = (app: FastifyInstance, door: PeerDoor): void => {
  for (const [url, serve] of [
    [PEER_PATH, door.takeCalls],
    [PEER_JOURNAL_PATH, door.follow],
  ] as const)
    app.route({
      method: 'POST',
      url,
      handler: async (request, reply) => {
        if (!door.isKnown(request.raw))
          return sendFailure(reply, {
            code: 'unauthorized',
            message: `${url} is for services that share their runs`,
          });
        // What is written is no answer of the document.
        reply.hijack();
        await serve(request.raw, reply.raw);
        return reply;
      },
    });
};
