import { randomUUID } from 'node:crypto';
import { type HeldRunKind, heldTables, type MoveNote, type Reached, type RunMoving } from '../../store/runs/moving.ts';

/** Rows that are read and written together, and about how many bytes of them. */
const PAGE = { limit: 1_000, maxBytes: 8 * 1024 * 1024 };

const kinds = heldTables.map(({ kind }) => kind);

export type RunCounts = Readonly<Record<HeldRunKind, number>>;

export type MoveRunsInput = {
  readonly source: RunMoving;
  readonly target: RunMoving;
  /** What notes name the stores by: without a password. */
  readonly from: string;
  readonly to: string;
  /** Called when so many rows of a kind are in the target. */
  readonly moved: (kind: HeldRunKind, done: number, of: number) => void;
  /** Throws when the move must end. */
  readonly check: () => void;
};
export type MoveRunsOutcome =
  | { readonly kind: 'refused'; readonly problem: string }
  /** An earlier move did it all. */
  | { readonly kind: 'moved_before' }
  | {
      readonly kind: 'moved';
      readonly source: RunCounts;
      readonly target: RunCounts;
      /** Kinds of which the two hold different numbers. The notes are still there then. */
      readonly differing: readonly HeldRunKind[];
    };

const countAll = async (store: RunMoving): Promise<RunCounts> => {
  const counts: [HeldRunKind, number][] = [];
  for (const kind of kinds) counts.push([kind, await store.count(kind)]);
  return Object.fromEntries(counts) as RunCounts;
};

/** Where a move begins, or goes on. */
type Begun = { readonly move: string; readonly reached?: Reached };

/** Compares what both stores say of moves. @returns where the move begins, or why it does not */
const begin = async (
  { source, target, from, to }: MoveRunsInput,
  held: MoveNote | undefined,
  there: MoveNote | undefined,
): Promise<Begun | string> => {
  if (there?.kind === 'arriving' && held?.kind === 'leaving' && there.move === held.move)
    return { move: held.move, ...(there.reached === undefined ? {} : { reached: there.reached }) };
  if (there?.kind === 'arriving')
    return 'the target holds a part of a move of another store, or of this one before a service moved its runs on; empty it and run this again';
  if (there?.kind === 'left') return `the runs of the target were moved to ${there.to}; name an empty one`;
  const counts = await countAll(target);
  const found = kinds.filter((kind) => counts[kind] > 0);
  if (found.length > 0)
    return `the target is not empty: it holds ${found.map((kind) => `${counts[kind]} ${kind}`).join(', ')}; runs are moved into an empty one only`;
  const move = randomUUID();
  await source.writeNote({ kind: 'leaving', move, to });
  await target.writeNote({ kind: 'arriving', move, from });
  return { move };
};

/**
 * Moves all that a store of runs holds into an empty one. It may be ended at any moment and started again: each page and the note that
 * it is there are one commit of the target. At its end the source refuses to be started, and only then is the target let go: no run is
 * moved on by both, whenever the move was ended.
 * @throws what the stores and `check` throw
 */
export const moveRuns = async (input: MoveRunsInput): Promise<MoveRunsOutcome> => {
  const { source, target, from, to, moved, check } = input;
  const [held, there] = [await source.readNote(), await target.readNote()];
  if (held?.kind === 'arriving')
    return {
      kind: 'refused',
      problem: `the source holds a part of a move from ${held.from}; run that to its end first`,
    };
  if (held?.kind === 'left') {
    if (there?.kind === 'arriving' && there.move === held.move) await target.writeNote(undefined);
    else if (held.to !== to || there !== undefined)
      return { kind: 'refused', problem: `the runs of the source were moved to ${held.to}` };
    return { kind: 'moved_before' };
  }
  const begun = await begin(input, held, there);
  if (typeof begun === 'string') return { kind: 'refused', problem: begun };
  const { move, reached } = begun;
  const counts = await countAll(source);
  for (const kind of kinds.slice(reached === undefined ? 0 : kinds.indexOf(reached.of))) {
    let after = reached?.of === kind ? reached.after : undefined;
    let done = after === undefined ? 0 : await target.count(kind);
    moved(kind, done, counts[kind]);
    let next = source.scan(kind, after, PAGE.limit, PAGE.maxBytes);
    for (;;) {
      const page = await next;
      check();
      if (page.next === undefined) break;
      after = page.next;
      next = source.scan(kind, after, PAGE.limit, PAGE.maxBytes);
      next.catch(() => {}); // met in the next round, or not at all
      await target.restore(kind, page.rows, { kind: 'arriving', move, from, reached: { of: kind, after } });
      done += page.rows.length;
      moved(kind, done, counts[kind]);
    }
  }
  const arrived = await countAll(target);
  const differing = kinds.filter((kind) => arrived[kind] !== counts[kind]);
  check();
  if (differing.length === 0) {
    await source.writeNote({ kind: 'left', move, to });
    await target.writeNote(undefined);
  }
  return { kind: 'moved', source: counts, target: arrived, differing };
};
