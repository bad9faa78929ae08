import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

/** Sign of life on a stream without events. @see Interface decisions, "9. Durable runs" */
const COMMENT_EVERY_MS = 15_000;
/** How long a reader may leave what was sent unread before it is cut. */
const SLOW_READER_MS = 10_000;
/** Events that come together are written together, up to so many characters: each write costs more than what it sends. */
const WRITTEN_CHARACTERS = 16 * 1024;
/** After this time a stream ends in good order; its reader connects again where it was. */
const MAX_AGE_MS = 60 * 60 * 1000;

export type StreamTiming = {
  readonly commentEveryMs: number;
  readonly slowReaderMs: number;
  readonly maxAgeMs: number;
};
export const streamTiming: StreamTiming = {
  commentEveryMs: COMMENT_EVERY_MS,
  slowReaderMs: SLOW_READER_MS,
  maxAgeMs: MAX_AGE_MS,
};

export type StreamedEvent = { readonly id: number; readonly data: object };

/**
 * Sends events as they come, each after the one before has left. A client that does not read blocks only its own stream,
 * which is cut.
 * @param pages what is sent; it is asked for no more than can be sent, and ends when `end` is called
 * @param end ends `pages`
 * @returns resolves when the stream is over, however it ended
 * @see WHATWG HTML, "9.2 Server-sent events"
 */
export const streamEvents = async (
  request: FastifyRequest,
  reply: FastifyReply,
  pages: AsyncIterable<readonly StreamedEvent[]>,
  end: () => void,
  log: Logger,
  timing: StreamTiming = streamTiming,
): Promise<void> => {
  reply.hijack();
  const { raw } = reply;
  // The reader's socket may fail at any time: that ends the stream and is not logged.
  raw.on('error', () => {});
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream',
    // Proxies would gather a stream that moves slowly.
    'x-accel-buffering': 'no',
  });
  // Headers alone are held back until something follows them.
  raw.write(': open\n\n');
  const comment = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(':\n\n');
  }, timing.commentEveryMs);
  const age = setTimeout(end, timing.maxAgeMs);
  const { abandoned } = request;
  abandoned.addEventListener('abort', end, { once: true });
  try {
    for await (const page of pages) {
      let text = '';
      for (const [place, { id, data }] of page.entries()) {
        text += `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
        if (text.length < WRITTEN_CHARACTERS && place < page.length - 1) continue;
        if (abandoned.aborted) return;
        const hasRoom = raw.write(text);
        text = '';
        if (hasRoom) continue;
        if (!(await drained(raw, timing.slowReaderMs, abandoned))) {
          raw.destroy();
          return;
        }
      }
    }
    raw.end();
  } catch (error) {
    log.warn({ err: error, request_id: request.id }, 'an event stream broke off');
    raw.destroy();
  } finally {
    clearInterval(comment);
    clearTimeout(age);
    end();
  }
};

/** @returns whether what was written has left within the time */
const drained = async (raw: FastifyReply['raw'], withinMs: number, abandoned: AbortSignal): Promise<boolean> => {
  try {
    await once(raw, 'drain', { signal: AbortSignal.any([abandoned, AbortSignal.timeout(withinMs)]) });
    return true;
  } catch {
    return false;
  }
};
