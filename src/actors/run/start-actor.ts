import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import type { UnixMs } from '../../model/run.ts';
import { type ActorKind, storedSlot } from '../runs-kernel.ts';
import type { RunMessage, RunStart, Started, StartMessage } from './messages.ts';
import {
  definitionSlot,
  latestFor,
  type PinnedDefinition,
  type Program,
  type Programs,
  readProgram,
} from './program.ts';
import { readDocuments } from './run-documents.ts';
import { notFound } from './run-failures.ts';
import { readRun } from './run-state.ts';
import { viewOf } from './run-view.ts';

/** The run that was started under an idempotency key. */
const idempotencySlot = storedSlot({
  name: 'idempotency_key',
  lifetime: 'group',
  keyOf: ({ project, key }: { readonly project: string; readonly key: string }) => JSON.stringify([project, key]),
  lookup: ({ project, key }) => ({ kind: 'idempotency', project, key }),
});

const startOf = (start: RunStart, at: UnixMs): UnixMs => ('at' in start ? start.at : at + start.afterMs);

/** Starts runs. Its id is a project: idempotency keys are unique in it. */
export const createStartActor = (host: {
  readonly programs: Programs;
  readonly checkInput: (program: Program, input: Json) => Result<Json | undefined>;
}): ActorKind => ({
  type: 'start',
  receive: (turn, project, message) => {
    const body = message as StartMessage;
    const { idempotencyKey: key } = body;
    const keyed = key === undefined ? undefined : { project, key };
    const existing = keyed === undefined ? undefined : turn.read(idempotencySlot, keyed);
    if (existing !== undefined) return { ok: true, value: { existing } satisfies Started };
    const { definitionId: id } = body;
    const latest = latestFor(turn, project, id);
    if (latest === undefined) return notFound('definition', id, 'definition_id');
    const { owner } = latest;
    const version = body.definitionVersion ?? latest.version;
    if (turn.read(definitionSlot, { owner, id, version }) === undefined)
      return notFound('definition', `${id} version ${version}`, 'definition_version');
    const pinned: PinnedDefinition = { definitionOwner: owner, definitionId: id, definitionVersion: version };
    const program = readProgram(turn, host.programs, pinned);
    const checked = host.checkInput(program, body.input);
    if (!checked.ok) return checked;
    const runId = turn.newId();
    const start: RunMessage = {
      kind: 'start',
      project,
      ...pinned,
      input: body.input,
      correlation: body.correlation,
      ...(key === undefined ? {} : { idempotencyKey: key }),
      depth: 0,
      priority: body.priority ?? 0,
      ...(body.startAt === undefined ? {} : { startAt: startOf(body.startAt, turn.at) }),
    };
    turn.tell({ type: 'run', id: runId }, start);
    if (keyed !== undefined) turn.write(idempotencySlot, keyed, runId);
    return () => {
      const run = readRun(turn, host.programs, runId);
      if (run === undefined) throw new Error(`run ${runId} was started and is not there`);
      return { ok: true, value: { run: viewOf(run, readDocuments(turn, run)) } satisfies Started };
    };
  },
});
