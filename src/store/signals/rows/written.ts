import type { SignalBatch } from '../../../model/signal.ts';
import type { UnixNano } from '../../../model/time.ts';

/** When the batch came in; `undefined` of one without signals. */
export const receivedAt = (batch: SignalBatch | undefined): UnixNano | undefined =>
  (
    batch?.spans[0] ??
    batch?.logs[0] ??
    batch?.metrics[0] ??
    batch?.scores[0] ??
    batch?.feedback[0] ??
    batch?.aspectNotes[0]
  )?.receivedAt;

/** The last row of each key, which is in the first columns: of what is sent twice in one batch, the last counts. */
export const lastOf = <R extends readonly unknown[]>(rows: readonly R[], keyColumns: number): R[] => {
  const last = new Map<string, R>();
  for (const row of rows) last.set(JSON.stringify(row.slice(0, keyColumns)), row);
  return [...last.values()];
};
