import type { UnixMs } from '../model/run.ts';
import type { CarriedOverTimer, Found, RunStore } from '../store/runs/run-store.ts';
import type { Clock } from './kernel/clock.ts';
import type { Message } from './kernel/message.ts';
import { addresseeOf } from '../store/runs/records.ts';
import type { TimerMessage } from './timer-message.ts';

/**
 * How much is sent together, and how much of that each message counts. A commit has bounds of its own on what it starts and cancels, and
 * leaves the rest to the next one; this bound keeps the messages few that find nothing left to do. A cancel always ends its run, so it
 * counts less than a start, which may begin many.
 */
const SLICE = 256;
const sizeOf = ({ name }: CarriedOverTimer): number => (name === 'cancel' ? 1 : 8);
/** Most timers that memory holds. One tree gets half of what the others leave; beyond that its rows are found again later. */
const MOST_TIMERS = 100_000;
/** Rows that one look reads at a time, and how often one look reads while memory holds little. */
const PAGE_ROWS = 1000;
const MOST_PAGES = 20;

type Entry = { timer: CarriedOverTimer; state: 'waits' | 'sent' | 'again' };
/** What one tree has to do. The newest comes first: a tree that grows is gone through in depth, so that little of it waits at once. */
type Tree = { readonly cancels: Entry[]; readonly others: Entry[] };

const keyOf = ({ runId, name }: Pick<CarriedOverTimer, 'runId' | 'name'>): string => `${runId}/${name}`;

/**
 * Work that commits left to others: children to start, children to cancel. It is taken from projects in turn, and in each from its
 * trees in turn, a few messages at a time, so that no tree fills the kernel's queue or keeps others from their turn. What a cancel
 * left goes before what a tree would start. While callers are served, it rests as long as it took.
 *
 * Each timer is a row as well: what is lost here, or finds no room, is found by the next looks.
 */
export const createCarriedOver = (host: {
  readonly store: Pick<RunStore, 'load'>;
  /** Sends a message, and resolves when its commit is through or has failed. */
  readonly send: (message: Message) => Promise<unknown>;
  /** Whether callers were served since then, on the clock that does not jump, or shortly before. */
  readonly servedSince: (at: number) => boolean;
  readonly clock: Clock;
  readonly now: () => UnixMs;
  readonly steady: () => UnixMs;
  readonly closing: AbortSignal;
}) => {
  const { clock, closing } = host;
  const known = new Map<string, Entry>();
  /** By project, then by trace. Those that had their turn last stand last. */
  const projects = new Map<string, Map<string, Tree>>();
  /** A commit had no room for them: they go before all others. */
  const owed: Entry[] = [];
  let going = false;
  let gone: Promise<void> = Promise.resolve();
  let after: Pick<CarriedOverTimer, 'runId' | 'name'> | undefined;

  const treeOf = ({ project, traceId }: CarriedOverTimer): Tree => {
    const trees = projects.get(project) ?? new Map<string, Tree>();
    projects.set(project, trees);
    const tree = trees.get(traceId) ?? { cancels: [], others: [] };
    trees.set(traceId, tree);
    return tree;
  };
  const enqueue = (entry: Entry): void => {
    const tree = treeOf(entry.timer);
    (entry.timer.name === 'cancel' ? tree.cancels : tree.others).push(entry);
  };

  /** Takes one timer of the project and tree whose turn it is, and puts both behind the others. */
  const next = (): Entry | undefined => {
    const due = owed.shift();
    if (due !== undefined) return due;
    for (const [project, trees] of projects) {
      projects.delete(project);
      for (const [traceId, tree] of trees) {
        trees.delete(traceId);
        const entry = tree.cancels.pop() ?? tree.others.pop();
        if (tree.cancels.length + tree.others.length > 0) trees.set(traceId, tree);
        if (trees.size > 0) projects.set(project, trees);
        if (entry !== undefined) return entry;
      }
    }
    return undefined;
  };

  const deliver = async (entry: Entry): Promise<void> => {
    entry.state = 'sent';
    const { runId, name, dueAt } = entry.timer;
    const body: TimerMessage = { kind: 'timer', name, dueAt };
    await host.send({ ...addresseeOf({ runId, name }), body });
  };

  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (ms > 0) clock.after(ms, resolve);
      else resolve();
    });

  const go = async (): Promise<void> => {
    going = true;
    while (!closing.aborted) {
      const slice: Entry[] = [];
      for (let [entry, size] = [next(), 0]; entry !== undefined; entry = size < SLICE ? next() : undefined) {
        slice.push(entry);
        size += sizeOf(entry.timer);
      }
      if (slice.length === 0) break;
      const from = clock.monotonic();
      await Promise.all(slice.map(deliver));
      for (const entry of slice) {
        if (entry.state === 'sent') {
          known.delete(keyOf(entry.timer));
          continue;
        }
        entry.state = 'waits';
        if (!owed.includes(entry)) enqueue(entry);
      }
      if (host.servedSince(from)) await rest(clock.monotonic() - from);
    }
    going = false;
  };
  const wake = (): void => {
    if (!going) gone = go();
  };

  const add = (timer: CarriedOverTimer): void => {
    const entry = known.get(keyOf(timer));
    if (entry !== undefined) {
      entry.timer = timer;
      if (entry.state === 'sent') entry.state = 'again';
      return;
    }
    const { cancels, others } = treeOf(timer);
    if (cancels.length + others.length >= (MOST_TIMERS - known.size) / 2) return;
    const fresh: Entry = { timer, state: 'waits' };
    known.set(keyOf(timer), fresh);
    enqueue(fresh);
    wake();
  };

  return {
    /** A commit left this. */
    add,
    /** A commit had no room for this: it is among the first that the next one takes. */
    addFirst: (timer: CarriedOverTimer): void => {
      add(timer);
      const entry = known.get(keyOf(timer));
      if (entry?.state === 'again') owed.push(entry);
    },
    /** Looks at the rows for what memory does not know: after a start, after a commit that failed, or beyond the bound. */
    look: async (): Promise<void> => {
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const lookup = { kind: 'carried_over', wall: host.now(), steady: host.steady(), limit: PAGE_ROWS } as const;
        const [found] = (await host.store.load([after === undefined ? lookup : { ...lookup, after }])) as [
          Found['carried_over'],
        ];
        found.forEach(add);
        after = found.length < PAGE_ROWS ? undefined : found.at(-1);
        if (after === undefined || known.size > PAGE_ROWS) return;
      }
    },
    /** Resolves when nothing is left to do. */
    idle: async (): Promise<void> => {
      await gone;
    },
    /** Timers that memory holds. */
    size: (): number => known.size,
  };
};
export type CarriedOver = ReturnType<typeof createCarriedOver>;
