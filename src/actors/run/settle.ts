import { placeOf, type RunEvent, START_TIMER, statusOf } from '../../machines/run.ts';
import { step as transition } from '../../machines/transition.ts';
import { resolveNext } from '../../model/definition/compile.ts';
import type { Target } from '../../model/definition/definition.ts';
import { evaluate } from '../../model/definition/condition.ts';
import { hasEnded, type JournalKind, type RunUsage } from '../../model/run.ts';
import { clearTimerRow, type RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import { conclude, finish } from './ending.ts';
import type { RunHost } from './host.ts';
import { journalEntryOf } from './journal-data.ts';
import { askPlace, freePlace, stepIsHeld } from './keyed.ts';
import { overBudget, tooManyAttempts, tooManySteps } from './limits.ts';
import type { RunMessage } from './messages.ts';
import { isOfferable, offerSoon, queueOrderOf } from './queue-place.ts';
import { rest, setTimersAgain } from './resting.ts';
import { documentsKeyOf, documentsSlot } from './run-documents.ts';
import { type RunActor, runSlot, willRetry } from './run-state.ts';
import { viewOf } from './run-view.ts';
import { showWaits } from './show-waits.ts';
import type { EffectHost, Moment } from './steps/step-host.ts';
import { hostOf, stepEffects } from './steps/step-hosts.ts';
import { countdown, namedTime } from './timer-rows.ts';
import { addEntry, carryOver, compiledAt, failStep, scope, stepIdOf, type Work, workOn } from './work.ts';

/** The step at hand is to be entered: the event with which the machine goes on. */
const open = (work: Work): RunEvent => {
  if (work.refusal !== undefined) return { type: 'run.failed', at: work.turn.at, error: work.refusal };
  const limit = tooManySteps(work) ?? overBudget(work) ?? tooManyAttempts(work);
  if (limit !== undefined) return limit;
  const compiled = compiledAt(work);
  return hostOf(compiled).open(work, compiled);
};

/** The step at hand ended well: where the run goes on. @param to where the event that ended it leads by itself */
const route = (work: Work, to: Target | undefined): RunEvent => {
  const limit = overBudget(work);
  if (limit !== undefined) return limit;
  const { at } = work.turn;
  if (to !== undefined) return { type: 'route.taken', at, to };
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

/** What a paused run rests at acts again. */
const goOn: EffectHost = (work, moment) => {
  const place = placeOf(work.snapshot.value);
  const phase = place.at === 'step' ? place.phase : undefined;
  if (phase === 'opening') {
    work.cameFrom = moment.before.cameFrom;
    work.queue.push(open(work));
  } else if (phase === 'routing') work.queue.push(route(work, moment.before.wayOn));
  else setTimersAgain(work, moment, undefined);
};

const journal: EffectHost = (work, moment, params) => {
  addEntry(work, journalEntryOf(work, (params as { readonly kind: JournalKind }).kind, moment));
};

const schedule: EffectHost = (work, _moment, params) => {
  const { timer } = params as { readonly timer: string };
  const { dueAt, paused } = work.snapshot.context;
  if (dueAt === undefined || paused !== undefined) return;
  const row = { runId: work.runId, name: timer, ...stepIdOf(placeOf(work.snapshot.value)) };
  if (timer === START_TIMER) {
    if (dueAt !== null) work.turn.rows.timersSet.push(namedTime(row, dueAt));
    return;
  }
  const compiled = compiledAt(work);
  const { wait } = hostOf(compiled);
  if (dueAt === null) work.turn.rows.timersSet.push(row);
  else if (wait?.followsCommit === true) carryOver(work, row, dueAt);
  else if (wait?.namesTime?.(compiled) === true) work.turn.rows.timersSet.push(namedTime(row, dueAt));
  else work.turn.rows.timersSet.push(countdown(work.turn, row, dueAt));
};

const unschedule: EffectHost = ({ turn, runId }, { before }, params) => {
  const { timer } = params as { readonly timer: string };
  if (before.dueAt !== undefined) clearTimerRow(turn.rows, { runId, name: timer });
};

/** What becomes of each action of the run machine. */
const effectHosts: ReadonlyMap<string, EffectHost> = new Map([
  ...stepEffects,
  ...Object.entries<EffectHost>({
    journal,
    schedule,
    unschedule,
    askPlace,
    freePlace,
    finish,
    rest,
    goOn,
    open: (work, { from }) => {
      if (work.snapshot.context.paused !== undefined) return;
      work.cameFrom = from.at === 'step' ? from.step : work.record.restartedFrom?.cameFrom;
      work.queue.push(open(work));
    },
    route: (work, { event }) => {
      // What a worker reports is taken up to the door of the next step; what else came is kept until the run is resumed.
      if (work.snapshot.context.paused !== undefined && event.type !== 'step.completed') return;
      work.queue.push(route(work, event.type === 'event.delivered' ? event.to : undefined));
    },
    conclude: (work) => {
      work.queue.push(conclude(work));
    },
  }),
]);

/** What a run or one below it spent is counted with the run that started it, in the same commit. */
export const tellParent = (turn: Turn, { parent }: Pick<RunRecord, 'parent'>, usage: RunUsage): void => {
  if (parent === undefined) return;
  const message: RunMessage = { kind: 'spent', usage };
  turn.tell({ type: 'run', id: parent.runId }, message);
};

/** Events after which a step may be tried again; the keys of a task are asked for in between. */
const mayTryAgain: ReadonlySet<RunEvent['type']> = new Set([
  'step.failed',
  'step.orphaned',
  'step.admitted',
  'step.held',
]);

/** Takes the queued events, and those that they cause, until the run waits. */
export const settle = (work: Work): void => {
  for (let event = work.queue.shift(); event !== undefined; event = work.queue.shift()) {
    const moment: Moment = { event, from: placeOf(work.snapshot.value), before: work.snapshot.context };
    const { next, effects } = transition(work.program.machine, work.snapshot as never, event);
    work.snapshot = next;
    const entriesBefore = work.entries.length;
    const slot: [RunEvent | null, number] = [event, 0];
    work.events.push(slot);
    for (const { type, params } of effects) {
      const host = effectHosts.get(type);
      if (host === undefined) throw new Error(`the run machine wants "${type}", which nobody does`);
      host(work, moment, params);
    }
    slot[1] = work.entries.length - entriesBefore;
    if ('usage' in event && event.usage !== undefined) tellParent(work.turn, work.record, event.usage);
    else if (!mayTryAgain.has(event.type)) continue;
    // A failed try counts too: limits are checked wherever the run would go on.
    if (work.queue.length > 0) continue;
    const place = placeOf(work.snapshot.value);
    if (place.at !== 'step' || place.phase === 'routing') continue;
    const limit = overBudget(work) ?? (willRetry(place.phase) ? tooManyAttempts(work) : undefined);
    if (limit !== undefined) work.queue.push(limit);
  }
};

/** Writes what the events made of the run: its row, its place in the queue, its memory. */
export const storeRun = (work: Work, before: RunActor | undefined): RunActor => {
  const { turn, host, runId } = work;
  const place = placeOf(work.snapshot.value);
  const status = statusOf(work.snapshot);
  const { cursor: _cursor, queueOrder: _queueOrder, held: _held, ...rest } = work.record;
  const queueOrder = isOfferable(work.snapshot)
    ? queueOrderOf(work.snapshot.context, rest.priority, before, host.queueTime())
    : undefined;
  const held = place.at === 'held' || stepIsHeld(work) ? (work.heldBy ?? work.record.held) : undefined;
  work.record = {
    ...rest,
    status,
    updatedAt: turn.at,
    ...(place.at === 'step' ? { cursor: place.step } : {}),
    ...(queueOrder === undefined ? {} : { queueOrder }),
    ...(held === undefined ? {} : { held }),
    ...(place.at === 'end' && rest.endedAt === undefined ? { endedAt: turn.at } : {}),
  };
  const run: RunActor = {
    record: work.record,
    snapshot: work.snapshot,
    program: work.program,
    nextSeq: work.nextSeq,
    changed: true,
    pending:
      work.events.length === 0
        ? before?.pending // a column changed, and nothing in the journal
        : {
            earlier: before?.pending,
            firstSeq: before?.pending?.firstSeq ?? before?.nextSeq ?? 0,
            entries: work.entries,
            events: work.events,
          },
  };
  turn.write(runSlot, runId, run);
  offerSoon(host, turn, work.record);
  showWaits(work, before);
  if (hasEnded(status)) {
    // A run that ended leaves memory at once. A run that waits leaves it when other runs need the room: most waits are short,
    // and what ends them would have to read three times. A hundred thousand of them cost rows.
    turn.forget(runSlot, runId);
    turn.forget(documentsSlot, documentsKeyOf(work));
  }
  const { entries, documents } = work;
  if (entries.length > 0)
    turn.after(() => {
      host.journalled(runId, {
        status,
        entries,
        ...(documents === undefined ? {} : { run: () => viewOf(run, documents) }),
      });
    });
  return run;
};

/** Moves a run by one event, and by all that it sets off in it. */
export const advance = (host: RunHost, turn: Turn, run: RunActor, prepare: (work: Work) => RunEvent): RunActor => {
  const work = workOn(host, turn, run);
  work.queue.push(prepare(work));
  settle(work);
  return storeRun(work, run);
};
