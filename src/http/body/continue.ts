import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose senders wait for word that the body may come. @see RFC 9110, section 10.1.1 */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Notes that the sender of a request holds its body back. Where it is answered before it was invited to go on, the connection
 * ends with the answer: whether the body still comes is the sender's choice.
 */
export const holdContinue = (request: IncomingMessage, response: ServerResponse): void => {
  waiting.set(request, response);
  response.shouldKeepAlive = false;
};

/** Tells a sender that waits to go on: its body is about to be read. */
export const sendContinue = (request: IncomingMessage): void => {
  const response = waiting.get(request);
  if (response === undefined) return;
  waiting.delete(request);
  response.shouldKeepAlive = true;
  response.writeContinue();
};
