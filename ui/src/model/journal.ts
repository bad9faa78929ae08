import type { components } from '../api/types.ts';

type Entry = components['schemas']['JournalEntry'];

/**
 * Entries in their order, each once, whatever a stream that broke and came back repeats.
 * @returns the same list when nothing is new; `gap` when an entry is missing, which only reading again can mend
 */
export const addEntries = (
  known: readonly Entry[],
  more: readonly Entry[],
): { readonly entries: readonly Entry[]; readonly gap: boolean } => {
  let next = (known.at(-1)?.seq ?? -1) + 1;
  const added: Entry[] = [];
  for (const entry of more.toSorted((a, b) => a.seq - b.seq)) {
    if (entry.seq < next) continue;
    if (entry.seq > next) return { entries: added.length === 0 ? known : [...known, ...added], gap: true };
    added.push(entry);
    next += 1;
  }
  return { entries: added.length === 0 ? known : [...known, ...added], gap: false };
};

/** A line that tells an entry to people. */
export const tellEntry = ({ kind, step_id, attempt, worker_id, data }: Entry): string => {
  const step = step_id === undefined ? '' : ` ${step_id}`;
  const to = typeof data['to'] === 'string' ? ` to ${data['to']}` : '';
  const error = data['error'];
  const message =
    typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'
      ? `: ${error.message}`
      : '';
  return `${kind}${step}${to}${attempt !== undefined && attempt > 1 ? `, attempt ${attempt}` : ''}${worker_id === undefined ? '' : ` by ${worker_id}`}${message}`;
};

/** How an entry looks on the slider of a run; where several share a place, the one that stands first here is drawn. */
export const tickLooks = ['failed', 'orphaned', 'waiting', 'running', 'done', 'moved'] as const;
export type TickLook = (typeof tickLooks)[number];

const LOOKS: Readonly<Record<Entry['kind'], TickLook>> = {
  'run.started': 'running',
  'cursor.moved': 'moved',
  'step.leased': 'running',
  'step.started': 'running',
  'step.finished': 'done',
  'step.failed': 'failed',
  'step.orphaned': 'orphaned',
  'step.requeued': 'orphaned',
  'run.waiting': 'waiting',
  'run.resumed': 'done',
  'run.held': 'waiting',
  'run.admitted': 'done',
  'run.paused': 'waiting',
  'run.unpaused': 'done',
  'event.delivered': 'done',
  'child.started': 'running',
  'child.finished': 'done',
  'run.finished': 'done',
};

const lookOfEntry = ({ kind, data }: Pick<Entry, 'kind' | 'data'>): TickLook =>
  kind === 'run.finished' && data['status'] === 'failed' ? 'failed' : (LOOKS[kind] ?? 'moved');

/** More than these would touch each other on any screen. */
export const MAX_TICKS = 400;

/**
 * Where the entries of a journal stand on its slider.
 * @returns places from 0, the first entry, to 1, the last; at most `MAX_TICKS` of them, each under one look
 */
export const journalTicks = (entries: readonly Entry[]): ReadonlyMap<TickLook, readonly number[]> => {
  const last = entries.length - 1;
  const worst = new Map<number, { readonly rank: number; readonly place: number }>();
  for (const [at, entry] of entries.entries()) {
    const place = last === 0 ? 0 : at / last;
    const slot = last < MAX_TICKS ? at : Math.round(place * (MAX_TICKS - 1));
    const rank = tickLooks.indexOf(lookOfEntry(entry));
    const known = worst.get(slot);
    if (known === undefined || rank < known.rank) worst.set(slot, { rank, place });
  }
  const ticks = new Map<TickLook, number[]>();
  for (const { rank, place } of worst.values()) {
    const look = tickLooks[rank] ?? 'moved';
    ticks.set(look, [...(ticks.get(look) ?? []), place]);
  }
  return ticks;
};
