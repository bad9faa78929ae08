import type { EventMailbox, SeenEvent } from '../../store/runs/run-store.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';

/** Events live this long without a taker. @see Interface specification, "Limits" */
export const PARKED_LIFETIME_MS = 24 * 60 * 60 * 1000;
/** Most waits, and most parked events, of one mailbox that a turn looks at, and that memory keeps. */
const MAILBOX_LIMIT = 64;
/** A turn that needs more is deferred to the next group, and reads so many times as many there. */
const FARTHER = 4;
/** About what an open wait takes in memory, in bytes. */
const WAIT_BYTES = 300;

/** Waits and events of one name and key find each other in one mailbox. */
export type MailboxAddress = { readonly project: string; readonly event: string; readonly key: string };

/**
 * Waits and parked events in one value, so that within a group neither misses the other. A mailbox that is complete stays
 * true: every turn that opens or closes a wait, parks or takes an event, writes it too. A mailbox that was cut off at its
 * limit, or grew past it, is read from the store again.
 */
const mailboxSlot = storedSlot({
  name: 'mailbox',
  lifetime: 'kept',
  keyOf: ({ project, event, key }: MailboxAddress) => JSON.stringify([project, event, key]),
  lookup: ({ project, event, key }, { deferrals }) => ({
    kind: 'event_mailbox',
    project,
    event,
    key,
    // Those past their time too: a clock that stands wrong for a moment must not hide what memory then holds as complete.
    parkedAfter: 0,
    limit: MAILBOX_LIMIT * FARTHER ** deferrals,
  }),
  lasts: ({ waits, moreWaits, parked, moreParked }) =>
    !moreWaits && !moreParked && waits.length <= MAILBOX_LIMIT && parked.length <= MAILBOX_LIMIT,
  weigh: ({ waits, parked }) =>
    parked.reduce((sum, { payload }) => sum + 2 * payload.length, WAIT_BYTES * waits.length),
});

const eventIdSlot = storedSlot({
  name: 'event_id',
  lifetime: 'group',
  keyOf: ({ project, eventId }: Pick<SeenEvent, 'project' | 'eventId'>) => JSON.stringify([project, eventId]),
  lookup: ({ project, eventId }) => ({ kind: 'event_id', project, eventId }),
});

/**
 * What is known of an `event_id`. One that a run took is known for as long as the run; one that nobody took, for as long as
 * its event can be taken: after that the same id is a new event, because the old one can move no run any more.
 * @see Interface specification, "Run": "`event_id` seen before"
 */
export const readEventId = (turn: Turn, project: string, eventId: string): SeenEvent | undefined => {
  const seen = turn.read(eventIdSlot, { project, eventId });
  return seen?.runId === undefined && (seen?.at ?? 0) <= turn.at - PARKED_LIFETIME_MS ? undefined : seen;
};

/** Notes an `event_id` as seen now, and the run that takes its event where one does. */
export const noteEventId = (
  turn: Turn,
  project: string,
  eventId: string | undefined,
  runId: string | undefined,
): void => {
  if (eventId === undefined) return;
  const seen: SeenEvent = { project, eventId, at: turn.at, ...(runId === undefined ? {} : { runId }) };
  turn.rows.eventsSeen.push(seen);
  turn.write(eventIdSlot, seen, seen);
};

/** A mailbox as this turn left it. Parked events past their time are not in it. */
export const readMailbox = (turn: Turn, address: MailboxAddress): EventMailbox => {
  const parkedAfter = turn.at - PARKED_LIFETIME_MS;
  const mailbox = turn.read(mailboxSlot, address);
  const alive = mailbox.parked.filter(({ at }) => at > parkedAfter);
  return alive.length === mailbox.parked.length ? mailbox : { ...mailbox, parked: alive };
};

/** Several mailboxes, in their order. What memory lacks of them is read from the store at once. */
export const readMailboxes = (turn: Turn, addresses: readonly MailboxAddress[]): readonly EventMailbox[] => {
  turn.readAll(mailboxSlot, addresses);
  return addresses.map((address) => readMailbox(turn, address));
};

export const writeMailbox = (turn: Turn, address: MailboxAddress, mailbox: EventMailbox): void => {
  turn.write(mailboxSlot, address, mailbox);
  if (mailbox.waits.length === 0 && mailbox.parked.length === 0) turn.forget(mailboxSlot, address);
};

/** Says that memory does not know who waits here: the next group asks the store. */
export const distrustMailbox = (turn: Turn, address: MailboxAddress): void => {
  writeMailbox(turn, address, { waits: [], moreWaits: true, parked: [], moreParked: true });
};
