import { placeOf, type RunEvent } from '../../machines/run.ts';
import type { Evaluated } from '../../model/definition/step-error.ts';
import { render } from '../../model/definition/template.ts';
import type { Json } from '../../model/json.ts';
import type { RunError } from '../../model/run.ts';
import { releasePlaces } from './keyed.ts';
import { clearTimerRow } from '../../store/runs/run-store.ts';
import { RUN_TIMER } from './limits.ts';
import { scheduleOfRun } from '../schedule/schedule-name.ts';
import type { ScheduleMessage } from '../schedule/messages.ts';
import type { RunMessage } from './messages.ts';
import { runSpan } from './run-spans.ts';
import { endShowing } from './show-waits.ts';
import { addOutbox, addRootSpan, documentsOf, outputOf, scope, setDocuments, stepIdOf, type Work } from './work.ts';

/** Keeps the output of a run that ends well; one that cannot be made fails the run. */
export const succeedWith = (work: Work, output: Evaluated<Json | undefined>): RunEvent => {
  const { at, rows } = work.turn;
  if (!output.ok) {
    const error: RunError = { ...output.error, ...stepIdOf(placeOf(work.snapshot.value)) };
    return { type: 'run.failed', at, error };
  }
  if (output.value !== undefined) {
    rows.documents.push({ runId: work.runId, name: 'output', body: JSON.stringify(output.value) });
    setDocuments(work, { ...documentsOf(work), output: output.value });
  }
  return { type: 'run.succeeded', at };
};

/** The run ends after a step that leads to `end`: its output is what the definition says, else that of the step. */
export const conclude = (work: Work): RunEvent => {
  const { output } = work.program.compiled;
  const place = placeOf(work.snapshot.value);
  return succeedWith(
    work,
    output === undefined
      ? { ok: true, value: outputOf(work, place.at === 'step' ? place.step : undefined) }
      : render(output, scope(work)),
  );
};

/** The run has ended: its span is complete, its deadline is off, and the run that started it takes note. */
export const finish = (work: Work): void => {
  const place = placeOf(work.snapshot.value);
  if (place.at !== 'end') throw new Error(`run ${work.runId} finishes without an end`);
  const { turn, record } = work;
  const { error, usage, waits } = work.snapshot.context;
  if (record.deadlineAt !== undefined) clearTimerRow(turn.rows, { runId: work.runId, name: RUN_TIMER });
  releasePlaces(work);
  const documents = documentsOf(work);
  const end = {
    at: turn.at,
    usage,
    ...(error === undefined ? {} : { error }),
    ...(documents.output === undefined ? {} : { output: documents.output }),
  };
  if (waits === 0) addOutbox(work, runSpan(record, place.status, end, documents.input));
  else {
    addRootSpan(work);
    endShowing(work);
  }
  const schedule = scheduleOfRun(record);
  if (schedule !== undefined) {
    const ended: ScheduleMessage = { kind: 'run_ended', runId: work.runId };
    turn.tell({ type: 'schedule', id: schedule }, ended);
  }
  if (record.parent === undefined) return;
  const { runId, stepId, visit, index } = record.parent;
  const message: RunMessage = {
    kind: 'child',
    runId: work.runId,
    stepId,
    visit,
    index,
    status: place.status,
    ...(documents.output === undefined ? {} : { output: documents.output }),
    ...(place.status === 'failed' && error !== undefined ? { error } : {}),
  };
  turn.tell({ type: 'run', id: runId }, message);
};
