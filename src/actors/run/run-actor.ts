import {
  MORE_CHILDREN,
  type Place,
  placeOf,
  type RunContext,
  type RunEvent,
  type RunSnapshot,
  statusAt,
} from '../../machines/run.ts';
import { type Effect, step as transition } from '../../machines/transition.ts';
import { type CompiledStep, resolveNext } from '../../model/definition/compile.ts';
import { evaluate } from '../../model/definition/condition.ts';
import { definitionBounds, type Step, type TaskStep } from '../../model/definition/definition.ts';
import { type Evaluated, expressionError, type StepError } from '../../model/definition/step-error.ts';
import { render, renderAsText, type Template } from '../../model/definition/template.ts';
import type { Result } from '../../model/failure.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { reaches } from '../../model/scope.ts';
import { forbidden, notFound } from './run-failures.ts';
import {
  hasEnded,
  type JournalEntry,
  type JournalKind,
  type Lease,
  type Run,
  type RunError,
  type UnixMs,
} from '../../model/run.ts';
import { MAX_UNIX_NANO, millisFromUnixNano, parseTimestamp, unixNanoFromMillis } from '../../model/time.ts';
import {
  clearTimerRow,
  closeWaitRow,
  type Meeting,
  type ParkedEvent,
  type RunRecord,
  type Runnable,
  type StoredRun,
  type TimerRecord,
  type WaitRecord,
} from '../../store/runs/run-store.ts';
import { type ActorKind, NotInThisGroup, type Turn } from '../kernel/kernel.ts';
import type { LeaseMessage } from '../lease/messages.ts';
import { forgetMeeting, noteEventId, readMeeting, writeMeeting } from '../event/event-mailbox.ts';
import type { Program, Programs } from './program.ts';
import {
  bringToLife,
  documentsKey,
  flushRun,
  NO_OUTPUT,
  noteEntry,
  Quarantined,
  readDocuments,
  readLatest,
  readProgram,
  readRun,
  type RunActor,
  type RunDocuments,
  runKey,
  scopeOf,
  standing,
  viewOf,
  willRetry,
} from './run-memory.ts';
import type { RunMessage } from './messages.ts';
import { runSpan, spanIdOf, stepSpan, traceIdOf, visitSpanIdOf } from './run-spans.ts';

export type RunHost = {
  readonly programs: Programs;
  readonly checkInput: (program: Program, input: Json) => Result<Json | undefined>;
  /** The next number of the outbox; ever larger. */
  readonly nextOutboxNo: () => number;
  /** The next number that orders waits and parked events; ever larger. */
  readonly nextOrder: () => number;
  /** A run became runnable in this group. */
  readonly ready: (entry: Runnable) => void;
  /** Entries were committed for this run. */
  readonly journalled: (runId: string) => void;
  /** Rows were committed to the outbox. */
  readonly outboxed: () => void;
  /** A timer was committed that is due already. */
  readonly due: (timer: { readonly runId: string; readonly name: string; readonly dueAt: UnixMs }) => void;
};

/** Children of children of children: deeper is taken for a definition that starts itself without end. */
const MAX_DEPTH = 32;
/** The timer that ends a run at its deadline. */
const RUN_TIMER = 'run_timeout';
/** The timer that ends a child whose step ended, where the commit of that could not take it too. */
const CANCEL_TIMER = 'cancel';
const STEP_ENDED = 'the step that started it ended';

/**
 * Most children that one commit starts, and most that it cancels. Children may end as soon as they start, and each end starts
 * the next: unbounded, ten thousand of them would be one turn of seconds. What is beyond waits in a timer row that is due at
 * once. A step may have a thousand children open (`max_parallel`), and those end with it.
 */
const CHILDREN_STARTED_IN_A_GROUP = 100;
const CHILDREN_CANCELLED_IN_A_GROUP = 1000;
const CHILDREN_STARTED = 'once/children-started';
const CHILDREN_CANCELLED = 'once/children-cancelled';

/** Place in the queue: older first; of the same age, a run that has begun before one that has not. */
const queueOrderOf = (context: RunContext): number =>
  (context.queuedAt ?? 0) * 2 + (context.stepCount === 1 && context.attempt === 0 ? 1 : 0);

/** The wait until the next try, before chance: doubled, or what the definition says, for each failure so far. */
export const backoffMs = (retry: TaskStep['retry'], failures: number, random: number): number => {
  const ceiling = Math.min(retry.maxBackoffMs, retry.backoffMs * retry.multiplier ** failures);
  return retry.jitter === 'full' ? ceiling * random : ceiling;
};

/** One run in one turn: what it is by now, and the events it has still to take. */
type Work = {
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
  /** The step that was left last: where `succeed` finds the output of the step before. */
  cameFrom: string | undefined;
};

