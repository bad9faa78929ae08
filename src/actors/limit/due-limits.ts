import type { UnixMs } from '../../model/run.ts';
import type { DueLimit, Found, RunStore } from '../../store/runs/run-store.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Message } from '../kernel/message.ts';

/** Messages that are sent together: as many keys are admitted from in one group. */
const SLICE = 32;
/** Most keys that memory holds. Beyond that their rows are found again later. */
const MOST_KEYS = 100_000;
const PAGE_ROWS = 1000;
const MOST_PAGES = 20;
/** What is due later is left to the looks that each second makes. */
const SOON_MS = 2000;

/**
 * Keys that are due: there is a place for the first in line, or a rate has room again. They have their turn one after the other,
 * projects in turn and in each its keys, so that a key with a long line keeps no other waiting. While callers are served, it rests as long
 * as it took.
 *
 * Each key that is due is a row as well: what is lost here, or finds no room, is found by the next looks.
 */
export const createDueLimits = (host: {
  readonly store: Pick<RunStore, 'load'>;
  /** Sends a message, and resolves when its commit is through or has failed. */
  readonly send: (message: Message) => Promise<unknown>;
  /** Whether callers were served since then, on the clock that does not jump, or shortly before. */
  readonly servedSince: (at: number) => boolean;
  readonly clock: Clock;
  readonly steady: () => UnixMs;
  readonly closing: AbortSignal;
}) => {
  const { clock, closing } = host;
  /** By project: keys that are due. Those that had their turn last stand last. */
  const projects = new Map<string, Set<string>>();
  const known = new Set<string>();
  /** Keys that are due soon, and when. */
  const soon = new Map<string, { readonly dueAt: UnixMs; readonly cancel: () => void }>();
  let going = false;
  let gone: Promise<void> = Promise.resolve();
  /** Where the last look at the rows ended before it had seen all of them. */
  let lookedUpTo: DueLimit | undefined;

  const next = (): string | undefined => {
    for (const [project, keys] of projects) {
      projects.delete(project);
      for (const limitId of keys) {
        keys.delete(limitId);
        if (keys.size > 0) projects.set(project, keys);
        known.delete(limitId);
        return limitId;
      }
    }
    return undefined;
  };

  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (ms > 0) clock.after(ms, resolve);
      else resolve();
    });

  const go = async (): Promise<void> => {
    going = true;
    while (!closing.aborted) {
      // Without the others of the rows, the few that are left would have all the turns.
      if (lookedUpTo !== undefined && known.size < SLICE) await lookOn(lookedUpTo).catch(() => {});
      const slice: string[] = [];
      for (let limitId = next(); limitId !== undefined; limitId = slice.length < SLICE ? next() : undefined)
        slice.push(limitId);
      if (slice.length === 0) break;
      const from = clock.monotonic();
      await Promise.all(slice.map((id) => host.send({ type: 'limit', id, body: undefined })));
      if (host.servedSince(from)) await rest(clock.monotonic() - from);
    }
    going = false;
  };

  const enqueue = (limitId: string, project: string): void => {
    if (known.has(limitId) || known.size >= MOST_KEYS) return;
    known.add(limitId);
    const keys = projects.get(project) ?? new Set<string>();
    projects.set(project, keys);
    keys.add(limitId);
    if (!going) gone = go();
  };

  const add = (limitId: string, project: string, dueAt: UnixMs): void => {
    if (closing.aborted) return;
    const inMs = dueAt - host.steady();
    const before = soon.get(limitId);
    if (before !== undefined) {
      if (before.dueAt === dueAt) return;
      before.cancel();
      soon.delete(limitId);
    }
    if (inMs <= 0) {
      enqueue(limitId, project);
      return;
    }
    if (inMs > SOON_MS || soon.size >= MOST_KEYS) return;
    const cancel = clock.after(inMs, () => {
      soon.delete(limitId);
      if (!closing.aborted) enqueue(limitId, project);
    });
    soon.set(limitId, { dueAt, cancel });
  };

  /**
   * Looks at the rows behind one, until memory has enough to do. What it does not reach is looked at when that is done; rows that it has
   * passed come again with the next second.
   */
  const lookOn = async (from?: DueLimit): Promise<void> => {
    lookedUpTo = undefined;
    let after = from;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const lookup = { kind: 'limits_due', steady: host.steady() + SOON_MS, limit: PAGE_ROWS } as const;
      const [found] = (await host.store.load([after === undefined ? lookup : { ...lookup, after }])) as [
        Found['limits_due'],
      ];
      for (const { limitId, project, dueAt } of found) add(limitId, project, dueAt);
      if (found.length < PAGE_ROWS) return;
      after = found.at(-1);
      if (known.size > PAGE_ROWS) break;
    }
    lookedUpTo = after;
  };

  return {
    /** A commit left this. @param dueAt by the steady clock */
    add,
    /** Looks at the rows for what memory does not know: after a start, after a commit that failed, or beyond the bounds. */
    look: (): Promise<void> => lookOn(),
    /** Resolves when nothing is left to do now. */
    idle: async (): Promise<void> => {
      await gone;
    },
    close: (): void => {
      for (const { cancel } of soon.values()) cancel();
      soon.clear();
    },
  };
};
