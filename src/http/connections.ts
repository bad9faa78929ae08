import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Counters } from '../model/counters.ts';
import type { Failure } from '../model/failure.ts';

export type ConnectionBounds = {
  /** Open at one time. */
  readonly inAll: number;
  /** Open at one time from one address: half leaves room for everyone else. */
  readonly perAddress: number;
  /** Beyond all, for operational routes alone. */
  readonly forOperations: number;
};

/** Far more than the workers and clients of one process, far less than would exhaust its memory. */
const MOST_CONNECTIONS = 10_000;
const ROOM_FOR_OPERATIONS = 100;
export const boundsOf = (inAll: number = MOST_CONNECTIONS): ConnectionBounds => ({
  inAll,
  perAddress: Math.max(1, Math.floor(inAll / 2)),
  forOperations: Math.min(inAll, ROOM_FOR_OPERATIONS),
});

export type Connections = {
  /** Why a request on this connection is not served unless its route is operational. */
  readonly refusalOf: (socket: Socket) => Failure | undefined;
  /** A connection whose requests are not seen here any more: it is not idle as long as it is open. */
  readonly hold: (socket: Socket) => void;
  /**
   * Ends the connections on which nothing has begun for so long, counted from now at the earliest. A client that sends on one of
   * them at this moment sees an end, as of any connection that rests for too long, and no reset.
   */
  readonly endQuiet: (quietMs: number) => void;
  /** Cuts every connection, whatever is under way. */
  readonly cutAll: () => void;
};

/** Beyond its own end, a connection that was ended waits so long for that of its client. */
const CLIENT_ENDS_WITHIN_MS = 1000;

/** The last request of a connection, all bytes that had come with it, and since when nothing is known to have come after it. */
type Rest = { readonly request?: IncomingMessage; bytes?: number; since?: number };

/** The connections of one address; those that are idle in the order in which they became so. */
type Peer = { open: number; readonly idle: Set<Socket> };

const tooMany: Failure = {
  code: 'overloaded',
  message: 'all connections of the service are in use; those beyond serve operational routes alone',
  retryAfterSeconds: 1,
};

/**
 * Bounds the connections of a server, so that a peer with many of them shuts nobody else out. Where there is no room, an idle
 * connection is cut for the new one: that which is idle longest, of the same address where that has too many, else of the
 * address with most idle ones. A connection is idle before its first request and between requests.
 *
 * It wraps what listens for connections, so it is made after all that does.
 */
export const boundConnections = (server: Server, bounds: ConnectionBounds, counters: Counters): Connections => {
  const peers = new Map<string, Peer>();
  const addressOf = new Map<Socket, string>();
  /** Requests under way by connection; absent where there are none. */
  const busy = new Map<Socket, number>();
  const beyond = new WeakSet<Socket>();
  const rests = new WeakMap<Socket, Rest>();

  const peerOf = (socket: Socket): Peer | undefined => peers.get(addressOf.get(socket) ?? '');

  const began = (socket: Socket): void => {
    busy.set(socket, (busy.get(socket) ?? 0) + 1);
    peerOf(socket)?.idle.delete(socket);
  };
  const ended = (socket: Socket): void => {
    const left = (busy.get(socket) ?? 1) - 1;
    if (left > 0) {
      busy.set(socket, left);
      return;
    }
    busy.delete(socket);
    peerOf(socket)?.idle.add(socket);
  };
  const rested = (socket: Socket, request: IncomingMessage): void => {
    rests.set(socket, request.complete ? { request, bytes: socket.bytesRead } : { request });
  };
  /** @returns whether nothing of a further request has come for so long */
  const isQuiet = (socket: Socket, now: number, quietMs: number): boolean => {
    const rest = rests.get(socket) ?? { bytes: 0 };
    rests.set(socket, rest);
    // It was answered before its body had come.
    if (rest.request?.complete === false) return false;
    rest.bytes ??= socket.bytesRead;
    rest.since ??= now;
    return socket.bytesRead === rest.bytes && now - rest.since >= quietMs;
  };
  const forget = (socket: Socket): void => {
    const address = addressOf.get(socket);
    if (address === undefined) return;
    addressOf.delete(socket);
    busy.delete(socket);
    const peer = peers.get(address);
    if (peer === undefined) return;
    peer.idle.delete(socket);
    peer.open -= 1;
    if (peer.open === 0) peers.delete(address);
  };

  const withMostIdle = (): Peer | undefined => {
    let most: Peer | undefined;
    for (const peer of peers.values()) if (peer.idle.size > (most?.idle.size ?? 0)) most = peer;
    return most;
  };
  /** @returns whether there was an idle one */
  const cutIdle = (peer: Peer | undefined): boolean => {
    for (const socket of peer?.idle ?? []) {
      forget(socket);
      socket.destroy();
      counters.idleConnectionsCut += 1;
      return true;
    }
    return false;
  };

  /** @returns false where there is no room, not even one to be made */
  const admit = (socket: Socket): boolean => {
    const address = socket.remoteAddress ?? '';
    const before = peers.get(address);
    if (before !== undefined && before.open >= bounds.perAddress && !cutIdle(before)) return false;
    if (addressOf.size >= bounds.inAll && !cutIdle(withMostIdle())) {
      if (addressOf.size >= bounds.inAll + bounds.forOperations) return false;
      beyond.add(socket);
    }
    const peer = peers.get(address) ?? { open: 0, idle: new Set<Socket>() };
    peers.set(address, peer);
    peer.open += 1;
    peer.idle.add(socket);
    addressOf.set(socket, address);
    socket.once('close', () => forget(socket));
    return true;
  };

  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (admit(socket)) {
      for (const listener of listeners) listener.call(server, socket);
      return;
    }
    counters.connectionsRefused += 1;
    socket.destroy();
  });
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (!addressOf.has(socket)) return;
    began(socket);
    if (beyond.has(socket)) response.shouldKeepAlive = false;
    response.once('close', () => {
      if (!addressOf.has(socket)) return;
      rested(socket, request);
      ended(socket);
    });
  });

  return {
    refusalOf: (socket) => (beyond.has(socket) ? tooMany : undefined),
    hold: began,
    endQuiet: (quietMs) => {
      const now = performance.now();
      for (const { idle } of peers.values())
        for (const socket of idle) {
          if (socket.writableEnded || !isQuiet(socket, now, quietMs)) continue;
          socket.end();
          setTimeout(() => socket.destroy(), CLIENT_ENDS_WITHIN_MS);
        }
    },
    cutAll: () => {
      for (const socket of addressOf.keys()) socket.destroy();
    },
  };
};
