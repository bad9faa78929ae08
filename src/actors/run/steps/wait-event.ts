import type { RunContext, RunEvent } from '../../../machines/run.ts';
import type { Step, Target, WaitEventStep } from '../../../model/definition/definition.ts';
import type { Evaluated } from '../../../model/definition/step-error.ts';
import { renderAsText, type Template } from '../../../model/definition/template.ts';
import type { Json, JsonObject } from '../../../model/json.ts';
import { closeWaitRows, type EventMailbox, type ParkedEvent, type WaitRecord } from '../../../store/runs/run-store.ts';
import { distrustMailbox, noteEventId, readMailboxes, writeMailbox } from '../../event/event-mailbox.ts';
import { DeferredTurn } from '../../kernel/turn.ts';
import type { Turn } from '../../runs-kernel.ts';
import type { RunMessage } from '../messages.ts';
import { stepAt } from '../program.ts';
import { type RunActor, standing } from '../run-state.ts';
import { compiledAt, documentsOf, failStep, scope, setDocuments, setOutput, type Work } from '../work.ts';
import type { EffectHost, StepHost } from './step-host.ts';
import { parseStored } from '../quarantined.ts';

/** An event for which a run waits, and where it leads by itself. */
type OpenWait = { readonly event: string; readonly key: string; readonly to?: Target };

/**
 * The waits of a step, in its order.
 * @param keys of its events, in their order. Where two came to one event and key, they are one wait: that of the first
 */
const waitsAt = (step: WaitEventStep, keys: readonly string[]): readonly OpenWait[] => {
  const waits: OpenWait[] = [];
  step.awaited.forEach(({ event, to }, line) => {
    const key = keys[line] ?? '';
    if (waits.some((wait) => wait.event === event && wait.key === key)) return;
    waits.push({ event, key, ...(to === undefined ? {} : { to }) });
  });
  return waits;
};

const openWaits = (step: Step | undefined, { waitKey }: Pick<RunContext, 'waitKey'>): readonly OpenWait[] =>
  step?.kind !== 'wait_event' || waitKey === undefined
    ? []
    : waitsAt(step, typeof waitKey === 'string' ? [waitKey] : waitKey);

/** For what the run waits now: nothing, where it does not stand in a wait for events. */
export const openWaitsOf = (run: Pick<RunActor, 'program' | 'snapshot'>): readonly OpenWait[] => {
  const place = standing(run);
  return place?.phase === 'waiting' ? openWaits(stepAt(run.program, place)?.step, run.snapshot.context) : [];
};

/** True when an event of this name and key would move the run now. */
export const isWaitingFor = (run: RunActor, event: string, key: string): boolean =>
  openWaitsOf(run).some((wait) => wait.event === event && wait.key === key);

/** The event for which the run waits comes. */
export const takeDelivery = (work: Work, { event, key, payload }: RunMessage & { kind: 'deliver' }): RunEvent => {
  const wait = openWaitsOf(work).find((one) => one.event === event && one.key === key);
  takeEvent(work, compiledAt(work).step.id, event, key, payload);
  return deliveredBy(work, { event, key, ...(wait?.to === undefined ? {} : { to: wait.to }) });
};

const deliveredBy = ({ turn }: Work, wait: OpenWait): RunEvent => ({ type: 'event.delivered', at: turn.at, ...wait });

/** The event of a wait becomes the output of its step, and what `event` reads from then on. */
const takeEvent = (work: Work, stepId: string, event: string, key: string, payload: Json): void => {
  const delivered: JsonObject = { name: event, key, payload };
  const { stepCount } = work.snapshot.context;
  work.turn.rows.documents.push({
    runId: work.runId,
    name: 'event',
    body: JSON.stringify(delivered),
    entry: stepCount,
  });
  setOutput(work, stepId, payload);
  setDocuments(work, { ...documentsOf(work), event: delivered });
};

/** Takes a parked event out of its mailbox for a run. */
const takeParked = (turn: Turn, mailbox: EventMailbox, parked: ParkedEvent, runId: string): void => {
  writeMailbox(turn, parked, { ...mailbox, parked: mailbox.parked.filter((one) => one !== parked) });
  turn.rows.unparked.push(parked.order);
  noteEventId(turn, parked.project, parked.eventId, runId);
};

/** Waits with their mailboxes, in their order. */
const withMailboxes = <W extends OpenWait>(turn: Turn, project: string, waits: readonly W[]) => {
  const addresses = waits.map(({ event, key }) => ({ project, event, key }));
  const mailboxes = readMailboxes(turn, addresses);
  return waits.flatMap((wait, at) => {
    const mailbox = mailboxes[at];
    const address = addresses[at];
    return mailbox === undefined || address === undefined ? [] : [{ wait, mailbox, address }];
  });
};

/**
 * Finds the oldest event that is parked for one of several waits.
 * @param mayTake whether these waits take this event
 * @throws DeferredTurn when the store has more parked events than this turn has seen: the next group reads more of them
 */
