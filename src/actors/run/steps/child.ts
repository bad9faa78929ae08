import { childrenToStart, placeOf, type RunEvent, visitOf } from '../../../machines/run.ts';
import { MORE_CHILDREN } from '../../../machines/run-phases.ts';
import type { CompiledStep } from '../../../model/definition/compile.ts';
import { type ChildStep, definitionBounds } from '../../../model/definition/definition.ts';
import { type Evaluated, expressionError, type StepError } from '../../../model/definition/step-error.ts';
import { render, type Template } from '../../../model/definition/template.ts';
import type { Json, JsonObject } from '../../../model/json.ts';
import { noUsage } from '../../../model/run.ts';
import type { CarriedOverName, ChildResult } from '../../../store/runs/run-store.ts';
import { byId, defineNote } from '../../kernel/slot.ts';
import { storedSlot, type Turn } from '../../runs-kernel.ts';
import { briefly, errorOfChild, MESSAGE_CHARACTERS } from '../child-error.ts';
import { countDescendants, tooManyDescendants } from '../descendants.ts';
import { errorData } from '../error-data.ts';
import type { RunMessage } from '../messages.ts';
import { latestFor, type PinnedDefinition, type Program, readProgram } from '../program.ts';
import type { RunDocuments } from '../run-documents.ts';
import { stepSpan, visitSpanIdOf } from '../run-spans.ts';
import { Quarantined } from '../quarantined.ts';
import { readRun, type RunActor, runSlot, standing } from '../run-state.ts';
import {
  addEntry,
  addOutbox,
  carryOver,
  compiledAt,
  documentsOf,
  failStep,
  scope,
  setOutput,
  type Work,
} from '../work.ts';
import type { EffectHost, StepHost } from './step-host.ts';
import { parseStored } from '../quarantined.ts';
import { readCorrelation } from '../run-documents.ts';

type ChildMessage = RunMessage & { readonly kind: 'child' };
/** How a child ended. */
type ChildEnd = Pick<ChildMessage, 'runId' | 'index' | 'status' | 'output' | 'error'>;

/** Children of children of children: deeper is taken for a definition that starts itself without end. */
export const MAX_DEPTH = 32;
/** The timer that ends a child whose step ended, where the commit of that could not take it too. */
export const CANCEL_TIMER = 'cancel' satisfies CarriedOverName;
export const STEP_ENDED = 'the step that started it ended';

/**
 * Most children that one commit starts, and most that it cancels. Children may end as soon as they start, and each end starts
 * the next: unbounded, ten thousand of them would be one turn of seconds. What is beyond waits in a timer row that is due at
 * once. A step may have a thousand children open (`max_parallel`), and those end with it.
 */
const CHILDREN_STARTED_IN_A_GROUP = 100;
const CHILDREN_CANCELLED_IN_A_GROUP = 1000;
/** How many the group in hand has started, and cancelled. */
const startedInGroup = defineNote<undefined, number>('children_started', () => '');
const cancelledInGroup = defineNote<undefined, number>('children_cancelled', () => '');

/** How many children this commit can still take. */
const childrenLeft = (turn: Turn): number =>
  Math.max(0, CHILDREN_STARTED_IN_A_GROUP - (turn.peek(startedInGroup, undefined) ?? 0));

/** One visit of a step. */
type VisitKey = { readonly runId: string; readonly stepId: string; readonly visit: number };
const visitKeyOf = ({ runId, stepId, visit }: VisitKey): string => `${runId}/${stepId}/${visit}`;

/** Children of a run that are open, as of the last commit. */
const openChildrenSlot = storedSlot({
  name: 'open_children',
  lifetime: 'group',
  keyOf: byId,
  lookup: (runId: string) => ({ kind: 'open_children', runId }),
});
/** How the children of a visit ended, as of the last commit. */
const childResultsSlot = storedSlot({
  name: 'child_results',
  lifetime: 'group',
  keyOf: visitKeyOf,
  lookup: ({ runId, stepId, visit }: VisitKey) => ({ kind: 'child_results', runId, stepId, visit }),
});

/** Children that were started in this group: the store cannot know them yet. The last comes first. */
type RecentChild = { readonly runId: string; readonly earlier: RecentChild | undefined };
const recentChildren = defineNote<string, RecentChild | undefined>('recent_children', byId);

/** Children that ended in this group: the store cannot know that yet. The last comes first. */
type RecentEnd = { readonly end: ChildEnd; readonly earlier: RecentEnd | undefined };
const recentEnds = defineNote<VisitKey, RecentEnd>('recent_ends', visitKeyOf);

