import { type Place, placeOf, type RunEvent, type RunSnapshot, visitOf } from '../../machines/run.ts';
import type { CompiledStep } from '../../model/definition/compile.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import type { HeldReason, JournalEntry, UnixMs } from '../../model/run.ts';
import type { LimitRecord, RunRecord, TimerRecord } from '../../store/runs/run-store.ts';
import { defineNote } from '../kernel/slot.ts';
import type { Keys } from '../limit/keys.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { type Program, stepAt } from './program.ts';
import {
  documentsKeyOf,
  documentsSlot,
  NO_OUTPUT,
  readDocuments,
  type RunDocuments,
  scopeOf,
} from './run-documents.ts';
import { ROOT_SPAN } from './run-spans.ts';
import type { RunActor } from './run-state.ts';
import { countdown } from './timer-rows.ts';

/** One run in one turn: its present state, and the events that it has yet to take. */
export type Work = {
  readonly host: RunHost;
  readonly turn: Turn;
  readonly runId: string;
  readonly program: Program;
  record: RunRecord;
  snapshot: RunSnapshot;
  nextSeq: number;
  documents: RunDocuments | undefined;
  /** In the order in which the machine takes them. */
  readonly queue: RunEvent[];
  readonly entries: JournalEntry[];
  readonly events: [RunEvent | null, number][];
  /** Why the run fails instead of entering its first step. */
  refusal: StepError | undefined;
  /** The keys of the run, where they were expanded in this turn. */
  keys: Keys | undefined;
  /** Why the run was held back, where this turn asked. */
  heldBy: HeldReason | undefined;
  /** The key for which it was held back. */
  heldOn: Pick<LimitRecord, 'limitId' | 'key'> | undefined;
  /** The step that was left last: where `succeed` finds the output of the step before. */
  cameFrom: string | undefined;
};

export const workOn = (
  host: RunHost,
  turn: Turn,
  run: Pick<RunActor, 'record' | 'snapshot' | 'program' | 'nextSeq'>,
  refusal?: StepError,
): Work => ({
  host,
  turn,
  runId: run.record.runId,
  program: run.program,
  record: run.record,
  snapshot: run.snapshot,
  nextSeq: run.nextSeq,
  documents: undefined,
  queue: [],
  entries: [],
  events: [],
  refusal,
  keys: undefined,
  heldBy: undefined,
  heldOn: undefined,
  cameFrom: undefined,
});

/** The step at which the run stands. */
export const compiledAt = (work: Work): CompiledStep => {
  const compiled = stepAt(work.program, placeOf(work.snapshot.value));
  if (compiled === undefined) throw new Error(`run ${work.runId} is at no step`);
  return compiled;
};

export const stepIdOf = (place: Place): { readonly stepId?: string } =>
  place.at === 'step' ? { stepId: place.step } : {};

export const documentsOf = (work: Work): RunDocuments => {
  work.documents ??= readDocuments(work.turn, work);
  return work.documents;
};
export const setDocuments = (work: Work, documents: RunDocuments): void => {
  work.documents = documents;
  work.turn.write(documentsSlot, documentsKeyOf(work), documents);
};
export const scope = (work: Work, item?: Json) => scopeOf(work, documentsOf(work), item);

/** The output of a step's present visit: a row of its own, and what later expressions read. */
export const setOutput = (work: Work, stepId: string, output: Json | undefined): void => {
  const documents = documentsOf(work);
  if (output === undefined) {
    // A visit without an output hides the one of the visit before.
    if (documents.steps[stepId]?.output === undefined) return;
    const hidden = visitOf(work.snapshot.context, stepId);
    work.turn.rows.outputs.push({ runId: work.runId, stepId, visit: hidden, body: NO_OUTPUT });
    setDocuments(work, { ...documents, steps: without(documents.steps, stepId) });
    return;
  }
  const visit = visitOf(work.snapshot.context, stepId);
  const body = JSON.stringify(output);
  work.turn.rows.outputs.push({ runId: work.runId, stepId, visit, body });
  setDocuments(work, {
    ...documents,
    steps: withKey(documents.steps, stepId, { output }),
    characters: documents.characters + body.length,
  });
};

export const outputOf = (work: Work, stepId: string | undefined): Json | undefined =>
  stepId === undefined ? undefined : documentsOf(work).steps[stepId]?.output;

/** Replaces the top-level keys of the state that the patch names. */
export const patchState = (work: Work, patch: JsonObject): void => {
  const documents = documentsOf(work);
  const { stepCount } = work.snapshot.context;
  let { characters } = documents;
  const state: Record<string, Json> = Object.assign(Object.create(null), documents.state);
  for (const key of Object.keys(patch)) {
    const value = patch[key] as Json;
    const body = JSON.stringify(value);
    work.turn.rows.documents.push({ runId: work.runId, name: `state/${key}`, body, entry: stepCount });
    state[key] = value;
    characters += key.length + body.length;
  }
  setDocuments(work, { ...documents, state, characters });
};

export const addEntry = (work: Work, entry: Omit<JournalEntry, 'seq' | 'at'>): void => {
  work.entries.push({ seq: work.nextSeq, at: work.turn.at, ...entry });
  work.nextSeq += 1;
};

export const addOutbox = (work: Work, span: object): void => {
  work.turn.rows.outbox.push({ no: work.host.nextOutboxNo(), runId: work.runId, span: JSON.stringify(span) });
  work.turn.after(work.host.outboxed);
};

/** The span of the run is sent as it is stored when its turn comes. */
export const addRootSpan = ({ turn, host, runId }: Pick<Work, 'turn' | 'host' | 'runId'>): void => {
  turn.rows.outbox.push({ no: host.nextOutboxNo(), runId, span: ROOT_SPAN });
  turn.after(host.outboxed);
};

/** Timers that this group carries work over by: they are due once, however often they are set. */
const carriedOver = defineNote<TimerRecord, true>('carried_over', ({ runId, name }) => `${name}/${runId}`);

/** Leaves work to a timer that is due at once: it does not wait for the next second, but follows the commit. */
export const carryOver = (
  { turn, host, record: { project, traceId } }: Work,
  row: Pick<TimerRecord, 'runId' | 'name' | 'stepId'>,
  dueAt: UnixMs,
): void => {
  const timer = countdown(turn, row, dueAt);
  turn.rows.timersSet.push(timer);
  if (turn.peek(carriedOver, timer) === true) return;
  turn.write(carriedOver, timer, true);
  turn.after(() => {
    host.carriedOver.add({ runId: timer.runId, name: timer.name, dueAt: timer.dueAt, project, traceId });
  });
};

/** The step at hand failed, without a lease that says so. */
export const failStep = (work: Work, error: StepError): RunEvent => ({ type: 'step.failed', at: work.turn.at, error });

/** A copy with one key set. Without a prototype: keys come from outside. */
const withKey = <T>(map: { readonly [key: string]: T }, key: string, value: T): { readonly [key: string]: T } => {
  const copy: Record<string, T> = Object.assign(Object.create(null), map);
  copy[key] = value;
  return copy;
};
const without = <T>(map: { readonly [key: string]: T }, key: string): { readonly [key: string]: T } => {
  const copy: Record<string, T> = Object.assign(Object.create(null), map);
  delete copy[key];
  return copy;
};
