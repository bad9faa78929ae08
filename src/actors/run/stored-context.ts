import { decodeSnapshot } from '../../machines/persisted.ts';
import type { RunContext } from '../../machines/run.ts';
import { noUsage } from '../../model/run.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';

const blank: RunContext = {
  stepCount: 0,
  visits: {},
  attempt: 0,
  failures: 0,
  orphans: 0,
  usage: noUsage,
};

/** What a stored snapshot remembers, read without its machine: a quarantined run stays readable. */
export const contextOf = (record: Pick<RunRecord, 'snapshot'>): RunContext => {
  try {
    return { ...blank, ...(decodeSnapshot(record.snapshot).context as RunContext) };
  } catch {
    return blank; // quarantined for this very reason: `doctor` and the actor list name the fault
  }
};
