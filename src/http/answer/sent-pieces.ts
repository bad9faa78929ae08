import { isMarkedAsUntransferable } from 'node:worker_threads';

/**
 * Frees pieces of an answer as they leave, instead of when they are collected. V8 counts a buffer that came from another thread as memory
 * outside of its heap and begins to mark the whole heap for every eight MiB of them, which on the main thread takes 40 ms of processor time,
 * a third of it in pauses.
 *
 * Whatever waits is the last of what was passed on, so a piece has left once those behind it are at least as many bytes as wait.
 * @param waiting bytes that wait on the way to the connection, or more than that
 * @returns what is to be called with each piece after it was passed on. Nobody looks at the buffer that it lies in again, unless it is one that Node
 * shares among small ones
 */
export const sentPieces = (waiting: () => number): ((piece: Uint8Array) => void) => {
  const held: Uint8Array[] = [];
  let bytes = 0;
  return (piece) => {
    held.push(piece);
    bytes += piece.length;
    const stillWaiting = waiting();
    for (let first = held[0]; first !== undefined && bytes - first.length >= stillWaiting; first = held[0]) {
      held.shift();
      bytes -= first.length;
      if (!isMarkedAsUntransferable(first.buffer)) (first.buffer as ArrayBuffer).transfer(0);
    }
  };
};
