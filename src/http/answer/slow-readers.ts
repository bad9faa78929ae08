import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A connection with bytes waiting for it that takes none of them for this long is cut. @see Interface decisions, "12", bounds */
const TAKES_NOTHING_MS = 10_000;
/** A reader is looked at this often at the least, in parts of that time. */
const LOOKS = 10;
/** A reader for whom something waits all the while takes as many bytes a second, counted over this time, or is cut. */
const LEAST_BYTES_PER_SECOND = 16 * 1024;
const RATE_WINDOW_MS = 30_000;

/** The part of a socket that tells how far the operating system has come with what was written. */
type Handle = { readonly _handle?: { readonly writeQueueSize?: number } | null };

/** Where a connection stood when it was looked at: it differs as soon as a byte was taken, or more was written. */
const standOf = (socket: Socket & Handle): string =>
  `${socket.bytesWritten} ${socket.writableLength} ${socket._handle?.writeQueueSize ?? 0}`;

/** Bytes that the operating system has taken for the reader. */
const takenOf = (socket: Socket): number => socket.bytesWritten - socket.writableLength;

/** A connection as it was last looked at. */
type Seen = {
  stand: string;
  /** Since when it stands so. */
  since: number;
  /** When something began to wait for its reader without a break, and what had been taken then. */
  window: { readonly at: number; readonly taken: number } | undefined;
};

/**
 * Cuts connections whose reader takes nothing of what waits for it, or takes it so slowly that an answer would be held for hours,
 * whatever the route. A connection that nothing waits for is left alone, however long it is idle. What a client sends meanwhile
 * counts for nothing, so a socket's own timeout, which any byte in either direction starts again, would not do.
 * @param onCut called for each connection that is cut
 */
export const cutSlowReaders = (server: Server, onCut: () => void, takesNothingMs: number = TAKES_NOTHING_MS): void => {
  const open = new Map<Socket, Seen>();

  const takesNothing = (seen: Seen, stand: string, now: number): boolean => {
    if (stand !== seen.stand) {
      seen.stand = stand;
      seen.since = now;
    }
    return now - seen.since >= takesNothingMs;
  };
  const takesTooLittle = (seen: Seen, taken: number, now: number): boolean => {
    seen.window ??= { at: now, taken };
    const passedMs = now - seen.window.at;
    if (passedMs < RATE_WINDOW_MS) return false;
    const least = (passedMs / 1000) * LEAST_BYTES_PER_SECOND;
    const tookTooLittle = taken - seen.window.taken < least;
    seen.window = { at: now, taken };
    return tookTooLittle;
  };

  const look = (): void => {
    const now = performance.now();
    for (const [socket, seen] of open) {
      if (socket.writableLength === 0) {
        seen.stand = '';
        seen.window = undefined;
        continue;
      }
      const isStuck = takesNothing(seen, standOf(socket), now);
      if (!takesTooLittle(seen, takenOf(socket), now) && !isStuck) continue;
      open.delete(socket);
      onCut();
      // A reset: the bytes that the system still holds for this reader are given up with ours.
      socket.resetAndDestroy();
    }
  };
  const timer = setInterval(look, takesNothingMs / LOOKS);
  timer.unref();
  server.on('connection', (socket: Socket) => {
    open.set(socket, { stand: '', since: 0, window: undefined });
    socket.once('close', () => open.delete(socket));
  });
  server.once('close', () => clearInterval(timer));
};
