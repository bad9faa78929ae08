import { isDeepStrictEqual } from 'node:util';
import { Unloadable } from '../../machines/persisted.ts';
import { type ScheduleEvent, scheduleMachine, type ScheduleSnapshot } from '../../machines/schedule.ts';
import { initialSnapshot, step, take } from '../../machines/transition.ts';
import type { FailureCode, Result } from '../../model/failure.ts';
import { hasEnded, type UnixMs } from '../../model/run.ts';
import { firstTimeOf, type GivenSchedule, parseSchedule } from '../../model/schedule/parse.ts';
import { dueTimeOfNominal, GRACE_MS, planFirings } from '../../model/schedule/plan.ts';
import type { Firing, ScheduleSpec, SkipReason } from '../../model/schedule/schedule.ts';
import { type Timetable, timetableOf } from '../../model/schedule/timetable.ts';
import { type ActorRecord, clearTimerRow } from '../../store/runs/run-store.ts';
import type { RunMessage, StartMessage } from '../run/messages.ts';
import { latestFor, readProgram } from '../run/program.ts';
import { notFound, type Refused } from '../run/run-failures.ts';
import { runSlot } from '../run/run-state.ts';
import { idempotencySlot, type StartHost, startIn } from '../run/start-actor.ts';
import type { ActorKind, Turn } from '../runs-kernel.ts';
import type { TimerMessage } from '../timer-message.ts';
import type { ScheduleMessage, ScheduleView } from './messages.ts';
import { keyOfTime, keyOfTrigger, scheduleIdOf } from './schedule-name.ts';
import {
  readSchedule,
  recordOf,
  reviveSchedule,
  type ScheduleActor,
  scheduleSlot,
  scheduleView,
  wasMadeInGroup,
} from './schedule-state.ts';

/** The name of its timer. */
const TIMER = 'schedule';
const CANCELLED_BECAUSE = 'the next run of its schedule starts';

/** One turn of a schedule, while it is decided. */
type Work = {
  readonly turn: Turn;
  readonly record: ActorRecord;
  readonly spec: ScheduleSpec;
  /** Made where times are asked for: reading an expression costs more than the rest of a turn. */
  readonly table: () => Timetable;
  snapshot: ScheduleSnapshot;
  /** Runs that are being cancelled. */
  leaving: readonly string[];
};

/** Why a start that was refused leaves a firing without a run. */
const reasonOf = (code: FailureCode): SkipReason => {
  if (code === 'not_found') return 'definition_unknown';
  return code === 'input_invalid' || code === 'limit_reached' ? code : 'refused';
};

const ended = (scheduleId: string): Refused => ({
  ok: false,
  failure: {
    code: 'conflict',
    message: `schedule ${scheduleId} has ended: no time is left before its ends_at; change it (PUT) to give it times`,
  },
});

