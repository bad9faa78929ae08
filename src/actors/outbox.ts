import type { UnixMs } from '../model/run.ts';
import type { Span } from '../model/span.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import type { Clock } from './clock.ts';
import { type SpanDraft, spanOfDraft } from './run-spans.ts';

/** Spans gather this long before they are sent: one batch, and one delete, for many. */
const GATHER_MS = 250;
const BATCH = 500;
const RETRY_MS = { least: 500, most: 30_000 } as const;

/**
 * Brings the spans of runs into the trace store. A row is deleted after its span was written: a stop in between sends it
 * again, and a span that is seen again replaces itself.
 */
export const createOutbox = (options: {
  readonly store: Pick<RunStore, 'readOutbox'>;
  readonly clock: Clock;
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

  const drain = async (): Promise<void> => {
    for (;;) {
      again = false;
      const rows = await options.store.readOutbox(sent, BATCH);
      const last = rows.at(-1);
      if (last === undefined) return;
      const receivedAt = options.now();
      // The root span of a run that began and ended in one batch is there twice; the later one says all.
      const drafts = new Map<string, SpanDraft>();
      for (const { span } of rows) {
        const draft = JSON.parse(span) as SpanDraft;
        drafts.set(draft.traceId + draft.spanId, draft);
      }
      await options.writeSpans([...drafts.values()].map((draft) => spanOfDraft(draft, receivedAt)));
      await options.delivered(last.no);
      sent = last.no;
      retryMs = RETRY_MS.least;
      // What has come since gathers first, so that it goes as one batch too.
      if (stopped || rows.length < BATCH) return;
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
