import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { FileRefused } from './connection.ts';
import { describeFault, driverCode, isDiskFull, isStorageFault } from './driver-error.ts';
import type { ErrorInfo, Replies, Request, Requests } from './messages.ts';

/** Takes all that waits on a port without going back to the event loop: what has gathered is committed together. */
export const drain = (port: MessagePort, take: (message: never) => void): void => {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    take(next.message as never);
};

/** Takes each request of the main thread as it comes. */
export const takeEach = (main: MessagePort, take: (request: Request) => void): void =>
  void main.on('message', (requests: Requests) => requests.forEach(take));

/** The port to the main thread. */
export const mainPort = (): MessagePort => {
  if (parentPort === null) throw new Error('this file is the body of a worker thread');
  return parentPort;
};

/** @param moved buffers that go over without a copy, and are gone here */
export const post = (port: MessagePort, replies: Replies, moved: readonly ArrayBufferLike[] = []): void =>
  port.postMessage(replies, moved as ArrayBuffer[]);

/** An error as it crosses to the main thread: its cause for an operator, never a stored value. */
export const errorInfo = (path: string, error: unknown, store: string): ErrorInfo => {
  if (error instanceof FileRefused) return { unavailable: true, message: error.message };
  const code = driverCode(error);
  return { unavailable: code !== undefined && isStorageFault(code), message: describeFault(path, error, store) };
};

/** The error of a start: what the operator can do stands behind the cause. */
export const openingError = (path: string, error: unknown, store: string): ErrorInfo => {
  const info = errorInfo(path, error, store);
  return isDiskFull(error)
    ? { ...info, message: `${info.message}; free some megabytes of it, then start again` }
    : info;
};

const IDLE_MS = 2_000;

/**
 * A timer that fires when its thread has had nothing to do for two seconds; work refreshes it. What the thread took up for
 * its work then goes back: `rest` gives up page caches, and garbage is collected, which V8 would keep until memory is short.
 */
export const whenIdle = (rest: () => void): NodeJS.Timeout =>
  setTimeout(() => {
    rest();
    // Only this flavour gives pages back. `startThread` sees to it that there is one to call.
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, IDLE_MS);
