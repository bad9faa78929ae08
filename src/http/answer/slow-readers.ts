import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A connection with bytes waiting for it that takes none of them for this long is cut. @see Interface decisions, "12", bounds */
const TAKES_NOTHING_MS = 10_000;
/** A reader is looked at this often at the least, in parts of that time. */
const LOOKS = 10;

/** The part of a socket that tells how far the operating system has come with what was written. */
type Handle = { readonly _handle?: { readonly writeQueueSize?: number } | null };

/** Where a connection stood when it was looked at: it differs as soon as a byte was taken, or more was written. */
const standOf = (socket: Socket & Handle): string =>
  `${socket.bytesWritten} ${socket.writableLength} ${socket._handle?.writeQueueSize ?? 0}`;

/**
 * Cuts connections whose reader takes nothing of what waits for it, whatever the route. A connection that nothing waits for is
 * left alone, however long it is idle. What a client sends meanwhile counts for nothing, so a socket's own timeout, which any
 * byte in either direction starts again, would not do.
 * @param onCut called for each connection that is cut
 */
export const cutSlowReaders = (server: Server, onCut: () => void, takesNothingMs: number = TAKES_NOTHING_MS): void => {
  const open = new Map<Socket, { stand: string; since: number }>();
  const look = (): void => {
    const now = performance.now();
    for (const [socket, seen] of open) {
      const stand = socket.writableLength === 0 ? '' : standOf(socket);
      if (stand === '' || stand !== seen.stand) {
        seen.stand = stand;
        seen.since = now;
      } else if (now - seen.since >= takesNothingMs) {
        open.delete(socket);
        onCut();
        // A reset: the bytes that the system still holds for this reader are given up with ours.
        socket.resetAndDestroy();
      }
    }
  };
  const timer = setInterval(look, takesNothingMs / LOOKS);
  timer.unref();
  server.on('connection', (socket: Socket) => {
    open.set(socket, { stand: '', since: 0 });
    socket.once('close', () => open.delete(socket));
  });
  server.once('close', () => clearInterval(timer));
};
