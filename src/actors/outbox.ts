import type { UnixMs } from '../model/run.ts';
import type { Span } from '../model/span.ts';
import type { OutboxRow, RunStore } from '../store/runs/run-store.ts';
import type { Clock } from './kernel/clock.ts';
import { type SpanDraft, spanOfDraft } from './run/run-spans.ts';

/** Spans gather this long before they are sent: one batch, and one delete, for many. */
const GATHER_MS = 250;
/** A batch ends with the row that fills either. The trace store pays by the batch, and a span may hold megabytes. */
const BATCH_ROWS = 2000;
const BATCH_CHARACTERS = 8 * 1024 * 1024;
/** Rows that become spans between two turns of the event loop. */
const ROWS_PER_TURN = 200;
const RETRY_MS = { least: 500, most: 30_000 } as const;

const isFull = (rows: readonly OutboxRow[]): boolean =>
  rows.length >= BATCH_ROWS || rows.reduce((held, { span }) => held + span.length, 0) >= BATCH_CHARACTERS;

/**
 * Brings the spans of runs into the trace store. A row is deleted after its span was written: a stop in between sends it
 * again, and a span that is seen again replaces itself.
 */
export const createOutbox = (options: {
  readonly store: Pick<RunStore, 'readOutbox'>;
  readonly clock: Clock;
  /** Calls back in a later turn of the event loop. */
  readonly defer: (callback: () => void) => void;
  readonly now: () => UnixMs;
  readonly writeSpans: (spans: readonly Span[]) => Promise<void>;
  /** Deletes the rows up to this number, in a commit like any other. */
  readonly delivered: (upTo: number) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}) => {
  let sent = 0;
  let timer: (() => void) | undefined;
  let draining: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let retryMs: number = RETRY_MS.least;

  const spansOf = async (rows: readonly OutboxRow[]): Promise<readonly Span[]> => {
    const receivedAt = options.now();
    // The root span of a run that began and ended in one batch is there twice; the later one says all.
    const spans = new Map<string, Span>();
    for (const [index, { span }] of rows.entries()) {
      if (index > 0 && index % ROWS_PER_TURN === 0) await new Promise<void>((resolve) => options.defer(resolve));
      const draft = JSON.parse(span) as SpanDraft;
      spans.set(draft.traceId + draft.spanId, spanOfDraft(draft, receivedAt));
    }
    return [...spans.values()];
  };

  const drain = async (): Promise<void> => {
    for (;;) {
      again = false;
      const rows = await options.store.readOutbox(sent, BATCH_ROWS, BATCH_CHARACTERS);
      const last = rows.at(-1);
      if (last === undefined) return;
      await options.writeSpans(await spansOf(rows));
      await options.delivered(last.no);
      sent = last.no;
      retryMs = RETRY_MS.least;
      // What has come since gathers first, so that it goes as one batch too.
      if (stopped || !isFull(rows)) return;
    }
  };

  /** One at a time: two would send the same rows. */
  const begin = (): Promise<void> => {
    const work = drain().finally(() => {
      draining = undefined;
      if (again) kick();
    });
    draining = work.catch(() => {});
    return work;
  };

  const run = (): void => {
    timer = undefined;
    if (stopped) return;
    if (draining !== undefined) {
      again = true;
      return;
    }
    begin().catch((error: unknown) => {
      options.onFault(error);
      if (!stopped) timer = options.clock.after(retryMs, run);
      retryMs = Math.min(RETRY_MS.most, retryMs * 2);
    });
  };

  const kick = (): void => {
    if (timer === undefined && !stopped) timer = options.clock.after(GATHER_MS, run);
  };

  return {
    kick,
    /** Sends what is there; for tests and for a service that stops. */
    flush: async (): Promise<void> => {
      while (draining !== undefined) await draining;
      await begin();
    },
    stop: async (): Promise<void> => {
      stopped = true;
      timer?.();
      await draining;
    },
  };
};