/** The child step at which the run stands. */
const childAt = (work: Work): CompiledStep<ChildStep> => {
  const compiled = compiledAt(work);
  if (!isChild(compiled)) throw new Error(`run ${work.runId} is at no step that starts children`);
  return compiled;
};
const isChild = (compiled: CompiledStep): compiled is CompiledStep<ChildStep> => compiled.step.kind === 'child';

const renderItems = (work: Work, { step }: CompiledStep<ChildStep>, forEach: Template): Evaluated<readonly Json[]> => {
  const rendered = render(forEach, scope(work));
  if (!rendered.ok) return rendered;
  if (!Array.isArray(rendered.value))
    return expressionError(`for_each of step ${step.id} must give a list, not ${nameOfType(rendered.value)}`);
  const { itemsPerForEach } = definitionBounds;
  if (rendered.value.length > itemsPerForEach)
    return expressionError(
      `for_each of step ${step.id} gives ${rendered.value.length} items, at most ${itemsPerForEach} are allowed`,
    );
  return { ok: true, value: rendered.value as readonly Json[] };
};

const nameOfType = (value: Json | undefined): string => {
  if (value === undefined) return 'nothing';
  return value === null ? 'null' : typeof value;
};

const renderedItems = new WeakMap<
  RunDocuments,
  { readonly step: CompiledStep; readonly visit: number; readonly items: Evaluated<readonly Json[]> }
>();

/** The items stay as they were when this visit of the step opened: `error` alone changes between visits without the documents. */
const itemsOf = (work: Work, compiled: CompiledStep<ChildStep>): Evaluated<readonly Json[] | undefined> => {
  if (compiled.forEach === undefined) return { ok: true, value: undefined };
  const documents = documentsOf(work);
  const visit = work.snapshot.context.visits[compiled.step.id] ?? 1;
  const known = renderedItems.get(documents);
  if (known?.step === compiled && known.visit === visit) return known.items;
  const items = renderItems(work, compiled, compiled.forEach);
  renderedItems.set(documents, { step: compiled, visit, items });
  return items;
};

const childFailed = (message: string): StepError => ({ class: 'fatal', code: 'child_failed', message });

/** What a child is started with, and why it cannot be: its input cannot be made, or does not meet the schema. */
const inputOf = (
  work: Work,
  { input: template }: CompiledStep<ChildStep>,
  program: Program,
  item: Json | undefined,
): { readonly input: Json; readonly refusal?: StepError } => {
  const rendered = template === undefined ? undefined : render(template, scope(work, item));
  if (rendered?.ok === false) return { input: {}, refusal: rendered.error };
  const input = rendered?.value ?? {};
  const checked = work.host.checkInput(program, input);
  if (checked.ok) return { input };
  const { code, message } = checked.failure;
  return { input, refusal: { class: 'fatal', code, message } };
};

/**
 * Whether a run above this one has ended, or has given up on the step below which this one stands: the cancel of a large tree takes
 * several commits, and this run will be reached by it. A run that cannot be loaded waits for its children as long as it is quarantined.
 */
const isLeftBehind = ({ turn, host, record }: Work): boolean => {
  for (let parent = record.parent; parent !== undefined; ) {
    const { runId } = parent;
    try {
      const above = readRun(turn, host.programs, runId);
      if (above === undefined) return false;
      if (!awaitsChild(above, parent)) return true;
      parent = above.record.parent;
    } catch (error) {
      if (!(error instanceof Quarantined)) throw error;
      parent = turn.read(runSlot, runId)?.record.parent;
    }
  }
  return false;
};

