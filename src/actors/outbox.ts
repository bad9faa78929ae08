import { OUTBOX_MACHINE_VERSION, outboxMachine } from '../machines/outbox.ts';
import { createResident, type ResidentActor } from '../machines/resident.ts';
import { createRate } from '../model/rate.ts';
import type { UnixMs } from '../model/run.ts';
import type { Span } from '../model/span.ts';
import type { RunBacklog } from '../store/runs/run-queries.ts';
import type { OutboxRow, RunStore } from '../store/runs/run-store.ts';
import { failureCodeOf, StoreUnavailable } from '../store/unavailable.ts';
import type { Clock } from './kernel/clock.ts';
import type { BuiltSpan, RootSpans } from './root-spans.ts';
import { ROOT_SPAN, type SpanDraft, spanOfDraft } from './run/run-spans.ts';
import { Damaged, parseStored } from './run/quarantined.ts';

/** Spans gather this long before they are sent: one batch, and one delete, for many. */
const GATHER_MS = 250;
/** A batch ends with the row that fills either. The trace store pays by the batch, and a span may hold megabytes. */
const BATCH_ROWS = 2000;
const BATCH_CHARACTERS = 8 * 1024 * 1024;
/** Rows that become spans between two turns of the event loop. */
const ROWS_PER_TURN = 200;
/** Rows whose spans are built side by side: what a root span holds is read from the store. A divisor of the number above. */
const ROWS_AT_ONCE = 20;
const RETRY_MS = { least: 500, most: 30_000 } as const;
/**
 * So long after a service took runs over, the one before it may still write: it stood still, or waits for the trace store. Longer than the 14 s
 * for which tests stop a service.
 */
const TAKEOVER_MS = 30_000;

const isFull = (rows: readonly OutboxRow[]): boolean =>
  rows.length >= BATCH_ROWS || rows.reduce((held, { span }) => held + span.length, 0) >= BATCH_CHARACTERS;

/** Whether this service still has the runs, where others may take them over. */
export type Holding = { readonly isHeld: () => boolean };

/**
 * Brings the spans of runs into the trace store. A row is deleted after its span was written. After a stop in between the
 * span is sent again and replaces itself.
 *
 * The last span that is written counts. So a service that lost its runs while it wrote may put the span of an open run over that of the end,
 * which the next owner has sent. It writes rows that the next owner found, so that one sends them at once, keeps them for as long as the other
 * may still write, and sends them again. A service that stood still for longer sends the ends itself.
 */
