import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Buffers of other threads that may be garbage before it is collected, in bytes. */
const COLLECT_ABOVE_BYTES = 2 * 1024 * 1024;

/**
 * Collects buffers that came from other threads and were passed on. V8 counts them as memory outside of its heap, and begins to mark the
 * whole heap for every eight MiB of them: on the main thread 40 ms of processor time, a third of them in pauses. Nearly all of them are
 * young, and a collection of the young generation takes a millisecond or two.
 * @returns what is to be called with the bytes of each buffer that was passed on
 */
export const takenBuffers = (): ((bytes: number) => void) => {
  let collect: ((how: { type: string; execution: string }) => void) | undefined;
  let taken = 0;
  return (bytes) => {
    taken += bytes;
    if (taken < COLLECT_ABOVE_BYTES) return;
    taken = 0;
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as NonNullable<typeof collect>;
    }
    collect({ type: 'minor', execution: 'sync' });
  };
};
