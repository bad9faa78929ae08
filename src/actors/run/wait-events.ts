import type { JsonObject } from '../../model/json.ts';
import type { JournalEntry, UnixMs } from '../../model/run.ts';
import { formatTimestamp, unixNanoFromMillis } from '../../model/time.ts';

/** A moment of a run's span. */
export type DraftEvent = { readonly name: string; readonly at: UnixMs; readonly attributes: JsonObject };

/**
 * Events that the span of a run carries at most, the latest: as many as an OpenTelemetry SDK keeps. `svc.run.waits` counts all waits.
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ `OTEL_SPAN_EVENT_COUNT_LIMIT`
 */
export const MOST_WAIT_EVENTS = 128;

/** `isAny`: it is for the first of several events. */
type OpenWait = { readonly stepId: string; readonly visit: number; readonly kind: string; readonly isAny: boolean };

/** Names and keys of the events that a wait is for: of several, two lists of the same length. */
const awaitedIn = ({ event, key, any }: JsonObject): JsonObject => {
  const several = Array.isArray(any) ? (any as readonly JsonObject[]) : undefined;
  if (several !== undefined)
    return { event: several.map((one) => one['event'] ?? ''), key: several.map((one) => one['key'] ?? '') };
  return { ...(event === undefined ? {} : { event }), ...(key === undefined ? {} : { key }) };
};

const opened = ({ stepId, visit, at, data }: JournalEntry): { readonly wait: OpenWait; readonly event: DraftEvent } => {
  const { reason, any, due_at: dueAt } = data;
  const kind = typeof reason === 'string' ? reason : '';
  const wait = { stepId: stepId ?? '', visit: visit ?? 1, kind, isAny: any !== undefined };
  return {
    wait,
    event: {
      name: 'wait.opened',
      at,
      attributes: {
        step_id: wait.stepId,
        visit: wait.visit,
        kind: wait.kind,
        ...awaitedIn(data),
        ...(typeof dueAt === 'number' ? { due_at: formatTimestamp(unixNanoFromMillis(Math.ceil(dueAt))) } : {}),
      },
    },
  };
};

/** Why the entry ends the wait, where it does. The first entry after the wait that says so ends it. */
const reasonOf = ({ kind }: OpenWait, entry: JournalEntry): string | undefined => {
  switch (entry.kind) {
    case 'event.delivered':
      return 'delivered';
    case 'run.resumed':
      if (kind === 'event') return 'timeout';
      return kind === 'children' ? 'finished' : 'due';
    case 'step.requeued':
      return 'due';
    case 'run.finished':
      return entry.data['status'] === 'cancelled' ? 'cancelled' : 'ended';
    // The step failed while it waited: a child that it was to start could not be started.
    case 'step.failed':
    case 'cursor.moved':
    case 'run.waiting':
      return 'ended';
    default:
      return undefined;
  }
};

/**
 * Waits, sleeps and backoffs of a run, as its journal has them.
 * @param entries consecutive, oldest first; an end whose beginning lies before them is left out
 * @returns the latest, oldest first
 * @see Interface decisions, "12. Decided since", "Runs as traces"
 */
export const waitEventsOf = (entries: Iterable<JournalEntry>): readonly DraftEvent[] => {
  const events: DraftEvent[] = [];
  let open: OpenWait | undefined;
  for (const entry of entries) {
    const reason = open === undefined ? undefined : reasonOf(open, entry);
    if (open !== undefined && reason !== undefined) {
      events.push({
        name: 'wait.ended',
        at: entry.at,
        attributes: {
          step_id: open.stepId,
          visit: open.visit,
          reason,
          // Which of the several it was.
          ...(open.isAny && entry.kind === 'event.delivered' ? awaitedIn(entry.data) : {}),
        },
      });
      open = undefined;
    }
    if (entry.kind !== 'run.waiting') continue;
    const { wait, event } = opened(entry);
    open = wait;
    events.push(event);
  }
  return events.slice(-MOST_WAIT_EVENTS);
};
