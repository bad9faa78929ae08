import { constants } from 'node:os';

/** Signals closer together than this are one: Ctrl-C reaches it from the terminal and again through an older Node that started it. */
const SAME_REQUEST_MS = 100;

export type StopSignal = 'SIGTERM' | 'SIGINT';

/** One thing to let go of, in the order in which it is done. */
export type Stage = { readonly name: string; readonly run: () => Promise<void> };

export type ShutdownParts = {
  readonly stages: readonly Stage[];
  /** The stages together may take this long; then the process ends anyway. */
  readonly deadlineMs: number;
  readonly log: {
    readonly info: (fields: object, message: string) => void;
    readonly error: (fields: object, message: string) => void;
  };
  readonly exit: (code: number) => void;
  /** Ends the process also while one of its threads is busy. */
  readonly exitNow: (code: number) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
};

/**
 * Handles signals. The first stops the service stage by stage and ends the process with 0; a second ends it at once. A stage
 * that throws is logged and does not keep the later ones from running, and the end is then 1.
 * @see Interface specification, "Command-line surface", shutdown
 */
export const createShutdown = ({
  stages,
  deadlineMs,
  log,
  exit,
  exitNow,
  now,
}: ShutdownParts): ((signal: StopSignal) => void) => {
  let firstAt: number | undefined;
  let current = '';

  const stopAll = async (): Promise<void> => {
    let code = 0;
    for (const { name, run } of stages) {
      current = name;
      try {
        await run();
      } catch (error) {
        code = 1;
        log.error({ err: error, stage: name }, 'a part of the service did not stop cleanly');
      }
    }
    log.info({}, 'stopped');
    exit(code);
  };

  return (signal) => {
    if (firstAt === undefined) {
      firstAt = now();
      log.info({ signal }, 'stopping: no new connections; requests in flight are finished');
      setTimeout(() => {
        log.error({ stage: current, deadline_ms: deadlineMs }, 'stopping took too long; ending now');
        exitNow(1);
      }, deadlineMs).unref();
      void stopAll();
      return;
    }
    if (now() - firstAt < SAME_REQUEST_MS) return;
    log.info({ signal, stage: current }, 'second signal: ending now');
    exit(128 + constants.signals[signal]);
  };
};
