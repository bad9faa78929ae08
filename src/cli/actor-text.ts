import type { components } from '../model/generated/openapi.ts';
import { count } from './format.ts';
import { type Moments, span } from './moments.ts';
import { jsonText, printable } from './printable.ts';
import { tableLines } from './table.ts';

type ActorSnapshot = components['schemas']['ActorSnapshot'];

const MOST_CHARACTERS = 500;
const MOST_ROWS = 50;
/** Deeper than this, what an actor remembers is shown as JSON. */
const MOST_DEPTH = 4;

/** Where a machine is, on one line: `active.pay.queued`. */
export const placeOf = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return printable(String(value));
  return Object.entries(value)
    .map(([state, inner]) => `${printable(state)}.${placeOf(inner)}`)
    .join(' ');
};

/** What the mailbox of an actor counts. @see docs/why-nothing-moves.md */
const mailboxes: Readonly<Record<string, string>> = {
  pipeline: 'turns that wait for the event loop',
  timer: 'overdue timers',
  dispatcher: 'claims that wait',
  outbox: 'spans that wait',
};

const MEBIBYTE = 1024 * 1024;
const bytesText = (bytes: number): string =>
  bytes < MEBIBYTE ? `${count(bytes)} bytes` : `${count(Math.round((bytes / MEBIBYTE) * 10) / 10)} MiB`;

/** A number in the unit that its name closes with. */
const numberText = (name: string, value: number, { moment }: Moments): string => {
  if (name === 'at' || name.endsWith('At')) return moment(value);
  if (name.endsWith('Ms')) return span(value);
  if (name.endsWith('Bytes')) return bytesText(value);
  return count(value);
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const scalarText = (name: string, value: unknown, moments: Moments): string => {
  if (typeof value === 'number') return numberText(name, value, moments);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return printable(value, MOST_CHARACTERS);
  return value === null || value === undefined ? '-' : printable(jsonText(value), MOST_CHARACTERS);
};

const isFlat = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) && Object.values(value).every((member) => typeof member !== 'object' || member === null);

const listLines = (list: readonly Readonly<Record<string, unknown>>[], moments: Moments): string[] => {
  const names = [...new Set(list.flatMap((one) => Object.keys(one)))];
  const rows = list
    .slice(0, MOST_ROWS)
    .map((one) => names.map((name) => (name in one ? scalarText(name, one[name], moments) : '-')));
  return [
    ...tableLines([names.map((name) => printable(name)), ...rows]),
    ...(list.length > MOST_ROWS ? [`and ${count(list.length - MOST_ROWS)} more; --json has all`] : []),
  ];
};

/** The members of a context, a line each; lists of records as tables, and records within records indented. */
const memberLines = (context: Readonly<Record<string, unknown>>, moments: Moments, depth: number): string[] => {
  const entries = Object.entries(context);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.flatMap(([name, value]) => {
    const title = printable(name, 100);
    const below =
      depth < MOST_DEPTH && isRecord(value) && Object.keys(value).length > 0
        ? memberLines(value, moments, depth + 1)
        : Array.isArray(value) && value.length > 0 && value.every(isFlat)
          ? listLines(value, moments)
          : undefined;
    if (below !== undefined) return [title, ...below.map((line) => `  ${line}`)];
    return [`${title.padEnd(width)}  ${scalarText(name, value, moments)}`];
  });
};

/** An actor as people read it: where it is, since when, what waits for it, and what it remembers. @param atSeq the entry asked for */
export const actorText = (actor: ActorSnapshot, moments: Moments, atSeq?: number): string => {
  const { type, id, machine, machine_version: machineVersion, value, status, version, mailbox, fault, context } = actor;
  const waiting = mailboxes[type] ?? 'calls that are not answered yet';
  const facts = tableLines([
    ['state', placeOf(value)],
    ['status', status],
    ...(fault === undefined ? [] : [['fault', printable(fault, MOST_CHARACTERS)]]),
    [atSeq === undefined ? 'updated' : 'entered', moments.moment(actor.updated_at)],
    ['changes', count(version)],
    ['mailbox', `${count(mailbox)} (${waiting})`],
    ['machine', `${printable(machine)}, version ${machineVersion}`],
  ]);
  const remembered = isRecord(context) ? memberLines(context, moments, 0) : [scalarText('', context, moments)];
  return [
    `${printable(type)} ${printable(id)}${atSeq === undefined ? '' : `, as it was after entry ${atSeq}`}`,
    ...facts.map((line) => `  ${line}`),
    ...(remembered.length === 0 ? [] : ['', 'Remembers', ...remembered.map((line) => `  ${line}`)]),
    '',
    ...(type === 'run' ? [`What it waits for and what happens next: svc runs ${printable(id)}`] : []),
    `Times are those of ${moments.timeZone}.`,
    '',
  ].join('\n');
};
