import { entriesOf as entriesInto } from '../../machines/run.ts';
import type { Result } from '../../model/failure.ts';
import { hasEnded, type JournalEntry } from '../../model/run.ts';
import type { RunRecord, RunStore } from '../../store/runs/run-store.ts';
import type { RestartMessage } from '../run/messages.ts';
import { entriesOf, snapshotAt } from '../run/replay.ts';
import { refused, type Refused } from '../run/run-failures.ts';
import { contextOf } from '../run/stored-context.ts';
import type { RestartRun } from './runs-service.ts';
import type { StoredRuns } from './stored-runs.ts';

/** Rows of a journal read at once. */
const SLICE = 200;

type Found = {
  /** The run moves to the step. */
  readonly moved: JournalEntry;
  /** A step ended well since, or an event came: both may write state. */
  readonly wroteSince: boolean;
};

/** Looks a visit up in the journal, from its end: most runs are restarted near it. */
const findVisit = async (
  store: Pick<RunStore, 'journalBefore'>,
  runId: string,
  stepId: string,
  visit: number,
): Promise<Found | undefined> => {
  let wroteSince = false;
  for (let before = Number.MAX_SAFE_INTEGER; before >= 0; ) {
    const rows = await store.journalBefore(runId, before, SLICE);
    for (const row of rows) {
      for (const entry of entriesOf(row).toReversed()) {
        if (entry.kind === 'cursor.moved' && entry.stepId === stepId && entry.visit === visit)
          return { moved: entry, wroteSince };
        wroteSince ||= entry.kind === 'step.finished' || entry.kind === 'event.delivered';
      }
      before = row.firstSeq - 1;
    }
    if (rows.length < SLICE) return undefined;
  }
  return undefined;
};

const misnamed = (field: 'from_step' | 'visit', message: string): Refused =>
  refused({ code: 'invalid_parameter', message, field });
const conflict = (message: string): Refused => refused({ code: 'conflict', message });

/**
 * Works out where in its past an ended run is taken up, and what it remembered then.
 * @returns why it cannot be, as a refusal
 * @see Interface decisions, section 13, "Restart"
 */
export const createRestarts =
  (host: {
    readonly store: Pick<RunStore, 'journalBefore' | 'checkpoint' | 'journal'>;
    readonly storedRuns: Pick<StoredRuns, 'programOf'>;
  }) =>
  async (record: RunRecord, { fromStep, visit }: RestartRun): Promise<Result<RestartMessage>> => {
    const { runId, definitionId, definitionVersion } = record;
    if (!hasEnded(record.status))
      return conflict(
        `run ${runId} is ${record.status}: only a run that has ended is restarted; cancel it, or wait for its end`,
      );
    const fault = record.fault ?? record.damage;
    if (fault !== undefined) return conflict(`run ${runId} cannot be read: ${fault}`);
    const program = await host.storedRuns.programOf(record);
    if (program === undefined)
      return conflict(`definition ${definitionId} version ${definitionVersion} of run ${runId} is not in the store`);
    const context = contextOf(record);
    const stepId = fromStep ?? (record.status === 'failed' ? context.error?.stepId : undefined);
    if (stepId === undefined)
      return misnamed(
        'from_step',
        `run ${runId} has ${record.status === 'failed' ? 'failed at no step' : `ended as ${record.status}`}: name the step from which it is restarted`,
      );
    if (!program.compiled.steps.has(stepId))
      return misnamed(
        'from_step',
        `version ${definitionVersion} of definition ${definitionId} has no step "${stepId}"`,
      );
    const entries = entriesInto(context.visits, stepId);
    if (entries === 0) return misnamed('from_step', `run ${runId} never entered step "${stepId}"`);
    const wanted = visit ?? entries;
    const found = wanted > entries ? undefined : await findVisit(host.store, runId, stepId, wanted);
    if (found === undefined)
      return misnamed(visit === undefined ? 'from_step' : 'visit', notEntered(record, stepId, wanted, entries));
    const { moved, wroteSince } = found;
    const snapshot = await snapshotAt(host.store, program, runId, moved.seq);
    if (snapshot === undefined) return conflict(`the journal of run ${runId} does not reach its entry ${moved.seq}`);
    const { visits, stepCount, error } = snapshot.context;
    const { [stepId]: _entered, ...others } = visits;
    const cameFrom = moved.data['from'];
    return {
      ok: true,
      value: {
        from: {
          runId,
          traceId: record.traceId,
          stepId,
          visit: wanted,
          ...(typeof cameFrom === 'string' ? { cameFrom } : {}),
        },
        point: {
          step: stepId,
          visits: { ...others, ...(wanted === 1 ? {} : { [stepId]: wanted - 1 }) },
          ...(error === undefined ? {} : { error }),
        },
        entry: stepCount,
        wroteSince,
      },
    };
  };

const notEntered = ({ runId, restartedFrom }: RunRecord, stepId: string, visit: number, entries: number): string => {
  if (visit > entries) return `run ${runId} entered step "${stepId}" ${entries} times, and has no visit ${visit} of it`;
  return restartedFrom === undefined
    ? `the journal of run ${runId} has no visit ${visit} of step "${stepId}"`
    : `visit ${visit} of step "${stepId}" was made by a run before this one: restart run ${restartedFrom.runId}`;
};
export type Restarts = ReturnType<typeof createRestarts>;
