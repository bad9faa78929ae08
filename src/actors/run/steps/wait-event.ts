import type { RunEvent } from '../../../machines/run.ts';
import type { WaitEventStep } from '../../../model/definition/definition.ts';
import { renderAsText } from '../../../model/definition/template.ts';
import type { Json, JsonObject } from '../../../model/json.ts';
import { closeWaitRow, type EventMailbox, type ParkedEvent, type WaitRecord } from '../../../store/runs/run-store.ts';
import { distrustMailbox, noteEventId, readMailbox, writeMailbox } from '../../event/event-mailbox.ts';
import { DeferredTurn } from '../../kernel/turn.ts';
import type { Turn } from '../../runs-kernel.ts';
import type { RunMessage } from '../messages.ts';
import { stepAt } from '../program.ts';
import { type RunActor, standing } from '../run-state.ts';
import { compiledAt, documentsOf, failStep, scope, setDocuments, setOutput, type Work } from '../work.ts';
import type { EffectHost, StepHost } from './step-host.ts';
import { parseStored } from '../quarantined.ts';

/** True when an event of this name and key would move the run now. */
export const isWaitingFor = (run: RunActor, event: string, key: string): boolean => {
  const place = standing(run);
  const step = stepAt(run.program, place)?.step;
  return (
    place?.phase === 'waiting' &&
    step?.kind === 'wait_event' &&
    step.event === event &&
    run.snapshot.context.waitKey === key
  );
};

/** The event for which the run waits comes. */
export const takeDelivery = (work: Work, { event, key, payload }: RunMessage & { kind: 'deliver' }): RunEvent => {
  takeEvent(work, compiledAt(work).step.id, event, key, payload);
  return { type: 'event.delivered', at: work.turn.at, event, key };
};

/** The event of a wait becomes the output of its step, and what `event` reads from then on. */
const takeEvent = (work: Work, stepId: string, event: string, key: string, payload: Json): void => {
  const delivered: JsonObject = { name: event, key, payload };
  work.turn.rows.documents.push({ runId: work.runId, name: 'event', body: JSON.stringify(delivered) });
  setOutput(work, stepId, payload);
  setDocuments(work, { ...documentsOf(work), event: delivered });
};

/** Takes a parked event out of its mailbox for a run. */
const takeParked = (turn: Turn, mailbox: EventMailbox, parked: ParkedEvent, runId: string): void => {
  writeMailbox(turn, parked, { ...mailbox, parked: mailbox.parked.filter((one) => one !== parked) });
  turn.rows.unparked.push(parked.order);
  noteEventId(turn, parked.project, parked.eventId, runId);
};

const openWait: EffectHost = (work) => {
  const { step } = compiledAt(work);
  const { waitKey: key, dueAt } = work.snapshot.context;
  if (step.kind !== 'wait_event' || key === undefined) throw new Error(`run ${work.runId} opens a wait without a key`);
  const { project } = work.record;
  const { event } = step;
  const wait: WaitRecord = {
    runId: work.runId,
    project,
    event,
    key,
    stepId: step.id,
    since: work.turn.at,
    order: work.host.nextOrder(),
    ...(typeof dueAt === 'number' ? { deadlineAt: dueAt } : {}),
  };
  work.turn.rows.waitsOpened.push(wait);
  const mailbox = readMailbox(work.turn, wait);
  if (!mailbox.moreWaits) writeMailbox(work.turn, wait, { ...mailbox, waits: [...mailbox.waits, wait] });
};

const closeWait: EffectHost = (work, { from, before }) => {
  closeWaitRow(work.turn.rows, work.runId);
  const step = stepAt(work.program, from)?.step;
  if (step?.kind !== 'wait_event' || before.waitKey === undefined) return;
  const address = { project: work.record.project, event: step.event, key: before.waitKey };
  const mailbox = readMailbox(work.turn, address);
  writeMailbox(work.turn, address, {
    ...mailbox,
    waits: mailbox.waits.filter(({ runId }) => runId !== work.runId),
  });
};

/** Waits for an event of its name and key, or takes one that is parked. @see Interface specification, "Run" */
export const waitEventHost: StepHost<WaitEventStep> = {
  open: (work, { step, key: template }) => {
    const key = template === undefined ? { ok: true as const, value: '' } : renderAsText(template, scope(work));
    if (!key.ok) return failStep(work, key.error);
    const { turn } = work;
    // Read in every case: the events that are published next must see what is opened here.
    const mailbox = readMailbox(turn, { project: work.record.project, event: step.event, key: key.value });
    const [parked] = step.acceptParked ? mailbox.parked : [];
    // The store has more parked events than this turn has seen: the next group reads more of them.
    if (parked === undefined && step.acceptParked && mailbox.moreParked) throw new DeferredTurn();
    if (parked !== undefined) {
      takeParked(turn, mailbox, parked, work.runId);
      takeEvent(
        work,
        step.id,
        step.event,
        key.value,
        parseStored<Json>(work.runId, parked.payload, 'the parked event that it takes'),
      );
      return { type: 'event.delivered', at: turn.at, event: step.event, key: key.value };
    }
    return {
      type: 'step.opened',
      at: turn.at,
      key: key.value,
      ...(step.timeoutMs === undefined ? {} : { dueAt: turn.at + step.timeoutMs }),
    };
  },
  wait: {
    timer: 'wait',
    due: (work, { step }) => {
      const { at } = work.turn;
      if (step.onTimeout === 'continue') {
        setOutput(work, step.id, undefined);
        return { type: 'timer.due', at };
      }
      return {
        type: 'timer.due',
        at,
        error: { class: 'timeout', message: `no event "${step.event}" came within ${step.timeoutMs} ms` },
      };
    },
    reason: 'event',
    details: ({ event }, { waitKey }) => (waitKey === undefined ? {} : { key: waitKey, event }),
    /** An event that came while the run was quarantined was parked, for nobody saw its wait. */
    released: (_host, turn, run, step) => {
      const { waitKey: key, enteredAt } = run.snapshot.context;
      if (key === undefined) return;
      const { runId, project } = run.record;
      const since = enteredAt ?? turn.at;
      const address = { project, event: step.event, key };
      const mailbox = readMailbox(turn, address);
      const parked = mailbox.parked.find(({ at }) => step.acceptParked || at > since);
      if (parked === undefined && mailbox.moreParked) throw new DeferredTurn();
      // The store has left this wait out so far, so the mailbox in memory is no longer complete.
      if (parked === undefined) distrustMailbox(turn, address);
      else {
        takeParked(turn, mailbox, parked, runId);
        const body: RunMessage = {
          kind: 'deliver',
          event: step.event,
          key,
          payload: parseStored<Json>(runId, parked.payload, 'the parked event that it takes'),
        };
        turn.tell({ type: 'run', id: runId }, body);
      }
    },
  },
  effects: { openWait, closeWait },
};
