import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../model/failure.ts';
import { asksForStream } from './answer/negotiation.ts';
import type { Route } from './route.ts';

/** How long requests may take. */
export type Deadlines = {
  /**
   * Does the work of a request within the deadline. A long poll and an event stream have no deadline: they end by
   * `request.released` and by their own bounds. Sets `request.abandoned`, and `request.released` of a long poll and of a route
   * that waits.
   * @throws Refusal `request_timeout` when the deadline has passed
   */
  readonly serve: (
    route: Route,
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => Promise<unknown>,
  ) => Promise<unknown>;
  /** Makes every long poll, and every route that waits, answer at once, also those that are still to come: the service stops. */
  readonly releaseHeld: () => void;
};

/**
 * A deadline to race against, and the signal that aborts the work. It is over when the answer goes out: how long its reader may
 * take is bounded elsewhere. @see cutSlowReaders
 */
const startDeadline = (controller: AbortController, seconds: number, isAnswering: () => boolean) => {
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      if (isAnswering()) return;
      const refusal = new Refusal({
        code: 'request_timeout',
        message: `the request was not done within ${seconds} seconds (--request-timeout-seconds); ask for less, or try again`,
        retryAfterSeconds: 1,
      });
      reject(refusal);
      controller.abort(refusal);
    }, seconds * 1000);
  });
  return { lost, clear: () => clearTimeout(timer) };
};

export const createDeadlines = (requestTimeoutSeconds: number): Deadlines => {
  const held = new Set<AbortController>();
  let isReleased = false;
  return {
    serve: async (route, request, reply, work) => {
      const controller = new AbortController();
      request.abandoned = controller.signal;
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) controller.abort();
      });
      if (route.streams === true && asksForStream(request)) return work();
      const hold = new AbortController();
      if (route.holds === true || route.waits === true) {
        request.released = hold.signal;
        controller.signal.addEventListener('abort', () => hold.abort());
        // A client whose poll was answered asks again, on a connection that is not closed yet.
        if (isReleased) hold.abort();
        else held.add(hold);
      }
      if (route.holds === true) {
        try {
          return await work();
        } finally {
          held.delete(hold);
        }
      }
      const deadline = startDeadline(controller, requestTimeoutSeconds, () => reply.raw.headersSent);
      try {
        const done = work();
        done.catch(() => {}); // after the deadline nobody asks for its outcome
        return await Promise.race([done, deadline.lost]);
      } finally {
        deadline.clear();
        held.delete(hold);
      }
    },
    releaseHeld: () => {
      isReleased = true;
      for (const hold of held) hold.abort();
    },
  };
};
