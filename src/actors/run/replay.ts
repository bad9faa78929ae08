import { childrenToStart, placeOf, type RunEvent, type RunSnapshot } from '../../machines/run.ts';
import { step as transition } from '../../machines/transition.ts';
import { isJournalKind, type JournalEntry } from '../../model/run.ts';
import type { JournalRow, RunStore } from '../../store/runs/run-store.ts';
import { type Program, stepAt } from './program.ts';
import { Damaged, parseStored } from './quarantined.ts';
import { reviveRun } from './run-state.ts';

/** Rows read at once. */
const SLICE = 200;

/** @throws Damaged when they are no entries any more */
export const entriesOf = ({ runId, firstSeq, lastSeq, entries }: JournalRow): readonly JournalEntry[] => {
  const what = `the part of its journal from ${firstSeq} to ${lastSeq}`;
  const held = parseStored<readonly Partial<JournalEntry>[] | null>(runId, entries, what);
  if (!Array.isArray(held) || !held.every(isEntry)) throw new Damaged(runId, what);
  return held as JournalEntry[];
};
const isEntry = (held: Partial<JournalEntry> | null): boolean =>
  typeof held?.seq === 'number' &&
  typeof held.at === 'number' &&
  typeof held.kind === 'string' &&
  isJournalKind(held.kind) &&
  typeof held.data === 'object' &&
  held.data !== null;

/** One entry of a journal, when the journal reaches it. */
export const entryAt = async (
  store: Pick<RunStore, 'journal'>,
  runId: string,
  seq: number,
): Promise<JournalEntry | undefined> => {
  const [row] = await store.journal(runId, seq - 1, 1);
  return row === undefined ? undefined : entriesOf(row).find((entry) => entry.seq === seq);
};

/** The entries of a journal up to one of them; the last has another number where the journal does not reach it. */
export const entriesUpTo = async (
  store: Pick<RunStore, 'journal'>,
  runId: string,
  seq: number,
): Promise<readonly JournalEntry[]> => {
  const found: JournalEntry[] = [];
  for (let next = 0; next <= seq; ) {
    const rows = await store.journal(runId, next - 1, SLICE);
    for (const row of rows) found.push(...entriesOf(row).filter((entry) => entry.seq >= next && entry.seq <= seq));
    if (rows.length < SLICE) break;
    next = (rows.at(-1)?.lastSeq ?? seq) + 1;
  }
  return found;
};

/** A machine event as a journal holds it, with the bound that earlier releases wrote into some of them. */
type JournalledEvent = RunEvent & { readonly mayStart?: number };
type Step = readonly [event: JournalledEvent | null, entries: number];

/**
 * The snapshot of a run as it was after a journal entry: the machine events of the journal, folded from the last
 * checkpoint before it. Events that made no entry of their own belong to the entry before them.
 * @returns `undefined` when the journal does not reach that entry
 */
export const snapshotAt = async (
  store: Pick<RunStore, 'checkpoint' | 'journal'>,
  program: Program,
  runId: string,
  seq: number,
): Promise<RunSnapshot | undefined> => {
  const checkpoint = seq < 0 ? undefined : await store.checkpoint(runId, seq);
  let snapshot = checkpoint === undefined ? program.initial : reviveRun(program, checkpoint.snapshot);
  let next = checkpoint === undefined ? 0 : checkpoint.seq + 1;
  for (;;) {
    const rows = await store.journal(runId, next - 1, SLICE);
    for (const row of rows) {
      let at = row.firstSeq;
      const steps = parseStored<Step[]>(
        runId,
        row.events,
        `the part of its journal from ${row.firstSeq} to ${row.lastSeq}`,
      );
      for (const [index, [event, entries]] of steps.entries()) {
        if (at > seq && entries > 0) return snapshot;
        // A checkpoint stands between rows, so no event before it is taken twice.
        if (event !== null && at >= next) {
          snapshot = fold(program, snapshot, event);
          const started = startedUnsaid(program, snapshot, event, steps[index + 1]?.[0]);
          if (started !== undefined) snapshot = fold(program, snapshot, started);
        }
        at += entries;
      }
      next = row.lastSeq + 1;
      if (next > seq) return snapshot;
    }
    if (rows.length < SLICE) return next > seq ? snapshot : undefined;
  }
};

const fold = (program: Program, snapshot: RunSnapshot, event: RunEvent): RunSnapshot =>
  transition(program.machine, snapshot as never, event).next;

/** The events after which a step starts children. */
const startsChildren: ReadonlySet<RunEvent['type']> = new Set(['step.opened', 'child.finished', 'timer.due']);

/**
 * Journals of earlier releases have no `children.started`: the event before it said how many children the commit could take
 * (`mayStart`), where that was fewer than the step wanted. This says it for them.
 */
const startedUnsaid = (
  program: Program,
  { value, context }: RunSnapshot,
  event: JournalledEvent,
  following: RunEvent | null | undefined,
): RunEvent | undefined => {
  if (!startsChildren.has(event.type) || following?.type === 'children.started') return undefined;
  if (context.paused !== undefined) return undefined;
  const place = placeOf(value);
  const step = place.at === 'step' && place.phase === 'waiting' ? stepAt(program, place)?.step : undefined;
  if (step?.kind !== 'child' || context.children === undefined) return undefined;
  const wanted = childrenToStart(context.children, step.maxParallel);
  if (wanted === 0) return undefined;
  return { type: 'children.started', at: event.at, count: Math.min(wanted, event.mayStart ?? wanted) };
};
