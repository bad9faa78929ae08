import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import type { UnixMs } from '../../model/run.ts';
import { type Keys, keysOf, limitedDefinition } from '../limit/keys.ts';
import type { LimitHost } from '../limit/limit-state.ts';
import { type Asker, refusedByKeys } from '../limit/places.ts';
import { type ActorKind, storedSlot, type Turn } from '../runs-kernel.ts';
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
export const idempotencySlot = storedSlot({
  name: 'idempotency_key',
  lifetime: 'group',
  keyOf: ({ project, key }: { readonly project: string; readonly key: string }) => JSON.stringify([project, key]),
  lookup: ({ project, key }) => ({ kind: 'idempotency', project, key }),
});

const startOf = (start: RunStart, at: UnixMs): UnixMs => ('at' in start ? start.at : at + start.afterMs);

/**
 * Whether the keys of a run let it start: they can be expanded, and a key that refuses at its limit has room. A start that lies ahead is
 * judged when it has come.
 * @param leaving runs that end in this turn, before this one begins: they hold no key then
 * @returns its keys, where it has any and begins now
 */
export const mayStart = (
  turn: Turn,
  host: LimitHost & { readonly programs: Programs },
  { compiled }: Program,
  { runId, ...record }: { readonly runId: string } & Asker['record'],
  { input, correlation, startAt }: Pick<StartMessage, 'input' | 'correlation' | 'startAt'>,
  leaving: readonly string[] = [],
): Result<{ readonly keys?: Keys }> => {
  const expanded = keysOf(limitedDefinition(compiled), record, () => ({ input, correlation }));
  if (!expanded.ok) return { ok: false, failure: { code: 'input_invalid', message: expanded.error.message } };
  const keys = expanded.value;
  const isLater = startAt !== undefined && startOf(startAt, turn.at) > turn.at;
  if (keys === undefined || isLater) return { ok: true, value: {} };
  // A key that does not refuse is asked for when the run begins.
  const allowed = refusedByKeys(turn, host, { runId, record }, keys, leaving);
  return allowed.ok ? { ok: true, value: { keys } } : allowed;
};

export type StartHost = LimitHost & {
  readonly programs: Programs;
  readonly checkInput: (program: Program, input: Json) => Result<Json | undefined>;
};
/** A run that begins in this turn, or one that was started before under the same key. */
export type StartedIn = { readonly runId: string } | { readonly existing: string };

/**
 * Starts a run in a project, or finds the one that has its key. It begins when its message is taken, in the same turn.
 * @param leaving as of `mayStart`
 * @throws Unloadable for a definition that this release no longer accepts
 */
export const startIn = (
  host: StartHost,
  turn: Turn,
  project: string,
  body: StartMessage,
  leaving: readonly string[] = [],
): Result<StartedIn> => {
  const { idempotencyKey: key } = body;
  const keyed = key === undefined ? undefined : { project, key };
  const existing = keyed === undefined ? undefined : turn.read(idempotencySlot, keyed);
  if (existing !== undefined) return { ok: true, value: { existing } };
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
  const asker = { runId, project, ...pinned, priority: body.priority ?? 0 };
  const allowed = mayStart(turn, host, program, asker, body, leaving);
  if (!allowed.ok) return allowed;
  const start: RunMessage = {
    kind: 'start',
    project,
    ...pinned,
    input: body.input,
    correlation: body.correlation,
    ...(key === undefined ? {} : { idempotencyKey: key }),
    depth: 0,
    priority: body.priority ?? 0,
    ...allowed.value,
    ...(body.startAt === undefined ? {} : { startAt: startOf(body.startAt, turn.at) }),
  };
  turn.tell({ type: 'run', id: runId }, start);
  if (keyed !== undefined) turn.write(idempotencySlot, keyed, runId);
  return { ok: true, value: { runId } };
};

/** Starts runs. Its id is a project: idempotency keys are unique in it. */
export const createStartActor = (host: StartHost): ActorKind => ({
  type: 'start',
  receive: (turn, project, message) => {
    const started = startIn(host, turn, project, message as StartMessage);
    if (!started.ok) return started;
    if ('existing' in started.value) return { ok: true, value: started.value satisfies Started };
    const { runId } = started.value;
    return () => {
      const run = readRun(turn, host.programs, runId);
      if (run === undefined) throw new Error(`run ${runId} was started and is not there`);
      return { ok: true, value: { run: viewOf(run, readDocuments(turn, run)) } satisfies Started };
    };
  },
});
