import type { Logger } from 'pino';
import type { Counters } from '../../model/counters.ts';
import type { AuditEntry } from '../../store/signals/query.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';

/** Rows of one write, at the most. */
const MAX_BATCH = 500;
/** Rows that may wait for the store. Past it rows are lost, counted and logged: reads never wait for their audit. */
const MAX_WAITING = 10_000;

export type AuditLog = {
  /** Takes a row; it is written within moments, together with others. Never throws. */
  readonly append: (entry: AuditEntry) => void;
  /** Resolves when every row taken so far is written, or lost and counted. */
  readonly flush: () => Promise<void>;
};

/**
 * Writes audit rows to the store: one write at a time, with all rows that came meanwhile. A read is answered without waiting,
 * because a slow or failing audit must neither delay nor fail it; a row that could not be written moves `auditWriteFailures`.
 * A stop flushes, so only a crash can lose the rows of its last moment.
 * @see Interface specification, "Authentication": "An audit write failure never fails the read"
 */
export const createAuditLog = (store: Pick<SignalStore, 'appendAudit'>, counters: Counters, log: Logger): AuditLog => {
  let waiting: AuditEntry[] = [];
  let writing: Promise<void> | undefined;

  const lost = (rows: number, cause: unknown): void => {
    counters.auditWriteFailures += rows;
    log.warn({ err: cause, rows }, 'audit rows could not be written');
  };

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        await store.appendAudit(batch);
      } catch (error) {
        lost(batch.length, error);
      }
    }
    writing = undefined;
  };

  return {
    append: (entry) => {
      if (waiting.length >= MAX_WAITING) {
        counters.auditWriteFailures += 1;
        return;
      }
      waiting.push(entry);
      // Started in a later turn, so that rows of one burst share a write.
      writing ??= new Promise<void>((resolve) => {
        setImmediate(resolve);
      }).then(writeAll);
    },
    flush: async () => {
      while (writing !== undefined) await writing;
    },
  };
};