/** Starts as many as the step wants, or as this commit can take. @returns how many */
export const startChildren: EffectHost = (work) => {
  if (work.snapshot.context.paused !== undefined) return;
  const compiled = childAt(work);
  const { step } = compiled;
  const { context } = work.snapshot;
  const { children } = context;
  const wanted = children === undefined ? 0 : childrenToStart(children, step.maxParallel);
  if (children === undefined || wanted === 0) return;
  const { turn, record, host } = work;
  if (isLeftBehind(work)) {
    work.queue.push({ type: 'run.cancelled', at: turn.at, reason: STEP_ENDED });
    return;
  }
  const count = Math.min(wanted, childrenLeft(turn));
  const started: RunEvent = { type: 'children.started', at: turn.at, count };
  if (count === 0) {
    work.queue.push(started);
    return;
  }
  turn.write(startedInGroup, undefined, (turn.peek(startedInGroup, undefined) ?? 0) + count);
  if (record.descendants === undefined) work.record = { ...record, descendants: noUsage };
  let recent = turn.peek(recentChildren, work.runId);
  const rememberStarted = (): void => {
    turn.write(recentChildren, work.runId, recent);
  };
  const refuse = (error: StepError): void => {
    // If one child cannot start, those started before it are cancelled with the step, so the step must know them.
    rememberStarted();
    work.queue.push(failStep(work, error));
  };
  if (record.depth >= MAX_DEPTH) return refuse(childFailed(`runs may not start each other deeper than ${MAX_DEPTH}`));
  const limit = tooManyDescendants(turn, record, children.total - children.started, host.maxDescendants);
  if (limit !== undefined) return refuse(limit);
  const latest = latestFor(turn, record.project, step.definition);
  if (latest === undefined) return refuse(childFailed(`definition ${step.definition} is not registered`));
  const items = itemsOf(work, compiled);
  if (!items.ok) return refuse(items.error);
  const visit = visitOf(context, step.id);
  const pinned: PinnedDefinition = {
    definitionOwner: latest.owner,
    definitionId: latest.id,
    definitionVersion: latest.version,
  };
  const program = readProgram(turn, host.programs, pinned);
  const correlation = readCorrelation(record);
  for (let index = children.started; index < children.started + count; index += 1) {
    const item = items.value?.[index];
    const { input, refusal } = inputOf(work, compiled, program, item);
    if (refusal !== undefined && step.onItemError === 'fail_fast')
      return refuse(refusal.class === 'expression' ? refusal : childFailed(`child ${index}: ${refusal.message}`));
    const runId = turn.newId();
    recent = { runId, earlier: recent };
    countDescendants(turn, record, 1);
    const message: RunMessage = {
      kind: 'start',
      project: record.project,
      ...pinned,
      input,
      correlation,
      parent: { runId: work.runId, stepId: step.id, visit, index },
      traceId: record.traceId,
      depth: record.depth + 1,
      priority: record.priority,
      ...(refusal === undefined ? {} : { refusal }),
    };
    turn.tell({ type: 'run', id: runId }, message);
    addEntry(work, { kind: 'child.started', stepId: step.id, visit, data: { run_id: runId, index } });
  }
  rememberStarted();
  work.queue.push(started);
};

/**
 * Children that may be open: what the store knows, and those started since. Some may have ended in this group: nothing
 * keeps count of them here, so that the end of a child costs the same among a thousand as alone.
 */
export const openChildrenOf = ({ turn, runId }: Work): readonly string[] => {
  const open = [...turn.read(openChildrenSlot, runId)];
  for (let one = turn.peek(recentChildren, runId); one !== undefined; one = one.earlier) open.push(one.runId);
  return open;
};

/**
 * Ends the children with the step, in the same commit; of a tree that is larger than one commit can take, those beyond
 * follow at once.
 */
const cancelOpenChildren = (work: Work): void => {
  const { turn } = work;
  let cancelled = turn.peek(cancelledInGroup, undefined) ?? 0;
  for (const runId of openChildrenOf(work)) {
    cancelled += 1;
    const message: RunMessage = { kind: 'cancel', reason: STEP_ENDED };
    if (cancelled <= CHILDREN_CANCELLED_IN_A_GROUP) turn.tell({ type: 'run', id: runId }, message);
    else carryOver(work, { runId, name: CANCEL_TIMER }, turn.at);
  }
  turn.write(cancelledInGroup, undefined, cancelled);
};

/** The step is left: children that are still open end with it, and its span is complete. */
const cancelChildren: EffectHost = (work, { event, from, before }) => {
  const { children } = before;
  const isLast = event.type === 'child.finished' && children !== undefined && children.finished + 1 >= children.total;
  if (!isLast) cancelOpenChildren(work);
  if (from.at !== 'step') return;
  const visit = visitOf(before, from.step);
  const output = documentsOf(work).steps[from.step]?.output;
  const left = placeOf(work.snapshot.value);
  const failed = left.at === 'end' || (left.at === 'step' && left.phase !== 'routing');
  const { error } = work.snapshot.context;
  addOutbox(
    work,
    stepSpan(work.record, {
      spanId: visitSpanIdOf(work.runId, from.step, visit),
      stepId: from.step,
      visit,
      status: !failed ? 'succeeded' : left.at === 'end' && left.status === 'cancelled' ? 'cancelled' : 'failed',
      startedAt: before.enteredAt ?? work.record.createdAt,
      endedAt: work.turn.at,
      ...(output === undefined ? {} : { output }),
      ...(failed && error !== undefined ? { error } : {}),
    }),
  );
};

