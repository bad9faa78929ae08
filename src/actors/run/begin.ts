import type { Json, JsonObject } from '../../model/json.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { RUN_TIMER } from './limits.ts';
import type { RestartedStart, RunMessage } from './messages.ts';
import { holdBack } from './admission.ts';
import { readProgram } from './program.ts';
import type { RunDocuments } from './run-documents.ts';
import { runSpan, traceIdOf } from './run-spans.ts';
import { settle, storeRun } from './settle.ts';
import { countdown, namedTime } from './timer-rows.ts';
import { addOutbox, setDocuments, workOn } from './work.ts';

const freshDocuments = (turn: Turn, runId: string, given: Json): RunDocuments => {
  const input = JSON.stringify(given);
  turn.rows.documents.push({ runId, name: 'input', body: input });
  return {
    input: given,
    state: Object.create(null) as JsonObject,
    steps: Object.create(null) as RunDocuments['steps'],
    characters: input.length,
  };
};

/** The store copies the payloads of the run before. What the caller changed in them is written as from before the first step. */
const takeOver = (
  turn: Turn,
  runId: string,
  { from, point, entry, documents, hasOwnInput, statePatch }: RestartedStart,
): RunDocuments => {
  turn.rows.takenOver.push({
    runId,
    from: from.runId,
    entry,
    outputs: Object.entries(point.visits),
    input: !hasOwnInput,
  });
  if (hasOwnInput) turn.rows.documents.push({ runId, name: 'input', body: JSON.stringify(documents.input) });
  for (const [key, value] of Object.entries(statePatch))
    turn.rows.documents.push({ runId, name: `state/${key}`, body: JSON.stringify(value), entry: 0 });
  return documents;
};

/** A run begins: its row, its input, its deadline, its span, and the way to its first step, now or at its `start_at`. */
export const begin = (host: RunHost, turn: Turn, runId: string, body: RunMessage & { kind: 'start' }): void => {
  const program = readProgram(turn, host.programs, body);
  const { runTimeoutMs } = program.definition.limits;
  const userId = body.correlation['user_id'];
  const { startAt, restart } = body;
  const isLater = startAt !== undefined && startAt > turn.at;
  const record: RunRecord = {
    runId,
    traceId: body.traceId ?? traceIdOf(runId),
    project: body.project,
    definitionOwner: body.definitionOwner,
    definitionId: body.definitionId,
    definitionVersion: body.definitionVersion,
    correlation: JSON.stringify(body.correlation),
    ...(typeof userId === 'string' ? { userId } : {}),
    ...(body.idempotencyKey === undefined ? {} : { idempotencyKey: body.idempotencyKey }),
    createdAt: turn.at,
    ...(startAt === undefined ? {} : { startAt }),
    ...(runTimeoutMs === undefined ? {} : { deadlineAt: (isLater ? startAt : turn.at) + runTimeoutMs }),
    priority: body.priority,
    ...(body.parent === undefined ? {} : { parent: body.parent }),
    depth: body.depth,
    ...(restart === undefined ? {} : { restartedFrom: restart.from }),
    status: 'queued',
    snapshot: '',
    version: 0,
    updatedAt: turn.at,
  };
  const documents = restart === undefined ? freshDocuments(turn, runId, body.input) : takeOver(turn, runId, restart);
  if (record.deadlineAt !== undefined) {
    const timer = { runId, name: RUN_TIMER };
    // Counted from a time that somebody named, it follows the wall clock with it until then.
    turn.rows.timersSet.push(isLater ? namedTime(timer, record.deadlineAt) : countdown(turn, timer, record.deadlineAt));
  }
  const work = workOn(host, turn, { record, snapshot: program.initial, program, nextSeq: 0 }, body.refusal);
  work.keys = body.keys;
  setDocuments(work, documents);
  addOutbox(work, runSpan(record, 'running', undefined, body.input));
  work.queue.push({
    type: 'run.started',
    at: turn.at,
    ...(restart === undefined ? {} : { restart: restart.point }),
    ...(isLater ? { startAt } : body.refusal === undefined ? holdBack(work) : {}),
  });
  settle(work);
  storeRun(work, undefined);
};
