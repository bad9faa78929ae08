import { Worker } from 'node:worker_threads';
import { createHeldLeases, type HeldLeases } from './held-leases.ts';

export type HeartbeatThreadData = {
  readonly memory: SharedArrayBuffer;
  readonly heartbeatMs: number;
  readonly leaseTtlMs: number;
  readonly workerId: string;
  readonly service: { readonly endpoint: string; readonly apiKey?: string | undefined };
};

/** Heartbeats while a body blocks the thread that all bodies share. */
export type StandbyHeart = {
  readonly hold: HeldLeases['hold'];
  /** Starts the thread, or starts it anew with what the service now asks for. */
  readonly start: (times: Pick<HeartbeatThreadData, 'heartbeatMs' | 'leaseTtlMs'>) => void;
  readonly stop: () => void;
};

/** The thread's code beside this one, as source or as built. */
const PROGRAM = import.meta.url.endsWith('.ts') ? './heartbeat-thread.ts' : './heartbeat-thread.js';

/**
 * Sends heartbeats from a thread of its own for leases whose heart is late. Without it (a bundler left its file out) a body that blocks longer
 * than a lease lives loses its lease; all others do not notice.
 * @param onMissing called once when the thread cannot run, with the reason
 */
export const createStandbyHeart = (
  worker: Pick<HeartbeatThreadData, 'workerId' | 'service'> & { readonly concurrency: number },
  onMissing: (reason: string) => void,
): StandbyHeart => {
  const { concurrency, ...given } = worker;
  // A step that comes with the answer to a report takes its place before the reported one has given its own back.
  const leases = createHeldLeases(2 * concurrency);
  let thread: Worker | undefined;
  let running = '';

  const stop = (): void => {
    const stopped = thread;
    thread = undefined;
    running = '';
    void stopped?.terminate();
  };
  return {
    hold: (leaseId) => (thread === undefined ? undefined : leases.hold(leaseId)),
    start: (times) => {
      const asked = JSON.stringify(times);
      if (asked === running) return;
      stop();
      running = asked;
      const { heartbeatMs, leaseTtlMs } = times;
      const workerData: HeartbeatThreadData = { ...given, memory: leases.memory, heartbeatMs, leaseTtlMs };
      const begun = new Worker(new URL(PROGRAM, import.meta.url), {
        name: 'heartbeats',
        workerData,
        execArgv: [],
        stdin: false,
      });
      thread = begun;
      begun.unref();
      begun.once('error', ({ message }) => {
        if (thread !== begun) return;
        thread = undefined;
        onMissing(message);
      });
    },
    stop,
  };
};
