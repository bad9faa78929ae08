import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Counters } from '../../model/counters.ts';
import type { AuditEntry } from '../../store/signals/query.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';

/** Rows of one write, at the most. */
const MAX_BATCH = 500;
/** Rows that may wait for the store. Past it rows are lost, counted and logged: reads never wait for their audit. */
const MAX_WAITING = 10_000;
/** A store that took longer for the last rows, or takes longer for those in hand, is behind: answers wait for their rows. */
const BEHIND_MS = 50;
/** How long they do: a store that hangs must not hold up reads. */
const LONGEST_WAIT_MS = 1_000;

/** When rows of answered reads are on the disk: soon after the answers, or before them. */
export type AuditMode = 'batched' | 'sync';

export type AuditLog = {
  /** Takes a row; it is written within moments, together with others. Never throws. */
  readonly append: (entry: AuditEntry) => void;
  /**
   * What an answer waits for before it goes out: that the rows taken so far are written, or lost and counted. Where the mode
   * is `batched`, only while the store is behind, and a second at most. Never rejects.
   */
  readonly ready: () => Promise<void>;
  /** Resolves when every row taken so far is written, or lost and counted. */
  readonly flush: () => Promise<void>;
};

type AuditLogOptions = {
  readonly mode?: AuditMode;
  /** Milliseconds on a clock that does not jump. */
  readonly now?: () => number;
  /** Resolves after so many milliseconds; a timer that keeps no process alive. */
  readonly after?: (ms: number) => Promise<void>;
};

/**
 * Writes audit rows to the store: one write at a time, with all rows that came meanwhile. A failing audit must not fail a
 * read; a row that could not be written moves `auditWriteFailures`. A stop flushes. A crash loses, in mode `batched`, rows of the
 * last moment: a read waits for its row while the store needs more than 50 ms for them. In mode `sync` it loses none.
 * @see Interface specification, "Authentication": "An audit write failure never fails the read"
 */
export const createAuditLog = (
  store: Pick<SignalStore, 'appendAudit'>,
  counters: Counters,
  log: Logger,
  {
    mode = 'batched',
    now = () => performance.now(),
    after = (ms) => sleep(ms, undefined, { ref: false }),
  }: AuditLogOptions = {},
): AuditLog => {
  let waiting: AuditEntry[] = [];
  let writing: Promise<void> | undefined;
  let lastTook = 0;
  let inHandSince: number | undefined;
  let taken = 0;
  let done = 0;
  let readers: { readonly upTo: number; readonly settle: () => void }[] = [];

  const lost = (rows: number, cause: unknown): void => {
    counters.auditWriteFailures += rows;
    log.warn({ err: cause, rows }, 'audit rows could not be written');
  };

  const settle = (rows: number): void => {
    done += rows;
    const ready = readers.filter(({ upTo }) => upTo <= done);
    if (ready.length === 0) return;
    readers = readers.filter(({ upTo }) => upTo > done);
    for (const reader of ready) reader.settle();
  };

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      inHandSince = now();
      try {
        await store.appendAudit(batch);
      } catch (error) {
        lost(batch.length, error);
      }
      lastTook = now() - inHandSince;
      inHandSince = undefined;
      settle(batch.length);
    }
    writing = undefined;
  };

  const isBehind = (): boolean =>
    lastTook > BEHIND_MS || (inHandSince !== undefined && now() - inHandSince > BEHIND_MS);

  return {
    append: (entry) => {
      if (waiting.length >= MAX_WAITING) {
        counters.auditWriteFailures += 1;
        return;
      }
      waiting.push(entry);
      taken += 1;
      // Started in a later turn, so that rows of one burst share a write.
      writing ??= new Promise<void>((resolve) => {
        setImmediate(resolve);
      }).then(writeAll);
    },
    ready: async () => {
      if (done === taken || (mode === 'batched' && !isBehind())) return;
      const written = new Promise<void>((resolve) => {
        readers.push({ upTo: taken, settle: resolve });
      });
      await (mode === 'sync' ? written : Promise.race([written, after(LONGEST_WAIT_MS)]));
    },
    flush: async () => {
      while (writing !== undefined) await writing;
    },
  };
};