export const createRunActors = (host: RunHost): ActorKind => {
  const actorOf = (work: Work, before: RunActor | undefined): RunActor => ({
    record: work.record,
    snapshot: work.snapshot,
    program: work.program,
    nextSeq: work.nextSeq,
    changed: true,
    pending: {
      earlier: before?.pending,
      firstSeq: before?.pending?.firstSeq ?? before?.nextSeq ?? 0,
      entries: work.entries,
      events: work.events,
    },
  });

  const documentsOf = (work: Work): RunDocuments => {
    work.documents ??= readDocuments(work.turn, asActor(work));
    return work.documents;
  };
  const setDocuments = (work: Work, documents: RunDocuments): void => {
    work.documents = documents;
    work.turn.write(documentsKey(work.runId), documents);
  };
  const asActor = (work: Work): RunActor => ({
    record: work.record,
    snapshot: work.snapshot,
    program: work.program,
    nextSeq: work.nextSeq,
    changed: true,
    pending: undefined,
  });
  const scope = (work: Work, item?: Json) => scopeOf(asActor(work), documentsOf(work), item);

  const addEntry = (work: Work, entry: Omit<JournalEntry, 'seq' | 'at'>): void => {
    work.entries.push({ seq: work.nextSeq, at: work.turn.at, ...entry });
    work.nextSeq += 1;
  };

  const addOutbox = (work: Work, span: object): void => {
    work.turn.rows.outbox.push({ no: host.nextOutboxNo(), runId: work.runId, span: JSON.stringify(span) });
    work.turn.after(host.outboxed);
  };

  /** The output of a step's present visit: a row of its own, and what later expressions read. */
  const setOutput = (work: Work, stepId: string, output: Json | undefined): void => {
    const documents = documentsOf(work);
    if (output === undefined) {
      // A visit without an output hides the one of the visit before.
      if (documents.steps[stepId]?.output === undefined) return;
      const hidden = work.snapshot.context.visits[stepId] ?? 1;
      work.turn.rows.outputs.push({ runId: work.runId, stepId, visit: hidden, body: NO_OUTPUT });
      setDocuments(work, { ...documents, steps: without(documents.steps, stepId) });
      return;
    }
    const visit = work.snapshot.context.visits[stepId] ?? 1;
    const body = JSON.stringify(output);
    work.turn.rows.outputs.push({ runId: work.runId, stepId, visit, body });
    setDocuments(work, {
      ...documents,
      steps: withKey(documents.steps, stepId, { output }),
      characters: documents.characters + body.length,
    });
  };

  /** Leaves work to a timer that is due at once: it does not wait for the next second, but follows the commit. */
  const carryOver = ({ turn }: Work, timer: TimerRecord & { readonly dueAt: UnixMs }): void => {
    turn.rows.timersSet.push(timer);
    const { runId, name } = timer;
    const key = `once/carried-over/${name}/${runId}`;
    if (turn.peek(key) === true) return;
    turn.write(key, true);
    turn.after(() => {
      host.due(timer);
    });
  };

  const isOverBudget = (work: Work): boolean => {
    const { maxCostUsd } = work.program.definition.limits;
    const { cost } = work.snapshot.context.usage;
    return maxCostUsd !== undefined && cost !== undefined && cost >= maxCostUsd;
  };

  const limitError = (work: Work, limit: NonNullable<RunError['limit']>, message: string): RunEvent => ({
    type: 'run.failed',
    at: work.turn.at,
    error: { class: 'limit', limit, message, ...stepIdOf(placeOf(work.snapshot.value)) },
  });
  const overBudget = (work: Work): RunEvent =>
    limitError(
      work,
      'max_cost_usd',
      `the run cost ${work.snapshot.context.usage.cost} USD, its limit max_cost_usd is ${work.program.definition.limits.maxCostUsd}`,
    );

  const failStep = (work: Work, error: StepError): RunEvent => ({ type: 'step.failed', at: work.turn.at, error });

  // What each kind of step needs before it can be entered.

  const openTask = (work: Work, compiled: CompiledStep): RunEvent => {
    const rendered = compiled.input === undefined ? OK : render(compiled.input, scope(work));
    return rendered.ok ? { type: 'step.opened', at: work.turn.at } : failStep(work, rendered.error);
  };

  const openWaitStep = (work: Work, compiled: CompiledStep): RunEvent => {
    const { step } = compiled;
    if (step.kind !== 'wait_event') throw new Error(`step ${step.id} does not wait`);
    const key = compiled.key === undefined ? { ok: true as const, value: '' } : renderAsText(compiled.key, scope(work));
    if (!key.ok) return failStep(work, key.error);
    const { turn } = work;
    // Read in every case: the events that are published next must see what is opened here.
    const meeting = readMeeting(turn, work.record.project, step.event, key.value);
    const [parked] = step.acceptParked ? meeting.parked : [];
    // More are parked in the store than this turn has seen: it looks farther in the next group.
    if (parked === undefined && step.acceptParked && meeting.moreParked) throw new NotInThisGroup();
    if (parked !== undefined) {
      takeParked(turn, meeting, parked, work.runId);
      takeEvent(work, step.id, step.event, key.value, JSON.parse(parked.payload) as Json);
      return { type: 'event.delivered', at: turn.at, event: step.event, key: key.value };
    }
    return {
      type: 'step.opened',
      at: turn.at,
      key: key.value,
      ...(step.timeoutMs === undefined ? {} : { dueAt: turn.at + step.timeoutMs }),
    };
  };

  const openSleep = (work: Work, compiled: CompiledStep): RunEvent => {
    const { step } = compiled;
    const { at } = work.turn;
    if (step.kind !== 'sleep') throw new Error(`step ${step.id} does not sleep`);
    if (compiled.sleepUntil === undefined) return { type: 'step.opened', at, dueAt: at + (step.sleepMs ?? 0) };
    const until = renderAsText(compiled.sleepUntil, scope(work));
    if (!until.ok) return failStep(work, until.error);
    const nanos = parseTimestamp(until.value);
    if (nanos === undefined)
      return failStep(work, {
        class: 'expression',
        message: `sleep_until of step ${step.id} is not an RFC 3339 timestamp such as 2031-01-31T12:00:00Z`,
      });
    if (nanos > MAX_UNIX_NANO) return { type: 'step.opened', at, dueAt: null };
    const millis = millisFromUnixNano(nanos);
    return { type: 'step.opened', at, dueAt: unixNanoFromMillis(millis) < nanos ? millis + 1 : millis };
  };

  /** The items stay as they were when the step opened: while it waits nothing that they are read from changes. */
  const itemsOf = (work: Work, compiled: CompiledStep): Evaluated<readonly Json[] | undefined> => {
    if (compiled.forEach === undefined) return { ok: true, value: undefined };
    const documents = documentsOf(work);
    const known = items.get(documents);
    if (known?.step === compiled) return known.items;
    const found = renderItems(work, compiled, compiled.forEach);
    items.set(documents, { step: compiled, items: found });
    return found;
  };
  const items = new WeakMap<RunDocuments, { step: CompiledStep; items: Evaluated<readonly Json[]> }>();

  const renderItems = (work: Work, compiled: CompiledStep, forEach: Template): Evaluated<readonly Json[]> => {
    const rendered = render(forEach, scope(work));
    if (!rendered.ok) return rendered;
    if (!Array.isArray(rendered.value))
      return expressionError(
        `for_each of step ${compiled.step.id} must give a list, not ${nameOfType(rendered.value)}`,
      );
    const { itemsPerForEach } = definitionBounds;
    if (rendered.value.length > itemsPerForEach)
      return expressionError(
        `for_each of step ${compiled.step.id} gives ${rendered.value.length} items, at most ${itemsPerForEach} are allowed`,
      );
    return { ok: true, value: rendered.value as readonly Json[] };
  };

  const openChildren = (work: Work, compiled: CompiledStep): RunEvent => {
    const items = itemsOf(work, compiled);
    if (!items.ok) return failStep(work, items.error);
    const total = items.value === undefined ? 1 : items.value.length;
    if (total === 0) setOutput(work, compiled.step.id, []);
    return { type: 'step.opened', at: work.turn.at, total, ...mayStart(work.turn, compiled) };
  };

  const openSucceed = (work: Work, compiled: CompiledStep): RunEvent => {
    const rendered =
      compiled.output === undefined
        ? { ok: true as const, value: outputOf(documentsOf(work), work.cameFrom) }
        : render(compiled.output, scope(work));
    return succeedWith(work, rendered);
  };

  const openFail = (work: Work, compiled: CompiledStep): RunEvent => {
    const { step } = compiled;
    if (step.kind !== 'fail') throw new Error(`step ${step.id} does not fail`);
    const message =
      compiled.message === undefined
        ? { ok: true as const, value: `the run reached step ${step.id}` }
        : renderAsText(compiled.message, scope(work));
    const error: RunError = message.ok
      ? {
          class: 'fatal',
          message: message.value,
          stepId: step.id,
          ...(step.code === undefined ? {} : { code: step.code }),
        }
      : { ...message.error, stepId: step.id };
    return { type: 'run.failed', at: work.turn.at, error };
  };

  const succeedWith = (work: Work, output: Evaluated<Json | undefined>): RunEvent => {
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

  const open = (work: Work): RunEvent => {
    const { stepCount } = work.snapshot.context;
    const { maxSteps } = work.program.definition.limits;
    if (stepCount > maxSteps)
      return limitError(
        work,
        'max_steps',
        `the run would enter its step number ${stepCount}, its limit max_steps is ${maxSteps}`,
      );
    if (isOverBudget(work)) return overBudget(work);
    const compiled = compiledAt(work);
    switch (compiled.step.kind) {
      case 'task':
        return openTask(work, compiled);
      case 'wait_event':
        return openWaitStep(work, compiled);
      case 'sleep':
        return openSleep(work, compiled);
      case 'child':
        return openChildren(work, compiled);
      case 'succeed':
        return openSucceed(work, compiled);
      case 'fail':
        return openFail(work, compiled);
      default:
        return compiled.step satisfies never;
    }
  };

  const route = (work: Work): RunEvent => {
    if (isOverBudget(work)) return overBudget(work);
    const { at } = work.turn;
    const compiled = compiledAt(work);
    const [first] = compiled.next;
    if (first !== undefined && first.when === undefined) return { type: 'route.taken', at, to: first.to };
    const reads = scope(work);
    const target = resolveNext(compiled.next, reads);
    if (target.ok) return { type: 'route.taken', at, to: target.value };
    // A condition that fails is the step's failure, and `on_error` may take it; no match at all is the run's.
    const noneMatched = compiled.next.every(({ when }) => when !== undefined && evaluate(when, reads).ok);
    return noneMatched
      ? { type: 'run.failed', at, error: { ...target.error, stepId: compiled.step.id } }
      : failStep(work, target.error);
  };

  const conclude = (work: Work): RunEvent => {
    const { output } = work.program.compiled;
    const place = placeOf(work.snapshot.value);
    return succeedWith(
      work,
      output === undefined
        ? { ok: true, value: outputOf(documentsOf(work), place.at === 'step' ? place.step : undefined) }
        : render(output, scope(work)),
    );
  };

  /** The event of a wait becomes the output of its step, and what `event` reads from then on. */
  const takeEvent = (work: Work, stepId: string, event: string, key: string, payload: Json): void => {
    const delivered: JsonObject = { name: event, key, payload };
    work.turn.rows.documents.push({ runId: work.runId, name: 'event', body: JSON.stringify(delivered) });
    setOutput(work, stepId, payload);
    setDocuments(work, { ...documentsOf(work), event: delivered });
  };

  const openWait = (work: Work): void => {
    const place = placeOf(work.snapshot.value);
    const compiled = compiledAt(work);
    const { waitKey: key, dueAt } = work.snapshot.context;
    if (place.at !== 'step' || compiled.step.kind !== 'wait_event' || key === undefined)
      throw new Error(`run ${work.runId} opens a wait without a key`);
    const { project } = work.record;
    const { event } = compiled.step;
    const wait: WaitRecord = {
      runId: work.runId,
      project,
      event,
      key,
      stepId: place.step,
      since: work.turn.at,
      order: host.nextOrder(),
      ...(typeof dueAt === 'number' ? { deadlineAt: dueAt } : {}),
    };
    work.turn.rows.waitsOpened.push(wait);
    const meeting = readMeeting(work.turn, project, event, key);
    if (!meeting.moreWaits)
      writeMeeting(work.turn, project, event, key, { ...meeting, waits: [...meeting.waits, wait] });
  };

  const closeWait = (work: Work, place: Place, before: RunContext): void => {
    closeWaitRow(work.turn.rows, work.runId);
    const step = place.at === 'step' ? work.program.compiled.steps.get(place.step)?.step : undefined;
    if (step?.kind !== 'wait_event' || before.waitKey === undefined) return;
    const { project } = work.record;
    const meeting = readMeeting(work.turn, project, step.event, before.waitKey);
    writeMeeting(work.turn, project, step.event, before.waitKey, {
      ...meeting,
      waits: meeting.waits.filter(({ runId }) => runId !== work.runId),
    });
  };

  const startChildren = (work: Work, before: RunContext): void => {
    const compiled = compiledAt(work);
    const { step } = compiled;
    const { children, visits } = work.snapshot.context;
    if (step.kind !== 'child' || children === undefined) return;
    const { turn, record } = work;
    const first = before.children?.started ?? 0;
    if (children.started === first) return;
    let recent = turn.peek<RecentChild>(recentChildrenKey(work.runId));
    const rememberStarted = (): void => {
      turn.write(recentChildrenKey(work.runId), recent);
    };
    turn.write(CHILDREN_STARTED, (turn.peek<number>(CHILDREN_STARTED) ?? 0) + children.started - first);
    const refuse = (error: StepError): void => {
      // Those that were started before the one that cannot be are cancelled with the step: it must know them.
      rememberStarted();
      work.queue.push(failStep(work, error));
    };
    if (record.depth >= MAX_DEPTH)
      return refuse({
        class: 'fatal',
        code: 'child_failed',
        message: `runs may not start each other deeper than ${MAX_DEPTH}`,
      });
    const latest = readLatest(turn, step.definition);
    if (latest === undefined)
      return refuse({
        class: 'fatal',
        code: 'child_failed',
        message: `definition ${step.definition} is not registered`,
      });
    const items = itemsOf(work, compiled);
    if (!items.ok) return refuse(items.error);
    const visit = visits[step.id] ?? 1;
    const program = readProgram(turn, host.programs, latest.id, latest.version);
    // A new visit starts from none; within one visit the machine says how many were started before.
    for (let index = first; index < children.started; index += 1) {
      const item = items.value?.[index];
      const input = compiled.input === undefined ? OK : render(compiled.input, scope(work, item));
      if (!input.ok) return refuse(input.error);
      const checked = host.checkInput(program, input.value ?? {});
      if (!checked.ok)
        return refuse({ class: 'fatal', code: 'child_failed', message: `child ${index}: ${checked.failure.message}` });
      const runId = turn.newId();
      recent = { runId, earlier: recent };
      const message: RunMessage = {
        kind: 'start',
        project: record.project,
        definitionId: latest.id,
        definitionVersion: latest.version,
        input: input.value ?? {},
        correlation: JSON.parse(record.correlation) as JsonObject,
        parent: { runId: work.runId, stepId: step.id, visit, index },
        traceId: record.traceId,
        depth: record.depth + 1,
      };
      turn.tell({ type: 'run', id: runId }, message);
      addEntry(work, { kind: 'child.started', stepId: step.id, visit, data: { run_id: runId, index } });
    }
    rememberStarted();
  };

  /**
   * Children that may be open: what the store knows, and those started since. Some may have ended in this group: nothing
   * keeps count of them here, so that the end of a child costs the same among a thousand as alone.
   */
  const openChildrenOf = ({ turn, runId }: Work): readonly string[] => {
    const open = [...turn.read(`once/open-children/${runId}`, { kind: 'open_children', runId })];
    for (let one = turn.peek<RecentChild>(recentChildrenKey(runId)); one !== undefined; one = one.earlier)
      open.push(one.runId);
    return open;
  };

  /**
   * Ends the children with the step, in the same commit; of a tree that is larger than one commit can take, those beyond
   * follow at once.
   */
  const cancelChildren = (work: Work): void => {
    const { turn } = work;
    let cancelled = turn.peek<number>(CHILDREN_CANCELLED) ?? 0;
    for (const runId of openChildrenOf(work)) {
      cancelled += 1;
      const message: RunMessage = { kind: 'cancel', reason: STEP_ENDED };
      if (cancelled <= CHILDREN_CANCELLED_IN_A_GROUP) turn.tell({ type: 'run', id: runId }, message);
      else carryOver(work, { runId, name: CANCEL_TIMER, dueAt: turn.at });
    }
    turn.write(CHILDREN_CANCELLED, cancelled);
  };

  const endChildren = (work: Work, before: RunContext, place: Place, event: RunEvent): void => {
    const { children } = before;
    const isLast = event.type === 'child.finished' && children !== undefined && children.finished + 1 >= children.total;
    if (!isLast) cancelChildren(work);
    if (place.at !== 'step') return;
    const visit = before.visits[place.step] ?? 1;
    const output = documentsOf(work).steps[place.step]?.output;
    const left = placeOf(work.snapshot.value);
    const failed = left.at === 'end' || (left.at === 'step' && left.phase !== 'routing');
    const { error } = work.snapshot.context;
    addOutbox(
      work,
      stepSpan(work.record, {
        spanId: visitSpanIdOf(work.runId, place.step, visit),
        stepId: place.step,
        visit,
        status: !failed ? 'succeeded' : left.at === 'end' && left.status === 'cancelled' ? 'cancelled' : 'failed',
        startedAt: before.enteredAt ?? work.record.createdAt,
        endedAt: work.turn.at,
        ...(output === undefined ? {} : { output }),
        ...(failed && error !== undefined ? { error } : {}),
      }),
    );
  };

  const finish = (work: Work): void => {
    const place = placeOf(work.snapshot.value);
    if (place.at !== 'end') throw new Error(`run ${work.runId} finishes without an end`);
    const { turn, record } = work;
    const { error, usage } = work.snapshot.context;
    if (record.deadlineAt !== undefined) clearTimerRow(turn.rows, { runId: work.runId, name: RUN_TIMER });
    const documents = documentsOf(work);
    addOutbox(
      work,
      runSpan(
        record,
        place.status,
        {
          at: turn.at,
          usage,
          ...(error === undefined ? {} : { error }),
          ...(documents.output === undefined ? {} : { output: documents.output }),
        },
        documents.input,
      ),
    );
    if (record.parent !== undefined) {
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
    }
  };

  const dataOf = (work: Work, kind: JournalKind, event: RunEvent, from: Place): JsonObject => {
    const { context } = work.snapshot;
    const to = placeOf(work.snapshot.value);
    switch (kind) {
      case 'run.started':
        return {
          definition_id: work.record.definitionId,
          definition_version: work.record.definitionVersion,
          ...(work.record.parent === undefined ? {} : { parent_run_id: work.record.parent.runId }),
        };
      case 'cursor.moved':
        return from.at === 'step' ? { from: from.step } : {};
      case 'step.finished':
        return usageData(event);
      case 'step.failed': {
        const error = 'error' in event ? event.error : undefined;
        const retries = to.at === 'step' && willRetry(to.phase);
        return {
          ...(error === undefined ? {} : { error: errorData(error) }),
          will_retry: retries,
          ...(retries && typeof context.dueAt === 'number' ? { retry_at: context.dueAt } : {}),
          ...usageData(event),
        };
      }
      case 'step.requeued':
        return { reason: requeueReason(event) };
      case 'run.waiting':
        return {
          reason: waitReason(to, work.program),
          ...(context.waitKey === undefined ? {} : { key: context.waitKey, event: eventNameAt(work, to) }),
          ...(typeof context.dueAt === 'number' ? { due_at: context.dueAt } : {}),
        };
      case 'run.resumed':
        return {
          reason: event.type === 'timer.due' ? 'timer' : event.type === 'child.finished' ? 'children' : 'event',
        };
      case 'event.delivered':
        return event.type === 'event.delivered' ? { event: event.event, key: event.key } : {};
      case 'child.finished':
        return event.type === 'child.finished' ? { run_id: event.runId, index: event.index, status: event.status } : {};
      case 'run.finished':
        return {
          status: statusAt(to),
          ...(to.at === 'end' && to.status === 'failed' && context.error !== undefined
            ? { error: errorData(context.error) }
            : {}),
          ...(event.type === 'run.cancelled' && event.reason !== undefined ? { reason: event.reason } : {}),
        };
      default:
        return {};
    }
  };

  const journal = (work: Work, kind: JournalKind, event: RunEvent, from: Place, before: RunContext): void => {
    const to = placeOf(work.snapshot.value);
    const isOfNext = kind === 'cursor.moved' || kind === 'run.waiting' || kind === 'step.leased';
    const place = isOfNext ? to : from;
    const { context } = work.snapshot;
    const of = isOfNext ? context : before;
    const stepFields =
      place.at === 'step' && kind !== 'run.finished' ? { stepId: place.step, visit: of.visits[place.step] ?? 1 } : {};
    const leaseId = 'leaseId' in event ? event.leaseId : undefined;
    addEntry(work, {
      kind,
      ...stepFields,
      // The lease that led here; a step that was just entered has no attempt of its own yet.
      ...(leaseId === undefined ? {} : { leaseId, ...(of.attempt === 0 ? {} : { attempt: of.attempt }) }),
      ...(event.type === 'step.offered' ? { workerId: event.workerId } : {}),
      data: dataOf(work, kind, event, from),
    });
  };

  const interpret = (work: Work, effect: Effect, event: RunEvent, from: Place, before: RunContext): void => {
    const { turn, runId } = work;
    switch (effect.type) {
      case 'journal':
        return journal(work, (effect.params as { kind: JournalKind }).kind, event, from, before);
      case 'open':
        work.cameFrom = from.at === 'step' ? from.step : undefined;
        work.queue.push(open(work));
        return;
      case 'route':
        work.queue.push(route(work));
        return;
      case 'conclude':
        work.queue.push(conclude(work));
        return;
      case 'schedule': {
        const { timer } = effect.params as { timer: string };
        const { dueAt } = work.snapshot.context;
        const place = placeOf(work.snapshot.value);
        if (dueAt === undefined) return;
        const row = { runId, name: timer, ...stepIdOf(place) };
        if (dueAt !== null && timer === MORE_CHILDREN) carryOver(work, { ...row, dueAt });
        else turn.rows.timersSet.push(dueAt === null ? row : { ...row, dueAt: Math.ceil(dueAt) });
        return;
      }
      case 'unschedule':
        if (before.dueAt !== undefined)
          clearTimerRow(turn.rows, { runId, name: (effect.params as { timer: string }).timer });
        return;
      case 'openWait':
        return openWait(work);
      case 'closeWait':
        return closeWait(work, from, before);
      case 'dropLease':
        if (from.at === 'step' && from.phase === 'leased' && before.leaseId !== undefined) {
          const message: LeaseMessage = { kind: 'cancel' };
          turn.tell({ type: 'lease', id: before.leaseId }, message);
        }
        return;
      case 'startChildren':
        return startChildren(work, before);
      case 'cancelChildren':
        return endChildren(work, before, from, event);
      case 'finish':
        return finish(work);
      default:
        throw new Error(`the run machine wants "${effect.type}", which nobody does`);
    }
  };

  /** Takes the events of the queue, and those that they set off, until the run rests. */
  const settle = (work: Work): void => {
    for (let event = work.queue.shift(); event !== undefined; event = work.queue.shift()) {
      const before = work.snapshot.context;
      const from = placeOf(work.snapshot.value);
      const { next, effects } = transition(work.program.machine, work.snapshot as never, event);
      work.snapshot = next;
      const entriesBefore = work.entries.length;
      const slot: [RunEvent | null, number] = [event, 0];
      work.events.push(slot);
      for (const effect of effects) interpret(work, effect, event, from, before);
      slot[1] = work.entries.length - entriesBefore;
      const place = placeOf(work.snapshot.value);
      // Usage of a failed try counts too: the limit is looked at wherever the run would go on.
      if (
        'usage' in event &&
        place.at === 'step' &&
        place.phase !== 'routing' &&
        work.queue.length === 0 &&
        isOverBudget(work)
      )
        work.queue.push(overBudget(work));
    }
  };

  /** Where it stands in the queue, the dispatcher knows of it before the commit. */
  const offerSoon = (turn: Turn, { runId, queueOrder, project, definitionId, definitionVersion }: RunRecord): void => {
    if (queueOrder === undefined) return;
    turn.atEnd(() => {
      host.ready({ runId, order: queueOrder, project, definitionId, definitionVersion });
    });
  };

  /** Writes what the events made of the run: its row, its place in the queue, its memory. */
  const store = (work: Work, before: RunActor | undefined): RunActor => {
    const place = placeOf(work.snapshot.value);
    const status = statusAt(place);
    const { context } = work.snapshot;
    const { turn } = work;
    const { cursor: _cursor, queueOrder: _queueOrder, ...rest } = work.record;
    const queueOrder = status === 'queued' ? queueOrderOf(context) : undefined;
    work.record = {
      ...rest,
      status,
      updatedAt: turn.at,
      ...(place.at === 'step' ? { cursor: place.step } : {}),
      ...(queueOrder === undefined ? {} : { queueOrder }),
      ...(place.at === 'end' && rest.endedAt === undefined ? { endedAt: turn.at } : {}),
    };
    const actor = actorOf(work, before);
    turn.write(runKey(work.runId), actor);
    offerSoon(turn, work.record);
    if (hasEnded(status)) {
      // What is over leaves memory at once. A run that rests leaves it when others have been busy for long enough: most
      // waits are short, and what ends them would have to read three times. A hundred thousand of them cost rows.
      turn.forget(runKey(work.runId));
      turn.forget(documentsKey(work.runId));
    }
    if (work.entries.length > 0)
      turn.after(() => {
        host.journalled(work.runId);
      });
    return actor;
  };

  const workOn = (turn: Turn, actor: RunActor): Work => ({
    turn,
    runId: actor.record.runId,
    program: actor.program,
    record: actor.record,
    snapshot: actor.snapshot,
    nextSeq: actor.nextSeq,
    documents: undefined,
    queue: [],
    entries: [],
    events: [],
    cameFrom: undefined,
  });

  const advance = (turn: Turn, actor: RunActor, prepare: (work: Work) => RunEvent): RunActor => {
    const work = workOn(turn, actor);
    work.queue.push(prepare(work));
    settle(work);
    return store(work, actor);
  };

  const start = (turn: Turn, runId: string, body: RunMessage & { kind: 'start' }): RunActor => {
    const program = readProgram(turn, host.programs, body.definitionId, body.definitionVersion);
    const { runTimeoutMs } = program.definition.limits;
    const userId = body.correlation['user_id'];
    const record: RunRecord = {
      runId,
      traceId: body.traceId ?? traceIdOf(runId),
      project: body.project,
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
    turn.write(documentsKey(runId), documents);
    if (record.deadlineAt !== undefined) turn.rows.timersSet.push({ runId, name: RUN_TIMER, dueAt: record.deadlineAt });
    const work = workOn(turn, {
      record,
      snapshot: program.initial,
      program,
      nextSeq: 0,
      changed: true,
      pending: undefined,
    });
    work.documents = documents;
    addOutbox(work, runSpan(record, 'running', undefined, body.input));
    work.queue.push({ type: 'run.started', at: turn.at });
    settle(work);
    return store(work, undefined);
  };

  const offer = (
    turn: Turn,
    runId: string,
    actor: RunActor | undefined,
    body: RunMessage & { kind: 'offer' },
  ): void => {
    const place = actor === undefined ? undefined : standing(actor);
    if (actor === undefined || place?.phase !== 'queued') return body.stale();
    const compiled = actor.program.compiled.steps.get(place.step);
    if (compiled?.step.kind !== 'task') throw new Error(`step ${place.step} of run ${runId} is queued and no task`);
    const { step } = compiled;
    const { record } = actor;
    const documents = readDocuments(turn, actor);
    const visit = actor.snapshot.context.visits[step.id] ?? 1;
    const attempt = actor.snapshot.context.attempt + 1;
    const lastDetails =
      attempt === 1
        ? undefined
        : turn.read(`once/before/${runId}/${step.id}/${visit}/${attempt}`, {
            kind: 'attempt_before',
            runId,
            stepId: step.id,
            visit,
            attempt,
          })?.details;
    const input = compiled.input === undefined ? OK : render(compiled.input, scopeOf(actor, documents));
    if (!input.ok) throw new Error(`the input of step ${step.id} could be rendered when it opened, and cannot now`);
    const leaseId = turn.newId();
    const offered: LeaseMessage = {
      kind: 'offered',
      runId,
      stepId: step.id,
      visit,
      attempt,
      workerId: body.workerId,
      delivery: step.delivery,
      lapsesAt: body.lapsesAt,
    };
    turn.tell({ type: 'lease', id: leaseId }, offered);
    advance(turn, actor, () => ({ type: 'step.offered', at: turn.at, leaseId, workerId: body.workerId }));
    const lease: Lease = {
      leaseId,
      runId,
      project: record.project,
      definitionId: record.definitionId,
      definitionVersion: record.definitionVersion,
      stepId: step.id,
      visit,
      attempt,
      delivery: step.delivery,
      ...(input.value === undefined ? {} : { input: input.value }),
      steps: documents.steps,
      state: documents.state,
      correlation: JSON.parse(record.correlation) as JsonObject,
      stepKey: visitKeyOf(runId, step.id, visit),
      traceId: record.traceId,
      spanId: spanIdOf(leaseId),
      leaseExpiresAt: body.lapsesAt,
      ...(record.deadlineAt === undefined ? {} : { deadlineAt: record.deadlineAt }),
      ...(lastDetails === undefined ? {} : { lastDetails: JSON.parse(lastDetails) as Json }),
    };
    turn.atEnd(() => {
      body.granted(lease);
    });
  };

  const failedEvent = (turn: Turn, actor: RunActor, body: RunMessage & { kind: 'failed' }): RunEvent => {
    const place = standing(actor);
    const step = place === undefined ? undefined : actor.program.compiled.steps.get(place.step)?.step;
    if (step?.kind !== 'task') throw new Error(`run ${actor.record.runId} is at no task`);
    const { class: errorClass } = body.error;
    const least = body.retryAfterMs ?? 0;
    // A rate limit without a time is waited for like a first failure.
    const wait =
      errorClass === 'rate_limited'
        ? (body.retryAfterMs ?? step.retry.backoffMs)
        : Math.max(least, backoffMs(step.retry, actor.snapshot.context.failures, turn.random()));
    return {
      type: 'step.failed',
      at: turn.at,
      error: body.error,
      leaseId: body.leaseId,
      bodyRan: body.bodyRan,
      retryAt: Math.ceil(turn.at + wait),
      ...(body.usage === undefined ? {} : { usage: body.usage }),
    };
  };

  const holds = (actor: RunActor, leaseId: string): boolean =>
    standing(actor)?.phase === 'leased' && actor.snapshot.context.leaseId === leaseId;

  const childFinished = (turn: Turn, actor: RunActor, body: RunMessage & { kind: 'child' }): void => {
    const place = standing(actor);
    const isExpected =
      place?.phase === 'waiting' &&
      place.step === body.stepId &&
      (actor.snapshot.context.visits[body.stepId] ?? 1) === body.visit &&
      actor.snapshot.context.children !== undefined;
    if (!isExpected) return; // its step gave up on it before
    const { runId } = actor.record;
    const { children } = actor.snapshot.context;
    advance(turn, actor, (work) => {
      if (body.status === 'succeeded')
        turn.write(recentKey(runId, body), {
          index: body.index,
          output: body.output ?? null,
          earlier: turn.peek<RecentOutput>(recentKey(runId, body)),
        } satisfies RecentOutput);
      if (body.status === 'succeeded' && children !== undefined && children.finished + 1 >= children.total)
        setOutput(work, body.stepId, gatherOutputs(work, body, children.total));
      return {
        type: 'child.finished',
        at: turn.at,
        runId: body.runId,
        index: body.index,
        status: body.status,
        ...(body.status === 'succeeded' ? {} : { error: childError(body) }),
        ...mayStart(turn, compiledAt(work)),
      };
    });
  };

  /** The outputs of all children of the visit: those committed before from the store, those of this group from memory. */
  const gatherOutputs = (work: Work, body: RunMessage & { kind: 'child' }, total: number): Json | undefined => {
    const { turn, runId } = work;
    // A child without an output leaves its step without one: null would be an answer that nobody gave.
    if (compiledAt(work).forEach === undefined) return body.output;
    const outputs: Json[] = Array.from({ length: total }, () => null);
    const lookup = { kind: 'child_outputs', runId, stepId: body.stepId, visit: body.visit } as const;
    for (const [index, output] of turn.read(`once/child-outputs/${runId}/${body.stepId}/${body.visit}`, lookup))
      if (output !== undefined) outputs[index] = JSON.parse(output) as Json;
    for (let one = turn.peek<RecentOutput>(recentKey(runId, body)); one !== undefined; one = one.earlier)
      outputs[one.index] = one.output;
    return outputs;
  };

  const timer = (turn: Turn, runId: string, actor: RunActor, body: RunMessage & { kind: 'timer' }): void => {
    if (body.name === RUN_TIMER) {
      clearTimerRow(turn.rows, { runId, name: RUN_TIMER });
      if (standing(actor) === undefined) return;
      advance(turn, actor, (work) =>
        limitError(
          work,
          'run_timeout_ms',
          `the run is older than its limit run_timeout_ms of ${actor.program.definition.limits.runTimeoutMs} ms`,
        ),
      );
      return;
    }
    if (body.name === CANCEL_TIMER) {
      clearTimerRow(turn.rows, { runId, name: CANCEL_TIMER });
      cancel(turn, actor, STEP_ENDED);
      return;
    }
    const place = standing(actor);
    const { dueAt } = actor.snapshot.context;
    const step = place === undefined ? undefined : actor.program.compiled.steps.get(place.step)?.step;
    // A row that outlived its phase: nothing waits for it any more. One of the present phase may have taken its name since
    // it was read, and is due no sooner: its row is as it should be, or will be. A row that was put off is due later than
    // what it stands for.
    if (place === undefined || step === undefined || dueAt === undefined || timerOf(step) !== body.name) {
      clearTimerRow(turn.rows, { runId, name: body.name });
      return;
    }
    if (dueAt === null) return;
    if (body.dueAt < Math.ceil(dueAt)) {
      turn.rows.timersSet.push({ runId, name: body.name, dueAt: Math.ceil(dueAt), ...stepIdOf(place) });
      return;
    }
    if (dueAt > turn.at) return;
    if (step.kind === 'child' && childrenLeft(turn) === 0) {
      // This commit takes no more either: nothing moves, and the row stays due.
      turn.after(() => {
        host.due({ runId, name: body.name, dueAt: body.dueAt });
      });
      return;
    }
    advance(turn, actor, (work) => {
      if (step.kind !== 'wait_event' || step.onTimeout === 'continue') {
        if (step.kind === 'wait_event') setOutput(work, step.id, undefined);
        return { type: 'timer.due', at: turn.at, ...(step.kind === 'child' ? mayStart(turn, compiledAt(work)) : {}) };
      }
      return {
        type: 'timer.due',
        at: turn.at,
        error: { class: 'timeout', message: `no event "${step.event}" came within ${step.timeoutMs} ms` },
      };
    });
  };

  const cancel = (turn: Turn, actor: RunActor, reason: string | undefined): RunActor =>
    standing(actor) === undefined
      ? actor
      : advance(turn, actor, () => ({
          type: 'run.cancelled',
          at: turn.at,
          ...(reason === undefined ? {} : { reason }),
        }));

  return {
    type: 'run',
    flush: flushRun,
    receive: (turn, runId, message) => {
      const body = message as RunMessage;
      if (body.kind === 'start') {
        start(turn, runId, body);
        return undefined;
      }
      if (body.kind === 'quarantine') return quarantine(turn, runId);
      if (body.kind === 'take_back') return takeBack(turn, runId);
      const actor = readRun(turn, host.programs, runId);
      if (body.kind === 'offer') return offer(turn, runId, actor, body);
      if (actor === undefined) {
        if (body.kind === 'timer') clearTimerRow(turn.rows, { runId, name: body.name });
        return notFound('run', runId);
      }
      switch (body.kind) {
        case 'completed':
          if (!holds(actor, body.leaseId)) throw new Error(`run ${runId} does not hold lease ${body.leaseId}`);
          advance(turn, actor, (work) => {
            const place = placeOf(work.snapshot.value);
            if (body.statePatch !== undefined) patchState(work, body.statePatch);
            if (place.at === 'step') setOutput(work, place.step, body.output);
            return {
              type: 'step.completed',
              at: turn.at,
              leaseId: body.leaseId,
              ...(body.usage === undefined ? {} : { usage: body.usage }),
            };
          });
          return undefined;
        case 'failed':
          if (!holds(actor, body.leaseId)) throw new Error(`run ${runId} does not hold lease ${body.leaseId}`);
          advance(turn, actor, () => failedEvent(turn, actor, body));
          return undefined;
        case 'lapsed':
          if (!holds(actor, body.leaseId)) throw new Error(`run ${runId} does not hold lease ${body.leaseId}`);
          advance(turn, actor, () => ({ type: 'step.lapsed', at: turn.at, leaseId: body.leaseId }));
          return undefined;
        case 'orphaned':
          if (!holds(actor, body.leaseId)) throw new Error(`run ${runId} does not hold lease ${body.leaseId}`);
          advance(turn, actor, () => ({
            type: 'step.orphaned',
            at: turn.at,
            leaseId: body.leaseId,
            bodyRan: body.bodyRan,
            error: { class: 'orphaned', message: 'the worker fell silent and its lease was reclaimed' },
          }));
          return undefined;
        case 'note':
          noteEntry(turn, actor, body.entry);
          turn.after(() => {
            host.journalled(runId);
          });
          return undefined;
        case 'timer':
          return timer(turn, runId, actor, body);
        case 'deliver':
          if (!isWaitingFor(actor, body.event, body.key)) return false;
          advance(turn, actor, (work) => {
            const place = placeOf(work.snapshot.value);
            if (place.at === 'step') takeEvent(work, place.step, body.event, body.key, body.payload);
            return { type: 'event.delivered', at: turn.at, event: body.event, key: body.key };
          });
          return true;
        case 'child':
          return childFinished(turn, actor, body);
        case 'cancel': {
          const { project } = actor.record;
          if (body.reach !== undefined && !reaches(body.reach, project)) return forbidden(project);
          const cancelled = cancel(turn, actor, body.reason);
          return () => ({ ok: true, value: viewNow(turn, cancelled) });
        }
        default:
          return body satisfies never;
      }
    },
  };

  function viewNow(turn: Turn, actor: RunActor): Run {
    const now = readRun(turn, host.programs, actor.record.runId) ?? actor;
    return viewOf(now, readDocuments(turn, now));
  }

  function patchState(work: Work, patch: JsonObject): void {
    const documents = documentsOf(work);
    let { characters } = documents;
    const state: Record<string, Json> = Object.assign(Object.create(null), documents.state);
    for (const key of Object.keys(patch)) {
      const value = patch[key] as Json;
      const body = JSON.stringify(value);
      work.turn.rows.documents.push({ runId: work.runId, name: `state/${key}`, body });
      state[key] = value;
      characters += key.length + body.length;
    }
    setDocuments(work, { ...documents, state, characters });
  }

  /** Sets a run aside that cannot be loaded. Reads its row only: the rest may be what is wrong with it. */
  function quarantine(turn: Turn, runId: string): void {
    try {
      readRun(turn, host.programs, runId);
      return; // Taken back, or erased, since somebody met it.
    } catch (error) {
      if (!(error instanceof Quarantined)) throw error;
      const stored = turn.read(runKey(runId), { kind: 'run', runId });
      if (stored === undefined || stored.record.fault !== undefined) return;
      const { queueOrder: _queueOrder, ...record } = stored.record;
      const aside = { ...record, fault: error.fault, version: record.version + 1 };
      turn.rows.runsUpdated.push({ record: aside, queueOrderChanged: stored.record.queueOrder !== undefined });
      turn.write(runKey(runId), { ...stored, record: aside } satisfies StoredRun);
    }
  }

  /** Takes a run back that was set aside, where this release can load it after all: where it stood, it goes on. */
  function takeBack(turn: Turn, runId: string): void {
    const stored: StoredRun | RunActor | undefined = turn.read(runKey(runId), { kind: 'run', runId });
    if (stored === undefined || 'snapshot' in stored || stored.record.fault === undefined) return;
    const { fault: _fault, ...withoutFault } = stored.record;
    let revived: RunActor;
    try {
      revived = bringToLife(turn, host.programs, { ...stored, record: withoutFault });
    } catch (error) {
      if (error instanceof Quarantined) return;
      throw error;
    }
    const { program, snapshot } = revived;
    const { context } = snapshot;
    const place = placeOf(snapshot.value);
    const queueOrder = statusAt(place) === 'queued' ? queueOrderOf(context) : undefined;
    const record = { ...withoutFault, ...(queueOrder === undefined ? {} : { queueOrder }) };
    const actor: RunActor = { ...revived, record, changed: true };
    turn.write(runKey(runId), actor);
    offerSoon(turn, record);
    const step = stepAt(program, place);
    // Timers that came due meanwhile were put off.
    const name = step === undefined ? undefined : timerOf(step);
    if (name !== undefined && typeof context.dueAt === 'number')
      turn.rows.timersSet.push({ runId, name, dueAt: Math.ceil(context.dueAt), ...stepIdOf(place) });
    if (record.deadlineAt !== undefined && place.at !== 'end')
      turn.rows.timersSet.push({ runId, name: RUN_TIMER, dueAt: record.deadlineAt });
    if (step?.kind === 'wait_event' && context.waitKey !== undefined) meetAgain(turn, actor, step, context.waitKey);
  }

  /** The wait of a run that is taken back: an event that came meanwhile was parked, for nobody saw the wait. */
  function meetAgain(turn: Turn, actor: RunActor, step: Step & { kind: 'wait_event' }, key: string): void {
    const { runId, project } = actor.record;
    const since = actor.snapshot.context.enteredAt ?? turn.at;
    const meeting = readMeeting(turn, project, step.event, key);
    const parked = meeting.parked.find(({ at }) => step.acceptParked || at > since);
    if (parked === undefined && meeting.moreParked) throw new NotInThisGroup();
    // The store has left its wait out so far: what memory knows of those who wait is no longer whole.
    if (parked === undefined) forgetMeeting(turn, project, step.event, key);
    else {
      takeParked(turn, meeting, parked, runId);
      const body: RunMessage = { kind: 'deliver', event: step.event, key, payload: JSON.parse(parked.payload) as Json };
      turn.tell({ type: 'run', id: runId }, body);
    }
  }
};

/** Takes the oldest parked event of a meeting for a run. */
const takeParked = (turn: Turn, meeting: Meeting, parked: ParkedEvent, runId: string): void => {
  const { project, event, key } = parked;
  writeMeeting(turn, project, event, key, { ...meeting, parked: meeting.parked.filter((one) => one !== parked) });
  turn.rows.unparked.push(parked.order);
  noteEventId(turn, project, parked.eventId, runId);
};

const OK = { ok: true, value: undefined } as const;

/** How many children this commit can still take. */
const childrenLeft = (turn: Turn): number =>
  Math.max(0, CHILDREN_STARTED_IN_A_GROUP - (turn.peek<number>(CHILDREN_STARTED) ?? 0));
/** The same, where a step might want more. */
const mayStart = (turn: Turn, { step }: CompiledStep): { readonly mayStart?: number } => {
  const left = childrenLeft(turn);
  return step.kind === 'child' && left < step.maxParallel ? { mayStart: left } : {};
};

/** Children that were started in this group: the store cannot know them yet. The last comes first. */
type RecentChild = { readonly runId: string; readonly earlier: RecentChild | undefined };
const recentChildrenKey = (runId: string): string => `once/recent-children/${runId}`;

/** Outputs of children that ended in this group: the store cannot know them yet. The last comes first. */
type RecentOutput = { readonly index: number; readonly output: Json; readonly earlier: RecentOutput | undefined };
const recentKey = (runId: string, of: { readonly stepId: string; readonly visit: number }): string =>
  `once/recent-outputs/${runId}/${of.stepId}/${of.visit}`;

const stepIdOf = (place: Place): { readonly stepId?: string } => (place.at === 'step' ? { stepId: place.step } : {});

const compiledAt = (work: Work): CompiledStep => {
  const place = placeOf(work.snapshot.value);
  const compiled = place.at === 'step' ? work.program.compiled.steps.get(place.step) : undefined;
  if (compiled === undefined) throw new Error(`run ${work.runId} is at no step`);
  return compiled;
};

const outputOf = (documents: RunDocuments, stepId: string | undefined): Json | undefined =>
  stepId === undefined ? undefined : documents.steps[stepId]?.output;

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

const nameOfType = (value: Json | undefined): string => {
  if (value === undefined) return 'nothing';
  return value === null ? 'null' : typeof value;
};

const errorData = (error: RunError): JsonObject => ({
  class: error.class,
  message: error.message,
  ...(error.code === undefined ? {} : { code: error.code }),
  ...(error.limit === undefined ? {} : { limit: error.limit }),
  ...(error.stepId === undefined ? {} : { step_id: error.stepId }),
});

const usageData = (event: RunEvent): JsonObject => {
  const usage = 'usage' in event ? event.usage : undefined;
  if (usage === undefined) return {};
  return {
    usage: {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      total_tokens: usage.totalTokens,
      ...(usage.cost === undefined ? {} : { cost: usage.cost }),
    },
  };
};

const requeueReason = (event: RunEvent): string => {
  if (event.type === 'step.lapsed') return 'lapsed';
  if (event.type === 'step.orphaned') return 'orphaned';
  return event.type === 'step.failed' && event.error.class === 'unservable' ? 'unservable' : 'retry';
};

const stepAt = (program: Program, place: Place) =>
  place.at === 'step' ? program.compiled.steps.get(place.step)?.step : undefined;

/** The timer of a step's phase that has one. */
const timerOf = ({ kind }: Step): string | undefined =>
  kind === 'succeed' || kind === 'fail' ? undefined : timerNames[kind];
const timerNames = { task: 'backoff', wait_event: 'wait', sleep: 'sleep', child: MORE_CHILDREN } as const;

const waitReasons = { task: 'backoff', wait_event: 'event', sleep: 'sleep', child: 'children' } as const;
const waitReason = (place: Place, program: Program): string => {
  const step = stepAt(program, place);
  return step === undefined || step.kind === 'succeed' || step.kind === 'fail' ? 'end' : waitReasons[step.kind];
};

const eventNameAt = (work: Work, place: Place): string => {
  const step = stepAt(work.program, place);
  return step?.kind === 'wait_event' ? step.event : '';
};

/** The same for every attempt of a visit, another for each visit: a loop pays twice only if it means to. */
const visitKeyOf = (runId: string, stepId: string, visit: number): string => `${runId}:${stepId}:${visit}`;

const childError = (body: RunMessage & { kind: 'child' }): StepError =>
  body.status === 'cancelled'
    ? { class: 'cancelled', message: `child ${body.runId} was cancelled` }
    : {
        class: 'fatal',
        code: 'child_failed',
        message: `child ${body.runId} failed: ${body.error?.message ?? 'it gave no reason'}`.slice(0, 2000),
      };

/** True when an event of this name and key would move the run now. */
export const isWaitingFor = (actor: RunActor, event: string, key: string): boolean => {
  const place = standing(actor);
  const step = place === undefined ? undefined : actor.program.compiled.steps.get(place.step)?.step;
  return (
    place?.phase === 'waiting' &&
    step?.kind === 'wait_event' &&
    step.event === event &&
    actor.snapshot.context.waitKey === key
  );
};