/** Schedules: each starts runs at its times, at most one for each time, in the commit that moves it on. */
export const createScheduleActors = (
  host: StartHost & {
    /** A schedule was quarantined. */
    readonly quarantined: (scheduleId: string, fault: string) => void;
  },
): ActorKind => {
  const workOn = (turn: Turn, { record, spec, snapshot }: ScheduleActor): Work => ({
    turn,
    record,
    spec,
    table: () => timetableOf(spec, record.createdAt),
    snapshot,
    leaving: [],
  });

  const dueAtOf =
    ({ record, spec }: Work) =>
    (nominalAt: UnixMs): UnixMs =>
      dueTimeOfNominal(record.id, nominalAt, spec.jitterMs);

  /** Writes the schedule, and its timer row. */
  const store = (work: Work): ScheduleActor => {
    const { turn, spec, snapshot } = work;
    const { id } = work.record;
    const record: ActorRecord = {
      ...work.record,
      status: snapshot.value === 'ended' ? 'done' : 'active',
      updatedAt: turn.at,
    };
    const actor: ScheduleActor = { record, spec, snapshot, isNew: wasMadeInGroup(turn.peek(scheduleSlot, id)) };
    turn.write(scheduleSlot, id, actor);
    const { dueAt } = snapshot.context;
    const timer = { runId: id, name: TIMER };
    if (snapshot.value === 'active' && dueAt !== undefined) turn.rows.timersSet.push({ ...timer, dueAt });
    else clearTimerRow(turn.rows, timer);
    return actor;
  };

  /** Starts the run of a firing. @returns what became of it; nothing for a time that is known to have started one */
  const start = (work: Work, firing: Firing): ScheduleEvent | undefined => {
    const { turn, record, spec } = work;
    const { nominalAt, triggerId } = firing;
    const id = scheduleIdOf(record.id);
    const skipped = (reason: SkipReason, runId?: string): ScheduleEvent => ({
      type: 'firing.skipped',
      at: turn.at,
      firing,
      reason,
      ...(runId === undefined ? {} : { runId }),
    });
    try {
      const message: StartMessage = {
        definitionId: spec.definitionId,
        input: spec.input,
        correlation: spec.correlation,
        ...(spec.priority === undefined ? {} : { priority: spec.priority }),
        idempotencyKey: triggerId === undefined ? keyOfTime(id, nominalAt) : keyOfTrigger(id, triggerId),
      };
      const started = startIn(host, turn, record.project, message, work.leaving);
      if (!started.ok) return skipped(reasonOf(started.failure.code));
      const { value } = started;
      if ('runId' in value) return { type: 'firing.started', at: turn.at, firing, runId: value.runId };
      // The clock was set back, and comes to this time again.
      const isKnown = work.snapshot.context.firings.some(
        (known) => known.outcome === 'started' && known.runId === value.existing,
      );
      return isKnown ? undefined : skipped('already_started', value.existing);
    } catch (error) {
      if (error instanceof Unloadable) return skipped('refused');
      throw error;
    }
  };

  const send = (work: Work, event: ScheduleEvent): void => {
    const { context } = work.snapshot;
    const { next, effects } = step(scheduleMachine, work.snapshot, event);
    work.snapshot = next;
    for (const { type } of effects)
      switch (type) {
        case 'startRun':
        case 'startWaiting': {
          const firing = event.type === 'schedule.fired' ? event.firing : context.waiting;
          const outcome = firing === undefined ? undefined : start(work, firing);
          if (outcome !== undefined) send(work, outcome);
          break;
        }
        case 'cancelRunning':
          for (const runId of context.running) {
            const cancel: RunMessage = { kind: 'cancel', reason: CANCELLED_BECAUSE };
            work.turn.tell({ type: 'run', id: runId }, cancel);
          }
          work.leaving = context.running;
          break;
        default:
          throw new Error(`the schedule machine wants "${type}", which nobody does`);
      }
  };

  const plan = (work: Work, nextAt: UnixMs | undefined): void => {
    send(work, {
      type: 'schedule.planned',
      ...(nextAt === undefined ? {} : { nextAt, dueAt: dueAtOf(work)(nextAt) }),
    });
  };

  /** Fires what is due, and plans what comes next. */
  const fire = (work: Work, missedBecause: 'missed' | 'paused'): void => {
    const { turn, table, spec } = work;
    const { nextAt } = work.snapshot.context;
    if (nextAt === undefined) return;
    const { due, nextAt: following } = planFirings(table(), spec, dueAtOf(work), nextAt, turn.at, {
      graceMs: missedBecause === 'paused' ? 0 : GRACE_MS,
      missedBecause,
    });
    for (const { nominalAt, skip: reason } of due) {
      const firing = { nominalAt };
      send(
        work,
        reason === undefined
          ? { type: 'schedule.fired', at: turn.at, firing }
          : { type: 'firing.skipped', at: turn.at, firing, reason },
      );
    }
    plan(work, following);
  };

  /** What a schedule starts must be there when it is made. */
  const checkStart = (turn: Turn, project: string, spec: ScheduleSpec): Result<unknown> => {
    const { definitionId: id } = spec;
    const latest = latestFor(turn, project, id);
    if (latest === undefined) return notFound('definition', id, 'definition_id');
    const pinned = { definitionOwner: latest.owner, definitionId: id, definitionVersion: latest.version };
    return host.checkInput(readProgram(turn, host.programs, pinned), spec.input);
  };

  const answer = (turn: Turn, actor: ScheduleActor): Result<ScheduleView> => ({
    ok: true,
    value: scheduleView(actor, turn.at),
  });
  /** Answers when all that the turn set off was taken: a run that was started may have ended. */
  const answerAtEnd = (turn: Turn, id: string) => (): Result<ScheduleView> => {
    const actor = readSchedule(turn, id);
    if (actor === undefined) throw new Error(`schedule ${id} went away in the middle of a turn`);
    return answer(turn, actor);
  };

  const create = (turn: Turn, id: string, project: string, given: GivenSchedule): unknown => {
    const parsed = parseSchedule(given);
    if (!parsed.ok) return parsed;
    const spec = parsed.value;
    const present = readSchedule(turn, id);
    if (present !== undefined) {
      if (isDeepStrictEqual(JSON.parse(JSON.stringify(spec)), JSON.parse(JSON.stringify(present.spec))))
        return { ok: true, value: { schedule: scheduleView(present, turn.at), created: false } };
      const name = scheduleIdOf(id);
      return {
        ok: false,
        failure: {
          code: 'conflict',
          message: `schedule ${name} exists with other content; change it with PUT /v1/api/schedules/${name}, or delete it first`,
          field: 'id',
        },
      };
    }
    const first = firstTimeOf(spec, turn.at, turn.at);
    if (!first.ok) return first;
    const checked = checkStart(turn, project, spec);
    if (!checked.ok) return checked;
    const record: ActorRecord = {
      type: 'schedule',
      id,
      project,
      document: JSON.stringify(spec),
      snapshot: '',
      status: 'active',
      version: 0,
      createdAt: turn.at,
      updatedAt: turn.at,
    };
    const snapshot = initialSnapshot(scheduleMachine);
    turn.write(scheduleSlot, id, { record, spec, snapshot, isNew: true });
    const work = workOn(turn, { record, spec, snapshot, isNew: true });
    send(work, { type: 'schedule.changed', overlap: spec.overlap });
    plan(work, first.value);
    return { ok: true, value: { schedule: scheduleView(store(work), turn.at), created: true } };
  };

  const change = (turn: Turn, actor: ScheduleActor, given: GivenSchedule): unknown => {
    const parsed = parseSchedule(given);
    if (!parsed.ok) return parsed;
    const spec = parsed.value;
    const { record } = actor;
    const first = firstTimeOf(spec, record.createdAt, turn.at);
    if (!first.ok) return first;
    const checked = checkStart(turn, record.project, spec);
    if (!checked.ok) return checked;
    const timesOf = ({ timing, startsAt, endsAt }: ScheduleSpec) => ({ timing, startsAt, endsAt });
    const keepsTimes =
      actor.snapshot.context.nextAt !== undefined && isDeepStrictEqual(timesOf(spec), timesOf(actor.spec));
    const work = workOn(turn, { ...actor, record: { ...record, document: JSON.stringify(spec) }, spec });
    send(work, { type: 'schedule.changed', overlap: spec.overlap });
    // Other times begin now: none that the schedule did not have before is caught up.
    plan(work, keepsTimes ? work.snapshot.context.nextAt : first.value);
    return answer(turn, store(work));
  };

  /** @returns the refusal of a state that does not take the event, or the schedule as it is where it stands there already */
  const move = (turn: Turn, actor: ScheduleActor, kind: 'pause' | 'resume'): unknown => {
    const { value } = actor.snapshot;
    if (value === 'ended') return ended(scheduleIdOf(actor.record.id));
    if ((kind === 'pause') === (value === 'paused')) return answer(turn, actor);
    const work = workOn(turn, actor);
    if (kind === 'pause') send(work, { type: 'schedule.paused', at: turn.at });
    else {
      send(work, { type: 'schedule.resumed', at: turn.at });
      fire(work, 'paused');
    }
    store(work);
    return answerAtEnd(turn, actor.record.id);
  };

  const trigger = (turn: Turn, actor: ScheduleActor): unknown => {
    if (actor.snapshot.value === 'ended') return ended(scheduleIdOf(actor.record.id));
    const work = workOn(turn, actor);
    send(work, { type: 'schedule.fired', at: turn.at, firing: { nominalAt: turn.at, triggerId: turn.newId() } });
    store(work);
    return answerAtEnd(turn, actor.record.id);
  };

  /** Asks first for what a start reads and memory never holds, the run of this time: else all before it would be decided twice. */
  const askForStarted = ({ turn, record: { id, project } }: Work, nominalAt: UnixMs | undefined): void => {
    if (nominalAt !== undefined) turn.read(idempotencySlot, { project, key: keyOfTime(scheduleIdOf(id), nominalAt) });
  };

  const takeTimer = (turn: Turn, actor: ScheduleActor, { dueAt }: TimerMessage): void => {
    const work = workOn(turn, actor);
    const { value, context } = actor.snapshot;
    // A row that was read before the schedule was moved: its own row is written again.
    if (value === 'active' && context.dueAt === dueAt) {
      askForStarted(work, context.nextAt);
      fire(work, 'missed');
    }
    store(work);
  };

  /** The wall clock was set back. Times that it comes to again fire again, but no time starts two runs. */
  const replan = (turn: Turn, actor: ScheduleActor): void => {
    if (actor.record.updatedAt <= turn.at) return;
    const work = workOn(turn, actor);
    const { nextAt, firings } = actor.snapshot.context;
    const started = new Set(
      firings.flatMap((one) => (one.outcome === 'started' && one.triggerId === undefined ? [one.nominalAt] : [])),
    );
    const table = work.table();
    let following = table.next(turn.at);
    while (following !== undefined && started.has(following)) following = table.next(following);
    if (nextAt === undefined || (following !== undefined && following < nextAt)) {
      if (take(scheduleMachine, work.snapshot, plannedAs(work, following)) !== undefined) plan(work, following);
    }
    store(work);
  };
  const plannedAs = (work: Work, nextAt: UnixMs | undefined): ScheduleEvent => ({
    type: 'schedule.planned',
    ...(nextAt === undefined ? {} : { nextAt, dueAt: dueAtOf(work)(nextAt) }),
  });

  const takeEnd = (turn: Turn, actor: ScheduleActor, runId: string): void => {
    if (!actor.snapshot.context.running.includes(runId)) return;
    const work = workOn(turn, actor);
    send(work, { type: 'run.ended', at: turn.at, runId });
    store(work);
  };

  /** Marks a schedule that cannot be loaded. It stays readable in the list of actors, and a start that can load it releases it. */
  const quarantine = (turn: Turn, id: string, error: Unloadable): void => {
    const stored = turn.read(scheduleSlot, id);
    if (stored === undefined || recordOf(stored).fault !== undefined) return;
    const record = recordOf(stored);
    turn.write(scheduleSlot, id, {
      ...record,
      fault: error.message,
      version: record.version + 1,
    } satisfies ActorRecord);
    clearTimerRow(turn.rows, { runId: id, name: TIMER });
    turn.after(() => host.quarantined(scheduleIdOf(id), error.message));
  };

  const release = (turn: Turn, id: string): void => {
    const stored = turn.read(scheduleSlot, id);
    if (stored === undefined || recordOf(stored).fault === undefined) return;
    const { fault: _fault, ...record } = recordOf(stored);
    let revived: ScheduleActor;
    try {
      revived = reviveSchedule(record);
    } catch (error) {
      if (error instanceof Unloadable) return;
      throw error;
    }
    const work = workOn(turn, revived);
    // Runs that ended meanwhile could not say so.
    for (const runId of revived.snapshot.context.running) {
      const run = turn.read(runSlot, runId);
      if (run === undefined || hasEnded(run.record.status)) send(work, { type: 'run.ended', at: turn.at, runId });
    }
    store(work);
  };

  const remove = (turn: Turn, id: string): void => {
    turn.write(scheduleSlot, id, undefined);
    clearTimerRow(turn.rows, { runId: id, name: TIMER });
  };

  const receive = (turn: Turn, id: string, body: ScheduleMessage): unknown => {
    if (body.kind === 'create') return create(turn, id, body.project, body.given);
    if (body.kind === 'release') return release(turn, id);
    if (body.kind === 'delete') {
      if (turn.read(scheduleSlot, id) === undefined) return notFound('schedule', scheduleIdOf(id));
      remove(turn, id);
      return { ok: true, value: undefined };
    }
    const actor = readSchedule(turn, id);
    if (actor === undefined) {
      if (body.kind === 'timer') clearTimerRow(turn.rows, { runId: id, name: TIMER });
      return notFound('schedule', scheduleIdOf(id));
    }
    switch (body.kind) {
      case 'change':
        return change(turn, actor, body.given);
      case 'pause':
      case 'resume':
        return move(turn, actor, body.kind);
      case 'trigger':
        return trigger(turn, actor);
      case 'timer':
        return takeTimer(turn, actor, body);
      case 'run_ended':
        return takeEnd(turn, actor, body.runId);
      case 'clock_set':
        return replan(turn, actor);
      default:
        return body satisfies never;
    }
  };

  return {
    type: 'schedule',
    receive: (turn, id, message) => {
      const body = message as ScheduleMessage;
      try {
        return receive(turn, id, body);
      } catch (error) {
        if (!(error instanceof Unloadable)) throw error;
        // A schedule that cannot be loaded stops neither the timer nor the run that ends.
        if (body.kind !== 'timer' && body.kind !== 'run_ended' && body.kind !== 'clock_set') throw error;
        quarantine(turn, id, error);
        return undefined;
      }
    },
  };
};
