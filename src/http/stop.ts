import type { FastifyInstance } from 'fastify';

/** While the service stops, connections that fall idle are closed this often. */
const IDLE_SWEEP_MS = 20;

/**
 * Makes `app.close()` stop in order: streams and long polls end, requests in flight are answered, and each connection closes
 * after its answer.
 * @param parts.endWaits ends what waits for something to happen: event streams and long polls
 * @param parts.flush writes what may be written after the last answer
 */
export const stopInOrder = (
  app: FastifyInstance,
  parts: { readonly endWaits: () => void; readonly flush: () => Promise<void> },
): void => {
  let isStopping = false;
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // A connection that its client would keep alive must not keep the process alive.
    if (isStopping) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', (done) => {
    isStopping = true;
    parts.endWaits();
    // A connection whose request was answered before the stop, and which is still sending its body, falls idle later.
    const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
    app.server.once('close', () => clearInterval(sweep));
    done();
  });
  app.addHook('onClose', () => parts.flush());
};
