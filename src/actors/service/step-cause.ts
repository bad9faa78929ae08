import type { JournalEntry, JournalKind } from '../../model/run.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { entriesOf } from '../run/replay.ts';

/** Most entries of one chain. */
const CAUSE_LIMIT = 200;
/** Rows read at once. */
const JOURNAL_PAGE = 500;

/** The kinds of entries that lead to an attempt: begins, moves, ends and resumes; not tries and waits. */
const isCause = (kind: JournalKind): boolean =>
  kind !== 'step.leased' &&
  kind !== 'step.started' &&
  kind !== 'run.waiting' &&
  kind !== 'run.held' &&
  kind !== 'child.started';

/** The newest `step.leased` that matches, and the entries of the same page before it, newest first. */
const findLeased = async (
  store: Pick<RunStore, 'journalBefore'>,
  runId: string,
  matches: (entry: JournalEntry) => boolean,
): Promise<{ entry: JournalEntry; before: JournalEntry[] } | undefined> => {
  let seq = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const rows = await store.journalBefore(runId, seq, JOURNAL_PAGE);
    const entries = rows.flatMap((row) => entriesOf(row).toReversed());
    const at = entries.findIndex((entry) => entry.kind === 'step.leased' && matches(entry));
    const entry = entries[at];
    if (entry !== undefined) return { entry, before: entries.slice(at + 1) };
    const last = rows.at(-1);
    if (last === undefined || last.firstSeq === 0) return undefined;
    seq = last.firstSeq - 1;
  }
};

/**
 * The chain of journal entries that led to the newest attempt that matches, oldest last.
 * @returns `undefined` when no attempt matches
 */
export const causeOf = async (
  store: Pick<RunStore, 'journalBefore'>,
  runId: string,
  matches: (entry: JournalEntry) => boolean,
): Promise<{ readonly leased: JournalEntry; readonly chain: readonly JournalEntry[] } | undefined> => {
  const found = await findLeased(store, runId, matches);
  if (found === undefined) return undefined;
  const { entry } = found;
  let { before } = found;
  const chain = [entry];
  for (let seq = before.at(-1)?.seq ?? entry.seq; ; ) {
    for (const earlier of before) if (isCause(earlier.kind) && chain.length < CAUSE_LIMIT) chain.push(earlier);
    if (seq === 0 || chain.length >= CAUSE_LIMIT) break;
    const rows = await store.journalBefore(runId, seq - 1, JOURNAL_PAGE);
    before = rows.flatMap((row) => entriesOf(row).toReversed()).filter((earlier) => earlier.seq < seq);
    if (before.length === 0) break;
    seq = before.at(-1)?.seq ?? 0;
  }
  return { leased: entry, chain };
};
