import { addUsage, type RunUsage } from '../../model/run.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import { DeferredTurn } from '../kernel/turn.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { overBudget } from './limits.ts';
import { readRun, type RunActor, runSlot, isOpen } from './run-state.ts';
import { advance, tellParent } from './settle.ts';
import { workOn } from './work.ts';

const withSpending = (record: RunRecord, usage: RunUsage): RunRecord => ({
  ...record,
  descendants: record.descendants === undefined ? usage : addUsage(record.descendants, usage),
});

/** A run that cannot be loaded is counted for all the same: its row is enough, and its children go on without it. */
const countQuarantined = (turn: Turn, record: RunRecord, nextSeq: number, usage: RunUsage): void => {
  // One change of its row a group: nothing numbers the changes of a run that is not loaded.
  if (turn.peek(runSlot, record.runId) !== undefined) throw new DeferredTurn();
  const after = { ...withSpending(record, usage), version: record.version + 1 };
  turn.rows.runsUpdated.push({ before: record, after });
  turn.write(runSlot, record.runId, { record: after, nextSeq });
};

/**
 * A descendant spent tokens or money: counted with this run, be it open or ended, and with the run that started this one. A run
 * whose tree has reached its limit ends, and its open descendants with it.
 * @see Interface decisions, "12. Decided since", "Runs as traces"
 */
export const takeSpending = (host: RunHost, turn: Turn, runId: string, usage: RunUsage): void => {
  const found = turn.read(runSlot, runId);
  if (found === undefined) return; // erased
  tellParent(turn, found.record, usage);
  if (found.record.fault !== undefined) return countQuarantined(turn, found.record, found.nextSeq, usage);
  const run = readRun(turn, host.programs, runId);
  if (run === undefined) return;
  const counted: RunActor = { ...run, record: withSpending(run.record, usage), changed: true };
  turn.write(runSlot, runId, counted);
  if (!isOpen(counted)) {
    turn.forget(runSlot, runId);
    return;
  }
  const limit = overBudget(workOn(host, turn, counted));
  if (limit !== undefined) advance(host, turn, counted, () => limit);
};
