import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import { reaches } from '../../model/scope.ts';
import { hasEnded } from '../../model/run.ts';
import type { EventMailbox, ParkedEvent } from '../../store/runs/run-store.ts';
import type { Message } from '../kernel/message.ts';
import { DeferredTurn } from '../kernel/turn.ts';
import type { ActorKind, Turn } from '../runs-kernel.ts';
import { noteEventId, readEventId, readMailbox, writeMailbox } from './event-mailbox.ts';
import type { Programs } from '../run/program.ts';
import type { RunMessage } from '../run/messages.ts';
import { isWaitingFor, openWaitsOf } from '../run/steps/wait-event.ts';
import { Quarantined } from '../run/quarantined.ts';
import { readRun } from '../run/run-state.ts';
import { hasEndedAs, notFound, outOfReach } from '../run/run-failures.ts';
import type { EventOutcome } from '../service/runs-service.ts';
import type { EventMessage } from './messages.ts';

/**
 * Brings events to the runs that wait for them. Its id is a project: event ids are unique in it.
 * @see Interface specification, "Run": "event published"
 */
export const createEventActor = (host: {
  readonly programs: Programs;
  readonly nextOrder: () => number;
}): ActorKind => {
  const seenBefore = (turn: Turn, project: string, eventId: string | undefined) =>
    eventId === undefined ? undefined : readEventId(turn, project, eventId);

  const deliver = (turn: Turn, runId: string, event: string, key: string, payload: Json): void => {
    const message: RunMessage = { kind: 'deliver', event, key, payload };
    turn.tell({ type: 'run', id: runId }, message);
  };

  /** The run of the oldest open wait that can take the event. A run that cannot be loaded is quarantined and passed over. */
  const takerOf = (turn: Turn, mailbox: EventMailbox, event: string, key: string): string | undefined => {
    const unloadable: Message[] = [];
    const taker = mailbox.waits.find(({ runId }) => {
      try {
        const run = readRun(turn, host.programs, runId);
        return run !== undefined && isWaitingFor(run, event, key);
      } catch (error) {
        if (!(error instanceof Quarantined)) throw error;
        const body: RunMessage = { kind: 'quarantine' };
        unloadable.push({ type: 'run', id: runId, body });
        return false;
      }
    });
    // The store has more open waits than this turn has seen: the next group reads more of them.
    if (taker === undefined && mailbox.moreWaits) throw new DeferredTurn(unloadable);
    for (const { type, id, body } of unloadable) turn.tell({ type, id }, body);
    return taker?.runId;
  };

  const publish = (
    turn: Turn,
    project: string,
    { event, key, payload, eventId }: EventMessage & { kind: 'publish' },
  ): EventOutcome => {
    const seen = seenBefore(turn, project, eventId);
    if (seen !== undefined) return { outcome: 'duplicate', ...(seen.runId === undefined ? {} : { runId: seen.runId }) };
    const address = { project, event, key };
    const mailbox = readMailbox(turn, address);
    const runId = takerOf(turn, mailbox, event, key);
    noteEventId(turn, project, eventId, runId);
    if (runId !== undefined) {
      deliver(turn, runId, event, key, payload);
      return { outcome: 'delivered', runId };
    }
    const parked: ParkedEvent = {
      order: host.nextOrder(),
      project,
      event,
      key,
      payload: JSON.stringify(payload),
      at: turn.at,
      ...(eventId === undefined ? {} : { eventId }),
    };
    turn.rows.parked.push(parked);
    if (!mailbox.moreParked) writeMailbox(turn, address, { ...mailbox, parked: [...mailbox.parked, parked] });
    return { outcome: 'parked' };
  };

  const signal = (turn: Turn, body: EventMessage & { kind: 'signal' }): Result<EventOutcome> => {
    const run = readRun(turn, host.programs, body.runId);
    if (run === undefined) return notFound('run', body.runId);
    const { project, status } = run.record;
    if (!reaches(body.reach, project)) return outOfReach('run');
    const seen = seenBefore(turn, project, body.eventId);
    if (seen !== undefined)
      return { ok: true, value: { outcome: 'duplicate', ...(seen.runId === undefined ? {} : { runId: seen.runId }) } };
    if (hasEnded(status)) return hasEndedAs(run.record);
    // A signal has no key: of several waits for events of its name, the first that the step names takes it.
    const wait = openWaitsOf(run).find(({ event }) => event === body.event);
    if (wait === undefined)
      return {
        ok: false,
        failure: {
          code: 'conflict',
          message: `run ${body.runId} has no open wait for an event of that name; see its waits, or publish the event to park it`,
          field: 'event',
        },
      };
    noteEventId(turn, project, body.eventId, body.runId);
    deliver(turn, body.runId, wait.event, wait.key, body.payload);
    return { ok: true, value: { outcome: 'delivered', runId: body.runId } };
  };

  return {
    type: 'event',
    receive: (turn, project, message) => {
      const body = message as EventMessage;
      return body.kind === 'publish' ? { ok: true, value: publish(turn, project, body) } : signal(turn, body);
    },
  };
};
