import type { Server } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Connections } from './connections.ts';

/** While the service stops, connections that have fallen quiet are looked for this often. */
const LOOK_EVERY_MS = 20;
/**
 * A connection without a request is kept for this long after the stop began: what its client had sent by then arrives, and is
 * answered. It is more than a packet takes to any place.
 */
const QUIET_MS = 500;
/** Connections that the system keeps for a process that has not taken them: Node asks for 511. */
const MOST_WAITING_CONNECTIONS = 512;

/**
 * Takes in the connections that the system has accepted: when the port closes, it resets those that are left. Each turn of the
 * event loop takes some; they come in their order, so that those of the moment of the stop are among the first.
 */
const takeWaiting = async (server: Server): Promise<void> => {
  let taken = 0;
  const count = (): void => {
    taken += 1;
  };
  server.on('connection', count);
  for (let before = -1; taken > before && taken < MOST_WAITING_CONNECTIONS; ) {
    before = taken;
    await nextTurn();
    await nextTurn();
  }
  server.off('connection', count);
};

/** A client that is closed upon while it sends loses the answer. Its connection closes when its body has come and it falls quiet. */
const stillSends = ({ raw }: FastifyRequest): boolean =>
  !raw.complete && (raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0);

const closeWithAnswer = (request: FastifyRequest, reply: FastifyReply): void => {
  if (stillSends(request)) reply.raw.removeHeader('connection');
  else reply.header('connection', 'close');
};

/**
 * Makes `app.close()` stop in order: connections that the system has accepted are taken in, streams and long polls end, requests
 * that are under way or that were sent before their client could know are answered, and each connection closes after its answer.
 * @param parts.endWaits ends what waits for something to happen: event streams and long polls
 * @param parts.flush writes what may be written after the last answer
 * @param parts.quietMs see QUIET_MS
 */
export const stopInOrder = (
  app: FastifyInstance,
  parts: {
    readonly connections: Pick<Connections, 'endQuiet' | 'cutAll'>;
    readonly endWaits: () => void;
    readonly flush: () => Promise<void>;
    readonly quietMs?: number;
  },
): void => {
  const { connections, endWaits, flush, quietMs = QUIET_MS } = parts;
  const { server } = app;
  let isStopping = false;
  // Node would cut connections that it takes for idle, also while the end of an answer is on its way to a slow reader.
  server.closeIdleConnections = () => {};
  // Node knows connections of HTTP/1.1 alone, and those only from their first bytes on.
  server.closeAllConnections = connections.cutAll;

  app.addHook('onRequest', (request, reply, done) => {
    // It crossed the end of its connection: nobody can be given its answer, so nothing is done for it.
    if (request.raw.socket.writableEnded) reply.hijack();
    else done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    // A connection that its client would keep alive must not keep the process alive.
    if (isStopping) closeWithAnswer(request, reply);
    done();
  });
  app.addHook('preClose', async () => {
    isStopping = true;
    endWaits();
    if (!server.listening) return;
    await takeWaiting(server);
    let look: NodeJS.Immediate | undefined;
    // Looked at right after the event loop has read what has come.
    const sweep = setInterval(() => {
      look = setImmediate(() => connections.endQuiet(quietMs));
    }, LOOK_EVERY_MS);
    server.once('close', () => {
      clearInterval(sweep);
      clearImmediate(look);
    });
  });
  app.addHook('onClose', () => flush());
};
