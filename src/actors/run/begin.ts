import type { JsonObject } from '../../model/json.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { RUN_TIMER } from './limits.ts';
import type { RunMessage } from './messages.ts';
import { holdBack } from './admission.ts';
import { readProgram } from './program.ts';
import type { RunDocuments } from './run-documents.ts';
import { runSpan, traceIdOf } from './run-spans.ts';
import { settle, storeRun } from './settle.ts';
import { countdown, namedTime } from './timer-rows.ts';
import { addOutbox, setDocuments, workOn } from './work.ts';

/** A run begins: its row, its input, its deadline, its span, and the way to its first step, now or at its `start_at`. */
export const begin = (host: RunHost, turn: Turn, runId: string, body: RunMessage & { kind: 'start' }): void => {
  const program = readProgram(turn, host.programs, body);
  const { runTimeoutMs } = program.definition.limits;
  const userId = body.correlation['user_id'];
  const { startAt } = body;
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
    status: 'queued',
    snapshot: '',
    version: 0,
    updatedAt: turn.at,
  };
  const input = JSON.stringify(body.input);
  const documents: RunDocuments = {
    input: body.input,
    state: Object.create(null) as JsonObject,
    steps: Object.create(null) as RunDocuments['steps'],
    characters: input.length,
  };
  turn.rows.documents.push({ runId, name: 'input', body: input });
  if (record.deadlineAt !== undefined) {
    const timer = { runId, name: RUN_TIMER };
    // Counted from a time that somebody named, it follows the wall clock with it until then.
    turn.rows.timersSet.push(
      isLater ? namedTime(timer, record.deadlineAt) : countdown({ turn, host }, timer, record.deadlineAt),
    );
  }
  const work = workOn(host, turn, { record, snapshot: program.initial, program, nextSeq: 0 }, body.refusal);
  setDocuments(work, documents);
  addOutbox(work, runSpan(record, 'running', undefined, body.input));
  work.queue.push({
    type: 'run.started',
    at: turn.at,
    ...(isLater ? { startAt } : body.refusal === undefined ? holdBack(work) : {}),
  });
  settle(work);
  storeRun(work, undefined);
};