const findParked = (
  turn: Turn,
  project: string,
  waits: readonly OpenWait[],
  mayTake: (event: ParkedEvent) => boolean,
) => {
  const found = withMailboxes(turn, project, waits).flatMap((one) => {
    const event = one.mailbox.parked.find(mayTake);
    if (event === undefined && one.mailbox.moreParked) throw new DeferredTurn();
    return event === undefined ? [] : [{ ...one, event }];
  });
  return found.toSorted((a, b) => a.event.order - b.event.order)[0];
};

const openWait: EffectHost = (work) => {
  const { turn, runId } = work;
  const { project } = work.record;
  const { dueAt } = work.snapshot.context;
  const { step } = compiledAt(work);
  const waits = openWaits(step, work.snapshot.context);
  if (waits.length === 0) throw new Error(`run ${runId} opens a wait without a key`);
  for (const { wait, mailbox, address } of withMailboxes(turn, project, waits)) {
    const row: WaitRecord = {
      runId,
      project,
      event: wait.event,
      key: wait.key,
      stepId: step.id,
      since: turn.at,
      order: work.host.nextOrder(),
      ...(typeof dueAt === 'number' ? { deadlineAt: dueAt } : {}),
    };
    turn.rows.waitsOpened.push(row);
    if (!mailbox.moreWaits) writeMailbox(turn, address, { ...mailbox, waits: [...mailbox.waits, row] });
  }
};

/** All waits of the run are over, whatever ended one of them. */
const closeWait: EffectHost = (work, { from, before }) => {
  const { turn } = work;
  closeWaitRows(turn.rows, work.runId);
  const waits = openWaits(stepAt(work.program, from)?.step, before);
  for (const { mailbox, address } of withMailboxes(turn, work.record.project, waits))
    writeMailbox(turn, address, { ...mailbox, waits: mailbox.waits.filter(({ runId }) => runId !== work.runId) });
};

const renderKeys = (work: Work, templates: readonly Template[]): Evaluated<readonly string[]> => {
  const reads = scope(work);
  const keys: string[] = [];
  for (const template of templates) {
    const key = renderAsText(template, reads);
    if (!key.ok) return key;
    keys.push(key.value);
  }
  return { ok: true, value: keys };
};

const timeoutMessage = ({ awaited, timeoutMs }: WaitEventStep): string => {
  const names = [...new Set(awaited.map(({ event }) => `"${event}"`))];
  return names.length === 1
    ? `no event ${names[0]} came within ${timeoutMs} ms`
    : `none of the events ${names.join(', ')} came within ${timeoutMs} ms`;
};

/** Waits for an event of its name and key, or takes one that is parked. @see Interface specification, "Run" */
export const waitEventHost: StepHost<WaitEventStep> = {
  open: (work, { step, keys: templates = [] }) => {
    const keys = renderKeys(work, templates);
    if (!keys.ok) return failStep(work, keys.error);
    const { turn } = work;
    const waits = waitsAt(step, keys.value);
    const parked = step.acceptParked ? findParked(turn, work.record.project, waits, () => true) : undefined;
    if (parked !== undefined) {
      const { wait, mailbox, event } = parked;
      takeParked(turn, mailbox, event, work.runId);
      const payload = parseStored<Json>(work.runId, event.payload, 'the parked event that it takes');
      takeEvent(work, step.id, wait.event, wait.key, payload);
      return deliveredBy(work, wait);
    }
    const [only = ''] = keys.value;
    return {
      type: 'step.opened',
      at: turn.at,
      key: step.awaited.length > 1 ? keys.value : only,
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
        error: { class: 'timeout', message: timeoutMessage(step) },
      };
    },
    reason: 'event',
    details: (step, context) => {
      const waits = openWaits(step, context).map(({ event, key }) => ({ key, event }));
      return step.awaited.length > 1 ? { any: waits } : { ...waits[0] };
    },
    /** An event that came while the run was quarantined was parked, for nobody saw its waits. */
    released: (_host, turn, run, step) => {
      const waits = openWaitsOf(run);
      const { runId, project } = run.record;
      const since = run.snapshot.context.enteredAt ?? turn.at;
      const parked = findParked(turn, project, waits, ({ at }) => step.acceptParked || at > since);
      // The store has left these waits out so far, so their mailboxes in memory are no longer complete.
      for (const { event, key } of waits) {
        if (parked === undefined) distrustMailbox(turn, { project, event, key });
      }
      if (parked === undefined) return;
      const { wait, mailbox, event } = parked;
      takeParked(turn, mailbox, event, runId);
      const body: RunMessage = {
        kind: 'deliver',
        event: wait.event,
        key: wait.key,
        payload: parseStored<Json>(runId, event.payload, 'the parked event that it takes'),
      };
      turn.tell({ type: 'run', id: runId }, body);
    },
  },
  effects: { openWait, closeWait },
};
