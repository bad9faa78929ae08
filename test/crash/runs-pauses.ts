/** Pauses runs at random and resumes them, and says whether what was paused rested. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ask, insist } from './runs-asking.ts';
import { type Entry, type Tree, treesIn } from './runs-verify.ts';

/** A run that was paused: from the answer to the pause until the resume was sent, by the clock of this process. */
export type Hold = { readonly runId: string; readonly from: number; readonly to: number };

/** Clocks of two processes on one machine: each rounds to a millisecond. */
export const CLOCKS_DIFFER_MS = 2;
const BETWEEN_MS = 100;
const LONGEST_HOLD_MS = 1500;

/**
 * Pauses one run after another, each for a while, until it is over.
 * @param candidates runs that may be open
 * @param taken runs that are paused at the moment, by anybody
 */
export const pauseAtRandom = async (options: {
  readonly ask: Ask;
  readonly random: () => number;
  readonly candidates: () => readonly string[];
  readonly taken: Set<string>;
  readonly isOver: () => boolean;
}): Promise<Hold[]> => {
  const { ask, random, taken } = options;
  const holds: Hold[] = [];
  const ended = new Set<string>();
  while (!options.isOver()) {
    await sleep(random() * BETWEEN_MS);
    const open = options.candidates().filter((id) => !taken.has(id) && !ended.has(id));
    const runId = open[Math.floor(random() * open.length)];
    if (runId === undefined) continue;
    taken.add(runId);
    const paused = await insist(ask, 'POST', `/runs/${runId}/pause`, {}, [200, 409]);
    if (paused.status === 200) {
      const from = Date.now();
      await sleep(random() * LONGEST_HOLD_MS);
      holds.push({ runId, from, to: Date.now() });
      // Its last step may have been leased, and has ended it.
      await insist(ask, 'POST', `/runs/${runId}/resume`, {}, [200, 409]);
    } else ended.add(runId);
    taken.delete(runId);
  }
  return holds;
};

/** What a paused run must not do. */
const RESTS: ReadonlySet<string> = new Set(['step.leased', 'child.started', 'run.admitted']);
const ENDS_OF_LEASES: ReadonlySet<string> = new Set(['step.finished', 'step.failed', 'step.orphaned']);

const restFault = (journal: readonly Entry[]): string | undefined => {
  let isPaused = false;
  let hasLeaseEnded = false;
  for (const { kind, seq } of journal) {
    if (kind === 'run.paused') hasLeaseEnded = false;
    if (kind === 'run.paused' || kind === 'run.unpaused') isPaused = kind === 'run.paused';
    else if (isPaused && RESTS.has(kind)) return `it is paused, and entry ${seq} is ${kind}`;
    // Only the report of what was leased may lead a paused run on.
    else if (isPaused && kind === 'cursor.moved' && !hasLeaseEnded) return `entry ${seq} moves it while it is paused`;
    if (ENDS_OF_LEASES.has(kind)) hasLeaseEnded = true;
  }
  return undefined;
};

/**
 * Says which pause of a tree of runs did not hold, or nothing. Nothing was leased between its answer and the resume, in the run or below it, by
 * the times of the attempts; and by the order of each journal nothing but the report of a lease moved what was paused.
 */
export const pausesFault = (tree: Tree, holds: readonly Hold[]): string | undefined => {
  const own = holds.filter(({ runId }) => runId === tree.run.run_id);
  const pauses = tree.journal.filter(({ kind }) => kind === 'run.paused').length;
  // A pause whose answer was lost, and that was refused when it was sent again, is no hold.
  if (pauses < own.length) return `${own.length} pauses were acknowledged, and its journal has ${pauses}`;
  for (const { run, journal } of treesIn(tree)) {
    const fault = restFault(journal);
    if (fault !== undefined) return `run ${run.run_id}: ${fault}`;
    for (const { lease_id, offered_at } of run.attempts) {
      const at = Date.parse(offered_at);
      const hold = own.find(({ from, to }) => at > from + CLOCKS_DIFFER_MS && at < to - CLOCKS_DIFFER_MS);
      if (hold !== undefined)
        return `lease ${lease_id} of ${run.run_id} was offered at ${offered_at}, ${at - hold.from} ms after its pause was acknowledged`;
    }
  }
  return undefined;
};
