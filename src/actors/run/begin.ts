import type { JsonObject } from '../../model/json.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { RUN_TIMER } from './limits.ts';
import type { RunMessage } from './messages.ts';
import { readProgram } from './program.ts';
import type { RunDocuments } from './run-documents.ts';
import { runSpan, traceIdOf } from './run-spans.ts';
import { settle, storeRun } from './settle.ts';
import { countdown } from './timer-rows.ts';
import { addOutbox, setDocuments, workOn } from './work.ts';

/** A run begins: its row, its input, its deadline, its span, and the way to its first step. */
export const begin = (host: RunHost, turn: Turn, runId: string, body: RunMessage & { kind: 'start' }): void => {
  const program = readProgram(turn, host.programs, body);
  const { runTimeoutMs } = program.definition.limits;
  const userId = body.correlation['user_id'];
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
    ...(runTimeoutMs === undefined ? {} : { deadlineAt: turn.at + runTimeoutMs }),
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
  if (record.deadlineAt !== undefined)
    turn.rows.timersSet.push(countdown({ turn, host }, { runId, name: RUN_TIMER }, record.deadlineAt));
  const work = workOn(host, turn, { record, snapshot: program.initial, program, nextSeq: 0 }, body.refusal);
  setDocuments(work, documents);
  addOutbox(work, runSpan(record, 'running', undefined, body.input));
  work.queue.push({ type: 'run.started', at: turn.at });
  settle(work);
  storeRun(work, undefined);
};
