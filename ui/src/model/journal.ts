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
