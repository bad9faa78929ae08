import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import { type ActorKind, storedSlot, type Turn } from '../runs-kernel.ts';
import type { RestartedStart, RestartMessage, RunMessage, Started } from './messages.ts';
import { definitionSlot, type PinnedDefinition, readProgram } from './program.ts';
import { Damaged } from './quarantined.ts';
import { parseDocuments, readCorrelation, readDocuments, RUN_CHARACTERS, type RunDocuments } from './run-documents.ts';
import { notFound, type Refused, refused } from './run-failures.ts';
import { readRun, runSlot } from './run-state.ts';
import { viewOf } from './run-view.ts';
import { idempotencySlot, mayStart, type StartHost } from './start-actor.ts';

type PastKey = {
  readonly runId: string;
  readonly entry: number;
  readonly outputs: readonly (readonly [stepId: string, visit: number])[];
};

/** The payloads of an ended run, as they were when it entered one of its steps. */
const pastDocumentsSlot = storedSlot({
  name: 'past_documents',
  lifetime: 'group',
  keyOf: ({ runId, entry }: PastKey) => `${entry}/${runId}`,
  lookup: (key) => ({ kind: 'documents_at', ...key }),
});

const patched = (documents: RunDocuments, { input, statePatch }: RestartMessage): RunDocuments => {
  const state: Record<string, Json> = Object.assign(Object.create(null), documents.state, statePatch);
  const given = [...(input === undefined ? [] : [input]), ...(statePatch === undefined ? [] : [statePatch])];
  return {
    ...documents,
    ...(input === undefined ? {} : { input }),
    state,
    characters: given.reduce<number>((sum, body) => sum + JSON.stringify(body).length, documents.characters),
  };
};

const tooLarge = (characters: number): Refused =>
  refused({
    code: 'payload_too_large',
    message: `input, state and outputs of the restarted run would hold ${characters} characters, more than ${RUN_CHARACTERS}; restart it without input and state_patch`,
  });

const readPast = (turn: Turn, { from, point, entry, wroteSince }: RestartMessage): Result<RunDocuments> => {
  const { runId } = from;
  const found = turn.read(pastDocumentsSlot, { runId, entry, outputs: Object.entries(point.visits) });
  if (found === undefined) throw new Damaged(runId, 'its input');
  const { ageUnknown, ...stored } = found;
  if (ageUnknown === true && wroteSince)
    return refused({
      code: 'conflict',
      message: `the state of run ${runId} as it was when it entered step "${from.stepId}" is not known: a release ran it that kept the last values alone; restart it from its last step, or start a new run`,
      field: 'from_step',
    });
  return { ok: true, value: parseDocuments(runId, stored) };
};

/**
 * Restarts runs that have ended. Its id is a project, as that of the actor that starts runs: idempotency keys are unique in it. Where in its
 * past a run is taken up was worked out before (`service/restarts.ts`): an ended run does not change, it can only be erased.
 * @see Interface decisions, section 13, "Restart"
 */
export const createRestartActor = (host: StartHost): ActorKind => ({
  type: 'restart',
  receive: (turn, project, message) => {
    const body = message as RestartMessage;
    const { from, point, entry, idempotencyKey: key } = body;
    const keyed = key === undefined ? undefined : { project, key };
    const existing = keyed === undefined ? undefined : turn.read(idempotencySlot, keyed);
    if (existing !== undefined) return { ok: true, value: { existing } satisfies Started };
    const { record } = turn.read(runSlot, from.runId) ?? {};
    if (record === undefined) return notFound('run', from.runId);
    const { definitionOwner: owner, definitionId: id } = record;
    const version = body.definitionVersion ?? record.definitionVersion;
    if (body.definitionVersion !== undefined && turn.read(definitionSlot, { owner, id, version }) === undefined)
      return notFound('definition', `${id} version ${version}`, 'definition_version');
    const pinned: PinnedDefinition = { definitionOwner: owner, definitionId: id, definitionVersion: version };
    const program = readProgram(turn, host.programs, pinned);
    if (!program.compiled.steps.has(from.stepId))
      return refused({
        code: 'invalid_parameter',
        message: `version ${version} of definition ${id} has no step "${from.stepId}"`,
        field: body.definitionVersion === undefined ? 'from_step' : 'definition_version',
      });
    const past = readPast(turn, body);
    if (!past.ok) return past;
    const documents = patched(past.value, body);
    if (
      documents !== past.value &&
      documents.characters > RUN_CHARACTERS &&
      documents.characters > past.value.characters
    )
      return tooLarge(documents.characters);
    const checked = host.checkInput(program, documents.input);
    if (!checked.ok) return checked;
    const runId = turn.newId();
    const correlation = readCorrelation(record);
    const asker = { runId, project, ...pinned, priority: record.priority };
    const allowed = mayStart(turn, host, program, asker, { input: documents.input, correlation });
    if (!allowed.ok) return allowed;
    const restart: RestartedStart = {
      from,
      point,
      entry,
      documents,
      hasOwnInput: body.input !== undefined,
      statePatch: body.statePatch ?? {},
    };
    const start: RunMessage = {
      kind: 'start',
      project,
      ...pinned,
      input: documents.input,
      correlation,
      ...(key === undefined ? {} : { idempotencyKey: key }),
      depth: 0,
      priority: record.priority,
      ...allowed.value,
      restart,
    };
    turn.tell({ type: 'run', id: runId }, start);
    if (keyed !== undefined) turn.write(idempotencySlot, keyed, runId);
    return () => {
      const run = readRun(turn, host.programs, runId);
      if (run === undefined) throw new Error(`run ${runId} was restarted from ${from.runId} and is not there`);
      return { ok: true, value: { run: viewOf(run, readDocuments(turn, run)) } satisfies Started };
    };
  },
});