/** False for a child that its step has given up on. */
export const awaitsChild = (run: RunActor, { stepId, visit }: Pick<ChildMessage, 'stepId' | 'visit'>): boolean => {
  const place = standing(run);
  const { context } = run.snapshot;
  return (
    place?.phase === 'waiting' &&
    place.step === stepId &&
    visitOf(context, stepId) === visit &&
    context.children !== undefined
  );
};

const wasCancelled = (runId: string): StepError => ({
  class: 'cancelled',
  message: `child run ${runId} was cancelled`,
});

/** The failure of the step. It names that of the child: who reads of the parent need not look for the child first. */
const failureOf = ({ runId, status, error }: ChildEnd): StepError => {
  if (status === 'cancelled') return wasCancelled(runId);
  if (error === undefined) return childFailed(`child run ${runId} failed`);
  const at = error.stepId === undefined ? '' : ` at step ${error.stepId}`;
  const kind = `class ${error.class}${error.code === undefined ? '' : `, code ${error.code}`}`;
  return childFailed(`child run ${runId} failed${at} (${kind}): ${error.message}`.slice(0, MESSAGE_CHARACTERS));
};

/** A child has ended; with the last one, what all of them gave becomes the output of the step. */
export const takeChildsEnd = (work: Work, body: ChildMessage): RunEvent => {
  const { turn, runId } = work;
  const compiled = childAt(work);
  const { children } = work.snapshot.context;
  const { status, index } = body;
  const error = body.error === undefined ? undefined : briefly(body.error);
  const failsStep = status !== 'succeeded' && compiled.step.onItemError === 'fail_fast';
  if (!failsStep) {
    const visit = { runId, stepId: body.stepId, visit: body.visit };
    const end: ChildEnd = {
      runId: body.runId,
      index,
      status,
      ...(body.output === undefined ? {} : { output: body.output }),
      ...(error === undefined ? {} : { error }),
    };
    turn.write(recentEnds, visit, { end, earlier: turn.peek(recentEnds, visit) });
    if (children !== undefined && children.finished + 1 >= children.total)
      setOutput(work, body.stepId, gatherOutputs(work, compiled, visit, end, children.total));
  }
  return {
    type: 'child.finished',
    at: turn.at,
    runId: body.runId,
    index,
    status,
    ...(failsStep ? { error: failureOf(body) } : {}),
    ...(error === undefined ? {} : { cause: error }),
  };
};

/** What `collect` lists of an item. */
const itemResult = ({ runId, status, output, error }: ChildEnd): JsonObject =>
  status === 'succeeded'
    ? { output: output ?? null }
    : { error: { ...errorData(error ?? wasCancelled(runId)), run_id: runId } };

const storedEnd = ({ index, runId, status, output, snapshot }: ChildResult): ChildEnd[] => {
  if (status !== 'succeeded' && status !== 'failed' && status !== 'cancelled') return [];
  const error = snapshot === undefined ? undefined : errorOfChild({ status, snapshot });
  return [
    {
      index,
      runId,
      status,
      ...(output === undefined ? {} : { output: parseStored<Json>(runId, output, 'its output') }),
      ...(error === undefined ? {} : { error }),
    },
  ];
};

/** What all children of the visit gave: those committed before from the store, those of this group from memory. */
const gatherOutputs = (
  { turn }: Work,
  { forEach, step }: CompiledStep<ChildStep>,
  visit: VisitKey,
  last: ChildEnd,
  total: number,
): Json | undefined => {
  // A child without an output leaves its step without one: null would be an answer that nobody gave.
  if (forEach === undefined) return last.output;
  const results: Json[] = Array.from({ length: total }, () => null);
  const note = (end: ChildEnd): void => {
    results[end.index] = step.onItemError === 'collect' ? itemResult(end) : (end.output ?? null);
  };
  for (const stored of turn.read(childResultsSlot, visit)) storedEnd(stored).forEach(note);
  for (let recent = turn.peek(recentEnds, visit); recent !== undefined; recent = recent.earlier) note(recent.end);
  return results;
};

/** Starts runs, as many at once as it may, and waits for all of them. */
export const childHost: StepHost<ChildStep> = {
  open: (work, compiled) => {
    const items = itemsOf(work, compiled);
    if (!items.ok) return failStep(work, items.error);
    const total = items.value === undefined ? 1 : items.value.length;
    if (total === 0) setOutput(work, compiled.step.id, []);
    return { type: 'step.opened', at: work.turn.at, total };
  },
  wait: {
    timer: MORE_CHILDREN satisfies CarriedOverName,
    followsCommit: true,
    hasRoom: (turn) => childrenLeft(turn) > 0,
    due: ({ turn }) => ({ type: 'timer.due', at: turn.at }),
    reason: 'children',
  },
  effects: { startChildren, cancelChildren },
};
