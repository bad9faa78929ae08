import { hasEnded, type JournalEntry } from '../model/run.ts';
import type { JsonText } from '../store/runs/records.ts';
import type { Found, RunStore } from '../store/runs/run-store.ts';
import { parseDocuments } from './run/run-documents.ts';
import { entriesOf } from './run/replay.ts';
import { runSpan, type SpanDraft } from './run/run-spans.ts';
import { type DraftEvent, MOST_WAIT_EVENTS, waitEventsOf } from './run/wait-events.ts';
import { contextOf } from './run/stored-context.ts';

/** Rows of a journal that one read takes, and reads for one span: waits from before are left out. */
const ROWS_A_READ = 200;
const MOST_READS = 20;

/** A span as the outbox sends it, and about how many characters it holds. */
export type BuiltSpan = { readonly draft: SpanDraft; readonly characters: number };

/**
 * Builds the span of a run that has waited, from what is stored of it at that moment. The outbox holds nothing of such a span but that
 * it is to be sent: a copy in each row would be written again at each wait, with the input of the run.
 */
export const createRootSpans = (store: Pick<RunStore, 'load' | 'journalBefore'>) => {
  /** The latest of them, oldest first. Read backwards, so that a long life costs no more than a short one. */
  const waitEvents = async (runId: string, waits: number | undefined): Promise<readonly DraftEvent[]> => {
    const rows: (readonly JournalEntry[])[] = [];
    let opened = 0;
    for (let reads = 0, before = Number.MAX_SAFE_INTEGER; reads < MOST_READS; reads += 1) {
      const read = await store.journalBefore(runId, before, ROWS_A_READ);
      for (const row of read) {
        const entries = entriesOf(row);
        rows.push(entries);
        for (const { kind } of entries) if (kind === 'run.waiting') opened += 1;
        before = row.firstSeq - 1;
      }
      // Each wait has one event or two.
      if (read.length < ROWS_A_READ || opened >= Math.min(MOST_WAIT_EVENTS, waits ?? MOST_WAIT_EVENTS)) break;
    }
    return waitEventsOf(rows.toReversed().flat());
  };

  /** @returns `undefined` for a run that was erased meanwhile */
  return async (runId: string): Promise<BuiltSpan | undefined> => {
    const [stored, documents] = (await store.load([
      { kind: 'run', runId },
      { kind: 'documents', runId, steps: [] },
    ])) as [Found['run'], Found['documents']];
    if (stored === undefined || documents === undefined) return undefined;
    const { record } = stored;
    const { input, output } = parseDocuments(runId, { ...documents, state: [] });
    const { usage, error, waits } = contextOf(record);
    const { endedAt: at } = record;
    const end =
      at === undefined || !hasEnded(record.status)
        ? undefined
        : { at, usage, ...(error === undefined ? {} : { error }), ...(output === undefined ? {} : { output }) };
    const events = await waitEvents(runId, waits);
    const draft = runSpan(record, record.status, end, input, { events, ...(waits === undefined ? {} : { waits }) });
    const length = (text: JsonText | undefined): number => text?.length ?? 0;
    return { draft, characters: length(documents.input) + length(documents.output) };
  };
};
export type RootSpans = ReturnType<typeof createRootSpans>;
