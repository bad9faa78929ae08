import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How every connection of HTTP/2 with prior knowledge begins. @see RFC 9113, section 3.4 */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
/** No method of HTTP/1.1 begins like this: what goes on otherwise is neither protocol. */
const TELLING_BYTES = 4;
const NEITHER = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
/** A client that has not sent the preface by then is handed to HTTP/1.1, whose own bounds on slow heads hold from then on. */
const LONGEST_SILENCE_MS = 5000;

/**
 * Lets one port serve HTTP/2 beside HTTP/1.1: each connection is looked at once, when its first bytes are there.
 * @param takeHttp2 is given a connection whose bytes are all still there
 */
export const serveHttp2Beside = (server: Server, takeHttp2: (socket: Socket) => void): void => {
  const http1 = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners('connection');

  server.on('connection', (socket: Socket) => {
    let seen: Buffer = Buffer.alloc(0);
    const decide = (isHttp2: boolean): void => {
      clearTimeout(silence);
      socket.off('readable', onReadable).off('end', onEnd).off('error', onGone).off('close', onGone);
      if (seen.length > 0) socket.unshift(seen);
      if (isHttp2) takeHttp2(socket);
      else for (const take of http1) take.call(server, socket);
    };
    const onReadable = (): void => {
      const more = socket.read() as Buffer | null;
      if (more === null) return;
      seen = seen.length === 0 ? more : Buffer.concat([seen, more]);
      const known = Math.min(seen.length, PREFACE.length);
      if (seen.compare(PREFACE, 0, known, 0, known) !== 0) {
        const begins = Math.min(known, TELLING_BYTES);
        if (begins < TELLING_BYTES || seen.compare(PREFACE, 0, begins, 0, begins) !== 0) decide(false);
        else socket.end(NEITHER, () => socket.destroy());
      } else if (known === PREFACE.length) decide(true);
    };
    // The other side sends no more: a probe that only looked whether the port is open, or a request that was cut.
    const onEnd = (): void => {
      if (seen.length === 0) onGone();
      else decide(false);
    };
    const onGone = (): void => {
      clearTimeout(silence);
      socket.destroy();
    };
    const silence = setTimeout(() => decide(false), LONGEST_SILENCE_MS);
    silence.unref();
    socket.on('readable', onReadable).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
};