export const createOutbox = (options: {
  readonly store: Pick<RunStore, 'readOutbox'>;
  readonly clock: Clock;
  /** Calls back in a later turn of the event loop. */
  readonly defer: (callback: () => void) => void;
  readonly now: () => UnixMs;
  readonly writeSpans: (spans: readonly Span[]) => Promise<void>;
  /** Absent where no other service may take the runs over. */
  readonly holding?: Holding | undefined;
  /** The span of a run as it is stored now; `undefined` for one that was erased. */
  readonly rootSpan: RootSpans;
  /** Deletes the rows up to this number, in a commit like any other. */
  readonly delivered: (upTo: number) => Promise<void>;
  /** What waits in the store; `undefined` while it cannot be asked. */
  readonly backlog: () => Promise<RunBacklog | undefined>;
  readonly onFault: (error: unknown) => void;
}) => {
  const { clock, now, holding } = options;
  let sent = 0;
  let timer: (() => void) | undefined;
  let draining: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let retryMs: number = RETRY_MS.least;

  const actor = createResident(outboxMachine, now);
  const rate = createRate(clock.monotonic());
  /** Until when rows are kept and not deleted, on the monotonic clock. */
  let keptUntil = holding === undefined ? undefined : clock.monotonic() + TAKEOVER_MS;
  /** Since when rows wait; a start counts from its own time. On the monotonic clock. */
  let waitingSince: number | undefined;

  /** The spans of rows, each with about how many characters it holds; a root span once, for the last row that asks for it. */
  const buildSpans = (rows: readonly OutboxRow[], lastRoot: ReadonlyMap<string, number>) =>
    Promise.all(
      rows.map(async ({ no, runId, span }): Promise<BuiltSpan | undefined> => {
        try {
          if (span !== ROOT_SPAN)
            return {
              draft: parseStored<SpanDraft>(runId, span, 'a span that waits to be sent'),
              characters: span.length,
            };
          return lastRoot.get(runId) === no ? await options.rootSpan(runId) : undefined;
        } catch (error) {
          if (!(error instanceof Damaged)) throw error;
          options.onFault(error); // its span is lost; those of others are not to wait for it
          return undefined;
        }
      }),
    );

  /** @param openRuns takes in whose own span was sent without an end */
  const writeRows = async (rows: readonly OutboxRow[], openRuns: Set<string>): Promise<void> => {
    const receivedAt = now();
    const lastRoot = new Map(rows.flatMap(({ no, runId, span }) => (span === ROOT_SPAN ? [[runId, no] as const] : [])));
    // The root span of a run that began and ended in one batch is there twice; the later one is complete.
    let spans = new Map<string, Span>();
    let characters = 0;
    const write = async (): Promise<void> => {
      if (holding?.isHeld() === false)
        throw new StoreUnavailable('another service may own the runs by now, and sends their spans');
      if (spans.size > 0) await options.writeSpans([...spans.values()]);
      spans = new Map();
      characters = 0;
    };
    for (let first = 0; first < rows.length; first += ROWS_AT_ONCE) {
      if (first > 0 && first % ROWS_PER_TURN === 0) await new Promise<void>((resolve) => options.defer(resolve));
      for (const built of await buildSpans(rows.slice(first, first + ROWS_AT_ONCE), lastRoot)) {
        if (built === undefined) continue;
        const { draft } = built;
        if (draft.endMs === undefined) openRuns.add(draft.runId);
        else openRuns.delete(draft.runId);
        spans.set(draft.traceId + draft.spanId, spanOfDraft(draft, receivedAt));
        characters += built.characters;
      }
      // Rows are read by their size, and that of a root span is not in its row.
      if (characters >= BATCH_CHARACTERS) await write();
    }
    await write();
  };

  /** What is written is read again after it: a run that is open still ends after that, and its span is sent later. */
  const sendEnds = async (openRuns: ReadonlySet<string>): Promise<void> => {
    for (const runId of openRuns) {
      const built = await options.rootSpan(runId);
      if (built?.draft.endMs !== undefined) await options.writeSpans([spanOfDraft(built.draft, now())]);
    }
  };

  /** Writes the spans of rows and has rows deleted. @param upTo none of them where it is 0: the commit shows whether the runs were lost */
  const deliver = async (rows: readonly OutboxRow[], upTo: number): Promise<void> => {
    const openRuns = new Set<string>();
    try {
      await writeRows(rows, openRuns);
      await options.delivered(upTo);
    } catch (error) {
      await sendEnds(openRuns).catch(options.onFault);
      throw error;
    }
  };

  /** @returns what the store gave; nothing when no row waits */
  const sendBatch = async (): Promise<readonly OutboxRow[]> => {
    again = false;
    const since = waitingSince;
    waitingSince = undefined;
    if (keptUntil !== undefined && clock.monotonic() >= keptUntil) {
      keptUntil = undefined;
      sent = 0;
    }
    try {
      const rows = await options.store.readOutbox(sent, BATCH_ROWS, BATCH_CHARACTERS);
      const last = rows.at(-1);
      if (last === undefined) return rows;
      await deliver(rows, keptUntil === undefined ? last.no : 0);
      sent = last.no;
      retryMs = RETRY_MS.least;
      rate.add(clock.monotonic(), rows.length);
      if (isFull(rows)) waitingSince = since;
      return rows;
    } catch (error) {
      waitingSince = since ?? waitingSince;
      throw error;
    }
  };

  /** @returns rows sent */
  const drain = async (): Promise<number> => {
    for (let rowsSent = 0; ; ) {
      const rows = await sendBatch();
      rowsSent += rows.length;
      // What has come since gathers first, so that it goes as one batch too.
      if (stopped || !isFull(rows)) return rowsSent;
    }
  };

  const arm = (ms: number): void => {
    timer?.();
    timer = stopped ? undefined : clock.after(ms, run);
  };

  const turn = async (): Promise<void> => {
    const startedAt = now();
    const from = clock.monotonic();
    actor.send({ type: 'turn.began' });
    try {
      const rows = await drain();
      const durationMs = Math.round(clock.monotonic() - from);
      actor.send({ type: 'turn.ended', turn: { at: startedAt, durationMs, rows } });
    } catch (error) {
      const at = now();
      actor.send({ type: 'turn.failed', fault: { at, code: failureCodeOf(error) }, retryAt: at + retryMs });
      throw error;
    }
  };

  const endTurn = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      // In this order: a retry that fell due before would begin a second turn.
      draining = undefined;
      arm(retryMs);
      retryMs = Math.min(RETRY_MS.most, retryMs * 2);
      throw error;
    }
    draining = undefined;
    if (again) kick();
  };

  /** One at a time: two would send the same rows. */
  const begin = (): Promise<void> => {
    timer?.();
    timer = undefined;
    const work = endTurn(turn());
    draining = work.catch(() => {});
    return work;
  };

  const run = (): void => {
    timer = undefined;
    if (stopped) return;
    begin().catch(options.onFault);
  };

  /** Rows were committed. */
  const kick = (): void => {
    if (stopped) return;
    waitingSince ??= clock.monotonic();
    if (draining !== undefined) {
      again = true;
      return;
    }
    if (timer !== undefined) return;
    actor.send({ type: 'rows.written' });
    arm(GATHER_MS);
  };

  const endKeeping = keptUntil === undefined ? undefined : clock.after(TAKEOVER_MS, kick);

  /** Ends with the batch in hand. */
  const stop = async (): Promise<void> => {
    stopped = true;
    endKeeping?.();
    timer?.();
    await draining;
  };

  return {
    kick,
    /** Sends what is there. */
    flush: async (): Promise<void> => {
      while (draining !== undefined) await draining;
      await begin();
    },
    stop,
    /** Ends with one more batch, however much waits: the rest follows after the next start. */
    sendLast: async (): Promise<void> => {
      await stop();
      await begin();
    },

    /** Itself, as an actor that can be looked at. */
    actor: {
      machine: outboxMachine,
      version: OUTBOX_MACHINE_VERSION,
      state: actor.state,
      read: async () => {
        const at = clock.monotonic();
        const waitingRows = (await options.backlog())?.outboxRows;
        return {
          ...actor.state(),
          mailbox: waitingRows ?? 0,
          context: {
            ...(waitingRows === undefined ? {} : { waitingRows }),
            ...(waitingSince === undefined ? {} : { oldestMs: Math.round(at - waitingSince) }),
            ...actor.context(),
            perSecond: { rows: rate.perSecond(at) },
          },
        };
      },
    } satisfies ResidentActor,
  };
};
