import type { components } from '../../model/generated/openapi.ts';
import { count, duration, oneLine } from '../format.ts';
import { tableLines } from '../table.ts';

type Events = NonNullable<components['schemas']['Span']['events']>;

const MOST_EVENTS = 100;

const text = (attributes: Readonly<Record<string, unknown>>, name: string): string | undefined => {
  const value = attributes[name];
  return typeof value === 'string' || typeof value === 'number' ? oneLine(String(value), 120) : undefined;
};

/** The events of a wait for the first of several. */
const severalText = ({ event, key }: Readonly<Record<string, unknown>>): string | undefined => {
  if (!Array.isArray(event)) return undefined;
  const keys = Array.isArray(key) ? key.map(String) : [];
  const each = event.map((name, at) => `"${oneLine(String(name), 120)}" with key "${oneLine(keys[at] ?? '', 120)}"`);
  return `waits for the first of event ${each.join(', event ')}`;
};

/** What a wait is for, and until when, in the words of its event. */
const openedText = (attributes: Readonly<Record<string, unknown>>): string => {
  const kind = text(attributes, 'kind') ?? 'something';
  const event = text(attributes, 'event');
  const key = text(attributes, 'key');
  const due = text(attributes, 'due_at');
  return [
    severalText(attributes) ?? `waits for ${kind === 'event' && event !== undefined ? `event "${event}"` : kind}`,
    ...(key === undefined ? [] : [`with key "${key}"`]),
    ...(due === undefined ? [] : [`until ${due}`]),
  ].join(' ');
};

const endedText = (attributes: Readonly<Record<string, unknown>>): string => {
  const event = text(attributes, 'event');
  return `goes on: ${text(attributes, 'reason') ?? 'the wait ended'}${event === undefined ? '' : `, event "${event}" with key "${text(attributes, 'key') ?? ''}"`}`;
};

/**
 * Waits, sleeps and backoffs of a durable run in the order in which they happened, as the events of its span have them.
 * @param origin start of the trace, in milliseconds since the epoch
 * @see Interface decisions, "12. Decided since", "Runs as traces"
 */
export const waitEventLines = (events: Events | undefined, origin: number): string[] => {
  const waits = (events ?? []).filter(({ name }) => name === 'wait.opened' || name === 'wait.ended');
  if (waits.length === 0) return [];
  const shown = waits.slice(-MOST_EVENTS);
  return [
    `Waits of the run${shown.length < waits.length ? `, the last ${shown.length} of ${count(waits.length)} entries` : ''} (offset, step, what):`,
    ...tableLines(
      shown.map(({ name, time, attributes }) => [
        `+${duration(Math.max(0, Date.parse(time ?? '') - origin))}`,
        text(attributes, 'step_id') ?? '',
        name === 'wait.opened' ? openedText(attributes) : endedText(attributes),
      ]),
    ),
  ];
};
